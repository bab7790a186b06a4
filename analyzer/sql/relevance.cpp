// Which statements are worth parsing, decided on words. Comments and strings count as text here: a word too many costs a parse, a
// word too few would cost a finding.
#include <algorithm>
#include <array>
#include <cctype>

#include "sql/front_end.h"
#include "sql/lexer.h"

namespace pglocklint::sql {

namespace {

constexpr std::size_t kMaxName = 63;  // PostgreSQL cuts longer identifiers

constexpr std::array<unsigned char, 256> wordTable() {
  std::array<unsigned char, 256> t{};  // 0 = no word character, else the folded character
  for (int c = '0'; c <= '9'; ++c) t[static_cast<std::size_t>(c)] = static_cast<unsigned char>(c);
  for (int c = 'a'; c <= 'z'; ++c) t[static_cast<std::size_t>(c)] = static_cast<unsigned char>(c);
  for (int c = 'A'; c <= 'Z'; ++c) t[static_cast<std::size_t>(c)] = static_cast<unsigned char>(c - 'A' + 'a');
  t['_'] = '_';
  t['$'] = '$';
  for (std::size_t c = 128; c < 256; ++c) t[c] = static_cast<unsigned char>(c);
  return t;
}
constexpr auto kWord = wordTable();

// Calls f(folded word, offset after it) for every run of word characters that starts like an identifier; stops when f returns true.
template <class F>
bool anyWord(std::string_view text, F&& f) {
  char buffer[kMaxName];
  for (std::size_t i = 0; i < text.size();) {
    unsigned char c = kWord[static_cast<unsigned char>(text[i])];
    if (c == 0) {
      ++i;
      continue;
    }
    const bool name = c == '_' || c >= 'a';
    std::size_t n = 0;
    for (; i < text.size() && (c = kWord[static_cast<unsigned char>(text[i])]) != 0; ++i)
      if (n < kMaxName) buffer[n++] = static_cast<char>(c);
    if (name && f(std::string_view(buffer, n), i)) return true;
  }
  return false;
}

// Does a relation's name stand here: after FROM, JOIN, INTO, UPDATE, TABLE, ON or a schema's dot?
bool inRelationPosition(std::string_view text, std::size_t begin) {
  const auto space = [&](std::size_t at) { return std::isspace(static_cast<unsigned char>(text[at])) != 0; };
  while (begin > 0 && (text[begin - 1] == '"' || space(begin - 1))) --begin;
  if (begin > 0 && text[begin - 1] == '.') return true;
  std::size_t from = begin;
  while (from > 0 && kWord[static_cast<unsigned char>(text[from - 1])] != 0) --from;
  const std::string_view before = text.substr(from, begin - from);
  static constexpr std::string_view kBefore[] = {"from", "join", "into", "update", "table", "on", "only"};
  return std::any_of(std::begin(kBefore), std::end(kBefore), [&](std::string_view w) { return isKeyword(before, w); });
}

bool followedByParenthesis(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '"') ++at;
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  return at < text.size() && text[at] == '(';
}

bool containsFolded(std::string_view text, std::string_view lower) {
  const auto it = std::search(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return kWord[static_cast<unsigned char>(a)] == static_cast<unsigned char>(b);
  });
  return it != text.end();
}

// Words too common to be worth a look as names of tables or routines.
bool isStopWord(std::string_view w) {
  static const NameSet kStop{
      "select", "from", "where", "and", "or", "not", "null", "as", "is", "in", "begin", "end", "if", "then", "else", "elsif",
      "return", "returns", "language", "plpgsql", "sql", "function", "procedure", "create", "replace", "declare", "perform", "into",
      "values", "insert", "update", "delete", "set", "on", "order", "by", "limit", "offset", "for", "loop", "exit", "when", "case",
      "with", "join", "left", "inner", "outer", "using", "group", "having", "distinct", "union", "all", "exists", "true", "false",
      "bigint", "integer", "int", "text", "boolean", "bool", "void", "trigger", "timestamptz", "timestamp", "default", "table", "view",
      "index", "unique", "primary", "key", "references", "constraint", "raise", "exception", "notice", "volatile", "stable", "immutable",
      "new", "old", "now", "count", "coalesce", "execute", "commit", "rollback", "public", "pg_catalog", "the", "is", "to", "of", "a",
      "pg_advisory_lock", "pg_advisory_xact_lock", "pg_try_advisory_lock", "pg_try_advisory_xact_lock", "pg_advisory_unlock",
      "pg_advisory_lock_shared", "pg_advisory_xact_lock_shared", "pg_try_advisory_lock_shared", "pg_try_advisory_xact_lock_shared",
      "pg_advisory_unlock_shared", "pg_advisory_unlock_all", "hashtext", "hashtextextended", "pg_locks"};
  return kStop.find(w) != kStop.end();
}

bool isQuoted(std::string_view text, std::size_t after) { return after < text.size() && text[after] == '"'; }

// A word that may be the name of a table, type or routine. A common word must be quoted ("order"), and a single letter, usually an
// alias, must stand where a relation or a call does.
bool mayBeName(std::string_view text, std::string_view word, std::size_t after) {
  if (word.size() == 1) return inRelationPosition(text, after - 1) || followedByParenthesis(text, after);
  return !isStopWord(word) || isQuoted(text, after);
}

// Is the word that ends at `after` one of the names, written so that it can be?
bool isDefinition(std::string_view text, std::string_view word, std::size_t after, const RelevantNames& names) {
  return names.definitions.find(word) != names.definitions.end() && (isQuoted(text, after) || !isStopWord(word));
}

enum class Defines { Nothing, Routine, View, Trigger, Other };

// What a CREATE statement defines, and its name. A trigger: the relation that it is on.
struct Definition {
  Defines what = Defines::Nothing;
  std::string name;
};

Definition definitionOf(std::string_view text) {
  Definition d;
  Lexer lexer(text);
  Token t = lexer.next();
  if (t.kind != TokenKind::Word) return d;
  const std::string_view verb = lexer.text(t);
  if (!isKeyword(verb, "create")) return d;
  for (int i = 0; i < 8; ++i) {
    t = lexer.next();
    if (t.kind != TokenKind::Word) return d;
    const std::string_view w = lexer.text(t);
    if (isKeyword(w, "function") || isKeyword(w, "procedure")) d.what = Defines::Routine;
    else if (isKeyword(w, "view")) d.what = Defines::View;
    else if (isKeyword(w, "trigger")) d.what = Defines::Trigger;
    else if (isKeyword(w, "table") || isKeyword(w, "index") || isKeyword(w, "policy")) d.what = Defines::Other;
    if (d.what != Defines::Nothing) break;
  }
  if (d.what == Defines::Trigger)
    do {
      t = lexer.next();
    } while (t.kind != TokenKind::End && !(t.kind == TokenKind::Word && isKeyword(lexer.text(t), "on")));
  else if (d.what != Defines::Routine && d.what != Defines::View) return d;
  bool dot = true;  // a part of the name may follow
  for (int i = 0; i < 8; ++i) {
    t = lexer.next();
    if (dot && (t.kind == TokenKind::Word || t.kind == TokenKind::QuotedWord || t.kind == TokenKind::Placeholder)) {
      const std::string_view w = lexer.text(t);
      if (d.name.empty() && (isKeyword(w, "if") || isKeyword(w, "not") || isKeyword(w, "exists"))) continue;
      d.name = foldIdentifier(w), dot = false;
    } else if (t.kind == TokenKind::Punctuation && lexer.text(t) == ".") {
      dot = true;
    } else {
      break;
    }
  }
  return d;
}

// Statements that move transactions, sessions, cursors and prepared statements: always read in a file that matters.
bool isControl(std::string_view head) {
  static constexpr std::string_view kHeads[] = {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE",
                                                "EXECUTE", "FETCH", "MOVE", "CLOSE", "SET", "RESET", "DISCARD", "DEALLOCATE"};
  const std::string_view first = head.substr(0, head.find(' '));
  return std::find(std::begin(kHeads), std::end(kHeads), first) != std::end(kHeads);
}

// SELECT set_config('lock_timeout', …): a SET in other words. SELECT pg_sleep(60): the transaction waits.
bool concernsSession(std::string_view head, std::string_view text) {
  return head == "SELECT" && text.size() < 400 && (containsFolded(text, "set_config") || containsFolded(text, "pg_sleep"));
}

bool isDdl(std::string_view head) { return head.starts_with("CREATE") || head.starts_with("ALTER") || head.starts_with("DROP"); }

bool calls(std::string_view text, const RelevantNames& names) {
  if (names.routines.empty() && names.views.empty()) return false;
  return anyWord(text, [&](std::string_view w, std::size_t after) {
    return names.views.find(w) != names.views.end() ||
           (names.routines.find(w) != names.routines.end() && followedByParenthesis(text, after));
  });
}

// INSERT INTO t, UPDATE ONLY s.t, DELETE FROM t, MERGE INTO t: in a statement, a routine's body, or a CTE.
bool writesTo(std::string_view text, const RelevantNames& names) {
  if (names.written.empty()) return false;
  if (!anyWord(text, [&](std::string_view w, std::size_t) { return names.written.find(w) != names.written.end(); })) return false;
  static constexpr std::string_view kVerbs[] = {"insert", "update", "delete", "merge"};
  static constexpr std::string_view kFillers[] = {"into", "from", "only"};
  const auto among = [](std::string_view w, const auto& words) { return std::any_of(std::begin(words), std::end(words), [&](std::string_view k) { return k == w; }); };
  bool after_verb = false;  // and nothing but fillers and schemas since
  return anyWord(text, [&](std::string_view w, std::size_t after) {
    if (among(w, kVerbs)) return !(after_verb = true);
    if (!after_verb || among(w, kFillers)) return false;
    if (names.written.find(w) != names.written.end()) return true;
    const std::size_t next = after + (after < text.size() && text[after] == '"' ? 1 : 0);
    after_verb = next < text.size() && text[next] == '.';
    return false;
  });
}

// A view over a table whose triggers lock: whoever writes to the view may write to the table.
bool shows(std::string_view head, std::string_view text, const RelevantNames& names) {
  return !names.written.empty() && head.find("VIEW") != std::string_view::npos && anyWord(text, [&](std::string_view w, std::size_t after) {
    return names.written.find(w) != names.written.end() && inRelationPosition(text, after - w.size());
  });
}

// DDL names what it defines before its first parenthesis (DROP FUNCTION lists may go on: all of it).
bool defines(std::string_view text, const RelevantNames& names) {
  if (names.definitions.empty()) return false;
  const bool drop = text.size() > 4 && isKeyword(text.substr(0, 4), "drop");
  const std::string_view header = drop ? text : text.substr(0, text.find('('));
  int words = 0;
  return anyWord(header, [&](std::string_view w, std::size_t after) {
    return ++words > 1 && isDefinition(header, w, after, names);
  });
}

}  // namespace

RelevantNames RelevantNames::newIn(const RelevantNames& known) const {
  const auto fresh = [](const NameSet& names, const NameSet& old) {
    NameSet out;
    for (const std::string& n : names)
      if (old.find(n) == old.end()) out.insert(n);
    return out;
  };
  return {fresh(routines, known.routines), fresh(views, known.views), fresh(written, known.written), fresh(definitions, known.definitions)};
}

void RelevantNames::merge(const RelevantNames& other) {
  routines.insert(other.routines.begin(), other.routines.end());
  views.insert(other.views.begin(), other.views.end());
  written.insert(other.written.begin(), other.written.end());
  definitions.insert(other.definitions.begin(), other.definitions.end());
}

bool mentionsSeed(std::string_view text) {
  for (const std::string_view seed : kSeedWords)
    if (containsFolded(text, seed)) return true;
  return false;
}

bool mentionsAny(std::string_view text, const RelevantNames& names) {
  return anyWord(text, [&](std::string_view w, std::size_t after) {
    return isDefinition(text, w, after, names) || names.views.find(w) != names.views.end() || names.written.find(w) != names.written.end() ||
           (names.routines.find(w) != names.routines.end() && followedByParenthesis(text, after));
  });
}

ScannedFile scanFile(std::string path, std::string text) {
  ScannedFile f;
  f.path = std::move(path);
  f.text = std::move(text);
  f.script = scanScript(f.text);
  f.relevant.assign(f.script.pieces.size(), false);
  f.locking.assign(f.script.pieces.size(), false);
  return f;
}

void markRelevant(ScannedFile& file, const RelevantNames& names, RelevantNames& found) {
  const bool first = !file.seeds_searched;
  file.seeds_searched = true;
  for (std::size_t i = 0; i < file.script.pieces.size(); ++i) {
    const Piece& p = file.script.pieces[i];
    if (p.kind != PieceKind::Statement || file.locking[i]) continue;
    const std::string_view text = std::string_view(file.text).substr(p.begin, p.end - p.begin);
    const bool locks = (first && mentionsSeed(text)) || calls(text, names) || writesTo(text, names);
    if (first && (isControl(p.head) || p.consumer == "gset" || concernsSession(p.head, text))) file.relevant[i] = true;
    const bool defined = !locks && !file.relevant[i] && isDdl(p.head) && (defines(text, names) || shows(p.head, text, names));
    if (!locks && !defined) continue;
    file.relevant[i] = true;
    file.locking[i] = locks;
    const Definition d = definitionOf(text);
    if (locks && d.what == Defines::Routine) found.routines.insert(d.name);
    if (locks && d.what == Defines::View) found.views.insert(d.name);
    if (d.what == Defines::View && shows(p.head, text, names)) found.written.insert(d.name);
    if (locks && d.what == Defines::Trigger) found.written.insert(d.name);
    if (locks || d.what == Defines::View)
      anyWord(text, [&](std::string_view w, std::size_t after) {
        if (mayBeName(text, w, after)) found.definitions.emplace(w);
        return false;
      });
  }
}

}  // namespace pglocklint::sql

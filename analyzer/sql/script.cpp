// One pass over the tokens of a file decides where each statement ends. psql's own rules are the guide: a semicolon ends a statement
// unless a BEGIN ATOMIC body or the parentheses of CREATE RULE … DO hide it; backslash commands and the data of COPY … FROM stdin
// belong to psql, not to SQL. Unlike psql, other parentheses do not hide a semicolon: a forgotten one should cost one statement.
//
// What is wrong in one statement must not swallow the rest. Where a quote, comment or body is never closed, the scanner goes back,
// gives up the statement at its first plausible end, and starts again behind it; a small number of such restarts bounds the work.
#include "sql/script.h"

#include <algorithm>
#include <array>

#include "sql/mapped_text.h"
#include "sql/script_comments.h"

namespace pglocklint::sql {
namespace {

constexpr std::uint32_t kNowhere = 0xFFFFFFFF;
constexpr int kMostRestarts = 32;

// Keywords that tell what a statement is. Sorted.
constexpr std::string_view kHeadWords[] = {
    "ABORT", "ADD", "AGGREGATE", "ALL", "ALTER", "ANALYZE", "AND", "AS", "BEGIN", "CALL", "CAST", "CHAIN", "CHECKPOINT", "CLOSE",
    "CLUSTER", "COLLATION", "COLUMN", "COMMENT", "COMMIT", "CONCURRENTLY", "CONSTRAINT", "CONSTRAINTS", "CONVERSION", "COPY", "CREATE",
    "DATABASE", "DEALLOCATE", "DECLARE", "DEFAULT", "DELETE", "DISCARD", "DISTINCT", "DO", "DOMAIN", "DROP", "END", "EVENT", "EXECUTE",
    "EXISTS", "EXPLAIN", "EXTENSION", "FETCH", "FOREIGN", "FROM", "FUNCTION", "GRANT", "GROUP", "IF", "IMPORT", "IN", "INDEX", "INSERT",
    "INTO", "ISOLATION", "LABEL", "LANGUAGE", "LEVEL", "LISTEN", "LOAD", "LOCAL", "LOCK", "MATERIALIZED", "MERGE", "MOVE", "NOT",
    "NOTIFY", "ON", "ONLY", "OPERATOR", "OR", "OWNED", "POLICY", "PREPARE", "PREPARED", "PRIVILEGES", "PROCEDURE", "PUBLICATION",
    "REASSIGN", "RECURSIVE", "REFRESH", "REINDEX", "RELEASE", "REPLACE", "RESET", "REVOKE", "ROLE", "ROLLBACK", "ROUTINE", "RULE",
    "SAVEPOINT", "SCHEMA", "SECURITY", "SELECT", "SEQUENCE", "SERVER", "SESSION", "SET", "SHOW", "START", "STATISTICS", "SUBSCRIPTION",
    "SYSTEM", "TABLE", "TEMP", "TEMPORARY", "TEXT", "TO", "TRANSACTION", "TRIGGER", "TRUNCATE", "TYPE", "UNIQUE", "UNLISTEN", "UNLOGGED",
    "UPDATE", "USER", "USING", "VACUUM", "VALUES", "VIEW", "WITH", "WORK", "WRAPPER"};
static_assert(std::ranges::is_sorted(kHeadWords));
constexpr std::size_t kLongestHeadWord = 12;

// Keywords that begin a statement at the start of a line: where to start again after an unterminated quote. Sorted.
constexpr std::string_view kStarters[] = {"ALTER",  "ANALYZE", "CALL",   "COMMENT", "COMMIT",   "COPY",   "CREATE", "DELETE",
                                          "DO",     "DROP",    "GRANT",  "INSERT", "LOCK",    "REVOKE",   "ROLLBACK", "SELECT", "SET",
                                          "START",  "TRUNCATE", "UPDATE", "VACUUM", "VALUES",  "WITH"};
static_assert(std::ranges::is_sorted(kStarters));

// psql commands that send the query buffer to the server.
constexpr std::string_view kSenders[] = {"crosstabview", "crosstabviewx", "g", "gdesc", "gexec", "gset", "gx", "watch"};

// psql commands that begin something else: a statement still open before one of them at a line's start has lost its semicolon.
constexpr std::string_view kBreakers[] = {"c", "connect", "i", "include", "include_relative", "ir", "q", "quit"};

template <std::size_t N>
bool isOneOf(std::string_view word, const std::string_view (&list)[N]) {
  return std::ranges::find(list, word) != std::end(list);
}

// The word in upper case if it is in the sorted list; else empty.
template <std::size_t N>
std::string_view keywordIn(std::string_view word, const std::string_view (&list)[N]) {
  std::array<char, kLongestHeadWord> upper;
  if (word.size() > upper.size()) return {};
  std::ranges::transform(word, upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  const std::string_view key(upper.data(), word.size());
  const auto found = std::ranges::lower_bound(list, key);
  return found != std::end(list) && *found == key ? *found : std::string_view{};
}

std::string_view commandName(std::string_view meta) {
  const std::size_t end = meta.find_first_of(" \t\r\n(", 1);
  return meta.substr(1, end == std::string_view::npos ? end : end - 1);
}

bool containsWord(std::string_view text, std::string_view lower) {
  Lexer lexer(text, {.psql = false, .placeholders = false, .keep_comments = false});
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    if (t.kind == TokenKind::Word && isKeyword(lexer.text(t), lower)) return true;
  }
  return false;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), lexer_(text, {.psql = true, .placeholders = true, .keep_comments = true}) {
    script_.texts = std::make_shared<std::set<std::string, std::less<>>>();
  }

  Script scan() {
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
      problem(0, "the file is UTF-16: convert it to UTF-8");
      return std::move(script_);
    }
    reportNulBytes();
    for (;;) {
      const Token t = lexer_.next();
      switch (t.kind) {
        case TokenKind::End:
          if (atEnd()) return finish();
          break;
        case TokenKind::Comment: comment(t); break;
        case TokenKind::Error: unterminated(t); break;
        case TokenKind::MetaCommand: metaCommand(t); break;
        default: token(t);
      }
    }
  }

 private:
  // The statement whose tokens are being read.
  struct Open {
    std::uint32_t begin = kNowhere, end = 0;  // of the tokens so far
    std::array<std::string_view, 3> head;
    int head_words = 0;
    bool head_done = false;
    bool placeholders = false;
    bool create_routine = false, create_rule = false, copy = false, copy_from = false, copy_stdin = false;
    bool after_begin = false;      // the last word was BEGIN
    int atomic_depth = 0;          // BEGIN ATOMIC and CASE not yet closed by END
    int paren_depth = 0;           // counted in CREATE RULE only
    std::uint32_t hidden = kNowhere;  // first semicolon that a body or a parenthesis hides
  };

  Script finish() {
    findAllows(text_, script_.allows, script_.problems);
    std::ranges::sort(script_.problems);
    return std::move(script_);
  }

  SharedText shared(std::string_view s) {
    if (s.empty()) return SharedText();
    auto found = script_.texts->find(s);
    if (found == script_.texts->end()) found = script_.texts->emplace(s).first;
    return SharedText(&*found);
  }

  // Neighbours mostly begin alike: the last head is kept.
  SharedText headOf(const Open& o) {
    if (o.head_words == last_head_words_ && o.head == last_head_) return last_head_text_;
    std::string head;
    for (int i = 0; i < o.head_words; ++i) {
      if (i) head += ' ';
      head += o.head[static_cast<std::size_t>(i)];
    }
    last_head_ = o.head;
    last_head_words_ = o.head_words;
    return last_head_text_ = shared(head);
  }

  void problem(std::uint32_t at, std::string reason, std::uint32_t end = kNowhere) {
    if (!lines_) lines_ = std::make_unique<LineIndex>(text_);
    script_.problems.push_back({lines_->range(at, end == kNowhere ? at : end), std::move(reason), false});
  }

  void reportNulBytes() {
    const std::size_t first = text_.find('\0');
    if (first == std::string_view::npos) return;
    has_nul_ = true;
    problem(static_cast<std::uint32_t>(first), "NUL byte: PostgreSQL cannot store one in text, the file may be damaged");
  }

  void push(PieceKind kind, std::uint32_t begin, std::uint32_t end) {
    Piece p;
    p.kind = kind;
    p.begin = begin;
    p.end = end;
    p.down = down_;
    p.named_query = named_query_;
    script_.pieces.push_back(p);
  }

  void endStatement(bool terminated, std::string_view consumer = {}) {
    if (open_.begin == kNowhere) return;
    push(PieceKind::Statement, open_.begin, open_.end);
    Piece& p = script_.pieces.back();
    p.terminated = terminated;
    p.head = headOf(open_);
    p.consumer = shared(consumer);
    p.has_placeholders = open_.placeholders || (has_nul_ && text_.substr(p.begin, p.end - p.begin).find('\0') != std::string_view::npos);
    open_ = Open();
  }

  void comment(const Token& t) {
    // Directives stand on a line of their own; most comments are told apart by their first bytes.
    if (!t.line_start) return;
    const Directive d = directiveOf(lexer_.text(t));
    if (d.kind == DirectiveKind::None) return;
    if (d.kind == DirectiveKind::NamedQuery && t.begin > 0 && text_[t.begin - 1] != '\n') return;
    endStatement(false);
    if (d.kind == DirectiveKind::NamedQuery) named_query_ = shared(d.name);
    else down_ = d.kind == DirectiveKind::Down;
  }

  void metaCommand(const Token& t) {
    const std::string_view written = lexer_.text(t);
    if (written == "\\;") {
      endStatement(true);
      if (!script_.pieces.empty()) script_.pieces.back().joined = true;
      return;
    }
    if (written == "\\\\") return;
    const std::string_view name = commandName(written);
    if (open_.begin != kNowhere) {
      if (isOneOf(name, kSenders)) {
        const bool copy_data = open_.copy_stdin;
        endStatement(true, name);
        push(PieceKind::MetaCommand, t.begin, t.end);
        if (copy_data) copyData(t.end);
        return;
      }
      if (name == "r" || name == "reset") {
        open_ = Open();
      } else if (t.line_start && isOneOf(name, kBreakers)) {
        endStatement(false);
      } else {  // \if, \set and others in the middle: psql keeps the buffer
        open_.placeholders = true;
        open_.end = t.end;
        return;
      }
    }
    push(PieceKind::MetaCommand, t.begin, t.end);
    if (name == "copy" && containsWord(written, "from") && (containsWord(written, "stdin") || containsWord(written, "pstdin"))) {
      copyData(t.end);
    }
  }

  // The data of COPY … FROM stdin: the lines after the one that `from` stands in, up to a line `\.`. Without such a line there is none:
  // the data then comes from somewhere else.
  void copyData(std::uint32_t from) {
    const std::size_t line = text_.find('\n', from);
    if (line == std::string_view::npos || no_more_copy_ends_) return;
    for (std::size_t mark = text_.find("\n\\.", line); mark != std::string_view::npos; mark = text_.find("\n\\.", mark + 1)) {
      const std::size_t after = mark + 3;
      const std::size_t next = after < text_.size() && text_[after] == '\r' ? after + 1 : after;
      if (next < text_.size() && text_[next] != '\n') continue;
      push(PieceKind::CopyData, static_cast<std::uint32_t>(line + 1), static_cast<std::uint32_t>(std::max(line, mark) + 1));
      lexer_.seek(static_cast<std::uint32_t>(next));
      return;
    }
    no_more_copy_ends_ = true;
  }

  void token(const Token& t) {
    const char c = text_[t.begin];
    if (t.kind == TokenKind::Punctuation && c == ';' && !hidesSemicolon(t)) {
      const bool copy_data = open_.copy_stdin;
      endStatement(true);
      if (copy_data) copyData(t.end);
      return;
    }
    if (open_.begin == kNowhere) open_.begin = t.begin;
    open_.end = t.end;
    switch (t.kind) {
      case TokenKind::Word: word(lexer_.text(t)); return;
      case TokenKind::Placeholder: open_.placeholders = true; break;
      case TokenKind::String:
      case TokenKind::QuotedWord: suspectQuote(t); break;
      case TokenKind::Punctuation:
        if (c == '(' && !open_.head_done && open_.head_words == 0) return;  // (SELECT …) UNION …
        if (open_.create_rule) open_.paren_depth += c == '(' ? 1 : c == ')' && open_.paren_depth > 0 ? -1 : 0;
        break;
      default: break;
    }
    open_.head_done = true;
    open_.after_begin = false;
  }

  bool hidesSemicolon(const Token& t) {
    if (open_.atomic_depth == 0 && open_.paren_depth == 0) return false;
    if (open_.hidden == kNowhere) open_.hidden = t.begin;
    return restarts_ < kMostRestarts;
  }

  void word(std::string_view w) {
    if (!open_.head_done) {
      const std::string_view key = keywordIn(w, kHeadWords);
      if (key.empty()) open_.head_done = true;
      else headWord(key);
    }
    if (open_.create_routine) {
      if (open_.after_begin && isKeyword(w, "atomic")) {
        if (open_.atomic_depth == 0) open_.atomic_depth = 1;
      } else if (open_.atomic_depth > 0) {
        if (isKeyword(w, "case")) ++open_.atomic_depth;
        else if (isKeyword(w, "end")) --open_.atomic_depth;
      }
      open_.after_begin = isKeyword(w, "begin");
    } else if (open_.copy) {
      if (open_.copy_from && isKeyword(w, "stdin")) open_.copy_stdin = true;
      open_.copy_from = isKeyword(w, "from");
    }
  }

  void headWord(std::string_view key) {
    const bool first = open_.head_words == 0;
    if (open_.head_words < 3) open_.head[static_cast<std::size_t>(open_.head_words++)] = key;
    if (first) {
      open_.copy = key == "COPY";
      if (key != "CREATE") limitHead();
      return;
    }
    // CREATE [OR REPLACE] FUNCTION: the word that matters may be the fourth.
    if (open_.head[0] == "CREATE") {
      open_.create_routine |= key == "FUNCTION" || key == "PROCEDURE";
      open_.create_rule |= key == "RULE";
    }
    limitHead();
  }
  void limitHead() {
    const bool may_go_on = open_.head[0] == "CREATE" && open_.head_words == 3 && open_.head[1] == "OR" && !open_.create_routine;
    if (open_.head_words == 3 && (!may_go_on || open_.create_rule)) open_.head_done = true;
  }

  // Remembers the first quote that looks as if its end were missing: a line in it ends with ';' and the next begins a statement.
  void suspectQuote(const Token& t) {
    if (suspect_begin_ != kNowhere || open_.create_routine) return;  // bodies of functions are full of statements
    const std::string_view quoted = lexer_.text(t);
    for (std::size_t line = quoted.find('\n'); line != std::string_view::npos; line = quoted.find('\n', line + 1)) {
      std::size_t before = line;
      while (before > 0 && (quoted[before - 1] == '\r' || quoted[before - 1] == ' ')) --before;
      if (before == 0 || quoted[before - 1] != ';') continue;
      std::size_t end = line + 1;
      while (end < quoted.size() && end - line <= kLongestHeadWord && ((quoted[end] | 0x20) >= 'a' && (quoted[end] | 0x20) <= 'z')) ++end;
      if (keywordIn(quoted.substr(line + 1, end - line - 1), kStarters).empty()) continue;
      suspect_begin_ = open_.begin;
      suspect_quote_ = t.begin;
      suspect_end_ = t.begin + static_cast<std::uint32_t>(before) - 1;
      suspect_piece_ = script_.pieces.size();
      suspect_down_ = down_;
      suspect_name_ = named_query_;
      return;
    }
  }

  // A quote, dollar quote or comment that is never closed.
  void unterminated(const Token& t) {
    const char c = text_[t.begin];
    const bool quote = c != '/' && c != '$';
    const std::string_view what = c == '/' ? "comment" : c == '$' ? "dollar quote" : c == '"' ? "quoted identifier" : "string literal";
    if (++restarts_ > kMostRestarts) {
      if (open_.begin == kNowhere) open_.begin = t.begin;
      problem(t.begin, "unterminated " + std::string(what) + ": the rest of the file is not read", t.end);
      open_ = Open();
      return;
    }
    if (quote && suspect_begin_ != kNowhere) return restartAtSuspect(what);
    problem(t.begin, "unterminated " + std::string(what));
    open_ = Open();
    lexer_.seek(plausibleEnd(t.begin));
  }

  // The quotes are out of step since the statement that was remembered: what was cut after it is worth nothing.
  void restartAtSuspect(std::string_view what) {
    script_.pieces.resize(suspect_piece_);
    erase_if(script_.problems, [this](const NotUnderstood& p) {
      return p.range.begin > suspect_begin_ && p.reason.starts_with("unterminated");
    });
    problem(suspect_quote_, "unterminated " + std::string(what));
    down_ = suspect_down_;
    named_query_ = suspect_name_;
    open_ = Open();
    lexer_.seek(suspect_end_);
    suspect_begin_ = kNowhere;
  }

  // After the first ';' at a line's end behind `from`: there the next statement may begin.
  std::uint32_t plausibleEnd(std::uint32_t from) const {
    for (std::size_t i = text_.find(';', from); i != std::string_view::npos; i = text_.find(';', i + 1)) {
      const std::size_t next = text_.find_first_not_of(" \t\r", i + 1);
      if (next == std::string_view::npos || text_[next] == '\n') return static_cast<std::uint32_t>(i + 1);
    }
    return static_cast<std::uint32_t>(text_.size());
  }

  // True if the file is done; false if a body was left open and scanning goes on behind the first semicolon it had hidden.
  bool atEnd() {
    if (open_.begin != kNowhere && open_.hidden != kNowhere && restarts_ < kMostRestarts) {
      ++restarts_;
      problem(open_.begin, open_.atomic_depth > 0 ? "BEGIN ATOMIC without END" : "unbalanced parenthesis in CREATE RULE");
      const std::uint32_t hidden = open_.hidden;
      open_ = Open();
      lexer_.seek(hidden + 1);
      return false;
    }
    endStatement(false);
    return true;
  }

  std::string_view text_;
  Lexer lexer_;
  Script script_;
  Open open_;
  std::array<std::string_view, 3> last_head_;
  int last_head_words_ = 0;
  SharedText last_head_text_, named_query_, suspect_name_;
  bool down_ = false, suspect_down_ = false, has_nul_ = false, no_more_copy_ends_ = false;
  int restarts_ = 0;
  std::uint32_t suspect_begin_ = kNowhere, suspect_quote_ = 0, suspect_end_ = 0;
  std::size_t suspect_piece_ = 0;
  std::unique_ptr<LineIndex> lines_;
};

}  // namespace

const std::string& SharedText::str() const {
  static const std::string kEmpty;
  return text_ ? *text_ : kEmpty;
}

Script scanScript(std::string_view text) { return Scanner(text).scan(); }

}  // namespace pglocklint::sql

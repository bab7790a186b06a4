#include "sql/front_end.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "model/lock_function.h"
#include "sql/lexer.h"
#include "sql/mapped_text.h"
#include "sql/pg_parse.h"
#include "sql/plpgsql.h"

namespace pglocklint::sql {

namespace {

// The blocks of one script while its statements come in; \if … \endif makes branches.
class ScriptFlow {
 public:
  explicit ScriptFlow(Function& f) : function_(f) { function_.blocks.emplace_back(); }

  void add(Event e) { block().events.push_back(std::move(e)); }

  // A statement that nobody looks into; runs of them are one event.
  void addUnparsed(const SourceRange& range, const std::string& head) {
    auto& events = block().events;
    if (!events.empty() && events.back().kind == EventKind::Statement && events.back().statement[0].kind == StatementKind::Unparsed) {
      Statement& s = events.back().statement[0];
      ++s.count;
      s.range.end = range.end, s.range.end_line = range.end_line, s.range.end_column = range.end_column;
      return;
    }
    Statement s;
    s.kind = StatementKind::Unparsed;
    s.range = range;
    s.head = head;
    events.push_back(Event(std::move(s)));
  }

  void beginIf() {
    ifs_.push_back({current_, {}, false});
    startBranch();
  }
  void beginElse(bool final) {
    if (ifs_.empty()) return;
    ifs_.back().ends.push_back(current_);
    ifs_.back().has_else |= final;
    startBranch();
  }
  void endIf() {
    if (ifs_.empty()) return;
    If done = std::move(ifs_.back());
    ifs_.pop_back();
    done.ends.push_back(current_);
    if (!done.has_else) done.ends.push_back(done.start);
    current_ = newBlock();
    for (const std::int32_t end : done.ends) function_.blocks[static_cast<std::size_t>(end)].successors.push_back({current_, EdgeKind::Next});
  }
  void finish() {
    while (!ifs_.empty()) endIf();
  }

 private:
  struct If {
    std::int32_t start = 0;
    std::vector<std::int32_t> ends;
    bool has_else = false;
  };
  Block& block() { return function_.blocks[static_cast<std::size_t>(current_)]; }
  std::int32_t newBlock() {
    function_.blocks.emplace_back();
    return static_cast<std::int32_t>(function_.blocks.size()) - 1;
  }
  void startBranch() {
    const std::int32_t from = ifs_.back().start;
    current_ = newBlock();
    function_.blocks[static_cast<std::size_t>(from)].successors.push_back({current_, EdgeKind::Next});
  }

  Function& function_;
  std::int32_t current_ = 0;
  std::vector<If> ifs_;
};

// A psql command: its name without the backslash, and the rest of the line trimmed and unquoted.
std::pair<std::string, std::string> metaCommand(std::string_view text) {
  const std::size_t space = text.find_first_of(" \t\r\n");
  std::string name(text.substr(1, space == std::string_view::npos ? space : space - 1));
  std::string rest;
  if (space != std::string_view::npos) {
    rest = text.substr(space);
    const std::size_t a = rest.find_first_not_of(" \t\r\n");
    const std::size_t b = rest.find_last_not_of(" \t\r\n");
    rest = a == std::string::npos ? "" : rest.substr(a, b - a + 1);
    if (rest.size() >= 2 && rest.front() == '\'' && rest.back() == '\'') rest = rest.substr(1, rest.size() - 2);
  }
  return {name, rest};
}

bool mentionsLockFunction(std::string_view text) {
  for (Lexer lexer(text);;) {
    const Token t = lexer.next();
    if (t.kind == TokenKind::End) return false;
    if ((t.kind == TokenKind::Word || t.kind == TokenKind::QuotedWord) && findLockFunction(foldIdentifier(lexer.text(t)))) return true;
    if (t.kind == TokenKind::Error) return false;
  }
}

class Reader {
 public:
  Reader(const ScannedFile& file, bool everything) : file_(file), everything_(everything), lines_(file.text) {}

  Unit read() {
    unit_.files = {file_.path};
    addFunction(FunctionKind::Script, "");
    for (std::size_t i = 0; i < file_.script.pieces.size(); ++i) piece(file_.script.pieces[i], file_.relevant[i]);
    // Functions are kept apart while they grow (definitions are appended in between), then put in their places.
    for (auto& own : flows_) {
      own->flow->finish();
      own->flow.reset();
      unit_.functions[own->index] = std::move(own->function);
    }
    unit_.allows = file_.script.allows;
    unit_.not_understood.insert(unit_.not_understood.end(), file_.script.problems.begin(), file_.script.problems.end());
    std::sort(unit_.not_understood.begin(), unit_.not_understood.end());
    return std::move(unit_);
  }

 private:
  struct Own {  // a top-level function and its growing blocks
    Function function;
    std::size_t index = 0;
    std::optional<ScriptFlow> flow;
  };

  std::uint32_t size() const { return static_cast<std::uint32_t>(file_.text.size()); }

  Own& addFunction(FunctionKind kind, const std::string& name) {
    auto own = std::make_unique<Own>();
    own->function.kind = kind, own->function.name = name, own->function.language = "sql";
    own->function.range = lines_.range(0, size());
    own->function.body_range = own->function.range;
    own->index = unit_.functions.size();
    own->flow.emplace(own->function);
    unit_.functions.emplace_back();
    flows_.push_back(std::move(own));
    return *flows_.back();
  }

  // The function that a piece belongs to: the script, its down section, or a named query of its own.
  Own& home(const Piece& p) {
    const FunctionKind kind = p.down ? FunctionKind::DownScript : p.named_query.empty() ? FunctionKind::Script : FunctionKind::NamedQuery;
    for (auto& own : flows_)
      if (own->function.kind == kind && own->function.name == p.named_query) return *own;
    Own& own = addFunction(kind, p.named_query);
    own.function.range = lines_.range(p.begin, p.end);
    own.function.body_range = own.function.range;
    return own;
  }

  void piece(const Piece& p, bool relevant) {
    if (p.kind == PieceKind::CopyData) return;
    const std::string_view text = std::string_view(file_.text).substr(p.begin, p.end - p.begin);
    if (p.kind == PieceKind::MetaCommand) return metaPiece(p, text);
    ++unit_.statements;
    ScriptFlow& flow = *home(p).flow;
    if (!relevant && !everything_) return flow.addUnparsed(lines_.range(p.begin, p.end), p.head);
    ++unit_.parsed;
    statement(p, MappedText(std::string(text), p.begin), flow);
  }

  void metaPiece(const Piece& p, std::string_view text) {
    const auto [name, rest] = metaCommand(text);
    ScriptFlow& flow = *home(p).flow;
    const SourceRange range = lines_.range(p.begin, p.end);
    if (name == "i" || name == "include" || name == "ir" || name == "include_relative")
      flow.add(SessionOp{SessionVerb::Include, range, rest, name == "ir" || name == "include_relative"});
    else if (name == "c" || name == "connect") flow.add(SessionOp{SessionVerb::Reconnect, range, rest});
    else if (name == "q" || name == "quit") flow.add(SessionOp{SessionVerb::Quit, range, ""});
    else if (name == "if") flow.beginIf();
    else if (name == "elif") flow.beginElse(false);
    else if (name == "else") flow.beginElse(true);
    else if (name == "endif") flow.endIf();
  }

  void statement(const Piece& p, const MappedText& text, ScriptFlow& flow) {
    ParsedStatement parsed = parseStatement(text, lines_);
    if (!parsed.error.empty()) {
      const std::uint32_t at = std::min<std::uint32_t>(p.begin + parsed.error_offset, p.end);
      unit_.not_understood.push_back({lines_.range(at, p.end), parsed.error, mentionsLockFunction(text.text())});
    }
    const auto first_function = static_cast<std::int32_t>(unit_.functions.size());
    const auto first_ddl = static_cast<std::int32_t>(unit_.ddl.size());
    for (Function& f : parsed.functions) unit_.functions.push_back(std::move(f));
    for (const ParsedStatement::Body& b : parsed.bodies) body(b, first_function);
    for (Ddl& d : parsed.ddl) {
      d.down = p.down;
      if (d.function >= 0) d.function += first_function;
      unit_.ddl.push_back(std::move(d));
    }
    for (Event& e : parsed.events) {
      if (e.kind == EventKind::Ddl) e.ddl += first_ddl;
      for (Statement& s : e.statement) {
        s.consumer = p.consumer;
        if (s.function >= 0) s.function += first_function;
      }
      flow.add(std::move(e));
    }
  }

  void body(const ParsedStatement::Body& b, std::int32_t first_function) {
    Function& f = unit_.functions[static_cast<std::size_t>(b.function + first_function)];
    if (b.language == "plpgsql") return parsePlpgsql(b.text, lines_, f, unit_.not_understood);
    if (b.language == "sql") return parseSqlBody(b.text, lines_, f, unit_.not_understood);
    f.body_understood = false;
    if (mentionsSeed(b.text.text()))
      unit_.not_understood.push_back({f.body_range.known() ? f.body_range : f.range,
                                      "a function body in LANGUAGE " + b.language + " is not read", false});
  }

  const ScannedFile& file_;
  bool everything_;
  LineIndex lines_;
  Unit unit_;
  std::vector<std::unique_ptr<Own>> flows_;
};

}  // namespace

std::string includedFile(const std::string& path, std::string_view command, const std::function<bool(const std::string&)>& exists) {
  namespace fs = std::filesystem;
  if (!command.starts_with("\\i")) return "";
  const auto [name, target] = metaCommand(command);
  const bool relative = name == "ir" || name == "include_relative";
  if ((!relative && name != "i" && name != "include") || target.empty() || target.front() == '/') return "";
  const std::string beside = (fs::path(path).parent_path() / target).lexically_normal().generic_string();
  const std::string from_root = fs::path(target).lexically_normal().generic_string();
  for (const std::string& candidate : relative ? std::vector{beside} : std::vector{from_root, beside})
    if (!candidate.starts_with("..") && exists(candidate)) return candidate;
  return "";
}

Unit readSql(const ScannedFile& file, bool everything) { return Reader(file, everything).read(); }

}  // namespace pglocklint::sql

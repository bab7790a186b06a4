#include "sql/script_reader.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "model/lock_function.h"
#include "sql/front_end.h"
#include "sql/lexer.h"
#include "sql/pg_parse.h"
#include "sql/plpgsql.h"

namespace pglocklint::sql {

// --- ScriptFlow ----------------------------------------------------------------------------------------------------------

void ScriptFlow::addUnparsed(const SourceRange& range, const std::string& head) {
  auto& events = block().events;
  const auto readsNothing = [](const std::string& h) { return h == "INSERT VALUES"; };
  if (!events.empty() && events.back().kind == EventKind::Statement && events.back().statement[0].kind == StatementKind::Unparsed &&
      readsNothing(events.back().statement[0].head) == readsNothing(head)) {
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

Variable* ScriptFlow::variable(const std::string& name) {
  const auto at = variables_.find(name);
  return at == variables_.end() ? nullptr : &function_.variables[at->second];
}

void ScriptFlow::addVariable(Variable v) {
  variables_[v.name] = function_.variables.size();
  function_.variables.push_back(std::move(v));
}

std::int32_t ScriptFlow::newBlock() {
  function_.blocks.emplace_back();
  return static_cast<std::int32_t>(function_.blocks.size()) - 1;
}

void ScriptFlow::connect(std::int32_t from, std::int32_t to) {
  if (from >= 0) function_.blocks[static_cast<std::size_t>(from)].successors.push_back({to, EdgeKind::Next});
}

void ScriptFlow::startBranch() {
  current_ = newBlock();
  connect(open_.back().start, current_);
}

void ScriptFlow::beginIf() {
  open_.push_back({current_, {}, false, false});
  startBranch();
}

void ScriptFlow::beginElse(bool final) {
  if (open_.empty() || open_.back().loop) return;
  open_.back().ends.push_back(current_);
  open_.back().has_else |= final;
  startBranch();
}

void ScriptFlow::endIf() {
  if (open_.empty() || open_.back().loop) return;
  Open done = std::move(open_.back());
  open_.pop_back();
  done.ends.push_back(current_);
  if (!done.has_else) done.ends.push_back(done.start);
  current_ = newBlock();
  for (const std::int32_t end : done.ends) connect(end, current_);
}

void ScriptFlow::beginLoop() {
  const std::int32_t head = newBlock();
  connect(current_, head);
  open_.push_back({head, {}, false, true});
  startBranch();
}

void ScriptFlow::endLoop() {
  if (open_.empty() || !open_.back().loop) return;
  const std::int32_t head = open_.back().start;
  open_.pop_back();
  connect(current_, head);
  current_ = newBlock();
  connect(head, current_);
}

void ScriptFlow::leave() { current_ = newBlock(); }

void ScriptFlow::finish() {
  while (!open_.empty()) open_.back().loop ? endLoop() : endIf();
}

// --- psql commands ---------------------------------------------------------------------------------------------------------

std::pair<std::string, std::string> metaCommand(std::string_view text) {
  const std::size_t space = text.find_first_of(" \t\r\n");
  std::string name(text.substr(1, space == std::string_view::npos ? space : space - 1));
  std::string rest;
  if (space != std::string_view::npos) {
    rest = text.substr(space);
    const std::size_t a = rest.find_first_not_of(" \t\r\n");
    const std::size_t b = rest.find_last_not_of(" \t\r\n");
    rest = a == std::string::npos ? "" : rest.substr(a, b - a + 1);
    if (rest.size() >= 2 && (rest.front() == '\'' || rest.front() == '"') && rest.back() == rest.front()) rest = rest.substr(1, rest.size() - 2);
  }
  return {name, rest};
}

namespace {

// The arguments of \\c as a connection string: [database [user [host [port]]]], where - keeps what was; or a string of its own.
std::string connectionOf(const std::string& arguments) {
  if (arguments.find('=') != std::string::npos || arguments.find("://") != std::string::npos || arguments.find(' ') == std::string::npos)
    return arguments;
  std::string out, word;
  std::istringstream words(arguments);
  for (const char* name : {"dbname", "user", "host", "port"})
    if (words >> word && word != "-") out += (out.empty() ? "" : " ") + std::string(name) + "=" + word;
  return out;
}

// A command of the shell that is over at once.
bool isQuick(std::string_view command) {
  const std::string_view word = command.substr(0, command.find_first_of(" \t"));
  for (const std::string_view quick : {"echo", "printf", "date", "cd", "mkdir", "rm", "touch", "true", "clear", "export", "pwd", "logger"})
    if (word == quick) return command.find_first_of(";|&") == std::string_view::npos;
  return false;
}

}  // namespace

void ScriptReader::command(std::string_view text, const SourceRange& range, ScriptFlow& flow) {
  const auto [name, rest] = metaCommand(text);
  if (name == "i" || name == "include" || name == "ir" || name == "include_relative")
    flow.add(SessionOp{SessionVerb::Include, range, rest, name == "ir" || name == "include_relative"});
  else if (name == "c" || name == "connect") flow.add(SessionOp{SessionVerb::Reconnect, range, connectionOf(rest)});
  else if (name == "!" || name == "copy") {  // may do anything
    flow.addUnparsed(range, "\\" + name);
    if (name == "!" && !isQuick(rest)) flow.add(SessionOp{SessionVerb::Outside, range, "\\!"});
  } else if (name == "prompt") {
    flow.add(SessionOp{SessionVerb::Outside, range, "\\prompt"});
  }
  else if (name == "q" || name == "quit") flow.add(SessionOp{SessionVerb::Quit, range, ""});
  else if (name == "set" || name == "unset") setVariable(rest, name == "set", range, flow);
  else if (name == "if") flow.beginIf();
  else if (name == "elif") flow.beginElse(false);
  else if (name == "else") flow.beginElse(true);
  else if (name == "endif") flow.endIf();
}

namespace {

Expr textConstant(const std::string& value, const SourceRange& range) {
  Expr text;
  text.kind = ExprKind::Const, text.literal = LiteralKind::String, text.text = value, text.range = range;
  return text;
}

// The value that \\set gives: its arguments put together. Nothing where it depends on more than this line (:other, `command`, escapes).
std::optional<std::string> setValue(std::string_view arguments) {
  std::string value;
  while (!arguments.empty()) {
    if (arguments.front() == ' ' || arguments.front() == '\t') {
      arguments.remove_prefix(1);
      continue;
    }
    const bool quoted = arguments.front() == '\'';
    if (quoted) arguments.remove_prefix(1);
    const std::size_t end = std::min(arguments.find_first_of(quoted ? "'" : " \t"), arguments.size());
    const std::string_view word = arguments.substr(0, end);
    if (word.find_first_of(quoted ? "\\" : "'\"`:\\") != std::string_view::npos || (quoted && end == arguments.size())) return std::nullopt;
    value += word;
    arguments.remove_prefix(std::min(end + (quoted ? 1 : 0), arguments.size()));
    if (quoted && !arguments.empty() && arguments.front() == '\'') return std::nullopt;  // '' stands for one quote
  }
  return value;
}

}  // namespace

void ScriptReader::givenVariable(const std::string& name, const std::optional<std::string>& value, const SourceRange& range, ScriptFlow& flow) {
  if (Variable* known = flow.variable(":" + name)) {  // another psql of the script
    if (!value || known->initial.empty() || known->initial[0].text.str() != *value) known->initial.clear();
    return;
  }
  Variable v;
  v.name = ":" + name, v.range = range;
  if (value) v.initial.push_back(textConstant(*value, range));
  flow.addVariable(std::move(v));
}

namespace {

// As psql reads a variable that is on or off.
std::string_view switchValue(const std::optional<std::string>& value) {
  if (!value) return "?";
  const std::string folded = foldIdentifier(*value);
  for (const std::string_view off : {"off", "false", "no", "0", "of", "fals", "fal", "fa", "f", "n"})
    if (folded == off) return "off";
  for (const std::string_view on : {"on", "true", "yes", "1", "tru", "tr", "t", "ye", "y", ""})
    if (folded == on) return "on";
  return "?";
}

}  // namespace

// A psql variable. One that is set twice, in one branch only, or by \gset as well, has no one value. AUTOCOMMIT is a setting of the session.
void ScriptReader::setVariable(std::string_view arguments, bool set, const SourceRange& range, ScriptFlow& flow) {
  const std::size_t end = std::min(arguments.find_first_of(" \t"), arguments.size());
  if (end == 0) return;
  if (arguments.substr(0, end) == "AUTOCOMMIT") {
    Setting autocommit;
    autocommit.name = ":AUTOCOMMIT", autocommit.range = range;
    autocommit.value = set ? switchValue(setValue(arguments.substr(end))) : "?";
    return flow.add(Event(std::move(autocommit)));
  }
  const std::string name = ":" + std::string(arguments.substr(0, end));  // its own name space: no column or PL/pgSQL variable is meant
  if (Variable* known = flow.variable(name)) return known->initial.clear();
  Variable v;
  v.name = name, v.range = range;
  if (const auto value = setValue(arguments.substr(end)); value && set && !flow.branched()) {
    v.initial.push_back(textConstant(*value, range));
  }
  flow.addVariable(std::move(v));
}

// --- statements -----------------------------------------------------------------------------------------------------------

namespace {

bool mentionsLockFunction(std::string_view text) {
  for (Lexer lexer(text);;) {
    const Token t = lexer.next();
    if (t.kind == TokenKind::End) return false;
    if ((t.kind == TokenKind::Word || t.kind == TokenKind::QuotedWord) && findLockFunction(foldIdentifier(lexer.text(t)))) return true;
    if (t.kind == TokenKind::Error) return false;
  }
}

}  // namespace

void ScriptReader::statement(const Piece& piece, const MappedText& text, ScriptFlow& flow, std::string_view consumer) {
  ParsedStatement parsed = parseStatement(text, lines_);
  if (!parsed.error.empty()) {
    const auto size = static_cast<std::uint32_t>(text.text().size());
    const std::uint32_t at = std::min<std::uint32_t>(parsed.error_offset, size);
    unit_.not_understood.push_back({lines_.range(text.toFile(at), text.toFile(size)), parsed.error, mentionsLockFunction(text.text())});
  }
  const auto first_function = static_cast<std::int32_t>(unit_.functions.size());
  const auto first_ddl = static_cast<std::int32_t>(unit_.ddl.size());
  for (Function& f : parsed.functions) unit_.functions.push_back(std::move(f));
  for (const ParsedStatement::Body& b : parsed.bodies)
    parseBody(b.text, b.language, lines_, unit_.functions[static_cast<std::size_t>(b.function + first_function)], unit_.not_understood);
  for (Ddl& d : parsed.ddl) {
    d.down = piece.down;
    if (d.function >= 0) d.function += first_function;
    unit_.ddl.push_back(std::move(d));
  }
  for (Event& e : parsed.events) {
    if (e.kind == EventKind::Ddl) e.ddl += first_ddl;
    for (Statement& s : e.statement) {
      s.consumer = piece.consumer.empty() ? std::string(consumer) : piece.consumer.str();
      if (s.consumer == "gset" && !s.query.empty())
        for (const Target& t : s.query[0].targets) setVariable(t.name, false, s.range, flow);
      if (s.function >= 0) s.function += first_function;
    }
    flow.add(std::move(e));
  }
}

}  // namespace pglocklint::sql

// The block structure of PL/pgSQL: which statement follows which.
//
// A body that is not quite right is still read as far as it makes sense: a statement that fails costs itself, an END that does
// not fit closes the innermost construct, and only nesting beyond any sense ends the reading.
#include "sql/plpgsql.h"

#include <fmt/format.h>

#include <utility>

#include "sql/pg_parse.h"
#include "sql/plpgsql_parser.h"

namespace pglocklint::sql {

namespace {

constexpr int kMaxNesting = 1000;

SourceRange hull(const SourceRange& from, const SourceRange& to) {
  SourceRange r = from;
  r.end = to.end, r.end_line = to.end_line, r.end_column = to.end_column;
  return r;
}

}  // namespace

// One level of nesting for as long as it lives.
class PlpgsqlParser::Nesting {
 public:
  Nesting(PlpgsqlParser& parser, int* open = nullptr) : parser_(parser), open_(open) {
    ++parser_.depth_;
    if (open_) ++*open_;
    if (parser_.depth_ > kMaxNesting)
      parser_.abandon(parser_.tokens_.range({parser_.pos_, parser_.pos_ + 1}),
                      "nested more than 1000 deep: the rest of the body is not read");
  }
  ~Nesting() {
    --parser_.depth_;
    if (open_) --*open_;
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  PlpgsqlParser& parser_;
  int* open_;
};

PlpgsqlParser::PlpgsqlParser(const MappedText& body, const LineIndex& lines, Function& function,
                             List<NotUnderstood>& problems)
    : tokens_(body, lines), lines_(lines), function_(function), problems_(problems), flow_(function) {}

void PlpgsqlParser::parse() {
  function_.variables.clear();
  while (tokens_.oper(pos_, "#")) {  // compiler options: #variable_conflict use_column
    const SourceRange line = tokens_.range({pos_, pos_ + 1});
    while (pos_ < tokens_.count() && tokens_.range({pos_, pos_ + 1}).line == line.line) ++pos_;
  }
  const std::string label = readLabel();
  if (!tokens_.word(pos_, "declare") && !tokens_.word(pos_, "begin")) {
    problem(tokens_.range(tokens_.all()), "not a PL/pgSQL block: no BEGIN", tokens_.mentionsLockInStrings(tokens_.all()));
    function_.body_understood = false;
    return;
  }
  block(label);
  if (pos_ < tokens_.count() && !abandoned_) {
    problem(tokens_.range({pos_, tokens_.count()}), "text after the end of the PL/pgSQL block",
            tokens_.mentionsLockInStrings({pos_, tokens_.count()}));
  }
  resolveExecutes();
  flow_.finish();
}

void PlpgsqlParser::problem(SourceRange range, std::string reason, bool mentions_lock) {
  problems_.push_back({range, std::move(reason), mentions_lock});
}

void PlpgsqlParser::abandon(SourceRange where, std::string reason) {
  if (!abandoned_) problem(where, std::move(reason), tokens_.mentionsLockInStrings({pos_, tokens_.count()}));
  abandoned_ = true;
  function_.body_understood = false;
  pos_ = tokens_.count();
}

std::uint32_t PlpgsqlParser::loopDepth() const {
  std::uint32_t depth = 0;
  for (const Frame& frame : frames_) depth += frame.loop ? 1 : 0;
  return depth;
}

std::string PlpgsqlParser::readLabel() {
  if (!tokens_.oper(pos_, "<<") || !tokens_.name(pos_ + 1) || !tokens_.oper(pos_ + 2, ">>")) return {};
  std::string label = tokens_.folded(pos_ + 1);
  pos_ += 3;
  return label;
}

// Statements up to a word that cannot begin one: END, ELSE, WHEN, EXCEPTION, ….
void PlpgsqlParser::statements() {
  while (pos_ < tokens_.count()) {
    if (tokens_.word(pos_, "end") || tokens_.word(pos_, "else") || tokens_.word(pos_, "when")) return;
    if (tokens_.word(pos_, "exception") && tokens_.word(pos_ + 1, "when")) return;
    if ((tokens_.word(pos_, "elsif") || tokens_.word(pos_, "elseif")) && assignmentOperator(pos_) == 0) return;
    const std::size_t before = pos_;
    statement();
    if (pos_ == before) ++pos_;
  }
}

void PlpgsqlParser::statement() {
  if (tokens_.oper(pos_, "#") && tokens_.word(pos_ + 1, "include") && tokens_.kind(pos_ + 2) == TokenKind::QuotedWord) {
    problem(tokens_.range({pos_, pos_ + 3}), "text that a preprocessor includes is not read", false);
    pos_ += 3;
    return;
  }
  if (tokens_.punctuation(pos_, ';')) {  // an empty statement; PostgreSQL refuses it, its meaning is plain
    ++pos_;
    return;
  }
  const std::string label = readLabel();
  if (tokens_.word(pos_, "declare") || tokens_.word(pos_, "begin")) return block(label);
  if (tokens_.word(pos_, "if")) return ifStatement();
  if (tokens_.word(pos_, "case")) return caseStatement();
  if (tokens_.word(pos_, "loop")) return loopStatement(label);
  if (tokens_.word(pos_, "while")) return whileStatement(label);
  if (tokens_.word(pos_, "for")) return forStatement(label);
  if (tokens_.word(pos_, "foreach")) return foreachStatement(label);
  if (assignmentOperator(pos_) == 0 && (tokens_.word(pos_, "exit") || tokens_.word(pos_, "continue"))) return exitStatement();
  simpleStatement();
}

void PlpgsqlParser::block(const std::string& label) {
  const Nesting nesting(*this);
  if (abandoned_) return;
  const std::size_t first = pos_;
  const std::size_t first_variable = function_.variables.size();
  block_labels_.push_back(label);
  frames_.push_back({.label = label});
  const std::size_t own_frame = frames_.size() - 1;
  // Initial values are computed before the subtransaction of an EXCEPTION block begins: an error there is not caught by it.
  declarations();
  const SourceRange begin = tokens_.range({pos_, pos_ + 1});
  if (tokens_.word(pos_, "begin")) ++pos_;
  const std::size_t first_scope = function_.exception_scopes.size();
  const std::int32_t first_block = flow_.continueInNewBlock();
  std::vector<OpenEnd> ends;
  std::int32_t scope = -1;
  for (;;) {
    statements();
    if (tokens_.word(pos_, "exception") && scope < 0) {
      ends.push_back(flow_.end());  // the body went well
      scope = flow_.closeScope(first_block, first_scope, begin);
      ++pos_;
      handlers(scope, ends);
      continue;
    }
    // END IF, END LOOP, END CASE: of an enclosing construct if there is one, else a slip that costs these words.
    const bool foreign_end = tokens_.word(pos_, "end") &&
                             ((tokens_.word(pos_ + 1, "if") && open_ifs_ == 0) ||
                              (tokens_.word(pos_ + 1, "loop") && open_loops_ == 0) ||
                              (tokens_.word(pos_ + 1, "case") && open_cases_ == 0));
    const bool stray = pos_ < tokens_.count() && !tokens_.word(pos_, "end");
    if (!foreign_end && !stray) break;
    problem(tokens_.range({pos_, pos_ + 1}), fmt::format("unexpected {}", tokens_.upper(pos_)), false);
    pos_ = foreign_end ? pos_ + 2 : pos_ + 1;
  }
  ends.push_back(flow_.end());
  expectEnd("");
  Frame frame = std::move(frames_[own_frame]);
  frames_.resize(own_frame);
  block_labels_.pop_back();
  const SourceRange whole = tokens_.range({first, pos_});
  for (std::size_t i = first_variable; i < function_.variables.size(); ++i)
    if (!function_.variables[i].visible.known()) function_.variables[i].visible = whole;
  if (scope >= 0)
    function_.exception_scopes[static_cast<std::size_t>(scope)].range = hull(begin, tokens_.range({pos_ - 1, pos_}));
  ends.insert(ends.end(), frame.exits.begin(), frame.exits.end());
  flow_.start(ends);
}

// EXCEPTION WHEN condition [OR condition …] THEN statements …
void PlpgsqlParser::handlers(std::int32_t scope, std::vector<OpenEnd>& ends) {
  while (tokens_.word(pos_, "when")) {
    const std::size_t first = pos_++;
    const std::size_t then = tokens_.findWord(pos_, tokens_.count(), "then");
    ExceptionHandler handler;
    for (std::size_t i = pos_; i < then; ++i) {
      if (tokens_.word(i, "or")) continue;
      if (tokens_.word(i, "sqlstate") && tokens_.string(i + 1))
        handler.conditions.push_back("sqlstate " + tokens_.decodedString(++i).text());
      else if (tokens_.name(i))
        handler.conditions.push_back(tokens_.folded(i));
    }
    handler.block = flow_.start({});
    function_.exception_scopes[static_cast<std::size_t>(scope)].handlers.push_back(handler);
    const std::size_t own = function_.exception_scopes[static_cast<std::size_t>(scope)].handlers.size() - 1;
    pos_ = then + 1;
    statements();
    // A nested block may have added scopes: look ours up again.
    function_.exception_scopes[static_cast<std::size_t>(scope)].handlers[own].range = tokens_.range({first, pos_});
    ends.push_back(flow_.end());
  }
}

// Skips what cannot be read as a statement, up to its semicolon.
void PlpgsqlParser::skipStatement(std::string reason) {
  const TokenSpan span{pos_, semicolon(pos_)};
  problem(tokens_.range(span), std::move(reason), tokens_.mentionsLockInStrings(span));
  pos_ = span.last + 1;
}

// END [IF | LOOP | CASE] [label] ;
void PlpgsqlParser::expectEnd(std::string_view construct) {
  if (pos_ >= tokens_.count()) {
    pos_ = tokens_.count();
    const TokenSpan last{tokens_.count() == 0 ? 0 : tokens_.count() - 1, tokens_.count()};
    return abandon(tokens_.range(last), "the body ends inside of a block");
  }
  const bool open_elsewhere = construct.empty() && ((tokens_.word(pos_ + 1, "if") && open_ifs_ > 0) ||
                                                    (tokens_.word(pos_ + 1, "loop") && open_loops_ > 0) ||
                                                    (tokens_.word(pos_ + 1, "case") && open_cases_ > 0));
  if (!tokens_.word(pos_, "end") || open_elsewhere || (!construct.empty() && !tokens_.word(pos_ + 1, construct)))
    return problem(tokens_.range({pos_, pos_ + 1}), "a block or statement is not closed by its END", false);
  pos_ += construct.empty() ? 1 : 2;
  if (tokens_.name(pos_) && (tokens_.punctuation(pos_ + 1, ';') || pos_ + 1 >= tokens_.count())) ++pos_;
  if (tokens_.punctuation(pos_, ';')) ++pos_;
}

// Ends the current block with a branch; returns it.
std::int32_t PlpgsqlParser::condition(TokenSpan expression, std::string head) {
  Statement statement = like(expression, PlContext::Condition, std::move(head));
  addExpression(expression, std::move(statement));
  return flow_.current();
}

void PlpgsqlParser::ifStatement() {
  const Nesting nesting(*this, &open_ifs_);
  if (abandoned_) return;
  std::vector<OpenEnd> ends;
  std::string head = "IF";
  for (;;) {
    const std::size_t then = tokens_.findWord(pos_ + 1, tokens_.count(), "then");
    if (!tokens_.word(then, "then")) {
      skipStatement(head + " without THEN");
      break;
    }
    const std::int32_t branch = condition({pos_ + 1, then}, head);
    pos_ = then + 1;
    flow_.start({{branch, EdgeKind::True}});
    statements();
    ends.push_back(flow_.end());
    if (tokens_.word(pos_, "elsif") || tokens_.word(pos_, "elseif")) {
      head = "ELSIF";
      flow_.start({{branch, EdgeKind::False}});
      continue;
    }
    if (tokens_.word(pos_, "else")) {
      ++pos_;
      flow_.start({{branch, EdgeKind::False}});
      statements();
      ends.push_back(flow_.end());
    } else {
      ends.push_back({branch, EdgeKind::False});
    }
    break;
  }
  if (ends.empty()) return;  // no THEN at all: nothing was opened
  expectEnd("if");
  flow_.start(ends);
}

// CASE [operand] WHEN … THEN … [ELSE …] END CASE. PostgreSQL computes the operand once into a variable of its own.
void PlpgsqlParser::caseStatement() {
  const Nesting nesting(*this, &open_cases_);
  if (abandoned_) return;
  const TokenSpan operand{pos_ + 1, tokens_.findWord(pos_ + 1, tokens_.count(), "when")};
  if (!tokens_.word(operand.last, "when")) return skipStatement("CASE without WHEN");
  std::string variable;
  if (!operand.empty()) {
    variable = fmt::format("__case_variable_{}__", ++case_variables_);
    declareLoopVariable(variable, "", operand);
    Statement assign = like(operand, PlContext::Assign, "CASE");
    assign.into = {variable};
    addExpression(operand, std::move(assign));
  }
  pos_ = operand.last;
  std::vector<OpenEnd> ends;
  OpenEnd otherwise = flow_.end();
  while (tokens_.word(pos_, "when") && !abandoned_) caseArm(variable, ends, otherwise);
  flow_.start({otherwise});
  const TokenSpan end{pos_, pos_ + 2};
  if (tokens_.word(pos_, "else")) {
    ++pos_;
    statements();
  } else {
    flow_.add(Exit{ExitKind::Raise, tokens_.range(end), "case_not_found"});
    flow_.start({});
  }
  ends.push_back(flow_.end());
  expectEnd("case");
  flow_.start(ends);
}

void PlpgsqlParser::caseArm(const std::string& operand, std::vector<OpenEnd>& ends, OpenEnd& otherwise) {
  const TokenSpan values{pos_ + 1, tokens_.findWord(pos_ + 1, tokens_.count(), "then")};
  if (!tokens_.word(values.last, "then")) return skipStatement("WHEN without THEN");
  if (otherwise.kind == EdgeKind::False) flow_.start({otherwise});
  if (operand.empty()) {
    condition(values, "CASE WHEN");
  } else {
    const MappedText written = tokens_.slice(values);
    const std::uint32_t place = written.toFile(0);
    MappedText test;
    test.append(operand, place);
    test.append(tokens_.splitAtCommas(values).size() > 1 ? " IN (" : " = (", place);
    appendMapped(test, written);
    test.append(")", place);
    addExpressionText(test, values, like(values, PlContext::Condition, "CASE WHEN"));
  }
  otherwise = flow_.end(EdgeKind::False);
  flow_.start({flow_.end(EdgeKind::True)});
  pos_ = values.last + 1;
  statements();
  ends.push_back(flow_.end());
}

// The word LOOP of the loop at pos_; 0 if there is none before the next semicolon.
std::size_t PlpgsqlParser::loopWord() {
  const std::size_t loop = tokens_.findWord(pos_, tokens_.count(), "loop");
  return tokens_.word(loop, "loop") ? loop : 0;
}

void PlpgsqlParser::pushLoop(const std::string& label) {
  const std::int32_t head = flow_.continueInNewBlock();
  frames_.push_back({.label = label, .loop = true, .head = head});
}

// The statements of the loop in frames_.back(), up to END LOOP, and the block after it.
void PlpgsqlParser::loopBody(OpenEnd into_body, std::vector<OpenEnd> exits) {
  flow_.start({into_body});
  statements();
  flow_.connect(flow_.end(), frames_.back().head);
  expectEnd("loop");
  exits.insert(exits.end(), frames_.back().exits.begin(), frames_.back().exits.end());
  frames_.pop_back();
  flow_.start(exits);
}

void PlpgsqlParser::loopStatement(const std::string& label) {
  const Nesting nesting(*this, &open_loops_);
  if (abandoned_) return;
  ++pos_;
  pushLoop(label);
  loopBody(flow_.end(), {});
}

void PlpgsqlParser::whileStatement(const std::string& label) {
  const std::size_t loop = loopWord();
  if (loop == 0) return skipStatement("WHILE without LOOP");
  const Nesting nesting(*this, &open_loops_);
  if (abandoned_) return;
  pushLoop(label);
  const std::int32_t head = condition({pos_ + 1, loop}, "WHILE");
  pos_ = loop + 1;
  loopBody({head, EdgeKind::True}, {{head, EdgeKind::False}});
}

bool PlpgsqlParser::isCursorSource(TokenSpan source) const {
  if (!tokens_.name(source.first)) return false;
  for (const char* query : {"select", "values", "table", "with", "insert", "update", "delete", "merge", "show", "explain"})
    if (tokens_.word(source.first, query)) return false;
  const std::size_t next = source.first + 1;
  return next == source.last || (tokens_.punctuation(next, '(') && tokens_.closing(next) + 1 == source.last);
}

// FOR i IN [REVERSE] low .. high [BY step]
void PlpgsqlParser::integerRange(TokenSpan source, std::size_t dots, const std::string& variable, TokenSpan header) {
  const std::size_t low = source.first + (tokens_.word(source.first, "reverse") ? 1 : 0);
  const std::size_t by = tokens_.findWord(dots + 1, source.last, "by");
  std::vector<TokenSpan> bounds{{low, dots}, {dots + 1, by}};
  if (by < source.last) bounds.push_back({by + 1, source.last});
  for (const TokenSpan& bound : bounds) {
    Statement statement = like(bound, PlContext::ForRange, "FOR");
    statement.into = {variable};
    addExpression(bound, std::move(statement));
  }
  declareLoopVariable(variable, "integer", header);
}

// What a FOR loop runs over: its statements are evaluated once, before the loop.
void PlpgsqlParser::forSource(TokenSpan source, std::vector<std::string> names, TokenSpan header) {
  const std::size_t dots = tokens_.findOperator(source.first, source.last, "..");
  if (dots < source.last && names.size() == 1) return integerRange(source, dots, names[0], header);
  Statement statement = like(header, PlContext::ForQuery, "FOR");
  statement.into = names;
  EventPlace place;
  if (tokens_.word(source.first, "execute")) {
    place = addExecute(executeParts({source.first + 1, source.last}), std::move(statement));
  } else if (isCursorSource(source)) {
    for (const std::string& name : names) declareLoopVariable(name, "record", header);
    place = addCursorQuery(tokens_.folded(source.first), std::move(statement));
  } else {
    place = addSql(tokens_.slice(source), statement, source);
  }
  frames_.back().queries.push_back(place);
}

void PlpgsqlParser::forStatement(const std::string& label) {
  const std::size_t loop = loopWord();
  std::size_t in = pos_ + 1;
  std::vector<std::string> names = loop == 0 ? std::vector<std::string>{} : targetList(in, loop);
  if (loop == 0 || names.empty() || !tokens_.word(in, "in")) return skipStatement("FOR without IN … LOOP");
  const Nesting nesting(*this, &open_loops_);
  if (abandoned_) return;
  const std::size_t first = pos_;
  const std::size_t first_variable = function_.variables.size();
  // The source belongs to the place before the loop, and its rows to the frame of the loop.
  frames_.push_back({.label = label, .loop = false});
  forSource({in + 1, loop}, std::move(names), {first, loop});
  frames_.back().loop = true;
  frames_.back().head = flow_.continueInNewBlock();
  pos_ = loop + 1;
  loopBody(flow_.end(), {flow_.end()});
  for (std::size_t i = first_variable; i < function_.variables.size(); ++i)
    if (!function_.variables[i].visible.known()) function_.variables[i].visible = tokens_.range({first, pos_});
}

// FOREACH target [SLICE n] IN ARRAY expression LOOP
void PlpgsqlParser::foreachStatement(const std::string& label) {
  const std::size_t loop = loopWord();
  const std::size_t in = loop == 0 ? 0 : tokens_.findWord(pos_ + 1, loop, "in");
  if (loop == 0 || !tokens_.word(in, "in") || !tokens_.word(in + 1, "array"))
    return skipStatement("FOREACH without IN ARRAY … LOOP");
  const Nesting nesting(*this, &open_loops_);
  if (abandoned_) return;
  Statement statement = like({in + 2, loop}, PlContext::ForRange, "FOREACH");
  std::size_t target = pos_ + 1;
  statement.into = targetList(target, in);
  addExpression({in + 2, loop}, std::move(statement));
  pushLoop(label);
  pos_ = loop + 1;
  loopBody(flow_.end(), {flow_.end()});
}

std::size_t PlpgsqlParser::frameFor(const std::string& label, bool loop_only) const {
  for (std::size_t i = frames_.size(); i-- > 0;) {
    if ((label.empty() || loop_only) && !frames_[i].loop) continue;
    if (label.empty() || frames_[i].label == label) return i;
  }
  return frames_.size();
}

// Control leaves the loops from frames_[from] inwards: their queries are not read to the end.
void PlpgsqlParser::leave(std::size_t from) {
  for (std::size_t i = from; i < frames_.size(); ++i)
    for (const EventPlace& place : frames_[i].queries)
      for (Statement& statement : flow_.at(place).statement) statement.left_early = true;
}

// EXIT | CONTINUE [label] [WHEN condition]
void PlpgsqlParser::exitStatement() {
  const bool is_exit = tokens_.word(pos_, "exit");
  const std::size_t end = semicolon(pos_);
  const std::string label = tokens_.name(pos_ + 1) && !tokens_.word(pos_ + 1, "when") ? tokens_.folded(pos_ + 1) : "";
  const std::size_t when = pos_ + (label.empty() ? 1 : 2);
  const std::size_t target = frameFor(label, !is_exit);
  if (target == frames_.size() || (when != end && !tokens_.word(when, "when")))
    return skipStatement(is_exit ? "EXIT without a loop or block to leave" : "CONTINUE without a loop");
  const bool conditional = when != end;
  OpenEnd jump = flow_.end();
  if (conditional) jump = {condition({when + 1, end}, is_exit ? "EXIT WHEN" : "CONTINUE WHEN"), EdgeKind::True};
  if (is_exit)
    frames_[target].exits.push_back(jump);
  else
    flow_.connect(jump, frames_[target].head);
  leave(is_exit ? target : target + 1);
  if (conditional)
    flow_.start({flow_.end(EdgeKind::False)});
  else
    flow_.start({});
  pos_ = end + 1;
}

void parsePlpgsql(const MappedText& body, const LineIndex& lines, Function& function, List<NotUnderstood>& problems) {
  const MappedText text = withoutTemplateTags(body);
  PlpgsqlParser(text, lines, function, problems).parse();
}

}  // namespace pglocklint::sql

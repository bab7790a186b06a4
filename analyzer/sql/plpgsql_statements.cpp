// The statements of PL/pgSQL that do not branch, and how SQL text and expressions in them become events.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "sql/dynamic_sql.h"
#include "model/ascii.h"
#include "sql/pg_parse.h"
#include "sql/plpgsql_parser.h"

namespace pglocklint::sql {

namespace {

// Words that PL/pgSQL reserves: no variable has such a name unquoted (pl_reserved_kwlist.h).
constexpr std::array<std::string_view, 25> kReserved{
    "all", "begin", "by", "case", "declare", "else", "end", "execute", "for", "foreach", "from", "if", "in",
    "into", "loop", "not", "null", "or", "strict", "then", "to", "using", "when", "while", "select"};

constexpr std::array<std::string_view, 6> kRaiseLevels{"debug", "log", "info", "notice", "warning", "exception"};

std::string_view baseName(std::string_view target) { return target.substr(0, target.find_first_of(".[")); }

// "CREATE TABLE" of CREATE OR REPLACE …; two words are enough for what is not followed further.
std::string headOf(const BodyTokens& t, TokenSpan span) {
  std::string head = t.upper(span.first);
  std::size_t i = span.first + 1;
  if (t.word(i, "or") && t.word(i + 1, "replace")) i += 2;
  while (t.word(i, "temp") || t.word(i, "temporary") || t.word(i, "unlogged") || t.word(i, "unique")) ++i;
  if (i < span.last && t.kind(i) == TokenKind::Word) head += " " + t.upper(i);
  return head;
}

// "sqlstate 22012", or the condition's name.
std::string conditionText(const std::string& code) {
  const auto in_code = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  const bool state = code.size() == 5 && std::ranges::all_of(code, in_code);
  if (state) return "sqlstate " + code;
  return lowered(code);
}

}  // namespace

void PlpgsqlParser::simpleStatement() {
  std::size_t end = semicolon(pos_);
  const std::size_t first = pos_;
  const auto is = [&](std::string_view keyword) { return tokens_.word(first, keyword); };
  if (assignmentOperator(first) != 0) {
    assignment({first, end});
  } else if (is("null") && end == first + 1) {
    // nothing happens
  } else if (is("perform")) {
    perform({first, end});
  } else if (is("return")) {
    returnStatement({first, end});
  } else if (is("raise")) {
    raise({first, end});
  } else if (is("assert")) {
    assertStatement({first, end});
  } else if (is("execute")) {
    execute({first, end});
  } else if (is("open")) {
    open({first, end});
  } else if (is("fetch") || is("move")) {
    fetch({first, end});
  } else if (is("close") && end == first + 2) {
    Statement statement = like({first, end}, PlContext::Sql, "CLOSE");
    statement.kind = StatementKind::CloseCursor;
    statement.name = tokens_.folded(first + 1);
    flow_.add(std::move(statement));
  } else if (is("get")) {
    getDiagnostics({first, end});
  } else if ((is("commit") || is("rollback")) && (end == first + 1 || !tokens_.word(first + 1, "to"))) {
    transaction({first, end});
  } else {
    end = endOfSqlStatement(tokens_, first);
    sqlStatement({first, end});
  }
  pos_ = end + 1;
}

Statement PlpgsqlParser::like(TokenSpan span, PlContext context, std::string head) const {
  Statement statement;
  statement.range = tokens_.range(span);
  statement.context = context;
  statement.head = std::move(head);
  statement.loop_depth = loopDepth();
  return statement;
}

// --- names --------------------------------------------------------------------------------------------------------

// name[.field]… or $1, without the label of an enclosing block; i moves behind it. Empty if there is no name.
std::string PlpgsqlParser::targetName(std::size_t& i, std::size_t last) const {
  if (i >= last) return {};
  if (tokens_.kind(i) == TokenKind::Param) return std::string(tokens_.text(i++));
  if (!tokens_.name(i)) return {};
  std::string first = tokens_.folded(i++);
  const bool dotted = i + 1 < last && tokens_.punctuation(i, '.') && tokens_.name(i + 1);
  const bool label = dotted && !first.empty() && findVariable(first) == nullptr &&
                     (first == function_.name || std::ranges::find(block_labels_, first) != block_labels_.end());
  std::string name = label ? "" : std::move(first);
  while (i + 1 < last && tokens_.punctuation(i, '.') && tokens_.name(i + 1)) {
    if (!name.empty()) name += '.';
    name += tokens_.folded(i + 1);
    i += 2;
  }
  return name;
}

std::vector<std::string> PlpgsqlParser::targetList(std::size_t& i, std::size_t last) const {
  std::vector<std::string> names;
  for (;;) {
    std::string name = targetName(i, last);
    if (name.empty()) return names;
    names.push_back(std::move(name));
    if (!tokens_.punctuation(i, ',')) return names;
    ++i;
  }
}

// The := or = of an assignment that begins at i; 0 if none does.
std::size_t PlpgsqlParser::assignmentOperator(std::size_t i) const {
  if (!tokens_.name(i) && tokens_.kind(i) != TokenKind::Param) return 0;
  if (std::ranges::any_of(kReserved, [&](std::string_view w) { return tokens_.word(i, w); })) return 0;
  for (++i; i < tokens_.count();) {
    if (tokens_.punctuation(i, '.') && tokens_.name(i + 1))
      i += 2;
    else if (tokens_.punctuation(i, '['))
      i = tokens_.closing(i) + 1;
    else
      break;
  }
  return tokens_.oper(i, ":=") || tokens_.oper(i, "=") ? i : 0;
}

// INTO [STRICT] target [, target]… at the word INTO.
PlpgsqlParser::IntoClause PlpgsqlParser::readInto(std::size_t at, std::size_t last) const {
  IntoClause into;
  into.found = true;
  std::size_t i = at + 1;
  if (tokens_.word(i, "strict")) into.strict = true, ++i;
  into.targets = targetList(i, last);
  into.clause = {at, i};
  return into;
}

// --- SQL and expressions --------------------------------------------------------------------------------------------

std::optional<Query> PlpgsqlParser::expressionQuery(TokenSpan expression, std::string& error) const {
  if (expression.empty()) {
    error = "an expression is missing";
    return std::nullopt;
  }
  return parseExpression(tokens_.slice(expression), lines_, error);
}

EventPlace PlpgsqlParser::addExpression(TokenSpan expression, Statement like) {
  return addExpressionText(tokens_.slice(expression), expression, std::move(like));
}

EventPlace PlpgsqlParser::addExpressionText(const MappedText& text, TokenSpan span, Statement like) {
  std::string error = span.empty() ? "an expression is missing" : "";
  std::optional<Query> query;
  if (!span.empty()) query = parseExpression(text, lines_, error);
  if (query) {
    like.kind = StatementKind::Query;
    like.query.push_back(std::move(*query));
    return flow_.add(std::move(like));
  }
  problem(like.range, error.empty() ? "not an expression" : error, tokens_.mentionsLock(span));
  like.kind = StatementKind::NotUnderstood;
  if (!span.empty() && tokens_.mentionsLock(span)) {  // what the token level still tells
    MappedText select;
    select.append("SELECT ", text.toFile(0));
    appendMapped(select, text);
    for (Event& event : parseStatement(select, lines_).events)
      for (Statement& statement : event.statement) like.exprs = std::move(statement.exprs);
  }
  return flow_.add(std::move(like));
}

// The events of one SQL statement; the place of the last one.
EventPlace PlpgsqlParser::addSql(const MappedText& text, const Statement& like, TokenSpan span) {
  ParsedStatement parsed = parseStatement(text, lines_);
  if (!parsed.error.empty()) problem(like.range, parsed.error, tokens_.mentionsLock(span));
  EventPlace place{-1, 0};
  for (Event& event : parsed.events) {
    if (event.kind == EventKind::Ddl) {
      Statement statement = like;
      statement.head = headOf(tokens_, span);
      event = std::move(statement);
    } else if (event.kind == EventKind::Statement) {
      Statement& statement = event.statement[0];
      statement.context = like.context, statement.range = like.range, statement.loop_depth = like.loop_depth;
      statement.into = like.into, statement.into_strict = like.into_strict;
      if (!like.head.empty()) statement.head = like.head;
      if (!like.name.empty()) statement.name = like.name;
      const bool opened = like.context == PlContext::OpenCursor && statement.kind == StatementKind::Query;
      if (opened) statement.kind = StatementKind::DeclareCursor;
    }
    place = flow_.add(std::move(event));
  }
  if ((!parsed.ddl.empty() || !parsed.bodies.empty()) && tokens_.mentionsLockInStrings(span))
    problem(like.range, "a definition inside of a function body is not followed", true);
  if (place.block >= 0) return place;
  Statement statement = like;
  statement.kind = parsed.error.empty() ? StatementKind::Utility : StatementKind::NotUnderstood;
  return flow_.add(std::move(statement));
}

// Any other SQL statement; INTO may stand nearly anywhere in it and is taken out before PostgreSQL's parser sees the text, as
// PL/pgSQL itself does.
void PlpgsqlParser::sqlStatement(TokenSpan span) {
  IntoClause into;
  const auto begins = [&](std::string_view keyword) { return tokens_.word(span.first, keyword); };
  const bool may_have_into = !begins("import") && !begins("create") && !begins("copy");
  for (std::size_t i = span.first + 1; may_have_into && i < span.last && !into.found; ++i) {
    const bool of_sql = tokens_.word(i - 1, "insert") || tokens_.word(i - 1, "merge") || tokens_.punctuation(i - 1, '.');
    if (tokens_.word(i, "into") && !of_sql) into = readInto(i, span.last);
  }
  MappedText text = tokens_.slice(span);
  Statement statement = like(span, into.found ? PlContext::SelectInto : PlContext::Sql);
  if (into.found) {
    std::string& bytes = text.mutableText();
    const std::size_t begin = tokens_.slice({span.first, into.clause.first}).text().size();
    const std::size_t end = tokens_.slice({span.first, into.clause.last}).text().size();
    for (std::size_t i = begin; i < end && i < bytes.size(); ++i)
      if (bytes[i] != '\n') bytes[i] = ' ';
    statement.into = into.targets, statement.into_strict = into.strict;
  }
  addSql(text, statement, span);
}

void PlpgsqlParser::assignment(TokenSpan span) {
  const std::size_t equals = assignmentOperator(span.first);
  std::size_t i = span.first;
  std::string target = targetName(i, equals);
  const std::string base(baseName(target));
  const bool whole = i == equals && base == target;
  if (i != equals) target += "[]";  // one element: the variable keeps the rest
  Statement statement = like(span, PlContext::Assign);
  statement.into = {std::move(target)};
  const TokenSpan value{equals + 1, span.last};
  const EventPlace place = addExpression(value, std::move(statement));
  if (whole) assigned_[place] = value;
}

void PlpgsqlParser::perform(TokenSpan span) {
  MappedText text = tokens_.slice(span);
  static constexpr std::string_view kSelect = "SELECT ";  // as long as PERFORM
  std::ranges::copy(kSelect, text.mutableText().begin());
  addSql(text, like(span, PlContext::Perform, "PERFORM"), span);
}

void PlpgsqlParser::returnStatement(TokenSpan span) {
  const std::size_t next = span.first + 1;
  if (tokens_.word(next, "query")) {
    Statement statement = like(span, PlContext::ReturnQuery, "RETURN QUERY");
    if (tokens_.word(next + 1, "execute")) {
      addExecute(executeParts({next + 2, span.last}), std::move(statement));
    } else {
      addSql(tokens_.slice({next + 1, span.last}), statement, {next + 1, span.last});
    }
    return;
  }
  if (tokens_.word(next, "next")) {
    if (next + 1 < span.last) addExpression({next + 1, span.last}, like(span, PlContext::ReturnQuery, "RETURN NEXT"));
    return;
  }
  if (next < span.last) addExpression({next, span.last}, like(span, PlContext::Return, "RETURN"));
  flow_.add(Exit{ExitKind::Return, tokens_.range(span), ""});
  leave(0);
  flow_.start({});
}

// RAISE [level] ['format' [, argument]… | condition | SQLSTATE 'code'] [USING option = expression, …]
void PlpgsqlParser::raise(TokenSpan span) {
  std::size_t i = span.first + 1;
  if (i >= span.last) {
    flow_.add(Exit{ExitKind::Raise, tokens_.range(span), "rethrow"});
    flow_.start({});
    return;
  }
  std::string level = "exception";
  for (const std::string_view known : kRaiseLevels)
    if (tokens_.word(i, known)) level = known;
  if (std::ranges::any_of(kRaiseLevels, [&](std::string_view known) { return tokens_.word(i, known); })) ++i;
  const std::size_t using_word = tokens_.findWord(i, span.last, "using");
  std::string condition;
  if (tokens_.word(i, "sqlstate") && tokens_.string(i + 1)) {
    condition = "sqlstate " + tokens_.decodedString(i + 1).text();
  } else if (tokens_.name(i) && i < using_word) {
    condition = tokens_.folded(i);
  } else if (tokens_.string(i)) {
    const std::size_t comma = tokens_.find(i, using_word, [&](std::size_t k) { return tokens_.punctuation(k, ','); });
    for (const TokenSpan& argument : tokens_.splitAtCommas({comma + 1, using_word}))
      addExpression(argument, like(argument, PlContext::Raise, "RAISE"));
  }
  raiseOptions({using_word + 1, span.last}, condition);
  if (level != "exception") return;
  flow_.add(Exit{ExitKind::Raise, tokens_.range(span), condition});
  flow_.start({});
}

void PlpgsqlParser::raiseOptions(TokenSpan span, std::string& condition) {
  for (const TokenSpan& option : tokens_.splitAtCommas(span)) {
    const std::size_t value = option.first + 2;  // name = expression
    if (value >= option.last) continue;
    if (tokens_.word(option.first, "errcode") && tokens_.string(value) && value + 1 == option.last)
      condition = conditionText(tokens_.decodedString(value).text());
    else
      addExpression({value, option.last}, like({value, option.last}, PlContext::Raise, "RAISE"));
  }
}

void PlpgsqlParser::assertStatement(TokenSpan span) {
  for (const TokenSpan& part : tokens_.splitAtCommas({span.first + 1, span.last})) {
    addExpression(part, like(part, PlContext::Assert, "ASSERT"));
  }
}

void PlpgsqlParser::getDiagnostics(TokenSpan span) {
  Statement statement = like(span, PlContext::Sql, "GET DIAGNOSTICS");
  std::size_t i = tokens_.findWord(span.first, span.last, "diagnostics") + 1;
  for (const TokenSpan& item : tokens_.splitAtCommas({i, span.last})) {
    std::size_t target = item.first;
    std::string name = targetName(target, item.last);
    if (!name.empty()) statement.into.push_back(std::move(name));
  }
  flow_.add(std::move(statement));
}

void PlpgsqlParser::transaction(TokenSpan span) {
  TransactionOp op;
  op.verb = tokens_.word(span.first, "commit") ? TransactionVerb::Commit : TransactionVerb::Rollback;
  op.range = tokens_.range(span);
  op.chain = span.last >= span.first + 3 && tokens_.word(span.last - 1, "chain") && tokens_.word(span.last - 2, "and");
  flow_.add(std::move(op));
}

// --- cursors --------------------------------------------------------------------------------------------------------

// The query of a bound cursor where it is opened or looped over: that is where it runs.
EventPlace PlpgsqlParser::addCursorQuery(const std::string& cursor, Statement like) {
  const bool opens = like.context == PlContext::OpenCursor;
  const Variable* variable = findVariable(cursor);
  like.name = cursor;
  if (variable) like.query = variable->query;
  like.kind = opens ? StatementKind::DeclareCursor : like.query.empty() ? StatementKind::Utility : StatementKind::Query;
  return flow_.add(std::move(like));
}

// OPEN cursor [[NO] SCROLL] FOR query | FOR EXECUTE … | OPEN cursor [(arguments)]
void PlpgsqlParser::open(TokenSpan span) {
  std::size_t i = span.first + 1;
  const std::string cursor = targetName(i, span.last);
  Statement statement = like(span, PlContext::OpenCursor, "OPEN");
  statement.name = cursor;
  while (tokens_.word(i, "no") || tokens_.word(i, "scroll")) ++i;
  if (tokens_.word(i, "for") && tokens_.word(i + 1, "execute")) {
    addExecute(executeParts({i + 2, span.last}), std::move(statement));
    return;
  }
  if (tokens_.word(i, "for")) {
    addSql(tokens_.slice({i + 1, span.last}), statement, {i + 1, span.last});
    return;
  }
  if (tokens_.punctuation(i, '(')) {
    for (TokenSpan argument : tokens_.splitAtCommas({i + 1, std::min(tokens_.closing(i), span.last)})) {
      if (tokens_.oper(argument.first + 1, ":=") || tokens_.oper(argument.first + 1, "=>")) argument.first += 2;
      addExpression(argument, like(argument, PlContext::Argument, "OPEN"));
    }
  }
  addCursorQuery(cursor, std::move(statement));
}

namespace {

// How far a FETCH direction moves: rows that the query computes for it.
struct Direction {
  std::int64_t rows = 1;  // -1: all
  bool backward = false;
  bool skips = false;      // the last of them is returned
};

Direction directionOf(const BodyTokens& t, TokenSpan span) {
  std::int64_t number = -2;  // -2: none written
  bool negative = false;
  for (std::size_t i = span.first; i < span.last; ++i) {
    if (t.oper(i, "-")) negative = true;
    if (t.kind(i) != TokenKind::Number || t.text(i).size() > 15) continue;
    number = 0;
    for (const char c : t.text(i))
      if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  }
  const auto is = [&](std::string_view keyword) { return t.word(span.first, keyword); };
  const bool all = t.findWord(span.first, span.last, "all") < span.last;
  if (is("prior")) return {1, true};
  if (is("last") || (is("absolute") && negative)) return {-1, false, true};
  if (is("absolute") || is("relative")) return {number >= 0 ? number : 1, negative || (is("relative") && number == 0), negative || number != 1};
  if (is("backward")) return {all ? -1 : number >= 0 ? number : 1, true};
  if (all) return {-1, false};
  return {number >= 0 ? number : 1, negative};
}

}  // namespace

// FETCH | MOVE [direction {FROM | IN}] cursor [INTO targets]
void PlpgsqlParser::fetch(TokenSpan span) {
  const bool move = tokens_.word(span.first, "move");
  const std::size_t into_word = tokens_.findWord(span.first, span.last, "into");
  Statement statement = like(span, move ? PlContext::Sql : PlContext::SelectInto, move ? "MOVE" : "FETCH");
  statement.kind = move ? StatementKind::Move : StatementKind::Fetch;
  if (into_word < span.last) statement.into = readInto(into_word, span.last).targets;
  if (into_word > span.first + 1 && tokens_.name(into_word - 1)) statement.name = tokens_.folded(into_word - 1);
  const Direction direction = directionOf(tokens_, {span.first + 1, into_word - 1});
  statement.fetch_count = direction.rows;
  statement.fetch_backward = direction.backward;
  statement.fetch_skips = direction.skips;
  flow_.add(std::move(statement));
}

// --- EXECUTE --------------------------------------------------------------------------------------------------------

PlpgsqlParser::ExecuteParts PlpgsqlParser::executeParts(TokenSpan span) {
  const auto ends = [&](std::size_t i) { return tokens_.word(i, "into") || tokens_.word(i, "using"); };
  ExecuteParts parts;
  parts.text = {span.first, tokens_.find(span.first, span.last, ends)};
  for (std::size_t i = parts.text.last; i < span.last;) {
    const std::size_t end = std::max(tokens_.find(i + 1, span.last, ends), i + 1);
    if (tokens_.word(i, "into")) {
      parts.into = readInto(i, span.last);
    } else if (tokens_.word(i, "using")) {
      parts.arguments = tokens_.splitAtCommas({i + 1, end});
    }
    i = end;
  }
  return parts;
}

EventPlace PlpgsqlParser::addExecute(const ExecuteParts& parts, Statement like) {
  if (parts.into.found) like.into = parts.into.targets, like.into_strict = parts.into.strict;
  const EventPlace place = flow_.add(std::move(like));
  executes_.push_back({place, parts});
  return place;
}

void PlpgsqlParser::execute(TokenSpan span) {
  const ExecuteParts parts = executeParts({span.first + 1, span.last});
  addExecute(parts, like(span, parts.into.found ? PlContext::SelectInto : PlContext::Perform, "EXECUTE"));
}

// Puts the events of each EXECUTE in its place. All are read first: the values of variables are found by the places of events.
void PlpgsqlParser::resolveExecutes() {
  const ReachingValues reaching(function_, assigned_);
  std::vector<List<Event>> resolved;
  for (const PendingExecute& pending : executes_) resolved.push_back(resolveExecute(pending, reaching));
  std::map<EventPlace, List<Event>*> by_place;
  for (std::size_t i = 0; i < executes_.size(); ++i) by_place[executes_[i].place] = &resolved[i];
  for (auto at = by_place.begin(); at != by_place.end();) {
    const std::int32_t block = at->first.block;
    List<Event>& old = function_.blocks[static_cast<std::size_t>(block)].events;
    List<Event> events;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (at == by_place.end() || at->first != EventPlace{block, i}) {
        events.push_back(std::move(old[i]));
        continue;
      }
      std::ranges::move(*at->second, std::back_inserter(events));
      ++at;
    }
    old = std::move(events);
  }
}

List<Event> PlpgsqlParser::resolveExecute(const PendingExecute& pending, const ReachingValues& reaching) {
  const auto held = [&](const std::string& variable, EventPlace place) { return reaching.at(variable, place); };
  const std::optional<DynamicText> text = readDynamicText(tokens_, pending.parts.text, pending.place, held);
  if (!text) return unknownExecute(pending, reaching);
  List<Expr> arguments;
  for (const TokenSpan& argument : pending.parts.arguments) {
    std::string error;
    const std::optional<Query> query = expressionQuery(argument, error);
    Expr unknown;
    unknown.range = tokens_.range(argument), unknown.text = "not understood";
    arguments.push_back(query && !query->targets.empty() ? query->targets[0].expr : std::move(unknown));
  }
  DynamicResult result = parseDynamicText(*text, arguments, flow_.at(pending.place).statement[0], lines_);
  for (NotUnderstood& entry : result.problems) problems_.push_back(std::move(entry));
  return std::move(result.events);
}

// A literal in the expression, or in a text that one of its variables ever gets, names a lock function.
bool PlpgsqlParser::mayMentionLock(TokenSpan text, const ReachingValues& reaching) {
  if (tokens_.mentionsLockInStrings(text)) return true;
  for (std::size_t i = text.first; i < text.last; ++i) {
    if (!tokens_.name(i)) continue;
    const auto [known, added] = lock_in_text_.try_emplace(tokens_.folded(i), false);
    if (added) known->second = reaching.anyAssigned(known->first, [&](TokenSpan v) { return tokens_.mentionsLockInStrings(v); });
    if (known->second) return true;
  }
  return false;
}

List<Event> PlpgsqlParser::unknownExecute(const PendingExecute& pending, const ReachingValues& reaching) {
  Statement statement = flow_.at(pending.place).statement[0];
  problem(statement.range, "dynamic SQL: the text is not known", mayMentionLock(pending.parts.text, reaching));
  statement.kind = StatementKind::Utility;
  statement.head = "EXECUTE";
  statement.dynamic = statement.has_holes = true;
  std::string error;
  if (const std::optional<Query> query = expressionQuery(pending.parts.text, error); query && !query->targets.empty())
    statement.exprs = {query->targets[0].expr};
  for (const TokenSpan& argument : pending.parts.arguments)
    if (const std::optional<Query> query = expressionQuery(argument, error); query && !query->targets.empty())
      statement.using_args.push_back(query->targets[0].expr);
  List<Event> events;
  events.push_back(std::move(statement));
  return events;
}

}  // namespace pglocklint::sql

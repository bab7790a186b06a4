// DECLARE: variables, aliases and cursors of a block.
#include <utility>

#include "sql/pg_parse.h"
#include "sql/plpgsql_parser.h"

namespace pglocklint::sql {

void PlpgsqlParser::declarations() {
  while (tokens_.word(pos_, "declare")) {
    ++pos_;
    while (pos_ < tokens_.count() && !tokens_.word(pos_, "begin") && !tokens_.word(pos_, "declare")) {
      const std::size_t end = semicolon(pos_);
      if (end > pos_) declaration(end);
      pos_ = end + 1;
    }
  }
}

// name [CONSTANT] type [COLLATE c] [NOT NULL] [{DEFAULT | := | =} expression]
// name ALIAS FOR other        name [[NO] SCROLL] CURSOR [(arguments)] {FOR | IS} query
void PlpgsqlParser::declaration(std::size_t last) {
  const TokenSpan whole{pos_, last};
  Variable variable;
  variable.range = tokens_.range(whole);
  std::size_t i = pos_;
  if (tokens_.name(i) && i + 1 < last) {
    variable.name = tokens_.folded(i++);
  } else {
    return problem(variable.range, "not a declaration", tokens_.mentionsLockInStrings(whole));
  }
  if (tokens_.word(i, "alias") && tokens_.word(i + 1, "for")) return declareAlias(std::move(variable), i + 2);
  std::size_t cursor = i;
  while (tokens_.word(cursor, "no") || tokens_.word(cursor, "scroll")) ++cursor;
  if (tokens_.word(cursor, "cursor")) return cursorDeclaration(std::move(variable), cursor + 1, last);
  if (tokens_.word(i, "constant")) variable.constant = true, ++i;
  const auto isInitial = [&](std::size_t k) {
    return tokens_.word(k, "default") || tokens_.oper(k, ":=") || tokens_.oper(k, "=");
  };
  const std::size_t initial = tokens_.find(i, last, isInitial);
  const std::size_t type_end = tokens_.find(i, initial, [&](std::size_t k) {
    return tokens_.word(k, "collate") || (tokens_.word(k, "not") && tokens_.word(k + 1, "null"));
  });
  for (std::size_t k = type_end; k + 1 < initial; ++k)
    variable.not_null = variable.not_null || (tokens_.word(k, "not") && tokens_.word(k + 1, "null"));
  variable.type = declaredType({i, type_end});
  const TokenSpan expression{initial + 1, last};
  if (!expression.empty()) {
    Statement statement = like(whole, PlContext::Default, "DECLARE");
    statement.into = {variable.name};
    const EventPlace place = addExpression(expression, std::move(statement));
    for (const Statement& added : flow_.at(place).statement)
      if (!added.query.empty() && !added.query[0].targets.empty()) variable.initial = {added.query[0].targets[0].expr};
    assigned_[place] = expression;
  }
  function_.variables.push_back(std::move(variable));
}

std::string PlpgsqlParser::declaredType(TokenSpan span) const {
  // name%TYPE and name%ROWTYPE (also arrays of them) are kept as written, folded.
  for (std::size_t i = span.first; i + 1 < span.last; ++i) {
    if (!tokens_.oper(i, "%")) continue;
    std::string type;
    for (std::size_t k = span.first; k < span.last; ++k)
      type += tokens_.name(k) ? tokens_.folded(k) : std::string(tokens_.text(k));
    return type;
  }
  return canonicalType(tokens_.slice(span).text());
}

void PlpgsqlParser::declareAlias(Variable variable, std::size_t i) {
  Expr other;
  other.range = tokens_.range({i, i + 1});
  if (tokens_.kind(i) == TokenKind::Param) {
    other.kind = ExprKind::Param;
    other.text = std::string(tokens_.text(i).substr(1));
    std::size_t number = 0;
    for (const char c : other.text) number = number > 100000 ? number : number * 10 + static_cast<std::size_t>(c - '0');
    if (number >= 1 && number <= function_.parameters.size()) variable.type = function_.parameters[number - 1].type;
  } else if (tokens_.name(i)) {
    other.kind = ExprKind::Column;
    other.name = tokens_.folded(i);
    if (const Variable* known = findVariable(other.name)) variable.type = known->type;
    for (const Parameter& parameter : function_.parameters)
      if (parameter.name == other.name) variable.type = parameter.type;
  } else {
    return problem(variable.range, "ALIAS FOR what?", false);
  }
  variable.initial = {std::move(other)};
  function_.variables.push_back(std::move(variable));
}

void PlpgsqlParser::cursorDeclaration(Variable variable, std::size_t i, std::size_t last) {
  variable.type = "refcursor";
  const auto begins_query = [&](std::size_t k) { return tokens_.word(k, "for") || tokens_.word(k, "is"); };
  const std::size_t query = tokens_.find(i, last, begins_query) + 1;
  if (tokens_.punctuation(i, '(')) {
    for (const TokenSpan& argument : tokens_.splitAtCommas({i + 1, tokens_.closing(i)})) {
      if (!tokens_.name(argument.first) || argument.last > last) continue;
      Variable parameter;
      parameter.name = tokens_.folded(argument.first);
      parameter.type = declaredType({argument.first + 1, argument.last});
      parameter.range = tokens_.range(argument);
      parameter.visible = variable.range;
      function_.variables.push_back(std::move(parameter));
    }
  }
  const TokenSpan span{query, last};
  if (!span.empty()) {
    const ParsedStatement parsed = parseStatement(tokens_.slice(span), lines_);
    if (!parsed.error.empty()) problem(tokens_.range(span), parsed.error, tokens_.mentionsLock(span));
    for (const Event& event : parsed.events)
      for (const Statement& statement : event.statement)
        if (variable.query.empty()) variable.query = statement.query;
  }
  function_.variables.push_back(std::move(variable));
}

// A variable that a statement brings along; its visible range is set when the end of that is known.
void PlpgsqlParser::declareLoopVariable(std::string name, std::string type, TokenSpan where) {
  Variable variable;
  variable.name = std::move(name), variable.type = std::move(type);
  variable.range = tokens_.range(where);
  function_.variables.push_back(std::move(variable));
}

// The innermost variable of that name whose block is still open.
const Variable* PlpgsqlParser::findVariable(std::string_view name) const {
  for (std::size_t i = function_.variables.size(); i-- > 0;)
    if (function_.variables[i].name == name && !function_.variables[i].visible.known()) return &function_.variables[i];
  return nullptr;
}

}  // namespace pglocklint::sql

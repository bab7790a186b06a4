// Lowered trees as short s-expressions, so that a test can say in one line what a statement became.
#pragma once
#include <string>
#include <string_view>

#include "sql/pg_parse.h"

namespace pglocklint::sql::show {

std::string expr(const Expr& e);
std::string query(const Query& q);
std::string from(const FromItem& f);
std::string event(const ParsedStatement& p, std::size_t i);

// A statement that is parsed and its text kept, so that ranges can be shown as the text they cover.
struct Sample {
  explicit Sample(std::string sql) : text(std::move(sql), 0), lines(text.text()), parsed(parseStatement(text, lines)) {}
  std::string at(const SourceRange& r) const { return r.known() ? text.text().substr(r.begin, r.end - r.begin) : "-"; }
  const Statement& statement(std::size_t i = 0) const { return parsed.events.at(i).statement.at(0); }
  const Query& query() const { return statement().query.at(0); }
  const Expr& target(std::size_t i = 0) const { return query().targets.at(i).expr; }
  const Ddl& ddl(std::size_t i = 0) const { return parsed.ddl.at(i); }

  MappedText text;
  LineIndex lines;
  ParsedStatement parsed;
};

// SELECT <sql>: its first target.
std::string value(std::string_view sql);
// The text that the first target of SELECT <sql> covers.
std::string place(std::string_view sql);
// The first query of a statement.
std::string shape(std::string_view sql);

}  // namespace pglocklint::sql::show

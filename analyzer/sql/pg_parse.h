// The one door to libpg_query: statement text in, our own shapes out. No other file includes pg_query.h.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"
#include "sql/mapped_text.h"

namespace pglocklint::sql {

// The PostgreSQL major version of the grammar in use (15, 17, …).
int grammarVersion();

// What one statement turned out to be. Exactly one of event, ddl is meaningful unless `error` is set.
struct ParsedStatement {
  std::string error;                 // empty, or why it was not understood (grammar version named)
  std::uint32_t error_offset = 0;    // bytes in the text
  std::vector<Event> events;         // usually one
  std::vector<Ddl> ddl;              // for events of kind Ddl: their `ddl` indexes this vector
  std::vector<Function> functions;   // CREATE FUNCTION without its body's blocks; indexed by Ddl::function
  // The body of a function or DO block, still to be read by the front end of its language.
  struct Body {
    std::int32_t function = -1;      // index into functions
    std::string language;            // "sql", "plpgsql", …
    MappedText text;
  };
  std::vector<Body> bodies;
  bool has_locks = false;            // a lock function is called somewhere in it
};

// Parses one statement (no trailing semicolon needed) whose bytes map into the file. Placeholders must have been rewritten; `placeholders`
// restores how they were written (Expr::Param). Never throws, never crashes on long operator chains when run on a
// thread of runOnLargeStack(). Tries again with rewritten integers, then falls back to token level: see fallback.
ParsedStatement parseStatement(const MappedText& text, const LineIndex& lines);

// A SQL expression (PL/pgSQL): parsed as SELECT <expression>; the query level is the result. nullopt + error text if it is none.
std::optional<Query> parseExpression(const MappedText& text, const LineIndex& lines, std::string& error);

// Canonical spelling of a written type name: "int8" → "bigint", "varchar(10)" → "character varying".
std::string canonicalType(std::string_view written);

// Runs f on a thread with a 512 MB stack (lazily committed) and waits for it.
void runOnLargeStack(void (*f)(void*), void* argument);

}  // namespace pglocklint::sql

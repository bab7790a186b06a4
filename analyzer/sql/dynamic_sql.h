// Dynamic SQL: what EXECUTE runs, as far as the text can be read off the program.
//
// The text of an EXECUTE is an expression: literals, ||, format(), quote_literal() and the like, variables. We rebuild the SQL
// from the pieces that are written down; a part that is not known is a hole with its argument. The rebuilt text is parsed
// like any other, and each hole of a value is then replaced by the argument's own expression, so that a lock key in dynamic
// SQL has the same symbolic value as one written out.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/unit.h"
#include "sql/mapped_text.h"
#include "sql/plpgsql_reaching.h"
#include "sql/plpgsql_tokens.h"

namespace pglocklint::sql {

enum class HoleKind {
  Literal,     // %L, quote_literal(): always one literal
  Identifier,  // %I, quote_ident(): always one name
  Raw,         // %s, a bare || part: any text
};

struct DynamicHole {
  HoleKind kind = HoleKind::Raw;
  List<Expr> argument;  // zero or one: what fills it
};

// SQL text in which hole number n stands as the word holeMarker(n).
struct DynamicText {
  MappedText text;
  std::vector<DynamicHole> holes;
  void addHole(DynamicHole hole, std::uint32_t file_offset);
};

// The assignment whose value a variable holds at a place, if that is certain.
using HeldBy = std::function<std::optional<HeldValue>(const std::string& variable, EventPlace place)>;

// The SQL text that an expression stands for at `place`; nullopt if nothing of it is known, or not how it begins.
std::optional<DynamicText> readDynamicText(const BodyTokens& tokens, TokenSpan expression, EventPlace place, const HeldBy& held);

struct DynamicResult {
  List<Event> events;
  // What a client's text defines, where it is known in full; Statement::function and Ddl::function index `functions`.
  std::vector<Function> functions;
  List<Ddl> ddl;
  List<NotUnderstood> problems;
};

// Who runs the text: inside of a function PostgreSQL refuses BEGIN and COMMIT; a client program may send anything.
enum class SentBy { Function, Client };

// The statements of a known text as events. Each Statement has context, range, into, name, … of `like`; the ranges of its query
// are those of the pieces. `using_args` replace $1, $2, ….
DynamicResult parseDynamicText(const DynamicText& text, const List<Expr>& using_args, const Statement& like,
                               const LineIndex& lines, SentBy by = SentBy::Function);

// Whether an expression calls a lock function.
bool callsLock(const Expr& expr);

}  // namespace pglocklint::sql

// Constant folding as PostgreSQL computes: integer widths, rounding, bit strings, text functions, with PostgreSQL's error texts.
//
// A value is *known* when its text says what PostgreSQL computes: a literal, or a tree (a hash, a cast, arithmetic) over
// literals whose result we worked out. The tree stays, so that rules still see the hash; `text` then holds the result.
// What is not known folds to nothing, what PostgreSQL refuses folds to Unknown with its words in `text` and "error" in `name`.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace pglocklint {

bool isKnown(const Value& v);
bool isError(const Value& v);  // PostgreSQL refuses: text has its words

ValueKind literalKind(std::string_view type);  // of a constant of that type

Value unknownValue(std::string why);
Value errorValue(std::string words);
Value constantOf(ValueKind kind, std::string text, std::string type);

// An integer as written (1_000, 0xFF, 0o17, 0b11, 42); nothing if it is none. Value of kind Integer (or Numeric when
// beyond bigint) with PostgreSQL's type.
std::optional<Value> integerLiteral(std::string_view written, bool negative);
Value numericLiteral(std::string_view written, bool negative);
Value bitLiteral(std::string_view written);  // "xCAFE", "b0101"

// --- values of host programs (host_values.cpp)
// A value on its way from a host program to the server, as text whose type PostgreSQL decides; args[0]: what the program has.
Value sent(Value v);
bool isSent(const Value& v);
// It, where PostgreSQL wants `type`.
Value received(Value v, const std::string& type);
inline constexpr char kSent[] = "sent";  // name of the Cast that results: a value that does not fit is refused
// Casts that the program makes itself have the name kHostSchema: they wrap without a word.

// What a known value becomes when cast to `type` (canonical, modifiers included). Nothing: not computed here.
std::optional<Value> foldCast(const Value& v, const std::string& type);

// Both operands known, operands converted to `type`'s family already or not: integer and text operators. Prefix: left null.
std::optional<Value> foldOperator(std::string_view name, const Value* left, const Value& right, const std::string& type);

// A function of pg_catalog over known arguments.
std::optional<Value> foldFunction(std::string_view name, std::span<const Value> arguments);

// format() with a known format string: its pieces in order; nothing when it cannot be taken apart.
struct FormatPiece {
  std::string text;           // literal piece
  int argument = -1;          // or the argument (0-based, after the format string) …
  char conversion = 's';      // … as %s, %I or %L
};
std::optional<std::vector<FormatPiece>> formatPieces(std::string_view format);

}  // namespace pglocklint

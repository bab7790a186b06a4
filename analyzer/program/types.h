// SQL types as far as lock keys need them: one spelling for each built-in type, what implicit casts allow, and the type that an
// operator or function gives. An empty type means "not known": a type of the project (domain, enum), or a name we cannot
// resolve. "unknown" is PostgreSQL's own word: a quoted literal, NULL or parameter whose type it has not decided yet.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pglocklint {

enum class TypeFamily {
  NotKnown,
  Untyped,   // "unknown"
  Integer,   // smallint, integer, bigint
  Numeric,   // numeric
  Float,     // real, double precision
  Text,      // text, character varying, character, name, "char"
  Bits,      // bit, bit varying
  Boolean,
  Oid,       // oid and the reg* types
  DateTime,  // date, time, timestamp, interval
  Json,      // json, jsonb
  Array,
  Other,     // any other built-in type
};

// "INT8", "pg_catalog.int8" → "bigint"; "varchar(20)" → "character varying(20)"; modifiers and [] stay. A name that is not
// built in comes back as it is.
std::string canonicalType(std::string_view written);

// Without modifiers: "bit(64)" → "bit", "numeric(10,2)" → "numeric", "integer[]" stays an array.
std::string baseType(std::string_view canonical);

// The number in "bit(64)"; absent without one.
std::optional<int> typeLength(std::string_view canonical);

TypeFamily familyOf(std::string_view canonical);
inline bool isInteger(std::string_view type) { return familyOf(type) == TypeFamily::Integer; }
int integerBits(std::string_view type);            // 16, 32, 64; 0 for anything else
// Host programs have such types: "unsigned 32-bit integer".
inline bool isUnsigned(std::string_view type) { return type.starts_with("unsigned "); }
std::string integerOfBits(int bits);

// May a value of `from` be passed where `to` is wanted without a written cast (pg_cast, context implicit; "unknown" always may)?
// Only for targets that keys need: the integers, numeric, double precision, text. nullopt: a type is not known.
std::optional<bool> implicitlyConvertible(std::string_view from, std::string_view to);

// Result type of a (prefix or binary) operator; left is empty-optional for a prefix operator.
struct OperatorType {
  std::string type;    // empty: not known
  std::string error;   // PostgreSQL finds no such operator: its words
};
OperatorType operatorType(std::string_view name, std::optional<std::string_view> left, std::string_view right);

// The type that CASE, COALESCE, VALUES, UNION agree on; empty if not known.
std::string commonType(std::span<const std::string> types);

// Result type of a function of pg_catalog whose type depends on its arguments (abs, round, sum, …), or one that keys often use;
// empty if not known here.
std::string functionType(std::string_view name, std::span<const std::string> arguments);

}  // namespace pglocklint

// Keys: from the argument expressions of a lock call to symbolic values, the overload PostgreSQL chooses, and the key class.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"
#include "model/value.h"
#include "program/catalogue.h"

namespace pglocklint {

class NamesOfFunctions;  // function_names.h

// What names mean where an expression stands.
struct ValueScope {
  const Catalogue* catalogue = nullptr;
  int unit = -1;
  const Function* function = nullptr;      // parameters and variables (PL/pgSQL, SQL functions); may be null
  const Statement* statement = nullptr;
  // The query levels that enclose the expression, innermost first: relations, aliases, CTEs and derived tables.
  std::vector<const Query*> levels;
  // Values of the function's input parameters (IN, INOUT, VARIADIC), in their order, when seen from one call of it
  // (null: Parameter values).
  const List<Value>* arguments = nullptr;
  NamesOfFunctions* names = nullptr;       // shared by the questions of one thread; null: looked up for this question alone
};

// The value of an expression. Constants are folded as PostgreSQL computes them (integer width, overflow: Unknown with the
// error as text); columns get their type from the catalogue, through derived tables and CTEs; PL/pgSQL
// variables that are assigned once (or CONSTANT) stand for that value; IMMUTABLE routines with a constant body are looked into.
Value resolve(const Expr& expr, const ValueScope& scope);

// What a host function computes, and a field of an object of it by its path: "local g 5:9.id_".
Value hostValue(const HostValue& value, const ValueScope& scope);
Value hostField(const std::string& path, int unit);

// The key of a call of a built-in lock function. The number of arguments decides the form when a type is not known. LockKey::error is
// also set, with the form PostgreSQL chooses, when it accepts the types and refuses the value: pg_advisory_lock('abc').
LockKey resolveKey(const Expr& call, const ValueScope& scope);

// Canonical text of a value for key classes and messages: constants as written numbers, hash("prefix:" + *), * for what varies.
std::string classText(const Value& value);

// --- What rules ask of values (keys_questions.cpp) ------------------------------------------------------------------
const Value& stripCasts(const Value& v);
bool contains(const Value& v, const std::function<bool(const Value&)>& holds);
const Value* findValue(const Value& v, const std::function<bool(const Value&)>& holds);  // first in written order, or null
std::optional<long long> constantInteger(const Value& v);  // also of hashes and arithmetic over constants
std::optional<std::string> constantText(const Value& v);

// The integers a value can take, by its type and the operators in it. Nothing: not known, or no integer.
struct IntegerRange {
  long long low = 0, high = 0;
};
std::optional<IntegerRange> integerRange(const Value& v);
// Bits that hold every value of the range: unsigned when none is negative, else two's complement.
std::optional<int> significantBits(const Value& v);

// A hash of at most 32 bits: hashtext(), hashint4(), ('x'||md5(…))::bit(32)::int, also after abs(), a mask or %.
bool isHash32(const Value& v);
// The call of one of PostgreSQL's undocumented 32-bit hash functions in it, or null (AL202).
const Value* undocumentedHash(const Value& v);
// The part that differs between runs or sessions: clock, random, process or transaction id, address (AL203); or null.
const Value* unstablePart(const Value& v);

// Structure and names alike, places and casts aside. Parameters and variables are the same only within one function; the caller knows.
bool sameValue(const Value& a, const Value& b);
bool sameNamedConstant(const Value& a, const Value& b);

// Why one logical key seems to be used in both forms (AL201).
enum class MixedForms {
  None,
  SameBits,      // bigint = (high << 32) | low of the pair, all constant
  SameConstant,  // one named constant is the whole bigint and, beside a constant, the pair
  SameText,      // likewise a hash of the same text
  SameColumn,    // likewise one column of one relation
};
PGLOCKLINT_ENUM_NAMES(MixedForms, "none", "same-bits", "same-constant", "same-text", "same-column")
MixedForms mixedForms(const LockKey& bigint, const LockKey& pair);

// Two inputs that give one key (AL209).
enum class AmbiguityKind {
  NoSeparator,   // a || b: ('ab', 'c') and ('a', 'bc')
  Packed,        // 1000000 * a + b, a * 31 + b, a + b, hash # hash
  BeyondWidth,   // (a << 32) | b: only if b is negative or needs more bits than it is given
};
PGLOCKLINT_ENUM_NAMES(AmbiguityKind, "no-separator", "packed", "beyond-width")
struct Ambiguity {
  AmbiguityKind kind = AmbiguityKind::NoSeparator;
  const Value* where = nullptr;   // the concatenation or arithmetic
  const Value* first = nullptr;   // the two parts that run into each other
  const Value* second = nullptr;
  std::string why;                // for people
};
std::optional<Ambiguity> ambiguousComposition(const Value& v);

// A conversion that loses bits of a value that may need them (AL206).
struct Narrowing {
  const Value* cast = nullptr;
  const Value* operand = nullptr;  // what is narrowed, other casts stripped
  std::string from, to;
  bool implicit = false;           // PostgreSQL's assignment cast (an integer variable := a bigint)
  bool plain_input = false;        // operand is a column, parameter or variable
  bool rounded = false;            // a host program turns an integer of more than 53 bits into a double
};
std::vector<Narrowing> narrowings(const Value& v);

// Where a 64-bit or uuid id is folded to 32 bits or fewer: hashint8(id), uuid_hash(id), id % 1000, id & 65535 (AL204); or null.
const Value* foldsWideId(const Value& v);

// --- PostgreSQL's own arithmetic -----------------------------------------------------------------------------------
std::int32_t hashtext(std::string_view utf8);                             // hash_any of the bytes
std::int64_t hashtextextended(std::string_view utf8, std::int64_t seed);
std::int32_t hashint4(std::int32_t v);
std::int32_t hashint8(std::int64_t v);
std::string md5Hex(std::string_view bytes);

}  // namespace pglocklint

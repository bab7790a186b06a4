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

// What names mean where an expression stands.
struct ValueScope {
  const Catalogue* catalogue = nullptr;
  int unit = -1;
  const Function* function = nullptr;      // parameters and variables (PL/pgSQL, SQL functions); may be null
  const Statement* statement = nullptr;
  // The query levels that enclose the expression, innermost first: relations, aliases, CTEs and derived tables.
  std::vector<const Query*> levels;
  // Values of the function's parameters when seen from one call of it (empty: Parameter values).
  const std::vector<Value>* arguments = nullptr;
};

// The value of an expression. Constants are folded as PostgreSQL computes them (integer width, overflow: Unknown with the
// error as text); columns get their type from the catalogue, through derived tables and CTEs; PL/pgSQL
// variables that are assigned once (or CONSTANT) stand for that value; IMMUTABLE routines with a constant body are looked into.
Value resolve(const Expr& expr, const ValueScope& scope);

// The key of a call of a built-in lock function.
LockKey resolveKey(const Expr& call, const ValueScope& scope);

// Canonical text of a value for key classes and messages: constants as written numbers, hash("prefix:" + *), * for what varies.
std::string classText(const Value& value);

// --- PostgreSQL's own arithmetic -----------------------------------------------------------------------------------
std::int32_t hashtext(std::string_view utf8);                             // hash_any of the bytes
std::int64_t hashtextextended(std::string_view utf8, std::int64_t seed);
std::int32_t hashint4(std::int32_t v);
std::int32_t hashint8(std::int64_t v);
std::string md5Hex(std::string_view bytes);

}  // namespace pglocklint

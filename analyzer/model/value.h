// Value: what a lock key is made of, as far as the program shows it; LockKey and its class.
#pragma once
#include <cstdint>
#include <string>

#include "model/describe.h"
#include "model/list.h"
#include "model/rare.h"
#include "model/source_range.h"

namespace pglocklint {

enum class ValueKind : std::uint8_t {
  Integer,        // text: decimal digits with sign (any size)
  Numeric,        // text: a constant with fraction or exponent
  Text,           // text: the string (type "unknown" while PostgreSQL has not decided, else "text", …)
  Boolean,        // text: "true" or "false"
  Null,
  Parameter,      // name: parameter of the enclosing function ("$1" if unnamed), or of the statement (placeholder)
  Variable,       // name: PL/pgSQL variable whose value is not one expression
  Column,         // name, relation (empty if not known), type
  Hash,           // name: "hashtext", "hashtextextended", "md5", "hashint8", … ; args: what is hashed
  Concat,         // args in order (|| and concat(), format(): its pieces)
  Arithmetic,     // name: operator or function (+ - * / % << >> | & # ~ abs mod …); args
  Cast,           // type: target; args[0]; implicit: PostgreSQL adds it
  Choice,         // CASE, COALESCE, LEAST, GREATEST, NULLIF: name; args: the possible values
  Clock,          // name: now, clock_timestamp, current_date, extract(epoch from now()) …
  Random,
  ProcessId,      // pg_backend_pid()
  TransactionId,  // txid_current(), pg_current_xact_id()
  Oid,            // name: relation of 'x'::regclass, tableoid, …
  Setting,        // current_setting(name): name; missing_ok: may be NULL
  Sequence,       // nextval, currval: name
  Uuid,           // gen_random_uuid() and friends are Random; uuid_hash is Hash
  Subquery,       // scalar sub-select: args[0] = its target, if there is one
  Aggregate,      // name; args
  Row,            // element of a set-returning function: name; args. Of a container that a host program loops over: text = its loop
  Call,           // another function: name; args
  Address,        // C++: address of an object
  Unknown,        // text: why
};
PGLOCKLINT_ENUM_NAMES(ValueKind, "integer", "numeric", "text", "boolean", "null", "parameter", "variable", "column", "hash",
                      "concat", "arithmetic", "cast", "choice", "clock", "random", "process-id", "transaction-id", "oid", "setting",
                      "sequence", "uuid", "subquery", "aggregate", "row", "call", "address", "unknown")

struct Value {
  ValueKind kind = ValueKind::Unknown;
  std::string name;
  RareText relation, text;  // relation of a value that a host program makes: kHostSchema (see host.h)
  std::string type;               // canonical SQL type of the value, empty if not known; "unknown" = untyped literal
  List<Value> args;
  bool implicit = false;          // Cast
  bool may_be_null = false;       // there is evidence (see null_evidence); propagated through strict operations
  RareText null_evidence;         // "current_setting(…, true) is NULL when the setting is missing"
  bool from_argument = false;     // reached the lock through an argument of a call to a wrapper
  RareText constant_name;         // name of the constant or variable that held it: "kJobSync"; else empty
  std::int32_t unit = -1;         // index into Program::units
  SourceRange range;              // where it is written

  bool isConstant() const {
    return kind == ValueKind::Integer || kind == ValueKind::Numeric || kind == ValueKind::Text || kind == ValueKind::Boolean ||
           kind == ValueKind::Null;
  }
  bool operator==(const Value&) const = default;
};

enum class KeyForm : std::uint8_t {
  Bigint,     // (bigint)
  Pair,       // (integer, integer): another key space (SEMANTICS S23)
  Tag,        // of a key space that only the lock manager reaches: its number first (LockAcquire with a field 4 of 10), then one or two parts
  None,       // pg_advisory_unlock_all()
  NoOverload, // PostgreSQL has no function for these argument types; see LockKey::error
  Unknown,
};
PGLOCKLINT_ENUM_NAMES(KeyForm, "bigint", "pair", "tag", "none", "no-overload", "unknown")

inline bool hasKey(KeyForm form) { return form == KeyForm::Bigint || form == KeyForm::Pair || form == KeyForm::Tag; }

struct LockKey {
  KeyForm form = KeyForm::Unknown;
  List<Value> parts;        // as the lock function receives them (implicit casts included)
  RareText error;                  // NoOverload: "function pg_advisory_lock(bigint, integer) does not exist"
  // Canonical text of the key class: constants as numbers, varying parts as *: "4200", "(1001, *)", "hashtext(tenant:*)".
  std::string class_text;
  bool constant = false;           // every part is a known integer
  bool operator==(const LockKey&) const = default;
};

}  // namespace pglocklint

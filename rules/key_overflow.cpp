// # Why a key must fit its form
//
// A pair takes two integers of 32 bits. An id of 64 bits cast to integer works until the first id above 2147483647; then every call raises
// 22003 and whatever the lock protects stops working. A 64-bit hash cast to integer fails at once, for all but one in 4 billion values.
// A constant that PostgreSQL refuses (out of range, not a number) fails at each call.
//
// Errors: constants that do not fit; 64-bit hashes cast to 32 bits; narrowing that nobody wrote (assigning a bigint to an
// integer variable). Warnings: an explicit cast of a wider column or parameter. Silent: values that are bounded first (a mask, a
// modulus, a shift to the right).
#include <fmt/format.h>

#include <cstdlib>

#include "all_rules.h"
#include "key_sites.h"
#include "program/values_fold.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool isInt32(const std::string& type) { return type == "integer" || type == "smallint"; }

// The width of types that hold more than an integer.
bool isWider(const std::string& type) {
  return type == "bigint" || type == "numeric" || type == "double precision" || type == "real" || type.rfind("numeric(", 0) == 0;
}

bool isConstantUpTo(const Value& v, long long limit) {
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return isConstantUpTo(v.args[0], limit);
  return v.kind == ValueKind::Integer && std::strtoll(v.text.c_str(), nullptr, 10) <= limit;
}

// Arithmetic that keeps the value within 32 bits.
bool isBounded(const Value& v) {
  if (isKnown(v)) return true;
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return isInt32(v.args[0].type) || isBounded(v.args[0]);
  if (v.kind == ValueKind::Call && v.name == "length") return true;
  if (v.kind != ValueKind::Arithmetic) return isInt32(v.type);
  if (v.args.size() == 1) return isBounded(v.args[0]);
  if (v.args.size() != 2) return false;
  if (v.name == "%" || v.name == "mod") return isConstantUpTo(v.args[1], 2147483648LL);
  if (v.name == "&") return isConstantUpTo(v.args[0], 2147483647LL) || isConstantUpTo(v.args[1], 2147483647LL);
  if (v.name == ">>") return v.args[1].kind == ValueKind::Integer && std::atoi(v.args[1].text.c_str()) >= 32;
  return v.args[0].type != "" && isInt32(v.args[0].type) && isInt32(v.args[1].type);
}

bool isHash64(const Value& v) {
  if (v.kind == ValueKind::Hash) return v.type == "bigint" || v.name == "hashtextextended";
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return isHash64(v.args[0]) || (v.args[0].type == "bit(64)" && v.type == "bigint");
  return false;
}

struct Fault {
  const Value* value;
  Severity severity;
  std::string what;
};

std::optional<Fault> faultOf(const Value& v) {
  if (isError(v)) return Fault{&v, Severity::Error, fmt::format("does not fit: PostgreSQL raises \"{}\" whenever it runs", v.text)};
  if (v.kind != ValueKind::Cast || v.args.size() != 1 || !isInt32(v.type) || !isWider(v.args[0].type) || isBounded(v.args[0]))
    return std::nullopt;
  if (isHash64(v.args[0]))
    return Fault{&v, Severity::Error,
                 "casts a 64-bit hash to integer: it does not fit for all but one in 4 billion values, and the call raises 22003"};
  if (v.implicit)
    return Fault{&v, Severity::Error,
                 fmt::format("is narrowed from {} to {} by an assignment: a value above 2147483647 raises 22003", v.args[0].type, v.type)};
  return Fault{&v, Severity::Warning,
               fmt::format("casts a {} to {}: from the first value above 2147483647 on, every such call raises 22003", v.args[0].type, v.type)};
}

std::optional<Fault> findFault(const LockSite& site, const Value& v) {
  if (site.direct() || v.from_argument)
    if (auto fault = faultOf(v)) return fault;
  for (const Value& a : v.args)
    if (auto fault = findFault(site, a)) return fault;
  return std::nullopt;
}

void check(const Program& program, Report& report) {
  const Expr* reported = nullptr;
  forEachKeyPart(program, [&](const LockSite& site, const Value& part) {
    if (site.call == reported) return;
    const auto fault = findFault(site, part);
    if (!fault) return;
    reported = site.call;
    Finding& f = report.at(site, site.call->range,
                           fmt::format("The key of {} {}. Use the bigint form, which holds the whole value, or reduce it in a way that is meant: "
                                       "hashtextextended(…, 0) for a bigint key, (x & 2147483647)::int for a half.",
                                       callText(site), fault->what));
    f.severity = fault->severity;
    relateValue(report, f, *fault->value, "the value is converted here");
  });
}

}  // namespace

const Rule kKeyOverflow{
    {
        .code = "AL206",
        .name = "key-overflow",
        .severity = Severity::Error,
        .summary = "the value does not fit the key's form, or is narrowed on its way",
        .explanation = "A pair key has two halves of 32 bits. PostgreSQL never cuts a number silently: a bigint above 2147483647 cast to integer raises 22003, so "
                       "the code works until ids have grown that far and then fails at every call. A 64-bit hash cast to integer fails nearly always.",
        .remedy = "Use the bigint form for wide ids, with hashtextextended(…, 0) where a namespace is needed, or bound the value first: (x & 2147483647)::int.",
        .proof = "",
        .clauses = {"value does not fit the form | bad_literal.sql", "value does not fit the form (computed) | bad_arithmetic.sql",
                    "narrowed by an implicit conversion | bad_assignment.sql",
                    "an explicit cast of a wider column or parameter is a warning | bad_narrowed.sql"},
    },
    check};

}  // namespace pglocklint

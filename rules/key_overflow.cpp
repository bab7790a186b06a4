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

#include <optional>

#include "all_rules.h"
#include "key_sites.h"
#include "program/keys.h"
#include "program/values_fold.h"
#include "wording.h"

namespace pglocklint {
namespace {

struct Fault {
  const Value* value;
  Severity severity;
  std::string what;
};

// 64 bits of a hash: hashtextextended(…), ('x' || md5(…))::bit(64)::bigint.
bool isHash64(const Value& v) {
  const Value& inner = stripCasts(v);
  return (inner.kind == ValueKind::Hash && (inner.type == "bigint" || inner.type == "unsigned 64-bit integer")) ||
         (v.type == "bigint" && contains(v, [](const Value& x) { return x.type == "bit(64)"; }));
}

// By the host program itself: C++ cuts bits off without a word.
bool isHostCast(const Value& v) { return v.relation == kHostSchema; }

Fault faultOf(const Narrowing& n) {
  if (n.rounded)
    return {n.cast, Severity::Warning,
            fmt::format("passes through a {}, which tells integers apart up to 2^53 only: above, neighbouring values give one key, and a value rounded up to "
                        "2^63 raises 22003",
                        n.to)};
  if (isHostCast(*n.cast))
    return {n.cast, Severity::Warning, fmt::format("is cut from {} to {} by the program: values that differ in the upper bits only share one lock", n.from, n.to)};
  if (n.cast->name == kSent)
    return {n.cast, isHash64(n.cast->args[0]) ? Severity::Error : Severity::Warning,
            fmt::format("is sent as {}, but the key holds {}: from the first value on that does not fit, every such call raises 22003", n.from, n.to)};
  if (isHash64(n.cast->args[0]))
    return {n.cast, Severity::Error, "casts a 64-bit hash to integer: it does not fit for all but one in 4 billion values, and the call raises 22003"};
  if (n.implicit)
    return {n.cast, Severity::Error, fmt::format("is narrowed from {} to {} by an assignment: a value that does not fit raises 22003", n.from, n.to)};
  return {n.cast, Severity::Warning, fmt::format("casts a {} to {}: from the first value on that does not fit, every such call raises 22003", n.from, n.to)};
}

std::optional<Fault> findFault(const LockSite& site, const Value& part) {
  if (const Value* error = findNode(site, part, isError))
    return Fault{error, Severity::Error, fmt::format("does not fit: PostgreSQL raises \"{}\" whenever it runs", error->text)};
  for (const Narrowing& n : narrowings(part))
    if (answersFor(site, *n.cast) && (n.plain_input || n.rounded || (isHash64(n.cast->args[0]) && !isHostCast(*n.cast)))) return faultOf(n);
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
        .remedy = "Use the bigint form for wide ids, with hashtextextended(…, 0) where a namespace is needed, or keep the ids within 32 bits (an integer column, a CHECK). (x & 2147483647)::int fits too, but folds different ids to one key.",
        .proof = "",
        .clauses = {"value does not fit the form | bad_literal.sql", "value does not fit the form (computed) | bad_arithmetic.sql",
                    "narrowed by an implicit conversion | bad_assignment.sql",
                    "an explicit cast of a wider column or parameter is a warning | bad_narrowed.sql"},
    },
    check};

}  // namespace pglocklint

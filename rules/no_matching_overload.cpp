// # Why two bigints are no key
//
// Each lock function exists twice: (bigint) and (integer, integer). Nothing else is accepted: not two bigints, not one bigint and
// one integer, not numeric, float, oid, text or uuid, not three parts (SEMANTICS S30). The call fails with 42883, but only when it runs:
// PL/pgSQL does not look at it when the function is created, so the mistake waits for the first caller.
//
// Silent where an argument's type is not known, and where the project defines a function of the same name itself: then the call may mean that one.
#include <fmt/format.h>

#include <algorithm>

#include "all_rules.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool isRedefined(const Catalogue& catalogue, const Expr& call) {
  if (call.qualifier == "pg_catalog") return false;
  return std::any_of(catalogue.routines.begin(), catalogue.routines.end(),
                     [&](const Routine& r) { return r.function->name == call.name; });
}

std::string remedy(const LockSite& site) {
  switch (site.call->args.size()) {
    case 1: return "Cast the key to bigint if it is a whole number, or hash it: hashtextextended(key::text, 0).";
    case 2: return "Cast both parts to integer if they fit, or hash both into one bigint: hashtextextended(format('%s/%s', a, b), 0).";
    default: return "Hash all parts into one bigint: hashtextextended(format('%s/%s/%s', a, b, c), 0).";
  }
}

void check(const Program& program, Report& report) {
  for (const LockSite& site : program.sites) {
    if (!site.live || !site.direct() || site.key.form != KeyForm::NoOverload || isRedefined(program.catalogue, *site.call)) continue;
    report.at(site, site.call->range,
              fmt::format("PostgreSQL has no such function: {}. Lock functions take one bigint or two integers, and nothing else; the call fails with "
                          "42883 when it runs, not when the function is created. {}",
                          site.key.error, remedy(site)));
  }
}

}  // namespace

const Rule kNoMatchingOverload{
    {
        .code = "AL210",
        .name = "no-matching-overload",
        .severity = Severity::Error,
        .summary = "no lock function accepts these argument types",
        .explanation = "Every lock function exists for (bigint) and for (integer, integer). PostgreSQL converts smaller integers and untyped literals, but no bigint "
                       "to integer, and no numeric, float, oid, text or uuid. The call fails when it runs; PL/pgSQL does not check it at creation.",
        .remedy = "Cast to the form that is meant: f(a::int, b::int) where both fit, f(x::bigint), or f(hashtextextended(…, 0)).",
        .proof = "",
        .clauses = {"(bigint, int) | bad_mixed.sql", "numeric | bad_numeric.sql", "three parts | bad_three_parts.sql",
                    "fails only at run time | bad_bigints.sql"},
    },
    check};

}  // namespace pglocklint

// # Why a NULL key is worse than an error
//
// All lock functions are STRICT: with a NULL argument PostgreSQL does not call them. The statement succeeds, a row comes back, and
// no lock is taken (SEMANTICS S22). A NULL passes through casts, operators, || and hash functions, so a missing setting or row
// far away switches the protection off in silence.
//
// Reported on evidence only: a literal NULL, current_setting(…, true), NULLIF, a column of the nullable side of an outer join, an aggregate or
// sub-select over what may be empty, ->>, a parameter with DEFAULT NULL. A plain parameter or a nullable column is no evidence.
#include <fmt/format.h>

#include "all_rules.h"
#include "key_sites.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool isEvidence(const Value& v) { return v.kind == ValueKind::Null || v.may_be_null; }

// The innermost node that carries the evidence: where the NULL comes from.
const Value& origin(const Value& v) {
  for (const Value& a : v.args)
    if (isEvidence(a)) return origin(a);
  return v;
}

void check(const Program& program, Report& report) {
  const Expr* reported = nullptr;
  forEachKeyPart(program, [&](const LockSite& site, const Value& part) {
    if (site.call == reported || !isEvidence(part)) return;
    const Value& from = origin(part);
    if (!answersFor(site, from)) return;
    reported = site.call;
    const std::string evidence = !part.null_evidence.empty() ? part.null_evidence.str()
                                 : !from.null_evidence.empty() ? from.null_evidence.str()
                                                               : "the key is the literal NULL";
    Finding& f = report.at(site, site.call->range,
                           fmt::format("The key of {} can be NULL: {}. Lock functions are STRICT: with a NULL key PostgreSQL takes no lock and raises no "
                                       "error, and the work goes on unprotected. Make sure of the value first (raise an error when it is NULL), or use "
                                       "COALESCE with a key that is meant.",
                                       callText(site), evidence));
    relateValue(report, f, from, "the NULL can come from here");
  });
}

}  // namespace

const Rule kNullKey{
    {
        .code = "AL207",
        .name = "null-key",
        .severity = Severity::Warning,
        .summary = "the key can be NULL, and then no lock is taken",
        .explanation = "The lock functions are STRICT: a NULL argument means that they are not called at all. The result is NULL, no error is raised, no lock is "
                       "held. NULL passes through casts, arithmetic, || and hash functions.",
        .remedy = "Check the value and raise an error when it is NULL; call current_setting() without missing_ok; or COALESCE to a key that is meant.",
        .proof = "",
        .clauses = {"literal | bad_literal.sql", "current_setting(…, true) | bad_setting.sql", "NULLIF | bad_nullif.sql",
                    "outer-joined column | bad_outer_join.sql", "aggregate that may be empty | bad_aggregate.sql",
                    "subquery that may be empty | bad_subquery.sql", "->> | bad_json.sql", "DEFAULT NULL | bad_default.sql",
                    "A plain parameter or column is none | good.sql"},
    },
    check};

}  // namespace pglocklint

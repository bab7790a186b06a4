// # Why a view, policy or default is no place for a lock
//
// What stands in a schema object runs whenever somebody touches the relation, in statements whose authors do not see it: a
// row-security policy for every row that a query looks at (and before its other conditions), a check or default for each row
// written, a rule's action as the rewritten statement has it, a view's column for each row read or not at all, ADD COLUMN … DEFAULT once for the whole table, pg_dump and
// ANALYZE like anybody else. A STABLE or IMMUTABLE wrapper may be called while planning. Nobody who reads `SELECT … FROM v
// LIMIT 3` can say which locks are held after it.
#include <fmt/format.h>

#include "all_rules.h"
#include "wording.h"

namespace pglocklint {
namespace {

std::string effect(const LockSite& site) {
  const std::string& what = site.host_what;
  if (what == "policy")
    return "PostgreSQL tests a policy before the query's own conditions, so every row that a query looks at is locked";
  if (what == "view" || what == "materialized view")
    return "whoever reads the view takes the locks, for more or fewer rows than the query returns, depending on its "
           "conditions and LIMIT";
  if (what == "index") return "the expression runs for every row that is indexed, and again whenever a plan rechecks it";
  if (what == "rule")
    return "the rule is rewritten into every statement on the relation, and its calls run once for each row, once, or not at all, as the plan of "
           "the rewritten statement has it";
  if (what == "statistics object") return "ANALYZE runs the expression for the rows it samples";
  if (what == "trigger condition") return "the condition runs for each row of every statement that fires the trigger";
  return "it runs for each row that is written, also by COPY and restores, and for the whole table when the column is added";
}

void check(const Program& program, Report& report) {
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::SchemaObject || site.call == last || !site.lock || !site.lock->acquires())
      continue;
    last = site.call;
    const std::string owner = site.host_ddl && !site.host_ddl->name.empty() ? " " + site.host_ddl->name : "";
    Finding& f = report.at(
        site, site.call->range,
        fmt::format(
            "{} stands in a {}{}: {}, in statements that do not show it. Take the lock in the function or statement that "
            "needs it.",
            callText(site), site.host_what.empty() ? "schema object" : site.host_what,
            site.host_what == "view" || site.host_what == "materialized view" || site.host_what == "policy" || site.host_what == "rule" ? owner : "",
            effect(site)));
    if (site.host_ddl && site.host_ddl->name_range.known())
      f.related.push_back(report.place(site.unit, site.host_ddl->name_range, "the object that takes the lock"));
  }
}

}  // namespace

const Rule kLockInSchemaObject{
    {
        .code = "AL107",
        .name = "lock-in-schema-object",
        .severity = Severity::Warning,
        .summary = "a view, policy, rule, check, default or index expression takes a lock",
        .explanation = "An expression in a schema object runs whenever a statement touches the relation, as often and for "
                       "as many rows as its plan wants. The lock is taken by statements that do not show it, for rows that "
                       "they do not return, and released when their transaction or session happens to end.",
        .remedy = "Take the lock in the function or statement that needs it.",
        .clauses = {"a view | bad_view.sql", "a policy | bad_policy.sql", "a check | bad_check.sql",
                    "a default | bad_default.sql", "an index expression | bad_index.sql", "a rule | bad_rule.sql", "a check of ALTER DOMAIN | bad_domain.sql"},
    },
    check};

}  // namespace pglocklint

// # Why one statement must not lock a whole table
//
// Every advisory lock held is an entry in the shared lock table, which is made once at server start for
// max_locks_per_transaction × (max_connections + max_prepared_transactions) entries (about 6,400 by default, measured: 9,360
// to 10,864 with the slack). A statement that locks each row of a table works in tests and fills that table in production.
// Then every session of the server gets "out of shared memory", pg_try_advisory_lock raises instead of returning false, and
// new connections are refused.
//
// Silent where a condition or LIMIT chooses rows, for a constant key (one entry, taken again and again), for temporary
// tables and for transition tables of triggers, which hold what somebody chose before.
#include <algorithm>

#include <fmt/format.h>

#include "all_rules.h"
#include "program/walk.h"
#include "wording.h"

namespace pglocklint {
namespace {

constexpr long long kThreshold = 1000;  // locks of a constant series that one statement may take

bool temporary(const Program& program, const std::string& relation) {
  for (const Unit& unit : program.units)
    for (const Ddl& d : unit.ddl)
      if (d.kind == DdlKind::CreateTable && d.temporary && d.name == relation) return true;
  return false;
}

// `relation` may be a table that the function itself, or its caller, made for the occasion.
bool chosenBefore(const LockSite& site, const Program& program, const std::string& relation) {
  if (temporary(program, relation)) return true;
  if (program.catalogue.relation("", relation)) return false;
  if (site.function && site.function->returns == "trigger") return true;  // REFERENCING NEW TABLE AS relation
  bool made = false;
  if (site.function)
    forEachStatement(*site.function, [&](const Statement& s) {
      if (s.kind == StatementKind::CreateTableAs && s.head.rfind("CREATE TEMP", 0) == 0 &&
          (s.name.empty() || s.name == relation))
        made = true;
    });
  return made;
}

std::string extent(const Evaluation& e) {
  if (e.whole_relation) return e.relation.empty() ? "every row of the table" : fmt::format("every row of {}", e.relation);
  return fmt::format("{} keys", e.series);
}

void check(const Program& program, Report& report) {
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last || !site.lock || !site.lock->acquires())
      continue;
    if (site.key.constant) continue;
    for (const CallEvaluation& call : site.evaluations) {
      const Evaluation& e = call.evaluation;
      if (e.sureness == Sureness::Unknown || e.runs != Runs::PerRow) continue;
      const bool guarded = e.runs_blame.cause == Cause::GuardedBranch;  // CASE chooses the rows
      const bool whole = e.whole_relation && !guarded && !chosenBefore(site, program, e.relation);
      if (!whole && e.series <= kThreshold) continue;
      last = site.call;
      report.at(site, site.call->range,
                fmt::format("{} takes one lock for {}. Each is an entry in the lock table that all sessions share "
                            "(max_locks_per_transaction × max_connections, some thousands): when it is full, every session "
                            "gets \"out of shared memory\" and new connections are refused. Take one lock for the whole "
                            "job, or work in batches: a sub-select with ORDER BY and LIMIT, and a COMMIT after each.",
                            callText(site), extent(e)));
      break;
    }
  }
}

}  // namespace

const Rule kMassLock{
    {
        .code = "AL105",
        .name = "mass-lock",
        .severity = Severity::Warning,
        .summary = "one statement locks every row of a relation, or a long series of keys",
        .explanation = "Advisory locks live in the shared lock table, whose size is fixed at server start: "
                       "max_locks_per_transaction times max_connections, some thousands of entries for the whole server. A "
                       "statement that takes a lock for each row of a table, with no condition and no LIMIT, fills it as "
                       "soon as the table has grown; then all sessions fail with \"out of shared memory\".",
        .remedy = "Take one coarse lock for a job that concerns the whole table, or lock in batches with LIMIT.",
        .clauses = {"every row of a relation (no LIMIT and no condition at that level) | bad_whole_table.sql",
                    "a constant series above a threshold | bad_series.sql"},
    },
    check};

}  // namespace pglocklint

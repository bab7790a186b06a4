// # Why one statement must not lock a whole table
//
// Every advisory lock held is an entry in the shared lock table, which is made once at server start for
// max_locks_per_transaction × (max_connections + max_prepared_transactions) entries (about 6,400 by default, measured: 9,360
// to 10,864 with the slack). A statement that locks each row of a table works in tests and fills that table in production.
// Then every session of the server gets "out of shared memory", pg_try_advisory_lock raises instead of returning false, and
// new connections are refused.
//
// A loop over the whole table that takes a lock in each round and keeps it does the same.
//
// Silent where a condition or LIMIT chooses rows, for a constant key (one entry, taken again and again), for temporary
// tables and for transition tables of triggers, which hold what somebody chose before.
#include <map>
#include <set>

#include <fmt/format.h>

#include "all_rules.h"
#include "function_index.h"
#include "program/walk.h"
#include "wording.h"

namespace pglocklint {
namespace {

constexpr long long kThreshold = 1000;  // locks of a constant series that one statement may take

using Names = std::set<std::string>;

Names temporaryTables(const Program& program) {
  Names names;
  for (const Unit& unit : program.units)
    for (const Ddl& d : unit.ddl)
      if (d.kind == DdlKind::CreateTable && d.temporary) names.insert(d.name);
  return names;
}

// CREATE TEMP TABLE x AS …, in one function; where the name is not known, any.
struct MadeTables {
  Names names;
  bool unnamed = false;
};

MadeTables madeIn(const Function& f) {
  MadeTables made;
  forEachStatement(f, [&](const Statement& s) {
    if (s.kind != StatementKind::CreateTableAs || !s.head.starts_with("CREATE TEMP")) return;
    made.unnamed |= s.name.empty();
    made.names.insert(s.name);
  });
  return made;
}

// Relations that hold what somebody chose before.
class ChosenBefore {
 public:
  explicit ChosenBefore(const Program& program) : program_(program), temporary_(temporaryTables(program)) {}
  bool operator()(const LockSite& site, const std::string& relation) {
    if (temporary_.count(relation)) return true;
    if (program_.catalogue.relation("", relation) || !site.function) return false;
    if (site.function->returns == "trigger") return true;  // REFERENCING NEW TABLE AS relation
    const auto [at, first] = made_.try_emplace(site.function);
    if (first) at->second = madeIn(*site.function);
    return at->second.unnamed || at->second.names.count(relation) > 0;
  }

 private:
  const Program& program_;
  Names temporary_;
  std::map<const Function*, MadeTables> made_;
};

// FOR r IN SELECT … FROM relation LOOP … lock(r.id): the relation, if the loop runs over all of it and the locks stay held.
std::string loopedRelation(const LockSite& site, const FunctionIndex& index) {
  if (!site.direct() || site.statement->loop_depth == 0 || index.endsTransactions()) return "";
  const Statement* loop = nullptr;
  for (const Expr& a : site.call->args) {
    const Expr& e = a.kind == ExprKind::Cast && a.args.size() == 1 ? a.args[0] : a;
    if (e.kind == ExprKind::Column) loop = index.loopOver(e.qualifier.empty() ? e.name : e.qualifier.str(), site.call->range.begin, site.statement->loop_depth);
  }
  if (loop == nullptr || loop->context != PlContext::ForQuery || loop->left_early || loop->query.size() != 1) return "";
  const Query& q = loop->query[0];
  const bool all = q.kind == QueryKind::Select && q.where.empty() && q.having.empty() && q.limit.empty() && q.offset.empty() && q.group_by.empty() &&
                   q.from.size() == 1 && q.from[0].kind == FromKind::Relation && !q.from[0].sampled && q.ctes.empty();
  return all ? q.from[0].name : "";
}

std::string extent(const Evaluation& e) {
  if (e.whole_relation) return e.relation.empty() ? "every row of the table" : fmt::format("every row of {}", e.relation);
  return fmt::format("{} keys", e.series);
}

void reportMass(const LockSite& site, const std::string& what, Report& report) {
  report.at(site, site.call->range,
            fmt::format("{} takes one lock for {}. Each is an entry in the lock table that all sessions share "
                        "(max_locks_per_transaction × max_connections, some thousands): when it is full, every session "
                        "gets \"out of shared memory\" and new connections are refused. Take one lock for the whole "
                        "job, or work in batches: a sub-select with ORDER BY and LIMIT, and a COMMIT after each.",
                        callText(site), what));
}

void check(const Program& program, Report& report) {
  FunctionIndexes indexes(program.catalogue);
  std::set<const Function*> releasing;
  for (const LockSite& site : program.sites)
    if (site.lock && !site.lock->acquires()) releasing.insert(site.function);
  ChosenBefore chosen_before(program);
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last || !site.lock || !site.lock->acquires())
      continue;
    if (site.key.constant) continue;
    for (const CallEvaluation& call : site.evaluations) {
      const Evaluation& e = call.evaluation;
      if (e.sureness == Sureness::Unknown || e.runs != Runs::PerRow) continue;
      const bool guarded = e.runs_blame.cause == Cause::GuardedBranch;  // CASE chooses the rows
      const bool whole = e.whole_relation && !guarded && !chosen_before(site, e.relation);
      if (!whole && e.series <= kThreshold) continue;
      last = site.call;
      reportMass(site, extent(e), report);
      break;
    }
    if (site.call == last || !site.function || !site.statement || site.statement->loop_depth == 0) continue;
    if (site.lock->scope == LockScope::Session && releasing.count(site.function)) continue;
    const std::string relation = loopedRelation(site, indexes.of(*site.function));
    const Relation* known = program.catalogue.relation("", relation);
    if (relation.empty() || relation.starts_with("pg_") || (known && known->view) || chosen_before(site, relation)) continue;
    last = site.call;
    reportMass(site, fmt::format("every row of {}, round after round", relation), report);
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
                    "a constant series above a threshold | bad_series.sql", "every row of a relation, in a loop | bad_loop.sql"},
    },
    check};

}  // namespace pglocklint

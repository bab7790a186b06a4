// # Why a lock that is written need not be taken
//
// PostgreSQL runs what a statement needs. A SELECT in WITH that nobody reads is not run, MATERIALIZED or not; EXISTS drops
// the select list of its sub-select; the unused side of a LEFT JOIN, a branch behind a constant, a call with a NULL argument
// go too. No error, no lock, and the work goes on.
//
// Other calls are merely skipped: `IF force OR pg_try_advisory_lock(7) THEN work` does the work unlocked when `force` is
// true, because OR stops at the first true operand. We report that only when the same work is done either way. `force AND
// try(…)`, `CASE WHEN flag THEN lock END` and an IF around the lock are deliberate: an ordinary condition decides, and it is
// there to be seen. `try(1) OR try(2)` looks for a free slot. An operand that tells whether the lock is held already is no
// bypass either.
//
// DECLARE without FETCH in view and EXPLAIN run nothing on purpose. A PREPARE without EXECUTE in view is judged as if somebody executed it.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "all_rules.h"
#include "bypass.h"
#include "routines.h"
#include "wording.h"

namespace pglocklint {
namespace {

struct Reason {
  Cause cause;
  std::string_view why, here, instead;
};
constexpr std::string_view kOwnStatement = "Take the lock in a statement of its own before the work.";
constexpr Reason kNever[] = {
    {Cause::UnreadCte,
     "nothing reads the WITH query it stands in, and PostgreSQL runs a SELECT in WITH only as far as it is read",
     "this WITH query is never read", kOwnStatement},
    {Cause::ExistsSelectList,
     "EXISTS asks only whether there is a row, and PostgreSQL drops the select list of its sub-select",
     "EXISTS drops this select list", "Test the call itself, or put it into FROM or WHERE of the sub-select."},
    {Cause::PrunedTarget,
     "its column is not read by the enclosing query, and PostgreSQL drops columns that are not volatile and not read",
     "this column is not read", "Read the column, or declare the function VOLATILE."},
    {Cause::RemovedJoin, "PostgreSQL removes a LEFT JOIN whose other side is unique and not read, and the call with it",
     "this side of the join can be removed", kOwnStatement},
    {Cause::DeadBranch, "a constant decides the expression before the call", "decided here",
     "Remove the constant, or the dead call."},
    {Cause::ShortCircuit, "an operand that is constant decides before the call", "decided here",
     "Remove the constant, or the dead call."},
    {Cause::Coalesce, "COALESCE stops at an earlier argument that is never NULL", "decided here",
     "Remove the constant, or the dead call."},
    {Cause::ConstantFalse, "a condition of the statement is constantly false, so PostgreSQL reads nothing", "always false",
     kOwnStatement},
    {Cause::LimitZero, "LIMIT 0 asks for no rows, so PostgreSQL reads none", "LIMIT 0", kOwnStatement},
    {Cause::NullKey, "its key is NULL, and the lock functions are STRICT: with a NULL argument they are not called",
     "NULL here", "Pass a key that is never NULL, or raise an error when it is."},
    {Cause::WithNoData, "WITH NO DATA makes the table without running the query", "WITH NO DATA", kOwnStatement},
};

const Reason* whyNever(Cause cause) {
  const auto* it = std::find_if(std::begin(kNever), std::end(kNever), [&](const Reason& r) { return r.cause == cause; });
  return it == std::end(kNever) ? nullptr : it;
}

// CREATE MATERIALIZED VIEW … WITH NO DATA waits for its REFRESH.
bool deliberate(const LockSite& site, const Evaluation& e) {
  return e.runs_blame.cause == Cause::WithNoData && site.statement &&
         site.statement->head.find("MATERIALIZED") != std::string::npos;
}

// The fault lies in the wrapper's declaration where that lets PostgreSQL drop the call: one finding for both (dominance).
void shareSubject(Finding& f, const LockSite& site, const Program& program) {
  if (site.routine && site.routine->volatility != Volatility::Volatile) f.subject = routineSubject(program, *site.routine);
}

bool reportNever(const LockSite& site, Report& report) {
  for (const CallEvaluation& call : site.evaluations) {
    const Evaluation& e = call.evaluation;
    const bool removed = e.runs_blame.cause == Cause::RemovedJoin;
    if (e.sureness == Sureness::Unknown || (e.runs != Runs::Never && !(removed && e.runs == Runs::NeedNot)) ||
        deliberate(site, e))
      continue;
    const Reason* reason = whyNever(e.runs_blame.cause);
    if (!reason) continue;
    Finding& f = report.at(
        site, site.call->range,
        fmt::format("{} {} run: {}. The statement succeeds all the same, and what follows is done without the lock. {}",
                    callText(site), e.runs == Runs::Never ? "is never" : "need not be", reason->why, reason->instead));
    if (e.runs_blame.range.known())
      f.related.push_back(report.place(site.unit, e.runs_blame.range, std::string(reason->here)));
    shareSubject(f, site, report.program());
    return true;
  }
  return false;
}

bool reportAssert(const LockSite& site, Report& report) {
  if (!site.statement || site.statement->context != PlContext::Assert) return false;
  report.at(site, site.call->range,
            fmt::format("{} stands in an ASSERT, which PL/pgSQL skips while plpgsql.check_asserts is off: then the lock is "
                        "not taken and the work is done all the same. Test it with IF and RAISE an error.",
                        callText(site)));
  return true;
}

bool reportBypass(const LockSite& site, FunctionIndexes& indexes, Report& report) {
  if (!site.function) return false;
  const std::optional<Bypass> bypass = findBypass(site, indexes.of(*site.function), report.program().catalogue);
  if (!bypass) return false;
  const Expr* decider = bypass->decider;  // NOT force: a reader knows it as force
  while (decider->kind == ExprKind::Not && !decider->args.empty()) decider = &decider->args[0];
  Finding& f =
      report.at(site, site.call->range,
                fmt::format("{} is not run when {} decides the condition first, and the work that follows is done all the "
                            "same, without the lock. PostgreSQL stops evaluating {} as soon as the result is known. Take "
                            "the lock in a statement of its own, and let {} choose only whether to wait for it.",
                            callText(site), exprText(*decider), bypass->construct, exprText(*decider)));
  f.related.push_back(report.place(site.unit, bypass->decider->range, "decides without the lock"));
  if (bypass->work.known()) f.related.push_back(report.place(site.unit, bypass->work, "done with or without the lock"));
  return true;
}

void check(const Program& program, Report& report) {
  FunctionIndexes indexes(program.catalogue);
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last || !site.lock || !site.lock->acquires())
      continue;
    if (reportNever(site, report) || reportAssert(site, report) || reportBypass(site, indexes, report)) last = site.call;
  }
}

}  // namespace

const Rule kLockNeverEvaluated{
    {
        .code = "AL103",
        .name = "lock-never-evaluated",
        .severity = Severity::Error,
        .summary = "the statement does not run the lock call, or need not, although the work is done",
        .explanation = "PostgreSQL runs only what a statement's result needs. A SELECT in WITH that is not read, the select "
                       "list of EXISTS, a column or a join side that nobody reads, a branch decided by a constant and a "
                       "call with a NULL argument are dropped, without an error. OR, CASE and COALESCE stop when the result "
                       "is known: IF force OR pg_try_advisory_lock(7) THEN does the work unlocked when force is true. A "
                       "skip that an ordinary condition asks for, together with the work, is not reported.",
        .remedy = "Take the lock in a statement of its own (PERFORM, or SELECT) before the work that needs it.",
        .clauses = {"unread CTE | bad_unread_cte.sql", "pruned target | bad_pruned.sql", "EXISTS | bad_exists.sql",
                    "dead branch | bad_dead_branch.sql", "or need not: OR | bad_or.sql", "or need not: CASE | bad_case.sql",
                    "or need not: COALESCE | bad_coalesce.sql", "ASSERT that may be switched off | bad_assert.sql"},
    },
    check};

}  // namespace pglocklint

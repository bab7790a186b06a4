// # Why a lock must not stand beside LIMIT
//
// A query level is a pipeline: scan and WHERE, grouping, ORDER BY, row locks, OFFSET, LIMIT. A lock call has its place in
// that pipeline like any other function, and what stands above it throws rows away after they were locked. A filter runs
// below the sort, so `WHERE status = 'pending' AND pg_try_advisory_lock(id) ORDER BY priority LIMIT 1` locks every pending
// row and returns one (measured: 1,000 locks for LIMIT 10). In the select list the call runs late, but still below OFFSET,
// WITH TIES and, at the same level, SKIP LOCKED; ordering by the call itself needs all its results first. A sub-select
// around the call hides from the planner that it is volatile, and then it runs before the sort as well.
//
// A plain LIMIT over a call in the select list is another matter: PostgreSQL 13 to 18 lock just the rows returned, but the
// manual ("Advisory Locks") calls the form dangerous and promises nothing. That is a warning, and it says so.
//
// A FOR loop of PL/pgSQL fetches 10 rows ahead, then 50: left by EXIT or RETURN, it has locked rows that the loop never saw.
//
// A cursor that is moved (MOVE, FETCH ABSOLUTE, FETCH RELATIVE, FETCH LAST) computes the rows it passes over, and one that steps back
// computes them again. COMMIT runs what is left of a cursor WITH HOLD.
//
// Silent where a sub-select with LIMIT (or OFFSET 0, or a MATERIALIZED CTE) has picked the rows before the call.
#include <algorithm>

#include <fmt/format.h>

#include "all_rules.h"
#include "wording.h"

namespace pglocklint {
namespace {

// Why the rows are locked before the clause looks at them.
struct Reason {
  Cause cause;
  std::string_view clause, why, here;
};
constexpr Reason kReasons[] = {
    {Cause::Limit, "LIMIT", "the call runs below the step that LIMIT cuts off", "LIMIT is applied here, after the call"},
    {Cause::Offset, "OFFSET", "the rows that OFFSET skips are computed all the same",
     "OFFSET skips rows here, after the call"},
    {Cause::WithTies, "FETCH … WITH TIES", "WITH TIES must read one row more than it returns, to see that the ties are over",
     "WITH TIES is applied here, after the call"},
    {Cause::SkipLocked, "SKIP LOCKED", "rows that SKIP LOCKED passes over have run the call already",
     "SKIP LOCKED passes over rows here, after the call"},
    {Cause::OrderByCall, "LIMIT", "ordering by the call needs its result for every row first",
     "the rows are sorted by the call here"},
    {Cause::HiddenVolatility, "LIMIT",
     "a sub-select hides from the planner that the call is volatile, and it is run before the sort",
     "hidden in this sub-select"},
    {Cause::StableWrapper, "LIMIT", "the wrapper is not VOLATILE, so the planner may run it before the sort",
     "run before the sort"},
    {Cause::StoredFunction, "LIMIT", "a set-returning function in FROM is run to its end and its rows stored",
     "LIMIT is applied here, after the function has run"},
    {Cause::LoopPrefetch, "the loop",
     "PL/pgSQL fetches 10 rows ahead, then 50, and the loop can be left before it has seen them", "the loop's query"},
    {Cause::MoveCursor, "the cursor's move", "a cursor computes the rows that MOVE, FETCH ABSOLUTE and FETCH RELATIVE pass over",
     "passes over rows here"},
    {Cause::DeclareOnly, "nobody fetches", "COMMIT runs the rest of the query of a cursor WITH HOLD and stores its rows", "COMMIT runs it to its end"},
};

const Reason* reasonFor(Cause cause) {
  const auto* it = std::find_if(std::begin(kReasons), std::end(kReasons), [&](const Reason& r) { return r.cause == cause; });
  return it == std::end(kReasons) ? nullptr : it;
}

// The clauses at fault: the main one first.
std::vector<Blame> cutting(const Evaluation& e) {
  std::vector<Blame> out;
  const auto take = [&](const Blame& b) {
    const bool held_open = b.cause == Cause::DeclareOnly && e.rows == Rows::PlanDependent;  // WITH HOLD, and no COMMIT in view
    if (reasonFor(b.cause) && !held_open) out.push_back(b);
  };
  take(e.rows_blame);
  std::for_each(e.others.begin(), e.others.end(), take);
  return out;
}

std::string remedy(const Evaluation& e) {
  if (e.rows_blame.cause == Cause::LoopPrefetch)
    return "Read the rows without locking and take the lock inside the loop, one row at a time.";
  if (e.rows_blame.cause == Cause::DeclareOnly) return "Lock the rows that were fetched, in a statement of their own.";
  if (e.rows_blame.cause == Cause::MoveCursor) return "Lock after the cursor has been placed, in a statement of its own.";
  return "Pick the rows first, in a sub-select with its own ORDER BY and LIMIT, which PostgreSQL never merges, and lock in "
         "the outer select list: SELECT lock(q.id) FROM (SELECT id FROM … WHERE … ORDER BY id LIMIT n) AS q.";
}

// A condition has to be tested before LIMIT can count the row: `WHERE try(id) LIMIT 1` over rows that were picked is how
// queues do it.
bool isCondition(CallPosition p) { return p == CallPosition::Where || p == CallPosition::On || p == CallPosition::Having; }

void reportDiscarded(const LockSite& site, const Evaluation& e, const std::vector<Blame>& blames, Report& report) {
  const Reason& reason = *reasonFor(blames.front().cause);
  const bool releases = site.lock && !site.lock->acquires();
  std::string effect =
      releases ? "Locks of rows that the statement does not return are released too."
               : fmt::format("Every row discarded after that stays locked {}, and nobody knows about it.", heldUntil(site));
  std::string_view often = e.rows == Rows::PlanDependent ? "may run" : "runs";
  std::string why(reason.why);
  if (isCondition(e.position) && reason.cause == Cause::Limit)
    why = "a condition is tested while rows are read, before they are sorted, grouped or cut off";
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} {} for rows that {}{}: {}. {} {}", callText(site), often, reason.clause,
                                     reason.cause == Cause::DeclareOnly ? "" : " then discards", why, effect, remedy(e)));
  for (const Blame& b : blames)
    if (b.range.known()) f.related.push_back(report.place(site.unit, b.range, std::string(reasonFor(b.cause)->here)));
}

// (A constant key is one lock, however many rows ask for it: nothing to warn of.)
void reportNotGuaranteed(const LockSite& site, const Evaluation& e, Report& report) {
  Finding& f =
      report.at(site, site.call->range,
                fmt::format("{} stands at the same level as LIMIT. PostgreSQL 13 to 18 were measured to run it for just the "
                            "rows they return, but the manual calls this form dangerous: LIMIT is not guaranteed to be "
                            "applied before the call, so another plan or version may lock rows that nobody sees. {}",
                            callText(site), remedy(e)));
  f.severity = Severity::Warning;
  if (e.limit_blame.range.known())
    f.related.push_back(report.place(site.unit, e.limit_blame.range, "LIMIT of the same query level"));
}

// A cursor that steps back computes its select list anew: the same session locks are taken once more.
bool reportBackward(const LockSite& site, const Evaluation& e, Report& report) {
  const bool stacks = site.lock && site.lock->acquires() && site.lock->scope == LockScope::Session;
  if (e.rows_blame.cause != Cause::BackwardFetch || !stacks) return false;
  Finding& f = report.at(
      site, site.call->range,
      fmt::format("{} runs again for each row that FETCH BACKWARD steps on: a cursor computes its select list anew whenever it moves to a "
                  "row. A session lock is then held twice, and one unlock leaves it held. Fetch the rows without locking, and take the lock "
                  "in a statement of its own.",
                  callText(site)));
  if (e.rows_blame.range.known()) f.related.push_back(report.place(site.unit, e.rows_blame.range, "the cursor steps back here"));
  return true;
}

void check(const Program& program, Report& report) {
  const Expr* last = nullptr;  // a wrapper with several lock calls is one call here
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last) continue;
    for (const CallEvaluation& call : site.evaluations) {
      const Evaluation& e = call.evaluation;
      if (e.sureness == Sureness::Unknown || e.runs == Runs::Never) continue;
      const std::vector<Blame> blames = e.rows == Rows::Exact ? std::vector<Blame>{} : cutting(e);
      if (!blames.empty())
        reportDiscarded(site, e, blames, report);
      else if (e.rows == Rows::Exact && e.limited && e.sureness == Sureness::NotGuaranteed && !isCondition(e.position) && !site.key.constant)
        reportNotGuaranteed(site, e, report);
      else if (!reportBackward(site, e, report))
        continue;
      last = site.call;
      break;
    }
  }
}

}  // namespace

const Rule kLockBeforeLimit{
    {
        .code = "AL101",
        .name = "lock-before-limit",
        .severity = Severity::Error,
        .summary = "the lock call runs for rows that LIMIT, OFFSET or FETCH then discards",
        .explanation =
            "PostgreSQL runs a query level as a pipeline: conditions, grouping, ORDER BY, row locks, OFFSET, LIMIT. A lock "
            "call in a condition runs below the sort, for every row that reaches it; a call in the select list still runs "
            "below OFFSET, WITH TIES and SKIP LOCKED. Rows thrown away after the call stay locked although the statement "
            "never returns them. For a call in the select list with a plain LIMIT the versions 13 to 18 were measured to "
            "lock just the rows returned, but the manual does not promise it: a warning. The trap inside the trap: (SELECT "
            "pg_advisory_lock(a.id)) in a select list hides that the call is volatile, and it then runs before the sort, "
            "for every row. A PL/pgSQL FOR loop that can be left early has fetched, and locked, up to 50 rows ahead.",
        .remedy =
            "Pick the rows in a sub-select with its own ORDER BY and LIMIT, and take the locks in the outer select list.",
        .clauses = {"the call runs for rows that LIMIT discards | bad_where_sorted.sql",
                    "for rows that OFFSET discards | bad_offset.sql",
                    "for rows that FETCH … WITH TIES discards | bad_with_ties.sql",
                    "for rows that SKIP LOCKED passes over | bad_skip_locked.sql",
                    "ordering by the call | bad_order_by_call.sql", "hidden in a sub-select | bad_hidden.sql",
                    "or may run: only the manual's guarantee is missing | bad_select_list.sql",
                    "or that a PL/pgSQL loop left early had prefetched | bad_loop_left_early.sql",
                    "or that a cursor passes over or visits again | bad_cursor.sql"},
    },
    check};

}  // namespace pglocklint

// # Why a lock call is not a condition like the others
//
// In `WHERE state = 'ready' AND pg_try_advisory_lock(id)` nothing says that the state is looked at first. The planner sorts
// the conditions of a scan by cost, and a lock function costs as little as a comparison; among equals it puts every `column
// = value` last, whatever the text says (it rebuilds them from equivalence classes). So the lock is tried first, on rows of
// every state, and a row that the other condition then rejects stays locked. Measured: 100 locks for one ready row; an
// UPDATE with `id = 50` beside the call locked 100 rows on a sequential scan. Where the order happens to be right (a dearer
// key expression, an index), the next plan may turn it round: those are warnings.
//
// Not meant: a condition without columns, `SELECT … WHERE pg_try_advisory_lock(7)` over no table, and `(SELECT pg_try…(7))`,
// which run once, before any row is read; CASE WHEN cheap THEN try(id) ELSE false END, which PostgreSQL does evaluate in
// order; a call that is the only condition. `NOT try(id)` alone keeps locks of rows it rejects, but asking who is busy is
// its purpose.
#include <algorithm>

#include <fmt/format.h>

#include "all_rules.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool inCondition(CallPosition p) { return p == CallPosition::Where || p == CallPosition::On || p == CallPosition::Having; }

bool discards(Cause cause) {
  switch (cause) {
    case Cause::OtherCondition:
    case Cause::Having:
    case Cause::Join:
    case Cause::SemiJoin:
    case Cause::OuterCondition: return true;
    default: return false;
  }
}

std::vector<Blame> conditions(const Evaluation& e) {
  std::vector<Blame> out;
  if (discards(e.rows_blame.cause)) out.push_back(e.rows_blame);
  std::copy_if(e.others.begin(), e.others.end(), std::back_inserter(out), [](const Blame& b) { return discards(b.cause); });
  return out;
}

std::string_view where(CallPosition p) {
  return p == CallPosition::On ? "ON" : p == CallPosition::Having ? "HAVING" : "WHERE";
}

std::string why(const Evaluation& e, Cause cause) {
  switch (e.sureness) {
    case Sureness::ByCostOrPosition:
      return "only the planner's cost estimate, or the order they are written in, decides which condition is tested first, "
             "and PostgreSQL promises neither";
    case Sureness::ByPlan: return "the plan (join order, the index in use) decides which rows reach the call";
    default: break;
  }
  if (cause == Cause::Having) return "the terms of HAVING are tested in order of cost, and the call is among the cheapest";
  if (cause == Cause::Join || cause == Cause::SemiJoin)
    return "the call may be tested before the rows are matched with the other side";
  return "PostgreSQL orders conditions by cost and puts column = value last, so the call is tested first however the text "
         "orders them";
}

// A sub-select that stays one (LIMIT, OFFSET 0, MATERIALIZED, a volatile column that the condition reads) computes its select list
// before the enclosing query's condition rejects rows.
bool rejectedOutside(const Evaluation& e) {
  return !inCondition(e.position) && e.rows == Rows::Superset && e.sureness == Sureness::Always &&
         e.rows_blame.cause == Cause::OuterCondition;
}

std::string effect(const LockSite& site) {
  if (!site.lock || !site.lock->acquires()) return "The locks of rejected rows are released too.";
  return fmt::format("A row locked and then rejected stays locked {}.", heldUntil(site));
}

void reportOutside(const LockSite& site, const Evaluation& e, Report& report) {
  Finding& f = report.at(
      site, site.call->range,
      fmt::format("{} runs for every row of its sub-select, and a condition of the enclosing query rejects some of them afterwards: "
                  "PostgreSQL computes a volatile column before it can test the rows outside. {} Move the conditions on other columns "
                  "into the sub-select, and leave outside only the test of the call's own result.",
                  callText(site), effect(site)));
  for (const Blame& b : conditions(e))
    if (b.range.known()) f.related.push_back(report.place(site.unit, b.range, "rejects rows that are locked already"));
}

void check(const Program& program, Report& report) {
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last) continue;
    for (const CallEvaluation& call : site.evaluations) {
      const Evaluation& e = call.evaluation;
      if (e.sureness == Sureness::Unknown || e.runs == Runs::Never || e.rows == Rows::Exact) continue;
      // The same transaction-level key again and again holds one lock: a nuisance, not a leak.
      const bool harmless_key = site.key.constant && site.lock && site.lock->scope == LockScope::Transaction;
      if (rejectedOutside(e) && !harmless_key) {
        last = site.call;
        reportOutside(site, e, report);
        break;
      }
      if (!inCondition(e.position)) continue;
      const std::vector<Blame> blames = conditions(e);
      if (blames.empty()) continue;
      last = site.call;
      const Blame& first = blames.front();
      const bool outside = site.level && first.range.known() && !site.level->range.contains(first.range);
      Finding& f = report.at(
          site, site.call->range,
          outside ? fmt::format("{} in {} of a sub-select is tested for rows that {} of the enclosing query may reject afterwards. {} Put what rejects rows "
                                "into the sub-select that picks them, below the call.",
                                callText(site), where(e.position), clauseName(first.cause), effect(site))
                  : fmt::format("{} in {} is tested for rows that {} rejects: {}. {} Choose the rows first, in a "
                                "sub-select with LIMIT or OFFSET 0 or in a MATERIALIZED CTE, and call it for "
                                "those; or guard it: CASE WHEN … THEN {}(…) ELSE false END.",
                                callText(site), where(e.position), clauseName(first.cause), why(e, first.cause), effect(site), site.call->name));
      const bool always = e.sureness == Sureness::Always && e.rows == Rows::Superset;
      f.severity = always && !harmless_key ? Severity::Error : Severity::Warning;
      for (const Blame& b : blames)
        if (b.range.known())
          f.related.push_back(report.place(site.unit, b.range, fmt::format("{} rejects rows here", clauseName(b.cause))));
      break;
    }
  }
}

}  // namespace

const Rule kLockInWhere{
    {
        .code = "AL102",
        .name = "lock-in-where",
        .severity = Severity::Error,
        .summary = "a lock call beside other conditions runs for rows that they discard",
        .explanation = "The order of conditions in WHERE, ON and HAVING means nothing to PostgreSQL. Conditions of one scan "
                       "are sorted by estimated cost; the lock functions cost as little as a comparison, and every column = "
                       "value is put last among equals. So the lock is taken on rows that another condition then rejects, "
                       "and stays. Where only cost, written order or the plan keeps it right today, or where a unique key "
                       "is bound and an index scan would find one row, the finding is a warning.",
        .remedy = "Choose the rows in a sub-select with LIMIT or OFFSET 0, or in a MATERIALIZED CTE, and lock those; or put "
                  "the cheap condition and the call into one CASE.",
        .clauses = {"in WHERE beside other conditions | bad_where.sql", "in ON | bad_on.sql", "in HAVING | bad_having.sql",
                    "in a sub-select whose rows an outer condition rejects | bad_outer_condition.sql",
                    "in a sub-select whose rows a join outside may reject: a warning | bad_other_rows.sql",
                    "only by cost, position or plan, or a unique key bound: a warning | bad_by_plan.sql"},
    },
    check};

}  // namespace pglocklint

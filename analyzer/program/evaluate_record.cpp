// From what is known where a call stands to its Evaluation, and the evaluations of several ways to one call put together.
#include <algorithm>
#include <tuple>

#include "program/evaluate_level.h"

namespace pglocklint::evaluation {

bool stronger(const Discard& a, const Discard& b) {  // is a the better reason?
  if (a.rows != b.rows) return a.rows > b.rows;
  return a.sureness < b.sureness;
}

namespace {

bool earlier(const Blame& a, const Blame& b) {
  return std::tie(a.range.begin, a.range.end, a.cause) < std::tie(b.range.begin, b.range.end, b.cause);
}

// One way to a call does without it, and its rows come out all the same: a guard for the call as a whole.
void spare(Evaluation& e, const Evaluation& never) {
  if (never.runs_blame.cause == Cause::ShortCircuit && e.runs > Runs::NeedNot && e.runs_blame.cause != Cause::GuardedBranch)
    e.runs_blame = {Cause::GuardedBranch, never.runs_blame.range};
}

// The same call on two ways: the maximum, with the reasons of the one that decides.
void combine(Site& site, const Evaluation& e, bool one_key = true) {
  Evaluation& old = site.evaluation;
  if (!site.seen) {
    site.seen = true;
    old = e;
    return;
  }
  if (e.runs == Runs::Never) return spare(old, e);
  if (old.runs == Runs::Never) {
    const Evaluation never = old;
    old = e;
    return spare(old, never);
  }
  Evaluation both = e.rows > old.rows || (e.rows == old.rows && e.sureness < old.sureness) ? e : old;
  const Evaluation& other = both == e ? old : e;
  both.runs = std::max(e.runs, old.runs);
  if (both.runs == Runs::Once) both.runs = Runs::PerRow, both.repeated = one_key && e.runs == old.runs;  // once here, and (perhaps) there too
  // One row alone is locked or not, whatever else it is asked; beside others it is a row like them.
  if ((e.runs == Runs::Once || old.runs == Runs::Once) && !one_key && site.rows_if_several > both.rows)
    both.rows = Rows::PlanDependent, both.sureness = Sureness::ByPlan, both.rows_blame = site.rows_if_several_blame;
  if (both.runs > Runs::NeedNot && both.runs_blame.cause != Cause::GuardedBranch)
    both.runs_blame = other.runs_blame.cause == Cause::GuardedBranch ? other.runs_blame : Blame{};
  both.plan_time = e.plan_time || old.plan_time;
  both.repeated = both.repeated || other.repeated;
  both.limited = e.limited || old.limited;
  if (both.limited && both.limit_blame.cause == Cause::None) both.limit_blame = other.limit_blame;
  both.whole_relation = e.whole_relation || old.whole_relation;
  if (both.relation.empty()) both.relation = other.relation;
  if (e.order != old.order || !one_key) both.order = CallOrder::Undefined;
  both.sorted_by_key = e.sorted_by_key && old.sorted_by_key && both.order == CallOrder::Defined;
  if (both.series != other.series) both.series = -1;
  old = both;
}

// The key as far as it varies from row to row.
std::set<std::string> keyColumns(const Term& call, std::vector<Term>& columns) {
  std::set<std::string> names;
  for (const Term& a : call.args)
    forEachTerm(a, true, [&](const Term& t) {
      if (!t.is(ExprKind::Column)) return;
      if (names.insert(std::to_string(t.leaf) + "." + t.name).second) columns.push_back(t);
    });
  return names;
}

bool keyVaries(const Term& call, const std::set<int>& row_leaves, bool any_leaf) {
  bool varies = call.args.empty() || namesUnknownLeaf(call);
  for (const Term& a : call.args) {
    if (volatileDirect(a) || containsSetReturning(a) || containsAggregate(a) || containsWindow(a)) varies = true;
    for (const int l : leavesOf(a)) varies = varies || any_leaf || row_leaves.count(l) > 0;
  }
  return varies;
}

bool sortedByKey(const Term& call, const Flow& f) {
  if (f.order != CallOrder::Defined || f.order_terms.empty()) return false;
  if (call.args.size() == 1 && sameTerm(call.args[0], f.order_terms[0])) return true;
  std::vector<Term> columns;
  keyColumns(call, columns);
  if (columns.empty() || columns.size() > f.order_terms.size()) return false;
  for (const Term& c : columns) {
    bool leading = false;
    for (std::size_t i = 0; i < columns.size(); ++i) leading = leading || sameTerm(c, f.order_terms[i]);
    if (!leading) return false;
  }
  return true;
}

bool isPlanTime(const Term& call) {
  return call.callee.routine && call.callee.volatility == Volatility::Immutable && !call.callee.returns_set &&
         std::all_of(call.args.begin(), call.args.end(), isConstantTerm);
}

Evaluation evaluationOf(const Term& call, const Flow& f) {
  Evaluation e;
  e.position = f.position;
  const bool single = f.once && !f.many;
  e.runs = f.runs <= Runs::NeedNot ? f.runs : single ? Runs::Once : Runs::PerRow;
  if (e.runs <= Runs::NeedNot) e.runs_blame = f.runs_blame;
  else if (f.guard.cause != Cause::None) e.runs_blame = f.guard;
  if (isPlanTime(call)) {
    // Folded when the statement is planned, whether or not the plan ever comes to it.
    e = Evaluation{};
    e.position = f.position, e.plan_time = true, e.order = CallOrder::Single;
    e.runs = f.cached ? Runs::NeedNot : Runs::Once;
    if (f.cached) e.runs_blame = f.cached_blame;
    if (f.planned_only || f.filtered || f.guard.cause != Cause::None || f.runs <= Runs::NeedNot) {
      e.rows = Rows::Superset;
      e.rows_blame = {Cause::PlanTime, call.range()};
    }
    return e;
  }
  if (f.planned_only && !f.estimated) {
    e.runs = Runs::Never;
    e.runs_blame = f.runs_blame;
    return e;
  }
  if (e.runs == Runs::Never) return e;

  const auto spared = [&](const Discard& d) {
    return std::any_of(call.sites.begin(), call.sites.end(),
                       [&](int site) { return std::find(d.spared.begin(), d.spared.end(), site) != d.spared.end(); });
  };
  Discard worst;
  for (const Discard& d : f.discards) {
    if ((single && d.absorbed) || spared(d)) continue;
    if (stronger(d, worst)) worst = d;
  }
  e.rows = worst.rows, e.sureness = worst.sureness, e.rows_blame = worst.blame;
  constexpr std::size_t kEnoughOthers = 20;  // nobody reads more
  for (const Discard& d : f.discards)
    if (e.others.size() < kEnoughOthers && !(single && d.absorbed) && !spared(d) && d.rows != Rows::Exact && !(d.blame == worst.blame) &&
        std::find(e.others.begin(), e.others.end(), d.blame) == e.others.end())
      e.others.push_back(d.blame);
  std::sort(e.others.begin(), e.others.end(), earlier);

  e.limited = f.limited && f.limit_blame.cause == Cause::Limit;
  const Cause cause = worst.blame.cause;
  const bool by_limit = cause == Cause::OrderByCall || cause == Cause::HiddenVolatility || cause == Cause::StableWrapper;
  if (e.limited || (by_limit && f.limit_blame.cause == Cause::Limit)) e.limit_blame = f.limit_blame;
  if (e.rows == Rows::Exact) {
    e.sureness = f.sureness;
    if (e.runs == Runs::NeedNot) e.sureness = std::max(e.sureness, f.runs_sureness);
    if (e.limited) e.sureness = Sureness::NotGuaranteed;
  }
  const bool row_key = keyVaries(call, f.row_leaves, !f.many);
  e.order = single || (f.many && !keyVaries(call, f.row_leaves, true)) ? CallOrder::Single : f.order;
  if (!single && !row_key && e.runs == Runs::PerRow && !f.at_most_one) {
    e.repeated = true;
    if (e.rows == Rows::Exact) e.rows_blame = {Cause::ConstantKeyPerRow, call.range()};
  }
  e.repeated = e.repeated || f.repeated;
  e.sorted_by_key = e.order == CallOrder::Defined && sortedByKey(call, f);
  if (f.estimated) {
    e.plan_time = true;
    if (f.planned_only) {
      e.runs = Runs::Once, e.rows = Rows::Superset, e.rows_blame = {Cause::PlanTime, call.range()}, e.order = CallOrder::Single;
      e.others.clear();
      return e;
    }
    e.repeated = true;
  }
  if (f.unconditional && e.runs == Runs::PerRow && !f.limited) {
    e.whole_relation = !f.relation.empty();
    e.relation = f.relation;
    e.series = f.series;
  }
  return e;
}

}  // namespace

void record(const Term& call, const Flow& f, Tree& tree) {
  const Evaluation e = evaluationOf(call, f);
  const bool one_key = !keyVaries(call, f.row_leaves, true);
  for (const int number : call.sites) {
    Site& site = tree.sites[static_cast<std::size_t>(number)];
    for (const Discard& d : f.discards)
      if (d.rows > site.rows_if_several) site.rows_if_several = d.rows, site.rows_if_several_blame = d.blame;
    combine(site, e, one_key);
  }
}

namespace {

Evaluation neverRun(Cause cause, const SourceRange& range, CallPosition position) {
  Evaluation e;
  e.runs = Runs::Never, e.order = CallOrder::Single, e.position = position;
  e.runs_blame = {cause, range};
  return e;
}

Evaluation foldedAway(const Term& call, const Evaluation& never) {
  if (!isPlanTime(call)) return never;
  Evaluation e;
  e.position = never.position, e.plan_time = true, e.order = CallOrder::Single, e.runs = Runs::Once;
  e.rows = Rows::Superset, e.rows_blame = {Cause::PlanTime, call.range()};
  return e;
}

void recordAll(const Term& t, const Evaluation& e, Tree& tree) {
  for (const int site : t.sites) combine(tree.sites[static_cast<std::size_t>(site)], e);
}

}  // namespace

void recordNever(const Term& term, Cause cause, const SourceRange& range, Tree& tree, CallPosition position) {
  const Evaluation e = neverRun(cause, range, position);
  forEachTerm(term, true, [&](const Term& t) { recordAll(t, t.folded ? foldedAway(t, e) : e, tree); });
}

void recordNever(const Level& level, Cause cause, const SourceRange& range, Tree& tree) {
  const Evaluation e = neverRun(cause, range, CallPosition::Other);
  forEachTerm(level, [&](const Term& t) { recordAll(t, e, tree); });
}

void recordFolded(const Term& term, Cause cause, const SourceRange& range, Tree& tree, CallPosition position) {
  const Evaluation e = neverRun(cause, range, position);
  forEachTerm(term, true, [&](const Term& t) { recordAll(t, foldedAway(t, e), tree); });
}

void recordFolded(const Level& level, Cause cause, const SourceRange& range, Tree& tree) {
  const Evaluation e = neverRun(cause, range, CallPosition::Other);
  forEachTerm(level, [&](const Term& t) { recordAll(t, foldedAway(t, e), tree); });
}

}  // namespace pglocklint::evaluation

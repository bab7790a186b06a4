// Inside of one expression: which operands run, what sub-selects ask of their levels.
#include <algorithm>

#include "program/evaluate_level.h"

namespace pglocklint::evaluation {

namespace {

void runTerms(const std::vector<Term>& terms, const Stages& stages, Tree& tree) {
  for (const Term& t : terms) runTerm(t, stages, tree);
}

bool namesAny(const Level& level, const std::set<int>& leaves) {
  bool found = false;
  forEachTerm(level,
              [&](const Term& t) { found = found || (t.is(ExprKind::Column) && (t.leaf == kSomeLeaf || leaves.count(t.leaf))); });
  return found;
}

void runSubSelect(const Term& t, const Stages& stages, Tree& tree) {
  if (t.query.empty()) return;
  const Flow& host = *stages.here;
  Level level = t.query[0];
  Flow d;
  d.runs = host.runs, d.runs_blame = host.runs_blame, d.runs_sureness = host.runs_sureness, d.guard = host.guard;
  d.planned_only = host.planned_only, d.filtered = host.filtered;
  d.sureness = host.sureness;
  d.row_marks = host.row_marks && stages.conjunct;  // as a join it is part of the level
  const bool per_row = namesAny(level, host.row_leaves);
  if (per_row) {
    d.once = host.once && !host.many;
    d.discards = host.discards;
    d.limited = host.limited, d.limit_blame = host.limit_blame;
  } else {
    // An InitPlan: once, when a row first asks for it. If it depends on nothing at all, not again either.
    d.once = host.once || !correlated(level);
  }
  if (t.sublink == SubLink::Exists) {
    d.pull = Pull::FirstRow;
    d.dead_targets = existsDropsTargets(level);
    d.dead_blame = {Cause::ExistsSelectList, t.range()};
    d.limited = true, d.limit_blame = {Cause::FirstRowOnly, t.range()};
    if (stages.conjunct && per_row && !volatileDeep(level))
      d.discards.push_back({Rows::PlanDependent, Sureness::ByPlan, {Cause::SemiJoin, t.range()}});
  } else if (t.sublink == SubLink::Any || t.sublink == SubLink::All) {
    // IN: a join or a hash table, as the plan has it; elsewhere a hash table of all rows.
    const bool join = stages.conjunct && t.sublink == SubLink::Any && !per_row;
    const bool one_row = givesOneRow(level);
    if (!one_row || join) {
      d.runs = std::min(d.runs, Runs::NeedNot);
      if (d.runs_blame.cause == Cause::None) d.runs_blame = {Cause::EmptySide, t.range()};
      d.runs_sureness = Sureness::ByPlan;
      d.discards.push_back({join ? Rows::PlanDependent : Rows::Superset,
                            join ? Sureness::ByPlan : Sureness::Always,
                            {Cause::SemiJoin, t.range()},
                            false});
    }
    if (join) d.once = false;
  }
  runLevel(level, d, tree);
}

// Is there a call of an IMMUTABLE routine in it that the planner makes, whose result only the routine knows? It may decide for the others.
bool plannerMayDecide(const Term& t) {
  if (!leavesOf(t).empty()) return false;
  bool calls = false;
  forEachTerm(t, false, [&](const Term& x) {
    calls = calls || (x.is(ExprKind::Call) && x.callee.routine && x.callee.volatility == Volatility::Immutable &&
                      std::all_of(x.args.begin(), x.args.end(), isConstantTerm));
  });
  return calls;
}

// Operands of AND, OR, CASE, COALESCE after the first: they run if the ones before let them.
void runGuarded(const Term& t, const Stages& stages, Tree& tree) {
  Flow flow = *stages.here;
  Stages inner = stages;
  inner.here = &flow, inner.conjunct = false;
  const bool is_case = t.is(ExprKind::Case);
  const bool operand = is_case && t.source && t.source->is(ExprKind::Case) && t.source->has_operand;
  const Term* lock = nullptr;  // an earlier operand that takes a lock
  for (std::size_t i = 0; i < t.args.size(); ++i) {
    const Term& a = t.args[i];
    const bool first = i == 0 || (operand && i == 1);
    if (!first) {
      if (lock && !is_case) {
        flow.runs = std::min(flow.runs, Runs::NeedNot);
        flow.runs_blame = {t.is(ExprKind::Coalesce) ? Cause::Coalesce : Cause::ShortCircuit, lock->range()};
        flow.runs_sureness = Sureness::Always;
      } else if (flow.guard.cause == Cause::None) {
        flow.guard = {Cause::GuardedBranch, t.args[i - 1].range()};
      }
    }
    for (std::size_t k = i + 1; k < t.args.size() && !is_case && !t.is(ExprKind::Coalesce); ++k)
      if (flow.runs > Runs::NeedNot && plannerMayDecide(t.args[k]))
        flow.runs = Runs::NeedNot, flow.runs_blame = {Cause::ShortCircuit, t.args[k].range()}, flow.runs_sureness = Sureness::Always;
    runTerm(a, inner, tree);
    if (!lock && containsLock(a)) lock = &a;
  }
}

// Several lock calls in one list: all are taken although one would decide.
void runAlternatives(const Term& t, const Stages& stages, Tree& tree) {
  std::vector<const Term*> locks;
  const auto collect = [&](const Term& list) {
    for (const Term& a : list.args)
      if (containsLock(a)) locks.push_back(&a);
  };
  if (t.is(ExprKind::InList)) collect(t);
  if (t.is(ExprKind::AnyAll) && t.args.size() == 2 && t.args[1].is(ExprKind::Array)) collect(t.args[1]);
  if (locks.size() < 2) return runTerms(t.args, stages, tree);
  Flow flow = *stages.here;
  const bool columns = std::any_of(locks.begin(), locks.end(), [](const Term* l) { return !leavesOf(*l).empty(); });
  flow.discards.push_back(
      {columns ? Rows::PlanDependent : Rows::Superset, Sureness::Always, {Cause::OwnCondition, t.range()}, false});
  Stages inner = stages;
  inner.here = &flow;
  runTerms(t.args, inner, tree);
}

// A STABLE call of constants that is compared with a column: the planner calls it to estimate how many rows match.
bool isEstimated(const Term& operand) {
  return operand.is(ExprKind::Call) && operand.callee.locks && operand.callee.volatility == Volatility::Stable &&
         leavesOf(operand).empty();
}

}  // namespace

void runTerm(const Term& t, const Stages& stages, Tree& tree) {
  Stages inner = stages;
  inner.conjunct = false;
  switch (t.kind) {
    case ExprKind::And:
    case ExprKind::Or:
    case ExprKind::Case:
    case ExprKind::Coalesce: return runGuarded(t, stages, tree);
    case ExprKind::InList:
    case ExprKind::AnyAll: return runAlternatives(t, inner, tree);
    case ExprKind::SubSelect:
      runTerms(t.args, inner, tree);
      return runSubSelect(t, stages, tree);
    case ExprKind::Call: {
      if (t.callee.aggregate && stages.aggregate) inner.here = stages.aggregate, inner.aggregate = nullptr;
      else if (t.callee.window && stages.window) inner.here = stages.window, inner.window = nullptr;
      if (t.callee.locks) record(t, *stages.here, tree);
      Flow sorted = *inner.here;  // an aggregate's own ORDER BY sorts after (13 to 15) or before (16 and later) its argument
      if (!t.order.empty()) {
        if (sorted.order == CallOrder::Defined) sorted.order = CallOrder::Undefined;
        inner.here = &sorted;
      }
      runTerms(t.args, inner, tree);
      runTerms(t.filter, inner, tree);
      runTerms(t.order, inner, tree);
      return runTerms(t.window, inner, tree);
    }
    case ExprKind::Op: {
      if (stages.conjunct && t.args.size() == 2)
        for (std::size_t i = 0; i < 2; ++i)
          if (isEstimated(t.args[i]) && t.args[1 - i].is(ExprKind::Column)) {
            Flow flow = *stages.here;
            flow.estimated = true;
            inner.here = &flow;
            runTerm(t.args[i], inner, tree);
            inner.here = stages.here;
            return runTerm(t.args[1 - i], inner, tree);
          }
      return runTerms(t.args, inner, tree);
    }
    default: return runTerms(t.args, inner, tree);
  }
}

void runTerm(const Term& term, const Flow& flow, Tree& tree) {
  Stages stages;
  stages.here = &flow;
  runTerm(term, stages, tree);
}

}  // namespace pglocklint::evaluation

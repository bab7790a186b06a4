// The stages of a level, and what a consumer tells a producer.
//
//   gate → scan, WHERE, join → [aggregate input → group → HAVING] → [window input → window] → early list → [DISTINCT]
//        → [ORDER BY] → late list → [row locks] → OFFSET → LIMIT → consumer
//
// A Flow says what is known where rows pass one stage: whether and how often it runs, what above it discards rows, whether it may be
// stopped early. It is made from the demand of the consumer downwards; a stage that must see all its input before it gives its first row
// (it "blocks") turns "may be stopped early" into "rows are discarded".
#include <algorithm>
#include <cstdlib>

#include "program/evaluate_tree.h"

namespace pglocklint::evaluation {

namespace {

// --- recording ------------------------------------------------------------------------------------------------------

bool stronger(const Discard& a, const Discard& b) {  // is a the better reason?
  if (a.rows != b.rows) return a.rows > b.rows;
  return a.sureness < b.sureness;
}

bool earlier(const Blame& a, const Blame& b) {
  return std::tie(a.range.begin, a.range.end, a.cause) < std::tie(b.range.begin, b.range.end, b.cause);
}

// The same call on two ways: the maximum, with the reasons of the one that decides.
void combine(Site& site, const Evaluation& e) {
  Evaluation& old = site.evaluation;
  if (!site.seen) {
    site.seen = true;
    old = e;
    return;
  }
  if (e.runs == Runs::Never) return;
  if (old.runs == Runs::Never) {
    old = e;
    return;
  }
  Evaluation both = e.rows > old.rows || (e.rows == old.rows && e.sureness < old.sureness) ? e : old;
  const Evaluation& other = both == e ? old : e;
  both.runs = std::max(e.runs, old.runs);
  if (e.runs == Runs::Once && old.runs == Runs::Once) both.runs = Runs::PerRow, both.repeated = true;  // two copies, one key
  if (both.runs > Runs::NeedNot && both.runs_blame.cause != Cause::GuardedBranch) both.runs_blame = {};
  both.plan_time = e.plan_time || old.plan_time;
  both.repeated = both.repeated || other.repeated;
  both.limited = e.limited || old.limited;
  if (both.limited && both.limit_blame.cause == Cause::None) both.limit_blame = other.limit_blame;
  both.whole_relation = e.whole_relation || old.whole_relation;
  if (both.relation.empty()) both.relation = other.relation;
  if (e.order != old.order) both.order = CallOrder::Undefined;
  both.sorted_by_key = e.sorted_by_key && old.sorted_by_key;
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

  Discard worst;
  for (const Discard& d : f.discards) {
    if (single && d.absorbed) continue;
    if (stronger(d, worst)) worst = d;
  }
  e.rows = worst.rows, e.sureness = worst.sureness, e.rows_blame = worst.blame;
  for (const Discard& d : f.discards)
    if (!(single && d.absorbed) && d.rows != Rows::Exact && !(d.blame == worst.blame) &&
        std::find(e.others.begin(), e.others.end(), d.blame) == e.others.end())
      e.others.push_back(d.blame);
  std::sort(e.others.begin(), e.others.end(), earlier);

  e.limited = f.limited && f.limit_blame.cause == Cause::Limit && !f.limit_only_one_row;
  if (e.limited) e.limit_blame = f.limit_blame;
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

void record(const Term& call, const Flow& f, Tree& tree) {
  const Evaluation e = evaluationOf(call, f);
  for (const int site : call.sites) combine(tree.sites[static_cast<std::size_t>(site)], e);
}

}  // namespace

void recordNever(const Term& term, Cause cause, const SourceRange& range, Tree& tree, CallPosition position) {
  Evaluation e;
  e.runs = Runs::Never, e.order = CallOrder::Single, e.position = position;
  e.runs_blame = {cause, range};
  forEachTerm(term, true, [&](const Term& t) {
    for (const int site : t.sites) combine(tree.sites[static_cast<std::size_t>(site)], e);
  });
}

void recordNever(const Level& level, Cause cause, const SourceRange& range, Tree& tree) {
  Evaluation e;
  e.runs = Runs::Never, e.order = CallOrder::Single;
  e.runs_blame = {cause, range};
  forEachTerm(level, [&](const Term& t) {
    for (const int site : t.sites) combine(tree.sites[static_cast<std::size_t>(site)], e);
  });
}

// --- expressions ----------------------------------------------------------------------------------------------------

namespace {

// Where in its level a term is evaluated: aggregates and window functions take their arguments at earlier stages.
struct Stages {
  const Flow* here = nullptr;
  const Flow* aggregate = nullptr;
  const Flow* window = nullptr;
  bool conjunct = false;  // a condition of WHERE or ON itself, where IN and EXISTS may become joins
};

void runTerm(const Term& t, const Stages& stages, Tree& tree);

void runTerms(const std::vector<Term>& terms, const Stages& stages, Tree& tree) {
  for (const Term& t : terms) runTerm(t, stages, tree);
}

bool namesAny(const Level& level, const std::set<int>& leaves) {
  bool found = false;
  forEachTerm(level, [&](const Term& t) { found = found || (t.is(ExprKind::Column) && (t.leaf == kSomeLeaf || leaves.count(t.leaf))); });
  return found;
}

bool givesOneRow(const Level& level);

void runSubSelect(const Term& t, const Stages& stages, Tree& tree) {
  if (t.query.empty()) return;
  const Flow& host = *stages.here;
  Level level = t.query[0];
  Flow d;
  d.runs = host.runs, d.runs_blame = host.runs_blame, d.runs_sureness = host.runs_sureness, d.guard = host.guard;
  d.planned_only = host.planned_only, d.filtered = host.filtered;
  d.sureness = host.sureness;
  const bool per_row = namesAny(level, host.row_leaves);
  if (per_row) {
    d.once = host.once && !host.many;
    d.discards = host.discards;
    d.limited = host.limited, d.limit_blame = host.limit_blame;
  } else {
    d.once = host.once;  // an InitPlan: once, when a row first asks for it
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
      d.discards.push_back({join ? Rows::PlanDependent : Rows::Superset, join ? Sureness::ByPlan : Sureness::Always, {Cause::SemiJoin, t.range()}, false});
    }
    if (join) d.once = false;
  }
  runLevel(level, d, tree);
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
  flow.discards.push_back({columns ? Rows::PlanDependent : Rows::Superset, Sureness::Always, {Cause::OwnCondition, t.range()}, false});
  Stages inner = stages;
  inner.here = &flow;
  runTerms(t.args, inner, tree);
}

// A STABLE call of constants that is compared with a column: the planner calls it to estimate how many rows match.
bool isEstimated(const Term& operand) {
  return operand.is(ExprKind::Call) && operand.callee.locks && operand.callee.volatility == Volatility::Stable && leavesOf(operand).empty();
}

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
      runTerms(t.args, inner, tree);
      runTerms(t.filter, inner, tree);
      Stages ordered = inner;
      Flow unordered = *inner.here;  // the aggregate's own ORDER BY sorts after (13 to 15) or before (16 and later) the call
      if (!t.order.empty()) unordered.order = unordered.order == CallOrder::Defined ? CallOrder::Undefined : unordered.order;
      ordered.here = &unordered;
      runTerms(t.order, ordered, tree);
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

// --- what a level is like -------------------------------------------------------------------------------------------

bool isPositiveConstant(const Term& t) {
  return t.is(ExprKind::Const) && t.literal == LiteralKind::Integer && std::atoll(t.text.c_str()) > 0;
}
bool isZero(const Term& t) { return t.is(ExprKind::Const) && t.literal == LiteralKind::Integer && std::atoll(t.text.c_str()) == 0; }
bool isOne(const Term& t) { return t.is(ExprKind::Const) && t.literal == LiteralKind::Integer && std::atoll(t.text.c_str()) == 1; }

const SourceRange& orElse(const SourceRange& a, const SourceRange& b) { return a.known() ? a : b; }

SourceRange limitRange(const Level& l) {
  if (!l.source) return {};
  return orElse(l.source->limit_range, l.limit.empty() ? SourceRange{} : l.limit[0].range());
}

const LockingClause* skipLocked(const Level& l) {
  if (l.source)
    for (const LockingClause& c : l.source->locking)
      if (c.wait == WaitPolicy::Skip) return &c;
  return nullptr;
}

// How rows come out of a leaf or level when nothing sorts them on the way.
struct RowOrder {
  CallOrder order = CallOrder::Undefined;
  std::vector<Term> terms;   // in columns of the leaf
};

bool leafGivesOneRow(const Leaf& leaf, const Tree& tree);

bool levelGivesOneRow(const Level& l, const Tree& tree) {
  if (l.kind == QueryKind::Values) return l.rows.size() <= 1;
  if (l.kind != QueryKind::Select) return false;
  if (!l.limit.empty() && isOne(l.limit[0]) && !l.with_ties) return true;
  if (levelReturnsSets(l)) return false;
  if (!l.grouped && levelAggregates(l)) return true;
  bool all = true;
  std::set<int> leaves = leavesOf(l.from);
  forEachLeafHere(l.from, [&](const Leaf& leaf) {
    if (leafGivesOneRow(leaf, tree)) return;
    if (leaf.id >= 0 && leaf.kind == LeafKind::Table && bindsUniqueKey(leaf.id, l.where, tree, leaves) && leaves.size() == 1) return;
    all = false;
  });
  return all;
}

bool leafGivesOneRow(const Leaf& leaf, const Tree& tree) {
  switch (leaf.kind) {
    case LeafKind::SubQuery: return !leaf.query.empty() && levelGivesOneRow(leaf.query[0], tree);
    case LeafKind::Cte: {
      if (leaf.self_reference || leaf.cte < 0) return false;
      const CteDef& def = tree.ctes[static_cast<std::size_t>(leaf.cte)];
      return !def.recursive && !def.level.empty() && levelGivesOneRow(def.level[0], tree);
    }
    case LeafKind::Function:
      return leaf.functions.size() == 1 && leaf.functions[0].callee.known && !leaf.functions[0].callee.returns_set;
    default: return false;
  }
}

bool givesOneRow(const Level& level) {
  if (level.kind == QueryKind::Values) return level.rows.size() <= 1;
  if (level.kind != QueryKind::Select || levelReturnsSets(level)) return false;
  return level.from.empty() || (!level.grouped && levelAggregates(level));
}

const Leaf* onlyLeaf(const Level& l) {
  const Leaf* only = nullptr;
  int n = 0;
  forEachLeafHere(l.from, [&](const Leaf& leaf) { only = &leaf, ++n; });
  return n == 1 ? only : nullptr;
}

RowOrder orderOf(const Level& l, const Tree& tree, int depth);

RowOrder orderOfLeaf(const Leaf& leaf, const Tree& tree, int depth) {
  const Level* level = nullptr;
  if (leaf.kind == LeafKind::Function) return {CallOrder::Written, {}};
  if (leaf.kind == LeafKind::SubQuery && !leaf.query.empty()) level = &leaf.query[0];
  if (leaf.kind == LeafKind::Cte && leaf.cte >= 0 && !leaf.self_reference) {
    const CteDef& def = tree.ctes[static_cast<std::size_t>(leaf.cte)];
    if (!def.level.empty()) level = &def.level[0];
  }
  if (!level || depth > 20) return {};
  RowOrder order = orderOf(*level, tree, depth + 1);
  const auto& names = tree.info(leaf.id).columns;
  std::vector<Term> outside;
  for (const Term& t : order.terms) {  // in this leaf's own columns, as far as they come out
    bool found = false;
    for (std::size_t i = 0; i < level->targets.size() && i < names.size() && !found; ++i)
      if (sameTerm(level->targets[i].term, t)) {
        Term column;
        column.kind = ExprKind::Column, column.leaf = leaf.id, column.name = names[i].name, column.type = names[i].type;
        outside.push_back(std::move(column));
        found = true;
      }
    if (!found) break;
  }
  order.terms = std::move(outside);
  return order;
}

std::vector<Term> orderTerms(const Level& l) {
  std::vector<Term> out;
  for (const SortKey& k : l.order_by) out.push_back(k.target >= 0 ? l.targets[static_cast<std::size_t>(k.target)].term : k.term);
  return out;
}

RowOrder naturalOrder(const Level& l, const Tree& tree, int depth) {
  if (l.grouped || l.distinct != DistinctKind::None || levelAggregates(l)) return {};
  const Leaf* leaf = onlyLeaf(l);
  return leaf ? orderOfLeaf(*leaf, tree, depth) : RowOrder{};
}

RowOrder orderOf(const Level& l, const Tree& tree, int depth) {
  if (depth > 20) return {};
  if (!l.order_by.empty()) return {CallOrder::Defined, orderTerms(l)};
  if (l.kind == QueryKind::Values) return {CallOrder::Written, {}};
  if (l.kind == QueryKind::SetOperation) {
    const bool single = l.set_operator == SetOperator::Union && l.set_all &&
                        std::all_of(l.arms.begin(), l.arms.end(), [&](const Level& a) { return levelGivesOneRow(a, tree); });
    return {single ? CallOrder::Written : CallOrder::Undefined, {}};
  }
  if (l.kind != QueryKind::Select) return {};
  if (l.from.empty()) return {CallOrder::Written, {}};
  return naturalOrder(l, tree, depth);
}

// Could a known index give the rows in this order, so that a LIMIT stops the scan?
bool indexGives(const std::vector<Term>& order, const Level& l, const Tree& tree) {
  if (order.empty() || !order[0].is(ExprKind::Column) || order[0].leaf < 0) return false;
  const Leaf* leaf = onlyLeaf(l);
  if (!leaf || leaf->id != order[0].leaf || (leaf->kind != LeafKind::Table)) return false;
  const LeafInfo& info = tree.info(leaf->id);
  const auto leads = [&](const auto& columns) { return !columns.empty() && columns[0] == order[0].name; };
  return info.relation && (std::any_of(info.relation->indexes.begin(), info.relation->indexes.end(), leads) ||
                           std::any_of(info.relation->unique_keys.begin(), info.relation->unique_keys.end(), leads));
}

// --- flows ----------------------------------------------------------------------------------------------------------

// The stage must see all its input: what stops above it discards below.
Flow block(Flow f, Sureness sureness = Sureness::Always, Blame because = {}) {
  if (f.limited) {
    const Rows rows = sureness == Sureness::Always ? Rows::Superset : Rows::PlanDependent;
    f.discards.push_back({rows, sureness, because.cause == Cause::None ? f.limit_blame : because});
  }
  f.limited = false, f.limit_only_one_row = false, f.pull = Pull::All;
  f.order = CallOrder::Undefined, f.order_terms.clear();
  return f;
}

void discard(Flow& f, Rows rows, Sureness sureness, Cause cause, const SourceRange& range, bool absorbed = true) {
  f.discards.push_back({rows, sureness, {cause, range}, absorbed});
}

void never(Flow& f, Cause cause, const SourceRange& range) { f.runs = Runs::Never, f.runs_blame = {cause, range}; }

// Rows after the first are asked for by nobody: calls in a select list need not run for them.
Flow firstRowOnly(Flow f) {
  if (f.pull == Pull::FirstRow && f.many && f.runs > Runs::NeedNot) {
    f.runs = Runs::NeedNot, f.runs_blame = f.limit_blame, f.runs_blame.cause = Cause::FirstRowOnly;
    f.runs_sureness = Sureness::Always;
  }
  return f;
}

class LevelRun {
 public:
  LevelRun(Level& level, const Flow& demand, Tree& tree) : level_(level), demand_(demand), tree_(tree), leaves_(leavesOf(level.from)) {}
  void select();
  void modify();
  void setOperation();
  void values();

 private:
  Flow tail(Flow f, bool many) const;
  void makeFlows();
  void targets();
  Flow targetFlow(const Output& o, std::size_t index) const;
  void conditions();
  void condition(std::size_t index);
  void against(Flow& f, std::size_t q, std::size_t p, const std::set<int>& mine) const;
  void outerConditions(const FromNode& node);
  void leaves();
  void leaf(Leaf& leaf, bool nullable, const std::vector<Term>* on);
  void dropUnused(Leaf& leaf);
  bool isGate(const Term& c) const;
  std::set<int> own(const Term& c) const;
  bool testsOnlyLock(const Term& c, const Leaf& leaf) const;
  SourceRange joinRange(const std::set<int>& mine) const;
  CallPosition positionOf(const Term& c) const;
  void gateTerms(const std::vector<Term>& terms, CallPosition position);

  Level& level_;
  const Flow& demand_;
  Tree& tree_;
  std::set<int> leaves_;
  bool many_from_ = false;     // more than one row may come out of FROM and WHERE
  Flow late_, early_, order_key_, group_, having_, aggregate_, window_, where_;
};

std::set<int> LevelRun::own(const Term& c) const {
  std::set<int> out;
  for (const int l : leavesOf(c))
    if (leaves_.count(l)) out.insert(l);
  return out;
}

// A condition without columns of this level that is not volatile is asked once, before the scan.
bool LevelRun::isGate(const Term& c) const { return own(c).empty() && !volatileDirect(c) && !namesUnknownLeaf(c); }

CallPosition LevelRun::positionOf(const Term& c) const {
  if (level_.source && !level_.source->where.empty() && level_.source->kind != QueryKind::Merge)
    if (level_.source->where[0].range.contains(c.range())) return CallPosition::Where;
  bool on = level_.source && level_.source->kind == QueryKind::Merge;
  const std::function<void(const FromItem&)> look = [&](const FromItem& item) {
    for (const Expr& e : item.on) on = on || (c.source && e.range.contains(c.range()));
    for (const FromItem& side : item.sides) look(side);
  };
  if (level_.source)
    for (const FromItem& item : level_.source->from) look(item);
  return on ? CallPosition::On : CallPosition::Where;
}

// OFFSET, LIMIT, WITH TIES and SKIP LOCKED, seen from below.
Flow LevelRun::tail(Flow f, bool many) const {
  f.row_leaves = leaves_;
  f.many = many;
  if (!many) f.limited = false;
  if (!level_.limit.empty() && !level_.limit[0].isNull()) {
    const Term& limit = level_.limit[0];
    if (many) f.limited = true, f.limit_blame = {Cause::Limit, limitRange(level_)};
    if (isZero(limit)) never(f, Cause::LimitZero, limitRange(level_));
    if (isOne(limit)) f.pull = Pull::All;
    if (level_.with_ties) discard(f, Rows::Superset, Sureness::Always, Cause::WithTies, limitRange(level_));
  }
  if (!level_.offset.empty() && !level_.offset[0].isNull() && !isZero(level_.offset[0]))
    discard(f, Rows::Superset, Sureness::Always, Cause::Offset,
            orElse(level_.source ? level_.source->offset_range : SourceRange{}, level_.offset[0].range()));
  if (const LockingClause* c = skipLocked(level_)) discard(f, Rows::Superset, Sureness::Always, Cause::SkipLocked, c->range);
  return f;
}

void LevelRun::makeFlows() {
  many_from_ = false;
  forEachLeafHere(level_.from, [&](const Leaf& leaf) { many_from_ = many_from_ || !leafGivesOneRow(leaf, tree_); });
  if (leaves_.size() == 1 && bindsUniqueKey(*leaves_.begin(), level_.where, tree_, leaves_)) many_from_ = false;
  if (level_.kind == QueryKind::Update || level_.kind == QueryKind::Delete)
    many_from_ = !bindsUniqueKey(level_.target_leaf, level_.where, tree_, leaves_);
  const bool aggregates = levelAggregates(level_), rows = levelReturnsSets(level_);
  bool many_out = level_.grouped || (!aggregates && many_from_) || rows;
  const bool plain_aggregate = aggregates && !level_.grouped;

  late_ = tail(demand_, many_out);
  late_.position = CallPosition::SelectList;
  late_.filtered = late_.filtered || !level_.where.empty() || !level_.having.empty() || late_.limited || demand_.limited;
  // LIMIT 1 without OFFSET, WITH TIES or SKIP LOCKED: one row.
  const bool one = !level_.limit.empty() && isOne(level_.limit[0]) && !level_.with_ties && !skipLocked(level_) &&
                   (level_.offset.empty() || isZero(level_.offset[0]) || level_.offset[0].isNull());
  const std::vector<Term> terms = orderTerms(level_);
  RowOrder natural = naturalOrder(level_, tree_, 0);
  Flow all = late_;  // before LIMIT 1 made it one row
  if (one) late_.many = false;
  if (!level_.order_by.empty()) late_.order = CallOrder::Defined, late_.order_terms = terms;
  else late_.order = natural.order, late_.order_terms = natural.terms;

  const Sureness by_index = indexGives(terms, level_, tree_) && !level_.grouped ? Sureness::ByPlan : Sureness::Always;
  Flow sort_input = level_.order_by.empty() ? all : block(all, by_index);
  sort_input.order = natural.order, sort_input.order_terms = natural.terms;

  order_key_ = all;
  if (!level_.order_by.empty()) {
    order_key_ = block(all, Sureness::Always, {Cause::OrderByCall, level_.source ? level_.source->order_range : SourceRange{}});
    order_key_.order = natural.order, order_key_.order_terms = natural.terms;
  }
  early_ = sort_input;
  if (level_.distinct != DistinctKind::None) {
    early_ = block(all);
    if (many_out)
      discard(early_, Rows::Superset, Sureness::Always, Cause::Distinct,
              orElse(level_.source ? level_.source->distinct_range : SourceRange{}, level_.source ? level_.source->range : SourceRange{}));
    early_.order = natural.order, early_.order_terms = natural.terms;
  }

  group_ = sort_input, having_ = sort_input, aggregate_ = sort_input;
  having_.position = CallPosition::Having, group_.position = CallPosition::GroupBy, aggregate_.position = CallPosition::AggregateArgument;
  if (plain_aggregate || level_.grouped) {
    if (plain_aggregate) aggregate_.discards.clear(), aggregate_.limited = false, aggregate_.pull = Pull::All;
    else aggregate_ = block(aggregate_), aggregate_.position = CallPosition::AggregateArgument;
    aggregate_.many = many_from_;
    for (const Term& h : level_.having)
      if (!(h.isTrue() || h.isFalse())) discard(aggregate_, Rows::Superset, Sureness::Always, Cause::Having, h.range());
    const Leaf* leaf = onlyLeaf(level_);
    if (leaf) {
      const RowOrder o = orderOfLeaf(*leaf, tree_, 0);
      aggregate_.order = o.order, aggregate_.order_terms = o.terms;
    }
    group_ = aggregate_;
    group_.position = CallPosition::GroupBy;
    if (many_from_) discard(group_, Rows::Superset, Sureness::Always, Cause::GroupingKey, level_.source ? level_.source->range : SourceRange{});
    having_ = sort_input;
    having_.position = CallPosition::Having;
  }
  window_ = block(sort_input, Sureness::ByPlan);
  window_.many = many_out;

  if (level_.grouped || plain_aggregate) where_ = aggregate_;
  else if (levelHasWindow(level_)) where_ = window_;
  else if (level_.distinct == DistinctKind::On) where_ = block(sort_input);
  else if (level_.distinct == DistinctKind::All) where_ = block(sort_input, Sureness::ByPlan);
  else where_ = sort_input;
  if (!levelHasWindow(level_) && !level_.grouped && !plain_aggregate) where_.order = sort_input.order, where_.order_terms = sort_input.order_terms;
  where_.position = CallPosition::Where;
  where_.many = std::any_of(leaves_.begin(), leaves_.end(), [](int) { return true; });
  bool all_single = true;
  forEachLeafHere(level_.from, [&](const Leaf& l) { all_single = all_single && leafGivesOneRow(l, tree_); });
  where_.many = !all_single;
  where_.dead_targets = false;
  if (!where_.many) where_.limited = false;

  // Every row of a relation, if nothing on the way asks anything (AL105).
  const Leaf* leaf = onlyLeaf(level_);
  const auto nothing = [&](Flow& f, bool conditions) {
    f.unconditional = !conditions && !f.limited && leaf && level_.limit.empty();
    f.relation.clear(), f.series = -1;
    if (!f.unconditional) return;
    const Leaf* source = leaf;
    for (int depth = 0; depth < 20 && source->kind == LeafKind::SubQuery && !source->query.empty(); ++depth) {
      const Level& below = source->query[0];
      if (below.kind == QueryKind::Values) {
        f.series = static_cast<long long>(below.rows.size());
        return;
      }
      const Leaf* next = onlyLeaf(below);
      if (!next || below.kind != QueryKind::Select || !below.where.empty() || !below.having.empty() || !below.limit.empty() ||
          !below.offset.empty() || below.grouped || below.distinct != DistinctKind::None)
        return;
      source = next;
    }
    if (source->kind == LeafKind::Table || source->kind == LeafKind::Unknown) {
      if (source->source && source->source->kind == FromKind::Relation && tree_.info(source->id).policies.empty() && !source->source->sampled)
        f.relation = source->source->name;
    } else if (source->kind == LeafKind::Function && source->functions.size() == 1) {
      const Term& fn = source->functions[0];
      const auto number = [](const Term& t) -> std::optional<long long> {
        if (t.is(ExprKind::Const) && t.literal == LiteralKind::Integer && t.text.size() < 18) return std::atoll(t.text.c_str());
        return std::nullopt;
      };
      if (fn.name == "generate_series" && fn.args.size() >= 2) {
        const auto from = number(fn.args[0]), to = number(fn.args[1]);
        const auto step = fn.args.size() > 2 ? number(fn.args[2]) : std::optional<long long>(1);
        if (from && to && step && *step != 0) f.series = std::max(0LL, (*to - *from) / *step + 1);
      } else if (fn.name == "unnest" && fn.args.size() == 1 && fn.args[0].is(ExprKind::Array)) {
        f.series = static_cast<long long>(fn.args[0].args.size());
      }
    }
  };
  const bool conditions = !level_.where.empty() || !level_.having.empty();
  if (!level_.grouped) nothing(late_, conditions);
  nothing(aggregate_, conditions);
  nothing(early_, conditions), nothing(order_key_, conditions);
  nothing(where_, level_.where.size() > 1 || !level_.having.empty());
}

void LevelRun::gateTerms(const std::vector<Term>& terms, CallPosition position) {
  Flow f = demand_;
  f.many = false, f.row_leaves = leaves_, f.position = position;
  f.discards.clear();
  f.limited = false;
  for (const Term& t : terms) runTerm(t, {&f, nullptr, nullptr}, tree_);
}

// --- select list ------------------------------------------------------------------------------------------------------

Flow LevelRun::targetFlow(const Output& o, std::size_t index) const {
  if (o.group_key && level_.grouped) return group_;
  if (o.distinct_key || (level_.distinct == DistinctKind::On && level_.order_by.empty())) {
    if (level_.distinct != DistinctKind::None) return early_;
  }
  if (o.order_key && !level_.order_by.empty()) {
    Flow f = order_key_;
    // The entry of ORDER BY that means it.
    for (std::size_t i = 0; level_.source && i < level_.order_by.size() && i < level_.source->order_by.size(); ++i)
      if (level_.order_by[i].target == static_cast<int>(index))
        for (Discard& d : f.discards)
          if (d.blame.cause == Cause::OrderByCall) d.blame.range = level_.source->order_by[i].expr.range;
    return f;
  }
  if (volatileDirect(o.term)) return late_;
  const bool sorted = !level_.order_by.empty() || level_.distinct == DistinctKind::On;
  if (!sorted || !containsLock(o.term)) return late_;
  // Nothing in it looks volatile to the planner: it is computed below the sort.
  const Cause cause = containsSubSelect(o.term) ? Cause::HiddenVolatility : Cause::StableWrapper;
  Flow f = level_.distinct == DistinctKind::On ? early_ : block(late_, Sureness::Always, {cause, o.term.range()});
  f.many = early_.many;
  f.order = early_.order, f.order_terms = early_.order_terms;
  const bool dear = costOf(o.term, tree_).low > 10;
  if (dear && !level_.limit.empty() && level_.distinct == DistinctKind::None)
    for (Discard& d : f.discards)
      if (d.blame.cause == cause) d.rows = Rows::PlanDependent, d.sureness = Sureness::ByCostOrPosition;
  return f;
}

void LevelRun::targets() {
  const bool rows = levelReturnsSets(level_);
  for (std::size_t i = 0; i < level_.targets.size(); ++i) {
    const Output& o = level_.targets[i];
    if (demand_.dead_targets) {
      recordNever(o.term, demand_.dead_blame.cause, demand_.dead_blame.range, tree_, CallPosition::SelectList);
      continue;
    }
    Flow f = firstRowOnly(targetFlow(o, i));
    if (f.position == CallPosition::Other) f.position = CallPosition::SelectList;
    if (rows && !containsSetReturning(o.term)) {
      SourceRange beside;
      for (const Output& other : level_.targets)
        if (containsSetReturning(other.term)) beside = other.term.range();
      discard(f, Rows::Superset, Sureness::Always, Cause::BesideSetReturning, beside, false);
      f.repeated = true;
    }
    if (rows && containsSetReturning(o.term)) f.order = f.order == CallOrder::Defined ? f.order : CallOrder::Written;
    Flow aggregate = aggregate_, window = window_;
    runTerm(o.term, {&f, &aggregate, &window}, tree_);
    // The same key taken by WHERE already: the second call adds to it.
    forEachTerm(o.term, false, [&](const Term& t) {
      if (!t.callee.locks || t.sites.empty()) return;
      for (const Term& c : level_.where)
        forEachTerm(c, false, [&](const Term& w) {
          if (!w.callee.locks || w.name != t.name || w.args.size() != t.args.size()) return;
          for (std::size_t k = 0; k < t.args.size(); ++k)
            if (!sameTerm(w.args[k], t.args[k])) return;
          for (const int site : t.sites) tree_.sites[static_cast<std::size_t>(site)].evaluation.repeated = true;
        });
    });
  }
  for (std::size_t i = 0; i < level_.order_by.size(); ++i) {
    const SortKey& k = level_.order_by[i];
    if (k.target >= 0) continue;
    if (demand_.dead_targets) {
      recordNever(k.term, demand_.dead_blame.cause, demand_.dead_blame.range, tree_, CallPosition::OrderBy);
      continue;
    }
    Flow f = order_key_, aggregate = aggregate_, window = window_;
    f.position = CallPosition::OrderBy;
    for (Discard& d : f.discards)
      if (d.blame.cause == Cause::OrderByCall && k.term.range().known()) d.blame.range = k.term.range();
    runTerm(k.term, {&f, &aggregate, &window}, tree_);
  }
  if (!demand_.dead_targets) {
    const auto isTarget = [&](const Term& t) {
      return std::any_of(level_.targets.begin(), level_.targets.end(), [&](const Output& o) { return sameTerm(o.term, t); });
    };
    for (const Term& t : level_.group_by)
      if (!isTarget(t)) runTerm(t, {&group_, nullptr, nullptr}, tree_);
    for (const Term& t : level_.distinct_on)
      if (!isTarget(t)) runTerm(t, {&early_, nullptr, nullptr}, tree_);
  }
}

// --- conditions -------------------------------------------------------------------------------------------------------

bool isSemiJoin(const Term& c) {
  const Term& t = c.is(ExprKind::Not) && c.args.size() == 1 ? c.args[0] : c;
  if (!t.is(ExprKind::SubSelect) || t.query.empty()) return false;
  if (t.sublink == SubLink::Any) return &t == &c && !volatileDeep(t.query[0]);
  return t.sublink == SubLink::Exists && correlated(t.query[0]) && !volatileDeep(t.query[0]);
}

SourceRange LevelRun::joinRange(const std::set<int>& mine) const {
  for (const Term& c : level_.where) {
    const std::set<int> named = own(c);
    const bool here = std::any_of(named.begin(), named.end(), [&](int l) { return mine.count(l) > 0; });
    const bool there = std::any_of(named.begin(), named.end(), [&](int l) { return mine.count(l) == 0; });
    if (here && there && c.range().known()) return c.range();
  }
  SourceRange range;
  forEachLeafHere(level_.from, [&](const Leaf& l) {
    if (!mine.count(l.id) && l.source && !range.known()) range = l.source->range;
  });
  return range;
}

// What condition p means for the rows that lock condition q runs for.
void LevelRun::against(Flow& f, std::size_t q, std::size_t p, const std::set<int>& mine) const {
  const Term& other = level_.where[p];
  const Term& lock = level_.where[q];
  if (isGate(other) && !leaves_.empty()) return;
  const bool row_less = leaves_.empty();
  const std::set<int> named = own(other);
  const bool is_volatile = volatileDirect(other);
  const bool one_side = leaves_.size() <= 1 || (mine.size() == 1 && named == mine && !is_volatile);
  if (leaves_.size() > 1 && !one_side) {
    const bool inner = std::all_of(level_.from.begin(), level_.from.end(), [](const FromNode& n) { return n.is_leaf; });
    if (mine == leaves_ && named.size() == 1 && !is_volatile && inner && !isSemiJoin(other)) return;  // runs below the join
    if (named.size() > 1 && mine != leaves_) return;                                                 // the join itself: said once
    discard(f, Rows::PlanDependent, Sureness::ByPlan, isSemiJoin(other) ? Cause::SemiJoin : named.size() > 1 ? Cause::Join : Cause::OtherCondition,
            other.range());
    return;
  }
  if (isSemiJoin(other)) return discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::SemiJoin, other.range());
  const bool unsure = namesUnknownLeaf(lock) || namesUnknownLeaf(other);
  switch (unsure ? Before::Unknown : runsBefore(other, p, lock, q, tree_)) {
    case Before::No:
      if (!row_less && indexable(other, tree_)) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::OtherCondition, other.range());
      else discard(f, Rows::Superset, Sureness::Always, Cause::OtherCondition, other.range(), !row_less);
      return;
    case Before::Yes:
    case Before::Unknown:
      discard(f, Rows::PlanDependent, Sureness::ByCostOrPosition, Cause::OtherCondition, other.range(), !row_less);
      return;
  }
}

void LevelRun::condition(std::size_t q) {
  const Term& c = level_.where[q];
  Flow f = where_;
  f.row_leaves = leaves_;
  f.position = positionOf(c);
  f.filtered = true;
  const std::set<int> named = own(c);
  if (isGate(c) && !leaves_.empty()) {
    Flow gate = demand_;
    gate.many = false, gate.row_leaves = leaves_, gate.position = f.position;
    gate.discards.clear(), gate.limited = false;
    for (std::size_t p = 0; p < level_.where.size(); ++p)
      if (p != q && isGate(level_.where[p])) gate.guard = {Cause::GuardedBranch, level_.where[p].range()};
    // Over a UNION ALL the gate is copied into each arm; an InitPlan stays one.
    const Leaf* leaf = onlyLeaf(level_);
    if (leaf && leaf->kind == LeafKind::SubQuery && !leaf->query.empty() && leaf->query[0].arms.size() > 1) gate.many = true, gate.repeated = true;
    return runTerm(c, {&gate, nullptr, nullptr, true}, tree_);
  }
  // Without columns a volatile condition belongs to the whole FROM.
  const std::set<int> mine = named.empty() ? leaves_ : named;
  if (leaves_.size() > 1 && mine != leaves_)
    discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, joinRange(mine));
  else if (leaves_.size() > 1 && namesUnknownLeaf(c))
    discard(f, Rows::PlanDependent, Sureness::Unknown, Cause::Join, joinRange(mine));
  else if (leaves_.size() > 1 && std::any_of(level_.from.begin(), level_.from.end(), [](const FromNode& n) { return !n.is_leaf; }) &&
           mine != leaves_)
    discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, joinRange(mine));
  for (std::size_t p = 0; p < level_.where.size(); ++p)
    if (p != q) against(f, q, p, mine);
  if (!leaves_.empty() && !keepsLockedRows(c)) discard(f, Rows::Superset, Sureness::Always, Cause::OwnCondition, c.range());
  if (leaves_.size() > 1) f.order = CallOrder::Undefined, f.order_terms.clear();
  runTerm(c, {&f, nullptr, nullptr, true}, tree_);
}

// Conditions of outer joins: whether and for which rows they run is the plan's affair.
void LevelRun::outerConditions(const FromNode& node) {
  for (const FromNode& side : node.sides) outerConditions(side);
  for (const Term& c : node.on) {
    if (!containsLock(c)) continue;
    Flow f = where_;
    f.row_leaves = leaves_, f.position = CallPosition::On, f.filtered = true;
    f.order = CallOrder::Undefined, f.order_terms.clear();
    discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, node.source ? node.source->range : c.range());
    for (const Term& other : node.on)
      if (&other != &c) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::OtherCondition, other.range());
    // It may be removed with its join on some versions.
    if (f.runs > Runs::NeedNot && node.join == JoinType::Left && node.sides.size() == 2) {
      const std::set<int> right = leavesOf(node.sides[1]);
      Level others = level_;
      others.from.clear();
      bool used = false;
      forEachTerm(others, [&](const Term& t) { used = used || (t.is(ExprKind::Column) && (t.leaf == kSomeLeaf || right.count(t.leaf))); });
      if (!used) f.runs = Runs::NeedNot, f.runs_blame = {Cause::RemovedJoin, node.source ? node.source->range : c.range()}, f.runs_sureness = Sureness::ByPlan;
    }
    runTerm(c, {&f, nullptr, nullptr, true}, tree_);
  }
}

void LevelRun::conditions() {
  for (std::size_t q = 0; q < level_.where.size(); ++q)
    if (containsLock(level_.where[q])) condition(q);
  for (const FromNode& n : level_.from) outerConditions(n);
  for (std::size_t i = 0; i < level_.having.size(); ++i) {
    const Term& h = level_.having[i];
    if (!containsLock(h)) continue;
    Flow f = having_, aggregate = aggregate_;
    f.position = CallPosition::Having, f.filtered = true;
    for (std::size_t p = 0; p < level_.having.size(); ++p) {
      if (p == i) continue;
      // HAVING is sorted by cost alone: there are no equivalence classes.
      const Term& other = level_.having[p];
      const Cost a = costOf(other, tree_), b = costOf(h, tree_);
      const bool after = a.low > b.high || (a.low == b.high && a.high == a.low && p > i);
      discard(f, after ? Rows::Superset : Rows::PlanDependent, after ? Sureness::Always : Sureness::ByCostOrPosition, Cause::Having, other.range());
    }
    if (!keepsLockedRows(h)) discard(f, Rows::Superset, Sureness::Always, Cause::OwnCondition, h.range());
    runTerm(h, {&f, &aggregate, nullptr}, tree_);
  }
  // Policies of the relation: a condition with rank before all others.
  forEachLeafHere(level_.from, [&](const Leaf& leaf) {
    if (leaf.id < 0) return;
    for (const Term& policy : tree_.info(leaf.id).policies) {
      if (!containsLock(policy)) continue;
      Flow f = where_;
      f.row_leaves = leaves_, f.position = CallPosition::Where, f.filtered = true;
      for (const Term& other : level_.where) {
        if (isGate(other)) continue;
        const bool index = indexable(other, tree_) && isEquivalence(other);
        discard(f, index ? Rows::PlanDependent : Rows::Superset, index ? Sureness::ByPlan : Sureness::Always, Cause::OtherCondition, other.range());
      }
      if (leaves_.size() > 1) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, joinRange({leaf.id}));
      runTerm(policy, {&f, nullptr, nullptr, true}, tree_);
    }
  });
}

// --- FROM -------------------------------------------------------------------------------------------------------------

// Does a condition test nothing but the result of a lock call of that leaf, so that a row it rejects holds no lock?
bool LevelRun::testsOnlyLock(const Term& c, const Leaf& leaf) const {
  const Level* level = nullptr;
  if (leaf.kind == LeafKind::SubQuery && !leaf.query.empty()) level = &leaf.query[0];
  if (leaf.kind == LeafKind::Cte && leaf.cte >= 0) {
    const CteDef& def = tree_.ctes[static_cast<std::size_t>(leaf.cte)];
    if (!def.level.empty()) level = &def.level[0];
  }
  while (level && level->kind == QueryKind::SetOperation && !level->arms.empty()) level = &level->arms[0];
  if (!level) return false;
  Term tested = c;
  bool only = true;
  const auto& names = tree_.info(leaf.id).columns;
  std::function<void(Term&)> replace = [&](Term& t) {
    if (t.is(ExprKind::Column)) {
      bool found = false;
      for (std::size_t i = 0; i < names.size() && i < level->targets.size() && !found; ++i)
        if (t.leaf == leaf.id && names[i].name == t.name && containsLock(level->targets[i].term)) {
          Term by = level->targets[i].term;
          t = std::move(by);
          found = true;
        }
      only = only && found;
      return;
    }
    for (Term& a : t.args) replace(a);
  };
  replace(tested);
  return only && keepsLockedRows(tested);
}

// R4's shadow: columns of a sub-select that stays one, which nobody reads and which call nothing volatile, are not computed.
void LevelRun::dropUnused(Leaf& leaf) {
  Level& child = leaf.query[0];
  if (child.kind != QueryKind::Select || child.distinct != DistinctKind::None) return;
  std::set<std::string> used;
  forEachTerm(level_, [&](const Term& t) {
    if (t.is(ExprKind::Column) && (t.leaf == leaf.id || t.leaf == kSomeLeaf)) used.insert(t.leaf == kSomeLeaf ? "*" : t.name);
  });
  if (used.count("*")) return;
  const auto& names = tree_.info(leaf.id).columns;
  for (std::size_t i = 0; i < child.targets.size() && i < names.size(); ++i) {
    Output& o = child.targets[i];
    if (o.name == "*" || used.count(names[i].name) || o.order_key || o.group_key || o.distinct_key || volatileDeep(o.term) ||
        containsSetReturning(o.term) || !containsLock(o.term))
      continue;
    recordNever(o.term, Cause::PrunedTarget, o.term.range(), tree_, CallPosition::SelectList);
    Term null;
    null.kind = ExprKind::Const, null.literal = LiteralKind::Null, null.source = o.term.source;
    o.term = std::move(null);
  }
}

void LevelRun::leaf(Leaf& leaf, bool nullable, const std::vector<Term>* on) {
  if (leaf.kind == LeafKind::Table || leaf.kind == LeafKind::Unknown || leaf.id < 0) return;
  const bool alone = leaves_.size() <= 1;
  Flow f = where_;
  f.row_leaves = leaves_;
  f.position = CallPosition::From;
  f.filtered = true;
  std::set<int> correlated_with;
  {
    Level probe;
    probe.from.emplace_back();
    probe.from[0].leaf = leaf;
    forEachTerm(probe, [&](const Term& t) {
      if (t.is(ExprKind::Column) && leaves_.count(t.leaf) && t.leaf != leaf.id) correlated_with.insert(t.leaf);
    });
  }
  const bool lateral = !correlated_with.empty();
  const bool stored = leaf.kind != LeafKind::SubQuery;
  f.once = demand_.once;
  const auto condition = [&](const Term& c) {
    if (isGate(c)) return;
    const std::set<int> named = own(c);
    const bool about = named.count(leaf.id) || volatileDirect(c);
    if (alone || about) {
      if (!testsOnlyLock(c, leaf)) discard(f, Rows::Superset, Sureness::Always, Cause::OuterCondition, c.range());
      // Rows are pulled until one passes.
      f.pull = Pull::All;
    }
  };
  for (const Term& c : level_.where) condition(c);
  // The left side of LEFT JOINs alone: each of its rows comes out.
  bool only_required = false;
  if (!alone && !nullable && !lateral && level_.from.size() == 1 && !level_.from[0].is_leaf) {
    const FromNode* n = &level_.from[0];
    while (!n->is_leaf && n->join == JoinType::Left && n->sides.size() == 2) n = &n->sides[0];
    only_required = n->is_leaf && n->leaf.id == leaf.id;
  }
  if (alone) {
    f.many = where_.many;
  } else if (lateral) {
    f.once = false;
    f.many = leaf.kind != LeafKind::Function;
    if (leaves_.size() > 2) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, joinRange({leaf.id}));
    if (on)
      for (const Term& c : *on)
        if (own(c).size() > 0) discard(f, Rows::Superset, Sureness::Always, Cause::OuterCondition, c.range());
    if (leaf.kind == LeafKind::SubQuery) {
      // Memoize may skip a value that it has seen, unless the outer rows cannot repeat it.
      bool unique = correlated_with.size() == 1;
      if (unique) {
        const LeafInfo& outer = tree_.info(*correlated_with.begin());
        std::set<std::string> names;
        forEachTerm(leaf.query[0], [&](const Term& t) {
          if (t.is(ExprKind::Column) && t.leaf == *correlated_with.begin()) names.insert(t.name);
        });
        unique = outer.relation && std::any_of(outer.relation->unique_keys.begin(), outer.relation->unique_keys.end(), [&](const auto& key) {
          return std::all_of(key.begin(), key.end(), [&](const std::string& c) { return names.count(c) > 0; });
        });
      }
      if (!unique) f.sureness = Sureness::ByPlan;
    }
    f.order = CallOrder::Undefined;
  } else if (only_required) {
    if (f.limited) discard(f, Rows::PlanDependent, Sureness::ByPlan, f.limit_blame.cause, f.limit_blame.range);
    f.many = true;
  } else {
    const SourceRange side = joinRange({leaf.id});
    if (f.runs > Runs::NeedNot) f.runs = Runs::NeedNot, f.runs_blame = {Cause::EmptySide, side}, f.runs_sureness = Sureness::ByPlan;
    if (!stored) {
      f.once = false;
      discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, side);
    } else if (!leafGivesOneRow(leaf, tree_)) {
      discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, side);
    }
    f.many = !leafGivesOneRow(leaf, tree_);
    f.limited = false;
  }
  switch (leaf.kind) {
    case LeafKind::SubQuery:
      dropUnused(leaf);
      f.unconditional = false;
      runLevel(leaf.query[0], f, tree_);
      return;
    case LeafKind::Cte:
      if (!leaf.self_reference && leaf.cte >= 0) tree_.ctes[static_cast<std::size_t>(leaf.cte)].demands.push_back(f);
      return;
    case LeafKind::Function: {
      // The function is called once for each scan and its rows are stored; the arguments with it.
      Flow call = f;
      call.many = lateral;
      call.row_leaves = correlated_with;
      call.discards.clear();
      for (const Discard& d : f.discards) {
        const bool returns_set = !leaf.functions.empty() && leaf.functions[0].callee.returns_set;
        if (returns_set || lateral) call.discards.push_back(d);
      }
      const Term* first = leaf.functions.empty() ? nullptr : &leaf.functions[0];
      if (first && first->callee.locks && first->callee.returns_set && f.limited)
        discard(call, Rows::Superset, Sureness::Always, Cause::StoredFunction, f.limit_blame.range, false);
      if (!lateral) call.limited = false;
      call.order = lateral ? f.order : CallOrder::Single;
      for (const Term& t : leaf.functions) runTerm(t, {&call, nullptr, nullptr}, tree_);
      return;
    }
    default: return;
  }
}

void LevelRun::leaves() {
  const std::function<void(FromNode&, bool, const std::vector<Term>*)> walk = [&](FromNode& n, bool nullable, const std::vector<Term>* on) {
    if (n.is_leaf) return leaf(n.leaf, nullable, on);
    for (std::size_t i = 0; i < n.sides.size(); ++i)
      walk(n.sides[i], nullable || n.join == JoinType::Full || (n.join == JoinType::Left && i == 1), &n.on);
  };
  for (FromNode& n : level_.from) walk(n, false, nullptr);
}

// --- kinds of levels --------------------------------------------------------------------------------------------------

void LevelRun::select() {
  const bool plain_aggregate = levelAggregates(level_) && !level_.grouped;
  makeFlows();
  if (late_.runs == Runs::Never && demand_.runs != Runs::Never) {  // LIMIT 0
    recordNever(level_, late_.runs_blame.cause, late_.runs_blame.range, tree_);
    return;
  }
  if (!level_.killed_by.empty()) {
    const SourceRange range = level_.killed_by[0].range();
    Level dead = level_;
    if (plain_aggregate) dead.targets.clear(), dead.having.clear();
    recordNever(dead, Cause::ConstantFalse, range, tree_);
    if (plain_aggregate) {
      never(aggregate_, Cause::ConstantFalse, range);
      targets();
    }
    return;
  }
  targets();
  conditions();
  leaves();
  gateTerms(level_.limit, CallPosition::Limit);
  gateTerms(level_.offset, CallPosition::Limit);
}

void LevelRun::values() {
  for (std::size_t r = 0; r < level_.rows.size(); ++r) {
    Flow f = tail(demand_, false);
    f.limited = false;
    f.position = CallPosition::Values;
    const bool stopped = demand_.limited || demand_.pull == Pull::FirstRow || !level_.limit.empty();
    if (r > 0 && stopped && f.runs > Runs::NeedNot) {
      f.runs = Runs::NeedNot;
      f.runs_blame = {Cause::UnionArmSkipped, level_.limit.empty() ? demand_.limit_blame.range : limitRange(level_)};
    }
    for (const Term& t : level_.rows[r]) runTerm(t, {&f, nullptr, nullptr}, tree_);
  }
}

void LevelRun::setOperation() {
  const bool all = level_.set_operator == SetOperator::Union && level_.set_all;
  Flow base = tail(demand_, true);
  base.row_leaves.clear();
  if (base.runs == Runs::Never && demand_.runs != Runs::Never) return recordNever(level_, base.runs_blame.cause, base.runs_blame.range, tree_);
  if (!level_.order_by.empty()) base = block(base);
  for (std::size_t i = 0; i < level_.arms.size(); ++i) {
    Flow f = base;
    f.once = demand_.once;
    f.dead_targets = false;
    if (all) {
      if (i > 0 && (f.limited || f.pull == Pull::FirstRow) && f.runs > Runs::NeedNot) {
        f.runs = Runs::NeedNot, f.runs_blame = {Cause::UnionArmSkipped, f.limit_blame.range};
        if (demand_.in_recursion) f.runs = demand_.runs, f.runs_blame = demand_.runs_blame;
      }
    } else {
      f = block(f);
      discard(f, Rows::Superset, Sureness::Always, Cause::SetOperation, level_.source ? level_.source->range : SourceRange{});
      if (i > 0 && level_.set_operator != SetOperator::Union && f.runs > Runs::NeedNot) f.runs = Runs::PerRow;
    }
    if (demand_.in_recursion && i > 0) f.once = false, f.at_most_one = true;
    f.in_recursion = false;
    runLevel(level_.arms[i], f, tree_);
  }
  gateTerms(level_.limit, CallPosition::Limit);
  gateTerms(level_.offset, CallPosition::Limit);
}

// INSERT, UPDATE, DELETE, MERGE run to their end, whatever their reader asks for.
void LevelRun::modify() {
  Flow demand;
  demand.runs = demand_.runs, demand.runs_blame = demand_.runs_blame, demand.once = demand_.once, demand.planned_only = demand_.planned_only;
  demand.guard = demand_.guard;
  LevelRun run(level_, demand, tree_);
  if (level_.kind == QueryKind::Insert) {
    bool many = true;
    for (Level& source : level_.arms) {
      many = !levelGivesOneRow(source, tree_);
      Flow f = demand;
      f.many = true;
      runLevel(source, f, tree_);
    }
    Flow row = demand;
    row.many = many, row.row_leaves = leaves_;
    const auto all = [&](const std::vector<Output>& list, CallPosition position) {
      row.position = position;
      for (const Output& o : list) runTerm(o.term, {&row, nullptr, nullptr}, tree_);
    };
    all(level_.returning, CallPosition::Returning), all(level_.conflict_sets, CallPosition::SetClause);
    row.position = CallPosition::Where;
    for (const Term& c : level_.conflict_where) runTerm(c, {&row, nullptr, nullptr}, tree_);
    return;
  }
  run.makeFlows();
  if (!level_.killed_by.empty()) return recordNever(level_, Cause::ConstantFalse, level_.killed_by[0].range(), tree_);
  Flow row = run.late_;
  if (level_.kind == QueryKind::Merge) row.many = true;
  row.order = CallOrder::Undefined;
  row.unconditional = run.late_.unconditional;
  const auto all = [&](const std::vector<Output>& list, CallPosition position) {
    row.position = position;
    for (const Output& o : list) runTerm(o.term, {&row, nullptr, nullptr}, tree_);
  };
  all(level_.sets, CallPosition::SetClause), all(level_.returning, CallPosition::Returning);
  for (const Branch& b : level_.merge) {
    row.position = CallPosition::Where;
    Flow guarded = row;
    for (std::size_t i = 0; i < b.condition.size(); ++i) {
      if (i > 0) guarded.guard = {Cause::GuardedBranch, b.condition[i - 1].range()};
      runTerm(b.condition[i], {&guarded, nullptr, nullptr}, tree_);
    }
    all(b.sets, CallPosition::SetClause);
  }
  run.conditions();
  run.leaves();
}

}  // namespace

void runTerm(const Term& term, const Flow& flow, Tree& tree) {
  Stages stages;
  stages.here = &flow;
  runTerm(term, stages, tree);
}

void runLevel(Level& level, const Flow& demand, Tree& tree) {
  if (++tree.depth > 100 || !tree.spend()) {  // too deep to follow: its calls stay unknown
    --tree.depth;
    return;
  }
  const bool has_locks = containsLock(level);
  if (has_locks || !level.from.empty()) {
    rewriteLevel(level, tree);
    LevelRun run(level, demand, tree);
    if (level.isDml()) run.modify();
    else if (level.kind == QueryKind::SetOperation) run.setOperation();
    else if (level.kind == QueryKind::Values) run.values();
    else run.select();
  }
  --tree.depth;
}

// A stored CTE runs as far as its readers together ask: the best of their runs, limited only if all are, the mildest discard.
void runCtes(Tree& tree) {
  std::vector<std::set<int>> readers(tree.ctes.size());
  for (std::size_t i = 0; i < tree.ctes.size(); ++i)
    for (const Level& l : tree.ctes[i].level)
      forEachLeaf(l, [&](const Leaf& leaf) {
        if (leaf.kind == LeafKind::Cte && leaf.cte >= 0 && leaf.cte != static_cast<int>(i)) readers[static_cast<std::size_t>(leaf.cte)].insert(static_cast<int>(i));
      });
  std::set<int> left;
  for (std::size_t i = 0; i < tree.ctes.size(); ++i)
    if (!tree.ctes[i].inlined && !tree.ctes[i].level.empty()) left.insert(static_cast<int>(i));
  while (!left.empty()) {
    int next = *left.begin();
    for (const int c : left) {
      const auto& r = readers[static_cast<std::size_t>(c)];
      if (std::none_of(r.begin(), r.end(), [&](int reader) { return left.count(reader) > 0; })) {
        next = c;
        break;
      }
    }
    left.erase(next);
    CteDef& def = tree.ctes[static_cast<std::size_t>(next)];
    Level level = def.level[0];
    Flow d;
    if (level.isDml()) {
      d.planned_only = tree.planned_only;
      d.runs_blame = tree.planned_blame;
      runLevel(level, d, tree);
      continue;
    }
    if (def.demands.empty()) {
      recordNever(level, Cause::UnreadCte, def.source->name_range, tree);
      continue;
    }
    d = def.demands[0];
    const auto weight = [](const Flow& f) {
      Discard worst;
      for (const Discard& x : f.discards)
        if (stronger(x, worst)) worst = x;
      return std::pair(worst.rows, -static_cast<int>(worst.sureness));
    };
    for (const Flow& f : def.demands) {
      if (weight(f) < weight(d)) d.discards = f.discards;
      if (f.runs > d.runs) d.runs = f.runs, d.runs_blame = f.runs_blame;
      if (!f.limited) d.limited = false;
      if (f.pull == Pull::All) d.pull = Pull::All;
    }
    d.once = true, d.dead_targets = false;
    if (def.demands.size() > 1) d.guard = {};
    d.in_recursion = def.recursive;
    d.unconditional = false;
    runLevel(level, d, tree);
  }
}

void runStatement(Level& level, const Flow& demand, Tree& tree) {
  decideCtes(tree);
  tree.planned_only = demand.planned_only, tree.planned_blame = demand.runs_blame;
  runLevel(level, demand, tree);
  runCtes(tree);
}

}  // namespace pglocklint::evaluation

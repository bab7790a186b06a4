// The stages of a level, and what a consumer tells a producer.
//
//   gate → scan, WHERE, join → [aggregate input → group → HAVING] → [window input → window] → early list → [DISTINCT]
//        → [ORDER BY] → late list → [row locks] → OFFSET → LIMIT → consumer
//
// A Flow says what is known where rows pass one stage: whether and how often it runs, what above it discards rows, whether it may
// be stopped early. It is made from the demand of the consumer downwards; a stage that must see all its input before it gives its
// first row (it "blocks") turns "may be stopped early" into "rows are discarded".
#include <algorithm>

#include "program/evaluate_level.h"

namespace pglocklint::evaluation {

// --- flows ----------------------------------------------------------------------------------------------------------

Flow block(Flow f, Sureness sureness, Blame because) {
  if (f.limited) {
    const Rows rows = sureness == Sureness::Always ? Rows::Superset : Rows::PlanDependent;
    f.discards.push_back({rows, sureness, because.cause == Cause::None ? f.limit_blame : because});
  }
  f.limited = false, f.pull = Pull::All;
  f.order = CallOrder::Undefined, f.order_terms.clear();
  return f;
}

void discard(Flow& f, Rows rows, Sureness sureness, Cause cause, const SourceRange& range, bool absorbed) {
  f.discards.push_back({rows, sureness, {cause, range}, absorbed});
}

namespace {

void never(Flow& f, Cause cause, const SourceRange& range) { f.runs = Runs::Never, f.runs_blame = {cause, range}; }

Flow ordered(Flow f, const RowOrder& by) {
  f.order = by.order, f.order_terms = by.terms;
  return f;
}

// What is planned and never asked: its constant calls are folded all the same.
Flow onlyPlanned(Flow f, const Blame& because) {
  f.planned_only = true, f.runs = Runs::Never, f.runs_blame = because;
  return f;
}

// Rows after the first are asked for by nobody: calls in a select list need not run for them.
Flow firstRowOnly(Flow f) {
  if (f.pull == Pull::FirstRow && f.many && f.runs > Runs::NeedNot) {
    f.runs = Runs::NeedNot, f.runs_blame = f.limit_blame, f.runs_blame.cause = Cause::FirstRowOnly;
    f.runs_sureness = Sureness::Always;
  }
  return f;
}

}  // namespace

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
  many_from_ = !scanGivesOneRow(level_, tree_);
  const bool aggregates = levelAggregates(level_);
  const bool plain_aggregate = aggregates && !level_.grouped;
  const bool many_out = level_.grouped || (!aggregates && many_from_) || levelReturnsSets(level_);
  const bool others = demand_.others_each_time || (!demand_.once && correlated(level_));
  const RowOrder natural = others ? RowOrder{} : naturalOrder(level_, tree_);
  const RowOrder sorted = others || demand_.resorted ? RowOrder{} : RowOrder{CallOrder::Defined, orderTerms(level_)};
  const bool sorts = !level_.order_by.empty();

  Flow all = tail(demand_, many_out);
  all.others_each_time = others;
  all.row_marks = all.row_marks || (level_.source && !level_.source->locking.empty());
  all.position = CallPosition::SelectList;
  all.filtered = all.filtered || !level_.where.empty() || !level_.having.empty() || all.limited || demand_.limited;

  // LIMIT 1 without OFFSET, WITH TIES or SKIP LOCKED: one row.
  const bool one = !level_.limit.empty() && isOne(level_.limit[0]) && !level_.with_ties && !skipLocked(level_) &&
                   (level_.offset.empty() || isZero(level_.offset[0]) || level_.offset[0].isNull());
  late_ = ordered(all, sorts ? sorted : natural);
  if (one) late_.many = false;

  const bool index = indexGives(orderTerms(level_), level_, tree_) && !level_.grouped;
  const Flow sort_input = ordered(sorts ? block(all, index ? Sureness::ByPlan : Sureness::Always) : all, natural);
  order_key_ = sorts ? ordered(block(all, Sureness::Always,
                                     {Cause::OrderByCall, level_.source ? level_.source->order_range : SourceRange{}}),
                               natural)
                     : ordered(all, natural);
  early_ = sort_input;
  if (level_.distinct != DistinctKind::None) {
    early_ = ordered(block(all), natural);
    if (many_out && level_.source)
      discard(early_, Rows::Superset, Sureness::Always, Cause::Distinct,
              orElse(level_.source->distinct_range, level_.source->range));
  }
  makeGroupFlows(sort_input, plain_aggregate);
  window_ = block(sort_input, Sureness::ByPlan);
  window_.many = many_from_ || level_.grouped;
  makeWhereFlow(sort_input, plain_aggregate);
  markWhole();
}

// Below aggregation: its input, its keys, HAVING. Grouping consumes rows; only what discards groups discards them.
void LevelRun::makeGroupFlows(const Flow& sort_input, bool plain_aggregate) {
  aggregate_ = sort_input, group_ = sort_input, having_ = sort_input;
  if (plain_aggregate || level_.grouped) {
    aggregate_ = block(sort_input);
    // The one row of an aggregate that runs once stands for all; with a host that asks again and again, what discards the host
    // counts.
    if (plain_aggregate && demand_.once) aggregate_.discards.clear();
    if (plain_aggregate) aggregate_.runs = demand_.runs, aggregate_.runs_blame = demand_.runs_blame;
    aggregate_.many = many_from_;
    for (const Term& h : level_.having)
      if (!h.isTrue() && !h.isFalse()) discard(aggregate_, Rows::Superset, Sureness::Always, Cause::Having, h.range());
    // Grouping may sort its input, and so may an aggregate that wants its arguments sorted or distinct (16 and later).
    bool sorted_input = level_.grouped;
    const auto asks = [&](const Term& t) { sorted_input = sorted_input || !t.order.empty() || (t.source && t.source->call_distinct); };
    for (const Output& o : level_.targets) forEachTerm(o.term, false, asks);
    for (const Term& h : level_.having) forEachTerm(h, false, asks);
    if (const Leaf* leaf = onlyLeaf(level_); leaf && !sorted_input && !aggregate_.others_each_time)
      aggregate_ = ordered(aggregate_, orderOfLeaf(*leaf, tree_));
    group_ = aggregate_;
    if (many_from_)
      discard(group_, Rows::Superset, Sureness::Always, Cause::GroupingKey, level_.source ? level_.source->range : SourceRange{});
  }
  aggregate_.position = CallPosition::AggregateArgument;
  group_.position = CallPosition::GroupBy;
  having_.position = CallPosition::Having;
}

void LevelRun::makeWhereFlow(const Flow& sort_input, bool plain_aggregate) {
  if (level_.grouped || plain_aggregate) where_ = aggregate_;
  else if (levelHasWindow(level_)) where_ = window_;
  else if (level_.distinct == DistinctKind::On) where_ = block(sort_input);
  else if (level_.distinct == DistinctKind::All) where_ = block(sort_input, Sureness::ByPlan);
  else where_ = sort_input;
  if (const Leaf* leaf = onlyLeaf(level_)) where_ = ordered(where_, where_.others_each_time ? RowOrder{} : orderOfLeaf(*leaf, tree_));
  where_.position = CallPosition::Where;
  where_.dead_targets = false;
  where_.many = false;
  forEachLeafHere(level_.from, [&](const Leaf& l) { where_.many = where_.many || !leafGivesOneRow(l, tree_); });
  if (!where_.many) where_.limited = false;
}

// Every row of a relation, if nothing on the way asks anything (AL105).
void LevelRun::markWhole() {
  const Leaf* leaf = onlyLeaf(level_);
  const WholeSource source = leaf ? wholeSource(*leaf, tree_) : WholeSource{};
  const auto mark = [&](Flow& f, bool conditions) {
    f.unconditional = !conditions && !f.limited && leaf && level_.limit.empty();
    f.relation = f.unconditional ? source.relation : "";
    f.series = f.unconditional ? source.series : -1;
  };
  const bool conditions = !level_.where.empty() || !level_.having.empty();
  if (!level_.grouped) mark(late_, conditions);
  for (Flow* f : {&aggregate_, &group_, &early_, &order_key_, &window_}) mark(*f, conditions);
  mark(where_, level_.where.size() > 1 || !level_.having.empty());  // the call itself may be the only condition
}

void LevelRun::gateTerms(const std::vector<Term>& terms, CallPosition position) {
  Flow f = demand_;
  f.many = false, f.row_leaves = leaves_, f.position = position;
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
  if (demand_.resorted && !level_.order_by.empty() && containsLock(o.term)) {
    // An arm of UNION, INTERSECT or EXCEPT: since 17 each of its columns is something to sort by, and so computed before its ORDER BY.
    Flow f = block(late_, Sureness::ByPlan, {Cause::SetOperation, orElse(limitRange(level_), o.term.range())});
    f.many = early_.many;
    if (!level_.limit.empty()) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::SetOperation, limitRange(level_), false);
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
  const Cost cost = costOf(o.term, tree_);
  const bool dear = cost.low > 10;
  // What is dear is put off together with what is volatile, and where not all rows are wanted.
  const bool company = std::any_of(level_.targets.begin(), level_.targets.end(), [](const Output& other) {
    return !other.order_key && !other.group_key && !other.distinct_key && volatileDirect(other.term);
  });
  const bool with_volatile = company && level_.distinct != DistinctKind::All;
  if (with_volatile && dear) return late_;
  if (cost.high > 10 && (with_volatile || late_.limited || !level_.limit.empty())) f.order = CallOrder::Undefined, f.order_terms.clear();
  if (dear && !level_.limit.empty() && level_.distinct == DistinctKind::None)
    for (Discard& d : f.discards)
      if (d.blame.cause == cause) d.rows = Rows::PlanDependent, d.sureness = Sureness::ByCostOrPosition;
  return f;
}

// The same key was taken by a condition already: the second call adds to it.
bool LevelRun::keyTakenByWhere(const Term& call) const {
  bool found = false;
  for (const Term& c : level_.where)
    forEachTerm(c, false, [&](const Term& w) {
      if (!w.callee.locks || w.name != call.name || w.args.size() != call.args.size() || w.args.empty()) return;
      found = found || std::equal(w.args.begin(), w.args.end(), call.args.begin(), sameTerm);
    });
  return found;
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
    forEachTerm(o.term, false, [&](const Term& t) {
      if (!t.callee.locks || t.sites.empty() || !keyTakenByWhere(t)) return;
      for (const int site : t.sites) tree_.sites[static_cast<std::size_t>(site)].evaluation.repeated = true;
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

// LIMIT 0: PostgreSQL plans the level and asks it for nothing.
void LevelRun::plannedOnly() {
  level_.limit.clear();
  LevelRun(level_, onlyPlanned(demand_, late_.runs_blame), tree_).select();
}

// --- kinds of levels --------------------------------------------------------------------------------------------------

void LevelRun::select() {
  const bool plain_aggregate = levelAggregates(level_) && !level_.grouped;
  makeFlows();
  if (late_.runs == Runs::Never && demand_.runs != Runs::Never) return plannedOnly();
  if (!level_.killed_by.empty()) {
    const SourceRange range = level_.killed_by[0].range();
    Level dead = level_;
    if (plain_aggregate) dead.targets.clear(), dead.having.clear();
    dead.from.clear();
    // Conditions without columns that a merged sub-select brought stand before the false one, and may be asked first.
    dead.where.clear();
    for (std::size_t i = 0; i < level_.where.size(); ++i) {
      if (!where_conditions_[i].gate) dead.where.push_back(level_.where[i]);
      else if (containsLock(level_.where[i])) gateBeforeFalse(i, range);
    }
    recordFolded(dead, Cause::ConstantFalse, range, tree_);
    const Flow planned = onlyPlanned(demand_, {Cause::ConstantFalse, range});
    LevelRun below(level_, planned, tree_);
    below.makeFlows();
    below.leaves();
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
  if (base.runs == Runs::Never && demand_.runs != Runs::Never)
    return recordFolded(level_, base.runs_blame.cause, base.runs_blame.range, tree_);
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
      f.resorted = true;
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
  demand.runs = demand_.runs, demand.runs_blame = demand_.runs_blame, demand.once = demand_.once,
  demand.planned_only = demand_.planned_only;
  demand.guard = demand_.guard;
  demand.row_marks = level_.kind != QueryKind::Insert;
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
  if (!level_.killed_by.empty()) return recordFolded(level_, Cause::ConstantFalse, level_.killed_by[0].range(), tree_);
  Flow row = run.late_;
  if (level_.kind == QueryKind::Merge) row.many = true;
  row.order = CallOrder::Undefined;
  row.unconditional = run.late_.unconditional;
  const auto all = [&](const std::vector<Output>& list, CallPosition position) {
    row.position = position;
    for (const Output& o : list) runTerm(o.term, {&row, nullptr, nullptr}, tree_);
  };
  all(level_.returning, CallPosition::Returning);
  // A row with several partners is written once, but SET is computed for each of them.
  row.many = row.many || leaves_.size() > 1;
  all(level_.sets, CallPosition::SetClause);
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


void runLevel(Level& level, const Flow& demand, Tree& tree) {
  if (++tree.depth > 100) {  // too deep to follow: its calls stay unknown
    --tree.depth;
    return;
  }
  const bool has_locks = containsLock(level);
  if (has_locks || !level.from.empty()) {
    rewriteLevel(level, demand.row_marks, tree);
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
        if (leaf.kind == LeafKind::Cte && leaf.cte >= 0 && leaf.cte != static_cast<int>(i))
          readers[static_cast<std::size_t>(leaf.cte)].insert(static_cast<int>(i));
      });
  // Who reads through a CTE that is inlined reads what that reads.
  for (std::size_t i = 0; i < tree.ctes.size(); ++i)
    if (tree.ctes[i].inlined)
      for (std::set<int>& r : readers)
        if (r.erase(static_cast<int>(i))) r.insert(readers[i].begin(), readers[i].end());
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
      // What nobody names is not even planned.
      if (def.references == 0) recordNever(level, Cause::UnreadCte, def.source->name_range, tree);
      else runLevel(level, onlyPlanned({}, {Cause::UnreadCte, def.source->name_range}), tree);
      continue;
    }
    d = def.demands[0];
    const auto weight = [](const Flow& f) {
      Discard worst;
      for (const Discard& x : f.discards)
        if (stronger(x, worst)) worst = x;
      return std::pair(worst.rows, -static_cast<int>(worst.sureness));
    };
    // Who only plans asks for nothing.
    if (std::any_of(def.demands.begin(), def.demands.end(), [](const Flow& f) { return !f.planned_only; })) {
      std::erase_if(def.demands, [](const Flow& f) { return f.planned_only; });
      d = def.demands[0];
    }
    for (const Flow& f : def.demands) {
      if (weight(f) < weight(d)) d.discards = f.discards;
      if (f.runs > d.runs) d.runs = f.runs, d.runs_blame = f.runs_blame;
      if (!f.limited) d.limited = false;
      if (f.pull == Pull::All) d.pull = Pull::All;
    }
    d.once = true, d.dead_targets = d.others_each_time = d.resorted = d.row_marks = false;
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

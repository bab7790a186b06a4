// Scan and joins of one level: its conditions, and what it asks of the leaves of its FROM.
#include <algorithm>
#include <functional>
#include <optional>

#include "model/lock_function.h"
#include "program/evaluate_level.h"
#include "program/walk.h"

namespace pglocklint::evaluation {

LevelRun::LevelRun(Level& level, const Flow& demand, Tree& tree)
    : level_(level), demand_(demand), tree_(tree), leaves_(leavesOf(level.from)) {
  for (const Term& c : level_.where)
    where_conditions_.push_back({rankOf(c, tree_), own(c), isGate(c), volatileDirect(c), isSemiJoin(c), namesUnknownLeaf(c)});
}

std::set<int> LevelRun::own(const Term& c) const {
  std::set<int> out;
  for (const int l : leavesOf(c))
    if (leaves_.count(l)) out.insert(l);
  return out;
}

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

// --- conditions -------------------------------------------------------------------------------------------------------

// What joins these leaves with the others.
SourceRange LevelRun::joinRange(const std::set<int>& mine) const {
  for (std::size_t i = 0; i < level_.where.size(); ++i) {
    const std::set<int>& named = where_conditions_[i].leaves;
    const bool here = std::any_of(named.begin(), named.end(), [&](int l) { return mine.count(l) > 0; });
    const bool there = std::any_of(named.begin(), named.end(), [&](int l) { return mine.count(l) == 0; });
    if (here && there && level_.where[i].range().known()) return level_.where[i].range();
  }
  SourceRange range;
  forEachLeafHere(level_.from, [&](const Leaf& l) {
    if (!mine.count(l.id) && l.source && !range.known()) range = l.source->range;
  });
  return range;
}

// The left side of LEFT JOINs alone: each of its rows comes out.
bool LevelRun::isOnlyRequired(const Leaf& leaf) const {
  if (level_.from.size() != 1) return false;
  const FromNode* n = &level_.from[0];
  while (!n->is_leaf && n->join == JoinType::Left && n->sides.size() == 2) n = &n->sides[0];
  return n->is_leaf && n->leaf.id == leaf.id;
}

// A condition on the preserved side of LEFT JOINs: the joins discard none of its rows.
bool LevelRun::gainsNothingFromJoins(const std::set<int>& mine) const {
  bool required = false;
  forEachLeafHere(level_.from, [&](const Leaf& l) { required = required || (mine == std::set<int>{l.id} && isOnlyRequired(l)); });
  return required;
}

namespace {

// A column of a table, by the name that the statement gives the table.
struct BaseColumn {
  std::string schema, table, name;
  bool operator==(const BaseColumn&) const = default;
};

const Leaf* leafOf(const Level& level, int id) {
  const Leaf* found = nullptr;
  forEachLeafHere(level.from, [&](const Leaf& l) {
    if (l.id == id) found = &l;
  });
  return found;
}

bool onlyInner(const Level& level) {
  return std::all_of(level.from.begin(), level.from.end(), [](const FromNode& n) { return n.is_leaf; });
}

// What the column of a leaf is a copy of, row by row, through sub-selects and CTEs; nothing where an outer join may make it NULL.
std::optional<BaseColumn> baseOf(const Leaf& leaf, const std::string& name, const Tree& tree, int depth = 0) {
  if (depth > 20 || leaf.id < 0 || leaf.self_reference) return std::nullopt;
  const LeafInfo& info = tree.info(leaf.id);
  if (leaf.kind == LeafKind::Table || (leaf.kind == LeafKind::Unknown && leaf.source && leaf.source->kind == FromKind::Relation)) {
    if (info.relation) {
      const Column* c = info.relation->column(name);
      const bool key = std::any_of(info.relation->unique_keys.begin(), info.relation->unique_keys.end(),
                                   [&](const auto& k) { return k == List<std::string>{name}; });
      if (!c || (!c->not_null && !key)) return std::nullopt;
    }
    return leaf.source ? std::optional(BaseColumn{leaf.source->schema, leaf.source->name, name}) : std::nullopt;
  }
  const Level* inside = leaf.kind == LeafKind::SubQuery && !leaf.query.empty() ? &leaf.query[0] : nullptr;
  if (leaf.kind == LeafKind::Cte && leaf.cte >= 0) {
    const CteDef& cte = tree.ctes[static_cast<std::size_t>(leaf.cte)];
    if (!cte.recursive && !cte.level.empty()) inside = &cte.level[0];
  }
  if (!inside || inside->kind != QueryKind::Select || !onlyInner(*inside)) return std::nullopt;
  for (std::size_t i = 0; i < info.columns.size() && i < inside->targets.size(); ++i) {
    if (info.columns[i].name != name) continue;
    const Term& made = inside->targets[i].term;
    const Leaf* from = made.is(ExprKind::Column) ? leafOf(*inside, made.leaf) : nullptr;
    return from ? baseOf(*from, made.name, tree, depth + 1) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

// The rows of the leaf come from the very table that it is joined with, by a column that came along, and nothing else is asked of that
// table: `UPDATE job … FROM picked WHERE job.id = picked.id`. Each row finds its own.
bool LevelRun::findsItsOwnRows(const Leaf& leaf) const {
  if (leaves_.size() != 2 || !onlyInner(level_) || level_.kind == QueryKind::Merge) return false;
  const Leaf* other = nullptr;
  forEachLeafHere(static_cast<const std::vector<FromNode>&>(level_.from), [&](const Leaf& l) {
    if (l.id != leaf.id) other = &l;
  });
  if (!other || !tree_.info(other->id).policies.empty()) return false;
  bool joined = false;
  for (std::size_t i = 0; i < level_.where.size(); ++i) {
    const Condition& c = where_conditions_[i];
    if (c.unsure || c.semi_join) return false;
    if (c.leaves.count(other->id) == 0) continue;
    const Term& t = level_.where[i];
    if (joined || !t.is(ExprKind::Op) || t.name != "=" || t.args.size() != 2) return false;
    const bool first = t.args[0].is(ExprKind::Column) && t.args[0].leaf == leaf.id;
    const Term &mine = t.args[first ? 0 : 1], &theirs = t.args[first ? 1 : 0];
    if (!mine.is(ExprKind::Column) || mine.leaf != leaf.id || !theirs.is(ExprKind::Column) || theirs.leaf != other->id) return false;
    const auto from = baseOf(leaf, mine.name, tree_), to = baseOf(*other, theirs.name, tree_);
    if (other->kind != LeafKind::Table && other->kind != LeafKind::Unknown) return false;
    if (!from || from != to) return false;
    joined = true;
  }
  return joined;
}

// What condition p means for the rows that lock condition q runs for.
void LevelRun::against(Flow& f, std::size_t q, std::size_t p, const std::set<int>& mine) const {
  const Condition& other = where_conditions_[p];
  const SourceRange range = level_.where[p].range();
  const bool row_less = leaves_.empty(), join = leaves_.size() > 1;
  if (other.gate && !row_less) return;
  if (join && (other.leaves != mine || mine.size() > 1 || other.is_volatile)) {
    const bool inner = std::all_of(level_.from.begin(), level_.from.end(), [](const FromNode& n) { return n.is_leaf; });
    if (mine == leaves_ && other.leaves.size() == 1 && !other.is_volatile && inner && !other.semi_join)
      return;                                                         // runs below the join
    if (other.leaves.size() > 1 && mine != leaves_ && inner) return;  // the join: said once
    const Cause cause = other.semi_join ? Cause::SemiJoin : other.leaves.size() > 1 ? Cause::Join : Cause::OtherCondition;
    return discard(f, Rows::PlanDependent, Sureness::ByPlan, cause, range);
  }
  if (other.semi_join) {
    f.once = false;  // even one row is read again and again where it is the inner side
    return discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::SemiJoin, range);
  }
  const Condition& lock = where_conditions_[q];
  const Before before = lock.unsure || other.unsure ? Before::Unknown : runsBefore(other.rank, p, lock.rank, q);
  if (before != Before::No)
    return discard(f, Rows::PlanDependent, Sureness::ByCostOrPosition, Cause::OtherCondition, range, !row_less);
  if (!row_less && indexable(level_.where[p], tree_))
    return discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::OtherCondition, range);
  discard(f, Rows::Superset, Sureness::Always, Cause::OtherCondition, range, !row_less);
}

// A condition without columns is asked once, before any row.
Flow LevelRun::gateFlow(std::size_t index) const {
  Flow f = demand_;
  f.many = f.limited = false, f.row_leaves = leaves_, f.position = positionOf(level_.where[index]);
  return f;
}

void LevelRun::gate(std::size_t index) {
  Flow f = gateFlow(index);
  for (std::size_t p = 0; p < level_.where.size(); ++p)
    if (p != index && where_conditions_[p].gate) f.guard = {Cause::GuardedBranch, level_.where[p].range()};
  // Over a UNION ALL the gate is copied into each arm, over a partitioned table to each partition (from 16 on also in a join); an InitPlan stays one.
  forEachLeafHere(level_.from, [&](const Leaf& leaf) {
    const bool arms = leaf.kind == LeafKind::SubQuery && !leaf.query.empty() && leaf.query[0].arms.size() > 1;
    const Relation* table = leaf.kind == LeafKind::Table ? tree_.info(leaf.id).relation : nullptr;
    if (arms || (table && table->partitioned)) f.many = true, f.repeated = true;
  });
  runTerm(level_.where[index], {&f, nullptr, nullptr, true}, tree_);
}

void LevelRun::gateBeforeFalse(std::size_t index, const SourceRange& condition) {
  Flow f = gateFlow(index);
  if (f.runs > Runs::NeedNot) f.runs = Runs::NeedNot, f.runs_blame = {Cause::ConstantFalse, condition}, f.runs_sureness = Sureness::ByPlan;
  runTerm(level_.where[index], {&f, nullptr, nullptr, true}, tree_);
}

void LevelRun::condition(std::size_t q) {
  const Condition& self = where_conditions_[q];
  if (self.gate && !leaves_.empty()) return gate(q);
  const Term& c = level_.where[q];
  Flow f = where_;
  f.row_leaves = leaves_;
  f.position = positionOf(c);
  f.filtered = true;
  const std::set<int> mine = self.leaves.empty() ? leaves_ : self.leaves;  // without columns it belongs to the whole FROM
  if (leaves_.size() > 1) {
    f.order = CallOrder::Undefined, f.order_terms.clear();
    const Leaf* leaf = mine.size() == 1 ? leafOf(level_, *mine.begin()) : nullptr;
    if (mine != leaves_ && (gainsNothingFromJoins(mine) || (leaf && findsItsOwnRows(*leaf)))) {
      if (f.limited) discard(f, Rows::PlanDependent, Sureness::ByPlan, f.limit_blame.cause, f.limit_blame.range);
    } else if (mine != leaves_) {
      discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, joinRange(mine));
    } else if (self.unsure) {
      discard(f, Rows::PlanDependent, Sureness::Unknown, Cause::Join, joinRange(mine));
    }
  }
  for (std::size_t p = 0; p < level_.where.size(); ++p)
    if (p != q) against(f, q, p, mine);
  if (!leaves_.empty() && !keepsLockedRows(c)) discard(f, Rows::Superset, Sureness::Always, Cause::OwnCondition, c.range());
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
    if (f.runs > Runs::NeedNot && node.join == JoinType::Left && node.sides.size() == 2 && !leavesOf(node.sides[1]).count(level_.target_leaf)) {
      const std::set<int> right = leavesOf(node.sides[1]);
      Level others = level_;
      others.from.clear();
      bool used = false;
      forEachTerm(others, [&](const Term& t) {
        used = used || (t.is(ExprKind::Column) && (t.leaf == kSomeLeaf || right.count(t.leaf)));
      });
      if (!used)
        f.runs = Runs::NeedNot, f.runs_blame = {Cause::RemovedJoin, node.source ? node.source->range : c.range()},
        f.runs_sureness = Sureness::ByPlan;
    }
    runTerm(c, {&f, nullptr, nullptr, true}, tree_);
  }
}

void LevelRun::having(std::size_t index) {
  const Term& h = level_.having[index];
  Flow f = having_, aggregate = aggregate_;
  f.filtered = true;
  const Cost own_cost = costOf(h, tree_);
  for (std::size_t p = 0; p < level_.having.size(); ++p) {
    if (p == index) continue;
    // HAVING is sorted by cost alone: there are no equivalence classes.
    const Cost cost = costOf(level_.having[p], tree_);
    const bool tie = cost.low == own_cost.high && cost.high == own_cost.low;
    const bool after = cost.low > own_cost.high || (tie && p > index);
    discard(f, after ? Rows::Superset : Rows::PlanDependent, after ? Sureness::Always : Sureness::ByCostOrPosition, Cause::Having,
            level_.having[p].range());
  }
  if (!keepsLockedRows(h)) discard(f, Rows::Superset, Sureness::Always, Cause::OwnCondition, h.range());
  runTerm(h, {&f, &aggregate, nullptr}, tree_);
}

// Policies of the relation are conditions with rank before all others.
void LevelRun::policies(const Leaf& leaf) {
  if (leaf.id < 0) return;
  for (const Term& policy : tree_.info(leaf.id).policies) {
    if (!containsLock(policy)) continue;
    Flow f = where_;
    f.row_leaves = leaves_, f.position = CallPosition::Where, f.filtered = true;
    for (std::size_t p = 0; p < level_.where.size(); ++p) {
      if (where_conditions_[p].gate) continue;
      const bool index = indexable(level_.where[p], tree_) && where_conditions_[p].rank.equality;
      discard(f, index ? Rows::PlanDependent : Rows::Superset, index ? Sureness::ByPlan : Sureness::Always, Cause::OtherCondition,
              level_.where[p].range());
    }
    if (leaves_.size() > 1) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, joinRange({leaf.id}));
    runTerm(policy, {&f, nullptr, nullptr, true}, tree_);
  }
}

void LevelRun::conditions() {
  for (std::size_t q = 0; q < level_.where.size(); ++q)
    if (containsLock(level_.where[q])) condition(q);
  for (const FromNode& n : level_.from) outerConditions(n);
  for (std::size_t i = 0; i < level_.having.size(); ++i)
    if (containsLock(level_.having[i])) having(i);
  forEachLeafHere(static_cast<const std::vector<FromNode>&>(level_.from), [&](const Leaf& leaf) { policies(leaf); });
}

// --- FROM -------------------------------------------------------------------------------------------------------------

namespace {

// The selects that a level's rows come from: itself, or the arms of a set operation.
void collectSelects(const Level& level, std::vector<const Level*>& out) {
  if (level.kind != QueryKind::SetOperation) return out.push_back(&level);
  for (const Level& arm : level.arms) collectSelects(arm, out);
}

}  // namespace

LevelRun::LockTest LevelRun::testOf(const Term& c, const Leaf& leaf) const {
  std::vector<const Level*> selects;
  if (leaf.kind == LeafKind::SubQuery && !leaf.query.empty()) collectSelects(leaf.query[0], selects);
  if (leaf.kind == LeafKind::Cte && leaf.cte >= 0) {
    const CteDef& def = tree_.ctes[static_cast<std::size_t>(leaf.cte)];
    if (!def.level.empty()) collectSelects(def.level[0], selects);
  }
  LockTest out;
  if (containsSubSelect(c)) return out;
  // ok OR due < now(): a row without the lock may pass, but none with it is rejected.
  if (c.is(ExprKind::Or))
    for (const Term& a : c.args) {
      const LockTest one = testOf(a, leaf);
      out.spared.insert(out.spared.end(), one.spared.begin(), one.spared.end());
    }
  const auto& names = tree_.info(leaf.id).columns;
  for (const Level* select : selects) {
    Term tested = c;
    bool only = true;
    const std::function<void(Term&)> replace = [&](Term& t) {
      if (t.is(ExprKind::Column)) {
        bool found = false;
        for (std::size_t i = 0; i < names.size() && i < select->targets.size() && !found; ++i)
          if (t.leaf == leaf.id && names[i].name == t.name && containsLock(select->targets[i].term)) {
            Term by = select->targets[i].term;
            t = std::move(by);
            found = true;
          }
        only = only && found;
        return;
      }
      for (Term& a : t.args) replace(a);
    };
    replace(tested);
    if (!only || !containsLock(tested)) continue;
    if (!keepsLockedRows(tested)) out.own_result = true;
    else forEachTerm(tested, true, [&](const Term& t) { out.spared.insert(out.spared.end(), t.sites.begin(), t.sites.end()); });
  }
  return out;
}

// R4's shadow: columns of a sub-select that stays one, which nobody reads and which call nothing volatile, are not computed.
// Unless its rows may have to be looked at again when another transaction has changed the target row: then they are kept whole.
void LevelRun::dropUnused(Leaf& leaf) {
  if (demand_.row_marks || level_.isDml() || (level_.source && !level_.source->locking.empty())) return;
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

// Once per row of the leaves it names.
void LevelRun::lateralLeaf(const Leaf& leaf, const std::set<int>& outer, const std::vector<Term>* on, Flow& f) const {
  f.once = false;
  f.many = leaf.kind != LeafKind::Function;
  f.order = CallOrder::Undefined, f.order_terms.clear();
  if (leaves_.size() > 2) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, joinRange({leaf.id}));
  if (on)
    for (const Term& c : *on)
      if (!own(c).empty()) discard(f, Rows::Superset, Sureness::Always, Cause::OuterCondition, c.range());
  if (leaf.kind != LeafKind::SubQuery) return;
  // Memoize may skip a value that it has seen (14 and later), unless the outer rows cannot repeat it.
  bool unique = outer.size() == 1;
  if (unique) {
    const LeafInfo& info = tree_.info(*outer.begin());
    std::set<std::string> names;
    forEachTerm(leaf.query[0], [&](const Term& t) {
      if (t.is(ExprKind::Column) && t.leaf == *outer.begin()) names.insert(t.name);
    });
    unique =
        info.relation && std::any_of(info.relation->unique_keys.begin(), info.relation->unique_keys.end(), [&](const auto& key) {
          return std::all_of(key.begin(), key.end(), [&](const std::string& c) { return names.count(c) > 0; });
        });
  }
  if (!unique) f.sureness = Sureness::ByPlan;
}

// Joined with others: read once, again and again, or not at all, as the plan has it. Functions and CTEs are stored.
void LevelRun::joinedLeaf(const Leaf& leaf, Flow& f) const {
  const SourceRange side = joinRange({leaf.id});
  const bool one_row = leafGivesOneRow(leaf, tree_);
  if (f.runs > Runs::NeedNot) f.runs = Runs::NeedNot, f.runs_blame = {Cause::EmptySide, side}, f.runs_sureness = Sureness::ByPlan;
  if (leaf.kind == LeafKind::SubQuery) f.once = false;
  if ((leaf.kind == LeafKind::SubQuery || !one_row) && !findsItsOwnRows(leaf)) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, side);
  f.many = !one_row;
  f.limited = false;
}

namespace {

// Is the lock taken by the query whose rows the function returns? Then rows that nobody asks for are locked. A lock taken beside
// it (PERFORM before RETURN QUERY, a loop that returns one row at its end) has nothing to do with the rows.
bool locksItsRows(const Routine& r) {
  if (!r.function) return false;
  const Statement* last = nullptr;
  bool found = false;
  const auto locks = [](const Statement& s) {
    bool any = false;
    forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
      any |= e.is(ExprKind::Call) && (e.qualifier.empty() || e.qualifier == "pg_catalog") && findLockFunction(e.name);
    });
    return any;
  };
  forEachStatement(*r.function, [&](const Statement& s) {
    last = &s;
    found |= s.context == PlContext::ReturnQuery && !s.query.empty() && !s.query.front().from.empty() && locks(s);
  });
  return found || (r.language == "sql" && last && locks(*last));
}

}  // namespace

// A function is called once for each scan and its rows are stored.
void LevelRun::functionLeaf(const Leaf& leaf, const std::set<int>& outer, const Flow& f) {
  if (leaf.functions.empty()) return;
  const bool lateral = !outer.empty();
  const Callee& callee = leaf.functions[0].callee;
  Flow call = f;
  call.many = lateral;
  call.row_leaves = outer;
  if (!lateral) call.limited = false, call.order = CallOrder::Single;
  if (!callee.returns_set && !lateral) call.discards.clear();
  if (callee.locks && callee.returns_set && f.limited && callee.routine && locksItsRows(*callee.routine))
    discard(call, Rows::Superset, Sureness::Always, Cause::StoredFunction, f.limit_blame.range, false);
  for (const Term& t : leaf.functions) runTerm(t, {&call, nullptr, nullptr}, tree_);
}

void LevelRun::leaf(Leaf& leaf, bool nullable, const std::vector<Term>* on) {
  if (leaf.kind == LeafKind::Table || leaf.kind == LeafKind::Unknown || leaf.id < 0) return;
  const bool alone = leaves_.size() <= 1;
  Flow f = where_;
  f.row_leaves = leaves_, f.position = CallPosition::From, f.filtered = true;
  f.once = demand_.once, f.resorted = f.row_marks = false;
  // Conditions that stayed here discard rows of the leaf, unless they ask only for its lock.
  for (std::size_t i = 0; i < level_.where.size(); ++i) {
    const Condition& c = where_conditions_[i];
    if (c.gate) continue;
    const SourceRange range = level_.where[i].range();
    if (c.semi_join) {
      discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::SemiJoin, range);
      if (leaf.kind == LeafKind::SubQuery) f.once = false;  // a join: read again and again on some plans
    } else if (!alone && !c.leaves.count(leaf.id) && !c.is_volatile) continue;
    else if (!alone && c.leaves.size() > 1) {
      if (!findsItsOwnRows(leaf)) discard(f, Rows::PlanDependent, Sureness::ByPlan, Cause::Join, range);
    } else {
      LockTest test = testOf(level_.where[i], leaf);
      discard(f, Rows::Superset, Sureness::Always, test.own_result ? Cause::OwnCondition : Cause::OuterCondition, range);
      f.discards.back().spared = std::move(test.spared);
    }
    f.pull = Pull::All;  // rows are asked for until one passes
  }
  std::set<int> outer;  // what it names of the other leaves
  const auto names = [&](const Term& t) {
    if (t.is(ExprKind::Column) && leaves_.count(t.leaf) && t.leaf != leaf.id) outer.insert(t.leaf);
  };
  for (const Level& l : leaf.query) forEachTerm(l, names);
  for (const Term& t : leaf.functions) forEachTerm(t, true, names);

  if (alone) {
    f.many = where_.many;
  } else if (!outer.empty()) {
    lateralLeaf(leaf, outer, on, f);
  } else if (!nullable && isOnlyRequired(leaf)) {
    if (f.limited) discard(f, Rows::PlanDependent, Sureness::ByPlan, f.limit_blame.cause, f.limit_blame.range);
    f.many = true;
  } else {
    joinedLeaf(leaf, f);
  }
  if (leaf.kind == LeafKind::Function) return functionLeaf(leaf, outer, f);
  if (leaf.kind == LeafKind::Cte) {
    if (!leaf.self_reference && leaf.cte >= 0) tree_.ctes[static_cast<std::size_t>(leaf.cte)].demands.push_back(f);
    return;
  }
  dropUnused(leaf);
  f.unconditional = false;
  runLevel(leaf.query[0], f, tree_);
}

void LevelRun::leaves() {
  const std::function<void(FromNode&, bool, const std::vector<Term>*)> walk = [&](FromNode& n, bool nullable,
                                                                                  const std::vector<Term>* on) {
    if (n.is_leaf) return leaf(n.leaf, nullable, on);
    for (std::size_t i = 0; i < n.sides.size(); ++i)
      walk(n.sides[i], nullable || n.join == JoinType::Full || (n.join == JoinType::Left && i == 1), &n.on);
  };
  for (FromNode& n : level_.from) walk(n, false, nullptr);
}

}  // namespace pglocklint::evaluation

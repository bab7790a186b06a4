// How many rows a level gives: more than one, or at most one because unique keys are bound.
//
// A row is picked when a unique key of its table is equated, column by column, with what is the same for all rows: constants,
// parameters, columns of an enclosing level, and columns of tables whose row is picked already. So
// `t JOIN k ON k.t_id = t.id WHERE k.name = 'x'` is one row, though no constant stands beside t.id. ON of an outer join picks rows
// of its nullable side only; a full join gives unmatched rows of both sides.
#include <algorithm>
#include <map>

#include "program/evaluate_level.h"

namespace pglocklint::evaluation {

namespace {

using ColumnName = std::pair<int, std::string>;  // leaf, name

// column = other, where it stands to pick rows of `leaf`.
struct Equality {
  ColumnName column;
  std::vector<ColumnName> needs;  // columns of this level on the other side
  bool done = false;
};

class OneRow {
 public:
  OneRow(const Level& level, const Tree& tree) : tree_(tree), leaves_(leavesOf(level.from)) {
    for (const FromNode& n : level.from) node(n, leaves_, false);
    for (const Term& c : level.where) condition(c, leaves_);
  }

  // Follows the equalities as far as they lead; `all` or just the leaf.
  bool all() { return !never_ && settle([&] { return std::ranges::all_of(leaves_, [&](int l) { return single_.count(l) > 0; }); }); }
  bool leaf(int wanted) { return !never_ && settle([&] { return single_.count(wanted) > 0; }); }

 private:
  static constexpr int kMostRounds = 32;
  static constexpr std::size_t kMostEqualities = 2000;

  // Conditions below the nullable side of an outer join pick rows of that side only.
  void node(const FromNode& n, const std::set<int>& reach, bool nullable) {
    if (n.is_leaf) return leaf(n.leaf);
    never_ |= n.join == JoinType::Full;
    for (std::size_t i = 0; i < n.sides.size(); ++i) {
      const bool outer = (n.join == JoinType::Left && i == 1) || (n.join == JoinType::Right && i == 0);
      node(n.sides[i], outer ? leavesOf(n.sides[i]) : reach, nullable || outer);
    }
    if (n.join == JoinType::Left || n.join == JoinType::Right) {
      if (n.sides.size() != 2) return;
      const std::set<int> side = leavesOf(n.sides[n.join == JoinType::Left ? 1 : 0]);
      for (const Term& c : n.on) condition(c, side);
    } else {
      const std::set<int> inside = nullable ? leavesOf(n) : reach;
      for (const Term& c : n.on) condition(c, inside);
    }
  }

  void leaf(const Leaf& l) {
    if (leafGivesOneRow(l, tree_)) single_.insert(l.id);
    else if (l.id < 0) never_ = true;
    else if (l.kind == LeafKind::Table && tree_.info(l.id).relation) keyed_.push_back(l.id);
  }

  void condition(const Term& c, const std::set<int>& reach) {
    const bool list_of_one = c.is(ExprKind::InList) && !c.negated && c.args.size() == 2;
    if (!(isEquivalence(c) || list_of_one) || volatileDirect(c) || namesUnknownLeaf(c) || equalities_.size() >= kMostEqualities) return;
    for (std::size_t side = 0; side < 2; ++side) {
      const Term& column = c.args[side];
      if (!column.is(ExprKind::Column) || !reach.count(column.leaf)) continue;
      Equality e{{column.leaf, column.name}, {}};
      forEachTerm(c.args[1 - side], true, [&](const Term& t) {
        if (t.is(ExprKind::Column) && leaves_.count(t.leaf)) e.needs.emplace_back(t.leaf, t.name);
      });
      equalities_.push_back(std::move(e));
    }
  }

  bool isFixed(const ColumnName& c) const { return single_.count(c.first) > 0 || fixed_.count(c) > 0; }

  bool picks(int leaf) const {
    const auto& keys = tree_.info(leaf).relation->unique_keys;
    return std::ranges::any_of(keys, [&](const auto& key) {
      return !key.empty() && std::ranges::all_of(key, [&](const std::string& c) { return fixed_.count({leaf, c}) > 0; });
    });
  }

  template <class Done>
  bool settle(const Done& done) {
    for (int round = 0; round < kMostRounds && !done(); ++round) {
      bool changed = false;
      for (Equality& e : equalities_)
        if (!e.done && std::ranges::all_of(e.needs, [&](const ColumnName& c) { return isFixed(c); }))
          e.done = true, changed = true, fixed_.insert(e.column);
      for (const int l : keyed_)
        if (!single_.count(l) && picks(l)) single_.insert(l), changed = true;
      if (!changed) break;
    }
    return done();
  }

  const Tree& tree_;
  std::set<int> leaves_, single_;
  std::vector<int> keyed_;
  std::vector<Equality> equalities_;
  std::set<ColumnName> fixed_;
  bool never_ = false;
};

}  // namespace

bool scanGivesOneRow(const Level& l, const Tree& tree) {
  OneRow rows(l, tree);
  // Each row of the target is written once, whatever it is joined with.
  return l.kind == QueryKind::Update || l.kind == QueryKind::Delete ? rows.leaf(l.target_leaf) : rows.all();
}

bool levelGivesOneRow(const Level& l, const Tree& tree) {
  if (l.kind == QueryKind::Values) return l.rows.size() <= 1;
  if (l.kind == QueryKind::Insert) return l.arms.empty() || levelGivesOneRow(l.arms[0], tree);
  if (l.kind == QueryKind::Update || l.kind == QueryKind::Delete) return scanGivesOneRow(l, tree);
  if (l.kind != QueryKind::Select) return false;
  if (!l.limit.empty() && isOne(l.limit[0]) && !l.with_ties) return true;
  if (levelReturnsSets(l)) return false;
  if (!l.grouped && levelAggregates(l)) return true;
  return scanGivesOneRow(l, tree);
}

bool leafGivesOneRow(const Leaf& leaf, const Tree& tree) {
  switch (leaf.kind) {
    case LeafKind::SubQuery: return !leaf.query.empty() && levelGivesOneRow(leaf.query[0], tree);
    case LeafKind::Cte: {
      if (leaf.self_reference || leaf.cte < 0) return false;
      const CteDef& def = tree.ctes[static_cast<std::size_t>(leaf.cte)];
      if (def.recursive || def.level.empty()) return false;
      if (def.one_row < 0) def.one_row = levelGivesOneRow(def.level[0], tree);  // asked once, however many read it
      return def.one_row > 0;
    }
    case LeafKind::Function:
      return leaf.functions.size() == 1 && leaf.functions[0].callee.known && !leaf.functions[0].callee.returns_set;
    default: return false;
  }
}

}  // namespace pglocklint::evaluation

// What a level is like: how many rows it gives, in which order, from where.
#include <algorithm>
#include <cstdlib>

#include "program/evaluate_level.h"

namespace pglocklint::evaluation {

namespace {

bool isInteger(const Term& t, long long value) {
  return t.is(ExprKind::Const) && t.literal == LiteralKind::Integer && t.text.size() < 18 && std::atoll(t.text.c_str()) == value;
}

}  // namespace

bool isZero(const Term& t) { return isInteger(t, 0); }
bool isOne(const Term& t) { return isInteger(t, 1); }

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

namespace {
RowOrder orderOf(const Level& l, const Tree& tree, int depth);
}

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
  constexpr std::size_t kEnough = 8;  // a key has few columns
  for (const SortKey& k : l.order_by) {
    if (out.size() == kEnough) break;
    out.push_back(k.target >= 0 ? l.targets[static_cast<std::size_t>(k.target)].term : k.term);
  }
  return out;
}

RowOrder naturalOrder(const Level& l, const Tree& tree, int depth) {
  if (l.grouped || l.distinct != DistinctKind::None || levelAggregates(l) || levelHasWindow(l)) return {};
  const Leaf* leaf = onlyLeaf(l);
  return leaf ? orderOfLeaf(*leaf, tree, depth) : RowOrder{};
}

namespace {
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
}  // namespace

bool indexGives(const std::vector<Term>& order, const Level& l, const Tree& tree) {
  if (order.empty() || !order[0].is(ExprKind::Column) || order[0].leaf < 0) return false;
  const Leaf* leaf = onlyLeaf(l);
  if (!leaf || leaf->id != order[0].leaf || (leaf->kind != LeafKind::Table)) return false;
  const LeafInfo& info = tree.info(leaf->id);
  const auto leads = [&](const auto& columns) { return !columns.empty() && columns[0] == order[0].name; };
  return info.relation && (std::any_of(info.relation->indexes.begin(), info.relation->indexes.end(), leads) ||
                           std::any_of(info.relation->unique_keys.begin(), info.relation->unique_keys.end(), leads));
}

bool isSemiJoin(const Term& c) {
  const Term& t = c.is(ExprKind::Not) && c.args.size() == 1 ? c.args[0] : c;
  if (!t.is(ExprKind::SubSelect) || t.query.empty()) return false;
  if (t.sublink == SubLink::Any) return &t == &c && std::none_of(t.args.begin(), t.args.end(), [](const Term& a) { return volatileDeep(a); });
  return t.sublink == SubLink::Exists && correlated(t.query[0]) && !volatileDeep(t.query[0]);
}

namespace {

// Rows of generate_series(constants) or unnest(ARRAY[…]); -1 for anything else.
long long constantRows(const Term& call) {
  const auto number = [](const Term& t) -> std::optional<long long> {
    if (t.is(ExprKind::Const) && t.literal == LiteralKind::Integer && t.text.size() < 18) return std::atoll(t.text.c_str());
    return std::nullopt;
  };
  if (call.name == "unnest" && call.args.size() == 1 && call.args[0].is(ExprKind::Array))
    return static_cast<long long>(call.args[0].args.size());
  if (call.name != "generate_series" || call.args.size() < 2) return -1;
  const auto from = number(call.args[0]), to = number(call.args[1]);
  const auto step = call.args.size() > 2 ? number(call.args[2]) : std::optional<long long>(1);
  if (!from || !to || !step || *step == 0) return -1;
  return std::max(0LL, (*to - *from) / *step + 1);
}

}  // namespace

WholeSource wholeSource(const Leaf& leaf, const Tree& tree) {
  WholeSource out;
  const Leaf* source = &leaf;
  for (int depth = 0; depth < 20 && source->kind == LeafKind::SubQuery && !source->query.empty(); ++depth) {
    const Level& below = source->query[0];
    if (below.kind == QueryKind::Values) {
      out.series = static_cast<long long>(below.rows.size());
      return out;
    }
    const Leaf* next = onlyLeaf(below);
    if (!next || below.kind != QueryKind::Select || !below.where.empty() || !below.having.empty() || !below.limit.empty() ||
        !below.offset.empty() || below.grouped || below.distinct != DistinctKind::None)
      return out;
    source = next;
  }
  const bool stored = source->kind == LeafKind::Table || source->kind == LeafKind::Unknown;
  if (stored && source->source && source->source->kind == FromKind::Relation && !source->source->sampled &&
      tree.info(source->id).policies.empty())
    out.relation = source->source->name;
  if (source->kind == LeafKind::Function && source->functions.size() == 1) out.series = constantRows(source->functions[0]);
  return out;
}

}  // namespace pglocklint::evaluation

#include "single_key.h"

#include <algorithm>

#include "program/walk.h"

namespace pglocklint {
namespace {

// Columns of the rows in the key; variables and parameters are the same for all of them.
std::vector<const Expr*> rowColumns(const Expr& call, const FunctionIndex& index) {
  std::vector<const Expr*> out;
  struct V {
    std::vector<const Expr*>& out;
    const FunctionIndex& index;
    void onExpr(const Expr& e, const QueryLevels&) {
      if (isRowColumn(e, index)) out.push_back(&e);
    }
  } v{out, index};
  QueryWalker<V>(v).expr(call);
  return out;
}

void conjuncts(const Expr& e, std::vector<const Expr*>& out) {
  if (e.kind == ExprKind::And)
    for (const Expr& a : e.args) conjuncts(a, out);
  else
    out.push_back(&e);
}

bool isNamed(const FromItem& item, const std::string& name) {
  if (item.kind == FromKind::Join) return std::ranges::any_of(item.sides, [&](const FromItem& side) { return isNamed(side, name); });
  return name == (item.alias.empty() ? item.name : item.alias);
}

// ON of an outer join says nothing about the rows of the side that is kept: a LEFT JOIN b ON a.id = 4 gives every row of a.
void onConditions(const FromItem& item, std::vector<const Expr*>& out) {
  for (const FromItem& side : item.sides) onConditions(side, out);
  std::vector<const Expr*> own;
  for (const Expr& e : item.on) conjuncts(e, own);
  const bool outer = item.join == JoinType::Left || item.join == JoinType::Right || item.join == JoinType::Full;
  for (const Expr* c : own) {
    const auto kept = [&](const Expr& e) {
      const std::size_t nullable = item.join == JoinType::Left ? 1 : 0;
      return e.kind == ExprKind::Column &&
             (item.join == JoinType::Full || item.sides.size() != 2 || !isNamed(item.sides[nullable], e.qualifier));
    };
    if (!outer || std::ranges::none_of(c->args, kept)) out.push_back(c);
  }
}

std::vector<const Expr*> conditions(const Query& q) {
  std::vector<const Expr*> out;
  for (const Expr& e : q.where) conjuncts(e, out);
  for (const FromItem& item : q.from) onConditions(item, out);
  return out;
}

bool sameColumn(const Expr& a, const Expr& b) {
  return a.kind == ExprKind::Column && b.kind == ExprKind::Column && a.name == b.name &&
         (a.qualifier == b.qualifier || a.qualifier.empty() || b.qualifier.empty());
}

// column = something that is the same for all rows
const Expr* boundColumn(const Expr& condition, const FunctionIndex& index) {
  if (condition.kind != ExprKind::Op || condition.name != "=" || condition.args.size() != 2) return nullptr;
  for (const std::size_t side : {0U, 1U}) {
    const Expr &column = condition.args[side], &other = condition.args[1 - side];
    if (isRowColumn(column, index) && rowColumns(other, index).empty() && other.kind != ExprKind::SubSelect) return &column;
  }
  return nullptr;
}

bool isLiteral(const Expr& e) { return e.kind == ExprKind::Const && e.literal == LiteralKind::String; }

// Nothing is known about the relation, and `id = $1` may well pick one row. An equality with a text literal hardly does.
bool maybeOneRow(const Query& q, const std::vector<const Expr*>& conditions, const FunctionIndex& index,
                 const Catalogue& catalogue) {
  if (q.from.size() != 1 || q.from[0].kind != FromKind::Relation || catalogue.relation(q.from[0].schema, q.from[0].name))
    return false;
  return std::ranges::any_of(
      conditions, [&](const Expr* c) { return boundColumn(*c, index) && !isLiteral(c->args[0]) && !isLiteral(c->args[1]); });
}

}  // namespace

bool isRowColumn(const Expr& expr, const FunctionIndex& index) {
  return expr.kind == ExprKind::Column && !index.isVariable(expr.qualifier.empty() ? expr.name : expr.qualifier);
}

bool takesOneKey(const LockSite& site, const FunctionIndex& index, const Catalogue& catalogue, bool expects_several) {
  if (site.key.constant) return true;
  const std::vector<const Expr*> columns = rowColumns(*site.call, index);
  if (!site.level) return columns.empty();
  const std::vector<const Expr*> all = conditions(*site.level);
  std::vector<const Expr*> bound;
  for (const Expr* c : all)
    if (const Expr* b = boundColumn(*c, index)) bound.push_back(b);
  const bool all_bound = std::ranges::all_of(columns, [&](const Expr* column) {
    return std::ranges::any_of(bound, [&](const Expr* b) { return sameColumn(*b, *column); });
  });
  return all_bound || (!expects_several && maybeOneRow(*site.level, all, index, catalogue));
}

}  // namespace pglocklint

#include "row_order.h"

#include <algorithm>

namespace pglocklint {
namespace {

constexpr int kDeepest = 16;
constexpr int kMostSteps = 1000;  // views upon views can ask for more

bool constant(const Expr& e) {
  return e.kind == ExprKind::Const || (e.kind == ExprKind::Cast && !e.args.empty() && constant(e.args[0]));
}

RowOrder values(const Query& q) {
  if (q.rows.size() == 1) return RowOrder::Single;
  const bool all = std::all_of(q.rows.begin(), q.rows.end(),
                               [](const auto& row) { return std::all_of(row.begin(), row.end(), constant); });
  return all ? RowOrder::Ordered : RowOrder::Unknown;
}

// ARRAY[a, b] of variables is as unordered as they are; of constants, or of least and greatest, it is the same everywhere.
RowOrder elements(const Expr& e) {
  if (e.args.size() == 1) return RowOrder::Single;
  if (std::all_of(e.args.begin(), e.args.end(), constant)) return RowOrder::Ordered;
  if (std::any_of(e.args.begin(), e.args.end(), [](const Expr& a) { return a.kind == ExprKind::MinMax; }))
    return RowOrder::Ordered;
  return RowOrder::Unknown;
}

bool aggregates(const Query& q) {
  return std::any_of(q.targets.begin(), q.targets.end(), [](const Target& t) {
    const Builtin* b = t.expr.kind == ExprKind::Call && !t.expr.call_window ? findBuiltin(t.expr.name) : nullptr;
    return b && b->kind == BuiltinKind::Aggregate;
  });
}

}  // namespace

RowOrder RowOrders::ofQuery(const Query& q, int depth) {
  if (depth > kDeepest || ++steps_ > kMostSteps) return RowOrder::Unknown;
  if (!q.order_by.empty()) return RowOrder::Ordered;
  if (q.limit.size() == 1 && q.limit[0].literal == LiteralKind::Integer && q.limit[0].text == "1") return RowOrder::Single;
  if (q.kind == QueryKind::Values) return values(q);
  if (q.kind == QueryKind::SetOperation) return q.set_all ? arms(q, depth) : RowOrder::Unordered;
  if (q.kind != QueryKind::Select) return RowOrder::Unordered;  // RETURNING
  if (!q.group_by.empty() || q.distinct != DistinctKind::None) return RowOrder::Unordered;
  if (aggregates(q)) return RowOrder::Single;
  if (q.from.empty()) return targets(q, depth);
  if (q.from.size() > 1) return RowOrder::Unordered;
  return leaf(q, q.from[0], depth);
}

RowOrder RowOrders::ofArrayAt(const Expr& e, int depth) {
  if (depth > kDeepest) return RowOrder::Unknown;
  switch (e.kind) {
    case ExprKind::Const: return RowOrder::Ordered;  // '{3,1,2}': the same at every call
    case ExprKind::Cast: return e.args.empty() ? RowOrder::Unknown : ofArrayAt(e.args[0], depth + 1);
    case ExprKind::Array: return elements(e);
    case ExprKind::SubSelect: return e.sublink == SubLink::None || e.query.empty() ? RowOrder::Unknown : subSelect(e, depth);
    case ExprKind::Call: return call(e, depth);
    case ExprKind::Coalesce: return e.args.empty() ? RowOrder::Unknown : ofArrayAt(e.args[0], depth + 1);
    case ExprKind::Column: return variable(e, depth);
    case ExprKind::Param: return ofPlaceholder(e);
    default: return RowOrder::Unknown;
  }
}

RowOrder RowOrders::arms(const Query& q, int depth) {
  RowOrder worst = RowOrder::Ordered;
  for (const Query& arm : q.arms) {
    const RowOrder o = ofQuery(arm, depth + 1);
    if (o == RowOrder::Unknown) return o;
    if (o == RowOrder::Unordered) worst = o;
  }
  return worst;
}

// SELECT unnest(…): a set-returning function in the select list; otherwise one row.
RowOrder RowOrders::targets(const Query& q, int depth) {
  for (const Target& t : q.targets) {
    if (t.expr.kind != ExprKind::Call) continue;
    const Builtin* b = findBuiltin(t.expr.name);
    if (b && b->kind == BuiltinKind::SetReturning) return setReturning(t.expr, depth);
    if (!b && catalogue_.routine(t.expr.qualifier, t.expr.name, t.expr.args.size()) == nullptr) return RowOrder::Unknown;
  }
  return RowOrder::Single;
}

RowOrder RowOrders::leaf(const Query& q, const FromItem& item, int depth) {
  switch (item.kind) {
    case FromKind::Relation: {
      for (const Cte& c : q.ctes)
        if (c.name == item.name && !c.query.empty()) return ofQuery(c.query[0], depth + 1);
      const Relation* r = catalogue_.relation(item.schema, item.name);
      if (r && r->kind == RelationKind::View)
        return r->view && depth < kDeepest ? ofQuery(*r->view, depth + 1) : RowOrder::Unknown;
      return RowOrder::Unordered;
    }
    case FromKind::SubQuery:
    case FromKind::Values: return item.query.empty() ? RowOrder::Unknown : ofQuery(item.query[0], depth + 1);
    case FromKind::Function: return item.functions.size() == 1 ? setReturning(item.functions[0], depth) : RowOrder::Unknown;
    case FromKind::Join: return RowOrder::Unordered;
    case FromKind::Other: break;
  }
  return RowOrder::Unknown;
}

RowOrder RowOrders::setReturning(const Expr& e, int depth) {
  if (e.kind != ExprKind::Call) return RowOrder::Unknown;
  if (e.name == "generate_series" || e.name == "generate_subscripts") return RowOrder::Ordered;
  if (e.name == "unnest" && e.args.size() == 1) return ofArrayAt(e.args[0], depth + 1);
  static constexpr std::string_view kElements[] = {"json_array_elements",       "json_array_elements_text", "jsonb_array_elements",
                                                   "jsonb_array_elements_text", "regexp_split_to_table",    "string_to_table"};
  if (std::ranges::find(kElements, e.name) != std::end(kElements)) return asWritten(e);
  return RowOrder::Unknown;
}

RowOrder RowOrders::subSelect(const Expr& e, int depth) {
  const Query& q = e.query[0];
  if (e.sublink == SubLink::Array) return ofQuery(q, depth + 1);
  return q.targets.size() == 1 ? ofArrayAt(q.targets[0].expr, depth + 1)
                               : RowOrder::Unknown;  // (SELECT array_agg(…) FROM …)
}

RowOrder RowOrders::call(const Expr& e, int depth) {
  if (e.name == "array_agg") return !e.call_order.empty() || e.call_distinct ? RowOrder::Ordered : RowOrder::Unordered;
  if (e.name == "string_to_array" || e.name == "regexp_split_to_array") return asWritten(e);
  if (e.name == "array_remove" && !e.args.empty()) return ofArrayAt(e.args[0], depth + 1);
  return RowOrder::Unknown;  // sort(), a function of the program
}

// Elements in the order of a document or text: a parameter's is as the caller likes.
RowOrder RowOrders::asWritten(const Expr& call) {
  const Expr* from = call.args.empty() ? nullptr : &call.args[0];
  while (from && from->kind == ExprKind::Cast && !from->args.empty()) from = &from->args[0];
  if (!from || !index_ || from->kind != ExprKind::Column || !index_->assignments(from->name).empty()) return RowOrder::Unknown;
  return ofParameter(from->name);
}

// A variable is as its assignments leave it: one unsorted assignment is enough. A parameter that is never assigned is as the
// caller likes.
RowOrder RowOrders::variable(const Expr& e, int depth) {
  if (!index_) return RowOrder::Unknown;
  const auto [known, first] = variables_.try_emplace(e.name, RowOrder::Unknown);  // an array made from itself: not known
  if (!first) return known->second;
  const std::span<const Assignment> assignments = index_->assignments(e.name);
  RowOrder order = assignments.empty() ? ofParameter(e.name) : RowOrder::Ordered;
  for (const Assignment& a : assignments) {
    const RowOrder o = a.value ? ofArrayAt(*a.value, depth + 1) : RowOrder::Unknown;
    if (o == RowOrder::Unknown || (o == RowOrder::Unordered && order != RowOrder::Unknown)) order = o;
  }
  return variables_[e.name] = order;
}

// $1 of a prepared statement, a query file or a SQL function: as the caller likes. What a host program binds it may have sorted, and psql's
// :ids may be a constant.
RowOrder RowOrders::ofPlaceholder(const Expr& e) const {
  const bool numbered = !e.text.empty() && std::ranges::all_of(e.text, [](char c) { return c >= '0' && c <= '9'; });
  return numbered && index_ && index_->function().kind != FunctionKind::HostFunction ? RowOrder::Unordered : RowOrder::Unknown;
}

RowOrder RowOrders::ofParameter(const std::string& name) const {
  for (const Parameter& p : index_->function().parameters)
    if (p.name == name && p.mode != ParameterMode::Out && p.mode != ParameterMode::Table) return RowOrder::Unordered;
  return RowOrder::Unknown;
}

}  // namespace pglocklint

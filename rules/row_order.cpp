#include "row_order.h"

#include <algorithm>

#include "program/walk.h"
#include "routines.h"

namespace pglocklint {
namespace {

constexpr int kDeepest = 16;

class Reader {
 public:
  Reader(const Function* function, const Catalogue& catalogue) : function_(function), catalogue_(catalogue) {}

  RowOrder query(const Query& q, int depth) const {
    if (depth > kDeepest) return RowOrder::Unknown;
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

  RowOrder array(const Expr& e, int depth) const {
    if (depth > kDeepest) return RowOrder::Unknown;
    switch (e.kind) {
      case ExprKind::Const: return RowOrder::Ordered;  // '{3,1,2}': the same at every call
      case ExprKind::Cast: return e.args.empty() ? RowOrder::Unknown : array(e.args[0], depth + 1);
      case ExprKind::Array: return elements(e);
      case ExprKind::SubSelect:
        return e.sublink == SubLink::None || e.query.empty() ? RowOrder::Unknown : subSelect(e, depth);
      case ExprKind::Call: return call(e, depth);
      case ExprKind::Coalesce: return e.args.empty() ? RowOrder::Unknown : array(e.args[0], depth + 1);
      case ExprKind::Column: return variable(e, depth);
      default: return RowOrder::Unknown;
    }
  }

 private:
  static bool constant(const Expr& e) {
    return e.kind == ExprKind::Const || (e.kind == ExprKind::Cast && !e.args.empty() && constant(e.args[0]));
  }

  static RowOrder values(const Query& q) {
    if (q.rows.size() == 1) return RowOrder::Single;
    const bool all = std::all_of(q.rows.begin(), q.rows.end(),
                                 [](const auto& row) { return std::all_of(row.begin(), row.end(), constant); });
    return all ? RowOrder::Ordered : RowOrder::Unknown;
  }

  // ARRAY[a, b] of variables is as unordered as they are; of constants, or of least and greatest, it is the same everywhere.
  static RowOrder elements(const Expr& e) {
    if (e.args.size() == 1) return RowOrder::Single;
    if (std::all_of(e.args.begin(), e.args.end(), constant)) return RowOrder::Ordered;
    if (std::any_of(e.args.begin(), e.args.end(), [](const Expr& a) { return a.kind == ExprKind::MinMax; }))
      return RowOrder::Ordered;
    return RowOrder::Unknown;
  }

  RowOrder arms(const Query& q, int depth) const {
    RowOrder worst = RowOrder::Ordered;
    for (const Query& arm : q.arms) {
      const RowOrder o = query(arm, depth + 1);
      if (o == RowOrder::Unknown) return o;
      if (o == RowOrder::Unordered) worst = o;
    }
    return worst;
  }

  static bool aggregates(const Query& q) {
    return std::any_of(q.targets.begin(), q.targets.end(), [](const Target& t) {
      const Builtin* b = t.expr.kind == ExprKind::Call && !t.expr.call_window ? findBuiltin(t.expr.name) : nullptr;
      return b && b->kind == BuiltinKind::Aggregate;
    });
  }

  // SELECT unnest(…): a set-returning function in the select list; otherwise one row.
  RowOrder targets(const Query& q, int depth) const {
    for (const Target& t : q.targets) {
      if (t.expr.kind != ExprKind::Call) continue;
      const Builtin* b = findBuiltin(t.expr.name);
      if (b && b->kind == BuiltinKind::SetReturning) return setReturning(t.expr, depth);
      if (!b && catalogue_.routine(t.expr.qualifier, t.expr.name, t.expr.args.size()) == nullptr) return RowOrder::Unknown;
    }
    return RowOrder::Single;
  }

  RowOrder leaf(const Query& q, const FromItem& item, int depth) const {
    switch (item.kind) {
      case FromKind::Relation: {
        for (const Cte& c : q.ctes)
          if (c.name == item.name && !c.query.empty()) return query(c.query[0], depth + 1);
        const Relation* r = catalogue_.relation(item.schema, item.name);
        if (r && r->kind == RelationKind::View)
          return r->view && depth < kDeepest ? query(*r->view, depth + 1) : RowOrder::Unknown;
        return RowOrder::Unordered;
      }
      case FromKind::SubQuery:
      case FromKind::Values: return item.query.empty() ? RowOrder::Unknown : query(item.query[0], depth + 1);
      case FromKind::Function:
        return item.functions.size() == 1 ? setReturning(item.functions[0], depth) : RowOrder::Unknown;
      case FromKind::Join: return RowOrder::Unordered;
      case FromKind::Other: break;
    }
    return RowOrder::Unknown;
  }

  RowOrder setReturning(const Expr& e, int depth) const {
    if (e.kind != ExprKind::Call) return RowOrder::Unknown;
    if (e.name == "generate_series" || e.name == "generate_subscripts") return RowOrder::Ordered;
    if (e.name == "unnest" && e.args.size() == 1) return array(e.args[0], depth + 1);
    return RowOrder::Unknown;
  }

  RowOrder subSelect(const Expr& e, int depth) const {
    const Query& q = e.query[0];
    if (e.sublink == SubLink::Array) return query(q, depth + 1);
    return q.targets.size() == 1 ? array(q.targets[0].expr, depth + 1) : RowOrder::Unknown;  // (SELECT array_agg(…) FROM …)
  }

  RowOrder call(const Expr& e, int depth) const {
    if (e.name == "array_agg") return !e.call_order.empty() || e.call_distinct ? RowOrder::Ordered : RowOrder::Unordered;
    if (e.name == "array_remove" && !e.args.empty()) return array(e.args[0], depth + 1);
    return RowOrder::Unknown;  // sort(), a function of the program
  }

  // A variable is as its assignments leave it: one unsorted assignment is enough. A parameter that is never assigned is as
  // the caller likes.
  RowOrder variable(const Expr& e, int depth) const {
    if (!function_) return RowOrder::Unknown;
    bool assigned = false, unordered = false, unknown = false;
    const auto take = [&](RowOrder o) {
      assigned = true;
      unordered |= o == RowOrder::Unordered;
      unknown |= o == RowOrder::Unknown;
    };
    for (const Variable& v : function_->variables)
      if (v.name == e.name && !v.initial.empty()) take(array(v.initial[0], depth + 4));
    forEachStatement(*function_, [&](const Statement& s) {
      const auto at = std::find(s.into.begin(), s.into.end(), e.name);
      if (at == s.into.end() || s.query.empty()) return;
      const auto i = static_cast<std::size_t>(at - s.into.begin());
      take(i < s.query[0].targets.size() ? array(s.query[0].targets[i].expr, depth + 4) : RowOrder::Unknown);
    });
    if (assigned) return unknown ? RowOrder::Unknown : unordered ? RowOrder::Unordered : RowOrder::Ordered;
    const bool parameter = std::any_of(function_->parameters.begin(), function_->parameters.end(), [&](const Parameter& p) {
      return p.name == e.name &&
             (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Variadic);
    });
    return parameter ? RowOrder::Unordered : RowOrder::Unknown;
  }

  const Function* function_;
  const Catalogue& catalogue_;
};

}  // namespace

RowOrder rowOrder(const Query& query, const Function* function, const Catalogue& catalogue) {
  return Reader(function, catalogue).query(query, 0);
}
RowOrder arrayOrder(const Expr& array, const Function* function, const Catalogue& catalogue) {
  return Reader(function, catalogue).array(array, 0);
}

}  // namespace pglocklint

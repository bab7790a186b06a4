// Walking queries: every expression and every level, with the levels that enclose it.
#pragma once
#include <vector>

#include "model/unit.h"

namespace pglocklint {

using QueryLevels = std::vector<const Query*>;  // innermost first

// Visitor: may define onExpr(const Expr&, const QueryLevels&), called before the operands, and
// onLevel(const Query&, const QueryLevels&), called on entry (the level itself is then levels.front()), and
// onFrom(const FromItem&, const QueryLevels&).
template <class Visitor>
class QueryWalker {
 public:
  explicit QueryWalker(Visitor& visitor) : visitor_(visitor) {}

  void query(const Query& q) {
    levels_.insert(levels_.begin(), &q);
    if constexpr (requires { visitor_.onLevel(q, levels_); }) visitor_.onLevel(q, levels_);
    for (const Cte& c : q.ctes) queries(c.query);
    for (const Target& t : q.targets) expr(t.expr);
    if (!q.target->name.empty()) from(q.target);
    for (const FromItem& f : q.from) from(f);
    exprs(q.where), exprs(q.group_by), exprs(q.having), exprs(q.distinct_on);
    orders(q.order_by);
    exprs(q.limit), exprs(q.offset);
    for (const auto& row : q.rows) exprs(row);
    queries(q.arms);
    targets(q.sets);
    queries(q.source);
    targets(q.returning), targets(q.conflict_sets);
    exprs(q.conflict_where);
    for (const MergeWhen& w : q.merge) exprs(w.condition), targets(w.sets);
    levels_.erase(levels_.begin());
  }

  void expr(const Expr& e) {
    if constexpr (requires { visitor_.onExpr(e, levels_); }) visitor_.onExpr(e, levels_);
    exprs(e.args);
    queries(e.query);
    exprs(e.call_filter);
    orders(e.call_order);
    exprs(e.window_partition);
    orders(e.window_order);
  }

  void from(const FromItem& f) {
    if constexpr (requires { visitor_.onFrom(f, levels_); }) visitor_.onFrom(f, levels_);
    queries(f.query);
    exprs(f.functions);
    for (const FromItem& side : f.sides) from(side);
    exprs(f.on);
  }

  void statement(const Statement& s) {
    queries(s.query);
    exprs(s.exprs);
    exprs(s.using_args);
  }

 private:
  void exprs(const List<Expr>& list) {
    for (const Expr& e : list) expr(e);
  }
  void queries(const List<Query>& list) {
    for (const Query& q : list) query(q);
  }
  void targets(const List<Target>& list) {
    for (const Target& t : list) expr(t.expr);
  }
  void orders(const List<OrderItem>& list) {
    for (const OrderItem& o : list) expr(o.expr);
  }

  Visitor& visitor_;
  QueryLevels levels_;
};

// Calls f(expr, levels) for every expression of a statement.
template <class F>
void forEachExpr(const Statement& statement, F&& f) {
  struct V {
    F& f;
    void onExpr(const Expr& e, const QueryLevels& levels) { f(e, levels); }
  } v{f};
  QueryWalker<V>(v).statement(statement);
}

// Calls f(statement) for every statement event of a function, in block order.
template <class F>
void forEachStatement(const Function& function, F&& f) {
  for (const Block& b : function.blocks)
    for (const Event& e : b.events)
      for (const Statement& s : e.statement) f(s);
}

}  // namespace pglocklint

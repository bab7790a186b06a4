// Function calls, and what has no shape of its own.
#include <algorithm>
#include <array>

#include "sql/lower_tree.h"
#include "sql/types.h"

namespace pglocklint::sql {
namespace {

// In the order of SQLValueFunctionOp, which starts at 1.
constexpr std::array<std::string_view, 15> kValueFunctions{
    "current_date", "current_time", "current_time",   "current_timestamp", "current_timestamp",
    "localtime",    "localtime",    "localtimestamp", "localtimestamp",    "current_role",
    "current_user", "user",         "session_user",   "current_catalog",   "current_schema"};

std::string_view valueFunctionName(PgQuery__SQLValueFunctionOp op) {
  const auto i = static_cast<std::size_t>(op) - 1;
  return i < kValueFunctions.size() ? kValueFunctions[i] : std::string_view("?");
}

}  // namespace

Span Lowering::call(const PgQuery__FuncCall& c, Expr& out) {
  out.kind = ExprKind::Call;
  const NodeList names = nodes(c.n_funcname, c.funcname);
  const Span written = callSpan(c.location);
  const Span name = written.known() ? nameSpan(c.location) : Span{};
  if (!names.empty()) out.name = nameAt(name.last, stringOf(names.back()));
  if (names.size() > 1) out.qualifier = nameAt(name.known() ? name.last - 2 : -1, stringOf(names[names.size() - 2]));
  out.quoted_name = name.known() && tokens_[name.last].kind == TokenKind::QuotedWord;
  out.call_id = 0;
  out.call_star = c.agg_star, out.call_distinct = c.agg_distinct, out.variadic = c.func_variadic;

  Span span = written.known() ? written : token(c.location);
  for (const Node* n : nodes(c.n_args, c.args)) {
    const Node* value = n;
    if (n->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR) {
      out.arg_names.resize(out.args.size());
      out.arg_names.emplace_back(n->named_arg_expr->name);
      value = n->named_arg_expr->arg;
    }
    span = tokens_.hull(span, expr(value, out.args.emplace_back()));
  }
  if (!out.arg_names.empty()) out.arg_names.resize(out.args.size());
  // (a, b) OVERLAPS (c, d) only looks like a call: what stands before the word is part of it.
  const bool prefix_form = written.known() && span.first == written.first;
  out.range = range(prefix_form ? written : span);
  out.call_order = orderItems(nodes(c.n_agg_order, c.agg_order));
  if ((out.has_filter = contentOf(c.agg_filter))) optionalExpr(c.agg_filter, out.call_filter);
  if (const PgQuery__WindowDef* w = c.over) {
    out.call_window = true;
    const std::string_view other = w->name && *w->name ? w->name : w->refname ? w->refname : "";
    if (!other.empty() && !windows_.empty())
      for (const Node* n : windows_.back())
        if (n->node_case == PG_QUERY__NODE__NODE_WINDOW_DEF && n->window_def->name && n->window_def->name == other) {
          const auto& named = *n->window_def;
          exprs(nodes(named.n_partition_clause, named.partition_clause), out.window_partition);
          out.window_order = orderItems(nodes(named.n_order_clause, named.order_clause));
        }
    exprs(nodes(w->n_partition_clause, w->partition_clause), out.window_partition);
    if (w->n_order_clause > 0) out.window_order = orderItems(nodes(w->n_order_clause, w->order_clause));
  }
  return prefix_form ? afterCall(span) : span;
}

Span Lowering::valueFunction(const PgQuery__SQLValueFunction& f, Expr& out) {
  out.kind = ExprKind::Call, out.call_id = 0;
  out.name = valueFunctionName(f.op);
  const Span with_precision = callSpan(f.location);
  return with_precision.known() ? with_precision : token(f.location);
}

List<OrderItem> Lowering::orderItems(NodeList list) {
  List<OrderItem> items;
  for (const Node* n : list) {
    OrderItem& item = items.emplace_back();
    if (n->node_case != PG_QUERY__NODE__NODE_SORT_BY) {
      expr(n, item.expr);
      continue;
    }
    const auto& sort = *n->sort_by;
    expr(sort.node, item.expr);
    item.descending = sort.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
    if (sort.sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST) item.nulls = NullsOrder::First;
    if (sort.sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST) item.nulls = NullsOrder::Last;
  }
  return items;
}

// The expressions just below a node that we have no shape for (XML, JSON, …). Types and names in between are passed over.
Span Lowering::generic(const ProtobufCMessage& message, Expr& out) {
  out.kind = ExprKind::Other, out.text = message.descriptor->short_name;
  Span span = callSpan(locationOf(message));
  if (!span.known()) span = token(locationOf(message));
  forEachMessage(message, [&](const ProtobufCMessage& m) {
    if (m.descriptor == &pg_query__type_name__descriptor) return false;
    if (m.descriptor != &pg_query__node__descriptor) return true;
    const auto& node = reinterpret_cast<const Node&>(m);
    switch (node.node_case) {
      case PG_QUERY__NODE__NODE_LIST:
      case PG_QUERY__NODE__NODE_STRING:
      case PG_QUERY__NODE__NODE_DEF_ELEM:
      case PG_QUERY__NODE__NODE_RANGE_TABLE_FUNC_COL: return true;
      case PG_QUERY__NODE__NODE_RES_TARGET: return true;
      default:
        // Wrappers of the JSON syntax (JsonValueExpr, JsonKeyValue, …) are passed over too.
        if (const auto* content = contentOf(&node);
            !content || std::string_view(content->descriptor->short_name).starts_with("Json"))
          return true;
        Expr e;
        const Span inner = expr(&node, e);
        span = tokens_.hull(span, inner);
        out.args.push_back(std::move(e));
        return false;
    }
  });
  return span;
}

// Below kMaxDepth: the calls alone; of their arguments only that they are there.
Span Lowering::flattened(const ProtobufCMessage& message, Expr& out) {
  out.kind = ExprKind::Other, out.text = "too deep";
  forEachMessage(message, [&](const ProtobufCMessage& m) {
    if (m.descriptor != &pg_query__func_call__descriptor) return true;
    const auto& c = reinterpret_cast<const PgQuery__FuncCall&>(m);
    Expr& e = out.args.emplace_back();
    e.kind = ExprKind::Call, e.call_id = 0;
    if (c.n_funcname > 0) e.name = stringOf(c.funcname[c.n_funcname - 1]);
    if (c.n_funcname > 1) e.qualifier = stringOf(c.funcname[c.n_funcname - 2]);
    const Span written = callSpan(c.location);
    e.range = range(written.known() ? written : token(c.location));
    for (std::size_t i = 0; i < c.n_args; ++i) {
      Expr& argument = e.args.emplace_back();
      argument.kind = ExprKind::Other, argument.text = "too deep", argument.range = e.range;
    }
    return true;
  });
  return token(firstLocation(message));
}

// The outermost calls in a statement of which nothing else is kept.
List<Expr> Lowering::callsIn(const ProtobufCMessage& message) {
  List<Expr> calls;
  forEachMessage(message, [&](const ProtobufCMessage& m) {
    if (m.descriptor != &pg_query__node__descriptor) return true;
    const auto& node = reinterpret_cast<const Node&>(m);
    if (node.node_case != PG_QUERY__NODE__NODE_FUNC_CALL) return true;
    Expr e;
    expr(&node, e);
    calls.push_back(std::move(e));
    return false;
  });
  return calls;
}

namespace {

struct FiguredName {
  std::string name;
  int strength = 0;  // 2: sure; 1: only if nothing better is found further out
};

FiguredName figure(const Node* node, int depth) {
  if (!contentOf(node) || depth > 100) return {};
  const auto last = [](std::size_t n, Node* const* names) { return n ? std::string(stringOf(names[n - 1])) : std::string(); };
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: {
      const auto& c = *node->column_ref;
      for (std::size_t i = c.n_fields; i-- > 0;)
        if (!stringOf(c.fields[i]).empty()) return {std::string(stringOf(c.fields[i])), 2};
      return {};
    }
    case PG_QUERY__NODE__NODE_A_INDIRECTION: {
      const auto& a = *node->a_indirection;
      for (std::size_t i = a.n_indirection; i-- > 0;)
        if (!stringOf(a.indirection[i]).empty()) return {std::string(stringOf(a.indirection[i])), 2};
      return figure(a.arg, depth + 1);
    }
    case PG_QUERY__NODE__NODE_FUNC_CALL: return {last(node->func_call->n_funcname, node->func_call->funcname), 2};
    case PG_QUERY__NODE__NODE_A_EXPR:
      if (node->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF) return {"nullif", 2};
      return {};
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
      FiguredName inner = figure(node->type_cast->arg, depth + 1);
      if (inner.strength > 1 || !node->type_cast->type_name) return inner;
      return {last(node->type_cast->type_name->n_names, node->type_cast->type_name->names), 1};
    }
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return figure(node->collate_clause->arg, depth + 1);
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return {"grouping", 2};
    case PG_QUERY__NODE__NODE_SUB_LINK: {
      const auto& s = *node->sub_link;
      if (s.sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK) return {"exists", 2};
      if (s.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK) return {"array", 2};
      if (s.sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK || !contentOf(s.subselect) ||
          s.subselect->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
        return {};
      const PgQuery__SelectStmt* select = s.subselect->select_stmt;
      for (int i = 0; select->larg && i < 100; ++i) select = select->larg;
      if (select->n_values_lists > 0) return {"column1", 2};
      if (select->n_target_list != 1 || select->target_list[0]->node_case != PG_QUERY__NODE__NODE_RES_TARGET) return {};
      const auto& t = *select->target_list[0]->res_target;
      if (t.name && *t.name) return {t.name, 2};
      FiguredName inner = figure(t.val, depth + 1);
      return {inner.strength ? inner.name : "?column?", 2};
    }
    case PG_QUERY__NODE__NODE_CASE_EXPR: {
      FiguredName inner = figure(node->case_expr->defresult, depth + 1);
      return inner.strength > 1 ? inner : FiguredName{"case", 1};
    }
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return {"array", 2};
    case PG_QUERY__NODE__NODE_ROW_EXPR: return {"row", 2};
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return {"coalesce", 2};
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      return {node->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_LEAST ? "least" : "greatest", 2};
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return {std::string(valueFunctionName(node->sqlvalue_function->op)), 2};
    default: return {};
  }
}

}  // namespace

std::string figureColumnName(const Node* node) {
  const FiguredName f = figure(node, 0);
  return f.strength > 0 ? f.name : "?column?";
}

}  // namespace pglocklint::sql

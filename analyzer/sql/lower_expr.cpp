// Expressions: constants, columns, operators, CASE, casts, sub-selects. Calls are in lower_call.cpp.
#include <algorithm>

#include "sql/lower_tree.h"
#include "sql/types.h"

namespace pglocklint::sql {

Span Lowering::expr(const Node* node, Expr& out) {
  const ProtobufCMessage* content = contentOf(node);
  if (!content) return {};
  Nest nest(*this);
  const Span span = depth_ > kMaxDepth ? flattened(*content, out) : exprOf(*node, out);
  if (!out.range.known()) out.range = range(span);
  return span;
}

Span Lowering::exprs(NodeList list, List<Expr>& out) {
  Span span;
  for (const Node* n : list) {
    if (!contentOf(n)) continue;
    Expr e;
    span = tokens_.hull(span, expr(n, e));
    out.push_back(std::move(e));
  }
  return span;
}

void Lowering::optionalExpr(const Node* node, List<Expr>& out) {
  if (contentOf(node)) expr(node, out.emplace_back());
}

Span Lowering::exprOf(const Node& node, Expr& out) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_A_CONST: return constant(*node.a_const, out);
    case PG_QUERY__NODE__NODE_COLUMN_REF: return column(*node.column_ref, out);
    case PG_QUERY__NODE__NODE_FUNC_CALL: return call(*node.func_call, out);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return valueFunction(*node.sqlvalue_function, out);
    case PG_QUERY__NODE__NODE_A_EXPR: return operation(*node.a_expr, out);
    case PG_QUERY__NODE__NODE_BOOL_EXPR: return boolean(*node.bool_expr, out);
    case PG_QUERY__NODE__NODE_TYPE_CAST: return cast(*node.type_cast, out);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return caseOf(*node.case_expr, out);
    case PG_QUERY__NODE__NODE_SUB_LINK: return sublink(*node.sub_link, out);
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return subscript(*node.a_indirection, out);
    case PG_QUERY__NODE__NODE_PARAM_REF: {
      const Span span = token(node.param_ref->location);
      out.kind = ExprKind::Param;
      const auto* p = placeholderAt(span.first);
      out.text = p ? p->written : std::to_string(node.param_ref->number);
      return span;
    }
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: {
      const auto& e = *node.coalesce_expr;
      return listed(ExprKind::Coalesce, e.location, nodes(e.n_args, e.args), out);
    }
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: {
      const auto& e = *node.min_max_expr;
      out.name = e.op == PG_QUERY__MIN_MAX_OP__IS_LEAST ? "least" : "greatest";
      return listed(ExprKind::MinMax, e.location, nodes(e.n_args, e.args), out);
    }
    case PG_QUERY__NODE__NODE_ROW_EXPR: {
      const auto& e = *node.row_expr;
      return listed(ExprKind::Row, e.location, nodes(e.n_args, e.args), out);
    }
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: {
      const auto& e = *node.a_array_expr;
      return listed(ExprKind::Array, e.location, nodes(e.n_elements, e.elements), out);
    }
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: {
      const auto& e = *node.grouping_func;
      out.text = "grouping";
      return listed(ExprKind::Other, e.location, nodes(e.n_args, e.args), out);
    }
    case PG_QUERY__NODE__NODE_NULL_TEST: {
      const auto& e = *node.null_test;
      out.kind = ExprKind::NullTest;
      out.negated = e.nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NOT_NULL;
      Span span = tokens_.hull(expr(e.arg, out.args.emplace_back()), token(e.location));
      while (span.known() && (tokens_.isWord(span.last + 1, "not") || tokens_.isWord(span.last + 1, "null")) &&
             !tokens_.isWord(span.last, "null") && !tokens_.isWord(span.last, "isnull") && !tokens_.isWord(span.last, "notnull"))
        ++span.last;
      return span;
    }
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: {
      const auto& e = *node.boolean_test;
      const auto index = static_cast<int>(e.booltesttype) - static_cast<int>(PG_QUERY__BOOL_TEST_TYPE__IS_TRUE);
      out.kind = ExprKind::BoolTest;
      out.negated = index % 2 == 1;
      out.text = index < 2 ? "true" : index < 4 ? "false" : "unknown";
      Span span = tokens_.hull(expr(e.arg, out.args.emplace_back()), token(e.location));
      if (span.known()) span.last = std::min(span.last + (out.negated ? 2 : 1), tokens_.size() - 1);
      return span;
    }
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: {
      const auto& e = *node.collate_clause;
      out.kind = ExprKind::Other, out.text = "collate";
      Span name;
      if (const Span word = token(e.location); word.known())
        name = tokens_.hull(word, nameSpan(static_cast<int>(tokens_[std::min(word.last + 1, tokens_.size() - 1)].begin)));
      return tokens_.hull(expr(e.arg, out.args.emplace_back()), name);
    }
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT: out.kind = ExprKind::Default; return token(node.set_to_default->location);
    case PG_QUERY__NODE__NODE_SELECT_STMT: {
      out.kind = ExprKind::SubSelect, out.sublink = SubLink::Array;
      const Span region = regionAround(*node.select_stmt);
      out.query.push_back(query(&node, region));
      return region;
    }
    case PG_QUERY__NODE__NODE_LIST: {
      out.kind = ExprKind::Row;
      return exprs(nodes(node.list->n_items, node.list->items), out.args);
    }
    default: return generic(*contentOf(&node), out);
  }
}

// name(args), ROW(args), (args), ARRAY[args], [args]: up to the bracket's partner.
Span Lowering::listed(ExprKind kind, int location, NodeList args, Expr& out) {
  out.kind = kind;
  const Span inside = exprs(args, out.args);
  const Span word = token(location);
  const std::int32_t open = tokens_.match(word.first) >= 0 ? word.first : word.first + 1;
  if (word.known() && tokens_.match(open) > open) return {word.first, tokens_.match(open)};
  return tokens_.hull(word, inside);
}

Span Lowering::constant(const PgQuery__AConst& c, Expr& out) {
  Span span = token(c.location);
  if (const auto* p = placeholderAt(span.first); p && span.known() && p->begin <= tokens_[span.first].begin) {
    out.kind = ExprKind::Param, out.text = p->written;
    return span;
  }
  // The grammar has folded signs into the number; its place is that of the first sign.
  if (span.known() && tokens_[span.first].kind == TokenKind::Operator) {
    std::int32_t i = span.first;
    while (i + 1 < tokens_.size() && tokens_[i].kind != TokenKind::Number) ++i;
    span = tokens_.hull(span, {i, i});
  }
  out.kind = ExprKind::Const;
  if (c.isnull) {
    out.literal = LiteralKind::Null;
    return span;
  }
  switch (c.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL: out.literal = LiteralKind::Integer, out.text = std::to_string(c.ival->ival); break;
    case PG_QUERY__A__CONST__VAL_FVAL:
      out.text = normalNumber(c.fval->fval);
      out.literal = isIntegerText(out.text) ? LiteralKind::Integer : LiteralKind::Numeric;
      break;
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
      out.literal = LiteralKind::Boolean, out.text = c.boolval->boolval ? "true" : "false";
      break;
    case PG_QUERY__A__CONST__VAL_SVAL: out.literal = LiteralKind::String, out.text = c.sval->sval, splitTemplate(span, out); break;
    case PG_QUERY__A__CONST__VAL_BSVAL: out.literal = LiteralKind::BitString, out.text = c.bsval->bsval; break;
    default:  // protobuf leaves a zero integer out
      out.literal = LiteralKind::Integer, out.text = "0";
  }
  return span;
}

// 'job:${id}': what a template puts into the literal varies from run to run. The pieces become the literal's operands.
void Lowering::splitTemplate(Span span, Expr& literal) const {
  if (text_.placeholders.empty() || !span.known()) return;
  const Token& t = tokens_[span.first];
  std::size_t done = 0;
  const auto piece = [&](ExprKind kind, std::string text) {
    Expr e;
    e.kind = kind, e.range = literal.range, e.text = std::move(text);
    if (kind == ExprKind::Const) e.literal = LiteralKind::String;
    literal.args.push_back(std::move(e));
  };
  auto p = std::ranges::lower_bound(text_.placeholders, t.begin, {}, &RewrittenPlaceholder::begin);
  for (; p != text_.placeholders.end() && p->end < t.end; ++p) {
    const std::size_t at = literal.text.find(p->written, done);
    if (at == std::string::npos) break;
    if (at > done) piece(ExprKind::Const, literal.text.substr(done, at - done));
    piece(ExprKind::Param, p->written);
    done = at + p->written.size();
  }
  if (done > 0 && done < literal.text.size()) piece(ExprKind::Const, literal.text.substr(done));
}

Span Lowering::column(const PgQuery__ColumnRef& c, Expr& out) {
  const Span span = nameSpan(c.location);
  const NodeList fields = nodes(c.n_fields, c.fields);
  if (fields.size() == 1)
    if (const auto* p = placeholderAt(span.first); p && tokens_[span.first].begin == p->begin) {
      out.kind = ExprKind::Param, out.text = p->written;
      return span;
    }
  const auto nameOf = [&](std::size_t i) {
    return nameAt(span.known() ? span.first + 2 * static_cast<std::int32_t>(i) : -1, stringOf(fields[i]));
  };
  out.kind = ExprKind::Column;
  if (fields.empty()) return span;
  if (fields.back()->node_case == PG_QUERY__NODE__NODE_A_STAR)
    out.kind = ExprKind::Star;
  else
    out.name = nameOf(fields.size() - 1);
  if (fields.size() > 1) out.qualifier = nameOf(fields.size() - 2);
  if (span.known()) out.quoted_name = tokens_[span.last].kind == TokenKind::QuotedWord;
  return span;
}

Span Lowering::operation(const PgQuery__AExpr& e, Expr& out) {
  const std::string_view name = e.n_name ? stringOf(e.name[e.n_name - 1]) : std::string_view{};
  const auto both = [&](ExprKind kind) {
    out.kind = kind;
    const Span left = expr(e.lexpr, out.args.emplace_back());
    return tokens_.hull(tokens_.hull(left, token(e.location)), expr(e.rexpr, out.args.emplace_back()));
  };
  const auto withList = [&](ExprKind kind) {
    out.kind = kind;
    Span span = tokens_.hull(expr(e.lexpr, out.args.emplace_back()), token(e.location));
    if (contentOf(e.rexpr) && e.rexpr->node_case == PG_QUERY__NODE__NODE_LIST)
      span = tokens_.hull(span, exprs(nodes(e.rexpr->list->n_items, e.rexpr->list->items), out.args));
    else
      span = tokens_.hull(span, expr(e.rexpr, out.args.emplace_back()));
    return span;
  };
  // The bracket after IN, ANY, ALL: it closes behind the last element.
  const auto closing = [&](Span span) {
    std::int32_t i = token(e.location).first;
    for (; i >= 0 && i <= span.last; ++i)
      if (tokens_.isText(i, "(") && (tokens_.isWord(i - 1, "in") || tokens_.isWord(i - 1, "any") ||
                                     tokens_.isWord(i - 1, "all") || tokens_.isWord(i - 1, "some")))
        return tokens_.hull(span, Span{i, std::max(i, tokens_.match(i))});
    return span;
  };
  switch (e.kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP: return operatorChain(e, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
      out.name = name;
      out.text = e.kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY ? "any" : "all";
      return closing(both(ExprKind::AnyAll));
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT: return both(ExprKind::Distinct);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT: out.negated = true; return both(ExprKind::Distinct);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: {
      const Span span = both(ExprKind::NullIf), written = callSpan(e.location);
      return written.known() ? written : span;
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: out.negated = name == "<>"; return closing(withList(ExprKind::InList));
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN: out.negated = true; return withList(ExprKind::Between);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN: return withList(ExprKind::Between);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM: out.negated = true; [[fallthrough]];
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM: out.name = "symmetric"; return withList(ExprKind::Between);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
      out.name = name, out.negated = name.starts_with("!");
      return both(ExprKind::Like);
    default: return generic(e.base, out);
  }
}

// a op b op c … leans to the left. Runs of one operator become one node; a chain that alternates too often becomes a flat list.
Span Lowering::operatorChain(const PgQuery__AExpr& top, Expr& out) {
  std::vector<const PgQuery__AExpr*> links{&top};
  const auto isLink = [](const Node* n) {
    return n && n->node_case == PG_QUERY__NODE__NODE_A_EXPR && n->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP &&
           n->a_expr->lexpr && n->a_expr->rexpr;
  };
  while (isLink(links.back()->lexpr)) links.push_back(links.back()->lexpr->a_expr);
  std::ranges::reverse(links);
  const auto nameOf = [](const PgQuery__AExpr* e) { return e->n_name ? stringOf(e->name[e->n_name - 1]) : std::string_view{}; };
  std::size_t runs = 1;
  for (std::size_t i = 1; i < links.size(); ++i) runs += nameOf(links[i]) != nameOf(links[i - 1]);
  const bool flat = runs > kMaxRuns;
  Nest nest(*this, flat ? 0 : static_cast<int>(runs) - 1);

  Expr chain;
  Span span;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const PgQuery__AExpr& e = *links[i];
    if (i == 0) {
      chain.kind = flat ? ExprKind::Other : ExprKind::Op;
      if (contentOf(e.lexpr)) span = expr(e.lexpr, chain.args.emplace_back());
    } else if (!flat && nameOf(&e) != chain.name) {
      chain.range = range(span);
      Expr next;
      next.kind = ExprKind::Op;
      next.args.push_back(std::move(chain));
      chain = std::move(next);
    }
    if (flat) {
      chain.text = "operators";
    } else {
      chain.name = nameOf(&e);
      if (e.n_name > 1) chain.qualifier = stringOf(e.name[0]);
    }
    span = tokens_.hull(span, token(e.location));
    if (contentOf(e.rexpr)) span = tokens_.hull(span, expr(e.rexpr, chain.args.emplace_back()));
  }
  out = std::move(chain);
  out.range = range(span);
  // @name touching its column is a driver's parameter; PostgreSQL's absolute value is written with a space or never at all.
  if (out.name == "@" && out.args.size() == 1 && out.args[0].is(ExprKind::Column) && out.args[0].qualifier.empty() &&
      span.known() && tokens_[span.first].end == tokens_[span.last].begin) {
    Expr parameter;
    parameter.kind = ExprKind::Param, parameter.range = out.range;
    parameter.text = written(tokens_[span.first].begin, tokens_[span.last].end);
    out = std::move(parameter);
  } else if (out.name == "+" && out.args.size() == 1 && out.args[0].is(ExprKind::Const) &&
             (out.args[0].literal == LiteralKind::Integer || out.args[0].literal == LiteralKind::Numeric)) {
    Expr number = std::move(out.args[0]);
    number.range = out.range;
    out = std::move(number);
  }
  return span;
}

Span Lowering::boolean(const PgQuery__BoolExpr& e, Expr& out) {
  const bool negation = e.boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR;
  out.kind = negation ? ExprKind::Not : e.boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR ? ExprKind::Or : ExprKind::And;
  Span span = negation ? token(e.location) : Span{};
  for (const Node* n : nodes(e.n_args, e.args)) {
    Expr arg;
    span = tokens_.hull(span, expr(n, arg));
    if (!negation && arg.kind == out.kind)
      std::ranges::move(arg.args, std::back_inserter(out.args));
    else
      out.args.push_back(std::move(arg));
  }
  return span;
}

// x::a::b … leans to the left as well. The forms CAST(x AS t) and  t 'literal'  have their place elsewhere.
Span Lowering::cast(const PgQuery__TypeCast& top, Expr& out) {
  std::vector<const PgQuery__TypeCast*> links{&top};
  while (links.back()->arg && links.back()->arg->node_case == PG_QUERY__NODE__NODE_TYPE_CAST && links.size() < kMaxRuns)
    links.push_back(links.back()->arg->type_cast);
  Nest nest(*this, static_cast<int>(links.size()) - 1);
  Span span = expr(links.back()->arg, out);
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    const PgQuery__TypeCast& c = **link;
    Expr outer;
    outer.kind = ExprKind::Cast, outer.type = typeOf(c.type_name);
    outer.args.push_back(std::move(out));
    const Span written = tokens_.isWord(token(c.location).first, "cast") ? callSpan(c.location) : Span{};
    if (written.known())
      span = written;
    else if (c.type_name)
      span = tokens_.hull(span, typeSpan(c.type_name->location));
    outer.range = range(span);
    out = std::move(outer);
  }
  return span;
}

Span Lowering::caseOf(const PgQuery__CaseExpr& e, Expr& out) {
  out.kind = ExprKind::Case;
  Span span = token(e.location);
  const auto add = [&](const Node* n) { span = tokens_.hull(span, expr(n, out.args.emplace_back())); };
  if ((out.has_operand = contentOf(e.arg))) add(e.arg);
  for (const Node* n : nodes(e.n_args, e.args)) {
    if (!n || n->node_case != PG_QUERY__NODE__NODE_CASE_WHEN) continue;
    add(n->case_when->expr);
    add(n->case_when->result);
  }
  if ((out.has_else = contentOf(e.defresult))) add(e.defresult);
  if (span.known() && tokens_.isWord(span.last + 1, "end")) ++span.last;
  return span;
}

Span Lowering::sublink(const PgQuery__SubLink& s, Expr& out) {
  out.kind = ExprKind::SubSelect;
  switch (s.sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK: out.sublink = SubLink::Exists; break;
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK: out.sublink = SubLink::All; break;
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK: out.sublink = SubLink::Any; break;
    case PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK: out.sublink = SubLink::Array; break;
    default: out.sublink = SubLink::Scalar;
  }
  Span span = token(s.location);
  if (contentOf(s.testexpr)) span = tokens_.hull(span, expr(s.testexpr, out.args.emplace_back()));
  if (out.sublink == SubLink::Any || out.sublink == SubLink::All)
    out.name = s.n_oper_name ? stringOf(s.oper_name[s.n_oper_name - 1]) : "=";
  // The bracket that holds the query: at the place itself, or after EXISTS, ARRAY, IN, ANY, ALL.
  std::int32_t open = token(s.location).first;
  const auto holds = [&](std::int32_t i) {
    return tokens_.isText(i, "(") &&
           (out.sublink == SubLink::Scalar || tokens_.isWord(i - 1, "exists") || tokens_.isWord(i - 1, "array") ||
            tokens_.isWord(i - 1, "in") || tokens_.isWord(i - 1, "any") || tokens_.isWord(i - 1, "all") ||
            tokens_.isWord(i - 1, "some"));
  };
  for (int step = 0; open >= 0 && !holds(open) && step < 12; ++step) ++open;
  Span region = holds(open) ? tokens_.inside(open) : Span{};
  if (!region.known() && s.subselect && s.subselect->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
    region = regionAround(*s.subselect->select_stmt);
  out.query.push_back(query(s.subselect, region));
  if (region.known()) span = tokens_.hull(span, {region.first - 1, region.last + 1});
  return span;
}

Span Lowering::subscript(const PgQuery__AIndirection& a, Expr& out) {
  if (a.n_indirection > kMaxRuns) return flattened(a.base, out);
  Nest nest(*this, static_cast<int>(a.n_indirection));
  Expr value;
  Span span = expr(a.arg, value);
  for (const Node* n : nodes(a.n_indirection, a.indirection)) {
    Expr outer;
    outer.kind = ExprKind::Subscript;
    outer.args.push_back(std::move(value));
    while (span.known() && tokens_.isText(span.last + 1, ")") && tokens_.match(span.last + 1) >= 0)
      span = {std::min(span.first, tokens_.match(span.last + 1)), span.last + 1};
    if (n->node_case == PG_QUERY__NODE__NODE_A_INDICES) {
      optionalExpr(n->a_indices->lidx, outer.args);
      optionalExpr(n->a_indices->uidx, outer.args);
      if (span.known() && tokens_.isText(span.last + 1, "[")) span.last = std::max(span.last, tokens_.match(span.last + 1));
    } else {
      if (span.known() && tokens_.isText(span.last + 1, ".")) span.last = std::min(span.last + 2, tokens_.size() - 1);
      outer.name = n->node_case == PG_QUERY__NODE__NODE_A_STAR ? "*" : nameAt(span.last, stringOf(n));
    }
    outer.range = range(span);
    value = std::move(outer);
  }
  out = std::move(value);
  return span;
}

}  // namespace pglocklint::sql

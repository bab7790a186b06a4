// Query levels: SELECT, VALUES, set operations, WITH, and the FROM tree.
#include <algorithm>

#include "sql/lower_tree.h"

namespace pglocklint::sql {

List<Query> Lowering::optionalQuery(const Node* node, Span outer) {
  List<Query> result;
  if (contentOf(node)) result.push_back(query(node, outer));
  return result;
}

Query Lowering::query(const Node* node, Span outer) {
  Nest nest(*this);
  const ProtobufCMessage* content = contentOf(node);
  if (!content) return {};
  if (depth_ > kMaxDepth) {
    Query q;
    q.range = range(outer);
    flattened(*content, q.targets.emplace_back().expr);
    return q;
  }
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT: return select(*node->select_stmt, outer);
    case PG_QUERY__NODE__NODE_INSERT_STMT: return insert(*node->insert_stmt, outer);
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return update(*node->update_stmt, outer);
    case PG_QUERY__NODE__NODE_DELETE_STMT: return remove(*node->delete_stmt, outer);
    case PG_QUERY__NODE__NODE_MERGE_STMT: return merge(*node->merge_stmt, outer);
    default: {
      Query q;
      q.range = range(outer);
      generic(*content, q.targets.emplace_back().expr);
      return q;
    }
  }
}

Query Lowering::select(const PgQuery__SelectStmt& s, Span outer) {
  const Levels levels = levelsOf(s, outer);
  Query q;
  q.range = range(levels.whole);
  ctes(s.with_clause, q);
  if (s.op != PG_QUERY__SET_OPERATION__SETOP_NONE) {
    setOperation(s, levels, q);
  } else {
    windows_.push_back(nodes(s.n_window_clause, s.window_clause));
    simpleSelect(s, q);
    if (q.distinct != DistinctKind::None && levels.keyword >= 0) {
      const std::int32_t word = levels.keyword + 1;
      const std::int32_t open = word + 2;
      const bool on = tokens_.isWord(word + 1, "on") && tokens_.match(open) > open;
      if (tokens_.isWord(word, "distinct")) q.distinct_range = range({word, on ? tokens_.match(open) : word});
    }
    trailingClauses(s, levels, q);
    windows_.pop_back();
    return q;
  }
  trailingClauses(s, levels, q);
  return q;
}

void Lowering::simpleSelect(const PgQuery__SelectStmt& s, Query& q) {
  if (s.n_values_lists > 0) {
    q.kind = QueryKind::Values;
    for (const Node* n : nodes(s.n_values_lists, s.values_lists)) {
      List<Expr>& row = q.rows.emplace_back();
      if (n->node_case == PG_QUERY__NODE__NODE_LIST) exprs(nodes(n->list->n_items, n->list->items), row);
    }
    return;
  }
  q.from = fromItems(nodes(s.n_from_clause, s.from_clause));
  optionalExpr(s.where_clause, q.where);
  q.targets = targets(nodes(s.n_target_list, s.target_list));
  for (const Node* n : nodes(s.n_group_clause, s.group_clause)) {
    if (n->node_case != PG_QUERY__NODE__NODE_GROUPING_SET) {
      optionalExpr(n, q.group_by);
      continue;
    }
    q.grouping_sets = true;  // one flat list: which column is in which set does not matter here
    forEachMessage(n->grouping_set->base, [&](const ProtobufCMessage& m) {
      if (m.descriptor != &pg_query__node__descriptor) return true;
      const auto& inner = reinterpret_cast<const Node&>(m);
      if (inner.node_case == PG_QUERY__NODE__NODE_GROUPING_SET || inner.node_case == PG_QUERY__NODE__NODE_ROW_EXPR) return true;
      optionalExpr(&inner, q.group_by);
      return false;
    });
  }
  optionalExpr(s.having_clause, q.having);
  if (s.n_distinct_clause > 0) {
    exprs(nodes(s.n_distinct_clause, s.distinct_clause), q.distinct_on);
    q.distinct = q.distinct_on.empty() ? DistinctKind::All : DistinctKind::On;
  }
}

namespace {

LockStrength strengthOf(PgQuery__LockClauseStrength s) {
  switch (s) {
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORKEYSHARE: return LockStrength::KeyShare;
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORSHARE: return LockStrength::Share;
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORNOKEYUPDATE: return LockStrength::NoKeyUpdate;
    default: return LockStrength::Update;
  }
}

WaitPolicy policyOf(PgQuery__LockWaitPolicy p) {
  if (p == PG_QUERY__LOCK_WAIT_POLICY__LockWaitSkip) return WaitPolicy::Skip;
  return p == PG_QUERY__LOCK_WAIT_POLICY__LockWaitError ? WaitPolicy::NoWait : WaitPolicy::Block;
}

bool hasOwnClauses(const PgQuery__SelectStmt& s) {
  return s.with_clause || s.n_sort_clause > 0 || s.limit_count || s.limit_offset || s.n_locking_clause > 0;
}

std::string text(const char* s) { return s ? s : ""; }

}  // namespace

void Lowering::trailingClauses(const PgQuery__SelectStmt& s, const Levels& levels, Query& q) {
  q.order_by = orderItems(nodes(s.n_sort_clause, s.sort_clause));
  if (contentOf(s.limit_count)) optionalExpr(s.limit_count, q.limit);
  if (contentOf(s.limit_offset)) optionalExpr(s.limit_offset, q.offset);
  q.with_ties = s.limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES;
  for (const Node* n : nodes(s.n_locking_clause, s.locking_clause)) {
    if (n->node_case != PG_QUERY__NODE__NODE_LOCKING_CLAUSE) continue;
    const auto& c = *n->locking_clause;
    LockingClause& lock = q.locking.emplace_back();
    lock.range = q.range;
    lock.strength = strengthOf(c.strength), lock.wait = policyOf(c.wait_policy);
    for (const Node* r : nodes(c.n_locked_rels, c.locked_rels))
      if (r->node_case == PG_QUERY__NODE__NODE_RANGE_VAR) lock.relations.push_back(text(r->range_var->relname));
  }
  if (q.order_by.empty() && q.limit.empty() && q.offset.empty() && q.locking.empty()) return;
  // Clauses of one level may stand inside and outside its brackets: (SELECT … ORDER BY 1) LIMIT 1.
  std::size_t locking = 0;
  for (const Span level : levels.inner)
    for (const Clause& c : clausesAt(level)) switch (c.kind) {
        case ClauseKind::Order:
          if (!q.order_range->known()) q.order_range = range(c.span);
          break;
        case ClauseKind::Limit:
          if (!q.limit_range->known()) q.limit_range = range(c.span);
          break;
        case ClauseKind::Offset:
          if (!q.offset_range->known()) q.offset_range = range(c.span);
          break;
        case ClauseKind::Locking:
          if (locking < q.locking.size()) q.locking[locking++].range = range(c.span);
          break;
      }
}

// a UNION b UNION c leans to the left; its arms become siblings. Each arm is found between the keywords of its level.
void Lowering::setOperation(const PgQuery__SelectStmt& s, const Levels& levels, Query& q) {
  q.kind = QueryKind::SetOperation, q.set_all = s.all;
  q.set_operator = s.op == PG_QUERY__SET_OPERATION__SETOP_UNION       ? SetOperator::Union
                   : s.op == PG_QUERY__SET_OPERATION__SETOP_INTERSECT ? SetOperator::Intersect
                                                                      : SetOperator::Except;
  const auto isOperation = [](const PgQuery__SelectStmt* n) { return n && n->op != PG_QUERY__SET_OPERATION__SETOP_NONE; };
  // A chain that alternates between operators too often is kept flat, too.
  std::size_t alternations = 0;
  for (const auto* n = &s; isOperation(n->larg); n = n->larg) alternations += n->op != n->larg->op || n->all != n->larg->all;
  const bool flat = alternations > kMaxRuns;
  std::vector<const PgQuery__SelectStmt*> arms;
  const PgQuery__SelectStmt* left = &s;
  while (true) {
    if (left->rarg) arms.push_back(left->rarg);
    const bool same =
        isOperation(left->larg) && !hasOwnClauses(*left->larg) && left->larg->op == s.op && left->larg->all == s.all;
    if (!same && !(flat && isOperation(left->larg))) break;
    left = left->larg;
  }
  if (left->larg) arms.push_back(left->larg);
  std::ranges::reverse(arms);

  const Span level = levels.inner.front();
  std::vector<Span> segments;
  std::int32_t begin = level.first;
  const std::int32_t goal = tokens_.parent(level.first);
  const auto onLevel = [&](std::int32_t t) {
    while (t >= 0 && tokens_.parent(t) != goal && tokens_.parent(t) >= 0) t = tokens_.parent(t);
    return t;
  };
  for (std::int32_t i = level.first; level.known() && i <= level.last; i = tokens_.skip(i)) {
    if (!tokens_.isClauseWord(i, "union") && !tokens_.isClauseWord(i, "intersect") && !tokens_.isClauseWord(i, "except"))
      continue;
    segments.push_back({begin, i - 1});
    begin = i + 1;
    if (tokens_.isWord(begin, "all") || tokens_.isWord(begin, "distinct")) ++begin;
  }
  segments.push_back({begin, level.last});
  const auto trailing = clausesAt(segments.back());
  if (!trailing.empty()) segments.back().last = trailing.front().span.first - 1;
  const auto segmentOf = [&](std::int32_t t) {
    const auto after = std::ranges::upper_bound(segments, onLevel(t), {}, &Span::first);
    return after == segments.begin() ? segments.front() : *(after - 1);
  };

  const Nest nest(*this);
  for (const PgQuery__SelectStmt* arm : arms) {
    const PgQuery__SelectStmt* last = arm;
    while (isOperation(last) && last->rarg) last = last->rarg;
    Span region = segmentOf(startToken(*arm));
    region.last = std::max(region.last, segmentOf(startToken(*last)).last);
    if (arm == arms.front() && s.with_clause) {  // the WITH list belongs to the whole
      const PgQuery__SelectStmt* leaf = arm;
      while (isOperation(leaf) && leaf->larg) leaf = leaf->larg;
      if (const std::int32_t t = onLevel(startToken(*leaf)); t > region.first) region.first = t;
    }
    if (depth_ > kMaxDepth) {
      Query& deep = q.arms.emplace_back();
      deep.range = range(region);
      flattened(arm->base, deep.targets.emplace_back().expr);
    } else {
      q.arms.push_back(select(*arm, region));
    }
  }
}

void Lowering::ctes(const PgQuery__WithClause* with, Query& q) {
  if (!with) return;
  for (const Node* n : nodes(with->n_ctes, with->ctes)) {
    if (n->node_case != PG_QUERY__NODE__NODE_COMMON_TABLE_EXPR) continue;
    const auto& c = *n->common_table_expr;
    Cte& cte = q.ctes.emplace_back();
    const Span name = token(c.location);
    cte.name = nameAt(name.first, text(c.ctename));
    cte.recursive = with->recursive;
    cte.column_aliases = stringsOf(nodes(c.n_aliascolnames, c.aliascolnames));
    if (c.ctematerialized == PG_QUERY__CTEMATERIALIZE__CTEMaterializeAlways) cte.materialize = Materialize::Always;
    if (c.ctematerialized == PG_QUERY__CTEMATERIALIZE__CTEMaterializeNever) cte.materialize = Materialize::Never;
    Span region;
    if (name.known()) {
      std::int32_t i = name.last + 1;
      if (tokens_.isText(i, "(")) i = tokens_.skip(i);
      while (tokens_.isWord(i, "as") || tokens_.isWord(i, "not") || tokens_.isWord(i, "materialized")) ++i;
      region = tokens_.inside(i);
      cte.name_range = range(name);
      cte.range = range({name.first, std::max(name.last, tokens_.match(i))});
    }
    cte.query = optionalQuery(c.ctequery, region);
  }
}

Target Lowering::target(const PgQuery__ResTarget& t) {
  Target result;
  expr(t.val, result.expr);
  result.has_alias = t.name && *t.name;
  result.name = result.has_alias ? t.name : result.expr.is(ExprKind::Star) ? "*" : figureColumnName(t.val);
  return result;
}

List<Target> Lowering::targets(NodeList list) {
  List<Target> result;
  for (const Node* n : list)
    if (n->node_case == PG_QUERY__NODE__NODE_RES_TARGET) result.push_back(target(*n->res_target));
  return result;
}

// ---- FROM ----

List<FromItem> Lowering::fromItems(NodeList list) {
  List<FromItem> items;
  for (const Node* n : list) fromItem(n, items.emplace_back());
  return items;
}

Span Lowering::fromItem(const Node* node, FromItem& out) {
  const ProtobufCMessage* content = contentOf(node);
  if (!content) return {};
  Nest nest(*this);
  Span span;
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR: span = relation(*node->range_var, out); break;
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT: span = subquery(*node->range_subselect, out); break;
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION: span = fromFunction(*node->range_function, out); break;
    case PG_QUERY__NODE__NODE_JOIN_EXPR: span = join(*node->join_expr, out); break;
    case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE: {
      span = fromItem(node->range_table_sample->relation, out);
      out.sampled = true;
      const Span method = callSpan(node->range_table_sample->location);
      span = tokens_.hull(span, method);
      if (span.known() && tokens_.isWord(span.last + 1, "repeatable"))
        span.last = std::max(span.last, tokens_.match(span.last + 2));
      break;
    }
    default: {
      out.kind = FromKind::Other;
      span = generic(*content, out.functions.emplace_back());
      out.functions.back().range = range(span);
      span = aliasSpan(span);
    }
  }
  out.range = range(span);
  return span;
}

namespace {

void aliasOf(const PgQuery__Alias* a, FromItem& out) {
  if (!a) return;
  out.alias = text(a->aliasname);
  out.column_aliases = stringsOf(nodes(a->n_colnames, a->colnames));
}

}  // namespace

Span Lowering::relation(const PgQuery__RangeVar& r, FromItem& out) {
  out.kind = FromKind::Relation;
  Span span = nameSpan(r.location);
  out.name = nameAt(span.last, text(r.relname));
  if (r.schemaname && *r.schemaname) out.schema = nameAt(span.known() ? span.last - 2 : -1, r.schemaname);
  out.only = !r.inh;
  aliasOf(r.alias, out);
  if (!span.known()) return span;
  if (tokens_.isText(span.first - 1, "(") && tokens_.isWord(span.first - 2, "only"))
    span = {span.first - 1, tokens_.match(span.first - 1)};
  if (tokens_.isWord(span.first - 1, "only")) --span.first;
  if (tokens_.isText(span.last + 1, "*")) ++span.last;
  return r.alias ? aliasSpan(span) : span;
}

Span Lowering::subquery(const PgQuery__RangeSubselect& s, FromItem& out) {
  out.lateral = s.lateral;
  aliasOf(s.alias, out);
  Span span;
  if (s.subquery && s.subquery->node_case == PG_QUERY__NODE__NODE_SELECT_STMT) {
    Span region = regionAround(*s.subquery->select_stmt);
    // Out of brackets that hold nothing else: the outermost pair is the item's.
    while (region.known() && tokens_.match(region.first - 1) == region.last + 1 && tokens_.isText(region.first - 2, "(") &&
           tokens_.match(region.first - 2) == region.last + 2)
      region = {region.first - 1, region.last + 1};
    out.query.push_back(query(s.subquery, region));
    if (region.known()) span = {region.first - 1, std::min(region.last + 1, tokens_.size() - 1)};
  }
  out.kind = !out.query.empty() && out.query[0].kind == QueryKind::Values ? FromKind::Values : FromKind::SubQuery;
  if (span.known() && tokens_.isWord(span.first - 1, "lateral")) --span.first;
  return s.alias ? aliasSpan(span) : span;
}

Span Lowering::fromFunction(const PgQuery__RangeFunction& f, FromItem& out) {
  out.kind = FromKind::Function, out.lateral = f.lateral, out.ordinality = f.ordinality;
  aliasOf(f.alias, out);
  Span span;
  for (const Node* n : nodes(f.n_functions, f.functions)) {
    const Node* function = n->node_case == PG_QUERY__NODE__NODE_LIST && n->list->n_items > 0 ? n->list->items[0] : n;
    span = tokens_.hull(span, expr(function, out.functions.emplace_back()));
  }
  if (!span.known()) return span;
  if (f.is_rowsfrom && tokens_.isText(span.first - 1, "(") && tokens_.match(span.first - 1) > 0)
    span = {std::max(0, span.first - 3), tokens_.match(span.first - 1)};
  if (tokens_.isWord(span.first - 1, "lateral")) --span.first;
  if (f.ordinality && tokens_.isWord(span.last + 1, "with") && tokens_.isWord(span.last + 2, "ordinality")) span.last += 2;
  return f.alias || f.n_coldeflist > 0 ? aliasSpan(span) : span;
}

// a JOIN b JOIN c leans to the left; a chain longer than kMaxRuns becomes one item that lists its sides.
Span Lowering::join(const PgQuery__JoinExpr& top, FromItem& out) {
  std::vector<const PgQuery__JoinExpr*> links{&top};
  while (links.back()->larg && links.back()->larg->node_case == PG_QUERY__NODE__NODE_JOIN_EXPR)
    links.push_back(links.back()->larg->join_expr);
  std::ranges::reverse(links);
  const bool flat = links.size() > kMaxRuns || depth_ > kMaxDepth;
  Nest nest(*this, flat ? 0 : static_cast<int>(links.size()) - 1);

  FromItem left;
  Span span = fromItem(links.front()->larg, left);
  if (flat) {
    FromItem chain;
    chain.kind = FromKind::Other;
    chain.sides.push_back(std::move(left));
    left = std::move(chain);
  }
  for (const PgQuery__JoinExpr* j : links) {
    FromItem node;
    FromItem& into = flat ? left : node;
    if (!flat) {
      node.kind = FromKind::Join, node.natural = j->is_natural;
      node.sides.push_back(std::move(left));
    }
    span = tokens_.hull(span, fromItem(j->rarg, into.sides.emplace_back()));
    if (contentOf(j->quals)) span = tokens_.hull(span, expr(j->quals, into.on.emplace_back()));
    if (flat) continue;
    switch (j->jointype) {
      case PG_QUERY__JOIN_TYPE__JOIN_LEFT: node.join = JoinType::Left; break;
      case PG_QUERY__JOIN_TYPE__JOIN_RIGHT: node.join = JoinType::Right; break;
      case PG_QUERY__JOIN_TYPE__JOIN_FULL: node.join = JoinType::Full; break;
      default: node.join = j->quals || j->n_using_clause > 0 || j->is_natural ? JoinType::Inner : JoinType::Cross;
    }
    node.using_columns = stringsOf(nodes(j->n_using_clause, j->using_clause));
    if (!node.using_columns.empty() && span.known() && tokens_.isWord(span.last + 1, "using"))
      span.last = std::max(span.last, tokens_.match(span.last + 2));
    if (j->alias) {
      aliasOf(j->alias, node);
      if (span.known() && tokens_.isText(span.last + 1, ")") && tokens_.match(span.last + 1) >= 0)
        span = {std::min(span.first, tokens_.match(span.last + 1)), span.last + 1};
      span = aliasSpan(span);
    }
    node.range = range(span);
    left = std::move(node);
  }
  out = std::move(left);
  return span;
}

}  // namespace pglocklint::sql

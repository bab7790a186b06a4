// INSERT, UPDATE, DELETE, MERGE.
#include <algorithm>

#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

std::string text(const char* s) { return s ? s : ""; }

}  // namespace

// From WITH or the verb to the end of `outer`.
Span Lowering::dmlSpan(const PgQuery__RangeVar* relation, const PgQuery__WithClause* with, std::string_view word,
                       Span outer) const {
  std::int32_t begin = -1;
  if (with && with->location >= 0) begin = tokens_.at(with->location);
  if (begin < 0 && relation) {
    const std::int32_t name = tokens_.at(relation->location);
    for (std::int32_t i = name; i >= 0 && i > name - 5 && begin < 0; --i)
      if (tokens_.isWord(i, word)) begin = i;
  }
  if (begin < 0) return outer;
  const std::int32_t last = outer.known() ? outer.last : tokens_.whole().last;
  return {begin, std::max(begin, last)};
}

Query Lowering::insert(const PgQuery__InsertStmt& s, Span outer) {
  Query q;
  q.kind = QueryKind::Insert;
  const Span whole = dmlSpan(s.relation, s.with_clause, "insert", outer);
  q.range = range(whole);
  ctes(s.with_clause, q);
  if (s.relation) q.target.edit().range = range(relation(*s.relation, q.target.edit()));
  for (const Node* n : nodes(s.n_cols, s.cols))
    if (n->node_case == PG_QUERY__NODE__NODE_RES_TARGET) q.columns.push_back(text(n->res_target->name));
  Span source = upTo(whole, {"returning"});
  for (std::int32_t i = source.first; source.known() && i <= source.last; i = tokens_.skip(i))
    if (tokens_.isClauseWord(i, "on") && tokens_.isWord(i + 1, "conflict")) source.last = i - 1;
  q.source = optionalQuery(s.select_stmt, source);
  if (const PgQuery__OnConflictClause* c = s.on_conflict_clause) {
    q.conflict = c->action == PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_UPDATE ? ConflictAction::Update : ConflictAction::Nothing;
    q.conflict_sets = assignments(nodes(c->n_target_list, c->target_list));
    optionalExpr(c->where_clause, q.conflict_where);
  }
  q.returning = targets(nodes(s.n_returning_list, s.returning_list));
  return q;
}

Query Lowering::update(const PgQuery__UpdateStmt& s, Span outer) {
  Query q;
  q.kind = QueryKind::Update;
  q.range = range(dmlSpan(s.relation, s.with_clause, "update", outer));
  ctes(s.with_clause, q);
  if (s.relation) q.target.edit().range = range(relation(*s.relation, q.target.edit()));
  q.sets = assignments(nodes(s.n_target_list, s.target_list));
  q.from = fromItems(nodes(s.n_from_clause, s.from_clause));
  optionalExpr(s.where_clause, q.where);
  q.returning = targets(nodes(s.n_returning_list, s.returning_list));
  return q;
}

Query Lowering::remove(const PgQuery__DeleteStmt& s, Span outer) {
  Query q;
  q.kind = QueryKind::Delete;
  q.range = range(dmlSpan(s.relation, s.with_clause, "delete", outer));
  ctes(s.with_clause, q);
  if (s.relation) q.target.edit().range = range(relation(*s.relation, q.target.edit()));
  q.from = fromItems(nodes(s.n_using_clause, s.using_clause));
  optionalExpr(s.where_clause, q.where);
  q.returning = targets(nodes(s.n_returning_list, s.returning_list));
  return q;
}

Query Lowering::merge(const PgQuery__MergeStmt& s, Span outer) {
  Query q;
  q.kind = QueryKind::Merge;
  q.range = range(dmlSpan(s.relation, s.with_clause, "merge", outer));
  ctes(s.with_clause, q);
  if (s.relation) q.target.edit().range = range(relation(*s.relation, q.target.edit()));
  if (contentOf(s.source_relation)) fromItem(s.source_relation, q.from.emplace_back());
  optionalExpr(s.join_condition, q.where);
  for (const Node* n : nodes(s.n_merge_when_clauses, s.merge_when_clauses)) {
    if (n->node_case != PG_QUERY__NODE__NODE_MERGE_WHEN_CLAUSE) continue;
    const auto& c = *n->merge_when_clause;
    MergeWhen& when = q.merge.emplace_back();
#if PG_VERSION_NUM >= 170000
    when.matched = c.match_kind != PG_QUERY__MERGE_MATCH_KIND__MERGE_WHEN_NOT_MATCHED_BY_TARGET;
#else
    when.matched = c.matched;
#endif
    optionalExpr(c.condition, when.condition);
    const NodeList columns = nodes(c.n_target_list, c.target_list), values = nodes(c.n_values, c.values);
    switch (c.command_type) {
      case PG_QUERY__CMD_TYPE__CMD_UPDATE: when.action = "update", when.sets = assignments(columns); break;
      case PG_QUERY__CMD_TYPE__CMD_DELETE: when.action = "delete"; break;
      case PG_QUERY__CMD_TYPE__CMD_INSERT:
        when.action = "insert";
        for (std::size_t i = 0; i < values.size(); ++i) {
          Target& t = when.sets.emplace_back();
          expr(values[i], t.expr);
          if (i < columns.size() && columns[i]->node_case == PG_QUERY__NODE__NODE_RES_TARGET)
            t.name = text(columns[i]->res_target->name);
        }
        break;
      default: when.action = "nothing";
    }
  }
#if PG_VERSION_NUM >= 170000
  q.returning = targets(nodes(s.n_returning_list, s.returning_list));
#endif
  return q;
}

// SET a = x, (b, c) = (y, z), (d, e) = (SELECT …).
// The parser repeats the right side of a row assignment for each of its columns; it runs once.
List<Target> Lowering::assignments(NodeList list) {
  List<Target> result;
  for (const Node* n : list) {
    if (n->node_case != PG_QUERY__NODE__NODE_RES_TARGET) continue;
    const auto& t = *n->res_target;
    Target& target = result.emplace_back();
    target.name = text(t.name);
    if (!contentOf(t.val) || t.val->node_case != PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF) {
      expr(t.val, target.expr);
      continue;
    }
    const auto& m = *t.val->multi_assign_ref;
    const auto index = static_cast<std::size_t>(m.colno - 1);
    if (contentOf(m.source) && m.source->node_case == PG_QUERY__NODE__NODE_ROW_EXPR && index < m.source->row_expr->n_args)
      expr(m.source->row_expr->args[index], target.expr);
    else if (index == 0)
      expr(m.source, target.expr);
    else
      target.expr.text = "column of a row";
  }
  return result;
}

}  // namespace pglocklint::sql

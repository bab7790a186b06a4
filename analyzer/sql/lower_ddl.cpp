// Data definition other than tables and routines.
#include <algorithm>

#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

std::string text(const char* s) { return s ? s : ""; }

bool isFunctionKind(PgQuery__ObjectType t) {
  return t == PG_QUERY__OBJECT_TYPE__OBJECT_FUNCTION || t == PG_QUERY__OBJECT_TYPE__OBJECT_PROCEDURE ||
         t == PG_QUERY__OBJECT_TYPE__OBJECT_ROUTINE;
}

bool isRelationKind(PgQuery__ObjectType t) {
  return t == PG_QUERY__OBJECT_TYPE__OBJECT_TABLE || t == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW ||
         t == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW || t == PG_QUERY__OBJECT_TYPE__OBJECT_FOREIGN_TABLE ||
         t == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX;
}

NodeList listOf(const Node* n) {
  return contentOf(n) && n->node_case == PG_QUERY__NODE__NODE_LIST ? nodes(n->list->n_items, n->list->items) : NodeList{};
}

}  // namespace

Ddl Lowering::ddl(DdlKind kind, Span region) const {
  Ddl d;
  d.kind = kind, d.range = range(region);
  return d;
}

void Lowering::add(Ddl d, ParsedStatement& out) {
  out.events.push_back(Event::ofDdl(static_cast<std::int32_t>(out.ddl.size())));
  out.ddl.push_back(std::move(d));
}

void Lowering::relationName(const PgQuery__RangeVar* r, Ddl& d) const {
  if (!r) return;
  const Span name = nameSpan(r->location);
  d.name_range = range(name);
  d.name = nameAt(name.last, text(r->relname));
  if (r->schemaname && *r->schemaname) d.schema = nameAt(name.known() ? name.last - 2 : -1, r->schemaname);
  d.temporary = text(r->relpersistence) == "t";
}

void Lowering::onRelation(const PgQuery__RangeVar* r, Ddl& d) const {
  if (!r) return;
  const Span name = nameSpan(r->location);
  d.relation = nameAt(name.last, text(r->relname));
  if (r->schemaname && *r->schemaname) d.relation_schema = nameAt(name.known() ? name.last - 2 : -1, r->schemaname);
}

void Lowering::functionObject(const Node* object, Ddl& d) const {
  if (!contentOf(object) || object->node_case != PG_QUERY__NODE__NODE_OBJECT_WITH_ARGS) return;
  const auto& o = *object->object_with_args;
  qualifiedName(nodes(o.n_objname, o.objname), d.schema, d.name);
  d.has_argument_types = !o.args_unspecified;
  for (const Node* n : nodes(o.n_objargs, o.objargs))
    if (n->node_case == PG_QUERY__NODE__NODE_TYPE_NAME) d.argument_types.push_back(typeOf(n->type_name));
}

Ddl Lowering::createView(const PgQuery__ViewStmt& s, Span region) {
  Ddl d = ddl(DdlKind::CreateView, region);
  relationName(s.view, d);
  d.or_replace = s.replace;
  d.column_aliases = stringsOf(nodes(s.n_aliases, s.aliases));
  for (const Node* n : nodes(s.n_options, s.options))
    if (contentOf(n) && n->node_case == PG_QUERY__NODE__NODE_DEF_ELEM && text(n->def_elem->defname) == "security_barrier" &&
        (!contentOf(n->def_elem->arg) || stringOf(n->def_elem->arg) != "false"))
      d.options.push_back("security_barrier");
  Span query = region;
  if (query.known() && tokens_.isWord(query.last, "option") && tokens_.isWord(query.last - 1, "check"))
    query.last -= tokens_.isWord(query.last - 2, "with") ? 3 : 4;
  d.query = optionalQuery(s.query, query);
  return d;
}

// A definition, and a query that runs now.
void Lowering::createMaterializedView(const PgQuery__CreateTableAsStmt& s, Span region, ParsedStatement& out) {
  Ddl d = ddl(DdlKind::CreateView, region);
  d.materialized = true, d.if_not_exists = s.if_not_exists;
  if (s.into) {
    relationName(s.into->rel, d);
    d.column_aliases = stringsOf(nodes(s.into->n_col_names, s.into->col_names));
  }
  Statement creation = tableAs(s, region);
  d.query = creation.query;
  add(std::move(d), out);
  out.events.emplace_back(std::move(creation));
}

Ddl Lowering::createIndex(const PgQuery__IndexStmt& s, Span region) {
  Ddl d = ddl(DdlKind::CreateIndex, region);
  onRelation(s.relation, d);
  d.name = text(s.idxname), d.schema = d.relation_schema;
  d.unique = s.unique, d.concurrently = s.concurrent, d.if_not_exists = s.if_not_exists;
  for (const Node* n : nodes(s.n_index_params, s.index_params)) {
    if (n->node_case != PG_QUERY__NODE__NODE_INDEX_ELEM) continue;
    d.key_columns.push_back(text(n->index_elem->name));
    optionalExpr(n->index_elem->expr, d.exprs);
  }
  optionalExpr(s.where_clause, d.exprs);
  if (contentOf(s.where_clause)) d.options.push_back("partial");
  return d;
}

Ddl Lowering::createTrigger(const PgQuery__CreateTrigStmt& s, Span region) {
  constexpr int kBefore = 1 << 1, kInstead = 1 << 6;  // pg_trigger.h: TRIGGER_TYPE_BEFORE, TRIGGER_TYPE_INSTEAD
  constexpr std::pair<int, const char*> kEvents[] = {{1 << 2, "insert"}, {1 << 3, "delete"}, {1 << 4, "update"}, {1 << 5, "truncate"}};
  Ddl d = ddl(DdlKind::CreateTrigger, region);
  onRelation(s.relation, d);
  d.name = text(s.trigname);
  d.or_replace = s.replace, d.constraint = s.isconstraint, d.deferrable = s.deferrable, d.each_row = s.row;
  d.timing = s.timing & kBefore ? "before" : s.timing & kInstead ? "instead of" : "after";
  for (const auto& [bit, name] : kEvents)
    if (s.events & bit) d.options.push_back(name);
  if (s.initdeferred) d.options.push_back("initially deferred");
  d.key_columns = stringsOf(nodes(s.n_columns, s.columns));
  qualifiedName(nodes(s.n_funcname, s.funcname), d.function_schema, d.function_name);
  optionalExpr(s.when_clause, d.exprs);
  return d;
}

// CREATE RULE … DO [ALSO | INSTEAD] command, or ( command; command ).
Ddl Lowering::createRule(const PgQuery__RuleStmt& s, Span region) {
  Ddl d = ddl(DdlKind::CreateRule, region);
  onRelation(s.relation, d);
  d.name = text(s.rulename), d.or_replace = s.replace;
  optionalExpr(s.where_clause, d.exprs);
  std::int32_t first = region.first;
  while (region.known() && first <= region.last && !tokens_.isClauseWord(first, "do")) first = tokens_.skip(first);
  ++first;
  if (tokens_.isWord(first, "also") || tokens_.isWord(first, "instead")) ++first;
  std::vector<Span> parts{{first, region.last}};
  if (tokens_.isText(first, "(") && tokens_.match(first) == region.last) {
    parts = {{first + 1, region.last - 1}};
    for (std::int32_t i = first + 1; i < region.last; i = tokens_.skip(i))
      if (tokens_.isText(i, ";")) parts.back().last = i - 1, parts.push_back({i + 1, region.last - 1});
    if (!parts.back().known()) parts.pop_back();
  }
  const NodeList actions = nodes(s.n_actions, s.actions);
  for (std::size_t i = 0; i < actions.size(); ++i)
    if (std::optional<Statement> action = executable(actions[i], parts.size() == actions.size() ? parts[i] : region))
      for (Query& q : action->query) d.query.push_back(std::move(q));
  return d;
}

// The elements of CREATE SCHEMA belong to it unless they say otherwise.
void Lowering::createSchema(const PgQuery__CreateSchemaStmt& s, Span region, ParsedStatement& out) {
  Ddl d = ddl(DdlKind::Other, region);
  d.name = text(s.schemaname), d.if_not_exists = s.if_not_exists;
  d.options.push_back("schema");
  const std::string schema = d.name;
  add(std::move(d), out);
  // The elements begin with CREATE or GRANT, on the level of the statement.
  std::vector<Span> parts;
  for (std::int32_t i = region.first + 1; region.known() && i <= region.last; i = tokens_.skip(i))
    if (tokens_.isClauseWord(i, "create") || (tokens_.isClauseWord(i, "grant") && !tokens_.isWord(i - 1, "with"))) {
      if (!parts.empty()) parts.back().last = i - 1;
      parts.push_back({i, region.last});
    }
  const NodeList elements = nodes(s.n_schema_elts, s.schema_elts);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t first = out.ddl.size();
    statement(elements[i], parts.size() == elements.size() ? parts[i] : region, out);
    for (std::size_t k = first; k < out.ddl.size(); ++k) {
      if (out.ddl[k].schema.empty() && out.ddl[k].kind != DdlKind::CreateTrigger) out.ddl[k].schema = schema;
      if (!out.ddl[k].relation.empty() && out.ddl[k].relation_schema.empty()) out.ddl[k].relation_schema = schema;
    }
  }
}

void Lowering::drop(const PgQuery__DropStmt& s, Span region, ParsedStatement& out) {
  for (const Node* object : nodes(s.n_objects, s.objects)) {
    Ddl d = ddl(DdlKind::Other, region);
    d.concurrently = s.concurrent;
    d.if_not_exists = s.missing_ok;
    const NodeList names = listOf(object);
    if (isFunctionKind(s.remove_type)) {
      d.kind = DdlKind::DropFunction;
      functionObject(object, d);
    } else if (s.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TRIGGER || s.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_POLICY) {
      d.kind = s.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TRIGGER ? DdlKind::DropTrigger : DdlKind::DropPolicy;
      if (!names.empty()) {
        d.name = stringOf(names.back());
        qualifiedName(names.first(names.size() - 1), d.relation_schema, d.relation);
      }
    } else {
      if (isRelationKind(s.remove_type)) d.kind = DdlKind::DropRelation;
      d.materialized = s.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW;
      if (s.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_RULE && names.size() > 1) {
        d.options.push_back("drop rule");
        d.name = stringOf(names.back());
        qualifiedName(names.first(names.size() - 1), d.relation_schema, d.relation);
        add(std::move(d), out);
        continue;
      }
      if (s.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA) d.options.push_back("drop schema");
      if (contentOf(object) && object->node_case == PG_QUERY__NODE__NODE_TYPE_NAME)
        qualifiedName(nodes(object->type_name->n_names, object->type_name->names), d.schema, d.name);
      else if (!names.empty())
        qualifiedName(names, d.schema, d.name);
      else
        d.name = stringOf(object);
    }
    add(std::move(d), out);
  }
}

Ddl Lowering::rename(const PgQuery__RenameStmt& s, Span region) {
  Ddl d = ddl(DdlKind::Other, region);
  if (s.rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_COLUMN) {
    d.kind = DdlKind::AlterTable;
    relationName(s.relation, d);
    AlterAction& a = d.actions.emplace_back();
    a.kind = AlterActionKind::RenameColumn, a.column.name = text(s.subname), a.new_name = text(s.newname);
  } else if (isFunctionKind(s.rename_type)) {
    d.kind = DdlKind::RenameFunction;
    functionObject(s.object, d);
    d.new_name = text(s.newname);
  } else {
    if (isRelationKind(s.rename_type)) d.kind = DdlKind::RenameRelation;
    if (isRelationKind(s.rename_type))
      relationName(s.relation, d);
    else
      onRelation(s.relation, d), d.name = text(s.subname);
    d.new_name = text(s.newname);
  }
  return d;
}

bool Lowering::definition(const Node* node, Span region, ParsedStatement& out) {
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_CREATE_STMT: add(createTable(*node->create_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_CREATE_FOREIGN_TABLE_STMT:
      if (node->create_foreign_table_stmt->base_stmt) add(createTable(*node->create_foreign_table_stmt->base_stmt, region), out);
      return true;
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT: add(alterTable(*node->alter_table_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_VIEW_STMT: add(createView(*node->view_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_INDEX_STMT: add(createIndex(*node->index_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_CREATE_TRIG_STMT: add(createTrigger(*node->create_trig_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_CREATE_DOMAIN_STMT: add(createDomain(*node->create_domain_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_CREATE_SCHEMA_STMT: createSchema(*node->create_schema_stmt, region, out); return true;
    case PG_QUERY__NODE__NODE_DROP_STMT: drop(*node->drop_stmt, region, out); return true;
    case PG_QUERY__NODE__NODE_RENAME_STMT: add(rename(*node->rename_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_CREATE_FUNCTION_STMT: createFunction(*node->create_function_stmt, region, out); return true;
    case PG_QUERY__NODE__NODE_ALTER_FUNCTION_STMT: add(alterFunction(*node->alter_function_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_CREATE_POLICY_STMT: {
      const auto& p = *node->create_policy_stmt;
      Ddl d = ddl(DdlKind::CreatePolicy, region);
      d.name = text(p.policy_name);
      onRelation(p.table, d);
      optionalExpr(p.qual, d.exprs);
      optionalExpr(p.with_check, d.exprs);
      add(std::move(d), out);
      return true;
    }
    case PG_QUERY__NODE__NODE_ALTER_POLICY_STMT: {
      const auto& p = *node->alter_policy_stmt;
      Ddl d = ddl(DdlKind::AlterPolicy, region);
      d.name = text(p.policy_name);
      onRelation(p.table, d);
      optionalExpr(p.qual, d.exprs);
      optionalExpr(p.with_check, d.exprs);
      add(std::move(d), out);
      return true;
    }
    case PG_QUERY__NODE__NODE_ALTER_DOMAIN_STMT: {
      const auto& a = *node->alter_domain_stmt;
      Ddl d = ddl(DdlKind::Other, region);
      qualifiedName(nodes(a.n_type_name, a.type_name), d.schema, d.name);
      d.options.push_back("domain");
      if (contentOf(a.def) && a.def->node_case == PG_QUERY__NODE__NODE_CONSTRAINT)
        optionalExpr(a.def->constraint->raw_expr, d.exprs);
      add(std::move(d), out);
      return true;
    }
    case PG_QUERY__NODE__NODE_RULE_STMT: add(createRule(*node->rule_stmt, region), out); return true;
    case PG_QUERY__NODE__NODE_CREATE_STATS_STMT: {
      const auto& s = *node->create_stats_stmt;
      Ddl d = ddl(DdlKind::Other, region);
      qualifiedName(nodes(s.n_defnames, s.defnames), d.schema, d.name);
      d.options.push_back("statistics");
      for (const Node* n : nodes(s.n_exprs, s.exprs))
        if (contentOf(n) && n->node_case == PG_QUERY__NODE__NODE_STATS_ELEM) optionalExpr(n->stats_elem->expr, d.exprs);
      add(std::move(d), out);
      return true;
    }
    case PG_QUERY__NODE__NODE_ALTER_OBJECT_SCHEMA_STMT: {
      const auto& a = *node->alter_object_schema_stmt;
      Ddl d = ddl(DdlKind::Other, region);
      relationName(a.relation, d);
      functionObject(a.object, d);
      d.options.push_back("set schema " + text(a.newschema));
      add(std::move(d), out);
      return true;
    }
    default: return false;
  }
}

}  // namespace pglocklint::sql

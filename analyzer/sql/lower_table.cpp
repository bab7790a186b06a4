// CREATE TABLE, ALTER TABLE, domains.
#include <algorithm>

#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

std::string text(const char* s) { return s ? s : ""; }

const PgQuery__Constraint* constraintOf(const Node* n) {
  return contentOf(n) && n->node_case == PG_QUERY__NODE__NODE_CONSTRAINT ? n->constraint : nullptr;
}

}  // namespace

// From the name to the comma or bracket that ends it.
ColumnDefinition Lowering::columnDefinition(const PgQuery__ColumnDef& c) {
  ColumnDefinition column;
  const Span name = token(c.location);
  column.name = nameAt(name.first, text(c.colname));
  column.type = typeOf(c.type_name);
  Span span = name;
  while (span.known() && span.last + 1 < tokens_.size() && !tokens_.isText(span.last + 1, ",") &&
         !tokens_.isText(span.last + 1, ")") && !tokens_.isText(span.last + 1, ";"))
    span.last = tokens_.skip(span.last + 1) - 1;
  column.range = range(span);
  column.not_null = c.is_not_null;
  optionalExpr(c.raw_default, column.default_value);
  for (const Node* n : nodes(c.n_constraints, c.constraints)) {
    const PgQuery__Constraint* k = constraintOf(n);
    if (!k) continue;
    switch (k->contype) {
      case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL: column.not_null = true; break;
      case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY: column.primary_key = column.not_null = true; break;
      case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE: column.unique = true; break;
      case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY: column.identity = column.not_null = true; break;
      case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED: column.generated = true; [[fallthrough]];
      case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT: optionalExpr(k->raw_expr, column.default_value); break;
      case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK: optionalExpr(k->raw_expr, column.checks); break;
      default: break;
    }
  }
  return column;
}

Ddl Lowering::createTable(const PgQuery__CreateStmt& s, Span region) {
  Ddl d = ddl(DdlKind::CreateTable, region);
  relationName(s.relation, d);
  d.if_not_exists = s.if_not_exists;
  if (s.partspec) d.options.push_back("partitioned");
  bool all_columns_known = s.n_inh_relations == 0 && !s.partbound && !s.of_typename;
  for (const Node* n : nodes(s.n_table_elts, s.table_elts)) {
    if (n->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF) d.columns.push_back(columnDefinition(*n->column_def));
    if (n->node_case == PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE) all_columns_known = false;
    const PgQuery__Constraint* k = constraintOf(n);
    if (!k) continue;
    const auto keys = stringsOf(nodes(k->n_keys, k->keys));
    if (k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY) d.primary_keys.push_back(keys);
    if (k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE) d.unique_keys.push_back(keys);
    if (k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_CHECK) optionalExpr(k->raw_expr, d.exprs);
  }
  // A partial list would let a missing column look like an error: keep what can hold a call and drop the rest.
  if (!all_columns_known) {
    for (ColumnDefinition& c : d.columns) {
      std::ranges::move(c.checks, std::back_inserter(d.exprs));
      std::ranges::move(c.default_value, std::back_inserter(d.exprs));
    }
    d.columns.clear();
  }
  return d;
}

Ddl Lowering::alterTable(const PgQuery__AlterTableStmt& s, Span region) {
  Ddl d = ddl(DdlKind::AlterTable, region);
  relationName(s.relation, d);
  for (const Node* n : nodes(s.n_cmds, s.cmds))
    if (n->node_case == PG_QUERY__NODE__NODE_ALTER_TABLE_CMD) d.actions.push_back(alterAction(*n->alter_table_cmd));
  return d;
}

AlterAction Lowering::alterAction(const PgQuery__AlterTableCmd& c) {
  AlterAction a;
  a.column.name = text(c.name);
  const PgQuery__ColumnDef* column =
      contentOf(c.def) && c.def->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF ? c.def->column_def : nullptr;
  switch (c.subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddColumn:
      a.kind = AlterActionKind::AddColumn;
      if (column) a.column = columnDefinition(*column);
      break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn: a.kind = AlterActionKind::DropColumn; break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterColumnType:
      a.kind = AlterActionKind::SetType;
      if (column) {
        a.column.type = typeOf(column->type_name);
        optionalExpr(column->raw_default, a.checks);  // USING
      }
      break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetNotNull: a.kind = AlterActionKind::SetNotNull; break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropNotNull: a.kind = AlterActionKind::DropNotNull; break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ColumnDefault:
      a.kind = contentOf(c.def) ? AlterActionKind::SetDefault : AlterActionKind::DropDefault;
      optionalExpr(c.def, a.column.default_value);
      break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_EnableRowSecurity: a.kind = AlterActionKind::EnableRowSecurity; break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DisableTrig:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DisableTrigAll:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DisableTrigUser:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_EnableReplicaTrig: a.kind = AlterActionKind::DisableTrigger; break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrig:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrigAll:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrigUser:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_EnableAlwaysTrig: a.kind = AlterActionKind::EnableTrigger; break;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddConstraint:
      if (const PgQuery__Constraint* k = constraintOf(c.def)) {
        a.kind = AlterActionKind::AddConstraint;
        a.column.name.clear();
        a.primary_key = k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY;
        a.unique = k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE;
        if (a.primary_key || a.unique) a.key_columns = stringsOf(nodes(k->n_keys, k->keys));
        if (k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_CHECK) optionalExpr(k->raw_expr, a.checks);
      }
      break;
    default: break;
  }
  return a;
}

Ddl Lowering::createDomain(const PgQuery__CreateDomainStmt& s, Span region) {
  Ddl d = ddl(DdlKind::CreateDomain, region);
  qualifiedName(nodes(s.n_domainname, s.domainname), d.schema, d.name);
  ColumnDefinition& base = d.columns.emplace_back();  // the type it stands for
  base.name = "value", base.type = typeOf(s.type_name), base.range = d.range;
  for (const Node* n : nodes(s.n_constraints, s.constraints)) {
    const PgQuery__Constraint* k = constraintOf(n);
    if (!k) continue;
    if (k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL) base.not_null = true;
    if (k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT) optionalExpr(k->raw_expr, base.default_value);
    if (k->contype == PG_QUERY__CONSTR_TYPE__CONSTR_CHECK) optionalExpr(k->raw_expr, d.exprs);
  }
  return d;
}

}  // namespace pglocklint::sql

// Which relation a column belongs to, and what the columns of tables, views, derived tables, CTEs and functions in FROM are.
#include "program/values.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "program/types.h"
#include "program/values_fold.h"

namespace pglocklint {
namespace {

constexpr std::size_t kMaxColumns = 2000;

const std::string& aliasOf(const FromItem& item) {
  if (!item.alias.empty()) return item.alias;
  if (item.kind == FromKind::Function && item.functions.size() == 1) return item.functions[0].name;
  return item.name;
}

// System columns of every table.
struct SystemColumn {
  std::string_view name, type;
};
constexpr std::array kSystemColumns{SystemColumn{"ctid", "tid"},     SystemColumn{"tableoid", "oid"}, SystemColumn{"xmin", "xid"},
                                    SystemColumn{"xmax", "xid"},     SystemColumn{"cmin", "cid"},     SystemColumn{"cmax", "cid"}};

// Columns of the system catalogues that lock keys are made of, all NOT NULL where they matter.
struct CatalogColumn {
  std::string_view relation, name, type;
};
constexpr std::array kCatalogColumns{
    CatalogColumn{"pg_class", "oid", "oid"},           CatalogColumn{"pg_class", "relname", "name"},
    CatalogColumn{"pg_namespace", "oid", "oid"},       CatalogColumn{"pg_namespace", "nspname", "name"},
    CatalogColumn{"pg_database", "oid", "oid"},        CatalogColumn{"pg_database", "datname", "name"},
    CatalogColumn{"pg_proc", "oid", "oid"},            CatalogColumn{"pg_proc", "proname", "name"},
    CatalogColumn{"pg_locks", "classid", "oid"},       CatalogColumn{"pg_locks", "objid", "oid"},
    CatalogColumn{"pg_locks", "objsubid", "smallint"}, CatalogColumn{"pg_locks", "pid", "integer"},
    CatalogColumn{"pg_stat_activity", "pid", "integer"}, CatalogColumn{"pg_stat_activity", "datid", "oid"},
    CatalogColumn{"pg_tables", "tablename", "name"},   CatalogColumn{"pg_tables", "schemaname", "name"}};

// The renamed columns of an alias list: q(a, b).
void rename(OfferedColumns& offered, const List<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i >= offered.columns.size()) {
      if (offered.complete) return;
      offered.columns.emplace_back();  // a column we know by its alias alone
    }
    offered.columns[i].name = names[i];
  }
}

bool comparison(const Expr& e) {
  if (e.is(ExprKind::Op)) {
    constexpr std::array<std::string_view, 7> kStrict{"=", "<>", "!=", "<", ">", "<=", ">="};
    return std::ranges::find(kStrict, e.name) != kStrict.end();
  }
  return e.is(ExprKind::InList) || e.is(ExprKind::Between) || e.is(ExprKind::Like) || (e.is(ExprKind::NullTest) && e.negated) ||
         (e.is(ExprKind::AnyAll) && e.text == "any");
}

const Expr& withoutCast(const Expr& e) { return e.is(ExprKind::Cast) && e.args.size() == 1 ? withoutCast(e.args[0]) : e; }

// Does the condition discard rows in which every column of `alias` is NULL?
bool rejectsNull(const Expr& condition, const std::string& alias) {
  if (condition.is(ExprKind::And)) return std::ranges::any_of(condition.args, [&](const Expr& a) { return rejectsNull(a, alias); });
  const auto column = [&](const Expr& a) { return withoutCast(a).is(ExprKind::Column) && withoutCast(a).qualifier == alias; };
  if (column(condition)) return true;  // a boolean column
  return comparison(condition) && std::ranges::any_of(condition.args, column);
}

bool rejectsNull(const List<Expr>& conditions, const std::string& alias) {
  return std::ranges::any_of(conditions, [&](const Expr& c) { return rejectsNull(c, alias); });
}

struct Join {
  const FromItem* item;
  bool nullable;  // the branch that is followed is its nullable side
};

}  // namespace

// The relations that a level's expressions can name, with what outer joins make of them.
std::vector<Resolver::Visible> Resolver::visibleItems(const Query& level) {
  std::vector<Visible> found;
  std::vector<Join> path;
  const auto visit = [&](const auto& self, const FromItem& item) -> void {
    if (item.kind == FromKind::Join && item.sides.size() == 2 && path.size() < 1000) {
      for (std::size_t side = 0; side < 2; ++side) {
        const bool nullable = item.join == JoinType::Full || (item.join == JoinType::Left && side == 1) ||
                              (item.join == JoinType::Right && side == 0);
        path.push_back({&item, nullable});
        self(self, item.sides[side]);
        path.pop_back();
      }
      return;
    }
    Visible v{&item, ""};
    const std::string& alias = aliasOf(item);
    bool rejected = rejectsNull(level.where, alias);
    for (const Join& j : path) {
      if (j.nullable && !rejected) {
        v.null_evidence = fmt::format("{} is on the nullable side of a {} JOIN", alias, j.item->join == JoinType::Full   ? "FULL"
                                                                                        : j.item->join == JoinType::Left ? "LEFT"
                                                                                                                         : "RIGHT");
        break;
      }
      if (j.item->join == JoinType::Inner) rejected |= rejectsNull(j.item->on, alias);
    }
    found.push_back(std::move(v));
  };
  for (const FromItem& item : level.from) visit(visit, item);
  if (!level.target->name.empty()) found.push_back({&*level.target, ""});
  return found;
}

OfferedColumns Resolver::columnsOf(const FromItem& item, const ValueScope& scope) {
  OfferedColumns offered;
  offered.complete = false;
  if (++steps_ > 3000) return offered;
  switch (item.kind) {
    case FromKind::Relation: offered = relationColumns(item, scope); break;
    case FromKind::SubQuery:
    case FromKind::Values:
      if (!item.query.empty()) offered = outputsOf(item.query[0], scope);
      break;
    case FromKind::Function: offered = functionColumns(item, scope); break;
    case FromKind::Join:
      for (const FromItem& side : item.sides) {
        OfferedColumns more = columnsOf(side, scope);
        std::ranges::move(more.columns, std::back_inserter(offered.columns));
      }
      break;
    case FromKind::Other: break;
  }
  rename(offered, item.column_aliases);
  return offered;
}

OfferedColumns Resolver::relationColumns(const FromItem& item, const ValueScope& scope) {
  OfferedColumns offered;
  if (item.schema.empty()) {
    for (std::size_t i = 0; i < scope.levels.size(); ++i)
      for (const Cte& c : scope.levels[i]->ctes) {
        if (c.name != item.name || c.query.empty()) continue;
        ValueScope outer = scope;
        outer.levels.erase(outer.levels.begin(), outer.levels.begin() + static_cast<std::ptrdiff_t>(i));
        offered = outputsOf(c.query[0], outer);
        rename(offered, c.column_aliases);
        return offered;
      }
  }
  offered.complete = false;
  if (item.name.starts_with("pg_"))
    for (const CatalogColumn& c : kCatalogColumns)
      if (c.relation == item.name) offered.columns.push_back({std::string(c.name), std::string(c.type), item.name, true});
  const Relation* r = scope.catalogue == nullptr ? nullptr : scope.catalogue->relation(item.schema, item.name);
  if (r == nullptr) return offered;
  if (r->view != nullptr) {
    ValueScope view;
    view.catalogue = scope.catalogue, view.unit = r->unit, view.names = scope.names;
    offered = outputsOf(*r->view, view);
    rename(offered, r->view_columns);
    return offered;
  }
  const std::string name = r->schema.empty() || r->schema == "public" ? r->name : r->schema + "." + r->name;
  for (const Column& c : r->columns)
    if (offered.columns.size() < kMaxColumns) offered.columns.push_back({c.name, canonicalType(c.type), name, c.not_null});
  offered.complete = r->columns_known && r->columns.size() < kMaxColumns;
  return offered;
}

OfferedColumns Resolver::functionColumns(const FromItem& item, const ValueScope& scope) {
  OfferedColumns offered;
  for (const Expr& f : item.functions) {
    const Routine* routine = scope.catalogue == nullptr || !f.is(ExprKind::Call) || findBuiltin(f.name) != nullptr
                                 ? nullptr
                                 : scope.catalogue->routine(f.qualifier, f.name, f.args.size());
    const Function* function = routine == nullptr ? nullptr : routine->function;
    std::size_t outs = 0;
    if (function != nullptr)
      for (const Parameter& p : function->parameters)
        if (p.mode == ParameterMode::Table || p.mode == ParameterMode::Out || p.mode == ParameterMode::InOut) {
          offered.columns.push_back({p.name, canonicalType(p.type), function->name});
          ++outs;
        }
    if (outs > 0) continue;
    OfferedColumn c;
    c.name = item.functions.size() == 1 && !item.alias.empty() ? item.alias : f.name;
    Value row = resolve(f, scope);
    if (row.kind == ValueKind::Call || row.kind == ValueKind::Row) {
      row.kind = ValueKind::Row, row.name = f.name;
      if (familyOf(row.type) == TypeFamily::NotKnown || row.type == "record") offered.complete = false;
    }
    c.value = std::move(row);
    offered.columns.push_back(std::move(c));
  }
  if (item.ordinality) offered.columns.push_back({"ordinality", "bigint", aliasOf(item)});
  return offered;
}

OfferedColumns Resolver::outputsOf(const Query& query, const ValueScope& outer) {
  OfferedColumns offered;
  if (++steps_ > 3000 || std::ranges::find(active_, &query) != active_.end() || active_.size() > 60) {
    offered.complete = false;
    return offered;
  }
  active_.push_back(&query);
  auto inner = std::make_shared<ValueScope>(outer);
  inner->levels.insert(inner->levels.begin(), &query);
  if (query.kind == QueryKind::SetOperation) {
    // Names and (here) types are those of the first arm; the values differ by arm.
    if (!query.arms.empty()) offered = outputsOf(query.arms[0], *inner);
    for (OfferedColumn& c : offered.columns) {
      if (c.expr != nullptr && c.scope != nullptr) c.type = resolve(*c.expr, *c.scope).type;
      if (c.value) c.type = c.value->type;
      if (c.type == "unknown") c.type = "";
      c.expr = nullptr, c.value.reset(), c.relation.clear(), c.not_null = false;
    }
  } else if (query.kind == QueryKind::Values) {
    for (std::size_t i = 0; !query.rows.empty() && i < query.rows[0].size(); ++i) {
      OfferedColumn c;
      c.name = fmt::format("column{}", i + 1);
      if (query.rows.size() == 1) {
        c.expr = &query.rows[0][i], c.scope = inner;
      } else {
        std::vector<std::string> types;
        for (std::size_t row = 0; row < query.rows.size() && row < 50; ++row)
          if (i < query.rows[row].size()) types.push_back(resolve(query.rows[row][i], *inner).type);
        c.type = commonType(types);
      }
      offered.columns.push_back(std::move(c));
    }
  } else {
    for (const Target& t : query.kind == QueryKind::Select ? query.targets : query.returning) {
      if (!t.expr.is(ExprKind::Star)) {
        OfferedColumn c;
        c.name = t.name, c.expr = &t.expr, c.scope = inner;
        offered.columns.push_back(std::move(c));
        continue;
      }
      for (const Visible& v : visibleItems(query)) {
        if (!t.expr.qualifier.empty() && aliasOf(*v.item) != t.expr.qualifier) continue;
        OfferedColumns more = columnsOf(*v.item, *inner);
        offered.complete &= more.complete;
        for (OfferedColumn& c : more.columns) {
          if (c.null_evidence.empty()) c.null_evidence = v.null_evidence;
          if (offered.columns.size() < kMaxColumns) offered.columns.push_back(std::move(c));
        }
      }
    }
  }
  active_.pop_back();
  return offered;
}

Value Resolver::valueOf(const OfferedColumn& c, const Expr& e, const ValueScope& scope) {
  Value v;
  if (c.expr != nullptr && c.scope != nullptr) {
    v = resolve(*c.expr, *c.scope);
    if (v.kind == ValueKind::Column) v.range = e.range, v.unit = scope.unit;
    if (v.type == "unknown" && v.isConstant() && v.kind == ValueKind::Text) v.type = "text";  // a derived table decides the type
  } else if (c.value) {
    v = *c.value;
  } else if (c.name == "tableoid" && c.type == "oid") {
    v.kind = ValueKind::Oid, v.name = c.name, v.relation = c.relation, v.type = c.type;
    v = placed(std::move(v), e.range, scope.unit);
  } else {
    v.kind = ValueKind::Column, v.name = e.name, v.relation = c.relation, v.type = c.type;
    v = placed(std::move(v), e.range, scope.unit);
  }
  if (!c.null_evidence.empty() && !v.may_be_null) v.may_be_null = true, v.null_evidence = c.null_evidence;
  return v;
}

// The column `e` names, if a relation in scope is known to have it. `maybe`: a relation that we do not know might.
std::optional<Value> Resolver::column(const Expr& e, const ValueScope& scope, bool& maybe) {
  ValueScope level = scope;
  for (; !level.levels.empty(); level.levels.erase(level.levels.begin())) {
    const Query& query = *level.levels.front();
    // The rows that an INSERT reads do not see the table it writes to.
    if (query.kind == QueryKind::Insert && level.levels.size() < scope.levels.size()) continue;
    const Visible* only_unknown = nullptr;
    int unknown = 0;
    const std::vector<Visible> items = visibleItems(query);
    for (const Visible& v : items) {
      const bool excluded = e.qualifier == "excluded" && v.item == &*query.target && query.kind == QueryKind::Insert;
      if (!e.qualifier.empty() && aliasOf(*v.item) != e.qualifier && !excluded) continue;
      OfferedColumns offered = columnsOf(*v.item, level);
      // g in FROM generate_series(1, 3) g names the element although it is the alias.
      for (OfferedColumn& c : offered.columns)
        if (c.name == e.name) {
          if (c.null_evidence.empty()) c.null_evidence = v.null_evidence;
          return valueOf(c, e, level);
        }
      const bool stored = v.item->kind == FromKind::Relation;
      for (const SystemColumn& s : kSystemColumns)
        if (stored && s.name == e.name && !e.qualifier.empty())
          return valueOf({std::string(s.name), std::string(s.type), v.item->name}, e, level);
      if (!offered.complete) only_unknown = &v, ++unknown;
      if (!e.qualifier.empty()) {  // named, though we do not know its columns
        Value c = placed(Value{}, e.range, scope.unit);
        c.kind = ValueKind::Column, c.name = e.name, c.relation = stored ? v.item->name : "";
        if (!v.null_evidence.empty()) c.may_be_null = true, c.null_evidence = v.null_evidence;
        return c;
      }
    }
    if (unknown > 0) {
      // Perhaps a variable; else it is a column of the one relation that we do not know, or of one of several.
      maybe = true;
      Value c = placed(Value{}, e.range, scope.unit);
      c.kind = ValueKind::Column, c.name = e.name;
      if (unknown == 1 && only_unknown->item->kind == FromKind::Relation) c.relation = only_unknown->item->name;
      if (items.size() == 1 && !only_unknown->null_evidence.empty()) c.may_be_null = true, c.null_evidence = only_unknown->null_evidence;
      return c;
    }
  }
  return std::nullopt;
}

namespace {

// NEW.id, OLD.id in a trigger function: a column of the table that fires it. With several tables only the type that all agree on.
std::optional<Value> triggerRow(const Expr& e, const ValueScope& scope) {
  if ((e.qualifier != "new" && e.qualifier != "old") || scope.function == nullptr || scope.catalogue == nullptr) return std::nullopt;
  if (scope.function->returns != "trigger") return std::nullopt;
  std::optional<Value> found;
  for (const TriggerUse& t : scope.catalogue->triggers) {
    const bool same_schema = t.function_schema.empty() || scope.function->schema.empty() || t.function_schema == scope.function->schema;
    if (t.function != scope.function->name || !same_schema) continue;
    const Relation* r = scope.catalogue->relation(t.relation_schema, t.relation);
    const Column* c = r == nullptr ? nullptr : r->column(e.name);
    if (c == nullptr) return std::nullopt;
    const std::string type = canonicalType(c->type);
    if (found && found->type != type) return std::nullopt;
    const bool only = !found || found->relation == r->name;
    found = placed(Value{}, e.range, scope.unit);
    found->kind = ValueKind::Column, found->name = e.name, found->type = type;
    found->constant_name = e.qualifier.str() + "." + e.name;  // one row at any moment
    if (only) found->relation = r->name;
  }
  return found;
}

}  // namespace

Value Resolver::columnOrVariable(const Expr& e, const ValueScope& scope) {
  bool maybe = false;
  // In the text of EXECUTE a name is a column, never a variable. Where a front end has put the values of USING or format() in
  // place, they still are variables: they stand outside the text, or where no relation could have them.
  const bool dynamic = scope.statement != nullptr && scope.statement->dynamic;
  const bool handed_in = dynamic && std::ranges::any_of(scope.statement->using_args, [&](const Expr& a) {
    return a.range.known() && a.range.contains(e.range);
  });
  std::optional<Value> c;
  if (!handed_in) c = column(e, scope, maybe);
  if (c && !maybe) return *c;
  // No relation is known to have it: PL/pgSQL and SQL functions then take their own variable or parameter.
  if (!dynamic || handed_in || !c)
    if (auto v = variableOrParameter(e, scope)) return *v;
  if (c) return *c;
  if (auto row = triggerRow(e, scope)) return *row;
  Value v = placed(Value{}, e.range, scope.unit);
  v.kind = ValueKind::Column, v.name = e.name, v.relation = e.qualifier;
  return v;
}

// Column `index` (or the one named `field`) of what a statement returns: select list, or RETURNING.
std::optional<Value> Resolver::targetOf(const Statement& s, std::size_t index, std::string_view field, const ValueScope& scope) {
  if (s.query.empty()) return std::nullopt;
  ValueScope outer = scope;
  outer.levels.clear(), outer.statement = &s;
  OfferedColumns offered = outputsOf(s.query[0], outer);
  if (!field.empty()) {
    const auto at = std::ranges::find(offered.columns, field, &OfferedColumn::name);
    if (at == offered.columns.end()) return std::nullopt;
    index = static_cast<std::size_t>(at - offered.columns.begin());
  } else if (!offered.complete || index >= offered.columns.size()) {
    return std::nullopt;
  }
  Expr name;
  name.name = offered.columns[index].name;
  name.range = s.range;
  return valueOf(offered.columns[index], name, outer);
}

}  // namespace pglocklint

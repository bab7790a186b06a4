#include "pg_locks_rows.h"

#include <algorithm>

#include "program/walk.h"

namespace pglocklint {

bool isComparison(const Expr& e) {
  if (e.kind == ExprKind::Op) return e.args.size() == 2 && (e.name == "=" || e.name == "<>" || e.name == "!=");
  return e.kind == ExprKind::InList || e.kind == ExprKind::AnyAll || e.kind == ExprKind::Distinct ||
         (e.kind == ExprKind::SubSelect && (e.sublink == SubLink::Any || e.sublink == SubLink::All));
}

void visitExpr(const Expr& e, const std::function<void(const Expr&)>& f) {
  f(e);
  for (const Expr& a : e.args) visitExpr(a, f);
  for (const Expr& a : e.call_filter) visitExpr(a, f);
}

namespace {

void visitOn(const FromItem& item, const std::function<void(const Expr&)>& f) {
  for (const Expr& e : item.on) visitExpr(e, f);
  for (const FromItem& side : item.sides) visitOn(side, f);
}

}  // namespace

void visitLevel(const Query& q, const std::function<void(const Expr&)>& f) {
  for (const auto* list : {&q.where, &q.having, &q.group_by})
    for (const Expr& e : *list) visitExpr(e, f);
  for (const Target& t : q.targets) visitExpr(t.expr, f);
  for (const OrderItem& o : q.order_by) visitExpr(o.expr, f);
  for (const FromItem& item : q.from) visitOn(item, f);
}

void visitConditions(const Query& q, const std::function<void(const Expr&)>& f) {
  for (const auto* list : {&q.where, &q.having})
    for (const Expr& e : *list) visitExpr(e, f);
  for (const FromItem& item : q.from) visitOn(item, f);
  for (const Target& t : q.targets)
    visitExpr(t.expr, [&](const Expr& e) {
      for (const Expr& filter : e.call_filter) visitExpr(filter, f);
      if (e.kind == ExprKind::Case) visitExpr(e, f);
    });
}

const Expr& withoutCasts(const Expr& e) { return e.kind == ExprKind::Cast && !e.args.empty() ? withoutCasts(e.args[0]) : e; }

std::string LockRows::columnOf(const Expr& e) const {
  if (e.kind != ExprKind::Column || (!e.qualifier.empty() && e.qualifier != alias)) return "";
  const auto at = columns.find(e.name);
  return at == columns.end() ? "" : at->second;
}

namespace {

constexpr int kDeepest = 12;

// What the level asks of these rows, beside what was asked before.
void askOf(LockRows& rows) {
  const auto ask = [&](const Expr& c) {
    const std::string column = rows.columnOf(c);
    if (column == "key") rows.compared.insert({"classid", "objid"});
    else if (!column.empty()) rows.compared.insert(column);
  };
  visitConditions(*rows.level, [&](const Expr& e) {
    if (e.kind == ExprKind::Const && e.literal == LiteralKind::String && e.text == "advisory") rows.advisory = true;
    if (isComparison(e))
      for (const Expr& a : e.args) visitExpr(a, ask);
    if (e.kind == ExprKind::Between || e.kind == ExprKind::Case) visitExpr(e, ask);
  });
}

class Lineage {
 public:
  Lineage(const Program& program, std::vector<LockRows>& out) : program_(program), out_(out) {}

  void statement(const Statement& s, int unit) {
    unit_ = unit;
    for (const Query& q : s.query) level(q, {}, 0);
    for (const auto* list : {&s.exprs, &s.using_args})
      for (const Expr& e : *list) expr(e, {}, 0);
  }

  // A view's own levels; who reads the view is looked at in their statements.
  void view(const Relation& r) {
    unit_ = r.unit;
    level(*r.view, {}, 0);
  }

  // A reading in a policy, a check, an index: its level alone.
  void base(const PgLocksRead& read) {
    LockRows rows;
    unit_ = read.unit;
    if (!columnsOf(*read.item, {}, 0, rows)) return;
    rows.unit = read.unit, rows.level = read.level;
    rows.alias = read.item->alias.empty() ? read.item->name : read.item->alias;
    askOf(rows);
    out_.push_back(std::move(rows));
  }

 private:
  struct Cte {
    std::string name;
    const Query* query;
    const List<std::string>* aliases;
  };
  using Ctes = std::vector<Cte>;

  // The first item of FROM that hands on rows of pg_locks gives them to the level's own readers.
  std::vector<LockRows> rowsIn(const Query& q, const Ctes& ctes, int depth) {
    std::vector<LockRows> found;
    for (const FromItem& item : q.from) collect(item, q, ctes, depth, found);
    for (LockRows& r : found) askOf(r);
    return found;
  }

  void collect(const FromItem& item, const Query& q, const Ctes& ctes, int depth, std::vector<LockRows>& found) {
    for (const FromItem& side : item.sides) collect(side, q, ctes, depth, found);
    LockRows rows;
    if (depth > kDeepest || !columnsOf(item, ctes, depth, rows)) return;
    rows.unit = unit_, rows.level = &q;
    rows.alias = item.alias.empty() ? item.name : item.alias;
    found.push_back(std::move(rows));
  }

  bool columnsOf(const FromItem& item, const Ctes& ctes, int depth, LockRows& rows) {
    if (item.kind == FromKind::SubQuery && !item.query.empty()) return handedOn(item.query[0], ctes, item.column_aliases, depth + 1, rows);
    if (item.kind != FromKind::Relation) return false;
    if (item.schema.empty())
      for (std::size_t i = ctes.size(); i-- > 0;)
        if (ctes[i].name == item.name)  // its own list ends before it: WITH RECURSIVE is not followed
          return handedOn(*ctes[i].query, Ctes(ctes.begin(), ctes.begin() + static_cast<std::ptrdiff_t>(i)), *ctes[i].aliases, depth + 1, rows);
    if (item.name == "pg_locks" && (item.schema.empty() || item.schema == "pg_catalog")) {
      for (const char* c : {"classid", "objid", "objsubid"}) rows.columns[c] = c;
      return true;
    }
    const Relation* r = program_.catalogue.relation(item.schema, item.name);
    return r && r->view && r->kind == RelationKind::View && handedOn(*r->view, {}, r->view_columns, depth + 1, rows);
  }

  // What a query's own select list lets through.
  bool handedOn(const Query& q, Ctes ctes, const List<std::string>& aliases, int depth, LockRows& rows) {
    if (q.kind != QueryKind::Select || depth > kDeepest || ++steps_ > 5000) return false;
    for (const auto& c : q.ctes)
      if (!c.query.empty()) ctes.push_back({c.name, &c.query[0], &c.column_aliases});
    const std::vector<LockRows> inside = rowsIn(q, ctes, depth);
    if (inside.size() != 1) return false;  // two rows of pg_locks side by side: which is meant is not told apart
    const LockRows& from = inside[0];
    std::size_t at = 0;
    for (const Target& t : q.targets) {
      if (t.expr.kind == ExprKind::Star) {
        if (t.expr.qualifier.empty() || t.expr.qualifier == from.alias) rows.columns.insert(from.columns.begin(), from.columns.end());
        continue;
      }
      const std::string name = at < aliases.size() ? aliases[at] : t.name;
      ++at;
      std::string column = from.columnOf(withoutCasts(t.expr));
      if (column.empty() && mentions(t.expr, from, "classid") && mentions(t.expr, from, "objid")) column = "key";
      if (!column.empty()) rows.columns[name] = column;
    }
    rows.advisory = from.advisory, rows.compared = from.compared, rows.from = from.from;
    rows.from.push_back(&q);
    return !rows.columns.empty();
  }

  static bool mentions(const Expr& e, const LockRows& rows, std::string_view column) {
    bool found = false;
    visitExpr(e, [&](const Expr& c) { found |= rows.columnOf(c) == column; });
    return found;
  }

  void level(const Query& q, Ctes ctes, int depth) {
    if (depth > kDeepest || ++steps_ > 5000) return;
    for (const auto& c : q.ctes)
      if (!c.query.empty()) {
        level(c.query[0], ctes, depth + 1);
        ctes.push_back({c.name, &c.query[0], &c.column_aliases});
      }
    for (LockRows& r : rowsIn(q, ctes, depth)) out_.push_back(std::move(r));
    for (const FromItem& item : q.from) from(item, ctes, depth);
    for (const Query& arm : q.arms) level(arm, ctes, depth + 1);
    for (const Query& s : q.source) level(s, ctes, depth + 1);
    for (const auto* list : {&q.where, &q.having})
      for (const Expr& e : *list) expr(e, ctes, depth);
    for (const auto* list : {&q.targets, &q.sets, &q.returning})
      for (const Target& t : *list) expr(t.expr, ctes, depth);
  }

  void from(const FromItem& item, const Ctes& ctes, int depth) {
    for (const Query& q : item.query) level(q, ctes, depth + 1);
    for (const FromItem& side : item.sides) from(side, ctes, depth);
    for (const auto* list : {&item.on, &item.functions})
      for (const Expr& e : *list) expr(e, ctes, depth);
  }

  void expr(const Expr& e, const Ctes& ctes, int depth) {
    visitExpr(e, [&](const Expr& x) {
      for (const Query& q : x.query) level(q, ctes, depth + 1);
    });
  }

  const Program& program_;
  std::vector<LockRows>& out_;
  int unit_ = -1, steps_ = 0;
};

// Views that hand on rows of pg_locks, by name.
std::set<std::string> lockViews(const Program& program) {
  std::set<std::string> names;
  for (bool grew = true; grew;) {
    grew = false;
    for (const Relation& r : program.catalogue.relations) {
      if (!r.view || r.kind != RelationKind::View || names.count(r.name)) continue;
      bool reads = false;
      struct V {
        const std::set<std::string>& names;
        bool& reads;
        void onFrom(const FromItem& f, const QueryLevels&) {
          reads |= f.kind == FromKind::Relation && (f.name == "pg_locks" || names.count(f.name) > 0);
        }
      } v{names, reads};
      QueryWalker<V>(v).query(*r.view);
      if (reads) names.insert(r.name), grew = true;
    }
  }
  return names;
}

bool readsAny(const Statement& s, const std::set<std::string>& relations) {
  bool found = false;
  struct V {
    const std::set<std::string>& relations;
    bool& found;
    void onFrom(const FromItem& f, const QueryLevels&) { found |= f.kind == FromKind::Relation && relations.count(f.name) > 0; }
  } v{relations, found};
  QueryWalker<V>(v).statement(s);
  return found;
}

template <class F>
void forEachLiveStatement(const Program& program, F&& f) {
  std::set<const Function*> live;
  for (const Routine& r : program.catalogue.routines) live.insert(r.function);
  for (std::size_t u = 0; u < program.units.size(); ++u)
    for (const Function& function : program.units[u].functions) {
      const bool routine = function.kind == FunctionKind::Routine || function.kind == FunctionKind::Procedure;
      if (!routine || live.count(&function)) forEachStatement(function, [&](const Statement& s) { f(s, static_cast<int>(u)); });
    }
}

}  // namespace

std::vector<LockRows> lockRows(const Program& program) {
  std::vector<LockRows> all;
  std::set<const Statement*> statements;
  const auto read = [&](const Statement& s, int unit) {
    if (statements.insert(&s).second) Lineage(program, all).statement(s, unit);
  };
  for (const PgLocksRead& r : program.pg_locks) {
    if (r.statement) read(*r.statement, r.unit);
    else if (r.level && r.item) Lineage(program, all).base(r);
  }
  const std::set<std::string> views = lockViews(program);
  if (!views.empty()) {
    for (const Relation& r : program.catalogue.relations)
      if (r.view && r.kind == RelationKind::View && views.count(r.name)) Lineage(program, all).view(r);
    forEachLiveStatement(program, [&](const Statement& s, int unit) {
      if (readsAny(s, views)) read(s, unit);
    });
  }
  // objid may be asked inside, the rest by who reads it.
  std::map<const Query*, std::set<std::string>> later;
  for (const LockRows& r : all)
    for (const Query* level : r.from) later[level].insert(r.compared.begin(), r.compared.end());
  std::vector<LockRows> out;
  std::set<std::pair<const Query*, std::string>> seen;
  for (LockRows& r : all) {
    if (!seen.insert({r.level, r.alias}).second) continue;
    if (const auto asked = later.find(r.level); asked != later.end()) r.compared.insert(asked->second.begin(), asked->second.end());
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace pglocklint

// # Why several locks need one order
//
// A statement that takes one lock per row takes them in the order in which its plan delivers the rows: by heap position
// today, by an index or a hash table tomorrow. Two sessions whose sets overlap can then take the same two keys in opposite
// order, each waits for the other, and after deadlock_timeout PostgreSQL aborts one. The cure is one word of SQL: ORDER BY
// the key. The select list is computed after the sort (measured on 13 to 18), so the locks are taken in that order.
//
// The same holds for one call inside a PL/pgSQL loop over an unsorted query or array: the loop only spreads the set over
// time.
//
// Not meant: try functions (they do not wait), one key, any ORDER BY (even by another column: it is an order, if everybody
// uses it), written lists of constants and series, and loops that give each lock back before they take the next.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "all_rules.h"
#include "program/walk.h"
#include "routines.h"
#include "row_order.h"
#include "wording.h"

namespace pglocklint {
namespace {

constexpr int kAssignmentsDeep = 3;  // k := r.id * 10; PERFORM pg_advisory_lock(k)

bool isRowColumn(const Expr& e, const Function* function) {
  if (e.kind != ExprKind::Column) return false;
  return !function || !isVariable(*function, e.qualifier.empty() ? e.name : e.qualifier);
}

// Columns of the rows in the key; variables and parameters are the same for all of them.
std::vector<const Expr*> rowColumns(const Expr& call, const Function* function) {
  std::vector<const Expr*> out;
  struct V {
    std::vector<const Expr*>& out;
    const Function* function;
    void onExpr(const Expr& e, const QueryLevels&) {
      if (isRowColumn(e, function)) out.push_back(&e);
    }
  } v{out, function};
  QueryWalker<V>(v).expr(call);
  return out;
}

// --- a single key after all: every column in it is bound by an equality
// ------------------------------------------------------

void conjuncts(const Expr& e, std::vector<const Expr*>& out) {
  if (e.kind == ExprKind::And)
    for (const Expr& a : e.args) conjuncts(a, out);
  else
    out.push_back(&e);
}

void onConditions(const FromItem& item, std::vector<const Expr*>& out) {
  for (const Expr& e : item.on) conjuncts(e, out);
  for (const FromItem& side : item.sides) onConditions(side, out);
}

std::vector<const Expr*> conditions(const Query& q) {
  std::vector<const Expr*> out;
  for (const Expr& e : q.where) conjuncts(e, out);
  for (const FromItem& item : q.from) onConditions(item, out);
  return out;
}

bool sameColumn(const Expr& a, const Expr& b) {
  return a.kind == ExprKind::Column && b.kind == ExprKind::Column && a.name == b.name &&
         (a.qualifier == b.qualifier || a.qualifier.empty() || b.qualifier.empty());
}

// column = something that is the same for all rows
const Expr* boundColumn(const Expr& condition, const Function* function) {
  if (condition.kind != ExprKind::Op || condition.name != "=" || condition.args.size() != 2) return nullptr;
  for (const std::size_t side : {0U, 1U}) {
    const Expr &column = condition.args[side], &other = condition.args[1 - side];
    if (isRowColumn(column, function) && rowColumns(other, function).empty() && other.kind != ExprKind::SubSelect)
      return &column;
  }
  return nullptr;
}

bool isLiteral(const Expr& e) { return e.kind == ExprKind::Const && e.literal == LiteralKind::String; }

// Nothing is known about the relation, and `id = $1` may well pick one row. An equality with a text literal hardly does.
bool maybeOneRow(const LockSite& site, const Catalogue& catalogue) {
  const Query& q = *site.level;
  if (q.from.size() != 1 || q.from[0].kind != FromKind::Relation || catalogue.relation(q.from[0].schema, q.from[0].name))
    return false;
  for (const Expr* c : conditions(q))
    if (boundColumn(*c, site.function) && !isLiteral(c->args[0]) && !isLiteral(c->args[1])) return true;
  return false;
}

bool oneKey(const LockSite& site, const Catalogue& catalogue) {
  if (site.key.constant) return true;
  const std::vector<const Expr*> columns = rowColumns(*site.call, site.function);
  if (!site.level) return columns.empty();
  const std::vector<const Expr*> all = conditions(*site.level);
  const bool bound = std::all_of(columns.begin(), columns.end(), [&](const Expr* column) {
    return std::any_of(all.begin(), all.end(), [&](const Expr* c) {
      const Expr* b = boundColumn(*c, site.function);
      return b && sameColumn(*b, *column);
    });
  });
  return bound || maybeOneRow(site, catalogue);
}

// --- one statement
// -----------------------------------------------------------------------------------------------------------

// ORDER BY key can be appended as it stands: a plain query over the whole statement, and a key that is one column.
void offerOrderBy(const LockSite& site, Finding& f) {
  if (site.statement->query.empty() || site.level != &site.statement->query[0] || site.statement->dynamic) return;
  const Query& q = *site.level;
  const bool plain = q.kind == QueryKind::Select && q.order_by.empty() && q.limit.empty() && q.offset.empty() &&
                     q.locking.empty() && q.group_by.empty() && q.distinct == DistinctKind::None && q.having.empty() &&
                     !q.with_ties;
  const PlContext c = site.statement->context;
  if (!plain || (c != PlContext::None && c != PlContext::Sql && c != PlContext::Perform)) return;
  if (site.statement->kind != StatementKind::Query || site.call->args.empty() || site.routine) return;
  std::string key;
  for (const Expr& a : site.call->args) {
    if (a.kind == ExprKind::Const) continue;
    const Expr* column = &a;
    while (column->kind == ExprKind::Cast && !column->args.empty()) column = &column->args[0];
    if (column->kind != ExprKind::Column || !isRowColumn(*column, site.function) || !key.empty()) return;
    if (column->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
      return;  // would need quotes
    key = column->qualifier.empty() ? column->name : column->qualifier + "." + column->name;
  }
  if (key.empty()) return;
  const std::uint32_t end = site.statement->range.end;
  f.fixes.push_back({f.where.file, end, end, "\nORDER BY " + key});  // on its own line: a comment may end the statement
}

std::string keyText(const LockSite& site) {
  std::string out;
  for (const Expr& a : site.call->args)
    if (a.kind != ExprKind::Const) out += (out.empty() ? "" : ", ") + exprText(a);
  return out.empty() ? "the key" : out;
}

bool unorderedStatement(const LockSite& site, const Evaluation& e, const Catalogue& catalogue) {
  if (e.runs != Runs::PerRow || e.sureness == Sureness::Unknown || !site.level) return false;
  if (e.position == CallPosition::Values || oneKey(site, catalogue)) return false;
  if (e.order == CallOrder::Undefined) {
    const RowOrder o = rowOrder(*site.level, site.function, catalogue);  // an array sorted before, a sorted sub-select
    const bool sorted = site.level->from.size() == 1 && site.level->order_by.empty() && o != RowOrder::Unordered;
    return !sorted;
  }
  if (e.order != CallOrder::Written || e.series >= 0) return false;
  return rowOrder(*site.level, site.function, catalogue) == RowOrder::Unordered;
}

// A condition, a sub-select around the call or a wrapper that is not VOLATILE runs below the sort of its own level.
bool runsBeforeSort(const LockSite& site) { return !site.level->order_by.empty(); }

void reportStatement(const LockSite& site, Report& report) {
  const std::string remedy = runsBeforeSort(site)
                                 ? "The ORDER BY of the same level does not help: the call runs before the sort. Sort in a "
                                   "sub-select with LIMIT or OFFSET 0, and take the locks in the outer select list."
                                 : fmt::format(
                                       "Add ORDER BY {} to the query that delivers the rows: PostgreSQL sorts before it "
                                       "computes the select list, so the locks are taken in that order.",
                                       keyText(site));
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} takes one lock per row, in whatever order the rows arrive. Two sessions whose rows "
                                     "overlap can take the same keys in opposite order and deadlock. {}",
                                     callText(site), remedy));
  offerOrderBy(site, f);
}

// --- one site in a loop
// ------------------------------------------------------------------------------------------------------

// Variables that the call's arguments come from, through a few assignments.
std::set<std::string> feeding(const LockSite& site) {
  std::set<std::string> names;
  const auto add = [&](const Expr& e) {
    struct V {
      std::set<std::string>& names;
      void onExpr(const Expr& x, const QueryLevels&) {
        if (x.kind == ExprKind::Column) names.insert(x.qualifier.empty() ? x.name : x.qualifier);
      }
    } v{names};
    QueryWalker<V>(v).expr(e);
  };
  add(*site.call);
  for (int i = 0; i < kAssignmentsDeep; ++i)
    forEachStatement(*site.function, [&](const Statement& s) {
      if (s.context != PlContext::Assign || s.into.empty() || s.query.empty() || !names.count(s.into[0])) return;
      for (const Target& t : s.query[0].targets) add(t.expr);
    });
  return names;
}

// The innermost loop around the site whose variable the key depends on.
const Statement* loopOf(const LockSite& site) {
  if (site.statement->loop_depth == 0) return nullptr;
  const std::set<std::string> names = feeding(site);
  const Statement* loop = nullptr;
  forEachStatement(*site.function, [&](const Statement& s) {
    if (s.context != PlContext::ForQuery && s.context != PlContext::ForRange) return;
    if (s.loop_depth >= site.statement->loop_depth || s.range.begin >= site.call->range.begin) return;
    if (std::none_of(s.into.begin(), s.into.end(), [&](const std::string& v) { return names.count(v) > 0; })) return;
    if (!loop || s.range.begin > loop->range.begin) loop = &s;
  });
  return loop;
}

bool givesBackInLoop(const LockSite& site, const Program& program) {
  if (site.lock->scope == LockScope::Transaction) {  // COMMIT in a procedure's loop
    for (const Block& b : site.function->blocks)
      for (const Event& e : b.events)
        for (const TransactionOp& t : e.transaction)
          if (t.verb == TransactionVerb::Commit || t.verb == TransactionVerb::Rollback) return true;
    return false;
  }
  return std::any_of(program.sites.begin(), program.sites.end(), [&](const LockSite& s) {
    return s.function == site.function && s.lock && !s.lock->acquires() && s.statement &&
           s.statement->loop_depth >= site.statement->loop_depth;
  });
}

RowOrder loopOrder(const Statement& loop, const LockSite& site, const Catalogue& catalogue) {
  if (loop.context == PlContext::ForQuery) {
    if (!loop.query.empty()) return rowOrder(loop.query[0], site.function, catalogue);
    for (const Variable& v : site.function->variables)  // FOR r IN a_bound_cursor LOOP
      if (v.name == loop.name && !v.query.empty()) return rowOrder(v.query[0], site.function, catalogue);
    return RowOrder::Unknown;
  }
  // FOREACH; the bounds of an integer FOR are numbers and give Unknown.
  if (loop.head != "FOREACH" || loop.query.empty() || loop.query[0].targets.size() != 1) return RowOrder::Unknown;
  return arrayOrder(loop.query[0].targets[0].expr, site.function, catalogue);
}

bool reportLoop(const LockSite& site, Report& report) {
  const Program& program = report.program();
  const Statement* loop = site.function && site.statement ? loopOf(site) : nullptr;
  if (!loop || loopOrder(*loop, site, program.catalogue) != RowOrder::Unordered || givesBackInLoop(site, program))
    return false;
  const bool array = loop->context == PlContext::ForRange;
  Finding& f =
      report.at(site, site.call->range,
                fmt::format("{} takes one lock in each round of a loop over {}, and all of them stay held. Two sessions "
                            "whose keys overlap can take them in opposite order and deadlock. {}",
                            callText(site), array ? "an array that nobody sorted" : "a query without ORDER BY",
                            array ? "Sort first: FOREACH … IN ARRAY ARRAY(SELECT DISTINCT k FROM unnest(…) AS k ORDER BY k)."
                                  : "Add ORDER BY the key to the query of the loop."));
  f.related.push_back(report.place(site.unit, loop->range, array ? "the loop's array" : "the loop's query has no ORDER BY"));
  return true;
}

void check(const Program& program, Report& report) {
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last || !site.lock || !site.lock->blocks() ||
        !site.statement)
      continue;
    const bool statement = std::any_of(site.evaluations.begin(), site.evaluations.end(), [&](const CallEvaluation& c) {
      return unorderedStatement(site, c.evaluation, program.catalogue);
    });
    if (statement) reportStatement(site, report);
    if (statement || reportLoop(site, report)) last = site.call;
  }
}

}  // namespace

const Rule kUnorderedLockSet{
    {
        .code = "AL104",
        .name = "unordered-lock-set",
        .severity = Severity::Warning,
        .summary = "several blocking locks are taken in no defined order",
        .explanation =
            "A query without ORDER BY delivers its rows as the plan likes, and a statement that locks each row takes the "
            "locks in that order; so does a loop over such a query or over an array that nobody sorted. Two sessions with "
            "overlapping sets can take the same keys in opposite order: a deadlock, and PostgreSQL aborts one of them.",
        .remedy = "ORDER BY the key in the query that delivers the rows; sort an array before the loop.",
        .clauses = {"several keys by blocking calls in one statement with no defined order | bad_join.sql",
                    "several keys of an array that nobody sorted | bad_unnest.sql",
                    "by one site in a loop over a query | bad_loop.sql",
                    "by one site in a loop over an array | bad_foreach.sql"},
    },
    check};

}  // namespace pglocklint

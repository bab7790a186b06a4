#include "work.h"

#include <algorithm>
#include <string>

#include "program/walk.h"

namespace pglocklint {

namespace {

bool changesData(const Query& q) {
  const auto changes = [](const Query& x) {
    return x.kind != QueryKind::Select && x.kind != QueryKind::Values && x.kind != QueryKind::SetOperation;
  };
  return changes(q) ||
         std::any_of(q.ctes.begin(), q.ctes.end(), [&](const Cte& c) { return !c.query.empty() && changes(c.query[0]); });
}

// SELECT purge_sessions(): a function of the program may do anything; PostgreSQL's own do not do the work.
bool callsProgram(const Statement& s, const Catalogue& catalogue) {
  bool found = false;
  forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
    found |= e.kind == ExprKind::Call && !findLockFunction(e.name) && !findBuiltin(e.name) &&
             catalogue.routine(e.qualifier, e.name, e.args.size());
  });
  return found;
}

}  // namespace

bool readsOnly(std::string_view head) {
  for (const std::string_view word :
       {"SELECT", "SHOW", "EXPLAIN", "TABLE", "VALUES", "SET", "RESET", "LISTEN", "FETCH", "CLOSE"})
    if (head == word || head.rfind(std::string(word) + " ", 0) == 0) return true;
  return false;
}

bool isWork(const Statement& s, const Catalogue& catalogue) {
  switch (s.kind) {
    case StatementKind::Query: return s.query.empty() || changesData(s.query[0]) || callsProgram(s, catalogue);
    case StatementKind::Unparsed: return s.count > 1 || !readsOnly(s.head);
    case StatementKind::Execute:
    case StatementKind::CreateTableAs:
    case StatementKind::Copy:
    case StatementKind::Call:
    case StatementKind::Do: return true;
    case StatementKind::Utility: return !readsOnly(s.head);
    default: return false;
  }
}

bool isWork(const Event& event, const Catalogue& catalogue) {
  if (event.kind == EventKind::Ddl) return true;
  for (const SessionOp& op : event.session)
    if (op.verb == SessionVerb::Include) return true;
  return std::any_of(event.statement.begin(), event.statement.end(), [&](const Statement& s) { return isWork(s, catalogue); });
}

SourceRange placeOf(const Event& event, const Unit& unit) {
  for (const Statement& s : event.statement) return s.range;
  for (const SessionOp& op : event.session) return op.range;
  for (const TransactionOp& op : event.transaction) return op.range;
  if (event.kind == EventKind::Ddl && event.ddl >= 0 && static_cast<std::size_t>(event.ddl) < unit.ddl.size())
    return unit.ddl[static_cast<std::size_t>(event.ddl)].range;
  return {};
}

}  // namespace pglocklint

#include "routines.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/walk.h"

namespace pglocklint {
namespace {

// Calls f for every expression inside `expr`, sub-selects included.
template <class F>
void forEachInside(const Expr& expr, F&& f) {
  struct V {
    F& f;
    void onExpr(const Expr& e, const QueryLevels&) { f(e); }
  } v{f};
  QueryWalker<V>(v).expr(expr);
}

bool isReference(const Expr& e, const Function& function, std::string_view variable) {
  if (e.kind == ExprKind::Star) return e.qualifier == variable;  // a bare * is columns, never variables
  if (e.kind != ExprKind::Column) return false;
  return e.qualifier == variable ||
         (e.name == variable && (e.qualifier.empty() || e.qualifier == function.name || !isVariable(function, e.qualifier)));
}

}  // namespace

std::string routineSubject(const Program& program, const Routine& routine) {
  const Unit& unit = program.units[static_cast<std::size_t>(routine.unit)];
  return fmt::format("{}:{}", unit.files[routine.function->range.file], routine.function->range.begin);
}

bool isVariable(const Function& function, std::string_view name) {
  const auto named = [&](const auto& v) { return v.name == name; };
  return std::any_of(function.variables.begin(), function.variables.end(), named) ||
         std::any_of(function.parameters.begin(), function.parameters.end(), named);
}

bool mentions(const Expr& expr, const Function& function, std::string_view variable) {
  bool found = false;
  forEachInside(expr, [&](const Expr& e) { found |= isReference(e, function, variable); });
  return found;
}

bool concernsLocks(const Expr& expr, const Catalogue& catalogue) {
  bool found = false;
  struct V {
    bool& found;
    const Catalogue& catalogue;
    void onExpr(const Expr& e, const QueryLevels&) { found |= e.kind == ExprKind::Call && isLockCall(e, catalogue); }
    void onFrom(const FromItem& item, const QueryLevels&) {
      found |= item.kind == FromKind::Relation && item.name == "pg_locks";
    }
  } v{found, catalogue};
  QueryWalker<V>(v).expr(expr);
  return found;
}

bool isRead(const Function& function, std::string_view variable, const Statement* except) {
  bool read = false;
  forEachStatement(function, [&](const Statement& s) {
    if (s.kind == StatementKind::NotUnderstood || s.kind == StatementKind::Unparsed) read = true;  // it may be read there
    if (&s == except) return;
    forEachExpr(s, [&](const Expr& e, const QueryLevels&) { read |= isReference(e, function, variable); });
  });
  return read;
}

}  // namespace pglocklint

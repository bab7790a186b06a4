#include "routines.h"

#include <fmt/format.h>

#include "program/walk.h"

namespace pglocklint {
std::string routineSubject(const Program& program, const Routine& routine) {
  const Unit& unit = program.units[static_cast<std::size_t>(routine.unit)];
  return fmt::format("{}:{}", unit.files[routine.function->range.file], routine.function->range.begin);
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

}  // namespace pglocklint

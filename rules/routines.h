// What several rules ask about routines and lock calls.
#pragma once
#include <string>
#include <string_view>

#include "rule.h"

namespace pglocklint {

// The subject of findings about a routine's declaration, for the dominance table: findings that the declaration causes carry
// it too.
std::string routineSubject(const Program& program, const Routine& routine);

// The expression contains a call of a lock function or of a routine that locks, or reads pg_locks.
bool concernsLocks(const Expr& expr, const Catalogue& catalogue);

}  // namespace pglocklint

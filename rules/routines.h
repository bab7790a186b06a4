// What the rules ask about functions of the program: who a name belongs to, who reads a variable, what encloses a statement.
#pragma once
#include <string>
#include <string_view>

#include "rule.h"

namespace pglocklint {

// The subject of findings about a routine's declaration, for the dominance table: findings that the declaration causes carry
// it too.
std::string routineSubject(const Program& program, const Routine& routine);

// A parameter or variable of that name is visible somewhere in the function.
bool isVariable(const Function& function, std::string_view name);

// The expression names that variable: v, v.field, block.v. Strings and dynamic text are not looked into.
bool mentions(const Expr& expr, const Function& function, std::string_view variable);

// The expression contains a call of a lock function or of a routine that locks, or reads pg_locks.
bool concernsLocks(const Expr& expr, const Catalogue& catalogue);

// Somewhere in the function (or in a statement we could not read) the variable's value is looked at.
bool isRead(const Function& function, std::string_view variable, const Statement* except);

}  // namespace pglocklint

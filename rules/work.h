// What counts as work that a lock may be there for: statements that change something, or may.
#pragma once
#include <string_view>

#include "rule.h"

namespace pglocklint {

// By the leading keyword: nothing changes ("SELECT", "SHOW", …).
bool readsOnly(std::string_view head);

// The statement changes data or schema, or calls what may: a function of the program, a procedure, text that was not read.
bool isWork(const Statement& statement, const Catalogue& catalogue);

// The same for any event of a script; a file that is included counts.
bool isWork(const Event& event, const Catalogue& catalogue);

// Where the event stands; of no known place for definitions outside `unit`.
SourceRange placeOf(const Event& event, const Unit& unit);

}  // namespace pglocklint

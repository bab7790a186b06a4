// Functions of the host program that are given what decides which statement they send, as a number:
// void lockFormation(const char* id, LOCKMODE mode) { …; LockAcquire(&tag, mode, false, false); }
#pragma once
#include <vector>

#include "model/unit.h"

namespace pglocklint::sql {

// Each constant that such a function is called with makes an instance of it, which sends what is sent there; the calls are of that one then.
// What is left undecided is sent by nobody, and a line of the coverage. `units`: all of the host language.
void instantiate(std::vector<Unit>& units);

}  // namespace pglocklint::sql

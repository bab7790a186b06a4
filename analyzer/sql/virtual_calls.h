// Virtual calls of the host program, linked to the overriders that are seen in it.
//
// Where one function can be meant, the call names it. Where several can, and one of them has to do with locks, transactions or sessions,
// the call becomes branches on the class of the object ("lock.#ns::FileLock", see model/host.h): what one call finds out about the object
// holds for the next, so lock() of one class is never followed by unlock() of another. Functions that only send other SQL are not told
// apart (HostCall::targets).
#pragma once
#include <vector>

#include "model/unit.h"

namespace pglocklint::sql {

// `units`: all of the host language, not yet lowered.
void linkVirtualCalls(std::vector<Unit>& units);

}  // namespace pglocklint::sql

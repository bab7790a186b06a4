// Constants that one unit of the host program declares (extern const int kJobs; a static member) and another defines: where a call binds
// one, or puts it into a text or a field, its value.
#pragma once
#include <vector>

#include "model/unit.h"

namespace pglocklint::sql {

// `units`: all of the host language. A constant that is defined twice stays what it is.
void linkConstants(std::vector<Unit>& units);

}  // namespace pglocklint::sql

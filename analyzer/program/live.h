// Live definitions: which CREATE, ALTER and DROP statements of a program still stand at its end.
#pragma once
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "model/unit.h"
#include "program/catalogue.h"

namespace pglocklint {

struct SchemaObject {  // a live view, policy, trigger, index, table or domain
  int unit = -1;
  const Ddl* ddl = nullptr;
};

struct LiveDefinitions {
  Catalogue catalogue;
  std::set<const Function*> routines;   // live functions and procedures
  std::vector<SchemaObject> objects;    // in order of definition
  std::set<int> included;               // units that another one includes
  std::uint64_t superseded = 0;         // functions, views, triggers and policies replaced or dropped later
};

// Replays the definitions of each history. The files of one migration runner and folder are one history, in the runner's order; any
// other file is a history of its own. Down-sections are left out.
LiveDefinitions liveDefinitions(const std::deque<Unit>& units);

}  // namespace pglocklint

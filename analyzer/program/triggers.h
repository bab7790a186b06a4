// Which trigger functions a statement runs: those of the live, enabled triggers on the relations that it writes to.
//
// An INSERT, UPDATE, DELETE or MERGE on a table fires the table's triggers, on a view its INSTEAD OF triggers or, where the view is one table
// with conditions, those of that table. A statement of a script fires only triggers that are there when it runs; what a foreign key's CASCADE
// or a rule does is not followed.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "program/catalogue.h"
#include "program/program.h"

namespace pglocklint {

struct FiredTrigger {
  const TriggerUse* use = nullptr;
  const Routine* routine = nullptr;
  const Query* level = nullptr;  // what fires it
  bool certain = false;          // for one row or once in any case; otherwise perhaps, and once for each row
  bool before_rows = false;      // ahead of everything else of the statement
};

class Triggers {
 public:
  explicit Triggers(const Program& program);
  // In the order in which they run.
  std::vector<FiredTrigger> firedBy(const Statement& statement, const Function& function, int unit) const;

 private:
  void addLevel(const Query& level, const Statement& statement, const Function& function, int unit, std::vector<FiredTrigger>& out) const;
  bool isOn(const TriggerUse& t, const FromItem& target) const;
  bool isThere(const TriggerUse& t, const Statement& statement, const Function& function, int unit) const;

  const Program& program_;
  std::unordered_multimap<std::string, const TriggerUse*> on_;  // by the relation's name
};

}  // namespace pglocklint

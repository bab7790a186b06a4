// The linked program: what all units together mean. Rules read this and nothing else.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/lock_function.h"
#include "model/unit.h"
#include "model/value.h"
#include "model/finding.h"
#include "model/pooler.h"
#include "program/catalogue.h"
#include "program/evaluate.h"

namespace pglocklint {

class LockStates;  // lock_state.h

// Calls f(0) … f(n-1), each once, on as many threads as it likes; returns when all are done.
using ForEach = std::function<void(std::size_t n, const std::function<void(std::size_t)>& f)>;
inline void oneAfterAnother(std::size_t n, const std::function<void(std::size_t)>& f) {
  for (std::size_t i = 0; i < n; ++i) f(i);
}

// Where a lock call stands in the program.
enum class SiteHost {
  Statement,     // in a statement of a function or script
  SchemaObject,  // in a view, policy, check, default, index, generated column, trigger condition (host_ddl)
};

// One lock call: a call of a built-in lock function, or of a routine that locks (then `routine` is set, and there is one LockSite for
// each built-in call that the routine performs, as far as known; `inner` is that one).
struct LockSite {
  int unit = -1;
  SiteHost host = SiteHost::Statement;
  const Function* function = nullptr;      // never null for host Statement
  const Statement* statement = nullptr;
  const Query* level = nullptr;            // innermost query level the call is written in; null if none
  const Ddl* host_ddl = nullptr;           // SchemaObject
  std::string host_what;                   // SchemaObject: "view", "policy", "check constraint", "column default", "index", …
  const Expr* call = nullptr;              // its range is the call's place in unit `unit`
  const LockFunction* lock = nullptr;      // what is done
  LockKey key;
  const Routine* routine = nullptr;
  const LockSite* inner = nullptr;         // via routine: the site in the routine's body (null if not known)
  std::vector<CallEvaluation> evaluations; // usually one; several when views or prepared statements lead to it
  bool live = true;                        // in a live definition, not in a down section

  const Evaluation* evaluation() const { return evaluations.empty() ? nullptr : &evaluations.front().evaluation; }
  bool direct() const { return routine == nullptr; }
};

// A reading of pg_locks (AL504), a reference in FROM.
struct PgLocksRead {
  int unit = -1;
  const Function* function = nullptr;
  const Statement* statement = nullptr;
  const Query* level = nullptr;
  const FromItem* item = nullptr;
};

struct Program {
  std::deque<Unit> units;          // sorted by path; addresses stay
  Catalogue catalogue;
  std::deque<LockSite> sites;      // sorted by unit, position
  std::vector<PgLocksRead> pg_locks;
  std::vector<Pooler> poolers;     // whose configurations are in the tree
  std::string pooler_mode;         // what the project's configuration says of poolers: a PoolMode, "none", or empty
  bool waits_end = false;          // the project's configuration says that connections have a lock_timeout or statement_timeout
  std::shared_ptr<const LockStates> locks;  // what is held where; link() always sets it
  std::uint64_t superseded = 0;    // function, view, trigger and policy definitions that a later one replaced
  bool whole = true;               // the whole program was analyzed (for unused-allow)

  const std::string& path(int unit) const { return units[static_cast<std::size_t>(unit)].path(); }
  Location locate(int unit, const SourceRange& range) const {
    const Unit& u = units[static_cast<std::size_t>(unit)];
    return {u.files[range.file], range.line, range.column, range.end_line, range.end_column, range.begin, range.end};
  }
};

// Schema-qualified name of the function a site is in ("" at the top level of a script).
std::string functionName(const Function* function);

// Links the units (sorted by path on return) into a Program. Work on one unit is independent of the others': `for_each` may do it on
// several threads (with large stacks); the Program is the same.
Program link(std::vector<Unit> units, const ForEach& for_each = oneAfterAnother);

}  // namespace pglocklint

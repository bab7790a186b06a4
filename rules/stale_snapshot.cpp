// # Why a lock does not make an old snapshot new
//
// Under REPEATABLE READ a transaction reads all its statements from one snapshot, taken by its first query: and the query that waits for the lock is
// one. After the wait it still sees the rows as they were before the other session's work. A STABLE (or IMMUTABLE) function has the same
// trouble in any isolation: its queries use the snapshot of the statement that called it, which is older than the lock.
//
// READ COMMITTED takes a new snapshot for each statement, and each statement of a VOLATILE function has its own: silent. Reported at
// the lock call when a statement after it reads a relation. SERIALIZABLE is left out: its conflicts end in an error.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const auto& [id, read] : f.read_after) {
      const LockEvent& e = locks.event(id);
      Finding& finding = reportAt(
          report, e, e.range,
          isScript(f) ? fmt::format("{} waits under REPEATABLE READ: the transaction's snapshot is taken before the wait, so what is read after it is older than the "
                                    "lock. Use READ COMMITTED, or take a session lock before BEGIN and release it after COMMIT.", eventText(locks, e))
                      : fmt::format("{} waits in a function that is not VOLATILE: its queries use the snapshot of the statement that called it, which is older than the "
                                    "lock. Declare the function VOLATILE.", eventText(locks, e)));
      addTaken(report, finding, e, "waits here");
      addStep(report, finding, f.unit, read, "reads from the snapshot taken before the wait");
      if (!isScript(f) && f.function->volatility_range.known())
        finding.related.push_back(report.place(f.unit, f.function->volatility_range, "declared here"));
    }
  }
}

}  // namespace

const Rule kStaleSnapshot{
    {
        .code = "AL501",
        .name = "stale-snapshot",
        .severity = Severity::Error,
        .summary = "what is read under the lock is older than the lock",
        .explanation =
            "A REPEATABLE READ transaction, and a STABLE function in any transaction, read from a snapshot that is taken before the lock call waits. What "
            "the other session has committed meanwhile is not seen, so the check under the lock checks the past.",
        .remedy = "Use READ COMMITTED, or take the lock before the transaction begins (session lock, released after COMMIT). Declare functions that lock VOLATILE.",
        .clauses = {"a read after the lock uses an older snapshot (REPEATABLE READ) | bad_repeatable_read.sql",
                    "a read after the lock uses an older snapshot (STABLE function) | bad_stable.sql"},
    },
    check};

}  // namespace pglocklint

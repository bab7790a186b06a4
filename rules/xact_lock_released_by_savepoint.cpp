// # Why a lock taken inside a savepoint may not survive
//
// A transaction lock belongs to the savepoint in which it was taken. ROLLBACK TO releases it; so does the error that takes a PL/pgSQL block
// to its EXCEPTION handler, because the block is a savepoint. Work that goes on afterwards is done without the lock. Locks that are older
// than the savepoint stay.
//
// After ROLLBACK TO any work in the same transaction counts, unless the lock is taken again first. After a handler the lost lock matters only
// to work of the same kind: on a relation that was written under the lock, or through the same function. A handler that writes a log is
// none.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const WorkAfterLoss& w : f.after_loss) {
      const bool savepoint = w.lost.how == Loss::Savepoint;
      if (w.lost.hold.taken.empty() || !(savepoint || (w.lost.how == Loss::Handler && w.same_work))) continue;
      const LockEvent& taken = locks.event(w.lost.hold.taken.back());
      Finding& finding = reportAt(
          report, taken, firstLine(savepoint ? w.lost.where : w.work),
          savepoint ? fmt::format("ROLLBACK TO releases the lock {}, which was taken after the savepoint, and the transaction goes on without it. Take the lock before "
                                  "SAVEPOINT, or take it again here.", keyText(locks, w.lost.hold.key, w.lost.hold.taken.back()))
                    : fmt::format("This runs without the lock {}: it was taken inside the block with EXCEPTION, and the error that led to the handler has released it. "
                                  "Take the lock before that block.", keyText(locks, w.lost.hold.key, w.lost.hold.taken.back())));
      addTaken(report, finding, taken);
      addStep(report, finding, f.unit, w.lost.where, savepoint ? "rolled back to a savepoint older than the lock: it is released" : "an error here releases it");
      addStep(report, finding, f.unit, w.work, "done without the lock");
    }
  }
}

}  // namespace

const Rule kXactLockReleasedBySavepoint{
    {
        .code = "AL307",
        .name = "xact-lock-released-by-savepoint",
        .severity = Severity::Error,
        .summary = "rolling back to a savepoint releases a lock, and the work goes on",
        .explanation =
            "A transaction lock is released when the savepoint it was taken in is rolled back: by ROLLBACK TO SAVEPOINT, or by an error in a PL/pgSQL block with "
            "EXCEPTION. What follows in the transaction is not protected any more.",
        .remedy = "Take the lock before the savepoint or the block, or take it again after the rollback.",
        .clauses = {"inside a savepoint whose rollback drops it | bad_savepoint.sql", "inside an EXCEPTION block whose rollback drops it | bad_handler.sql",
                    "and the work goes on | good.sql"},
    },
    check};

}  // namespace pglocklint

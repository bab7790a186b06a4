// # Why a failed lock must stop the work
//
// With lock_timeout set (or in a deadlock) a blocking lock call ends in an error instead of a lock. A handler that swallows the error and
// lets the work go on has made the lock optional: exactly when somebody else is at work, this session works as well.
//
// Reported for a block whose body only takes locks, whose handler catches the failure and reaches work behind the block. A handler
// that returns, raises or takes the lock in another way is none, and so is work inside of the handler (a log, a retry note).
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
      if (w.lost.how != Loss::Failure || w.in_handler || w.lost.hold.taken.empty()) continue;
      const LockEvent& taken = locks.event(w.lost.hold.taken.back());
      Finding& finding = reportAt(report, taken, firstLine(w.work),
                                  fmt::format("This runs also when {} has failed (lock_timeout, deadlock, a cancelled statement): {} and control goes on without the "
                                              "lock. {}, or try again.",
                                              eventText(locks, taken), isHost(f) ? "the error is dropped" : "the handler takes the error",
                                              isHost(f) ? "Test the result and leave, or let the exception out" : "Leave in the handler (RETURN or RAISE)"));
      addTaken(report, finding, taken, "the lock call that can fail");
      if (!isHost(f)) addStep(report, finding, f.unit, w.lost.where, "the handler takes the error and goes on");
      addStep(report, finding, f.unit, w.work, "done without the lock");
    }
  }
}

}  // namespace

const Rule kContinueAfterLockFailure{
    {
        .code = "AL311",
        .name = "continue-after-lock-failure",
        .severity = Severity::Error,
        .summary = "the work goes on after the lock could not be had",
        .explanation = "A blocking lock call can fail: lock_timeout, a deadlock, a cancelled statement. Code that takes the error and goes on works without the lock, "
                       "and does so just when another session holds it.",
        .remedy = "Leave the function in the handler, raise again, or try again until the lock is held.",
        .clauses = {"a failure that the code observes, after which a write runs | bad.sql"},
    },
    check};

}  // namespace pglocklint

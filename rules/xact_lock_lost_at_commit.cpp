// # Why a transaction lock does not survive COMMIT
//
// COMMIT, ROLLBACK, and both with AND CHAIN end the transaction, and every transaction lock with it. A procedure that takes a lock first and then
// commits batch by batch is protected for one batch; from then on two of them run at once. PREPARE TRANSACTION hands the lock to the prepared
// transaction: the session itself no longer holds it, and waits for it like everybody else.
//
// In procedures and DO blocks reported when work of the same kind goes on: the same statement again (a loop), a relation that was
// written under the lock, the same function. A plain script that ends one transaction and begins another is none; AND CHAIN is, and so is a COMMIT
// in a file that its runner wraps in a transaction.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

// The rounds of a loop that takes its lock before the first: what was done under the lock is done again behind the COMMIT.
bool isNextRound(const FunctionLocks& f, const WorkAfterLoss& w, const LockEvent& taken) {
  return w.same_work && taken.unit == f.unit && w.work.file == w.lost.where.file && taken.range.file == w.work.file &&
         taken.range.begin < w.work.begin && w.work.begin < w.lost.where.begin;
}

bool counts(const FunctionLocks& f, const WorkAfterLoss& w, const LockEvent& taken) {
  if (isHost(f) && w.lost.how == Loss::Commit) return isNextRound(f, w, taken);
  switch (w.lost.how) {
    case Loss::Commit:
    case Loss::Rollback: return isScript(f) || w.same_work;
    case Loss::Chain:
    case Loss::Prepare: return true;
    default: return false;
  }
}

std::string_view what(Loss how) {
  switch (how) {
    case Loss::Rollback: return "ROLLBACK ends the transaction, and with it";
    case Loss::Chain: return "AND CHAIN ends the transaction and begins another, without";
    case Loss::Prepare: return "PREPARE TRANSACTION takes from this session";
    default: return "COMMIT ends the transaction, and with it";
  }
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const WorkAfterLoss& w : f.after_loss) {
      if (w.lost.hold.taken.empty()) continue;
      const LockEvent& taken = locks.event(w.lost.hold.taken.back());
      if (!counts(f, w, taken)) continue;
      Finding& finding = reportAt(report, taken, firstLine(w.lost.where),
                                  fmt::format("{} the lock {}, and the work goes on. Take the lock again in each transaction, or hold a session lock around all of "
                                              "them and release it at the end.",
                                              what(w.lost.how), keyText(locks, w.lost.hold.key, w.lost.hold.taken.back())));
      addTaken(report, finding, taken);
      addStep(report, finding, f.unit, w.lost.where, "the transaction and its locks end here");
      if (w.lost.how != Loss::Prepare) addStep(report, finding, f.unit, w.work, "done without the lock");
    }
  }
}

}  // namespace

const Rule kXactLockLostAtCommit{
    {
        .code = "AL313",
        .name = "xact-lock-lost-at-commit",
        .severity = Severity::Error,
        .summary = "a COMMIT inside the protected work ends the lock",
        .explanation =
            "Transaction locks end with the transaction: at COMMIT, at ROLLBACK, at both with AND CHAIN. A procedure that commits in a loop holds a lock that it "
            "took before the loop only until the first COMMIT. PREPARE TRANSACTION moves the lock to the prepared transaction.",
        .remedy = "Take the lock again after each COMMIT, or take a session lock (pg_advisory_lock) before and unlock it after the last COMMIT, on every way out.",
        .clauses = {"a COMMIT inside the protected work | bad_procedure.sql", "AND CHAIN inside the protected work | bad_chain.sql",
                    "a COMMIT in each round of a loop in C++ | bad_loop.cpp",
                    "PREPARE TRANSACTION with a lock held | bad_prepare.sql"},
    },
    check};

}  // namespace pglocklint

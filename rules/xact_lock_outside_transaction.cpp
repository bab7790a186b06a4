// # Why a transaction lock needs a transaction
//
// Without BEGIN each statement is a transaction of its own: pg_advisory_xact_lock is released when the SELECT that took it ends, before the
// next statement begins.
//
// Only in certain autocommit: a script that psql runs, or a file that its runner applies statement by statement. A string of several
// statements is one transaction, and so may be a file that no runner claims: silent. So is a call in a statement that does its work itself (a
// function, a DO block, INSERT … SELECT), and a lock after which nothing is done.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f) || !isClient(f)) continue;
    for (const WorkAfterLoss& w : f.after_loss) {
      if (w.lost.how != Loss::StatementEnd || w.lost.hold.taken.empty()) continue;
      const LockEvent& taken = locks.event(w.lost.hold.taken.back());
      Finding& finding = reportAt(report, taken, taken.range,
                                  fmt::format("{} takes a lock that ends with this statement: no transaction is open, so PostgreSQL commits here and the lock is "
                                              "gone before the next statement. Put the work between BEGIN and COMMIT ({}), or take a session lock and release it at "
                                              "the end.",
                                              eventText(locks, taken), isHost(f) ? "libpqxx: pqxx::work" : "psql: --single-transaction"));
      addTaken(report, finding, taken);
      addStep(report, finding, f.unit, w.work, "done without the lock");
    }
  }
}

}  // namespace

const Rule kXactLockOutsideTransaction{
    {
        .code = "AL304",
        .name = "xact-lock-outside-transaction",
        .severity = Severity::Error,
        .summary = "a transaction lock is taken where no transaction is open",
        .explanation = "Outside of a transaction each statement commits by itself, and a transaction lock is released at that commit: it protects nothing that follows.",
        .remedy = "Open a transaction around lock and work: BEGIN … COMMIT, or psql --single-transaction.",
        .clauses = {"transaction lock in certain autocommit | bad.sql", "a DO block that only locks | bad_do.sql", "never for a DO or function whose work runs under the lock | good.sql"},
    },
    check};

}  // namespace pglocklint

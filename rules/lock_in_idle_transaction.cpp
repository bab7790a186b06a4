// # Why a transaction should not wait for the world
//
// A transaction that is open only so that its lock lasts, while something else runs, sits idle: its snapshot and its transaction id hold back
// vacuum in the whole database, table locks of earlier statements stay, and idle_in_transaction_session_timeout, where it is set, ends the session
// and with it the lock, unnoticed by the program that relies on it.
//
// A note. Reported in scripts where a lock is held in an open transaction while psql waits for something else: \! and \prompt, pg_sleep,
// \watch, a program that writes into the same pipe. In routines, which cannot leave their transaction, for pg_sleep in a loop under a
// lock, unless the routine ends its transactions. Pauses under a second do not count.
#include <algorithm>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

bool endsTransactions(const Function& f) {
  return std::any_of(f.blocks.begin(), f.blocks.end(), [](const Block& b) {
    return std::any_of(b.events.begin(), b.events.end(), [](const Event& e) { return e.kind == EventKind::Transaction; });
  });
}

const Hold* firmHold(const IdleWait& w) {
  for (const Hold& h : w.states.front().holds)
    if (h.mustHold() && !h.taken.empty()) return &h;
  return nullptr;
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    const bool script = isScript(f);
    std::vector<EventId> told;
    for (const IdleWait& w : f.waits) {
      const Hold* hold = firmHold(w);
      if (hold == nullptr || (!script && (!w.repeated || endsTransactions(*f.function)))) continue;
      const EventId id = hold->taken.front();
      if (std::find(told.begin(), told.end(), id) != told.end()) continue;
      told.push_back(id);
      const LockEvent& taken = locks.event(id);
      Finding& finding = reportAt(
          report, taken, taken.range,
          fmt::format("The lock {} is held in a transaction that stays open while {} is waited for: {}, and vacuum cannot remove what was deleted since. "
                      "Take a session lock (pg_advisory_lock) outside of a transaction, and keep transactions to the work itself.",
                      keyText(locks, hold->key, id), w.what,
                      script ? "the session is idle in transaction" : "one transaction lasts as long as the lock"));
      addTaken(report, finding, taken);
      addStep(report, finding, f.unit, firstLine(w.range), "waits here with the transaction open");
    }
  }
}

}  // namespace

const Rule kLockInIdleTransaction{
    {
        .code = "AL507",
        .name = "lock-in-idle-transaction",
        .severity = Severity::Note,
        .summary = "a transaction is kept open for the life of a lock",
        .explanation = "While a transaction is open, vacuum keeps every row version that it might still see, in all tables. One that waits for a program, a person or "
                       "a clock, only so that its lock lasts, does so for as long as they take; idle_in_transaction_session_timeout ends it, and the lock with it.",
        .remedy = "Take a session lock outside of a transaction (each statement then commits by itself), and open transactions only for the work.",
        .proof = "What it costs is time and dead rows, which an isolation test does not measure.",
        .clauses = {"a transaction kept open for the life of a lock | bad.sql", "idle in transaction | bad_pipe.sh", "vacuum held back | bad_loop.sql"},
    },
    check};

}  // namespace pglocklint

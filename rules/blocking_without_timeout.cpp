// # Why a wait needs an end
//
// pg_advisory_lock waits until the lock is free. When the holder hangs, or was left idle by a client that is gone, it waits for ever, with its
// connection, its snapshot (which holds back vacuum) and a place in the queue that nobody sees. PostgreSQL's own bounds, lock_timeout and
// statement_timeout, are off unless somebody sets them.
//
// A note, and only where the settings are known not to be there: in scripts, in DO blocks of scripts, and in a routine that switches them off
// itself. A routine's caller, a file that another file includes, an unknown PGOPTIONS may have set them: not known, silent. SET LOCAL
// outside of a transaction has no effect and counts as none. A lock that the session already has is granted at once.
#include <algorithm>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

bool always(const LockEvent& e, TimeoutValue wanted) {
  return !e.before.empty() && std::all_of(e.before.begin(), e.before.end(), [&](const LockState& s) { return s.timeouts.bound() == wanted; });
}

bool grantedAtOnce(const LockEvent& e) {
  return std::all_of(e.before.begin(), e.before.end(), [&](const LockState& s) {
    const auto holds = [&](LockMode mode) {
      const Hold* h = s.find(e.key, mode);
      return h != nullptr && h->mustHold();
    };
    return holds(LockMode::Exclusive) || holds(e.lock->mode);
  });
}

std::string message(std::string_view subject) {
  return fmt::format("{} waits as long as it takes: neither lock_timeout nor statement_timeout is set here, so behind a holder that hangs this "
                     "session waits for ever, with its connection and its snapshot. SET lock_timeout = '10s' before it (SET LOCAL inside of a "
                     "transaction), or poll with a try function.",
                     subject);
}

// The blocking call in the body of what `call` runs, if it has no bound but the caller's.
const LockEvent* unboundedInside(const LockStates& locks, const LockEvent& call) {
  const LockSummary* summary = locks.summaryOf(call);
  if (summary == nullptr) return nullptr;
  for (const InnerAcquisition& a : summary->acquires) {
    const LockEvent& inner = locks.event(a.event);
    if (a.blocks && inner.function == call.callee && always(inner, TimeoutValue::Unknown)) return &inner;
  }
  return nullptr;
}

void check(const Program& program, Report& report) {
  if (program.waits_end) return;
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      if (!always(e, TimeoutValue::Off)) continue;
      if (e.kind == LockEventKind::Acquire && !grantedAtOnce(e)) reportAt(report, e, e.range, message(eventText(locks, e)));
      if (e.kind != LockEventKind::Call) continue;
      const LockEvent* inner = unboundedInside(locks, e);
      if (inner == nullptr) continue;
      if (e.callee->kind == FunctionKind::DoBlock) {
        reportAt(report, *inner, inner->range, message(eventText(locks, *inner)));
      } else {
        Finding& finding = reportAt(report, e, e.range, message(eventText(locks, e)));
        finding.related.push_back(report.place(inner->unit, inner->range, "waits here"));
      }
    }
  }
}

}  // namespace

const Rule kBlockingWithoutTimeout{
    {
        .code = "AL310",
        .name = "blocking-without-timeout",
        .severity = Severity::Note,
        .summary = "a lock is waited for without any bound",
        .explanation =
            "lock_timeout and statement_timeout are off by default: a blocking lock call waits until the holder lets go, be it for ever. The waiter "
            "keeps its connection and its snapshot, so vacuum is held back. Reported where the settings are in view: scripts, the DO blocks in them, "
            "and the psql calls of shell scripts (PGOPTIONS and connection options count). What a routine's caller has set is not known. Timeouts that hold by ALTER ROLE or "
            "ALTER DATABASE are told to pglocklint in its configuration (timeouts).",
        .remedy = "SET lock_timeout = '10s' before the call, SET LOCAL inside of a transaction, or poll with pg_try_advisory_lock and a deadline.",
        .clauses = {"unbounded wait | bad.sql", "no lock_timeout/statement_timeout on the path | bad_gone.sql", "SET LOCAL outside a transaction counts as none | bad_set_local.sql",
                    "through a function or DO block | bad_function.sql", "in psql calls | bad_shell.sh"},
    },
    check};

}  // namespace pglocklint

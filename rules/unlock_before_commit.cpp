// # Why a session lock must outlive the transaction
//
// Others see what was written when the transaction commits, not when the lock is released. Between pg_advisory_unlock and COMMIT another
// session gets the lock, reads the rows as they were before, and works on them: what the lock was to prevent.
//
// In a function this is so for every unlock after a write: a function cannot commit, its transaction ends after it returns. In a procedure
// or DO block a COMMIT in between settles it. Writes that were undone (a handler, ROLLBACK TO) do not count. In scripts the
// transaction must be seen: BEGIN, or a runner that wraps the file.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

// The lock that the unlock frees, with a write under it that is not committed; or null.
const Hold* written(const LockEvent& unlock, const LockState& s, const LockStates& locks) {
  for (const Hold& h : s.holds) {
    if (h.lo <= 0 || !h.written.known() || h.taken.empty()) continue;
    if (unlock.kind == LockEventKind::ReleaseAll) return &h;
    if (unlock.kind == LockEventKind::Release && unlock.lock->mode == h.mode && locks.keys.alias(unlock.key, h.key) == Alias::Must && h.hi == 1) return &h;
  }
  return nullptr;
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      const Hold* hold = nullptr;
      for (const LockState& s : e.before) {
        const bool open = !isClient(f) || s.status == TransactionStatus::Explicit || s.status == TransactionStatus::Implicit;
        if (open && hold == nullptr) hold = written(e, s, locks);
      }
      if (hold == nullptr) continue;
      Finding& finding = reportAt(
          report, e, e.range,
          fmt::format("{} releases the lock {} before the transaction commits: whoever takes it next still reads the rows as they were before the write{}. {}",
                      eventText(locks, e), keyText(locks, hold->key, hold->taken.back()), isClient(f) ? "" : ", since a function cannot commit what it has written",
                      isClient(f) ? "Unlock after COMMIT, or take a transaction lock (pg_advisory_xact_lock) and leave out the unlock."
                                  : "Take a transaction lock (pg_advisory_xact_lock) and leave out the unlock."));
      addTaken(report, finding, locks.event(hold->taken.back()));
      addStep(report, finding, f.unit, hold->written, "written under it, not committed yet");
      addStep(report, finding, e.unit, e.range, "released while the write can still be undone and is not yet seen by others");
    }
  }
}

}  // namespace

const Rule kUnlockBeforeCommit{
    {
        .code = "AL303",
        .name = "unlock-before-commit",
        .severity = Severity::Error,
        .summary = "a session lock is released before the writes made under it are committed",
        .explanation =
            "Other sessions see a transaction's writes only after its COMMIT. A session lock that is released earlier lets the next holder read the old rows "
            "and write over the new ones. A function always runs inside a transaction that ends after it has returned.",
        .remedy = "Use pg_advisory_xact_lock and no unlock: it is released by COMMIT itself. Or unlock after COMMIT.",
        .clauses = {"released while writes made under it are uncommitted | bad.sql", "and can still commit | good.sql"},
    },
    check};

}  // namespace pglocklint

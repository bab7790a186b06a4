// # Why a session lock must outlive the transaction
//
// Others see what was written when the transaction commits, not when the lock is released. Between pg_advisory_unlock and COMMIT another
// session gets the lock, reads the rows as they were before, and works on them: what the lock was to prevent.
//
// In a function this is so for every unlock after a write: a function cannot commit, its transaction ends after it returns. In a procedure
// or DO block a COMMIT in between settles it. Writes that were undone (a handler, ROLLBACK TO) do not count. In scripts the
// transaction must be seen: BEGIN, or a runner that wraps the file.
//
// A guard of C++ unlocks where it ends: in front of the transaction if it is declared after it or in a block of its own. An exception on the
// way is no fault, for then nothing is committed.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"
#include "program/host_paths.h"

namespace pglocklint {
namespace {

// Statements that control reaches without an exception.
std::set<const Statement*> withoutException(const Function& f) {
  std::set<const Statement*> found;
  std::vector<bool> seen(f.blocks.size(), false);
  std::vector<std::size_t> work{0};
  while (!work.empty()) {
    const std::size_t b = work.back();
    work.pop_back();
    if (b >= seen.size() || seen[b]) continue;
    seen[b] = true;
    for (const Event& e : f.blocks[b].events)
      for (const Statement& s : e.statement) found.insert(&s);
    for (const Edge& e : f.blocks[b].successors) work.push_back(static_cast<std::size_t>(e.target));
  }
  return found;
}

// This way through the callee can be gone, by what the caller knows of the object's fields.
bool canBe(const LockOutcome& o, const std::string& object, const LockState& s) {
  return std::all_of(o.found.begin(), o.found.end(), [&](const Fact& f) {
    if (!isWithin(f.text, "this")) return true;
    const std::string here = object + f.text.substr(4);
    return std::all_of(s.facts.begin(), s.facts.end(), [&](const Fact& k) { return k.text != here || k.value == f.value; });
  });
}

// The lock of a guard that ends here, with a write under it that is not committed; or null.
const Hold* writtenInGuard(const LockEvent& end, const LockState& s, const LockStates& locks) {
  const LockSummary* summary = locks.summaryOf(end);
  if (summary == nullptr || end.statement == nullptr) return nullptr;
  const std::string& object = end.function->host[0].calls[static_cast<std::size_t>(end.statement->host_call)].connection;
  for (const Hold& h : s.holds) {
    if (h.lo <= 0 || h.hi != 1 || !h.written.known() || h.taken.empty()) continue;
    const LockEvent& taken = locks.event(h.taken.back());
    if (taken.kind != LockEventKind::Call || taken.function != end.function || !isHostConstructor(*taken.callee) ||
        hostScope(taken.callee->name) != hostScope(end.callee->name))
      continue;
    const HostCall& constructor = taken.function->host[0].calls[static_cast<std::size_t>(taken.statement->host_call)];
    if (object.empty() || constructor.made != object) continue;
    for (const LockOutcome& o : summary->outcomes) {
      const bool releases = std::any_of(o.effects.begin(), o.effects.end(), [&](const LockEffect& x) { return x.lo < 0 && x.mode == h.mode; });
      if (releases && o.status == TransactionStatus::Unknown && o.cleared == Happened::No && canBe(o, object, s)) return &h;
    }
  }
  return nullptr;
}

// The lock that the unlock frees, with a write under it that is not committed; or null.
const Hold* written(const LockEvent& unlock, const LockState& s, const LockStates& locks) {
  for (const Hold& h : s.holds) {
    if (h.lo <= 0 || !h.written.known() || h.taken.empty()) continue;
    if (unlock.kind == LockEventKind::ReleaseAll) return &h;
    const auto isFreed = [&](KeyId key, LockMode mode) { return mode == h.mode && locks.keys.alias(key, h.key) == Alias::Must && h.hi == 1; };
    if (unlock.kind == LockEventKind::Release && isFreed(unlock.key, unlock.lock->mode)) return &h;
    if (std::any_of(unlock.frees.begin(), unlock.frees.end(), [&](const auto& freed) { return isFreed(freed.first, freed.second); })) return &h;
  }
  return nullptr;
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    std::set<const Statement*> reached;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      const bool guard = e.kind == LockEventKind::Call && isHost(f) && e.callee != nullptr && isHostDestructor(*e.callee);
      const Hold* hold = nullptr;
      for (const LockState& s : e.before) {
        const bool open = !isClient(f) || s.status == TransactionStatus::Explicit || s.status == TransactionStatus::Implicit;
        if (open && hold == nullptr) hold = guard ? writtenInGuard(e, s, locks) : written(e, s, locks);
      }
      if (hold == nullptr) continue;
      if (guard && reached.empty()) reached = withoutException(*f.function);
      if (guard && !reached.contains(e.statement)) continue;
      Finding& finding = reportAt(
          report, e, e.range,
          fmt::format("{} releases the lock {} before the transaction commits: whoever takes it next still reads the rows as they were before the write{}. {}",
                      guard ? fmt::format("The end of this {}", hostScope(e.callee->name)) : eventText(locks, e), keyText(locks, hold->key, hold->taken.back()), isClient(f) ? "" : ", since a function cannot commit what it has written",
                      guard         ? "Let the guard outlive the transaction (declare it first), or take a transaction lock (pg_advisory_xact_lock) instead of a guard."
                      : isClient(f) ? "Unlock after COMMIT, or take a transaction lock (pg_advisory_xact_lock) and leave out the unlock."
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
        .clauses = {"released while writes made under it are uncommitted | bad.sql", "and can still commit | good.sql", "a guard ends before the transaction | bad_guard.cpp"},
    },
    check};

}  // namespace pglocklint

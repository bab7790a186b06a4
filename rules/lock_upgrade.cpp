// # Why a shared lock cannot be upgraded
//
// A session that holds a lock shared and asks for it exclusive waits until all other holders are gone. Two sessions that do so wait for each other's
// shared lock: a deadlock whenever they meet, not only in rare orders.
//
// Only blocking calls wait; a try function answers false. Asking for the shared lock while holding the exclusive one is harmless.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

const Hold* sharedHold(const LockEvent& e, KeyId key) {
  for (const LockState& s : e.before) {
    const Hold* exclusive = s.find(key, LockMode::Exclusive);
    const Hold* shared = s.find(key, LockMode::Shared);
    if (shared != nullptr && shared->mustHold() && !shared->taken.empty() && (exclusive == nullptr || !exclusive->mayHold())) return shared;
  }
  return nullptr;
}

// The exclusive lock that the call waits for, itself or in the routine that it runs; one that is held shared, if there are several.
KeyId upgradedKey(const LockEvent& e, const LockStates& locks) {
  if (e.kind == LockEventKind::Acquire && e.lock->mode == LockMode::Exclusive && e.key != kUnknownKey && locks.keys.at(e.key).exact) return e.key;
  if (e.kind != LockEventKind::Call) return kUnknownKey;
  for (const InnerAcquisition& a : e.inner) {
    const bool waits = a.blocks && a.mode == LockMode::Exclusive && a.key != kUnknownKey && locks.keys.at(a.key).exact;
    if (waits && sharedHold(e, a.key) != nullptr) return a.key;
  }
  return kUnknownKey;
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      const KeyId key = upgradedKey(e, locks);
      const Hold* shared = key == kUnknownKey ? nullptr : sharedHold(e, key);
      if (shared == nullptr) continue;
      Finding& finding = reportAt(report, e, e.range,
                                  fmt::format("{} waits for the exclusive lock {} while this session holds it shared: two sessions at this point wait for each other, "
                                              "and PostgreSQL ends one of them with a deadlock error. Take the exclusive lock from the start, or release the shared one first.",
                                              eventText(locks, e), keyText(locks, key, e.lock != nullptr ? id : -1)));
      addTaken(report, finding, locks.event(shared->taken.front()), "held shared from here");
      addStep(report, finding, e.unit, e.range, "waits for all other holders of the shared lock");
    }
  }
}

}  // namespace

const Rule kLockUpgrade{
    {
        .code = "AL402",
        .name = "lock-upgrade",
        .severity = Severity::Error,
        .summary = "an exclusive lock is waited for while the same key is held shared",
        .explanation = "Two sessions that hold a lock shared and both ask for it exclusive wait for each other: each upgrade is a deadlock with any other one.",
        .remedy = "Take the exclusive lock from the start where the work may need it, or use pg_try_advisory_lock and give up when it answers false.",
        .clauses = {"blocking exclusive while shared is held on one key | bad.sql", "through calls | bad_callee.sql"},
    },
    check};

}  // namespace pglocklint

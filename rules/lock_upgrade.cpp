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

const Hold* sharedHold(const LockEvent& e) {
  for (const LockState& s : e.before) {
    const Hold* exclusive = s.find(e.key, LockMode::Exclusive);
    const Hold* shared = s.find(e.key, LockMode::Shared);
    if (shared != nullptr && shared->mustHold() && !shared->taken.empty() && (exclusive == nullptr || !exclusive->mayHold())) return shared;
  }
  return nullptr;
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      if (e.kind != LockEventKind::Acquire || e.lock->mode != LockMode::Exclusive || e.key == kUnknownKey || !locks.keys.at(e.key).exact) continue;
      const Hold* shared = sharedHold(e);
      if (shared == nullptr) continue;
      Finding& finding = reportAt(report, e, e.range,
                                  fmt::format("{} waits for the exclusive lock {} while this session holds it shared: two sessions at this point wait for each other, "
                                              "and PostgreSQL ends one of them with a deadlock error. Take the exclusive lock from the start, or release the shared one first.",
                                              eventText(locks, e), keyText(locks, e.key, id)));
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
        .clauses = {"blocking exclusive while shared is held on one key | bad.sql"},
    },
    check};

}  // namespace pglocklint

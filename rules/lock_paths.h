// What the rules about held locks share: findings at lock operations, how a path is told, which keys a function releases.
#pragma once
#include <string>

#include "program/lock_state.h"
#include "rule.h"

namespace pglocklint {

// "pg_advisory_lock(613)"; "lock_tenant(t)" for a routine that locks.
std::string eventText(const LockStates& locks, const LockEvent& event);
// "(1001, *)", "613": the key for a sentence; where its class says nothing, the arguments of the call that takes it.
std::string keyText(const LockStates& locks, KeyId key, EventId taken = -1);
std::string_view modeText(LockMode mode);  // "exclusive", "shared"

// A finding whose subject is the event's call, placed at `range` of the same unit.
Finding& reportAt(Report& report, const LockEvent& event, const SourceRange& range, std::string message);
// Adds a step of the path; also as a related place when it stands elsewhere than the finding.
void addStep(Report& report, Finding& finding, int unit, const SourceRange& range, std::string message);
// The same, and for a routine's call also the lock call inside of it.
void addTaken(Report& report, Finding& finding, const LockEvent& event, std::string_view how = "the lock is taken here");

// Some reached statement of the function releases that key (the same mode, or all).
bool releasesKey(const LockStates& locks, const FunctionLocks& function, KeyId key, LockMode mode);
// Some reached statement releases a lock of that mode, whichever.
bool releasesMode(const LockStates& locks, const FunctionLocks& function, LockMode mode);
// A release of it, or a call that releases it on some way, and is reached.
bool mayRelease(const LockStates& locks, const LockEvent& e, KeyId key, LockMode mode);
// The first reached release of it, or null.
const LockEvent* releaseOf(const LockStates& locks, const FunctionLocks& function, KeyId key, LockMode mode);

inline bool isScript(const FunctionLocks& f) { return f.function->kind == FunctionKind::Script; }
inline bool isHost(const FunctionLocks& f) { return f.function->kind == FunctionKind::HostFunction; }
// It sends statements itself, so that BEGIN and COMMIT are its own; a routine runs inside of somebody's transaction.
inline bool isClient(const FunctionLocks& f) { return isScript(f) || isHost(f); }
// Units that undo migrations, and functions that were given up, are not judged.
bool isJudged(const Program& program, const FunctionLocks& f);
// One line of a range: where it begins.
SourceRange firstLine(const SourceRange& range);

}  // namespace pglocklint

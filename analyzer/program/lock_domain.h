// Operations of the lock state, one for each line of the transfer table. Values in, values out; nothing here knows statements.
#pragma once
#include "program/lock_state.h"

namespace pglocklint {

// Adds `s` to the alternatives; true if that changes them. Beyond kMostStates (or when `hull`) states of one shape become one.
bool addState(LockStateSet& set, LockState s, bool hull = false);

struct Acquisition {
  KeyId key = kUnknownKey;
  LockMode mode = LockMode::Exclusive;
  LockScope scope = LockScope::Session;
  int least = 1, most = 1;
  EventId event = -1;
  bool any_level = false;  // a transaction lock of this level or one below
};
void acquire(LockState& s, const Acquisition& a, const KeyTable& keys);
// The lock was refused: nothing of that key and mode is held. False if that cannot be.
bool refuse(const LockState& s, KeyId key, LockMode mode, const KeyTable& keys);

// `routine`: counts are counted from the caller's, and may go below zero.
void release(LockState& s, KeyId key, LockMode mode, bool routine, const KeyTable& keys);
void releaseAll(LockState& s, bool routine);
// What a callee does: first whether it has released all, then each of its effects.
void applyCleared(LockState& s, Happened cleared, bool routine);
void apply(LockState& s, const LockEffect& e, EventId event, bool routine, const KeyTable& keys);

void pushLevel(LockState& s, std::string name);
void popLevel(LockState& s);                       // merged downwards: RELEASE, end of an EXCEPTION block
// Everything of level `level` and above is dropped (level 1 is the first savepoint); levels stay up to `keep`.
void dropLevels(LockState& s, std::size_t level, std::size_t keep, Loss how, const SourceRange& where, std::int32_t scope);
std::size_t findLevel(const LockState& s, const std::string& name);  // 0: none
// The transaction ends, or perhaps so (in a callee).
void endTransaction(LockState& s, Loss how, const SourceRange& where);
void perhapsEndTransaction(LockState& s);
// The session is left for another one.
void leaveSession(LockState& s, const SourceRange& where);

void forget(LockState& s, const std::string& variable, KeyTable& keys);  // it is assigned
void learn(LockState& s, Fact fact);
std::optional<bool> known(const LockState& s, const std::string& text);
// Of host programs: which number is at `path` (model/host_number.h).
std::optional<std::int64_t> knownNumber(const LockState& s, const std::string& path);
void forgetNumbers(LockState& s, const std::string& path);

}  // namespace pglocklint

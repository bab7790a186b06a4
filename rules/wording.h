// How messages name things: the call as it is written, how long its lock stays, where it stands. Rules build their sentences
// from these, so that every message names the lock in the same way.
#pragma once
#include <string>

#include "rule.h"

namespace pglocklint {

// The expression in SQL, shortened where it is long: "pg_try_advisory_lock(41, task_id)".
std::string exprText(const Expr& expr);

// The lock call as written; through a wrapper also what it does: "app_lock(id) (which calls pg_advisory_lock)".
std::string callText(const LockSite& site);

// The key's class as a sentence names it: "4200", "(1001, *)".
std::string keyClassText(const LockKey& key);

// "until it is unlocked or the session ends" or "until the transaction ends".
std::string_view heldUntil(const LockSite& site);

// "LIMIT", "FETCH … WITH TIES", "the other conditions", …: the clause a cause stands for, as a noun.
std::string_view clauseName(Cause cause);

// Adds the lock call as a related place, unless it is the finding's own place.
void relateCall(Report& report, Finding& finding, const LockSite& site);

}  // namespace pglocklint

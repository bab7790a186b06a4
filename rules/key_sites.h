// What the key rules share: which lock calls they look at, and how a key's parts are named.
#pragma once
#include <string>
#include <vector>

#include "rule.h"

namespace pglocklint {

// The call takes a lock in a live definition, and its key was understood. Releases repeat the key of their lock: one finding is enough.
bool isAcquiringSite(const LockSite& site);

// Calls f(site, part) for each part of each acquiring site's key. A call of a wrapper counts only for what its own arguments bring
// in: the rest is reported in the wrapper's body.
template <class F>
void forEachKeyPart(const Program& program, F&& f) {
  for (const LockSite& site : program.sites) {
    if (!isAcquiringSite(site)) continue;
    for (const Value& part : site.key.parts) f(site, part);
  }
}

// This site answers for what `value` says: always at a direct site; at a wrapper's call only for what is written outside the wrapper
// (an argument's value), since the wrapper's own body is reported there.
bool answersFor(const LockSite& site, const Value& value);

// The first node of the value (outermost first) for which `wanted` holds and that this site answers for.
template <class Pred>
const Value* findNode(const LockSite& site, const Value& value, Pred&& wanted) {
  if (answersFor(site, value) && wanted(value)) return &value;
  for (const Value& a : value.args)
    if (const Value* found = findNode(site, a, wanted)) return found;
  return nullptr;
}

// Adds where a value is written as a related place, unless that is the finding's own line.
void relateValue(Report& report, Finding& finding, const Value& value, std::string message);

// Sites in the order of their places: file, then offset.
bool before(const LockSite& a, const LockSite& b);

}  // namespace pglocklint

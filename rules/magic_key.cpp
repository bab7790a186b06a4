// # Why a bare number is a poor key
//
// Keys are global to the database: every library, script and service picks from the same 2^64 numbers (and 2^64 pairs). Key 1 has no owner; whoever
// picks it next blocks this code without a word. A name, written once, says what the number stands for and can be searched for.
//
// Reported (a note, on request): a key whose parts are all literal numbers without a name. Silent: named constants, functions that return
// the number, keys computed from text, keys with a varying part.
#include <fmt/format.h>

#include <algorithm>

#include "all_rules.h"
#include "key_sites.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool isBareNumber(const Value& v) {
  if (!v.constant_name.empty()) return false;
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return isBareNumber(v.args[0]);
  return v.kind == ValueKind::Integer;
}

void check(const Program& program, Report& report) {
  for (const LockSite& site : program.sites) {
    if (!isAcquiringSite(site) || !site.direct() || site.key.parts.empty()) continue;
    if (!std::all_of(site.key.parts.begin(), site.key.parts.end(), isBareNumber)) continue;
    report.at(site, site.call->range,
              fmt::format("{} locks the bare number {}. Keys are shared by the whole database: any other code that picks the same number blocks "
                          "this one, and nothing here says what it stands for. Give it a name in one place: a CONSTANT variable, an IMMUTABLE "
                          "function that returns it, or hashtextextended('module/purpose', 0).",
                          site.lock->name, keyClassText(site.key)));
  }
}

}  // namespace

const Rule kMagicKey{
    {
        .code = "AL205",
        .name = "magic-key",
        .severity = Severity::Note,
        .summary = "an unnamed number is used as a lock key",
        .explanation = "All code in a database shares one space of keys for each form. A literal number has no owner and no meaning: another script that "
                       "picks it too blocks this one, and a number seen in pg_locks leads nowhere.",
        .remedy = "Name the key once: a CONSTANT variable, an IMMUTABLE function, a registered (class, id) pair, or hashtextextended('module/purpose', 0).",
        .proof = "A matter of naming: PostgreSQL behaves as written.",
        .clauses = {"an unnamed number as key | bad.sql"},
    },
    check};

}  // namespace pglocklint

// # Why hashtext makes a poor key
//
// hashtext() returns an integer: 2^32 values, whatever it is cast to afterwards. By the birthday bound 10,000 names collide with a
// probability of 1.2 %, 77,000 with 50 %, 100,000 with 69 % (SEMANTICS S37); hashtext('user:70606') and hashtext('user:156495')
// are equal. Two colliding names exclude each other for no reason, and a session that takes both locks can deadlock with itself
// spread over two connections. The function is not documented either: its values may change between major versions, so sessions that
// hash in the database and programs that have stored or recomputed the number may one day lock different keys.
//
// Reported: an undocumented 32-bit hash that is the whole key, is widened to bigint, or is one half of a pair; through abs(), a mask or
// a modulus as well, which leave fewer bits still. Silent: hashtextextended (64 bits), md5, hashes elsewhere than in a key.
#include <fmt/format.h>

#include "all_rules.h"
#include "key_sites.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool isUndocumented(const Value& v) {
  return v.kind == ValueKind::Hash && v.type == "integer" && v.name != "md5" && v.relation != kHostSchema;
}

// The hash that alone varies in the value: below casts, abs() and arithmetic with constants.
const Value* loneHash(const Value& v) {
  if (isUndocumented(v)) return &v;
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return loneHash(v.args[0]);
  if (v.kind != ValueKind::Arithmetic) return nullptr;
  const Value* found = nullptr;
  for (const Value& a : v.args) {
    if (a.isConstant()) continue;
    if (found) return nullptr;
    found = loneHash(a);
    if (!found) return nullptr;
  }
  return found;
}

void check(const Program& program, Report& report) {
  const Expr* reported = nullptr;
  forEachKeyPart(program, [&](const LockSite& site, const Value& part) {
    if (site.call == reported) return;
    const Value* hash = loneHash(part);
    if (!hash || !answersFor(site, *hash)) return;
    reported = site.call;
    const std::string_view role = site.key.form == KeyForm::Pair ? "as one half of the key"
                                  : site.key.form == KeyForm::Bigint && part.type == "bigint" ? "widened to the bigint key"
                                                                                              : "as the key";
    Finding& f = report.at(
        site, site.call->range,
        fmt::format("{} uses {}() {}. It has only 32 bits, however it is cast: among 10,000 names two share a key with a probability of 1.2 %, "
                    "among 100,000 with 69 %, and then strangers wait for each other. It is undocumented too, so its values may change with a "
                    "major version. Use the 64-bit hashtextextended(…, 0) as a bigint key.",
                    callText(site), hash->name, role));
    relateValue(report, f, *hash, "the hash is computed here");
  });
}

}  // namespace

const Rule kHashtextKey{
    {
        .code = "AL202",
        .name = "hashtext-key",
        .severity = Severity::Warning,
        .summary = "an undocumented 32-bit hash is used as a lock key",
        .explanation =
            "hashtext() and its relatives return 32 bits. Widening to bigint adds none. With 77,000 names the chance that two share a key is one "
            "half; real pairs are easy to find: hashtext('user:70606') = hashtext('user:156495'). Names that collide exclude each other for no "
            "reason, and code that takes both can deadlock. The functions are not documented, so their values are not promised to stay.",
        .remedy = "hashtextextended(name, 0) gives 64 bits (among a million names, one chance in 37 million that two share a key): "
                  "pg_advisory_xact_lock(hashtextextended('tenant:' || tenant, 0)).",
        .proof = "",
        .clauses = {"undocumented 32-bit hash as key: whole | bad_whole.sql", "widened into the bigint space | bad_widened.sql",
                    "or one half of a pair | bad_half_of_pair.sql", "hashtextextended passes | good.sql"},
    },
    check};

}  // namespace pglocklint

// # Why unrelated purposes must not share keys
//
// A key is a number; PostgreSQL knows nothing of what it stands for. Two features that lock the same number wait for each other, slow down for
// no visible reason, and deadlock when somebody takes both.
//
// Reported, between places that take locks of one form:
//  - equal constants that go by different names, neither defined from the other;
//  - two different constant texts whose hashes are equal;
//  - the bare primary keys of two tables in one space: order 17 and customer 17 are one lock;
//  - a hash that folds a 64-bit id to 32 bits: hashint8(1) = hashint8(4294967296).
// Silent: equal numbers without names (they may well be meant), the same name twice, ids beside different class numbers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "all_rules.h"
#include "key_sites.h"
#include "program/keys.h"
#include "program/values_fold.h"
#include "wording.h"

namespace pglocklint {
namespace {

// Every name on the way to a constant: "kSeatLock"; a constant defined from another has both.
std::set<std::string> namesOf(const Value& v) {
  std::set<std::string> names;
  if (!v.constant_name.empty()) names.insert(v.constant_name);
  for (const Value& a : v.args) names.merge(namesOf(a));
  return names;
}

bool disjoint(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::none_of(a.begin(), a.end(), [&](const std::string& n) { return b.count(n) > 0; });
}

// The constant text below hashes and casts.
std::string hashedText(const Value& v) {
  if ((v.kind == ValueKind::Hash || v.kind == ValueKind::Cast) && !v.args.empty()) return hashedText(v.args[0]);
  return v.kind == ValueKind::Text && isKnown(v) ? v.text.str() : "";
}

// A primary key column: "orders.id"; empty if it is none or not known to be one.
std::string rowId(const Catalogue& catalogue, const Value& v) {
  const Value& s = stripCasts(v);
  if (s.kind != ValueKind::Column || s.relation.empty()) return "";
  const Relation* r = catalogue.relation("", s.relation);
  if (!r || r->unique_keys.empty() || r->unique_keys.front() != List<std::string>{s.name}) return "";
  return s.relation + "." + s.name;
}

// One key's claim on a space, for the comparison with others'.
struct Claim {
  const LockSite* site;
  std::string space;              // form and constant parts: claims of one space can meet
  std::set<std::string> names;    // of its constants
  std::string text;               // hashed text, if the key comes from one
  std::string row_id;             // primary key column, if the varying part is one
};

std::optional<Claim> claimOf(const LockSite& site, const Catalogue& catalogue) {
  Claim c{&site, std::string(nameOf(site.key.form)), {}, "", ""};
  if (site.key.form != KeyForm::Bigint && site.key.form != KeyForm::Pair) return std::nullopt;
  for (const Value& p : site.key.parts) {
    c.space += "|";
    if (isKnown(p)) {
      c.space += p.text;
      c.names.merge(namesOf(p));
      if (const std::string text = hashedText(p); !text.empty()) c.text += (c.text.empty() ? "" : ", ") + text;
    } else {
      c.space += "*";
      c.row_id = rowId(catalogue, p);
    }
  }
  return c;
}

// Why two claims of one space are unrelated; empty if they may well be one purpose.
std::string conflict(const Claim& a, const Claim& b) {
  if (!a.text.empty() && !b.text.empty() && a.text != b.text)
    return fmt::format("the hashes of '{}' and '{}' are equal", a.text, b.text);
  if (!a.names.empty() && !b.names.empty() && disjoint(a.names, b.names))
    return fmt::format("{} and {} have the same value", *a.names.begin(), *b.names.begin());
  if (!a.row_id.empty() && !b.row_id.empty() && a.row_id != b.row_id)
    return fmt::format("{} and {} count from 1 each, so rows with equal ids share a lock", a.row_id, b.row_id);
  return "";
}

// What a claim says of its purpose, as one text: equal purposes never conflict with each other.
std::string purposeOf(const Claim& c) { return fmt::format("{}|{}|{}", fmt::join(c.names, ","), c.text, c.row_id); }

// Where the constants of a key are defined.
void relateConstants(Report& report, Finding& f, const Value& v) {
  if (!v.constant_name.empty() && v.isConstant()) relateValue(report, f, v, fmt::format("{} is defined here", v.constant_name));
  for (const Value& a : v.args) relateConstants(report, f, a);
}

void reportConflict(const LockSite& at, const LockSite& other, const std::string& why, Report& report) {
  Finding& f = report.at(at, at.call->range,
                         fmt::format("{} shares its key {} with another purpose: {}. Work that has nothing in common waits for each other, and can "
                                     "deadlock. Give each purpose a key space of its own: a class number (class, id), or a hashed prefix, "
                                     "hashtextextended('orders/' || id, 0).",
                                     callText(at), keyClassText(at.key), why));
  f.related.push_back(report.place(other.unit, other.call->range, fmt::format("the other purpose: {}", callText(other))));
  for (const LockSite* site : {&at, &other})
    if (site->function && site->function->kind == FunctionKind::HostFunction)
      for (const Value& part : site->key.parts) relateConstants(report, f, part);
}

void checkClaims(const Program& program, Report& report) {
  std::map<std::string, std::vector<Claim>> spaces;
  for (const LockSite& site : program.sites)
    if (isAcquiringSite(site))
      if (auto claim = claimOf(site, program.catalogue)) spaces[claim->space].push_back(std::move(*claim));
  for (auto& [space, claims] : spaces) {
    std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) { return before(*a.site, *b.site); });
    std::set<std::string> told;  // one finding for each pair of purposes
    std::map<std::string, const Claim*> purposes;  // the first claim of each; thousands of sites may share one
    for (const Claim& claim : claims) {
      for (const auto& [what, earlier] : purposes) {
        const std::string why = conflict(*earlier, claim);
        if (why.empty() || !told.insert(why).second) continue;
        reportConflict(*claim.site, *earlier->site, why, report);
        break;
      }
      purposes.emplace(purposeOf(claim), &claim);
    }
  }
}

// hashint8(id), id::bit(32), id % 2147483647: a wide id folded to 32 bits. A small modulus is a number of stripes, chosen on purpose.
void checkFolds(const Program& program, Report& report) {
  constexpr int kFewestFoldedBits = 24;
  const Expr* reported = nullptr;
  forEachKeyPart(program, [&](const LockSite& site, const Value& part) {
    if (site.call == reported) return;
    const Value* fold = foldsWideId(part);
    if (!fold || !answersFor(site, *fold)) return;
    if (fold->kind == ValueKind::Arithmetic && significantBits(*fold).value_or(0) < kFewestFoldedBits) return;
    reported = site.call;
    const bool uuid = stripCasts(fold->args[0]).type == "uuid";
    Finding& f = report.at(site, site.call->range,
                           fmt::format("{} folds {} to 32 bits: different ids share a lock and wait for each other for no reason{}. Use {}hashtextextended('orders/' || id, 0).",
                                       callText(site), uuid ? "a UUID" : "a 64-bit id", fold->name == "hashint8" ? " (hashint8(1) = hashint8(4294967296))" : "",
                                       uuid ? "" : "the id itself as a bigint key, or "));
    relateValue(report, f, *fold, "the id is folded here");
  });
}

void check(const Program& program, Report& report) {
  checkClaims(program, report);
  checkFolds(program, report);
}

}  // namespace

const Rule kKeyCollision{
    {
        .code = "AL204",
        .name = "key-collision",
        .severity = Severity::Warning,
        .summary = "unrelated purposes share a lock key",
        .explanation = "Advisory keys are plain numbers in one space for each form. Two purposes that use the same number, two names whose hashes are equal, or the "
                       "row ids of two tables without a class number exclude each other for no reason, and can deadlock.",
        .remedy = "One key space for each purpose: a class number of its own in the pair form, or a hashed prefix: hashtextextended('orders/' || id, 0).",
        .proof = "",
        .clauses = {"equal constants under different names | bad_same_number.sql", "a computed hash collision | bad_hash.sql",
                    "bare row ids of two relations in one space | bad_row_ids.sql", "a wide id folded to 32 bits | bad_folded.sql"},
    },
    check};

}  // namespace pglocklint

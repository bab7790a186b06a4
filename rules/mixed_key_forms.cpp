// # Why the two key forms never meet
//
// (bigint) and (integer, integer) are two key spaces: pg_advisory_lock(4200) and pg_advisory_lock(0, 4200) show the same halves in pg_locks
// and differ only in objsubid; both are granted at once (SEMANTICS S23). Code that locks one thing by a single number here and by a pair there
// is not protected at all, and each place looks right on its own.
//
// Evidence that one thing is meant: both keys are constants without names and the bigint is (hi << 32) | lo of the pair; or the same named
// constant, or the same text, is the whole key in both forms (alone, or beside a constant). The same number under different names is
// no evidence: 77 for a schema lock and class 77 of order locks have nothing to do with each other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "all_rules.h"
#include "key_sites.h"
#include "program/keys.h"
#include "program/values_fold.h"
#include "wording.h"

namespace pglocklint {
namespace {

using Sites = std::vector<const LockSite*>;

// The names a known value goes by: of a constant, a variable or a function that returns it.
void collectNames(const Value& v, std::set<std::string>& names) {
  if (!v.constant_name.empty()) names.insert(v.constant_name);
  for (const Value& a : v.args) collectNames(a, names);
}

// The constant text that is hashed into the value, if that is all there is: "import/customers".
const Value* hashedText(const Value& v) {
  if (v.kind == ValueKind::Hash && !v.args.empty()) return hashedText(v.args[0]);
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return hashedText(v.args[0]);
  return v.kind == ValueKind::Text && isKnown(v) ? &v : nullptr;
}

// What one key says that may be said again in the other form; two keys with a common entry mean one thing.
std::set<std::string> evidence(const LockSite& site) {
  std::set<std::string> out;
  const auto& parts = site.key.parts;
  const bool pair = site.key.form == KeyForm::Pair;
  std::set<std::string> names;
  for (const Value& p : parts) collectNames(p, names);
  if (site.key.constant && names.empty()) {
    if (!pair) {
      if (const auto n = constantInteger(parts[0])) out.insert("number " + std::to_string(*n));
    } else if (const auto hi = constantInteger(parts[0]), lo = constantInteger(parts[1]); hi && lo) {
      const auto packed = (static_cast<unsigned long long>(*hi) << 32) | (static_cast<unsigned long long>(*lo) & 0xFFFFFFFFULL);
      out.insert("number " + std::to_string(static_cast<long long>(packed)));
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (pair && !isKnown(parts[1 - i])) continue;  // beside a constant only
    std::set<std::string> own;
    collectNames(parts[i], own);
    if (const auto n = constantInteger(parts[i]))
      for (const std::string& name : own) out.insert("constant " + name + " = " + std::to_string(*n));
    if (const Value* text = hashedText(parts[i])) out.insert("text '" + text->text + "'");
  }
  return out;
}

void check(const Program& program, Report& report) {
  std::map<std::string, std::pair<Sites, Sites>> meanings;  // evidence → (bigint sites, pair sites)
  for (const LockSite& site : program.sites) {
    if (!isAcquiringSite(site) || (site.key.form != KeyForm::Bigint && site.key.form != KeyForm::Pair)) continue;
    for (const std::string& e : evidence(site)) {
      auto& [bigints, pairs] = meanings[e];
      (site.key.form == KeyForm::Pair ? pairs : bigints).push_back(&site);
    }
  }
  std::set<std::pair<const LockSite*, const LockSite*>> reported;
  for (auto& [what, sites] : meanings) {
    auto& [bigints, pairs] = sites;
    if (bigints.empty() || pairs.empty()) continue;
    // The minority is at fault; of two the one whose place sorts last.
    const auto byPlace = [](const LockSite* a, const LockSite* b) { return before(*a, *b); };
    std::sort(bigints.begin(), bigints.end(), byPlace);
    std::sort(pairs.begin(), pairs.end(), byPlace);
    const bool pairs_at_fault = pairs.size() != bigints.size() ? pairs.size() < bigints.size() : before(*bigints.back(), *pairs.back());
    const LockSite& at = pairs_at_fault ? *pairs.back() : *bigints.back();
    const LockSite& other = pairs_at_fault ? *bigints.front() : *pairs.front();
    if (!reported.insert({&at, &other}).second) continue;
    Finding& f = report.at(at, at.call->range,
                           fmt::format("{} and {} name one thing ({}), but the one-key and the two-key form are separate key spaces: the locks never "
                                       "conflict, and both sides run at the same time. Use one form in all places.",
                                       callText(at), callText(other), what));
    f.related.push_back(report.place(other.unit, other.call->range, fmt::format("the other form: {}", callText(other))));
  }
}

}  // namespace

const Rule kMixedKeyForms{
    {
        .code = "AL201",
        .name = "mixed-key-forms",
        .severity = Severity::Error,
        .summary = "one logical key is taken in the bigint form here and in the pair form there",
        .explanation = "pg_advisory_lock(4200) and pg_advisory_lock(0, 4200) are different locks, although pg_locks shows the same classid and objid for both: "
                       "objsubid tells the forms apart. Two paths that use different forms for the same thing do not exclude each other.",
        .remedy = "Use one form for one purpose everywhere; best through one function or constant.",
        .proof = "",
        .clauses = {"both constant with bigint = (hi<<32)|lo | bad_same_number.sql", "both constant with bigint = (hi<<32)|lo, packed | bad_packed.sql",
                    "the same named constant is the whole key in both | bad_same_constant.sql", "the same text is the whole key in both | bad_same_text.sql",
                    "the same number under different names is none | good.sql"},
    },
    check};

}  // namespace pglocklint

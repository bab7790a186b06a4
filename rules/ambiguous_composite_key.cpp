// # Why parts of a key need a separator
//
// 'ab' || 'c' and 'a' || 'bc' are one string, so they are one key: two unrelated jobs exclude each other, and code that takes both in some order
// can deadlock. Numbers packed by arithmetic meet as well: 1000 * a + b is the same for (1, 1000) and (2, 0), a + b and a # b do not even
// know which part came first.
//
// Reported: text parts that are hashed or cast together with nothing between them, when both may vary in length; sums, xors and
// products of two varying parts, unless the lower one is bounded below its multiplier. Silent: a literal between the parts, format('%L/%L'),
// parts of fixed width (uuid, date, md5, to_char), the pair form, a shift by 32 beside a 32-bit part.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "all_rules.h"
#include "key_sites.h"
#include "program/values_fold.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool isFixedWidth(const Value& v) {
  static constexpr std::string_view kTypes[] = {"uuid", "date", "boolean", "\"char\"", "timestamp with time zone"};
  if (std::find(std::begin(kTypes), std::end(kTypes), v.type) != std::end(kTypes)) return true;
  if (v.kind == ValueKind::Hash) return v.name == "md5";
  if (v.kind == ValueKind::Call) return v.name == "to_char" || v.name == "lpad" || v.name == "rpad" || v.name == "to_hex";
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return isFixedWidth(v.args[0]);
  return false;
}

void flatten(const Value& v, std::vector<const Value*>& pieces) {
  if (v.kind == ValueKind::Concat) {
    for (const Value& a : v.args) flatten(a, pieces);
  } else if (v.kind == ValueKind::Cast && v.args.size() == 1 && v.args[0].kind == ValueKind::Concat) {
    flatten(v.args[0], pieces);
  } else {
    pieces.push_back(&v);
  }
}

// Two neighbouring parts of varying length: the second one, or null.
const Value* unseparated(const Value& concat) {
  std::vector<const Value*> pieces;
  flatten(concat, pieces);
  const Value* previous = nullptr;
  for (const Value* p : pieces) {
    const bool varies = !isKnown(*p) && !isFixedWidth(*p);
    if (varies && previous) return p;
    previous = varies ? p : nullptr;
  }
  return nullptr;
}

const Value& stripped(const Value& v) { return v.kind == ValueKind::Cast && v.args.size() == 1 ? stripped(v.args[0]) : v; }

std::optional<long long> constant(const Value& v) {
  const Value& s = stripped(v);
  if (s.kind != ValueKind::Integer) return std::nullopt;
  return std::strtoll(s.text.c_str(), nullptr, 10);
}

// An id, name or hash that may be any number: nothing bounds it.
bool isUnbounded(const Value& v) {
  const Value& s = stripped(v);
  return s.kind == ValueKind::Parameter || s.kind == ValueKind::Column || s.kind == ValueKind::Hash || s.kind == ValueKind::Variable;
}

// a * k with a varying a: k.
std::optional<long long> multiplier(const Value& v) {
  const Value& s = stripped(v);
  if (s.kind != ValueKind::Arithmetic || s.args.size() != 2) return std::nullopt;
  if (s.name == "*") {
    if (const auto k = constant(s.args[1])) return k;
    return constant(s.args[0]);
  }
  if (s.name == "<<")
    if (const auto k = constant(s.args[1]); k && *k >= 0 && *k < 62) return 1LL << *k;
  return std::nullopt;
}

// Why the packing is ambiguous; empty if it is not, or if we cannot tell.
std::string ambiguity(const Value& v) {
  if (v.kind != ValueKind::Arithmetic || v.args.size() != 2 || isKnown(v.args[0]) || isKnown(v.args[1])) return "";
  const Value &a = v.args[0], &b = v.args[1];
  if (v.name == "#" && isUnbounded(a) && isUnbounded(b)) return "a # b is the same for (a, b) and (b, a), and 0 whenever both are equal";
  if (v.name == "*" && isUnbounded(a) && isUnbounded(b)) return "a * b is the same for (2, 6) and (3, 4)";
  if (v.name != "+" && v.name != "|") return "";
  const auto ka = multiplier(a), kb = multiplier(b);
  const Value& low = ka ? b : a;
  const auto k = ka ? ka : kb;
  if (!k) return v.name == "+" && isUnbounded(a) && isUnbounded(b) ? "a + b is the same for (1, 3) and (2, 2)" : "";
  if (!isUnbounded(low) || *k >= (1LL << 32)) return "";
  return fmt::format("the lower part is not bounded by the multiplier {}, so (1, {}) and (2, 0) meet", *k, *k);
}

struct Fault {
  const Value* value;
  std::string why;
};

std::optional<Fault> findFault(const LockSite& site, const Value& v) {
  if (site.direct() || v.from_argument) {
    if (v.kind == ValueKind::Concat && unseparated(v))
      return Fault{&v, "its text parts are joined with nothing between them, so ('ab', 'c') and ('a', 'bc') give the same key"};
    if (std::string why = ambiguity(v); !why.empty()) return Fault{&v, std::move(why)};
  }
  for (const Value& a : v.args)
    if (auto fault = findFault(site, a)) return fault;
  return std::nullopt;
}

void check(const Program& program, Report& report) {
  const Expr* reported = nullptr;
  forEachKeyPart(program, [&](const LockSite& site, const Value& part) {
    if (site.call == reported) return;
    const auto fault = findFault(site, part);
    if (!fault) return;
    reported = site.call;
    Finding& f = report.at(site, site.call->range,
                           fmt::format("The key of {} is ambiguous: {}. Unrelated work then waits for the same lock. Put a separator that cannot occur in "
                                       "the parts between them, hashtextextended(format('%L/%L', a, b), 0), or use the pair form for two integers.",
                                       callText(site), fault->why));
    relateValue(report, f, *fault->value, "the parts are put together here");
  });
}

}  // namespace

const Rule kAmbiguousCompositeKey{
    {
        .code = "AL209",
        .name = "ambiguous-composite-key",
        .severity = Severity::Warning,
        .summary = "different parts give the same key",
        .explanation = "A key made of several parts must keep them apart. Joined text without a separator, sums, xors and products map different inputs to one key: "
                       "unrelated work waits for each other, and sessions that need two of these locks can deadlock.",
        .remedy = "hashtextextended(format('%L/%L', a, b), 0), the pair form (a, b) for two integers, or (a::bigint << 32) | b for two 32-bit numbers.",
        .proof = "",
        .clauses = {"parts joined without separator | bad_concat.sql", "or packed so that two inputs meet | bad_packed.sql"},
    },
    check};

}  // namespace pglocklint

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

#include "all_rules.h"
#include "key_sites.h"
#include "program/keys.h"
#include "wording.h"

namespace pglocklint {
namespace {

// The ambiguity of a key's part that this call answers for. A part that only exceeds its bits when ids grow past 2^31 is left alone.
std::optional<Ambiguity> findAmbiguity(const LockSite& site, const Value& part) {
  auto found = ambiguousComposition(part);
  if (!found || found->kind == AmbiguityKind::BeyondWidth) return std::nullopt;
  if (!answersFor(site, *found->where)) return std::nullopt;
  return found;
}

void check(const Program& program, Report& report) {
  const Expr* reported = nullptr;
  forEachKeyPart(program, [&](const LockSite& site, const Value& part) {
    if (site.call == reported) return;
    const auto fault = findAmbiguity(site, part);
    if (!fault) return;
    reported = site.call;
    Finding& f = report.at(site, site.call->range,
                           fmt::format("The key of {} is ambiguous: {}. Unrelated work then waits for the same lock. Put a separator that cannot occur in "
                                       "the parts between them, hashtextextended(format('%L/%L', a, b), 0), or use the pair form for two integers.",
                                       callText(site), fault->why));
    relateValue(report, f, *fault->where, "the parts are put together here");
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
        .clauses = {"parts joined without separator | bad_concat.sql", "lists joined without separator, text built step by step | bad_built.sql", "or packed so that two inputs meet | bad_packed.sql"},
    },
    check};

}  // namespace pglocklint

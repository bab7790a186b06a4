#include "key_sites.h"

#include <tuple>

namespace pglocklint {

bool isAcquiringSite(const LockSite& site) { return site.live && site.lock && site.lock->acquires() && site.call; }

bool answersFor(const LockSite& site, const Value& value) {
  if (site.direct()) return true;
  const auto writtenIn = [&](int unit, const Function* f) { return f && value.unit == unit && f->range.contains(value.range); };
  return value.range.known() && !writtenIn(site.routine->unit, site.routine->function) &&
         !(site.inner && writtenIn(site.inner->unit, site.inner->function));
}

void relateValue(Report& report, Finding& finding, const Value& value, std::string message) {
  if (!value.range.known() || value.unit < 0) return;
  RelatedPlace place = report.place(value.unit, value.range, std::move(message));
  if (place.where.file != finding.where.file || place.where.line != finding.where.line) finding.related.push_back(std::move(place));
}

bool before(const LockSite& a, const LockSite& b) {
  return std::tie(a.unit, a.call->range.begin, a.call->range.end) < std::tie(b.unit, b.call->range.begin, b.call->range.end);
}

}  // namespace pglocklint

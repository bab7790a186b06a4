#include "mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "shapes.h"

namespace pglocklint::differential {

void Mix::add(const Trial& t) {
  if (t.c.sites.empty()) return;
  const bool ran = std::any_of(t.outcomes.begin(), t.outcomes.end(), [](const Outcome& o) { return o.seen.error.empty(); });
  runs += static_cast<long>(t.outcomes.size());
  for (const Outcome& o : t.outcomes)
    if (!o.seen.error.empty()) ++errors[o.seen.error.substr(0, 70)];
  if (!ran) {
    ++failed;
    return;
  }
  ++statements;
  for (const std::string& s : t.c.shapes) ++shapes[s];
  bool over_here = false, under_here = false, unsure_here = false, silent_here = false;
  for (std::size_t i = 0; i < t.c.sites.size(); ++i) {
    bool any_call = false, over_site = false;
    for (const Outcome& o : t.outcomes) {
      over_site = over_site || overLocks(t.c, static_cast<int>(i), o.seen);
      any_call = any_call || std::any_of(o.seen.calls.begin(), o.seen.calls.end(), [&](const Call& c) { return c.site == static_cast<int>(i); });
    }
    over_here = over_here || over_site;
    under_here = under_here || !any_call;
    if (t.verdicts[i].empty()) ++without_answer, silent_here = true;
    for (const Verdict& v : t.verdicts[i]) {
      const bool silent_now = v.sureness == "unknown";
      silent_here = silent_here || silent_now;
      unsure_here = unsure_here || silent_now || (v.rows == "plan-dependent" && v.runs != "never");
      const std::string word = silent_now ? "unknown" : v.runs == "never" ? "never" : v.rows == "exact" && v.runs == "need-not" ? "need-not" : v.rows;
      ++verdicts[word];
      auto& [all, seen] = seen_over[word];
      ++all;
      seen += over_site;
    }
  }
  over += over_here, under += under_here, over_or_under += over_here || under_here;
  unsure += unsure_here || silent_here, silent += silent_here;
  if (unsure_here || silent_here)
    for (const std::string& s : t.c.shapes) ++unsure_shapes[s];
}

void Mix::add(const Mix& o) {
  statements += o.statements, runs += o.runs, failed += o.failed, over += o.over, under += o.under, over_or_under += o.over_or_under;
  unsure += o.unsure, silent += o.silent, without_answer += o.without_answer;
  const auto sum = [](auto& into, const auto& from) { for (const auto& [k, n] : from) into[k] += n; };
  sum(shapes, o.shapes), sum(verdicts, o.verdicts), sum(errors, o.errors), sum(unsure_shapes, o.unsure_shapes);
  for (const auto& [k, n] : o.seen_over) seen_over[k].first += n.first, seen_over[k].second += n.second;
}

std::string Mix::report() const {
  const auto percent = [](long n, long of) { return of ? 100.0 * static_cast<double>(n) / static_cast<double>(of) : 0.0; };
  std::string out = fmt::format("statements {} (and {} that failed under every plan), runs {}\n", statements, failed, runs);
  out += fmt::format("over- or under-locking {:.1f} % (over {:.1f} %, under {:.1f} %); plan-dependent or unknown {:.1f} % (unknown {:.1f} %); calls without an answer {}\n",
                     percent(over_or_under, statements), percent(over, statements), percent(under, statements), percent(unsure, statements),
                     percent(silent, statements), without_answer);
  out += "verdicts:";
  for (const auto& [k, n] : seen_over) out += fmt::format(" {} {} (over-locked {:.0f} %)", k, n.first, percent(n.second, n.first));
  out += "\nshapes:";
  for (const Shape& s : kShapes) {
    const auto it = shapes.find(std::string(s.name));
    out += fmt::format(" {}:{} {}", s.family, s.name, it == shapes.end() ? 0 : it->second);
  }
  std::vector<std::pair<long, std::string>> worst;
  for (const auto& [k, n] : errors) worst.push_back({n, k});
  std::sort(worst.rbegin(), worst.rend());
  out += "\nerrors:";
  for (std::size_t i = 0; i < worst.size() && i < 12; ++i) out += fmt::format("\n  {} × {}", worst[i].first, worst[i].second);
  return out + "\n";
}

std::string Mix::complaint(double scale) const {
  std::string out;
  for (const Shape& s : kShapes) {
    const auto it = shapes.find(std::string(s.name));
    const double n = it == shapes.end() ? 0.0 : static_cast<double>(it->second);
    if (n < 200 * scale) out += fmt::format("shape {} only {} times\n", s.name, n);
  }
  for (const auto& [k, n] : shapes)
    if (std::none_of(kShapes.begin(), kShapes.end(), [&](const Shape& s) { return s.name == k; })) out += "shape without an entry: " + k + "\n";
  if (over_or_under * 10 < statements * 3) out += "too few statements over- or under-lock\n";
  if (unsure * 4 > statements) out += "too many answers are plan-dependent or unknown\n";
  if (failed * 5 > statements) out += "too many statements fail\n";
  return out;
}

}  // namespace pglocklint::differential

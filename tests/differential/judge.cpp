#include "judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace pglocklint::differential {

namespace {

using Counts = std::map<std::string, long>;

Counts countIds(const Observation& seen) {
  Counts out;
  for (const std::string& id : seen.ids) ++out[id];
  return out;
}

// One claim of one verdict, checked against the calls of one site.
class Check {
 public:
  Check(const Case& c, int site, const Verdict& v, bool only, const Observation& seen, const std::map<std::string, RowFacts>& facts)
      : case_(c), site_(c.sites[static_cast<std::size_t>(site)]), number_(site), v_(v), only_(only), seen_(seen), facts_(facts), ids_(countIds(seen)) {
    for (const Call& call : seen.calls)
      if (call.site == site) calls_.push_back(&call);
    for (const Call* call : calls_)
      if (call->obtained) ++obtained_[call->key];
  }

  void all(std::vector<Contradiction>& out) {
    out_ = &out;
    if (v_.sureness == "unknown") return;
    if (v_.runs == "never") {
      if (!calls_.empty()) fail(Claim::Never, fmt::format("said never, but it ran {} times", calls_.size()));
      return;
    }
    if (v_.plan_time) return;  // how often the planner calls is nobody's promise
    if (only_ && v_.runs == "once" && !v_.repeated && calls_.size() > 1) fail(Claim::Once, fmt::format("said once, but it ran {} times", calls_.size()));
    order();
    if (!seen_.error.empty() || !seen_.has_ids) return;
    // A call of one key takes it whether or not its row gets through: "once" absorbs what is above it.
    if (v_.rows == "exact" && v_.runs != "once" && v_.order != "single") exact();
    everyRow();
  }

 private:
  void fail(Claim claim, std::string text) { out_->push_back({number_, claim, std::move(text)}); }

  void exact() {
    if (!site_.lineage) return;
    long strangers = 0, more = 0;
    for (const auto& [key, times] : obtained_) {
      const auto it = ids_.find(key);
      if (it == ids_.end()) ++strangers;
      else if (times > it->second) ++more;
    }
    if (strangers) return fail(Claim::Exact, fmt::format("said exact, but {} of {} keys are not of rows returned", strangers, obtained_.size()));
    if (more && only_ && !case_.merges_rows && site_.alone && !v_.repeated) fail(Claim::Multiplicity, fmt::format("said exact, but {} of {} keys more often than rows returned", more, obtained_.size()));
  }

  // A row that is returned has passed the call, unless the call is guarded or some plan may spare it.
  void everyRow() {
    if (!site_.every_row || v_.runs_cause != "none" || v_.sureness == "by-plan" || (v_.runs != "per-row" && v_.runs != "once")) return;
    if (site_.constant && seen_.rows > 0 && calls_.empty()) return fail(Claim::EveryRow, fmt::format("said {}, but it did not run for any of {} rows returned", v_.runs, seen_.rows));
    if (!site_.lineage || v_.runs != "per-row") return;
    std::set<std::string> asked;
    for (const Call* c : calls_) asked.insert(c->key);
    long missing = 0;
    for (const auto& [id, times] : ids_) missing += asked.count(id) == 0;
    if (missing) fail(Claim::EveryRow, fmt::format("said per-row, but {} of {} rows were returned without a call", missing, ids_.size()));
  }

  void order() {
    if (v_.order == "single" && distinctKeys() > 1) return fail(Claim::Single, fmt::format("said one key, but there are {}", distinctKeys()));
    if (v_.order != "defined") return;
    // A scan that is read again asks for keys that are held already: what counts is the order of first requests.
    std::vector<std::string> keys;
    std::set<std::string> held;
    for (const Call* c : calls_)
      if (held.insert(c->key).second) keys.push_back(c->key);
    const auto by = [&](auto value) {
      return std::is_sorted(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) { return value(a) < value(b); }) ||
             std::is_sorted(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) { return value(b) < value(a); });
    };
    const bool by_key = by([](const std::string& k) { return std::atol(k.c_str()); });
    if (v_.sorted && !by_key) return fail(Claim::Sorted, "said sorted by key, but the keys came in another order");
    if (by_key || !site_.lineage || case_.orders.empty() || case_.own_rows || case_.ordered_by_call) return;
    const auto fact = [&](const std::string& k) {
      const auto it = facts_.find(k);
      return it == facts_.end() ? RowFacts{} : it->second;
    };
    const bool sorted = (case_.orders.count(RowOrder::ByKind) && by([&](const std::string& k) { return fact(k).kind; })) ||
                        (case_.orders.count(RowOrder::ByTs) && by([&](const std::string& k) { return fact(k).ts; }));
    if (!sorted) fail(Claim::Defined, "said ordered, but the keys follow no ORDER BY of the statement");
  }

  std::size_t distinctKeys() const {
    std::set<std::string> keys;
    for (const Call* c : calls_) keys.insert(c->key);
    return keys.size();
  }

  const Case& case_;
  const Site& site_;
  int number_;
  const Verdict& v_;
  bool only_;  // no other evaluation of the same call adds to its runs
  const Observation& seen_;
  const std::map<std::string, RowFacts>& facts_;
  Counts ids_, obtained_;
  std::vector<const Call*> calls_;
  std::vector<Contradiction>* out_ = nullptr;
};

}  // namespace

std::string Verdict::text() const {
  return fmt::format("{} {} {} {}{}{}{} at {} rows:{} runs:{}{}", runs, rows, order, sureness, sorted ? " sorted" : "", repeated ? " repeated" : "",
                     plan_time ? " plan-time" : "", position, rows_cause, runs_cause, via.empty() ? "" : " via " + via);
}

const char* nameOf(Claim claim) {
  switch (claim) {
    case Claim::Never: return "never";
    case Claim::Once: return "once";
    case Claim::Exact: return "exact";
    case Claim::Multiplicity: return "multiplicity";
    case Claim::EveryRow: return "every-row";
    case Claim::Single: return "single";
    case Claim::Sorted: return "sorted";
    case Claim::Defined: return "defined";
    case Claim::NoAnswer: return "no-answer";
  }
  return "";
}

Verdicts verdictsOf(const Case& c, const nlohmann::json& calls) {
  Verdicts out(c.sites.size());
  for (const nlohmann::json& j : calls) {
    for (std::size_t i = 0; i < c.sites.size(); ++i) {
      const std::size_t at = c.sites[i].begin;
      if (j["begin"] != at && (j["via"] == "" || j["via_begin"] != at)) continue;
      Verdict v;
      v.name = j["name"], v.via = j["via"], v.runs = j["runs"], v.rows = j["rows"], v.order = j["order"], v.sureness = j["sureness"];
      v.position = j["position"], v.rows_cause = j["rows_cause"], v.runs_cause = j["runs_cause"];
      v.plan_time = j["plan_time"], v.repeated = j["repeated"], v.sorted = j["sorted"];
      out[i].push_back(std::move(v));
      break;
    }
  }
  return out;
}

std::vector<Contradiction> judge(const Case& c, const Verdicts& verdicts, const Observation& seen, const std::map<std::string, RowFacts>& facts) {
  std::vector<Contradiction> out;
  for (std::size_t i = 0; i < c.sites.size(); ++i) {
    std::map<std::string, int> times;
    for (const Verdict& v : verdicts[i]) ++times[v.name];
    for (const Verdict& v : verdicts[i]) Check(c, static_cast<int>(i), v, times[v.name] == 1, seen, facts).all(out);
  }
  return out;
}

bool overLocks(const Case& c, int site, const Observation& seen) {
  if (!seen.error.empty() || !seen.has_ids) return false;
  const Site& s = c.sites[static_cast<std::size_t>(site)];
  Counts obtained;
  std::size_t total = 0;
  for (const Call& call : seen.calls)
    if (call.site == site && call.obtained) ++obtained[call.key], ++total;
  if (s.constant) return total > std::max<std::size_t>(1, seen.rows) || (total > 1 && s.alone);
  if (!s.lineage) return false;
  const Counts ids = countIds(seen);
  return std::any_of(obtained.begin(), obtained.end(), [&](const auto& o) {
    const auto it = ids.find(o.first);
    return it == ids.end() || (s.alone && o.second > it->second);
  });
}

}  // namespace pglocklint::differential

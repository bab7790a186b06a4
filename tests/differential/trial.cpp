#include "trial.h"

#include <algorithm>

#include "campaign.h"
#include "shrink.h"

namespace pglocklint::differential {

namespace {

std::vector<Combination> combinationsFor(std::uint64_t seed, const Case& c) {
  Random random(seed ^ 0x5DEECE66DULL);
  // Parallel plans cost much: workers have to be started.
  const auto setting = [&] { return random.below(40) == 0 ? kSettings - 1 : static_cast<int>(random.below(kSettings - 1)); };
  std::vector<Combination> out{{0, setting()}, {1, setting()}, {2, setting()}};
  if (c.skip_locked) out.push_back({kHeldData, 0});
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

Bench::Bench(const std::string& server, const std::string& peer) : database_(server), peer_(peer) {
  for (int i = 0; i <= kHeldData; ++i) facts_.push_back(database_.facts(i));
  peer_.ask({{"setup", analyzerSetup()}});
}

void Bench::ask(Trial& t) {
  t.verdicts = verdictsOf(t.c, peer_.ask({{"text", t.c.analyzer}})["calls"]);
}

void Bench::observe(Trial& t, const Combination& c) {
  Outcome o{c, database_.run(t.c)};
  for (Contradiction& found : judge(t.c, t.verdicts, o.seen, facts_[static_cast<std::size_t>(c.data)])) t.contradictions.push_back({c, std::move(found)});
  t.outcomes.push_back(std::move(o));
}

std::vector<Trial> Bench::runBatch(std::uint64_t seed, std::uint64_t first, std::size_t count) {
  std::vector<Trial> out(count);
  // Settings change once for a batch, not for each case.
  std::map<Combination, std::vector<Trial*>> plan;
  for (std::size_t i = 0; i < count; ++i) {
    Trial& t = out[i];
    t.number = first + i;
    Choices choices(seedOf(seed, t.number));
    t.c = generate(choices);
    t.record = choices.record();
    if (t.c.sites.empty()) continue;
    ask(t);
    for (const Combination& c : combinationsFor(seedOf(seed, t.number), t.c)) plan[c].push_back(&t);
  }
  for (auto& [c, trials] : plan) {
    database_.use(c);
    for (Trial* t : trials) observe(*t, c);
  }
  return out;
}

Trial Bench::runRecord(const std::vector<std::uint32_t>& record, const std::vector<Combination>& combinations) {
  Trial t;
  Choices choices(record);
  t.c = generate(choices);
  t.record = choices.record();
  if (t.c.sites.empty()) return t;
  ask(t);
  for (const Combination& c : combinations) {
    database_.use(c);
    observe(t, c);
  }
  return t;
}

namespace {

// Is it worth going on with? Same claim broken under the same plan.
bool shows(const Trial& t, const std::pair<Combination, Contradiction>& what) {
  return std::any_of(t.contradictions.begin(), t.contradictions.end(), [&](const auto& c) { return c.second.claim == what.second.claim; });
}

bool simpler(const Trial& a, const Trial& b) {
  if (a.c.analyzer.size() != b.c.analyzer.size()) return a.c.analyzer.size() < b.c.analyzer.size();
  return a.record.size() != b.record.size() ? a.record.size() < b.record.size() : a.record < b.record;
}

}  // namespace

Trial shrink(Bench& bench, const Trial& trial, int attempts) {
  Trial best = trial;
  const auto what = trial.contradictions.front();
  const auto take = [&](const Record& record) {
    Trial t = bench.runRecord(record, {what.first});
    if (!shows(t, what) || !simpler(t, best)) return false;
    t.number = trial.number;
    best = std::move(t);
    return true;
  };
  shrinkRecord([&]() -> const Record& { return best.record; }, take, attempts);
  return best;
}

}  // namespace pglocklint::differential

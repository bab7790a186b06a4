// Differential fuzzing of evaluate(): random statements with lock calls are put to pglocklint and to PostgreSQL, and what the
// one says must be what the other does.
//
// A case is run over several data sets and planner settings, because what the analysis claims has to hold under every plan:
// "never" is contradicted by one call under any of them. A contradiction is made as small as it gets and printed as text for a fixture.
// The run fails on contradictions, and if its mix of cases is not worth much (mix.h).
#include <fmt/format.h>

#include "campaign.h"
#include "mix.h"

namespace {

using namespace pglocklint::differential;

class Statements : public Worker {
 public:
  explicit Statements(const Options& o) : seed_(o.seed), bench_(o.server, o.peer) {}

  int major() const override { return bench_.major(); }

  std::vector<std::uint64_t> run(std::uint64_t first, std::size_t count) override {
    trials_ = bench_.runBatch(seed_, first, count);
    std::vector<std::uint64_t> contradicted;
    for (const Trial& t : trials_) {
      mix_.add(t);
      if (!t.contradictions.empty()) contradicted.push_back(t.number);
    }
    return contradicted;
  }

  Fixture smallest(std::uint64_t number) override {
    const Trial t = shrink(bench_, trials_[static_cast<std::size_t>(number - trials_.front().number)]);
    const auto& [under, what] = t.contradictions.front();
    Fixture out;
    out.heading = fmt::format("-- {}; {}: {}\n", nameOf(under), t.c.sites[static_cast<std::size_t>(what.site)].name, what.text);
    for (std::size_t i = 0; i < t.c.sites.size(); ++i)
      for (const Verdict& v : t.verdicts[i]) out.heading += fmt::format("-- {}{} {}\n", static_cast<int>(i) == what.site ? "> " : "  ", v.name, v.text());
    out.text = t.c.analyzer;
    return out;
  }

  // The texts, the verdicts, and each run.
  void show(std::uint64_t number) override {
    for (const Trial& t : bench_.runBatch(seed_, number, 1)) {
      fmt::print("{}", t.c.analyzer);
      for (std::size_t i = 0; i < t.c.sites.size(); ++i)
        for (const Verdict& v : t.verdicts[i]) fmt::print("  {} {}: {}\n", i, v.name, v.text());
      for (const Outcome& out : t.outcomes) {
        fmt::print("{}: {} rows {}", nameOf(out.under), out.seen.rows, out.seen.error);
        for (const Call& c : out.seen.calls) fmt::print(" {}:{}{}", c.site, c.key, c.obtained ? "" : "x");
        fmt::print("\n");
      }
      for (const auto& [under, c] : t.contradictions) fmt::print("{} site {}: {}\n", nameOf(under), c.site, c.text);
    }
  }

  Mix takeMix() { return std::exchange(mix_, {}); }

 private:
  std::uint64_t seed_;
  Bench bench_;
  std::vector<Trial> trials_;
  Mix mix_;
};

class Evaluations : public Campaign {
 public:
  explicit Evaluations(const Options& o) : options_(o), keeper_(o.server) {
    keeper_.createAll();
    keeper_.holdRows();
  }

  std::unique_ptr<Worker> worker() override { return std::make_unique<Statements>(options_); }
  void collect(Worker& worker) override { mix_.add(static_cast<Statements&>(worker).takeMix()); }
  long cases() const override { return mix_.statements; }
  std::string report() const override { return mix_.report(); }
  std::string complaint() const override { return mix_.complaint(static_cast<double>(mix_.statements) / 100000.0); }

 private:
  Options options_;
  Database keeper_;
  Mix mix_;
};

}  // namespace

int main(int argc, char** argv) {
  return runCampaign(argc, argv, "Random statements: what pglocklint says against what PostgreSQL does",
                     [](const Options& o) { return std::make_unique<Evaluations>(o); });
}

// A property test of the lock state: random programs (programs.h) go through the analysis and run on PostgreSQL. At each mark that a run
// comes to, the locks really held lie between must and may of one of the alternatives that the analysis has there.
//
// What the analysis leaves out by decision is left out here too (analyzer/program/lock_state.cpp): a script stops at its first error,
// and what WHEN OTHERS does not catch does not happen.
#include <fmt/format.h>

#include <map>

#include "campaign.h"
#include "peer_client.h"
#include "shrink.h"
#include "state_judge.h"

namespace {

using namespace pglocklint::differential;

constexpr int kRuns = 4;           // of one program
constexpr int kRunsToShow = 8;     // of a smaller one, which need not show the contradiction on the same path

struct Counts {
  long programs = 0, runs = 0, stopped = 0, looks = 0, marks = 0, points = 0, exact = 0, width = 0;
  std::map<std::string, long> shapes, errors;

  void add(const Counts& o) {
    programs += o.programs, runs += o.runs, stopped += o.stopped, looks += o.looks, marks += o.marks;
    points += o.points, exact += o.exact, width += o.width;
    for (const auto& [k, n] : o.shapes) shapes[k] += n;
    for (const auto& [k, n] : o.errors) errors[k] += n;
  }
};

Path pathOf(Random& random) {
  Path path;
  for (int& s : path.switches) s = static_cast<int>(random.below(kSwitchValues));
  path.rival = static_cast<int>(random.below(kRivals));
  return path;
}

std::string textOf(const Look& look) {
  std::string out = fmt::format("k {}, j {}:", look.parameters[0], look.parameters[1]);
  for (const Lock& lock : look.now.shown)
    out += fmt::format(" {}{};", lock, look.now.session.contains(lock) ? fmt::format(" ({} times by the session)", look.now.session.at(lock)) : "");
  return out;
}

struct Trial {
  std::uint64_t number = 0;
  Record record;
  Program program;
  std::vector<MarkClaim> claims;
  std::vector<ProgramRun> runs;
  std::optional<StateContradiction> contradiction;  // of the last run
};

class Programs : public Worker {
 public:
  Programs(const Options& o, const std::string& database) : seed_(o.seed), database_(o.server, database), peer_(o.peer) {
    peer_.ask({{"setup", programSetup()}});
  }

  int major() const override { return database_.major(); }

  std::vector<std::uint64_t> run(std::uint64_t first, std::size_t count) override {
    contradicted_.clear();
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = first; i < first + count; ++i) {
      Trial t = trial(i);
      this->count(t);
      if (!t.contradiction) continue;
      numbers.push_back(i);
      contradicted_.emplace(i, std::move(t));
    }
    return numbers;
  }

  Fixture smallest(std::uint64_t number) override {
    Trial best = contradicted_.at(number);
    const auto take = [&](const Record& record) {
      Choices choices(record);
      Trial t;
      t.number = number, t.program = generateProgram(choices), t.record = choices.record();
      if (t.program.text().size() >= best.program.text().size()) return false;
      follow(t, Random(number), kRunsToShow);
      if (!t.contradiction) return false;
      best = std::move(t);
      return true;
    };
    shrinkRecord([&]() -> const Record& { return best.record; }, take, 300);
    const auto& [look, what] = *best.contradiction;
    const Path& path = best.runs.back().path;
    return {fmt::format("-- at mark {}{}, switches {}, rival {}: {}\n-- held: {}\n-- said: {}\n", look.mark,
                        best.program.one_transaction ? ", in one transaction" : "", fmt::join(path.switches, ""), path.rival, what, textOf(look),
                        best.claims.at(static_cast<std::size_t>(look.mark)).text()),
            best.program.text()};
  }

  void show(std::uint64_t number) override {
    const Trial t = trial(number);
    fmt::print("{}{}", t.program.one_transaction ? "-- in one transaction\n" : "", t.program.text());
    for (std::size_t m = 0; m < t.claims.size(); ++m) fmt::print("mark {} (width {}): {}\n", m, t.claims[m].width(), t.claims[m].text());
    for (const ProgramRun& r : t.runs) {
      fmt::print("switches {}, rival {}: {}\n", fmt::join(r.path.switches, ""), r.path.rival, r.error);
      for (const Look& l : r.looks) fmt::print("  mark {}: {}\n", l.mark, textOf(l));
    }
    if (t.contradiction) fmt::print("contradicted at mark {}: {}\n", t.contradiction->look.mark, t.contradiction->text);
  }

  Counts takeCounts() { return std::exchange(counts_, {}); }

 private:
  Trial trial(std::uint64_t number) {
    Trial t;
    t.number = number;
    Choices choices(seedOf(seed_, number));
    t.program = generateProgram(choices), t.record = choices.record();
    follow(t, Random(seedOf(seed_, number) + 1), kRuns);
    return t;
  }

  // Both sides, until a run contradicts.
  void follow(Trial& t, Random random, int runs) {
    t.claims = claimsOf(t.program, peer_.ask({{"states", t.program.text()}, {"runner", t.program.one_transaction ? "one-transaction" : "autocommit"}}));
    database_.define(t.program);
    for (int i = 0; i < runs && !t.contradiction; ++i) {
      t.runs.push_back(database_.run(t.program, pathOf(random)));
      t.contradiction = judge(t.claims, t.runs.back());
    }
  }

  void count(const Trial& t) {
    ++counts_.programs;
    counts_.marks += static_cast<long>(t.program.marks.size());
    for (const std::string& s : t.program.shapes) ++counts_.shapes[s];
    std::set<int> reached;
    for (const ProgramRun& r : t.runs) {
      ++counts_.runs;
      if (!r.error.empty()) ++counts_.stopped, ++counts_.errors[r.error.substr(0, 60)];
      counts_.looks += static_cast<long>(r.looks.size());
      for (const Look& l : r.looks) reached.insert(l.mark);
    }
    for (const int m : reached) {
      const int width = t.claims.at(static_cast<std::size_t>(m)).width();
      ++counts_.points, counts_.exact += width == 0, counts_.width += width;
    }
  }

  std::uint64_t seed_;
  ProgramDatabase database_;
  PeerClient peer_;
  std::map<std::uint64_t, Trial> contradicted_;
  Counts counts_;
};

class States : public Campaign {
 public:
  explicit States(const Options& o) : options_(o) {}

  std::unique_ptr<Worker> worker() override { return std::make_unique<Programs>(options_, fmt::format("states_{}", ++workers_)); }
  void collect(Worker& worker) override { counts_.add(static_cast<Programs&>(worker).takeCounts()); }
  long cases() const override { return counts_.programs; }

  std::string report() const override {
    const Counts& n = counts_;
    const auto share = [](long part, long all) { return all ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0.0; };
    std::string out = fmt::format("programs {}, runs {} ({:.0f} % stopped by an error)\n", n.programs, n.runs, share(n.stopped, n.runs));
    out += fmt::format("marks {}, of them reached {} ({} times); exact {:.1f} %, mean width (may - must) {:.3f}\nshapes:", n.marks, n.points, n.looks,
                       share(n.exact, n.points), n.points ? static_cast<double>(n.width) / static_cast<double>(n.points) : 0.0);
    for (const ProgramShape& s : kProgramShapes) out += fmt::format(" {} {}", s.name, ofShape(s.name));
    out += "\nerrors:";
    for (const auto& [text, times] : n.errors) out += fmt::format("\n  {} × {}", times, text);
    return out + "\n";
  }

  std::string complaint() const override {
    std::string out;
    for (const ProgramShape& s : kProgramShapes)
      if (ofShape(s.name) * 1000 < s.least * counts_.programs) out += fmt::format("shape {} only {} times\n", s.name, ofShape(s.name));
    for (const auto& [name, times] : counts_.shapes)
      if (std::none_of(kProgramShapes.begin(), kProgramShapes.end(), [&](const ProgramShape& s) { return s.name == name; })) out += "shape without an entry: " + name + "\n";
    if (counts_.exact * 10 < counts_.points * 7) out += "less than 70 % of the points are exact\n";
    if (counts_.stopped * 2 > counts_.runs) out += "too many runs are stopped by an error\n";
    return out;
  }

 private:
  long ofShape(const char* name) const {
    const auto at = counts_.shapes.find(name);
    return at == counts_.shapes.end() ? 0 : at->second;
  }

  Options options_;
  Counts counts_;
  int workers_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return runCampaign(argc, argv, "Random programs: the locks that pglocklint says are held against those that PostgreSQL shows",
                     [](const Options& o) { return std::make_unique<States>(o); });
}

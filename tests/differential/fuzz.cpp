// Differential fuzzing of evaluate(): random statements with lock calls are put to pglocklint and to PostgreSQL, and what the
// one says must be what the other does.
//
// A case is run over several data sets and planner settings, because what the analysis claims has to hold under every plan:
// "never" is contradicted by one call under any of them. A contradiction is made as small as it gets and printed as text for a fixture.
// The run fails on contradictions, and if its mix of cases is not worth much (mix.h).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#include "mix.h"
#include "oracle/servers.h"

namespace {

using namespace pglocklint::differential;

struct Options {
  std::uint64_t seed = 1, count = 0, only = 0;
  bool has_only = false, show = false, no_mix = false;
  int major = 0;
  std::string server, peer;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::size_t most = 20;  // contradictions that are shrunk and printed
};

std::string fixture(const Options& o, const Trial& t, int major) {
  const auto& [under, what] = t.contradictions.front();
  std::string out = fmt::format("-- seed {}, case {}, PostgreSQL {}, {}\n-- {}: {}\n", o.seed, t.number, major, nameOf(under), t.c.sites[static_cast<std::size_t>(what.site)].name, what.text);
  for (std::size_t i = 0; i < t.c.sites.size(); ++i)
    for (const Verdict& v : t.verdicts[i]) out += fmt::format("-- {}{} {}\n", static_cast<int>(i) == what.site ? "> " : "  ", v.name, v.text());
  return out + t.c.analyzer;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int go() {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < options_.jobs; ++i)
      workers.emplace_back([this] {
        try {
          work();
        } catch (const std::exception& e) {
          const std::lock_guard hold(mutex_);
          broken_ = e.what();
          stop_ = true;
        }
      });
    for (std::thread& t : workers) t.join();
    if (!broken_.empty()) {
      fmt::print(stderr, "fuzz: {}\n", broken_);
      return 2;
    }
    return report();
  }

 private:
  void work() {
    Bench bench(options_.server, options_.peer);
    major_ = bench.major();
    constexpr std::size_t kBatch = 48;
    while (!stop_) {
      const std::uint64_t first = next_.fetch_add(kBatch);
      if (options_.count && first >= options_.count) break;
      const std::size_t n = options_.count ? static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, options_.count - first)) : kBatch;
      Mix mix;
      for (const Trial& t : bench.runBatch(options_.seed, first, n)) {
        mix.add(t);
        if (!t.contradictions.empty()) contradicted(bench, t);
      }
      const std::lock_guard hold(mutex_);
      mix_.add(mix);
      if (options_.show && mix_.statements / 5000 != reported_) {
        reported_ = mix_.statements / 5000;
        fmt::print(stderr, "… {} statements, {} contradicted\n", mix_.statements, contradicted_.size());
      }
    }
  }

  void contradicted(Bench& bench, const Trial& t) {
    {
      const std::lock_guard hold(mutex_);
      contradicted_.insert(t.number);
      if (shrunk_ >= options_.most) return;
      ++shrunk_;
    }
    const Trial small = shrink(bench, t);
    const std::lock_guard hold(mutex_);
    if (!texts_.insert(small.c.analyzer).second) {
      --shrunk_;
      return;
    }
    fmt::print("{}\n", fixture(options_, small, bench.major()));
    std::fflush(stdout);
  }

  int report() const {
    fmt::print("PostgreSQL {}, seed {}: {}", major_.load(), options_.seed, mix_.report());
    fmt::print("contradicted: {} statements\n", contradicted_.size());
    const std::string complaint = options_.no_mix ? "" : mix_.complaint(static_cast<double>(mix_.statements) / 100000.0);
    if (!complaint.empty()) fmt::print("the mix is not what it should be:\n{}", complaint);
    return contradicted_.empty() && complaint.empty() ? 0 : 1;
  }

  const Options& options_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> major_{0};
  std::mutex mutex_;
  Mix mix_;
  std::set<std::uint64_t> contradicted_;
  std::set<std::string> texts_;
  std::size_t shrunk_ = 0;
  long reported_ = 0;
  std::string broken_;
};

// One case in full: the texts, the verdicts, and each run.
int showOne(const Options& o) {
  Bench bench(o.server, o.peer);
  for (const Trial& t : bench.runBatch(o.seed, o.only, 1)) {
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
  return 0;
}

int onServer(Options o, const std::string& conninfo) {
  o.server = conninfo;
  Database keeper(o.server);
  keeper.createAll();
  keeper.holdRows();
  return o.has_only ? showOne(o) : Run(o).go();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Random statements: what pglocklint says against what PostgreSQL does"};
  app.add_option("--peer", o.peer, "the analyzer's side (evaluation_peer)")->required();
  app.add_option("--server", o.server, "libpq connection string of a server to use (it gets the schemas few, usual, shuffled, held and shadow); "
                                       "without it, throw-away servers");
  app.add_option("--major", o.major, "only on this major version");
  app.add_option("--seed", o.seed);
  app.add_option("--count", o.count, "statements for each server; 0: without end");
  const CLI::Option* only = app.add_option("--only", o.only, "show this case in full");
  app.add_option("--jobs", o.jobs);
  app.add_option("--most", o.most, "contradictions to shrink and print");
  app.add_flag("--progress", o.show);
  app.add_flag("--no-mix", o.no_mix, "do not judge the mix");
  CLI11_PARSE(app, argc, argv);
  o.has_only = only->count() > 0;
  try {
    if (!o.server.empty()) return onServer(o, o.server);
    if (const int status = pglocklint::oracle::statusWithoutServers()) return status;
    int worst = 0, used = 0;
    for (const auto& server : pglocklint::oracle::testServers()) {
      if (o.major && server->major() != o.major) continue;
      ++used;
      worst = std::max(worst, onServer(o, server->conninfo()));
    }
    if (!used) fmt::print(stderr, "fuzz: no PostgreSQL {} among the servers of this run (PGLOCKLINT_ALL_VERSIONS=1 for all)\n", o.major);
    return used ? worst : 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fuzz: {}\n", e.what());
    return 2;
  }
}

#include "campaign.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>

#include "choices.h"
#include "oracle/servers.h"

namespace pglocklint::differential {

std::uint64_t seedOf(std::uint64_t seed, std::uint64_t number) { return Random(seed * 0x9E3779B97F4A7C15ULL + number).next(); }

namespace {

// All cases on one server.
class Run {
 public:
  Run(const Options& options, Campaign& campaign) : options_(options), campaign_(campaign) {}

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
  std::unique_ptr<Worker> newWorker() {
    const std::lock_guard hold(mutex_);
    return campaign_.worker();
  }

  void work() {
    const std::unique_ptr<Worker> worker = newWorker();
    major_ = worker->major();
    constexpr std::size_t kBatch = 48;
    while (!stop_) {
      const std::uint64_t first = next_.fetch_add(kBatch);
      if (options_.count && first >= options_.count) break;
      const std::size_t n = options_.count ? static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, options_.count - first)) : kBatch;
      for (const std::uint64_t number : worker->run(first, n)) contradicted(*worker, number);
      const std::lock_guard hold(mutex_);
      campaign_.collect(*worker);
      if (options_.show && campaign_.cases() / 5000 != reported_) {
        reported_ = campaign_.cases() / 5000;
        fmt::print(stderr, "… {} cases, {} contradicted\n", campaign_.cases(), contradicted_.size());
      }
    }
  }

  void contradicted(Worker& worker, std::uint64_t number) {
    {
      const std::lock_guard hold(mutex_);
      contradicted_.insert(number);
      if (shrunk_ >= options_.most) return;
      ++shrunk_;
    }
    const Fixture small = worker.smallest(number);
    const std::lock_guard hold(mutex_);
    if (!texts_.insert(small.text).second) {
      --shrunk_;
      return;
    }
    fmt::print("-- seed {}, case {}, PostgreSQL {}\n{}{}\n", options_.seed, number, worker.major(), small.heading, small.text);
    std::fflush(stdout);
  }

  int report() const {
    fmt::print("PostgreSQL {}, seed {}: {}", major_.load(), options_.seed, campaign_.report());
    fmt::print("contradicted: {}\n", contradicted_.size());
    const std::string complaint = options_.no_mix ? "" : campaign_.complaint();
    if (!complaint.empty()) fmt::print("the mix is not what it should be:\n{}", complaint);
    return contradicted_.empty() && complaint.empty() ? 0 : 1;
  }

  const Options& options_;
  Campaign& campaign_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> major_{0};
  std::mutex mutex_;
  std::set<std::uint64_t> contradicted_;
  std::set<std::string> texts_;
  std::size_t shrunk_ = 0;
  long reported_ = 0;
  std::string broken_;
};

}  // namespace

int runCampaign(int argc, char** argv, const char* title, const std::function<std::unique_ptr<Campaign>(const Options&)>& begin) {
  Options o;
  CLI::App app{title};
  app.add_option("--peer", o.peer, "the analyzer's side (evaluation_peer)")->required();
  app.add_option("--server", o.server, "libpq connection string of a server to use, which is written to; without it, throw-away servers");
  app.add_option("--major", o.major, "only on this major version");
  app.add_option("--seed", o.seed);
  app.add_option("--count", o.count, "cases for each server; 0: without end");
  const CLI::Option* only = app.add_option("--only", o.only, "show this case in full");
  app.add_option("--jobs", o.jobs);
  app.add_option("--most", o.most, "contradictions to shrink and print");
  app.add_flag("--progress", o.show);
  app.add_flag("--no-mix", o.no_mix, "do not judge the mix");
  CLI11_PARSE(app, argc, argv);
  o.has_only = only->count() > 0;
  const auto onServer = [&](const std::string& conninfo) {
    Options here = o;
    here.server = conninfo;
    const std::unique_ptr<Campaign> campaign = begin(here);
    if (!o.has_only) return Run(here, *campaign).go();
    campaign->worker()->show(o.only);
    return 0;
  };
  try {
    if (!o.server.empty()) return onServer(o.server);
    if (const int status = oracle::statusWithoutServers()) return status;
    int worst = 0, used = 0;
    for (const auto& server : oracle::testServers()) {
      if (o.major && server->major() != o.major) continue;
      ++used;
      worst = std::max(worst, onServer(server->conninfo()));
    }
    if (!used) fmt::print(stderr, "fuzz: no PostgreSQL {} among the servers of this run (PGLOCKLINT_ALL_VERSIONS=1 for all)\n", o.major);
    return used ? worst : 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fuzz: {}\n", e.what());
    return 2;
  }
}

}  // namespace pglocklint::differential

// What the fuzzers share: options, servers, threads, and what is printed. A campaign knows its cases.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pglocklint::differential {

struct Options {
  std::uint64_t seed = 1, count = 0, only = 0;
  bool has_only = false, show = false, no_mix = false;
  int major = 0;
  std::string server, peer;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::size_t most = 20;  // contradictions that are shrunk and printed
};

// A contradicted case, as small as it gets.
struct Fixture {
  std::string heading;  // comments: what was said, what happened
  std::string text;
};

// One thread's connection and analyzer.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual int major() const = 0;
  // Cases first … first+count-1 of the seed. Returns the numbers of those that are contradicted.
  virtual std::vector<std::uint64_t> run(std::uint64_t first, std::size_t count) = 0;
  // Of a contradicted case of the last run().
  virtual Fixture smallest(std::uint64_t number) = 0;
  // One case in full, on standard output.
  virtual void show(std::uint64_t number) = 0;
};

// What is done on one server.
class Campaign {
 public:
  virtual ~Campaign() = default;
  virtual std::unique_ptr<Worker> worker() = 0;
  // Takes over the worker's counts since the last time. Never called by two threads at once.
  virtual void collect(Worker& worker) = 0;
  virtual long cases() const = 0;
  virtual std::string report() const = 0;
  // What is wrong with the mix of cases; nothing if it is as it should be.
  virtual std::string complaint() const = 0;
};

// main() of a fuzzer. `begin` prepares the server that Options::server names.
int runCampaign(int argc, char** argv, const char* title, const std::function<std::unique_ptr<Campaign>(const Options&)>& begin);

// The seed of a case.
std::uint64_t seedOf(std::uint64_t seed, std::uint64_t number);

}  // namespace pglocklint::differential

// PostgreSQL servers for tests: which are installed, and throw-away clusters of them.
//
// A program that tests against PostgreSQL takes `testServers()`: the versions of this run, each started once and shared by all its
// tests (a test makes a database of its own if it must be alone). They are gone when the program ends, however it ends.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace pglocklint::oracle {

struct ServerProgram {
  int major = 0;
  std::string version;        // "15.20"
  std::filesystem::path bin;  // folder with postgres and initdb
};

// One of each major version, oldest first: the distribution's (/usr/lib/postgresql/N/bin), those that scripts/setup --tests put into
// build/postgres/N/bin, and the folders in PGLOCKLINT_POSTGRES (separated by colons; they go before the others).
std::vector<ServerProgram> installedServers();

// Those of this run: the distribution's (or the oldest, if it has none) and the newest; all of them if PGLOCKLINT_ALL_VERSIONS is set.
std::vector<ServerProgram> serversOfThisRun();

class TestServer {
 public:
  // Starts a cluster; settings are "NAME=VALUE". Returns at once: `wait` for it. Both throw std::runtime_error with what the server said.
  explicit TestServer(ServerProgram program, const std::vector<std::string>& settings = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  void wait();

  int major() const { return program_.major; }
  const ServerProgram& program() const { return program_; }
  const std::filesystem::path& folder() const { return folder_; }  // holds the socket; port 5432
  std::string conninfo(const std::string& database = "postgres") const;

 private:
  ServerProgram program_;
  std::filesystem::path folder_;
  pid_t supervisor_ = -1;  // pg_testserver
  int keep_ = -1;          // its standard input: it stops the server when this closes
  int answer_ = -1;        // its standard output
};

// The servers of this run, started at the first call. Empty if none is installed.
const std::vector<std::unique_ptr<TestServer>>& testServers();

// For main(): 0 if there are servers. Without any: 1 where the environment says CI, else 77, which ctest counts as skipped; it says
// so on stderr.
int statusWithoutServers();

}  // namespace pglocklint::oracle

// The pairs of paths of fixtures/projects/parcels, live. Both paths of a pair run to where they hold their first lock: there each works on
// a table that an observer keeps locked. When the server says that both wait, the observer lets go, and each goes for its second lock. The
// two that pglocklint reports end in a deadlock; the others, which only look like that, end well.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "oracle/servers.h"
#include "oracle/session.h"
#include "support/process.h"

using namespace pglocklint::oracle;
namespace test = pglocklint::test;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

const fs::path kProject = fs::path(PGLOCKLINT_SOURCE_DIR) / "fixtures/projects/parcels";

struct Gate {
  std::string database, tables;
};
struct Pair {
  const char* title;
  std::vector<std::string> one, other;  // what the driver is told
  std::vector<Gate> gates;
  bool deadlock;
};

const std::vector<Pair> kPairs{
    {"across languages", {"SELECT book(2, 1)"}, {"reassign", "1", "2"}, {{"parcels", "customer, depot"}}, true},
    {"through two wrappers", {"closeMonth", "3", "4"}, {"refund", "4", "3"}, {{"parcels", "month, account"}}, true},
    {"shared locks", {"SELECT quote(1)"}, {"offer", "1", "0"}, {{"parcels", "tariff, timetable"}}, false},
    {"a lock above both", {"SELECT assign_vehicle(1, 2)"}, {"SELECT swap_driver(2, 1)"}, {{"parcels", "vehicle, driver"}}, false},
    {"a try", {"SELECT print_label(1, 2)"}, {"weigh", "2", "1"}, {{"parcels", "device"}}, false},
    {"a proven order", {"SELECT transfer(1, 2, 50)"}, {"rebook", "2", "1"}, {{"parcels", "account"}}, false},
    {"held already", {"SELECT move_parcel(1, 2)"}, {"shelve", "1", "2"}, {{"parcels", "parcel"}}, false},
    {"different databases", {"rebuildIndex", "0", "0"}, {"sweepBoxes", "0", "0"}, {{"parcels_index", "entry"}, {"parcels_boxes", "box"}}, false},
};

// One run of the driver, as a session that the server knows by name.
class Run {
 public:
  Run(const std::string& name, const TestServer& server, const fs::path& program, const std::vector<std::string>& words) : name_(name) {
    std::vector<std::string> command{"/usr/bin/env", "PGHOST=" + server.folder().string(), "PGPORT=5432", "PGUSER=postgres", "PGDATABASE=parcels",
                                     "PGAPPNAME=" + name, "PGOPTIONS=-c deadlock_timeout=20ms", program.string()};
    command.insert(command.end(), words.begin(), words.end());
    outcome_ = std::async(std::launch::async, [command = std::move(command), folder = program.parent_path()] { return test::run(command, folder); });
  }

  // Whether it has come to wait for another session, and not to its end.
  bool waits(Session& observer) {
    const std::string question = "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + name_ + "' AND cardinality(pg_blocking_pids(pid)) > 0";
    for (int tries = 0; tries < 12000; ++tries) {
      if (observer.must(question).value() != "0") return true;
      if (outcome_.wait_for(5ms) == std::future_status::ready) return false;
    }
    return false;
  }

  std::string end() {
    const test::Outcome done = outcome_.get();
    return done.out + done.err;
  }

 private:
  std::string name_;
  std::future<test::Outcome> outcome_;
};

fs::path compiledDriver(const fs::path& folder) {
  const fs::path program = folder / "parcels";
  const test::Outcome done = test::run({CXX_COMPILER, "-std=c++17", "-w", "-I", kProject.string(),
                                        (fs::path(PGLOCKLINT_SOURCE_DIR) / "tests/oracle/cpp/parcels.cpp").string(), "-o", program.string(), "-lpqxx", "-lpq"}, folder);
  REQUIRE_MESSAGE(done.status == 0, done.err);
  return program;
}

void createDatabases(const TestServer& server) {
  Session postgres(server.conninfo());
  for (const char* name : {"parcels", "parcels_index", "parcels_boxes"}) postgres.must("CREATE DATABASE " + std::string(name));
  Session parcels(server.conninfo("parcels"));
  for (const char* file : {"schema.sql", "functions.sql"})
    for (const char* service : {"booking", "billing", "depot"}) parcels.must(test::readFile(kProject / service / "db" / file));
  Session(server.conninfo("parcels_index")).must("CREATE TABLE entry (box int, built boolean)");
  Session(server.conninfo("parcels_boxes")).must("CREATE TABLE box (empty boolean, swept boolean)");
}

}  // namespace

TEST_CASE("of the paths that lock in opposite order, two pairs end in a deadlock and six do not") {
  const test::TemporaryFolder folder;
  const fs::path program = compiledDriver(folder.path());
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    createDatabases(*server);
    Session observer(server->conninfo());
    for (const Pair& pair : kPairs) {
      CAPTURE(pair.title);
      std::vector<Session> gates;
      for (const Gate& gate : pair.gates) {
        gates.emplace_back(server->conninfo(gate.database));
        gates.back().must("BEGIN");
        gates.back().must("LOCK TABLE " + gate.tables);
      }
      Run one("one", *server, program, pair.one);
      CHECK(one.waits(observer));
      Run other("other", *server, program, pair.other);
      CHECK(other.waits(observer));
      for (Session& gate : gates) gate.must("ROLLBACK");
      std::vector<std::string> ends{one.end(), other.end()};
      std::ranges::sort(ends);
      CHECK(ends == (pair.deadlock ? std::vector<std::string>{"40P01\n", "returned\n"} : std::vector<std::string>{"returned\n", "returned\n"}));
    }
  }
}

// The servers themselves: they answer, they are alone, and they go away with their user.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "oracle/servers.h"
#include "oracle/session.h"

using namespace pglocklint::oracle;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

bool gone(const fs::path& folder) {
  for (int tries = 0; tries < 400 && fs::exists(folder); ++tries) std::this_thread::sleep_for(25ms);
  return !fs::exists(folder);
}

}  // namespace

TEST_CASE("each version of this run answers, and has no network address") {
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    Session session(server->conninfo());
    CHECK(session.major() == server->major());
    CHECK(session.must("SHOW listen_addresses").value() == "");
    CHECK(session.must("SHOW fsync").value() == "off");
    CHECK(server->folder().string().size() + std::string("/.s.PGSQL.5432").size() <= 107);
  }
}

TEST_CASE("a session sees errors, NULLs, notices, and waits") {
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    Session one(server->conninfo()), two(server->conninfo()), observer(server->conninfo());
    CHECK(one.run("SELECT 1/0").sqlstate == "22012");
    CHECK(one.must("SELECT NULL::int").value() == std::nullopt);
    CHECK(one.run("SELECT $1::int + 1", {Cell("41")}).value() == "42");
    one.must("SELECT pg_advisory_unlock(5)");
    const auto notices = one.takeNotices();
    REQUIRE(notices.size() == 1);
    CHECK(notices.front().find("you don't own a lock of type ExclusiveLock") != std::string::npos);

    one.must("BEGIN");
    CHECK(one.transactionStatus() == 'T');
    one.must("SELECT pg_advisory_xact_lock(-7), pg_advisory_lock_shared(-1, 2)");
    CHECK(one.advisoryLocks(observer) == std::vector<std::string>{"bigint -7 exclusive", "pair (-1, 2) share"});
    two.send("SELECT pg_advisory_lock(-7)");
    CHECK(two.settled(observer) == Session::Settled::Waits);
    CHECK(two.advisoryLocks(observer) == std::vector<std::string>{"bigint -7 exclusive waiting"});
    one.must("COMMIT");
    CHECK(two.settled(observer) == Session::Settled::Ended);
    CHECK(two.finish().ok());
    CHECK(one.advisoryLocks(observer) == std::vector<std::string>{"pair (-1, 2) share"});
  }
}

TEST_CASE("a server goes with the test that started it, also if that is killed") {
  const ServerProgram program = serversOfThisRun().front();
  fs::path folder;
  SUBCASE("the object ends") {
    TestServer server(program);
    server.wait();
    folder = server.folder();
    CHECK(fs::exists(folder));
  }
  SUBCASE("the process is killed") {
    int told[2];
    REQUIRE(pipe(told) == 0);
    const pid_t child = fork();
    if (child == 0) {
      TestServer server(program);
      server.wait();
      const std::string name = server.folder().string() + "\n";
      if (write(told[1], name.data(), name.size()) < 0) _exit(1);
      pause();
      _exit(0);
    }
    std::string name;
    for (char c = 0; read(told[0], &c, 1) == 1 && c != '\n';) name += c;
    folder = name;
    REQUIRE(fs::exists(folder / "data/postmaster.pid"));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(told[0]);
    close(told[1]);
  }
  CHECK(gone(folder));
}

TEST_CASE("a server that cannot start says so") {
  TestServer server(serversOfThisRun().front(), {"max_connections=none"});
  CHECK_THROWS_WITH_AS(server.wait(), doctest::Contains("invalid value for parameter \"max_connections\""), std::runtime_error);
}

// AL306, session-lock-with-transaction-pooler, and AL308, lock-on-different-connection, on a live pooler: isolation tests know none.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "oracle/pgbouncer.h"
#include "oracle/session.h"
#include "support/check.h"

using namespace pglocklint::oracle;
namespace test = pglocklint::test;

namespace {

int advisoryLocks(Session& direct, int key = 7306) {
  return std::stoi(*direct.must("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = " + std::to_string(key)).value());
}

// Another client keeps the first server connection busy, so that the next transaction of ours gets the second.
struct Busy {
  explicit Busy(Session& client) : client_(client) { client_.must("BEGIN"), client_.must("SELECT 1"); }
  ~Busy() { client_.run("COMMIT"); }
  Session& client_;
};

}  // namespace

TEST_CASE("a session lock stays behind on another server connection of a pooler in transaction mode") {
  REQUIRE_MESSAGE(!pgbouncerProgram().empty(), "pgbouncer is not installed (scripts/setup --tests)");
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    const Pgbouncer pooler(*server, "transaction", 2);
    Session direct(server->conninfo());
    {
      Session client(pooler.conninfo()), other(pooler.conninfo());
      client.must("SELECT pg_advisory_lock(7306)");
      const Busy busy(other);
      CHECK(client.must("SELECT pg_advisory_unlock(7306)").value() == "f");
      CHECK(client.takeNotices().size() == 1);  // "you don't own a lock of type ExclusiveLock"
      CHECK(advisoryLocks(direct) == 1);
    }
    CHECK(advisoryLocks(direct) == 1);  // the clients are gone, the lock is not
    Session next(pooler.conninfo());
    // Whoever gets that connection is granted the lock again: it excludes nobody.
    CHECK(next.must("SELECT pg_try_advisory_lock(7306)").value() == "t");
  }
}

TEST_CASE("the transaction form goes with the transaction, over the pooler too; a pooler in session mode keeps sessions whole") {
  REQUIRE_MESSAGE(!pgbouncerProgram().empty(), "pgbouncer is not installed (scripts/setup --tests)");
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    Session direct(server->conninfo());
    direct.must("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
    for (int tries = 0; tries < 200 && advisoryLocks(direct) > 0; ++tries) direct.must("SELECT pg_sleep(0.02)");
    {
      const Pgbouncer pooler(*server, "transaction", 2);
      Session client(pooler.conninfo()), other(pooler.conninfo());
      client.must("BEGIN");
      client.must("SELECT pg_advisory_xact_lock(7306)");
      const Busy busy(other);
      CHECK(advisoryLocks(direct) == 1);
      client.must("COMMIT");
      CHECK(advisoryLocks(direct) == 0);
    }
    const Pgbouncer pooler(*server, "session", 2);
    Session client(pooler.conninfo()), other(pooler.conninfo());
    client.must("SELECT pg_advisory_lock(7306)");
    const Busy busy(other);
    CHECK(client.must("SELECT pg_advisory_unlock(7306)").value() == "t");
    CHECK(advisoryLocks(direct) == 0);
  }
}

TEST_CASE("over a pooler in transaction mode a lock outlives its client, and the next client cannot release it") {
  REQUIRE_MESSAGE(!pgbouncerProgram().empty(), "pgbouncer is not installed (scripts/setup --tests)");
  const std::string lock = "SELECT pg_advisory_lock(7308)", work = "CREATE TABLE IF NOT EXISTS rebuilt (at timestamptz)", unlock = "SELECT pg_advisory_unlock(7308)";
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    const Pgbouncer pooler(*server, "transaction", 2);
    Session direct(server->conninfo()), other(pooler.conninfo());
    Session(pooler.conninfo()).must(lock);  // each process of psql is a client of its own
    CHECK(advisoryLocks(direct, 7308) == 1);
    const Busy busy(other);
    Session(pooler.conninfo()).must(work);
    CHECK(Session(pooler.conninfo()).must(unlock).value() == "f");
    CHECK(advisoryLocks(direct, 7308) == 1);
  }
  // What pglocklint says of the same statements.
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "pgbouncer.ini") << "[databases]\napp = host=db port=5432 dbname=postgres\n[pgbouncer]\nlisten_port = 6432\npool_mode = transaction\n";
  std::ofstream script(folder.path() / "rebuild.sh");
  script << "#!/bin/sh\n";
  for (const std::string& statement : {lock, work, unlock}) script << "psql -h pool -p 6432 -d app -c \"" << statement << "\"\n";
  script.close();
  const auto says = [&](const std::vector<std::string>& what, const char* rule) {
    const test::CheckRun run = test::check(folder.path(), what);
    CHECK_MESSAGE(std::ranges::any_of(run.findings, [&](const test::Reported& f) { return f.rule == rule; }), rule, ": ", run.outcome.out, run.outcome.err);
  };
  says({"."}, "session-lock-with-transaction-pooler");
  says({"--disable", "session-lock-with-transaction-pooler", "."}, "lock-on-different-connection");  // of the two the first reports
}

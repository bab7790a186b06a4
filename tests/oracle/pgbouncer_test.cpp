// AL306, session-lock-with-transaction-pooler, on a live pooler: isolation tests know none.
#include <doctest/doctest.h>

#include "oracle/pgbouncer.h"
#include "oracle/session.h"

using namespace pglocklint::oracle;

namespace {

int advisoryLocks(Session& direct) {
  return std::stoi(*direct.must("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7306").value());
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

// Statements as events.
#include <doctest/doctest.h>

#include "lower_show.h"

namespace pglocklint::sql {

using show::Sample;

namespace {

std::string events(std::string_view sql) {
  const Sample s{std::string(sql)};
  if (!s.parsed.error.empty()) return s.parsed.error;
  std::string all;
  for (std::size_t i = 0; i < s.parsed.events.size(); ++i) all += (i ? "; " : "") + show::event(s.parsed, i);
  return all;
}

}  // namespace

TEST_CASE("what runs its query, and what does not") {
  CHECK(events("SELECT 1") == "query (select 1)");
  CHECK(events("EXPLAIN SELECT 1") == "explain (select 1)");
  CHECK(events("EXPLAIN (VERBOSE, ANALYZE false) SELECT 1") == "explain (select 1)");
  CHECK(events("EXPLAIN ANALYZE SELECT 1") == "explain-analyze (select 1)");
  CHECK(events("EXPLAIN (ANALYZE, BUFFERS) DELETE FROM t") == "explain-analyze (delete t)");
  CHECK(events("PREPARE p (bigint) AS SELECT f($1)") == "prepare p (select (f $1))");
  CHECK(events("EXECUTE p (1, g())") == "execute p 1 (g)");
  CHECK(events("DEALLOCATE p") == "utility [DEALLOCATE]");
  CHECK(events("CALL app.work(1)") == "call (app.work 1)");
  CHECK(events("COPY (SELECT f() FROM t) TO STDOUT") == "copy (select (f) (from t))");
  CHECK(events("COPY t FROM STDIN") == "utility [COPY]");
}

TEST_CASE("cursors") {
  CHECK(events("DECLARE c CURSOR FOR SELECT f() FROM t") == "declare-cursor c (select (f) (from t))");
  CHECK(events("DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT 1") == "declare-cursor c hold (select 1)");
  CHECK(events("FETCH c") == "fetch c 1");
  CHECK(events("FETCH 10 FROM c") == "fetch c 10");
  CHECK(events("FETCH ALL c") == "fetch c -1");
  CHECK(events("FETCH LAST c") == "fetch c -1");
  CHECK(events("FETCH BACKWARD 3 FROM c") == "fetch c 3 backward");
  CHECK(events("FETCH PRIOR FROM c") == "fetch c 1 backward");
  for (const char* skipping : {"FETCH ABSOLUTE 5 c", "FETCH RELATIVE 3 c", "FETCH LAST c"}) CHECK(Sample(skipping).statement().fetch_skips);
  for (const char* next : {"FETCH c", "FETCH FIRST c", "FETCH RELATIVE 1 c", "FETCH 5 c"}) CHECK_FALSE(Sample(next).statement().fetch_skips);
  CHECK(events("MOVE FORWARD ALL IN c") == "move c -1");
  CHECK(events("CLOSE c") == "close-cursor c");
  CHECK(events("CLOSE ALL") == "close-cursor");
}

TEST_CASE("queries that make tables") {
  CHECK(events("CREATE TABLE x AS SELECT f() FROM t") == "create-table-as (select (f) (from t))");
  CHECK(events("CREATE TEMP TABLE x AS SELECT f() FROM t WITH NO DATA") == "create-table-as no-data (select (f) (from t))");
  CHECK(events("SELECT f() INTO x FROM t") == "create-table-as (select (f) (from t))");
  CHECK(events("CREATE MATERIALIZED VIEW v AS SELECT f() AS a") == "ddl create-view; create-table-as (select a:(f))");
  CHECK(events("REFRESH MATERIALIZED VIEW v") == "utility v [REFRESH MATERIALIZED VIEW]");
  const Sample s("CREATE TABLE x AS SELECT 1 LIMIT 3 WITH NO DATA");
  CHECK(s.at(s.query().range) == "SELECT 1 LIMIT 3");
  CHECK(s.at(s.query().limit_range) == "LIMIT 3");
}

TEST_CASE("transactions") {
  CHECK(events("BEGIN") == "begin");
  CHECK(events("START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY") == "begin repeatable read");
  CHECK(events("BEGIN ISOLATION LEVEL SERIALIZABLE") == "begin serializable");
  CHECK(events("COMMIT") == "commit");
  CHECK(events("END") == "commit");
  CHECK(events("COMMIT AND CHAIN") == "commit chain");
  CHECK(events("ABORT") == "rollback");
  CHECK(events("ROLLBACK AND NO CHAIN") == "rollback");
  CHECK(events("SAVEPOINT a") == "savepoint a");
  CHECK(events("ROLLBACK TO SAVEPOINT a") == "rollback-to a");
  CHECK(events("RELEASE a") == "release a");
  CHECK(events("PREPARE TRANSACTION 'x'") == "prepare-transaction x");
  CHECK(events("COMMIT PREPARED 'x'") == "commit-prepared x");
  CHECK(events("ROLLBACK PREPARED 'x'") == "rollback-prepared x");
  CHECK(events("SET TRANSACTION ISOLATION LEVEL READ COMMITTED") == "set-transaction read committed");
}

TEST_CASE("settings") {
  CHECK(events("SET lock_timeout = '5s'") == "session lock_timeout=5s");
  CHECK(events("SET LOCAL statement_timeout TO 0") == "local statement_timeout=0");
  CHECK(events("SET app.tenant = 42") == "session app.tenant=42");
  CHECK(events("RESET lock_timeout") == "reset lock_timeout=");
  CHECK(events("SET lock_timeout TO DEFAULT") == "reset lock_timeout=");
  CHECK(events("RESET ALL") == "reset all=");
  CHECK(events("SET search_path = a, \"B\", public") == "session search_path=a, B, public; ddl set-search-path");
  CHECK(events("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE") ==
        "session default_transaction_isolation=serializable");
  CHECK(events("DISCARD ALL") == "discard-all");
  CHECK(events("DISCARD PLANS") == "utility [DISCARD PLANS]");
}

TEST_CASE("other statements keep their head") {
  CHECK(events("VACUUM t") == "utility [VACUUM]");
  CHECK(events("LOCK TABLE t IN EXCLUSIVE MODE") == "utility [LOCK TABLE]");
  CHECK(events("GRANT SELECT ON t TO u") == "utility [GRANT SELECT ON]");
  CHECK(events("CREATE UNLOGGED TABLE t (a int)") == "ddl create-table");
  CHECK(Sample("  CREATE   TABLE x AS SELECT 1").statement().head == "CREATE TABLE");
  CHECK(Sample("update jobs set a = 1").statement().head == "UPDATE");
}

TEST_CASE("a DO block hands on its body") {
  const Sample s("DO LANGUAGE plpgsql $body$\nBEGIN\n  PERFORM 1;\nEND $body$");
  REQUIRE(s.parsed.bodies.size() == 1);
  const auto& body = s.parsed.bodies[0];
  CHECK(body.language == "plpgsql");
  CHECK(body.text.text() == "\nBEGIN\n  PERFORM 1;\nEND ");
  CHECK(s.text.text().substr(body.text.toFile(9), 7) == "PERFORM");
  CHECK(s.statement().kind == StatementKind::Do);
  CHECK(s.statement().function == body.function);
  CHECK(s.parsed.functions.at(0).kind == FunctionKind::DoBlock);
  CHECK(s.at(s.parsed.functions[0].body_range) == body.text.text());
}

TEST_CASE("a lock call is noticed where it is one, and only there") {
  CHECK(Sample("SELECT pg_advisory_lock(1)").parsed.has_locks);
  CHECK(Sample("SELECT PG_Catalog.Pg_Try_Advisory_Lock(1)").parsed.has_locks);
  CHECK(Sample("CREATE RULE r AS ON INSERT TO t DO ALSO SELECT pg_advisory_lock(1)").parsed.has_locks);
  CHECK_FALSE(Sample("SELECT app.pg_advisory_lock(1)").parsed.has_locks);
  CHECK_FALSE(Sample("SELECT 'pg_advisory_lock(1)' /* pg_advisory_lock(1) */").parsed.has_locks);
  CHECK_FALSE(Sample("CREATE FUNCTION pg_advisory_lock(int) RETURNS int LANGUAGE sql AS 'select 1'").parsed.has_locks);
}

}  // namespace pglocklint::sql

// What ends a lock, and what does not, at the end of short scripts and functions: the lock state seen by a probe, a call on key 999.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "program/lock_state.h"
#include "program/program.h"
#include "sql/front_end.h"
#include "sql/pg_parse.h"

namespace {

using namespace pglocklint;

struct Task {
  std::string text;
  std::string held;
};

std::string text(const Hold& h, const KeyTable& keys) {
  std::string out = keys.at(h.key).class_text;
  std::erase_if(out, [](char c) { return c == '(' || c == ')'; });
  if (h.lo > 0) out += " session";
  if (h.must != 0) out += " transaction";
  return h.mustHold() ? out : h.mayHold() ? out + " maybe" : "";
}

void look(void* p) {
  Task& t = *static_cast<Task*>(p);
  std::vector<Unit> units;
  units.push_back(sql::readSql(sql::scanFile("probe.sql", t.text), true));
  const Program program = link(std::move(units));
  for (const LockEvent& e : program.locks->events) {
    if (e.key == kUnknownKey || program.locks->keys.at(e.key).class_text.find("999") == std::string::npos) continue;
    for (const LockState& s : e.before)
      for (const Hold& h : s.holds)
        if (const std::string one = text(h, program.locks->keys); !one.empty()) t.held += (t.held.empty() ? "" : ", ") + one;
  }
}

std::string heldIn(const std::string& text) {
  Task t{text, ""};
  sql::runOnLargeStack(look, &t);
  return t.held;
}

std::string heldAfter(const std::string& script) { return heldIn(script + "; SELECT pg_try_advisory_lock_shared(999)"); }

}  // namespace

TEST_CASE("COMMIT and ROLLBACK end transaction locks and no session lock") {
  CHECK(heldAfter("BEGIN; SELECT pg_advisory_lock(1); SELECT pg_advisory_xact_lock(2)") == "1 session, 2 transaction");
  CHECK(heldAfter("BEGIN; SELECT pg_advisory_lock(1); SELECT pg_advisory_xact_lock(2); COMMIT") == "1 session");
  CHECK(heldAfter("BEGIN; SELECT pg_advisory_lock(1); SELECT pg_advisory_xact_lock(2); ROLLBACK") == "1 session");
  CHECK(heldAfter("BEGIN; SELECT pg_advisory_xact_lock(2); SELECT pg_advisory_unlock(2)") == "2 transaction");
}

TEST_CASE("ROLLBACK TO releases what was taken since the savepoint") {
  CHECK(heldAfter("BEGIN; SELECT pg_advisory_xact_lock(1); SAVEPOINT s; SELECT pg_advisory_xact_lock(2); ROLLBACK TO s") == "1 transaction");
  CHECK(heldAfter("BEGIN; SAVEPOINT s; SELECT pg_advisory_lock(1); SELECT pg_advisory_xact_lock(2); ROLLBACK TO s") == "1 session");
  CHECK(heldAfter("BEGIN; SAVEPOINT s; SELECT pg_advisory_xact_lock(2); RELEASE s") == "2 transaction");
}

TEST_CASE("an error that leads to a handler has released the locks of its block") {
  const auto handler = [](const std::string& before, const std::string& inside) {
    return heldIn("CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN " + before + " BEGIN " + inside +
                  " UPDATE t SET a = 1; EXCEPTION WHEN unique_violation THEN PERFORM pg_try_advisory_lock_shared(999); END; END $$");
  };
  CHECK(handler("PERFORM pg_advisory_xact_lock(1);", "PERFORM pg_advisory_xact_lock(2);") == "1 transaction");
  CHECK(handler("", "PERFORM pg_advisory_lock(2);") == "2 session");
}

TEST_CASE("DISCARD ALL releases session locks, RESET ALL and CLOSE ALL do not") {
  CHECK(heldAfter("SELECT pg_advisory_lock(1); DISCARD ALL") == "");
  CHECK(heldAfter("SELECT pg_advisory_lock(1); RESET ALL") == "1 session");
  CHECK(heldAfter("SELECT pg_advisory_lock(1); CLOSE ALL; DISCARD PLANS") == "1 session");
}

TEST_CASE("a release of what is not held does nothing, whoever calls") {
  const std::string unlock = "DO $$ BEGIN PERFORM pg_advisory_unlock(1); END $$; ";
  CHECK(heldAfter(unlock + "SELECT pg_advisory_lock(1)") == "1 session");
  CHECK(heldAfter("DO $$ BEGIN PERFORM pg_advisory_unlock(1); PERFORM pg_advisory_lock(1); END $$") == "1 session");
  CHECK(heldAfter("SELECT pg_advisory_lock(1); SELECT pg_advisory_lock(1); " + unlock) == "1 session");
  CHECK(heldAfter("SELECT pg_advisory_lock(1); " + unlock) == "");
}

TEST_CASE("pg_advisory_unlock_all in a routine releases what its caller holds, on the ways that come by it") {
  CHECK(heldAfter("SELECT pg_advisory_lock(1); SELECT pg_advisory_lock(1); DO $$ BEGIN PERFORM pg_advisory_lock(1); PERFORM pg_advisory_unlock_all(); "
                  "PERFORM pg_advisory_lock(2); END $$") == "2 session");
  CHECK(heldAfter("CREATE FUNCTION f(b boolean) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF b THEN PERFORM pg_advisory_unlock_all(); END IF; END $$; "
                  "SELECT pg_advisory_lock(1); SELECT f(false)") == "1 session");
}

TEST_CASE("a procedure ends the transaction on the ways that come by its COMMIT") {
  const std::string procedure = "CREATE PROCEDURE p(b boolean) LANGUAGE plpgsql AS $$ BEGIN IF b THEN RETURN; END IF; COMMIT; PERFORM pg_advisory_unlock(3); END $$; ";
  CHECK(heldAfter(procedure + "BEGIN; SELECT pg_advisory_xact_lock(1); CALL p(true)") == "1 transaction");
  const std::string outer = "CREATE PROCEDURE q() LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); CALL p(false); PERFORM pg_try_advisory_lock_shared(999); END $$";
  CHECK(heldIn(procedure + outer).find("1 transaction") == 0);
}

TEST_CASE("statements that \\; joins share a transaction") {
  CHECK(heldIn("SELECT pg_advisory_xact_lock(1) \\; SELECT pg_try_advisory_lock_shared(999)") == "1 transaction");
  CHECK(heldIn("SELECT pg_advisory_xact_lock(1) \\; COMMIT \\; SELECT pg_try_advisory_lock_shared(999)") == "");
  CHECK(heldAfter("SELECT pg_advisory_xact_lock(1) \\; SELECT 1") == "1 maybe");
}

TEST_CASE("where it is not known whether a transaction is open, its locks may be gone") {
  CHECK(heldAfter("SELECT pg_advisory_xact_lock(1)") == "1 maybe");
}

TEST_CASE("a prepared statement runs where it is executed, with the arguments given there") {
  CHECK(heldAfter("PREPARE q AS SELECT pg_advisory_lock(1)") == "");
  CHECK(heldAfter("PREPARE q AS SELECT pg_advisory_lock(1); EXECUTE q") == "1 session");
  CHECK(heldAfter("PREPARE q(bigint) AS SELECT pg_advisory_lock($1); EXECUTE q(1); EXECUTE q(2)") == "1 session, 2 session");
}

TEST_CASE("a cursor takes locks when it is fetched from, for the level that has declared it; WITH HOLD at COMMIT too") {
  CHECK(heldAfter("BEGIN; DECLARE c CURSOR FOR SELECT pg_advisory_lock(1)") == "");
  CHECK(heldAfter("BEGIN; DECLARE c CURSOR FOR SELECT pg_advisory_lock(1); FETCH c") == "1 maybe");
  CHECK(heldAfter("BEGIN; DECLARE c CURSOR FOR SELECT pg_advisory_xact_lock(1); SAVEPOINT s; FETCH c; ROLLBACK TO s") == "1 maybe");
  CHECK(heldAfter("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT pg_advisory_lock(1); SELECT pg_advisory_unlock_all(); COMMIT") == "1 maybe");
}

TEST_CASE("two parameters may be one key") {
  const std::string f = "CREATE FUNCTION f(k bigint, j bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_unlock(k); PERFORM pg_advisory_lock(j); END $$; ";
  CHECK(heldAfter(f + "SELECT f(1, 1)") == "1 maybe");
  CHECK(heldAfter(f + "SELECT f(1, 2)") == "2 session");
}

TEST_CASE("a release that some condition decides on is perhaps one") {
  CHECK(heldAfter("SELECT pg_advisory_lock(1); SELECT pg_advisory_unlock(1) WHERE current_setting('app.a') = 'x'") == "1 maybe");
  CHECK(heldIn("DO $$ BEGIN PERFORM pg_advisory_unlock(1); IF NOT pg_advisory_unlock(1) THEN PERFORM pg_advisory_lock(2); "
               "PERFORM pg_try_advisory_lock_shared(999); END IF; END $$") == "2 session");
}

TEST_CASE("what a callee has done when it fails is what the handler finds") {
  const auto handler = [](const std::string& body, const std::string& condition) {
    return heldIn("CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$; "
                  "CREATE FUNCTION g() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_lock(2); "
                  "BEGIN PERFORM f(); EXCEPTION WHEN " + condition + " THEN PERFORM pg_try_advisory_lock_shared(999); END; END $$");
  };
  CHECK(handler("PERFORM pg_advisory_lock(1);", "lock_not_available") == "2 session");
  CHECK(handler("PERFORM pg_advisory_lock(1);", "unique_violation") == "");
  CHECK(handler("PERFORM pg_advisory_lock(1); UPDATE t SET a = 1; PERFORM pg_advisory_unlock(1);", "unique_violation").find("1 session") != std::string::npos);
}

TEST_CASE("timeouts follow the transaction") {
  const auto bound = [](const std::string& script) {
    struct Asked {
      std::string text;
      TimeoutValue value = TimeoutValue::Unknown;
    } asked{script + "; SELECT pg_advisory_lock(999)", {}};
    sql::runOnLargeStack(
        [](void* p) {
          Asked& a = *static_cast<Asked*>(p);
          std::vector<Unit> units;
          units.push_back(sql::readSql(sql::scanFile("probe.sql", a.text), true));
          a.value = link(std::move(units)).locks->events.back().before.front().timeouts.bound();
        },
        &asked);
    return asked.value;
  };
  CHECK(bound("SELECT 1") == TimeoutValue::Off);
  CHECK(bound("SET lock_timeout = '1s'") == TimeoutValue::On);
  CHECK(bound("SET statement_timeout = '0'") == TimeoutValue::Off);
  CHECK(bound("BEGIN; SET LOCAL lock_timeout = '1s'") == TimeoutValue::On);
  CHECK(bound("BEGIN; SET LOCAL lock_timeout = '1s'; COMMIT") == TimeoutValue::Off);
  CHECK(bound("BEGIN; SET lock_timeout = '1s'; COMMIT") == TimeoutValue::On);
  CHECK(bound("BEGIN; SET lock_timeout = '1s'; ROLLBACK") == TimeoutValue::Off);
  CHECK(bound("SET lock_timeout = '1s'; RESET lock_timeout") == TimeoutValue::Off);
  CHECK(bound("SELECT set_config('lock_timeout', '1s', false)") == TimeoutValue::On);
  CHECK(bound("SELECT set_config('lock_timeout', current_setting('app.t'), false)") == TimeoutValue::Unknown);
}

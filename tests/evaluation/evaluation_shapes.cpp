// Shapes beyond the measured table: the clause that is blamed (it decides the line a user sees), how sure the answer is, and what
// random statements against live servers taught.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "program/program.h"
#include "sql/front_end.h"
#include "sql/pg_parse.h"

namespace {

using namespace pglocklint;

const std::string kTables = R"sql(
CREATE TABLE jobs(id bigint PRIMARY KEY, kind int, state text, ts timestamptz);
CREATE INDEX jobs_kind_idx ON jobs(kind);
CREATE TABLE small(id bigint PRIMARY KEY, n int);
CREATE FUNCTION stable_lock(k bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN pg_try_advisory_lock(k); END $$;
CREATE FUNCTION frozen_lock(k bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN pg_try_advisory_lock(k); END $$;
CREATE FUNCTION sql_lock(k bigint) RETURNS boolean LANGUAGE sql AS 'SELECT pg_try_advisory_lock($1)';
CREATE VIEW locked AS SELECT id, pg_try_advisory_lock(id) AS ok FROM jobs;
)sql";

struct Seen {
  Program program;
  std::string text;
  std::vector<CallEvaluation> calls;

  const Evaluation& operator[](std::size_t i) const { return calls.at(i).evaluation; }
  std::string at(const SourceRange& r) const { return r.known() ? text.substr(r.begin, r.end - r.begin) : ""; }
  std::string blame(const Blame& b) const { return std::string(nameOf(b.cause)) + ": " + at(b.range); }
};

struct Task {
  std::string setup, text;
  Seen* out;
};

void look(void* p) {
  Task& t = *static_cast<Task*>(p);
  std::vector<Unit> units;
  units.push_back(sql::readSql(sql::scanFile("1_tables.sql", t.setup), true));
  units.push_back(sql::readSql(sql::scanFile("2_statement.sql", t.text), true));
  t.out->program = link(std::move(units));
  t.out->text = t.text;
  for (const Function& f : t.out->program.units[1].functions) {
    std::vector<CallEvaluation> found = evaluate(f, t.out->program.catalogue);
    t.out->calls.insert(t.out->calls.end(), found.begin(), found.end());
  }
}

Seen see(const std::string& text, const std::string& setup = kTables) {
  Seen out;
  Task task{setup, text, &out};
  sql::runOnLargeStack(look, &task);
  return out;
}

}  // namespace

TEST_CASE("the clause that discards rows is the one that is named") {
  const auto rows = [](const std::string& text) {
    const Seen s = see(text);
    return s.blame(s[0].rows_blame);
  };
  CHECK(rows("SELECT pg_advisory_lock(id) FROM jobs ORDER BY id LIMIT 5 OFFSET 10") == "offset: OFFSET 10");
  CHECK(rows("SELECT pg_advisory_lock(id) FROM jobs LIMIT 2 FOR UPDATE SKIP LOCKED") == "skip-locked: FOR UPDATE SKIP LOCKED");
  CHECK(rows("SELECT pg_advisory_lock(id) FROM jobs ORDER BY kind FETCH FIRST 5 ROWS WITH TIES") ==
        "with-ties: FETCH FIRST 5 ROWS WITH TIES");
  CHECK(rows("SELECT id, pg_try_advisory_lock(id) AS ok FROM jobs ORDER BY ts, ok LIMIT 1") == "order-by-call: ok");
  CHECK(rows("SELECT id FROM jobs ORDER BY pg_try_advisory_lock(id) LIMIT 1") == "order-by-call: pg_try_advisory_lock(id)");
  CHECK(rows("SELECT id FROM jobs WHERE state = 'ready' AND pg_try_advisory_lock(id)") == "other-condition: state = 'ready'");
  CHECK(rows("SELECT id FROM jobs WHERE NOT pg_try_advisory_lock(id)") == "own-condition: NOT pg_try_advisory_lock(id)");
  CHECK(rows("SELECT j.id FROM jobs j JOIN small s ON s.id = j.kind WHERE pg_try_advisory_lock(j.id)") == "join: s.id = j.kind");
  CHECK(rows("SELECT kind FROM jobs GROUP BY kind HAVING pg_try_advisory_lock(kind) AND count(*) + 1 > 5") ==
        "having: count(*) + 1 > 5");
  CHECK(rows("SELECT id, generate_series(1, 2), pg_try_advisory_lock(id) FROM jobs") ==
        "beside-set-returning: generate_series(1, 2)");
  CHECK(rows("SELECT id, (SELECT pg_advisory_lock(j.id)) FROM jobs j ORDER BY ts LIMIT 5") ==
        "hidden-volatility: (SELECT pg_advisory_lock(j.id))");
  CHECK(rows("SELECT ok FROM (SELECT id, kind, pg_try_advisory_lock(id) AS ok FROM jobs LIMIT 10) q WHERE kind = 4") ==
        "outer-condition: kind = 4");
  CHECK(rows("SELECT pg_try_advisory_lock(id) FROM jobs EXCEPT SELECT true").substr(0, 14) == "set-operation:");
  CHECK(rows("SELECT DISTINCT kind, pg_try_advisory_lock(kind) FROM jobs") == "distinct: DISTINCT");
}

TEST_CASE("where the call itself is to blame, the LIMIT is named too") {
  const Seen s = see("SELECT id, (SELECT pg_advisory_lock(j.id)) FROM jobs j ORDER BY ts LIMIT 5");
  CHECK(s.at(s[0].limit_blame.range) == "LIMIT 5");
  CHECK_FALSE(s[0].limited);
}

TEST_CASE("the reason why a call does not run is the one that is named") {
  const auto runs = [](const std::string& text, std::size_t call = 0) {
    const Seen s = see(text);
    return std::string(nameOf(s[call].runs)) + " " + s.blame(s[call].runs_blame);
  };
  CHECK(runs("WITH guard AS (SELECT pg_advisory_lock(1)) UPDATE jobs SET kind = 1") == "never unread-cte: guard");
  CHECK(runs("SELECT EXISTS (SELECT pg_advisory_lock(1))") == "never exists-select-list: EXISTS (SELECT pg_advisory_lock(1))");
  CHECK(runs("SELECT pg_try_advisory_lock(1) AND false") == "never constant-false: false");
  CHECK(runs("SELECT pg_advisory_lock(id) FROM jobs LIMIT 0") == "never limit-zero: LIMIT 0");
  CHECK(runs("SELECT pg_advisory_lock(NULL::bigint)") == "never null-key: NULL::bigint");
  CHECK(runs("SELECT pg_try_advisory_lock(1) OR pg_try_advisory_lock(2)", 1) ==
        "need-not short-circuit: pg_try_advisory_lock(1)");
  CHECK(runs("SELECT coalesce(pg_try_advisory_lock(1), pg_try_advisory_lock(2))", 1) ==
        "need-not coalesce: pg_try_advisory_lock(1)");
  CHECK(runs("SELECT 1 FROM (SELECT stable_lock(1)) q") == "never pruned-target: stable_lock(1)");
  CHECK(runs("SELECT j.id FROM jobs j LEFT JOIN small s ON s.id = j.id AND pg_try_advisory_lock(s.id)") ==
        "never removed-join: jobs j LEFT JOIN small s ON s.id = j.id AND pg_try_advisory_lock(s.id)");
  CHECK(runs("SELECT * FROM (VALUES (pg_try_advisory_lock(1)), (pg_try_advisory_lock(2))) v LIMIT 1", 1) ==
        "need-not union-arm-skipped: LIMIT 1");
}

TEST_CASE("a plain LIMIT above a select list discards nothing, but nobody promises it") {
  const Seen s = see("SELECT pg_advisory_lock(id) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 5");
  CHECK(s[0].rows == Rows::Exact);
  CHECK(s[0].limited);
  CHECK(s[0].sureness == Sureness::NotGuaranteed);
  CHECK(s.at(s[0].limit_blame.range) == "LIMIT 5");
  CHECK(s[0].order == CallOrder::Defined);
  CHECK(s[0].sorted_by_key);
  const Seen one = see("SELECT pg_advisory_lock(id) FROM jobs ORDER BY ts LIMIT 1");
  CHECK(one[0].runs == Runs::Once);
  CHECK(one[0].limited);
  const Seen inside = see("SELECT pg_advisory_lock(id) FROM (SELECT id FROM jobs ORDER BY id LIMIT 5) q");
  CHECK_FALSE(inside[0].limited);
  CHECK(inside[0].sureness == Sureness::Always);
  CHECK(inside[0].sorted_by_key);
}

TEST_CASE("who decides the order of two conditions decides how sure the answer is") {
  CHECK(see("SELECT id FROM jobs WHERE state = 'x' AND pg_try_advisory_lock(id)")[0].sureness == Sureness::Always);
  CHECK(see("SELECT id FROM jobs WHERE state <> 'x' AND pg_try_advisory_lock(id)")[0].sureness == Sureness::ByCostOrPosition);
  CHECK(see("SELECT id FROM jobs WHERE kind = 4 AND pg_try_advisory_lock(id)")[0].sureness == Sureness::ByPlan);
  // Nothing is known of the table: the key may need a cast, which would make the call dearer than the equality.
  const Seen unknown = see("SELECT id FROM nowhere WHERE state = 'x' AND pg_try_advisory_lock(id)");
  CHECK(unknown[0].rows == Rows::PlanDependent);
  CHECK(unknown[0].sureness == Sureness::ByCostOrPosition);
}

TEST_CASE("conditions without rows, and sub-selects that run once, are exact") {
  for (const char* text :
       {"SELECT 1 WHERE pg_try_advisory_lock(1)", "SELECT id FROM jobs WHERE (SELECT pg_try_advisory_lock(1)) AND state = 'x'",
        "UPDATE jobs SET kind = 1 WHERE state = 'x' AND (SELECT pg_try_advisory_xact_lock(7))"}) {
    CAPTURE(text);
    const Seen s = see(text);
    CHECK(s[0].runs == Runs::Once);
    CHECK(s[0].rows == Rows::Exact);
  }
}

TEST_CASE("a call for every row of a relation or of a constant series says of which") {
  CHECK(see("SELECT pg_advisory_lock(id) FROM jobs")[0].relation == "jobs");
  CHECK(see("SELECT pg_advisory_lock(id) FROM (SELECT id FROM jobs) q")[0].whole_relation);
  CHECK_FALSE(see("SELECT pg_advisory_lock(id) FROM jobs WHERE kind = 1")[0].whole_relation);
  CHECK_FALSE(see("SELECT pg_advisory_lock(id) FROM jobs LIMIT 3")[0].whole_relation);
  CHECK_FALSE(see("SELECT pg_advisory_lock(id) FROM (SELECT id FROM jobs LIMIT 3) q")[0].whole_relation);
  CHECK(see("SELECT pg_advisory_lock(g) FROM generate_series(11, 500) g")[0].series == 490);
  CHECK(see("SELECT pg_advisory_lock(v) FROM (VALUES (3), (1), (2)) t(v)")[0].series == 3);
}

TEST_CASE("an order is sorted by key only if its leading terms determine the key") {
  const auto sorted = [](const std::string& text) { return see(text)[0].sorted_by_key; };
  CHECK(sorted("SELECT pg_advisory_lock(id) FROM jobs ORDER BY id DESC"));
  CHECK(sorted("SELECT pg_advisory_lock(kind) FROM jobs GROUP BY kind ORDER BY kind"));
  CHECK(sorted("SELECT pg_advisory_lock(5, x) FROM (SELECT DISTINCT kind AS x FROM jobs ORDER BY kind) q"));
  CHECK(sorted("SELECT pg_advisory_lock(hashtext(state)) FROM jobs ORDER BY state, id"));
  CHECK_FALSE(sorted("SELECT pg_advisory_lock(id) FROM jobs ORDER BY ts"));
  CHECK_FALSE(sorted("SELECT pg_advisory_lock(id) FROM jobs ORDER BY kind, id"));
}

TEST_CASE("what PL/pgSQL asks for decides how far a query runs") {
  const auto body = [](const std::string& declare, const std::string& text) {
    return see("DO $$ DECLARE " + declare + " BEGIN " + text + " END $$;");
  };
  CHECK(body("", "PERFORM pg_advisory_lock(id) FROM jobs;")[0].rows == Rows::Exact);
  const Seen into = body("x text;", "SELECT pg_advisory_lock(id)::text INTO x FROM jobs;");
  CHECK(into[0].runs == Runs::NeedNot);
  CHECK(into[0].runs_blame.cause == Cause::FirstRowOnly);
  CHECK(body("r record;", "FOR r IN SELECT id, pg_advisory_lock(id) FROM jobs LOOP EXIT; END LOOP;")[0].rows_blame.cause ==
        Cause::LoopPrefetch);
  CHECK(body("r record;", "FOR r IN SELECT id, pg_advisory_lock(id) FROM jobs LOOP NULL; END LOOP;")[0].rows == Rows::Exact);
  CHECK(body("", "ASSERT pg_try_advisory_lock(1);")[0].runs == Runs::NeedNot);
  // The variable is not a column of a table that is not known.
  CHECK(body("k bigint;", "PERFORM pg_advisory_lock(k) FROM nowhere WHERE id = 1;")[0].repeated);
}

TEST_CASE("prepared statements and cursors run where they are executed and fetched from") {
  const Seen prepared = see("PREPARE p AS SELECT pg_advisory_lock(1);");
  CHECK(prepared[0].runs == Runs::Never);
  CHECK(prepared[0].runs_blame.cause == Cause::PrepareOnly);
  CHECK(see("PREPARE p AS SELECT pg_advisory_lock(1); EXECUTE p;")[0].runs == Runs::Once);
  CHECK(see("DECLARE c CURSOR FOR SELECT pg_advisory_lock(id) FROM jobs;")[0].runs == Runs::Never);
  CHECK(see("DECLARE c CURSOR FOR SELECT pg_advisory_lock(id) FROM jobs; FETCH 3 FROM c;")[0].rows == Rows::Exact);
  const Seen moved = see("DECLARE c CURSOR FOR SELECT pg_advisory_lock(id) FROM jobs; MOVE 3 FROM c;");
  CHECK(moved[0].rows == Rows::Superset);
  CHECK(moved.blame(moved[0].rows_blame) == "move-cursor: MOVE 3 FROM c");
  CHECK(see("EXPLAIN SELECT pg_advisory_lock(1);")[0].runs == Runs::Never);
  const Seen planned = see("EXPLAIN SELECT frozen_lock(1);");
  CHECK(planned[0].plan_time);
  CHECK(planned[0].runs == Runs::Once);
}

TEST_CASE("an inlined call is reported where it is written and where it leads") {
  const Seen s = see("SELECT id FROM jobs WHERE state = 'ready' AND sql_lock(id) LIMIT 1");
  REQUIRE(s.calls.size() == 2);
  CHECK(s.calls[0].via.empty());
  CHECK(s.calls[0].call->name == "sql_lock");
  CHECK(s.calls[1].via == "sql_lock");
  CHECK(s.calls[1].call->name == "pg_try_advisory_lock");
  CHECK(s.at(s.calls[1].via_range) == "sql_lock(id)");
  CHECK(s[0].rows == Rows::Superset);
  CHECK(s[1].rows == Rows::Superset);
  const Seen view = see("SELECT id FROM locked WHERE id > 5 LIMIT 3");
  REQUIRE(view.calls.size() == 1);
  CHECK(view.calls[0].via == "locked");
  CHECK(view.at(view.calls[0].via_range) == "locked");
  CHECK(view[0].rows == Rows::Exact);
}

TEST_CASE("what random statements against live servers taught") {
  // A condition without columns keeps a LEFT JOIN that would else be removed (15), so "never" would be wrong.
  CHECK(see("SELECT j.id FROM jobs j LEFT JOIN (SELECT DISTINCT ON (id) id, pg_try_advisory_lock(id) AS ok FROM small ORDER BY "
            "id) s "
            "ON s.id = j.id WHERE (SELECT count(*) FROM small) > 1")[0]
            .runs == Runs::NeedNot);
  // A constant that comes through an equality outside takes the join condition away: sub-selects are not known to be unique then.
  CHECK(see("UPDATE jobs b SET state = 'x' WHERE b.id = 5 AND b.id IN (SELECT q.id FROM ((SELECT j.id FROM jobs j LEFT JOIN "
            "(SELECT DISTINCT ON (id) id, pg_try_advisory_lock(id) AS ok FROM small ORDER BY id) s ON s.id = j.id) INTERSECT "
            "(SELECT id FROM small)) q)")[0]
            .runs == Runs::NeedNot);
  // A condition without columns goes into a view with security_barrier too, and stops the removal there (15).
  CHECK(see("SELECT d.id FROM barred d WHERE pg_try_advisory_lock(7)",
            kTables + "CREATE VIEW barred WITH (security_barrier) AS SELECT j.id FROM jobs j LEFT JOIN (SELECT DISTINCT ON (id) id, "
                      "pg_try_advisory_lock(id) AS ok FROM small ORDER BY id) s ON s.id = j.id;")[0]
            .runs == Runs::NeedNot);
  // A condition copied into the arms of UNION ALL calls a function: what its body calls is one call, however often it is copied.
  const Seen arms = see("SELECT b.id FROM ((SELECT id FROM jobs LIMIT 1) UNION ALL (SELECT id FROM small)) b WHERE (SELECT sql_lock(b.id))");
  REQUIRE(arms.calls.size() == 2);
  CHECK(arms[1].runs == Runs::PerRow);
  CHECK(arms[1].order == CallOrder::Undefined);
  // EXISTS and IN become joins: rows of the sub-select may be computed that have no partner.
  CHECK(see("SELECT q.id FROM (SELECT id, pg_try_advisory_lock(id) AS ok FROM jobs) q WHERE EXISTS (SELECT 1 FROM small s WHERE "
            "s.id = q.id)")[0]
            .rows == Rows::PlanDependent);
  CHECK(
      see("SELECT j.id FROM jobs j, LATERAL (SELECT pg_try_advisory_lock(j.id) AS ok) l WHERE j.id IN (SELECT id FROM small)")[0]
          .rows == Rows::PlanDependent);
  // Memoize may skip an outer value that it has seen.
  CHECK(see("SELECT j.id FROM jobs j, LATERAL (SELECT pg_try_advisory_lock(j.kind) AS ok) l")[0].sureness == Sureness::ByPlan);
  CHECK(see("SELECT j.id FROM jobs j, LATERAL (SELECT pg_try_advisory_lock(j.id) AS ok) l")[0].sureness == Sureness::Always);
  // The same call in select list and ORDER BY is one evaluation, and both places answer for it.
  const Seen both = see("SELECT pg_try_advisory_lock(id) FROM jobs ORDER BY pg_try_advisory_lock(id) LIMIT 1");
  REQUIRE(both.calls.size() == 2);
  CHECK(both[0].rows == Rows::Superset);
  CHECK(both[1].rows == Rows::Superset);
  // A condition without columns is pushed below the ORDER BY of the only sub-select.
  CHECK(see("SELECT id FROM (SELECT id FROM jobs ORDER BY ts) q WHERE pg_try_advisory_lock(7) LIMIT 1")[0].rows ==
        Rows::Superset);
  // UNION ALL: an arm that cannot take the condition does not shield the one that can.
  CHECK(see("SELECT id FROM (SELECT id FROM jobs WHERE state = 'x' UNION ALL (SELECT id FROM jobs LIMIT 3)) q WHERE "
            "pg_try_advisory_lock(id)")[0]
            .rows == Rows::Superset);
  // The preserved side of a LEFT JOIN keeps all its rows; its own conditions are conditions like others.
  CHECK(see("SELECT q.id, s.n FROM (SELECT id FROM jobs WHERE state = 'x') q LEFT JOIN small s ON s.id = q.id WHERE "
            "pg_try_advisory_lock(q.id)")[0]
            .rows == Rows::Superset);
  CHECK(see("SELECT j.id, s.n FROM jobs j LEFT JOIN small s ON s.id = j.id WHERE pg_try_advisory_lock(j.id)")[0].rows ==
        Rows::Exact);
}

TEST_CASE("what the fuzzer found: calls that run although they seem not to") {
  const auto runs = [](const std::string& text, std::size_t call = 0, const std::string& more = "") {
    return see(text, kTables + more)[call].runs;
  };
  const std::string removable = "LEFT JOIN (SELECT DISTINCT ON (id) id, pg_try_advisory_lock(small.id) AS x FROM small ORDER BY id) s ON s.id = j.id";
  CHECK(runs("SELECT j.id FROM jobs j " + removable) == Runs::Never);
  // Kept on 18: the key is bound to a constant, directly or by the host of a sub-select; kept where rows may be looked at again.
  CHECK(runs("SELECT j.id FROM jobs j " + removable + " WHERE j.id IN (4)") == Runs::NeedNot);
  CHECK(runs("SELECT k.id, (SELECT count(*) FROM (SELECT j.id FROM jobs j " + removable + ") i WHERE i.id = k.id) FROM jobs k") == Runs::NeedNot);
  CHECK(runs("UPDATE jobs SET kind = 1 WHERE id IN (SELECT j.id FROM jobs j " + removable + ")") == Runs::NeedNot);
  // UPDATE keeps the rows of its sub-selects whole, with columns that nobody reads.
  CHECK(runs("UPDATE jobs SET kind = 1 WHERE id IN (SELECT q.id FROM (SELECT id, stable_lock(id) AS x FROM jobs ORDER BY ts) q)") != Runs::Never);
  CHECK(runs("SELECT q.id FROM (SELECT id, stable_lock(id) AS x FROM jobs ORDER BY ts) q") == Runs::Never);
  // Read through a CTE that is inlined.
  CHECK(runs("WITH a AS (SELECT id, pg_try_advisory_lock(id) FROM jobs), b AS (SELECT id FROM a), c AS NOT MATERIALIZED (SELECT id, random() FROM b) "
             "SELECT id FROM c") == Runs::PerRow);
  // On the side of an outer join that is filled up, a constant is none.
  CHECK(runs("SELECT q.id FROM (SELECT id, 4 AS kind FROM jobs WHERE pg_try_advisory_lock(id)) q FULL JOIN small s ON s.id = q.id WHERE q.kind = 1") !=
        Runs::Never);
  // Folded before the level is found to be dead; DECLARE plans.
  CHECK(see("SELECT frozen_lock(7) FROM jobs WHERE 1 = 2")[0].plan_time);
  CHECK(see("DECLARE c CURSOR FOR SELECT frozen_lock(7) FROM jobs")[0].plan_time);
  CHECK(see("SELECT frozen_lock(7) AND false")[0].plan_time);
  CHECK(runs("SELECT false AND frozen_lock(7)") == Runs::Never);
  CHECK(see("SELECT id FROM (SELECT id, pg_try_advisory_lock(id) FROM (SELECT 5::bigint AS id) v) q WHERE frozen_lock(id) LIMIT 0")[1].plan_time);
  // Folded where it is written, before the condition goes down and dies.
  CHECK(see("SELECT id FROM (SELECT id, ts, pg_try_advisory_lock(id) FROM (SELECT 5::bigint AS id, 50 AS ts) v) q "
            "WHERE CASE WHEN ts IS NULL THEN frozen_lock(7) ELSE false END")[1].plan_time);
  CHECK(see("WITH c AS NOT MATERIALIZED (SELECT id, frozen_lock(id) FROM (SELECT 5::bigint AS id) v WHERE pg_try_advisory_lock(id)) SELECT id FROM c WHERE false")[0]
            .plan_time);
  // FOR UPDATE keeps a CTE whole, however deep it stands.
  CHECK(runs("WITH c AS (SELECT id, stable_lock(id) AS x FROM (SELECT id FROM jobs FOR UPDATE) q) SELECT id FROM c") != Runs::Never);
  // One filter, in order: what a merged sub-select asks comes before the false condition outside. In one WHERE nothing is left beside it.
  CHECK(runs("SELECT id FROM (SELECT id FROM jobs WHERE stable_lock(7)) q WHERE false") == Runs::NeedNot);
  CHECK(runs("SELECT id FROM jobs WHERE stable_lock(7) AND false") == Runs::Never);
}

TEST_CASE("what the fuzzer found: calls that run less or more often than they seem to") {
  CHECK(see("SELECT nullif(NULL::boolean, pg_try_advisory_lock(id)) FROM jobs")[0].runs == Runs::Never);
  CHECK(see("SELECT nullif(pg_try_advisory_lock(NULL::bigint), pg_try_advisory_lock(id)) FROM jobs")[1].runs == Runs::Never);
  // What the planner computes of a constant call may decide for its neighbours.
  CHECK(see("SELECT id FROM jobs WHERE pg_try_advisory_lock(7) OR frozen_lock(7)")[0].runs == Runs::NeedNot);
  // A gate is asked once, but once for each partition.
  const std::string parts = kTables + "CREATE TABLE parts(id bigint PRIMARY KEY) PARTITION BY RANGE (id);";
  CHECK(see("SELECT id FROM jobs WHERE stable_lock(7)")[0].runs == Runs::Once);
  CHECK(see("SELECT id FROM parts WHERE stable_lock(7)", parts)[0].repeated);
  CHECK(see("SELECT p.id FROM parts p LEFT JOIN small s ON s.id = p.id WHERE stable_lock(7)", parts)[0].repeated);
  // Arithmetic of constants is done by the planner, and decides for its neighbours.
  CHECK(see("SELECT id FROM (SELECT g AS id, 4 AS kind FROM generate_series(1, 3) g) q WHERE pg_try_advisory_lock(id) OR kind * 2 + 1 = 9")[0].runs == Runs::Never);
  // Several partners: SET is computed for each.
  CHECK(see("UPDATE jobs j SET state = pg_try_advisory_lock(j.id)::text FROM small s WHERE j.id = 4 AND s.n = j.kind")[0].runs == Runs::PerRow);
  // Two arms of one row each are two rows.
  const Seen arms = see("SELECT id FROM ((SELECT id FROM jobs LIMIT 1) UNION ALL (SELECT id FROM small LIMIT 1)) q WHERE pg_try_advisory_lock(id)");
  CHECK(arms[0].runs == Runs::PerRow);
  CHECK(arms[0].order == CallOrder::Undefined);
  // One row alone is locked or not; beside others it may be locked and then rejected.
  CHECK(see("SELECT id FROM ((SELECT id FROM small) UNION ALL (SELECT id FROM (SELECT id FROM jobs LIMIT 1) r WHERE NOT stable_lock(id))) q "
            "WHERE pg_try_advisory_lock(id)")[1].rows == Rows::PlanDependent);
  // A filter on one lock says nothing for another in the same select list.
  const Seen two = see("SELECT id FROM (SELECT id, pg_try_advisory_lock(id) AS ok, pg_try_advisory_lock(9, id::int) AS other FROM jobs) q WHERE ok");
  CHECK(two[0].rows == Rows::Exact);
  CHECK(two[1].rows == Rows::Superset);
  // All conditions on a UNION ALL are asked of each arm, in the order of their costs.
  CHECK(see("SELECT id FROM (SELECT id, kind FROM jobs UNION ALL SELECT id, kind FROM jobs) q WHERE stable_lock(kind) AND (SELECT pg_try_advisory_lock(id))")[1].rows !=
        Rows::Exact);
  // An arm with two items in FROM stays a query of its own: a condition with a sub-plan is asked of its rows.
  CHECK(see("SELECT id FROM (SELECT id FROM small UNION ALL SELECT e.id FROM jobs e, LATERAL (SELECT pg_try_advisory_lock(e.id) AS x) f) q "
            "WHERE id NOT IN (SELECT id FROM small)")[0].rows == Rows::Superset);
  CHECK(see("SELECT id FROM (SELECT id FROM jobs LIMIT 1) q WHERE id IN (SELECT id FROM small) AND pg_try_advisory_lock(id)")[0].runs == Runs::PerRow);
  // IN is a join, whatever its sub-select calls.
  CHECK(see("SELECT b.id FROM jobs b, LATERAL (SELECT pg_try_advisory_lock(b.id) AS x OFFSET 0) e "
            "WHERE b.id IN (SELECT id FROM small WHERE pg_try_advisory_lock(id))")[0].rows == Rows::PlanDependent);
  // Conditions that could leak stay above a view with security_barrier.
  const std::string barrier = kTables + "CREATE VIEW walled WITH (security_barrier) AS SELECT id, kind, pg_try_advisory_lock(id) AS ok FROM jobs;";
  CHECK(see("SELECT id FROM walled WHERE kind * 2 = 8", barrier)[0].rows == Rows::Superset);
  CHECK(see("SELECT id FROM walled WHERE kind = 4", barrier)[0].rows == Rows::Exact);
}

TEST_CASE("what the fuzzer found: orders that are none") {
  const auto order = [](const std::string& text, std::size_t call = 0) { return see(text)[call].order; };
  // An arm of UNION, INTERSECT, EXCEPT is sorted as those need it (17 and later), and its columns are computed before its own LIMIT.
  CHECK(order("(SELECT id, pg_try_advisory_lock(id) FROM jobs ORDER BY id) UNION SELECT 1, true") == CallOrder::Undefined);
  CHECK(see("(SELECT id, pg_try_advisory_lock(id) FROM jobs ORDER BY id LIMIT 1) UNION SELECT 1, true")[0].runs == Runs::PerRow);
  // Sorted within each answer only.
  CHECK(order("SELECT k.id, (SELECT count(*) FROM (SELECT id, pg_try_advisory_lock(id) FROM jobs ORDER BY id) q WHERE q.id = k.id) FROM jobs k") ==
        CallOrder::Undefined);
  // A window sorts again, and so may grouping.
  CHECK(order("SELECT pg_try_advisory_lock(id), row_number() OVER (ORDER BY ts) FROM (SELECT id, ts FROM jobs ORDER BY id) q") == CallOrder::Undefined);
  CHECK(order("SELECT kind, count(pg_try_advisory_lock(id)) FROM (SELECT id, kind FROM jobs ORDER BY id) q GROUP BY kind") == CallOrder::Undefined);
  // What is dear is put off behind the sort together with what is volatile, and below a LIMIT.
  CHECK(order("SELECT stable_lock(id) FROM (SELECT id, ts FROM jobs ORDER BY id) q ORDER BY ts LIMIT 5") == CallOrder::Undefined);
  CHECK(order("SELECT stable_lock(id), pg_try_advisory_lock(id) FROM jobs ORDER BY ts") == CallOrder::Defined);
}

TEST_CASE("a constant decides in one arm of a UNION ALL: the rows of that arm come out without the call") {
  const Seen s = see("SELECT a.id FROM (SELECT g AS id, 4 AS n, pg_try_advisory_lock(0) FROM unnest(ARRAY[1, 2]) g UNION ALL "
                     "SELECT id, n, pg_try_advisory_lock(1) FROM small) a WHERE pg_try_advisory_lock(a.id) OR a.n IS NOT NULL");
  CHECK(s[2].runs == Runs::PerRow);
  CHECK(s.blame(s[2].runs_blame) == "guarded-branch: a.n IS NOT NULL");
}

TEST_CASE("below grouping sets a constant of a sub-select may become NULL: it decides nothing") {
  const std::string from = " FROM (SELECT g AS id, 4 AS kind FROM generate_series(1, 6) g WHERE pg_try_advisory_lock(g)) b WHERE b.kind = 1 ";
  CHECK(see("SELECT b.kind" + from + "GROUP BY ROLLUP (b.kind)")[0].runs == Runs::PerRow);
  CHECK(see("SELECT b.kind" + from + "GROUP BY b.kind")[0].runs == Runs::Never);
}

TEST_CASE("statements made to be slow are given up, not waited for") {
  const auto begin = std::chrono::steady_clock::now();
  std::string views = kTables, columns = "SELECT pg_try_advisory_lock(x) AS l, 'a' AS x0 FROM (SELECT 1 AS x) q";
  views += "CREATE VIEW v0 AS SELECT id, pg_try_advisory_lock(id) AS l FROM jobs;\n";
  for (int i = 1; i < 40; ++i) {
    const std::string below = "v" + std::to_string(i - 1);
    views +=
        "CREATE VIEW v" + std::to_string(i) + " AS SELECT a.id, b.l FROM " + below + " a JOIN " + below + " b ON a.id = b.id;\n";
  }
  views += "CREATE VIEW ring AS SELECT * FROM ring2; CREATE VIEW ring2 AS SELECT id, pg_try_advisory_lock(id) FROM ring;\n";
  see("SELECT * FROM v39; SELECT * FROM ring;", views);

  std::string doubled = "SELECT 'x' AS c";
  for (int i = 0; i < 60; ++i) doubled = "SELECT c || c AS c FROM (" + doubled + ") q" + std::to_string(i);
  see("SELECT pg_advisory_lock(hashtext(c)) FROM (" + doubled + ") q");

  std::string ctes = "WITH c0 AS NOT MATERIALIZED (SELECT id FROM jobs)";
  for (int i = 1; i < 60; ++i)
    ctes += ", c" + std::to_string(i) + " AS NOT MATERIALIZED (SELECT a.id FROM c" + std::to_string(i - 1) + " a, c" +
            std::to_string(i - 1) + " b)";
  see(ctes + " SELECT pg_advisory_lock(id) FROM c59");

  std::string deep = "SELECT id FROM jobs";
  for (int i = 0; i < 60; ++i) deep = "SELECT id FROM (" + deep + " OFFSET 0) q" + std::to_string(i);
  see("WITH c AS (" + deep + ") SELECT pg_advisory_lock(id) FROM c");

  std::string terms = "SELECT id FROM jobs WHERE true";
  for (int i = 0; i < 1500; ++i) terms += " AND pg_try_advisory_lock(id + " + std::to_string(i) + ")";
  see(terms);

  std::string nested = "SELECT pg_advisory_lock(1)";
  for (int i = 0; i < 400; ++i) nested = "SELECT (" + nested + ")";
  see(nested);

  std::string arms = "SELECT pg_try_advisory_lock(0)";
  for (int i = 1; i < 3000; ++i) arms += " UNION ALL SELECT pg_try_advisory_lock(" + std::to_string(i) + ")";
  CHECK(see(arms).calls.size() == 3000);
  CHECK(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count() < 60);
}

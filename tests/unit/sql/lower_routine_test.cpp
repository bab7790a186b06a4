// CREATE FUNCTION and its relatives.
#include <doctest/doctest.h>

#include "lower_show.h"

namespace pglocklint::sql {

using show::Sample;

TEST_CASE("a function's attributes and their places") {
  const Sample s(
      "CREATE OR REPLACE FUNCTION App.\"Take\"(a bigint, INOUT b text DEFAULT f(1), VARIADIC c int[])\n"
      "RETURNS SETOF int8 LANGUAGE PLpgSQL\n"
      "STABLE STRICT SECURITY DEFINER PARALLEL SAFE LEAKPROOF COST 5\n"
      "SET lock_timeout = '5s' SET search_path TO app, public AS $x$ BEGIN END $x$");
  REQUIRE(s.parsed.error == "");
  const Function& f = s.parsed.functions.at(0);
  CHECK(f.kind == FunctionKind::Routine);
  CHECK(f.schema == "app");
  CHECK(f.name == "Take");
  CHECK(s.at(f.name_range) == "App.\"Take\"");
  CHECK(f.language == "plpgsql");
  CHECK(f.returns == "bigint");
  CHECK(f.returns_set);
  CHECK(f.volatility == Volatility::Stable);
  CHECK(s.at(f.volatility_range) == "STABLE");
  CHECK(f.parallel == ParallelSafety::Safe);
  CHECK(s.at(f.parallel_range) == "PARALLEL SAFE");
  CHECK(f.strict);
  CHECK(f.security_definer);
  CHECK(f.leakproof);
  CHECK(f.cost == 5);
  REQUIRE(f.settings.size() == 2);
  CHECK(f.settings[0].name == "lock_timeout");
  CHECK(f.settings[0].value == "5s");
  CHECK(f.settings[1].value == "app, public");
  REQUIRE(f.parameters.size() == 3);
  CHECK(f.parameters[0].name == "a");
  CHECK(f.parameters[0].type == "bigint");
  CHECK(s.at(f.parameters[0].range) == "a bigint");
  CHECK(f.parameters[1].mode == ParameterMode::InOut);
  CHECK(show::expr(f.parameters[1].default_value.at(0)) == "(f 1)");
  CHECK(f.parameters[2].mode == ParameterMode::Variadic);
  CHECK(f.parameters[2].type == "integer[]");
  CHECK(s.at(f.body_range) == " BEGIN END ");
  CHECK(s.parsed.bodies.at(0).text.text() == " BEGIN END ");
  CHECK(s.parsed.bodies.at(0).language == "plpgsql");
  CHECK(s.ddl().kind == DdlKind::CreateFunction);
  CHECK(s.ddl().function == 0);
  CHECK(s.ddl().or_replace);
}

TEST_CASE("functions that return a table") {
  const Sample s("CREATE FUNCTION f(a int) RETURNS TABLE (x bigint, y text) LANGUAGE sql AS 'SELECT ''it''''s'', 1'");
  const Function& f = s.parsed.functions.at(0);
  CHECK(f.returns == "table");
  CHECK(f.returns_set);
  REQUIRE(f.parameters.size() == 3);
  CHECK(f.parameters[1].mode == ParameterMode::Table);
  CHECK(s.at(f.parameters[2].range) == "y text");
  CHECK(s.parsed.bodies.at(0).text.text() == "SELECT 'it''s', 1");
  CHECK(s.at(f.body_range) == "SELECT ''it''''s'', 1");
}

TEST_CASE("procedures, triggers, C functions") {
  CHECK(Sample("CREATE PROCEDURE p() LANGUAGE sql AS 'SELECT 1'").parsed.functions.at(0).kind == FunctionKind::Procedure);
  CHECK(Sample("CREATE FUNCTION p() RETURNS trigger LANGUAGE plpgsql AS ''").parsed.functions.at(0).returns == "trigger");
  const Sample c("CREATE FUNCTION p(int) RETURNS void AS 'lib', 'symbol' LANGUAGE C IMMUTABLE");
  CHECK(c.parsed.functions.at(0).language == "c");
  CHECK(c.parsed.functions.at(0).parameters.at(0).name == "");
  CHECK(c.parsed.functions.at(0).volatility == Volatility::Immutable);
}

TEST_CASE("SQL-standard bodies are read at once") {
  const Sample s(
      "CREATE FUNCTION f(a int) RETURNS int\n"
      "BEGIN ATOMIC\n"
      "  INSERT INTO t SELECT g(a) LIMIT 1;\n"
      "  SELECT CASE WHEN a THEN 1 END;\n"
      "END");
  REQUIRE(s.parsed.error == "");
  const Function& f = s.parsed.functions.at(0);
  CHECK(f.atomic_body);
  CHECK(f.language == "sql");
  REQUIRE(f.blocks.size() == 1);
  REQUIRE(f.blocks[0].events.size() == 2);
  const Statement& first = f.blocks[0].events[0].statement.at(0);
  CHECK(show::query(first.query.at(0)) == "(insert t (select (g a) (limit 1)))");
  CHECK(s.at(first.range) == "INSERT INTO t SELECT g(a) LIMIT 1");
  CHECK(s.at(first.query[0].source.at(0).limit_range) == "LIMIT 1");
  CHECK(s.at(f.blocks[0].events[1].statement.at(0).range) == "SELECT CASE WHEN a THEN 1 END");
  CHECK(s.parsed.bodies.empty());

  const Sample r("CREATE FUNCTION f(a int) RETURNS bool RETURN pg_try_advisory_lock(a)");
  const Function& returned = r.parsed.functions.at(0);
  REQUIRE(returned.blocks.size() == 1);
  CHECK(show::query(returned.blocks[0].events.at(0).statement.at(0).query.at(0)) == "(select (pg_try_advisory_lock a))");
  CHECK(r.at(returned.blocks[0].events[0].statement[0].query[0].targets[0].expr.range) == "pg_try_advisory_lock(a)");
  CHECK(returned.blocks[0].events.at(1).kind == EventKind::Exit);
  CHECK(r.at(returned.body_range) == "RETURN pg_try_advisory_lock(a)");
}

TEST_CASE("changed functions list what changed") {
  const Ddl d = Sample("ALTER FUNCTION app.f(int) IMMUTABLE STRICT PARALLEL SAFE COST 10 SECURITY INVOKER").ddl();
  CHECK(d.kind == DdlKind::AlterFunction);
  CHECK(d.schema == "app");
  CHECK(d.options == std::vector<std::string>{"immutable", "strict", "parallel safe", "cost 10", "security invoker"});
}

}  // namespace pglocklint::sql

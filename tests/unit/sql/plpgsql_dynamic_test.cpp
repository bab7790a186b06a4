// EXECUTE: what text runs, and what stands in its holes.
#include <doctest/doctest.h>

#include "plpgsql_body.h"
#include "sql/dynamic_sql.h"

using namespace pglocklint;
using namespace pglocklint::sql;

namespace {

Statement dynamic(const ReadBody& b) {
  for (const Statement& s : statementsOf(b))
    if (s.dynamic) return s;
  FAIL("no dynamic statement");
  return {};
}

// The first argument of the first call in the select list; what was put in as text is a literal of no type.
Expr key(const Statement& s) {
  REQUIRE(s.query.size() == 1);
  REQUIRE_FALSE(s.query[0].targets.empty());
  REQUIRE_FALSE(s.query[0].targets[0].expr.args.empty());
  const Expr& argument = s.query[0].targets[0].expr.args[0];
  return argument.kind == ExprKind::Cast && argument.type == "unknown" ? argument.args[0] : argument;
}

Statement executed(std::string_view text) {
  const ReadBody b = readBody(fmt::format("BEGIN {}; END", text));
  CHECK(b.problems.empty());
  return dynamic(b);
}

}  // namespace

TEST_CASE("A literal text is parsed, with places in the file") {
  const ReadBody b = readBody("BEGIN\n EXECUTE 'SELECT pg_advisory_lock(42)'; END");
  const Statement s = dynamic(b);
  CHECK_FALSE(s.has_holes);
  CHECK(s.context == PlContext::Perform);
  CHECK(b.written(s.query[0].targets[0].expr.range) == "pg_advisory_lock(42)");
  CHECK(b.written(s.range) == "EXECUTE 'SELECT pg_advisory_lock(42)'");
}

TEST_CASE("Doubled quotes, escapes and dollar quotes are undone, places kept") {
  const ReadBody b = readBody("BEGIN EXECUTE 'SELECT ''it''''s'', pg_advisory_lock(42)'; END");
  const Statement s = dynamic(b);
  REQUIRE(s.query[0].targets.size() == 2);
  CHECK(s.query[0].targets[0].expr.text == "it's");
  CHECK(b.written(s.query[0].targets[1].expr.range) == "pg_advisory_lock(42)");
  CHECK(key(executed("EXECUTE E'SELECT\\n pg_advisory_lock(43)'")).text == "43");
  CHECK(key(executed("EXECUTE $q$SELECT pg_advisory_lock(44)$q$")).text == "44");
}

TEST_CASE("format() with %L and %s gives the argument as key") {
  CHECK(key(executed("EXECUTE format('SELECT pg_advisory_lock(%s)', p_id)")).name == "p_id");
  CHECK(key(executed("EXECUTE format('SELECT pg_advisory_lock(%L)', p_id)")).name == "p_id");
  CHECK(key(executed("EXECUTE format('SELECT pg_advisory_lock(%2$s, %1$s)', a, b)")).name == "b");
  CHECK(key(executed("EXECUTE format('SELECT pg_advisory_lock(%s)', hashtext(x))")).isCall("hashtext"));
  CHECK_FALSE(executed("EXECUTE format('SELECT pg_advisory_lock(%s)', p_id)").has_holes);
}

TEST_CASE("format() with %I gives a name that is not known; %% is a percent sign") {
  const Statement s = executed("EXECUTE format('SELECT pg_advisory_lock(id %% 10) FROM %I.%I WHERE a', s, t)");
  REQUIRE(s.query[0].from.size() == 1);
  CHECK(s.query[0].from[0].schema == "%1");
  CHECK(s.query[0].from[0].name == "%2");
  CHECK(s.has_holes);
  CHECK(key(s).name == "%");
}

TEST_CASE("Constants are put in") {
  const Statement s = executed("EXECUTE format('SELECT %I(%s)', 'pg_advisory_lock', 7)");
  CHECK(s.query[0].targets[0].expr.isCall("pg_advisory_lock"));
  CHECK(key(s).text == "7");
  CHECK_FALSE(s.has_holes);
  const ReadBody b = readBody("DECLARE k CONSTANT text := '99'; BEGIN EXECUTE 'SELECT pg_advisory_lock(' || k || ')'; END");
  CHECK(key(dynamic(b)).text == "99");
}

TEST_CASE("Concatenation: bare parts and quoted parts") {
  CHECK(key(executed("EXECUTE 'SELECT pg_advisory_lock(' || p_id || ')'")).name == "p_id");
  CHECK(key(executed("EXECUTE 'SELECT pg_advisory_lock(' || p_id::text || ')'")).kind == ExprKind::Cast);
  CHECK(key(executed("EXECUTE 'SELECT pg_advisory_lock(' || quote_literal(p_id) || ')'")).name == "p_id");
  CHECK(executed("EXECUTE 'DELETE FROM ' || quote_ident(t) || ' WHERE a'").query[0].target->name == "%1");
  CHECK(executed("EXECUTE 'DELETE FROM log_' || p_day").query[0].target->name == "log_%1");
  CHECK(key(executed("EXECUTE concat('SELECT pg_advisory_lock(', p_id, ')')")).name == "p_id");
}

TEST_CASE("A part inside of a literal becomes part of its value") {
  const Expr hashed = key(executed("EXECUTE 'SELECT pg_advisory_lock(hashtext(''job:' || p_id || '''))'"));
  REQUIRE(hashed.isCall("hashtext"));
  const Expr& text = hashed.args[0];
  CHECK(text.kind == ExprKind::Op);
  CHECK(text.name == "||");
  REQUIRE(text.args.size() == 2);
  CHECK(text.args[0].text == "job:");
  CHECK(text.args[1].name == "p_id");
}

TEST_CASE("USING replaces $1, and is kept") {
  const Statement s = executed("EXECUTE 'SELECT pg_advisory_lock($1)' INTO x USING p_id + 1");
  CHECK(key(s).kind == ExprKind::Op);
  CHECK(key(s).name == "+");
  CHECK(s.using_args.size() == 1);
  CHECK(s.into == Lines{"x"});
  CHECK(s.context == PlContext::SelectInto);
  const Statement other_order = executed("EXECUTE 'SELECT pg_advisory_lock($2)' USING a, b INTO STRICT x");
  CHECK(key(other_order).name == "b");
  CHECK(other_order.into_strict);
}

TEST_CASE("Calls keep distinct identities when arguments are put in") {
  const Statement s = executed("EXECUTE 'SELECT f(1), pg_advisory_lock($1)' USING hashtext(x)");
  CHECK(s.query[0].targets[0].expr.call_id != s.query[0].targets[1].expr.args[0].call_id);
  CHECK(s.query[0].targets[1].expr.call_id != s.query[0].targets[1].expr.args[0].call_id);
}

TEST_CASE("A lock call in an argument runs once, before") {
  const ReadBody b = readBody("BEGIN EXECUTE 'SELECT $1 FROM t' USING pg_try_advisory_lock(1); END");
  const std::vector<Statement> all = statementsOf(b);
  REQUIRE(all.size() == 2);
  CHECK(all[0].context == PlContext::Argument);
  CHECK(all[0].query[0].targets[0].expr.isCall("pg_try_advisory_lock"));
  CHECK(all[1].query[0].targets[0].expr.kind == ExprKind::Param);
}

TEST_CASE("A variable that is assigned once is its text") {
  const ReadBody b = readBody(R"(
DECLARE q text;
BEGIN
  q := format('SELECT pg_advisory_lock(%s)', p_id);
  RAISE NOTICE '%', q;
  EXECUTE q;
END)");
  CHECK(key(dynamic(b)).name == "p_id");
  CHECK(b.problems.empty());
}

TEST_CASE("A variable that may hold one of several texts, or one read from a table, is not known") {
  for (const char* more : {"IF a THEN q := q || ' LIMIT 1'; END IF;", "SELECT x INTO q;", "GET DIAGNOSTICS q = ROW_COUNT;",
                           "LOOP EXIT WHEN a; q := 'SELECT 2'; END LOOP;"}) {
    const ReadBody b = readBody(fmt::format("DECLARE q text := 'SELECT pg_advisory_lock(1)'; BEGIN {} EXECUTE q; END", more));
    const Statement s = dynamic(b);
    CHECK(s.kind == StatementKind::Utility);
    CHECK(s.head == "EXECUTE");
    CHECK(s.has_holes);
    REQUIRE(b.problems.size() == 1);
    CHECK(b.problems[0].reason == "dynamic SQL: the text is not known");
    CHECK(b.problems[0].mentions_lock);
  }
}

TEST_CASE("Text that is put together step by step is known") {
  const ReadBody b = readBody(R"(
DECLARE q text;
BEGIN
  q := 'SELECT ';
  q := q || 'pg_advisory_lock(';
  q := q || p_id || ')';
  EXECUTE q;
  q := 'SELECT pg_advisory_unlock(2)';
  EXECUTE q;
END)");
  CHECK(b.problems.empty());
  std::vector<Statement> executed;
  for (const Statement& s : statementsOf(b))
    if (s.dynamic) executed.push_back(s);
  REQUIRE(executed.size() == 2);
  CHECK(executed[0].query[0].targets[0].expr.isCall("pg_advisory_lock"));
  CHECK(key(executed[0]).name == "p_id");
  CHECK(executed[1].query[0].targets[0].expr.isCall("pg_advisory_unlock"));
}

TEST_CASE("A text that only one way leads to is known in a handler and after a branch") {
  const ReadBody b = readBody(R"(
DECLARE q text := 'SELECT pg_advisory_lock(1)';
BEGIN
  BEGIN
    IF a THEN PERFORM f(); END IF;
  EXCEPTION WHEN OTHERS THEN EXECUTE q;
  END;
  BEGIN
    q := 'SELECT 2';
  EXCEPTION WHEN OTHERS THEN EXECUTE q;
  END;
END)");
  std::vector<Statement> executed;
  for (const Statement& s : statementsOf(b))
    if (s.dynamic) executed.push_back(s);
  REQUIRE(executed.size() == 2);
  CHECK(executed[0].kind == StatementKind::Query);
  CHECK(executed[1].kind == StatementKind::Utility);
}

TEST_CASE("A value in a variable stays that variable") {
  const ReadBody b = readBody("DECLARE k int; BEGIN k := nextval('s'); EXECUTE 'SELECT pg_advisory_lock(' || k || ')'; END");
  CHECK(key(dynamic(b)).kind == ExprKind::Column);
  CHECK(key(dynamic(b)).name == "k");
}

TEST_CASE("Text that comes from elsewhere is counted, without suspicion") {
  const ReadBody b = readBody("BEGIN EXECUTE p_sql; EXECUTE build(1) USING x; END");
  REQUIRE(b.problems.size() == 2);
  CHECK_FALSE(b.problems[0].mentions_lock);
  CHECK_FALSE(b.problems[1].mentions_lock);
  CHECK(dynamic(b).exprs[0].name == "p_sql");
}

TEST_CASE("Variables that hold each other, or grow without end, come to an end") {
  CHECK_FALSE(readBody("DECLARE a text; BEGIN LOOP a := a || 'SELECT 1'; EXECUTE a; END LOOP; END").problems.empty());
  for (const char* step : {"a := a || a;", "a := format(a, a, a);", "a := a || b; b := b || a;"}) {
    std::string body = "DECLARE a text := 'SELECT %s '; b text := 'SELECT 2'; BEGIN ";
    for (int i = 0; i < 300; ++i) body += step;
    CHECK_FALSE(statementsOf(readBody(body + "EXECUTE a; END")).empty());
  }
}

TEST_CASE("Raw text for a whole condition stays unknown") {
  const Statement s = executed("EXECUTE 'SELECT id FROM t WHERE ' || p_cond || ' LIMIT 1'");
  REQUIRE(s.query[0].where.size() == 1);
  CHECK(s.query[0].where[0].kind == ExprKind::Param);
  CHECK(s.query[0].where[0].text == "%1");
  CHECK(s.has_holes);
}

TEST_CASE("A raw clause that may be missing does not hide the rest") {
  const Statement s = executed("EXECUTE format('SELECT pg_advisory_lock(id) FROM t ORDER BY id %s %s', dir, lim)");
  CHECK(key(s).name == "id");
  CHECK(s.has_holes);
}

TEST_CASE("Dynamic SQL in FOR, RETURN QUERY and OPEN keeps its place there") {
  const ReadBody b = readBody(R"(BEGIN
  FOR r IN EXECUTE 'SELECT pg_advisory_lock(1) FROM ' || quote_ident(t) USING a LOOP EXIT; END LOOP;
  RETURN QUERY EXECUTE 'SELECT 2';
  OPEN c FOR EXECUTE 'SELECT 3';
END)");
  CHECK(b.problems.empty());
  const std::vector<Statement> all = statementsOf(b);
  REQUIRE(all.size() == 3);
  CHECK(all[0].context == PlContext::ForQuery);
  CHECK(all[0].left_early);
  CHECK(all[0].into == Lines{"r"});
  CHECK(all[0].dynamic);
  CHECK(all[1].context == PlContext::ReturnQuery);
  CHECK(all[2].kind == StatementKind::DeclareCursor);
  CHECK(all[2].name == "c");
}

TEST_CASE("Several statements in one text are several events, in their place") {
  const ReadBody b = readBody("BEGIN PERFORM f(1); EXECUTE 'SELECT g(1); UPDATE t SET a = 1'; PERFORM f(2); END");
  const std::vector<Statement> all = statementsOf(b);
  REQUIRE(all.size() == 4);
  CHECK(all[1].query[0].targets[0].expr.isCall("g"));
  CHECK(all[2].query[0].kind == QueryKind::Update);
  CHECK(all[2].context == PlContext::Sql);
  CHECK(all[3].context == PlContext::Perform);
}

TEST_CASE("Definitions and transaction commands in dynamic SQL stay statements") {
  const ReadBody b = readBody("BEGIN EXECUTE 'CREATE TABLE x (a int)'; EXECUTE 'COMMIT'; EXECUTE "
                              "'CREATE FUNCTION f() RETURNS void LANGUAGE sql AS ''SELECT pg_advisory_lock(1)'''; END");
  const std::vector<Statement> all = statementsOf(b);
  REQUIRE(all.size() == 3);
  CHECK(all[0].head == "CREATE TABLE");
  CHECK(all[1].head == "COMMIT");
  REQUIRE(b.problems.size() == 1);
  CHECK(b.problems[0].mentions_lock);
}

TEST_CASE("Text of which too little is known is counted, and suspect only if it locks") {
  const ReadBody b = readBody("BEGIN EXECUTE 'EXPLAIN ' || q; EXECUTE 'ALTER x ' || y || ' pg_advisory_lock(' || z; END");
  REQUIRE(b.problems.size() == 2);
  CHECK(b.problems[0].reason == "dynamic SQL: too little of the text is known");
  CHECK_FALSE(b.problems[0].mentions_lock);
  CHECK(b.problems[1].mentions_lock);
  CHECK(statementsOf(b)[0].kind == StatementKind::Utility);
  CHECK(statementsOf(b)[1].kind == StatementKind::NotUnderstood);
}

TEST_CASE("Dynamic text that does not parse is an entry of its own") {
  const ReadBody b = readBody("BEGIN EXECUTE 'SELEC pg_advisory_lock(1)'; PERFORM f(); END");
  REQUIRE(b.problems.size() == 1);
  CHECK(b.problems[0].mentions_lock);
  CHECK(b.problems[0].reason.starts_with("dynamic SQL: "));
  CHECK(statementsOf(b).size() == 2);
}

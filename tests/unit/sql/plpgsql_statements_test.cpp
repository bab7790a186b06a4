// What single statements and declarations of PL/pgSQL say.
#include <doctest/doctest.h>

#include "plpgsql_body.h"

using namespace pglocklint;
using namespace pglocklint::sql;

namespace {

Statement only(const ReadBody& b) {
  const std::vector<Statement> all = statementsOf(b);
  REQUIRE(all.size() == 1);
  CHECK(b.problems.empty());
  return all[0];
}

Statement statement(std::string_view text) { return only(readBody(fmt::format("BEGIN {}; END", text))); }

const Variable& variable(const ReadBody& b, std::string_view name) {
  for (const Variable& v : b.function.variables)
    if (v.name == name) return v;
  FAIL("no variable " << name);
  return b.function.variables[0];
}

}  // namespace

TEST_CASE("A lock call in a body has its place in the file") {
  const ReadBody b = readBody("\nBEGIN\n  PERFORM pg_advisory_lock(7);\nEND");
  const Statement s = only(b);
  REQUIRE(s.query.size() == 1);
  const Expr& call = s.query[0].targets[0].expr;
  CHECK(call.isCall("pg_advisory_lock"));
  CHECK(b.written(call.range) == "pg_advisory_lock(7)");
  CHECK(call.range.line == 4);
  CHECK(call.range.column == 11);
  CHECK(s.head == "PERFORM");
}

TEST_CASE("INTO is taken out of a statement wherever it stands") {
  const auto into = [](std::string_view text) {
    const Statement s = statement(text);
    CHECK(s.context == PlContext::SelectInto);
    CHECK(s.kind == StatementKind::Query);
    CHECK(s.query.size() == 1);
    return s.into;
  };
  CHECK(into("SELECT a, b INTO x, y FROM t") == Lines{"x", "y"});
  CHECK(into("SELECT INTO x count(*) FROM t") == Lines{"x"});
  CHECK(into("SELECT a FROM t WHERE b INTO x") == Lines{"x"});
  CHECK(into("SELECT a INTO r.Field FROM t") == Lines{"r.field"});
  CHECK(into("WITH c AS (SELECT 1 AS a) SELECT a INTO x FROM c") == Lines{"x"});
  CHECK(into("INSERT INTO t(a) VALUES (1) RETURNING id INTO x") == Lines{"x"});
  CHECK(into("INSERT INTO t SELECT 1 RETURNING id INTO \"X\"") == Lines{"X"});
  CHECK(into("UPDATE t SET a = 1 RETURNING a INTO x") == Lines{"x"});
  CHECK(into("DELETE FROM t RETURNING a INTO x") == Lines{"x"});
}

TEST_CASE("INTO STRICT is told apart") {
  CHECK(statement("SELECT a INTO STRICT x FROM t").into_strict);
  CHECK_FALSE(statement("SELECT a INTO x FROM t").into_strict);
}

TEST_CASE("INSERT INTO is no INTO clause") {
  const Statement s = statement("INSERT INTO t VALUES (1)");
  CHECK(s.context == PlContext::Sql);
  CHECK(s.into.empty());
  REQUIRE(s.query.size() == 1);
  CHECK(s.query[0].target->name == "t");
}

TEST_CASE("The text around an INTO clause keeps its place") {
  const ReadBody b = readBody("BEGIN SELECT 1\n INTO\n x WHERE pg_try_advisory_lock(5); END");
  const Statement s = only(b);
  REQUIRE(s.query[0].where.size() == 1);
  CHECK(b.written(s.query[0].where[0].range) == "pg_try_advisory_lock(5)");
}

TEST_CASE("Assignments know their target") {
  CHECK(statement("x := f(1)").into == Lines{"x"});
  CHECK(statement("x = f(1)").into == Lines{"x"});
  CHECK(statement("r.a := f(1)").into == Lines{"r.a"});
  CHECK(statement("a[i + 1] := f(1)").into == Lines{"a[]"});
  CHECK(statement("\"Mixed\" := 1").into == Lines{"Mixed"});
  CHECK(statement("$1 := 2").into == Lines{"$1"});
  CHECK(statement("x := count(*) FROM t WHERE a = 1").query[0].from.size() == 1);
  CHECK(statement("x := -1").context == PlContext::Assign);
}

TEST_CASE("A variable may be named like a keyword that PL/pgSQL does not reserve") {
  CHECK(statement("exit := 1").into == Lines{"exit"});
  CHECK(statement("return := 1").into == Lines{"return"});
  CHECK(statement("open = 1").into == Lines{"open"});
}

TEST_CASE("The label of a block is no part of a variable's name") {
  const ReadBody b = readBody("<<l>> DECLARE x int; BEGIN l.x := 1; END");
  CHECK(only(b).into == Lines{"x"});
}

TEST_CASE("RETURN QUERY and RETURN NEXT store rows and go on") {
  const ReadBody b = readBody("BEGIN RETURN QUERY SELECT id FROM t; RETURN NEXT r; RETURN NEXT; RETURN; END");
  CHECK(graph(b) == Lines{"0: return-query(RETURN QUERY SELECT id FROM t); return-query(RETURN NEXT r); return[];"});
  CHECK(b.problems.empty());
}

TEST_CASE("ASSERT keeps its condition") {
  const Statement s = statement("ASSERT pg_try_advisory_lock(1)");
  CHECK(s.context == PlContext::Assert);
  CHECK(s.query[0].targets[0].expr.isCall("pg_try_advisory_lock"));
}

TEST_CASE("COMMIT and ROLLBACK end transactions, chained or not") {
  const ReadBody b = readBody("BEGIN COMMIT; ROLLBACK AND CHAIN; COMMIT AND NO CHAIN; END");
  REQUIRE(b.function.blocks[0].events.size() == 3);
  CHECK(b.function.blocks[0].events[0].transaction[0].verb == TransactionVerb::Commit);
  CHECK_FALSE(b.function.blocks[0].events[0].transaction[0].chain);
  CHECK(b.function.blocks[0].events[1].transaction[0].verb == TransactionVerb::Rollback);
  CHECK(b.function.blocks[0].events[1].transaction[0].chain);
  CHECK_FALSE(b.function.blocks[0].events[2].transaction[0].chain);
}

TEST_CASE("SET and RESET in a body are settings") {
  const ReadBody b = readBody("BEGIN SET LOCAL lock_timeout = '5s'; RESET lock_timeout; END");
  CHECK(graph(b) == Lines{"0: set lock_timeout; set lock_timeout;"});
}

TEST_CASE("CALL keeps the procedure and its arguments") {
  const Statement s = statement("CALL take(1, x)");
  CHECK(s.kind == StatementKind::Call);
  REQUIRE(s.exprs.size() == 1);
  CHECK(s.exprs[0].isCall("take"));
}

TEST_CASE("GET DIAGNOSTICS assigns its variables") {
  CHECK(statement("GET DIAGNOSTICS n = ROW_COUNT").into == Lines{"n"});
  CHECK(statement("GET STACKED DIAGNOSTICS a = MESSAGE_TEXT, b := PG_EXCEPTION_DETAIL").into == Lines{"a", "b"});
  CHECK(statement("GET CURRENT DIAGNOSTICS n = ROW_COUNT").into == Lines{"n"});
}

TEST_CASE("OPEN runs nothing yet, FETCH and MOVE tell how many rows, CLOSE ends") {
  const Statement opened = statement("OPEN c FOR SELECT pg_advisory_lock(id) FROM t");
  CHECK(opened.kind == StatementKind::DeclareCursor);
  CHECK(opened.context == PlContext::OpenCursor);
  CHECK(opened.name == "c");
  CHECK(opened.query.size() == 1);
  const Statement fetched = statement("FETCH c INTO x, y");
  CHECK(fetched.kind == StatementKind::Fetch);
  CHECK(fetched.name == "c");
  CHECK(fetched.into == Lines{"x", "y"});
  CHECK(fetched.fetch_count == 1);
  CHECK(statement("FETCH FORWARD 5 FROM c INTO x").fetch_count == 5);
  CHECK(statement("FETCH FORWARD 5 FROM c INTO x").name == "c");
  CHECK(statement("FETCH PRIOR FROM c INTO x").fetch_backward);
  CHECK(statement("FETCH ABSOLUTE 5 FROM c INTO x").fetch_skips);
  CHECK(statement("FETCH LAST FROM c INTO x").fetch_skips);
  CHECK_FALSE(statement("FETCH ABSOLUTE 1 FROM c INTO x").fetch_skips);
  CHECK(statement("MOVE FORWARD ALL IN c").fetch_count == -1);
  CHECK(statement("MOVE FORWARD ALL IN c").kind == StatementKind::Move);
  CHECK(statement("MOVE BACKWARD 2 FROM c").fetch_backward);
  CHECK(statement("MOVE BACKWARD 2 FROM c").fetch_count == 2);
  CHECK(statement("CLOSE c").kind == StatementKind::CloseCursor);
  CHECK(statement("CLOSE c").name == "c");
}

TEST_CASE("A bound cursor's query runs where it is opened or looped over") {
  const ReadBody b = readBody(R"(
DECLARE c NO SCROLL CURSOR (k bigint, n int) FOR SELECT pg_advisory_lock(id) FROM t WHERE id > k;
BEGIN
  OPEN c(1, n := 2);
  FOR r IN c(f(2), 3) LOOP EXIT; END LOOP;
  FOR r IN c LOOP NULL; END LOOP;
END)");
  CHECK(b.problems.empty());
  CHECK(variable(b, "c").type == "refcursor");
  CHECK(variable(b, "c").query.size() == 1);
  CHECK(variable(b, "k").type == "bigint");
  CHECK(variable(b, "r").type == "record");
  std::vector<Statement> opened, looped;
  for (const Statement& s : statementsOf(b)) {
    if (s.context == PlContext::OpenCursor) opened.push_back(s);
    if (s.context == PlContext::ForQuery) looped.push_back(s);
  }
  REQUIRE(opened.size() == 1);
  CHECK(opened[0].query == variable(b, "c").query);
  REQUIRE(looped.size() == 2);
  CHECK(looped[0].query == variable(b, "c").query);
  CHECK(looped[0].name == "c");
  CHECK(looped[0].left_early);
  CHECK_FALSE(looped[1].left_early);
}

TEST_CASE("Declarations: types, constants, initial values, visible range") {
  const ReadBody b = readBody(R"(
DECLARE
  kJob CONSTANT bigint := 42;
  a integer NOT NULL DEFAULT f(1);
  b text COLLATE "C" = 'x';
  v varchar(10);
  ids int8[];
  m numeric(10, 2);
  o Orders.Id%TYPE;
  r orders%ROWTYPE;
  rec record;
  cur refcursor;
BEGIN
  DECLARE inner_one timestamp with time zone; BEGIN NULL; END;
END)");
  CHECK(b.problems.empty());
  CHECK(variable(b, "kjob").constant);
  CHECK(variable(b, "kjob").type == "bigint");
  REQUIRE(variable(b, "kjob").initial.size() == 1);
  CHECK(variable(b, "kjob").initial[0].text == "42");
  CHECK(b.written(variable(b, "kjob").range) == "kJob CONSTANT bigint := 42");
  CHECK(b.written(variable(b, "kjob").initial[0].range) == "42");
  CHECK(variable(b, "a").not_null);
  CHECK(variable(b, "a").type == "integer");
  CHECK(variable(b, "a").initial[0].isCall("f"));
  CHECK(variable(b, "b").type == "text");
  CHECK(variable(b, "v").type == "character varying");
  CHECK(variable(b, "ids").type == "bigint[]");
  CHECK(variable(b, "m").type == "numeric");
  CHECK(variable(b, "o").type == "orders.id%type");
  CHECK(variable(b, "r").type == "orders%rowtype");
  CHECK(variable(b, "rec").type == "record");
  CHECK(variable(b, "cur").type == "refcursor");
  CHECK(variable(b, "inner_one").type == "timestamp with time zone");
  CHECK(b.written(variable(b, "inner_one").visible) == "DECLARE inner_one timestamp with time zone; BEGIN NULL; END;");
  CHECK(b.written(variable(b, "a").visible).ends_with("END"));
  const std::vector<Statement> all = statementsOf(b);
  REQUIRE(all.size() == 3);
  CHECK(all[0].context == PlContext::Default);
  CHECK(all[1].into == Lines{"a"});
}

TEST_CASE("ALIAS FOR stands for a parameter") {
  Function f;
  f.parameters = {{.name = "k", .type = "bigint"}, {.name = "", .type = "text"}};
  const ReadBody b = readBody("DECLARE key ALIAS FOR k; second ALIAS FOR $2; BEGIN PERFORM pg_advisory_lock(key); END", f);
  CHECK(b.problems.empty());
  CHECK(variable(b, "key").initial[0].kind == ExprKind::Column);
  CHECK(variable(b, "key").initial[0].name == "k");
  CHECK(variable(b, "key").type == "bigint");
  CHECK(variable(b, "second").initial[0].kind == ExprKind::Param);
  CHECK(variable(b, "second").initial[0].text == "2");
  CHECK(variable(b, "second").type == "text");
}

TEST_CASE("Compiler options before the block are passed over") {
  const ReadBody b = readBody("\n#variable_conflict use_column\n#print_strict_params on\nBEGIN PERFORM f(); END");
  CHECK(b.problems.empty());
  CHECK(graph(b) == Lines{"0: perform(PERFORM f());"});
}

TEST_CASE("A statement that does not parse costs only itself") {
  const ReadBody b = readBody(R"(
BEGIN
  PERFORM f(1);
  UPDATE t SET WHERE pg_advisory_lock(3);
  IF a b c THEN PERFORM f(2); END IF;
  PERFORM f(3);
END)");
  CHECK(b.problems.size() == 2);
  CHECK(b.problems[0].mentions_lock);
  CHECK(b.written(b.problems[0].range) == "UPDATE t SET WHERE pg_advisory_lock(3)");
  CHECK_FALSE(b.problems[1].mentions_lock);
  CHECK(graph(b) == Lines{
                        "0: perform(PERFORM f(1)); sql(UPDATE t SET WHERE pg_advisory_lock(3)) ?; condition(a b c) ?; -> T1 F2",
                        "1: perform(PERFORM f(2)); -> N2",
                        "2: perform(PERFORM f(3));",
                    });
}

namespace {

void checkEdges(const ReadBody& b) {
  for (const Block& block : b.function.blocks)
    for (const Edge& edge : block.successors) {
      CHECK(edge.target >= 0);
      CHECK(edge.target < static_cast<std::int32_t>(b.function.blocks.size()));
    }
}

}  // namespace

TEST_CASE("Broken bodies end in an entry, not in a crash") {
  for (const std::string body :
       {"", ";", "BEGIN", "BEGIN IF", "BEGIN IF a THEN", "BEGIN IF a THEN PERFORM f(); END", "BEGIN END LOOP; END",
        "BEGIN CASE END CASE; END", "BEGIN CASE a WHEN 1 END CASE; END", "DECLARE", "DECLARE x", "DECLARE x int BEGIN END",
        "BEGIN FOR IN LOOP END LOOP; END", "BEGIN FOR x IN 1.. LOOP END LOOP; END", "BEGIN FOREACH x IN y LOOP END LOOP; END",
        "BEGIN EXIT; END", "BEGIN CONTINUE x; END", "BEGIN EXCEPTION WHEN", "BEGIN ELSE END", "BEGIN SELECT 'x; END",
        "BEGIN PERFORM f((; END", "BEGIN x := ; END", "BEGIN x[ := 1; END", "<<a BEGIN END", "BEGIN EXECUTE; END",
        "BEGIN EXECUTE 'x' INTO; END", "BEGIN EXECUTE format('%'); END", "BEGIN RETURN QUERY EXECUTE; END",
        "BEGIN LOOP END IF; END", "BEGIN NULL; END; SELECT 1", "BEGIN WHILE LOOP END LOOP; END", "BEGIN CLOSE; END", "BEGIN EXECUTE 'a' USING; END", "#",
        "BEGIN x.y.[1] := 2; END"}) {
    const ReadBody b = readBody(body);
    checkEdges(b);
    INFO(body);
    CHECK_FALSE(b.problems.empty());
  }
}

TEST_CASE("Incomplete statements that can hide nothing are passed over") {
  for (const std::string body :
       {"DECLARE c CURSOR; BEGIN OPEN c(; END", "BEGIN EXCEPTION WHEN THEN END", "BEGIN RAISE USING; END", "BEGIN GET; END",
        "BEGIN FETCH; END", "BEGIN FETCH INTO; END", "BEGIN OPEN; END", "BEGIN ASSERT; END", "BEGIN PERFORM; END",
        "BEGIN RETURN QUERY; END", "BEGIN END END", "BEGIN MOVE; END", "BEGIN SELECT INTO; END", "BEGIN RAISE SQLSTATE; END"}) {
    const ReadBody b = readBody(body);
    checkEdges(b);
    CHECK(b.function.body_understood);
  }
}

TEST_CASE("What is cut off at any byte is still read") {
  const std::string whole =
      "<<l>> DECLARE a int := 1; c CURSOR FOR SELECT 1; BEGIN IF a THEN FOR r IN SELECT 1 LOOP EXIT l WHEN b; END LOOP; ELSE "
      "CASE a WHEN 1 THEN EXECUTE format('SELECT %L', x) INTO y USING z; END CASE; END IF; EXCEPTION WHEN OTHERS THEN RAISE; END";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ReadBody b = readBody(whole.substr(0, size));
    CHECK_FALSE(b.problems.empty());
  }
  CHECK(readBody(whole).problems.empty());
}

TEST_CASE("Ten thousand nested blocks are cut off with one entry") {
  for (const char* begin :
       {"BEGIN ", "LOOP ", "IF a THEN ", "CASE WHEN a THEN ", "FOR i IN 1..2 LOOP ", "DECLARE a int; BEGIN "}) {
    std::string body = "BEGIN ";
    for (int i = 0; i < 10000; ++i) body += begin;
    const ReadBody b = readBody(body + "PERFORM pg_advisory_lock(1); END");
    REQUIRE_FALSE(b.problems.empty());
    CHECK(b.problems[0].mentions_lock);
    CHECK_FALSE(b.function.body_understood);
  }
}

TEST_CASE("Tags of a template language are passed over, includes of a preprocessor counted") {
  const ReadBody b = readBody("BEGIN {% if debug %}RAISE WARNING 'x %', y;{% endif %} PERFORM f('{%s} %}'); END");
  CHECK(b.problems.empty());
  CHECK(graph(b) == Lines{"0: raise(y); perform(PERFORM f('{%s} %}'));"});
  const ReadBody included = readBody("BEGIN IF a THEN\n#include \"x.sql\"\n END IF; PERFORM f(); END");
  REQUIRE(included.problems.size() == 1);
  CHECK(included.function.body_understood);
  CHECK(graph(included).size() == 3);
}

TEST_CASE("Definitions and DO blocks in a body are passed over, and said so if they lock") {
  const ReadBody b = readBody("BEGIN CREATE TEMP TABLE x (a int); CREATE OR REPLACE FUNCTION g() RETURNS void LANGUAGE sql AS "
                              "'SELECT pg_advisory_lock(1)'; DO 'BEGIN NULL; END'; END");
  REQUIRE(b.problems.size() == 1);
  CHECK(b.problems[0].mentions_lock);
  const std::vector<Statement> all = statementsOf(b);
  REQUIRE(all.size() == 3);
  CHECK(all[0].head == "CREATE TABLE");
  CHECK(all[1].head == "CREATE FUNCTION");
  for (const Block& block : b.function.blocks)
    for (const Event& event : block.events) CHECK(event.kind == EventKind::Statement);
}

TEST_CASE("A LANGUAGE sql body is one block of statements") {
  const std::string file = "AS $$ SELECT pg_advisory_xact_lock($1); ; UPDATE t SET a = k WHERE b; broken pg_advisory_lock(2) $$";
  Function f;
  List<NotUnderstood> problems;
  const std::uint32_t begin = 5;
  parseSqlBody(MappedText(file.substr(begin, file.size() - begin - 2), begin), LineIndex(file), f, problems);
  REQUIRE(f.blocks.size() == 1);
  REQUIRE(f.blocks[0].events.size() == 3);
  const Statement& first = f.blocks[0].events[0].statement[0];
  CHECK(first.context == PlContext::None);
  CHECK(file.substr(first.range.begin, first.range.end - first.range.begin) == "SELECT pg_advisory_xact_lock($1)");
  CHECK(first.query[0].targets[0].expr.args[0].kind == ExprKind::Param);
  CHECK(f.blocks[0].events[1].statement[0].query[0].kind == QueryKind::Update);
  CHECK(f.blocks[0].events[2].statement[0].kind == StatementKind::NotUnderstood);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].mentions_lock);
}

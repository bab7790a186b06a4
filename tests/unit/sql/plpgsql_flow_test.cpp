// Which statement of a PL/pgSQL body follows which.
#include <doctest/doctest.h>

#include "plpgsql_body.h"

using namespace pglocklint;
using namespace pglocklint::sql;

TEST_CASE("Statements one after the other are one block") {
  const ReadBody b = readBody("BEGIN PERFORM f(1); NULL; UPDATE t SET a = 1; END");
  CHECK(graph(b) == Lines{"0: perform(PERFORM f(1)); sql(UPDATE t SET a = 1);"});
  CHECK(b.problems.empty());
}

TEST_CASE("IF, ELSIF and ELSE branch on their conditions and meet again") {
  const ReadBody b = readBody(R"(
BEGIN
  IF a > 1 THEN PERFORM f(1);
  ELSIF a > 2 THEN PERFORM f(2);
  ELSEIF a > 3 THEN PERFORM f(3);
  ELSE PERFORM f(4);
  END IF;
  PERFORM f(5);
END)");
  CHECK(graph(b) == Lines{
                        "0: condition(a > 1); -> T1 F2",
                        "1: perform(PERFORM f(1)); -> N7",
                        "2: condition(a > 2); -> T3 F4",
                        "3: perform(PERFORM f(2)); -> N7",
                        "4: condition(a > 3); -> T5 F6",
                        "5: perform(PERFORM f(3)); -> N7",
                        "6: perform(PERFORM f(4)); -> N7",
                        "7: perform(PERFORM f(5));",
                    });
}

TEST_CASE("IF without ELSE goes on after END IF") {
  const ReadBody b = readBody("BEGIN IF NOT pg_try_advisory_lock(1) THEN RETURN; END IF; PERFORM f(); END");
  CHECK(graph(b) == Lines{
                        "0: condition(NOT pg_try_advisory_lock(1)); -> T1 F2",
                        "1: return[];",
                        "2: perform(PERFORM f());",
                    });
}

TEST_CASE("A searched CASE tests one condition after the other and raises when none holds") {
  const ReadBody b = readBody("BEGIN CASE WHEN a THEN PERFORM f(1); WHEN b THEN PERFORM f(2); END CASE; PERFORM f(3); END;");
  CHECK(graph(b) == Lines{
                        "0: condition(a); -> T1 F2",
                        "1: perform(PERFORM f(1)); -> N5",
                        "2: condition(b); -> T3 F4",
                        "3: perform(PERFORM f(2)); -> N5",
                        "4: raise[case_not_found];",
                        "5: perform(PERFORM f(3));",
                    });
}

TEST_CASE("A simple CASE computes its operand once") {
  const ReadBody b = readBody("BEGIN CASE f(x) WHEN 1, 2 THEN PERFORM g(1); WHEN 3 THEN NULL; ELSE PERFORM g(2); END CASE; END;");
  CHECK(graph(b) == Lines{
                        "0: assign(f(x))>__case_variable_1__; condition(1, 2); -> T1 F2",
                        "1: perform(PERFORM g(1)); -> N5",
                        "2: condition(3); -> T3 F4",
                        "3: -> N5",
                        "4: perform(PERFORM g(2)); -> N5",
                        "5:",
                    });
  const Statement in_list = b.function.blocks[0].events[1].statement[0];
  REQUIRE(in_list.query.size() == 1);
  const Expr& test = in_list.query[0].targets[0].expr;
  CHECK(test.kind == ExprKind::InList);
  CHECK(test.args[0].name == "__case_variable_1__");
}

TEST_CASE("LOOP goes round until EXIT") {
  const ReadBody b = readBody(R"(BEGIN
  LOOP
    DELETE FROM trace WHERE old;
    EXIT WHEN NOT FOUND;
    COMMIT;
  END LOOP;
  PERFORM f();
END)");
  CHECK(graph(b) == Lines{
                        "0: -> N1",
                        "1: sql(DELETE FROM trace WHERE old); condition(NOT FOUND); -> T3 F2",
                        "2: commit; -> N1",
                        "3: perform(PERFORM f());",
                    });
  CHECK(statementsOf(b)[0].loop_depth == 1);
  CHECK(statementsOf(b)[2].loop_depth == 0);
}

TEST_CASE("WHILE tests its condition before each round") {
  const ReadBody b = readBody("BEGIN WHILE i < 3 LOOP i := i + 1; CONTINUE WHEN i = 2; PERFORM f(i); END LOOP; END");
  CHECK(graph(b) == Lines{
                        "0: -> N1",
                        "1: condition(i < 3); -> T2 F4",
                        "2: assign(i := i + 1)>i; condition(i = 2); -> T1 F3",
                        "3: perform(PERFORM f(i)); -> N1",
                        "4:",
                    });
}

TEST_CASE("A FOR loop over integers evaluates its bounds once") {
  const ReadBody b = readBody("BEGIN FOR i IN REVERSE 10..f(1) BY 2 LOOP PERFORM g(i); END LOOP; END");
  CHECK(graph(b) == Lines{
                        "0: for-range(10)>i; for-range(f(1))>i; for-range(2)>i; -> N1",
                        "1: -> N2 N3",
                        "2: perform(PERFORM g(i)); -> N1",
                        "3:",
                    });
  REQUIRE(b.function.variables.size() == 1);
  CHECK(b.function.variables[0].name == "i");
  CHECK(b.function.variables[0].type == "integer");
  CHECK(b.written(b.function.variables[0].visible).starts_with("FOR i IN REVERSE"));
  CHECK(b.written(b.function.variables[0].visible).ends_with("END LOOP;"));
}

TEST_CASE("A FOR loop over a query that is read to its end is not left early") {
  const ReadBody b = readBody("BEGIN FOR r IN SELECT id FROM jobs LOOP PERFORM pg_advisory_lock(r.id); END LOOP; END");
  CHECK(graph(b) == Lines{
                        "0: for-query(FOR r IN SELECT id FROM jobs)>r; -> N1",
                        "1: -> N2 N3",
                        "2: perform(PERFORM pg_advisory_lock(r.id)); -> N1",
                        "3:",
                    });
  REQUIRE(statementsOf(b)[0].query.size() == 1);
  CHECK(statementsOf(b)[0].query[0].from[0].name == "jobs");
}

TEST_CASE("EXIT, RETURN and leaving for an outer loop end a query loop early; RAISE does not") {
  const auto early = [](std::string_view statement) {
    const ReadBody b = readBody(fmt::format("BEGIN <<o>> LOOP FOR r IN SELECT 1 LOOP {}; END LOOP; END LOOP; END", statement));
    CHECK(b.problems.empty());
    for (const Statement& s : statementsOf(b))
      if (s.context == PlContext::ForQuery) return s.left_early;
    FAIL("no FOR loop found");
    return false;
  };
  CHECK(early("EXIT"));
  CHECK(early("EXIT WHEN r.a"));
  CHECK(early("EXIT o"));
  CHECK(early("CONTINUE o"));
  CHECK(early("RETURN"));
  CHECK(early("IF x THEN RETURN 1; END IF"));
  CHECK_FALSE(early("CONTINUE"));
  CHECK_FALSE(early("RAISE EXCEPTION 'no'"));
  CHECK_FALSE(early("LOOP EXIT; END LOOP"));
  CHECK_FALSE(early("RETURN NEXT r"));
}

TEST_CASE("EXIT with the label of a block goes behind that block") {
  const ReadBody b = readBody("BEGIN <<inner>> BEGIN EXIT inner WHEN a; PERFORM f(1); END inner; PERFORM f(2); END");
  CHECK(graph(b) == Lines{
                        "0: condition(a); -> T2 F1",
                        "1: perform(PERFORM f(1)); -> N2",
                        "2: perform(PERFORM f(2));",
                    });
}

TEST_CASE("CONTINUE with a label goes to the head of that loop") {
  const ReadBody b = readBody("BEGIN <<o>> WHILE a LOOP LOOP CONTINUE o; END LOOP; END LOOP o; END");
  CHECK(graph(b) == Lines{
                        "0: -> N1",
                        "1: condition(a); -> T2 F3",
                        "2: -> N1",
                        "3:",
                    });
}

TEST_CASE("FOREACH evaluates its array once") {
  const ReadBody b = readBody("BEGIN FOREACH x SLICE 1 IN ARRAY ids LOOP PERFORM f(x); END LOOP; END");
  CHECK(graph(b) == Lines{
                        "0: for-range(ids)>x; -> N1",
                        "1: -> N2 N3",
                        "2: perform(PERFORM f(x)); -> N1",
                        "3:",
                    });
}

TEST_CASE("Code after RETURN is kept although nothing leads to it") {
  const ReadBody b = readBody("BEGIN RETURN f(1); PERFORM g(); END");
  CHECK(graph(b) == Lines{"0: return(RETURN f(1)); return[];", "1: perform(PERFORM g());"});
}

TEST_CASE("A block with EXCEPTION is a scope; its handlers run outside of it") {
  const ReadBody b = readBody(R"(
BEGIN
  PERFORM f(0);
  BEGIN
    PERFORM f(1);
    IF a THEN PERFORM f(2); END IF;
  EXCEPTION
    WHEN unique_violation OR SQLSTATE '22012' THEN PERFORM f(3);
    WHEN OTHERS THEN RAISE;
  END;
  PERFORM f(4);
END)");
  CHECK(graph(b) == Lines{
                        "0: perform(PERFORM f(0)); -> N1",
                        "1: perform(PERFORM f(1)); condition(a); -> T2 F3 in 0",
                        "2: perform(PERFORM f(2)); -> N3 in 0",
                        "3: -> N6 in 0",
                        "4: perform(PERFORM f(3)); -> N6",
                        "5: raise[rethrow];",
                        "6: perform(PERFORM f(4));",
                    });
  REQUIRE(b.function.exception_scopes.size() == 1);
  const ExceptionScope& scope = b.function.exception_scopes[0];
  CHECK(scope.parent == -1);
  REQUIRE(scope.handlers.size() == 2);
  CHECK(scope.handlers[0].conditions == Lines{"unique_violation", "sqlstate 22012"});
  CHECK(scope.handlers[0].block == 4);
  CHECK(scope.handlers[1].conditions == Lines{"others"});
  CHECK(scope.handlers[1].block == 5);
  CHECK(b.written(scope.range).starts_with("BEGIN PERFORM f(1)"));
  CHECK(b.written(scope.range).ends_with("END;"));
  CHECK(b.written(scope.handlers[1].range).starts_with("WHEN OTHERS THEN RAISE"));
}

TEST_CASE("Scopes within scopes know their parent, within handlers too") {
  const ReadBody b = readBody(R"(
BEGIN
  BEGIN PERFORM f(1); EXCEPTION WHEN a THEN PERFORM f(2); END;
EXCEPTION WHEN b THEN
  BEGIN PERFORM f(3); EXCEPTION WHEN c THEN PERFORM f(4); END;
END)");
  const auto scopeOf = [&](std::string_view call) {
    for (const Block& block : b.function.blocks)
      for (const Event& event : block.events)
        for (const Statement& s : event.statement)
          if (b.written(s.range) == fmt::format("PERFORM {}", call)) return block.scope;
    return -2;
  };
  REQUIRE(b.function.exception_scopes.size() == 3);
  const std::int32_t inner = scopeOf("f(1)"), outer = scopeOf("f(2)"), in_handler = scopeOf("f(3)");
  CHECK(scopeOf("f(4)") == -1);
  REQUIRE(inner >= 0);
  REQUIRE(outer >= 0);
  REQUIRE(in_handler >= 0);
  CHECK(b.function.exception_scopes[static_cast<std::size_t>(inner)].parent == outer);
  CHECK(b.function.exception_scopes[static_cast<std::size_t>(outer)].parent == -1);
  CHECK(b.function.exception_scopes[static_cast<std::size_t>(in_handler)].parent == -1);
}

TEST_CASE("Initial values are computed outside of the block's own EXCEPTION") {
  const ReadBody b = readBody("DECLARE a int := f(1); BEGIN PERFORM f(2); EXCEPTION WHEN OTHERS THEN NULL; END");
  REQUIRE(graph(b).size() >= 2);
  CHECK(graph(b)[0] == "0: default(a int := f(1))>a; -> N1");
  CHECK(graph(b)[1] == "1: perform(PERFORM f(2)); -> N3 in 0");
}

TEST_CASE("RAISE with level EXCEPTION, written or not, ends the path with its condition") {
  const auto raised = [](std::string_view statement) {
    const ReadBody b = readBody(fmt::format("BEGIN {}; END", statement));
    CHECK(b.problems.empty());
    return graph(b);
  };
  CHECK(raised("RAISE EXCEPTION 'busy: %', f(1)") == Lines{"0: raise(f(1)); raise[];"});
  CHECK(raised("RAISE 'busy' USING ERRCODE = '55P03', HINT = f(2)") == Lines{"0: raise(f(2)); raise[sqlstate 55P03];"});
  CHECK(raised("RAISE EXCEPTION 'x' USING ERRCODE = 'Unique_Violation'") == Lines{"0: raise[unique_violation];"});
  CHECK(raised("RAISE division_by_zero") == Lines{"0: raise[division_by_zero];"});
  CHECK(raised("RAISE SQLSTATE '22012'") == Lines{"0: raise[sqlstate 22012];"});
  CHECK(raised("RAISE USING MESSAGE = 'x'") == Lines{"0: raise('x'); raise[];"});
  CHECK(raised("RAISE") == Lines{"0: raise[rethrow];"});
  CHECK(raised("RAISE NOTICE 'got %', pg_try_advisory_lock(1)") == Lines{"0: raise(pg_try_advisory_lock(1));"});
  CHECK(raised("RAISE WARNING 'x'") == Lines{"0:"});
}

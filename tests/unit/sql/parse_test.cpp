// The door to the parser: what it does with text that is not quite SQL, too much of it, or none.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "lower_show.h"

namespace pglocklint::sql {

using show::Sample;

namespace {

std::string repeated(std::string_view part, int times) {
  std::string s;
  s.reserve(part.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) s += part;
  return s;
}

// The depth of an expression tree.
int depth(const Expr& e);
int depth(const Query& q) {
  int d = 0;
  for (const Target& t : q.targets) d = std::max(d, depth(t.expr));
  for (const Expr& w : q.where) d = std::max(d, depth(w));
  for (const Query& a : q.arms) d = std::max(d, depth(a));
  for (const FromItem& f : q.from)
    for (const Query& inner : f.query) d = std::max(d, depth(inner));
  return d + 1;
}
int depth(const Expr& e) {
  int d = 0;
  for (const Expr& a : e.args) d = std::max(d, depth(a));
  for (const Query& q : e.query) d = std::max(d, depth(q));
  return d + 1;
}

std::optional<Query> expression(std::string_view sql) {
  const MappedText text(std::string(sql), 0);
  std::string error;
  return parseExpression(text, LineIndex(text.text()), error);
}

}  // namespace

TEST_CASE("an error names the grammar and the byte") {
  const Sample s("SELECT 'é' FROM t WHERE");
  CHECK(s.parsed.error == fmt::format("PostgreSQL {} grammar: syntax error at end of input", grammarVersion()));
  const Sample t("SELECT 'é' 'x'");
  CHECK(t.parsed.error == fmt::format("PostgreSQL {} grammar: syntax error at or near \"'x'\"", grammarVersion()));
  CHECK(t.text.text().substr(t.parsed.error_offset) == "'x'");
}

TEST_CASE("nothing is no statement") {
  CHECK(Sample("").parsed.events.empty());
  CHECK(Sample("  -- only a comment\n").parsed.events.empty());
  CHECK(Sample("").parsed.error == "");
  CHECK(Sample(std::string("SELECT 1\0 FROM", 14)).parsed.error == "NUL byte in the statement");
}

TEST_CASE("lock calls survive in a statement that is not understood") {
  const Sample s("SELEC pg_advisory_lock(f(1), 2), pg_catalog.pg_try_advisory_lock(x FROM");
  CHECK(s.parsed.error != "");
  CHECK(s.parsed.has_locks);
  const Statement& st = s.statement();
  CHECK(st.kind == StatementKind::NotUnderstood);
  REQUIRE(st.exprs.size() == 2);
  CHECK(show::expr(st.exprs[0]) == "(pg_advisory_lock (f 1) 2)");
  CHECK(s.at(st.exprs[0].range) == "pg_advisory_lock(f(1), 2)");
  CHECK(st.exprs[1].name == "pg_try_advisory_lock");
  CHECK(st.exprs[1].call_id == 1);
  CHECK(Sample("SELEC 1").parsed.events.empty());
  CHECK(Sample("pg_advisory_lock(1)").statement().exprs.size() == 1);
}

TEST_CASE("placeholders stand for values and names") {
  CHECK(show::shape("SELECT pg_advisory_lock(:key) FROM {{ schema }}.jobs WHERE id = ANY(%(ids)s)") ==
        "(select (pg_advisory_lock $:key) (from {{ schema }}.jobs) (where (any = id $%(ids)s)))");
  CHECK(show::shape("UPDATE t SET a = ? WHERE b = ?") == "(update t (set a:$?) (where (= b $?)))");
}

TEST_CASE("an expression is a query level") {
  const auto e = expression("a + pg_advisory_lock(1)");
  REQUIRE(e);
  CHECK(show::query(*e) == "(select (+ a (pg_advisory_lock 1)))");
  CHECK(e->range.begin == 0);
  CHECK(e->targets[0].expr.range.begin == 0);
  CHECK(e->targets[0].expr.args[1].range.begin == 4);
  CHECK(expression("x FROM t WHERE f(x)")->where.size() == 1);
  CHECK_FALSE(expression(")"));
  CHECK_FALSE(expression("1; DROP TABLE t"));
}

TEST_CASE("places survive the decoding of strings") {
  const std::string file = "DO 'SELECT ''é'' || f(''x'')'";
  const MappedText body = decodeString(file.substr(3), 3);
  const LineIndex lines(file);
  const ParsedStatement p = parseStatement(body, lines);
  const Expr& e = p.events.at(0).statement.at(0).query.at(0).targets.at(0).expr;
  CHECK(file.substr(e.args[1].range.begin, e.args[1].range.end - e.args[1].range.begin) == "f(''x'')");
  CHECK(file.substr(e.range.begin, e.range.end - e.range.begin) == "''é'' || f(''x'')");
}

TEST_CASE("type names have one spelling") {
  CHECK(canonicalType("int8") == "bigint");
  CHECK(canonicalType("BIGINT") == "bigint");
  CHECK(canonicalType("pg_catalog.int4") == "integer");
  CHECK(canonicalType("varchar(10)") == "character varying");
  CHECK(canonicalType("character  varying (10)") == "character varying");
  CHECK(canonicalType("timestamp(3) with time zone") == "timestamp with time zone");
  CHECK(canonicalType("timestamptz") == "timestamp with time zone");
  CHECK(canonicalType("timestamp") == "timestamp without time zone");
  CHECK(canonicalType("double precision") == "double precision");
  CHECK(canonicalType("float(10)") == "real");
  CHECK(canonicalType("decimal(10, 2)[]") == "numeric[]");
  CHECK(canonicalType("int[][3]") == "integer[]");
  CHECK(canonicalType("bool ARRAY") == "boolean[]");
  CHECK(canonicalType("app.\"Mood\"") == "app.Mood");
  CHECK(canonicalType("jobs.id%TYPE") == "jobs.id%type");
  CHECK(canonicalType("jobs%ROWTYPE") == "jobs%rowtype");
  CHECK(canonicalType("SETOF int") == "integer");
  CHECK(canonicalType("\"char\"") == "\"char\"");
  CHECK(canonicalType("interval day to second(3)") == "interval");
}

TEST_CASE("long chains neither crash nor nest") {
  const Sample plus("SELECT 1" + repeated(" + 1", 20000));
  REQUIRE(plus.parsed.error == "");
  CHECK(plus.target().args.size() == 20001);
  CHECK(depth(plus.query()) < 10);
  const Sample concat("SELECT 'a'" + repeated(" || 'a'", 5000));
  REQUIRE(concat.parsed.error == "");
  CHECK(concat.target().args.size() == 5001);
  const Sample mixed("SELECT 1" + repeated(" + 1 - f(2)", 2000));
  REQUIRE(mixed.parsed.error == "");
  CHECK(mixed.target().is(ExprKind::Other));
  CHECK(mixed.target().args.size() == 4001);
  const Sample all("SELECT 1" + repeated(" UNION ALL SELECT 1", 5000));
  REQUIRE(all.parsed.error == "");
  CHECK(all.query().arms.size() == 5001);
  const Sample alternating("SELECT 1" + repeated(" UNION ALL SELECT 1 UNION SELECT f(2)", 1000));
  REQUIRE(alternating.parsed.error == "");
  CHECK(depth(alternating.query()) < 10);
  const Sample cases("SELECT x" + repeated("::text", 2000));
  REQUIRE(cases.parsed.error == "");
  CHECK(depth(cases.query()) < 800);
  const Sample joins("SELECT 1 FROM a" + repeated(" JOIN b ON f(1)", 2000));
  REQUIRE(joins.parsed.error == "");
  CHECK(joins.query().from[0].sides.size() == 2001);
  const Sample tests("SELECT x" + repeated(" IS NULL", 2000));
  CHECK(depth(tests.query()) < 800);
  const Sample either("SELECT 1 WHERE a" + repeated(" OR a AND b", 20000));
  REQUIRE(either.parsed.error == "");
  CHECK(either.query().where[0].args.size() == 20001);
}

TEST_CASE("more than can be read is an error, not a crash") {
  CHECK(Sample("SELECT 1" + repeated(" || 'a'", 50000)).parsed.error == "chain of more than 20000 operators");
  CHECK(Sample("SELECT 1" + repeated(" UNION ALL SELECT 1", 50000)).parsed.error == "chain of more than 20000 operators");
  CHECK(Sample("SELECT 1" + repeated(" + 1", 200000)).parsed.error == "statement of more than 250000 tokens");
  CHECK(Sample("SELECT " + repeated("(", 100000) + "1" + repeated(")", 100000)).parsed.error != "");
  const Sample locks("SELECT pg_advisory_lock(7)" + repeated(" + 1", 200000));
  CHECK(locks.parsed.has_locks);
  CHECK(locks.statement().exprs.size() == 1);
  CHECK(Sample("SELECT " + repeated("(", 100000)).parsed.error != "");
}

TEST_CASE("deep nesting is kept flat but its lock calls are kept") {
  const Sample s("SELECT " + repeated("f(", 1500) + "pg_advisory_lock(1)" + repeated(")", 1500));
  REQUIRE(s.parsed.error == "");
  CHECK(s.parsed.has_locks);
  CHECK(depth(s.query()) < 800);
  const Sample queries("SELECT * FROM " + repeated("(SELECT * FROM ", 700) + "t" + repeated(") q", 700));
  REQUIRE(queries.parsed.error == "");
  CHECK(depth(queries.query()) < 800);
}

TEST_CASE("parsing on many threads leaves stderr where it was") {
  struct stat before {
  }, after{};
  REQUIRE(fstat(STDERR_FILENO, &before) == 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) Sample("SELECT pg_advisory_lock(1) FROM t WHERE a = 1");
    });
  for (std::thread& t : threads) t.join();
  REQUIRE(fstat(STDERR_FILENO, &after) == 0);
  CHECK(before.st_dev == after.st_dev);
  CHECK(before.st_ino == after.st_ino);
}

TEST_CASE("work runs on a large stack") {
  struct Job {
    static int sink(volatile char* p, int n) {
      volatile char frame[4096];
      frame[0] = p[0];
      return n == 0 ? frame[0] : sink(frame, n - 1) + 1;
    }
  };
  int result = 0;
  runOnLargeStack(
      [](void* p) {
        volatile char c = 0;
        *static_cast<int*>(p) = Job::sink(&c, 50000);  // 200 MB of frames
      },
      &result);
  CHECK(result == 50000);
}

}  // namespace pglocklint::sql

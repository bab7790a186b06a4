// Expressions: what they become and which text they cover.
#include <doctest/doctest.h>

#include "lower_show.h"

namespace pglocklint::sql {

using show::place;
using show::Sample;
using show::value;

TEST_CASE("literals keep their kind and their value") {
  CHECK(value("42") == "42");
  CHECK(value("-42") == "-42");
  CHECK(value("0") == "0");
  CHECK(value("00042") == "42");
  CHECK(value("+7") == "7");
  CHECK(value("9223372036854775807") == "9223372036854775807");
  CHECK(value("-9223372036854775808") == "-9223372036854775808");
  CHECK(value("123456789012345678901234567890") == "123456789012345678901234567890");
  CHECK(Sample("SELECT 9999999999").target().literal == LiteralKind::Integer);
  CHECK(Sample("SELECT 1.5").target().literal == LiteralKind::Numeric);
  CHECK(Sample("SELECT 1e3").target().literal == LiteralKind::Numeric);
  CHECK(value("'it''s'") == "'it's'");
  CHECK(value("E'a\\nb'") == "'a\nb'");
  CHECK(value("$$x$$") == "'x'");
  CHECK(value("true") == "true");
  CHECK(value("NULL") == "null");
  CHECK(value("B'101'") == "bits:b101");
}

TEST_CASE("hexadecimal, octal, binary and underscored integers are integers with either grammar") {
  CHECK(value("0xCAFE") == "51966");
  CHECK(value("0b101 + 1_000") == "(+ 5 1000)");
  CHECK(value("pg_advisory_lock(0xCAFEBABE99)") == "(pg_advisory_lock 871857045145)");
  CHECK(place("0xCAFE") == "0xCAFE");
}

TEST_CASE("columns keep the last qualifier") {
  CHECK(value("a") == "a");
  CHECK(value("\"A b\"") == "A b");
  CHECK(value("t.A") == "t.a");
  CHECK(value("s.t.a") == "t.a");
  CHECK(value("t.*") == "t.*");
  CHECK(value("(r).field") == "(.field r)");
  CHECK(value("a[1]") == "(at a 1)");
  CHECK(value("(f(x)).b[2:3]") == "(at (.b (f x)) 2 3)");
}

TEST_CASE("a chain of one operator is one node, other chains nest to the left") {
  CHECK(value("a + b + c") == "(+ a b c)");
  CHECK(value("a || 'x' || b") == "(|| a 'x' b)");
  CHECK(value("a + b * c") == "(+ a (* b c))");
  CHECK(value("a - b + c - d") == "(- (+ (- a b) c) d)");
  CHECK(value("a - (b - c)") == "(- a (- b c))");
  CHECK(value("-a") == "(- a)");
  CHECK(value("a AND b AND (c AND d)") == "(and a b c d)");
  CHECK(value("a OR b AND NOT c") == "(or a (and b (not c)))");
}

TEST_CASE("tests and lists") {
  CHECK(value("a IS NULL") == "(is-null a)");
  CHECK(value("a IS NOT NULL") == "(is-not-null a)");
  CHECK(value("a IS NOT FALSE") == "(is-not-false a)");
  CHECK(value("a IS UNKNOWN") == "(is-unknown a)");
  CHECK(value("a IN (1, 2)") == "(in-list a 1 2)");
  CHECK(value("a NOT IN (1)") == "(not-in-list a 1)");
  CHECK(value("a BETWEEN 1 AND 2") == "(between a 1 2)");
  CHECK(value("a NOT BETWEEN SYMMETRIC 1 AND 2") == "(not-between a 1 2)");
  CHECK(value("a = ANY (xs)") == "(any = a xs)");
  CHECK(value("a <> ALL (ARRAY[1, 2])") == "(all <> a (array 1 2))");
  CHECK(value("a LIKE 'x%'") == "(like ~~ a 'x%')");
  CHECK(value("a NOT ILIKE b") == "(not-like !~~* a b)");
  CHECK(value("a IS DISTINCT FROM b") == "(distinct a b)");
  CHECK(value("a IS NOT DISTINCT FROM b") == "(not-distinct a b)");
}

TEST_CASE("conditional expressions") {
  CHECK(value("CASE WHEN a THEN 1 ELSE 2 END") == "(case a 1 2 else)");
  CHECK(value("CASE x WHEN 1 THEN 'a' WHEN 2 THEN 'b' END") == "(case operand x 1 'a' 2 'b')");
  CHECK(value("COALESCE(a, 1)") == "(coalesce a 1)");
  CHECK(value("GREATEST(a, b)") == "(greatest a b)");
  CHECK(value("LEAST(a, b)") == "(least a b)");
  CHECK(value("NULLIF(a, 0)") == "(null-if a 0)");
  CHECK(value("ROW(1, a)") == "(row 1 a)");
  CHECK(value("(1, a)") == "(row 1 a)");
}

TEST_CASE("casts carry the canonical type") {
  CHECK(value("a::int8") == "(cast bigint a)");
  CHECK(value("CAST(a AS varchar(10))") == "(cast character varying a)");
  CHECK(value("bigint '1'") == "(cast bigint '1')");
  CHECK(value("'orders'::regclass::oid::bigint") == "(cast bigint (cast oid (cast regclass 'orders')))");
  CHECK(value("a::numeric(10,2)[]") == "(cast numeric[] a)");
  CHECK(value("a::timestamp(3) with time zone") == "(cast timestamp with time zone a)");
  CHECK(value("a::app.mood") == "(cast app.mood a)");
  CHECK(value("-1::bigint") == "(- (cast bigint 1))");
}

TEST_CASE("calls") {
  CHECK(value("pg_catalog.pg_advisory_lock(1, 2)") == "(pg_catalog.pg_advisory_lock 1 2)");
  CHECK(value("COUNT(*)") == "(count *)");
  CHECK(value("count(DISTINCT a) FILTER (WHERE b)") == "(count distinct a (filter b))");
  CHECK(value("string_agg(a, ',' ORDER BY b DESC NULLS LAST)") == "(string_agg a ',' (order b desc nulls-last))");
  CHECK(value("percentile_cont(0.5) WITHIN GROUP (ORDER BY a)") == "(percentile_cont 0.5 (order a))");
  CHECK(value("f(a, b => 2)") == "(f a b=>2)");
  CHECK(value("f(VARIADIC xs)") == "(f variadic xs)");
  CHECK(value("row_number() OVER (PARTITION BY a ORDER BY b)") == "(row_number over (partition a) (window-order b))");
  CHECK(value("sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b)") == "(sum a over (partition b))");
  CHECK(value("current_date") == "(current_date)");
  CHECK(value("current_timestamp(3)") == "(current_timestamp)");
  CHECK(value("extract(epoch FROM now())") == "(pg_catalog.extract 'epoch' (now))");
  CHECK(Sample("SELECT \"Mixed\"(1)").target().quoted_name);
  CHECK_FALSE(Sample("SELECT mixed(1)").target().quoted_name);
}

TEST_CASE("sub-selects") {
  CHECK(value("(SELECT 1)") == "(scalar (select 1))");
  CHECK(value("EXISTS (SELECT FROM t)") == "(exists (select (from t)))");
  CHECK(value("a IN (SELECT b FROM t)") == "(any = a (select b (from t)))");
  CHECK(value("a < ALL (SELECT 1)") == "(all < a (select 1))");
  CHECK(value("ARRAY(SELECT 1)") == "(array (select 1))");
  CHECK(value("NOT EXISTS (SELECT 1)") == "(not (exists (select 1)))");
}

TEST_CASE("what has no shape keeps its operands") {
  CHECK(value("a COLLATE \"C\"") == "(other:collate a)");
  CHECK(value("xmlforest(pg_advisory_lock(1) AS x)") == "(other:XmlExpr (pg_advisory_lock 1))");
  CHECK(value("GROUPING(a)") == "(other:grouping a)");
  if (grammarVersion() >= 16)
    CHECK(value("JSON_OBJECT('k': pg_try_advisory_lock(1))") == "(other:JsonObjectConstructor 'k' (pg_try_advisory_lock 1))");
}

TEST_CASE("parameters and placeholders are written as in the file") {
  CHECK(value("$1") == "$1");
  CHECK(value("pg_advisory_lock(:id)") == "(pg_advisory_lock $:id)");
  CHECK(value("pg_advisory_lock(%(key)s, ?)") == "(pg_advisory_lock $%(key)s $?)");
  CHECK(value("pg_advisory_lock(@key)") == "(pg_advisory_lock $@key)");
  CHECK(value("pg_advisory_lock({{ key }})") == "(pg_advisory_lock ${{ key }})");
  CHECK(place("f(:id) + 1") == "f(:id) + 1");
  CHECK(value("@ a") == "(@ a)");
}

TEST_CASE("an expression covers its text and no more") {
  for (const std::string_view sql : {"42",
                                     "- 42",
                                     "-(5)",
                                     "a",
                                     "s.t.a",
                                     "\"A b\"",
                                     "(r).field",
                                     "a[1][2]",
                                     "a + b",
                                     "(a + b) * c",
                                     "a * (b + c)",
                                     "((a)) + ((b))",
                                     "pg_advisory_lock(1, 2)",
                                     "pg_catalog . pg_advisory_lock ( 1 )",
                                     "f(g(1), h(2))",
                                     "count(*)",
                                     "current_date",
                                     "current_timestamp(3)",
                                     "extract(epoch FROM now())",
                                     "a IS NOT NULL",
                                     "(a) IS NULL",
                                     "a ISNULL",
                                     "a IS NOT TRUE",
                                     "a IN (1, (2))",
                                     "a NOT IN (1)",
                                     "a BETWEEN 1 AND (2)",
                                     "a = ANY (xs)",
                                     "a LIKE 'x'",
                                     "CASE WHEN a THEN (b) END",
                                     "CASE a WHEN 1 THEN CASE b WHEN 2 THEN 3 END END",
                                     "COALESCE(a, b)",
                                     "NULLIF(a, b)",
                                     "ROW(1, 2)",
                                     "(1, 2)",
                                     "ARRAY[1, ARRAY[2]]",
                                     "a::bigint",
                                     "a::numeric(10, 2)[]",
                                     "CAST(a AS int)",
                                     "a::timestamp(3) with time zone",
                                     "bigint '1'",
                                     "double precision '1'",
                                     "'x'::regclass::oid",
                                     "(SELECT 1)",
                                     "EXISTS (SELECT 1)",
                                     "a IN (SELECT b FROM t)",
                                     "a = ANY (SELECT b)",
                                     "ARRAY(SELECT 1)",
                                     "NOT a",
                                     "a COLLATE \"C\"",
                                     "a AT TIME ZONE 'UTC'",
                                     "(a, b) OVERLAPS (c, d)",
                                     "a /* x */ + -- y\n b",
                                     "'é' || pg_advisory_lock(1)",
                                     "$1",
                                     "f(a => 1)",
                                     "a NOT IN (SELECT 1)"}) {
    CAPTURE(sql);
    CHECK(place(sql) == sql);
    CHECK(place(std::string(sql) + " AS x") == sql);
  }
}

TEST_CASE("a call ends at its bracket, whatever follows") {
  CHECK(place("sum(a) FILTER (WHERE b) OVER w FROM t WINDOW w AS ()") == "sum(a)");
  CHECK(place("1 + sum(a) FILTER (WHERE b) OVER (ORDER BY c)") == "1 + sum(a) FILTER (WHERE b) OVER (ORDER BY c)");
}

TEST_CASE("calls are numbered in the order they are written") {
  const Sample s("SELECT g(f(1)), (SELECT h()) FROM k(2) WHERE i(3) ORDER BY current_date");
  CHECK(s.target(0).call_id == 0);
  CHECK(s.target(0).args[0].call_id == 1);
  CHECK(s.target(1).query[0].targets[0].expr.call_id == 2);
  CHECK(s.query().from[0].functions[0].call_id == 3);
  CHECK(s.query().where[0].call_id == 4);
  CHECK(s.query().order_by[0].expr.call_id == 5);
}

}  // namespace pglocklint::sql

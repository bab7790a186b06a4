// Query levels, DML and the places of their clauses.
#include <doctest/doctest.h>

#include "lower_show.h"

namespace pglocklint::sql {

using show::Sample;
using show::shape;

TEST_CASE("a select lists its clauses") {
  CHECK(shape("SELECT a, b AS x FROM t WHERE c GROUP BY a HAVING d ORDER BY a DESC, x NULLS FIRST LIMIT 5 OFFSET 2") ==
        "(select a x:b (from t) (where c) (group a) (having d) (order a desc x nulls-first) (limit 5) (offset 2))");
  CHECK(shape("SELECT DISTINCT a FROM t") == "(select distinct a (from t))");
  CHECK(shape("SELECT DISTINCT ON (a, b) c FROM t") == "(select (distinct-on a b) c (from t))");
  CHECK(shape("SELECT a FROM t LIMIT ALL") == "(select a (from t) (limit null))");
  CHECK(shape("SELECT a FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES") == "(select a (from t) (order a) (limit 3) with-ties)");
  CHECK(shape("SELECT a FROM t GROUP BY GROUPING SETS ((a), (b, f(c)), ())") == "(select a (from t) (grouping-sets a b (f c)))");
  CHECK(shape("VALUES (1, 'a'), (2, f(3))") == "(values (row 1 'a') (row 2 (f 3)))");
  CHECK(shape("TABLE t") == "(select * (from t))");
  CHECK(shape("SELECT a FROM t FOR UPDATE OF t SKIP LOCKED FOR KEY SHARE NOWAIT") ==
        "(select a (from t) (for update skip of t) (for key share nowait))");
}

TEST_CASE("from items") {
  CHECK(shape("SELECT 1 FROM s.t AS x (a, b), ONLY u") == "(select 1 (from s.t x(a,b) only u))");
  CHECK(shape("SELECT 1 FROM a JOIN b ON c LEFT JOIN d USING (e, f)") ==
        "(select 1 (from (left (inner a b (on c)) d (using e,f))))");
  CHECK(shape("SELECT 1 FROM a CROSS JOIN b NATURAL FULL JOIN c") == "(select 1 (from (natural-full (cross a b) c)))");
  CHECK(shape("SELECT 1 FROM (SELECT 2) q, LATERAL (SELECT q.a) r") ==
        "(select 1 (from {(select 2)} q lateral {(select q.a)} r))");
  CHECK(shape("SELECT 1 FROM (VALUES (1)) v (x)") == "(select 1 (from {(values (row 1))} v(x)))");
  CHECK(shape("SELECT 1 FROM generate_series(1, 3) WITH ORDINALITY AS g (n, o)") ==
        "(select 1 (from (function (generate_series 1 3)) ordinality g(n,o)))");
  CHECK(shape("SELECT 1 FROM ROWS FROM (f(1), g(2)) AS x") == "(select 1 (from (function (f 1) (g 2)) x))");
  CHECK(shape("SELECT 1 FROM t TABLESAMPLE bernoulli (10) REPEATABLE (1)") == "(select 1 (from t sampled))");
}

TEST_CASE("from items cover their text") {
  for (const std::string_view item :
       {"t", "s.t AS x", "ONLY t", "ONLY (t) x", "(SELECT 1) q", "((SELECT 1)) q", "LATERAL (SELECT 1) AS q (a)",
        "f(1) AS x (a, b)", "ROWS FROM (f(1), g(2)) x", "a JOIN b ON (c)", "a JOIN b USING (c)", "LATERAL f(1) WITH ORDINALITY q",
        "t TABLESAMPLE system (1)"}) {
    CAPTURE(item);
    const Sample s("SELECT 1 FROM " + std::string(item) + " WHERE true");
    REQUIRE(s.parsed.error == "");
    CHECK(s.at(s.query().from[0].range) == item);
  }
}

TEST_CASE("set operations of one kind are siblings") {
  CHECK(shape("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3") == "(set-operation union-all (select 1) (select 2) (select 3))");
  CHECK(shape("SELECT 1 UNION SELECT 2 UNION ALL SELECT 3") ==
        "(set-operation union-all (set-operation union (select 1) (select 2)) (select 3))");
  CHECK(shape("(SELECT 1 LIMIT 1) UNION ALL (SELECT 2 UNION ALL SELECT 3) ORDER BY 1 LIMIT 2") ==
        "(set-operation union-all (select 1 (limit 1)) (set-operation union-all (select 2) (select 3)) (order 1) (limit 2))");
  CHECK(shape("SELECT 1 EXCEPT SELECT 2 INTERSECT SELECT 3") ==
        "(set-operation except (select 1) (set-operation intersect (select 2) (select 3)))");
}

TEST_CASE("arms of set operations cover their text") {
  const Sample s(
      "WITH w AS (SELECT 0) SELECT a, b FROM t WHERE c UNION ALL (SELECT 2, 3 LIMIT 1) UNION ALL VALUES (1, 2) ORDER BY 1 LIMIT 7");
  const Query& q = s.query();
  REQUIRE(q.arms.size() == 3);
  CHECK(s.at(q.arms[0].range) == "SELECT a, b FROM t WHERE c");
  CHECK(s.at(q.arms[1].range) == "(SELECT 2, 3 LIMIT 1)");
  CHECK(s.at(q.arms[1].limit_range) == "LIMIT 1");
  CHECK(s.at(q.arms[2].range) == "VALUES (1, 2)");
  CHECK(s.at(q.order_range) == "ORDER BY 1");
  CHECK(s.at(q.limit_range) == "LIMIT 7");
  const Sample mixed("SELECT 1 UNION SELECT 2 EXCEPT SELECT 3");
  CHECK(mixed.at(mixed.query().arms[0].range) == "SELECT 1 UNION SELECT 2");
  CHECK(mixed.at(mixed.query().arms[0].arms[1].range) == "SELECT 2");
}

TEST_CASE("clauses are found with their keywords") {
  const Sample s(
      "SELECT DISTINCT ON (a) a, t.limit AS offset, (SELECT b FROM u ORDER BY c LIMIT 1)\n"
      "FROM t ORDER BY a, f(b ORDER BY c)\n"
      "OFFSET 3 ROWS\n"
      "FETCH NEXT 2 ROWS ONLY\n"
      "FOR NO KEY UPDATE SKIP LOCKED");
  const Query& q = s.query();
  CHECK(s.at(q.distinct_range) == "DISTINCT ON (a)");
  CHECK(s.at(q.order_range) == "ORDER BY a, f(b ORDER BY c)");
  CHECK(s.at(q.offset_range) == "OFFSET 3 ROWS");
  CHECK(s.at(q.limit_range) == "FETCH NEXT 2 ROWS ONLY");
  CHECK(q.limit_range->line == 4);
  CHECK(q.limit_range->column == 1);
  CHECK(s.at(q.locking.at(0).range) == "FOR NO KEY UPDATE SKIP LOCKED");
  const Query& inner = q.targets[2].expr.query[0];
  CHECK(s.at(inner.range) == "SELECT b FROM u ORDER BY c LIMIT 1");
  CHECK(s.at(inner.order_range) == "ORDER BY c");
  CHECK(s.at(inner.limit_range) == "LIMIT 1");
  const Sample bracketed("(SELECT a FROM t ORDER BY b) LIMIT 4");
  CHECK(bracketed.at(bracketed.query().order_range) == "ORDER BY b");
  CHECK(bracketed.at(bracketed.query().limit_range) == "LIMIT 4");
}

TEST_CASE("common table expressions") {
  const Sample s(
      "WITH RECURSIVE a (x) AS (SELECT 1 UNION ALL SELECT x FROM a), b AS NOT MATERIALIZED (DELETE FROM t RETURNING *) SELECT * FROM a, b");
  const Query& q = s.query();
  CHECK(show::query(q) ==
        "(select (with recursive a(x) (set-operation union-all (select 1) (select x (from a)))) "
        "(with recursive b materialized-never (delete t (returning *))) * (from a b))");
  CHECK(s.at(q.ctes[0].range) == "a (x) AS (SELECT 1 UNION ALL SELECT x FROM a)");
  CHECK(s.at(q.ctes[1].range) == "b AS NOT MATERIALIZED (DELETE FROM t RETURNING *)");
  CHECK(s.at(q.ctes[1].name_range) == "b");
  CHECK(s.at(q.ctes[1].query[0].range) == "DELETE FROM t RETURNING *");
  CHECK(s.at(q.ctes[0].query[0].arms[1].range) == "SELECT x FROM a");
}

TEST_CASE("targets have the names PostgreSQL gives them") {
  const Sample s(
      "SELECT a.b, f(1), 1 + 1, x AS y, a::int8, 1::int8, CASE WHEN c THEN 1 END, CASE WHEN c THEN 1 ELSE d END, "
      "(SELECT q), EXISTS (SELECT 1), COALESCE(a, b), ARRAY[1], current_date, (r).f, '1'::text COLLATE \"C\"");
  std::string names;
  for (const Target& t : s.query().targets) names += t.name + " ";
  CHECK(names == "b f ?column? y a int8 case d q exists coalesce array current_date f text ");
}

TEST_CASE("data changes") {
  CHECK(
      shape(
          "INSERT INTO s.t (a, b) VALUES (1, DEFAULT) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b WHERE t.c RETURNING a AS x") ==
      "(insert s.t(a,b) (values (row 1 default)) (conflict update b:excluded.b (where t.c)) (returning x:a))");
  CHECK(shape("INSERT INTO t DEFAULT VALUES ON CONFLICT DO NOTHING") == "(insert t (conflict nothing))");
  CHECK(shape("WITH w AS (SELECT 1) INSERT INTO t AS x SELECT * FROM w") ==
        "(insert (with w (select 1)) t x (select * (from w)))");
  CHECK(
      shape("UPDATE ONLY t AS x SET a = 1, (b, c) = (2, f(3)), (d, e) = (SELECT 4, 5) FROM u WHERE x.id = u.id RETURNING *") ==
      "(update only t x (set a:1 b:2 c:(f 3) d:(scalar (select 4 5)) e:(other:column of a row)) (from u) (where (= x.id u.id)) (returning *))");
  CHECK(shape("DELETE FROM t USING u WHERE t.id = u.id") == "(delete t (from u) (where (= t.id u.id)))");
  CHECK(shape("MERGE INTO t USING u ON t.id = u.id WHEN MATCHED AND u.x THEN UPDATE SET a = 1 WHEN MATCHED THEN DELETE "
              "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1, f(2)) WHEN NOT MATCHED THEN DO NOTHING") ==
        "(merge t (from u) (where (= t.id u.id)) (when matched (if u.x) update a:1) (when matched delete) "
        "(when not-matched insert a:1 b:(f 2)) (when not-matched nothing))");
}

TEST_CASE("a query inside another statement starts at its own keyword") {
  const Sample s("INSERT INTO t (a, b) SELECT 1, (SELECT 2 LIMIT 1) FROM u LIMIT 5 ON CONFLICT DO NOTHING RETURNING a");
  const Query& source = s.query().source.at(0);
  CHECK(s.at(source.range) == "SELECT 1, (SELECT 2 LIMIT 1) FROM u LIMIT 5");
  CHECK(s.at(source.limit_range) == "LIMIT 5");
  CHECK(s.at(s.query().target->range) == "t");
  const Sample explained("EXPLAIN (ANALYZE, VERBOSE) DELETE FROM t WHERE f()");
  CHECK(explained.at(explained.query().range) == "DELETE FROM t WHERE f()");
  const Sample values("INSERT INTO t VALUES ((1)), (2)");
  CHECK(values.at(values.query().source.at(0).range) == "VALUES ((1)), (2)");
}

}  // namespace pglocklint::sql

// Conditions that let the work happen without the lock (AL103), and those that skip both on purpose.
#include <doctest/doctest.h>

#include "small_program.h"

using namespace pglocklint;
using namespace pglocklint::test;

namespace {

constexpr std::string_view kTry = "pg_try_advisory_xact_lock";
Expr tryLock() { return call(std::string(kTry), {column("k")}); }

// IF condition THEN [work] END IF; [work]
std::vector<Finding> checkIf(Expr condition, bool work_inside, bool return_inside = false) {
  Function f;
  f.kind = FunctionKind::Routine, f.name = "f";
  f.blocks.resize(3);
  f.blocks[0].events.emplace_back(statement(select(std::move(condition)), PlContext::Condition));
  f.blocks[0].successors = {{1, EdgeKind::True}, {2, EdgeKind::False}};
  Query work;
  work.kind = QueryKind::Delete, work.target.edit().name = "daily_total";
  if (work_inside) f.blocks[1].events.emplace_back(statement(work, PlContext::Sql, at(5)));
  if (!work_inside) f.blocks[2].events.emplace_back(statement(work, PlContext::Sql, at(8)));
  if (!return_inside) f.blocks[1].successors = {{2, EdgeKind::Next}};
  SmallProgram p(std::move(f));
  p.site(0, 0, kTry);
  return p.check("lock-never-evaluated");
}

}  // namespace

TEST_CASE("IF force OR try THEN work: forced work is done without the lock") {
  const auto found = checkIf(both(ExprKind::Or, column("force"), tryLock()), true);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Error);
  CHECK(found[0].message.find("force") != std::string::npos);
  CHECK(found[0].related.back().where.line == 5);
}

TEST_CASE("IF NOT force AND NOT try THEN RETURN; work: the same") {
  const auto found = checkIf(both(ExprKind::And, negation(column("force")), negation(tryLock())), false, true);
  REQUIRE(found.size() == 1);
  CHECK(found[0].related.back().where.line == 8);
}

TEST_CASE("IF enabled AND try THEN work skips both") {
  CHECK(checkIf(both(ExprKind::And, column("enabled"), tryLock()), true).empty());
}

TEST_CASE("the call comes first, so it always runs") {
  CHECK(checkIf(both(ExprKind::Or, tryLock(), column("force")), true).empty());
}

TEST_CASE("IF try(1) OR try(2) looks for a free slot") {
  Expr other = call("pg_try_advisory_lock", {column("k")}, at(2, 270));
  CHECK(checkIf(both(ExprKind::Or, std::move(other), tryLock()), true).empty());
}

TEST_CASE("work that does not depend on the condition is no bypass of it") {
  CHECK(checkIf(both(ExprKind::Or, column("force"), tryLock()), false).empty());
}

TEST_CASE("CASE WHEN emergency THEN true ELSE try END is a bypass; ELSE NULL is not") {
  Expr c;
  c.kind = ExprKind::Case, c.has_else = true;
  c.args = {column("emergency"), boolean(true), tryLock()};
  CHECK(checkIf(c, true).size() == 1);
  c.args = {column("emergency"), boolean(false), tryLock()};
  CHECK(checkIf(c, true).empty());
}

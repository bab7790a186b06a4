// AL101, AL102, AL103, AL105: what the evaluation of a call makes them say, and where they keep silent.
#include <doctest/doctest.h>

#include "small_program.h"

using namespace pglocklint;
using namespace pglocklint::test;

namespace {

constexpr std::string_view kTry = "pg_try_advisory_lock", kLock = "pg_advisory_lock";

Statement lockEachJob(std::string_view name = kLock) {
  return statement(select(call(std::string(name), {column("id")}), "job"));
}

Evaluation discarded(Cause cause, Sureness sureness = Sureness::Always) {
  Evaluation e;
  e.rows = sureness == Sureness::Always ? Rows::Superset : Rows::PlanDependent;
  e.sureness = sureness, e.position = CallPosition::Where;
  e.rows_blame = {cause, at(7)};
  return e;
}

}  // namespace

TEST_CASE("rows that LIMIT, OFFSET, WITH TIES or SKIP LOCKED discards after the call are an error that shows the clause") {
  for (const Cause cause :
       {Cause::Limit, Cause::Offset, Cause::WithTies, Cause::SkipLocked, Cause::OrderByCall, Cause::LoopPrefetch}) {
    const auto found = checkStatement("lock-before-limit", lockEachJob(), kLock, discarded(cause));
    REQUIRE_MESSAGE(found.size() == 1, nameOf(cause));
    CHECK(found[0].severity == Severity::Error);
    CHECK(found[0].where.line == 2);
    REQUIRE(found[0].related.size() == 1);
    CHECK(found[0].related[0].where.line == 7);
  }
}

TEST_CASE("a LIMIT named second, after a condition, is still a call before LIMIT") {
  Evaluation e = discarded(Cause::OtherCondition);
  e.others.push_back({Cause::Limit, at(9)});
  const auto found = checkStatement("lock-before-limit", lockEachJob(kTry), kTry, e);
  REQUIRE(found.size() == 1);
  CHECK(found[0].related.at(0).where.line == 9);
  CHECK(checkStatement("lock-in-where", lockEachJob(kTry), kTry, e).size() == 1);
}

TEST_CASE("a plain LIMIT over the select list is a warning that says what the manual refuses") {
  Evaluation e;
  e.limited = true, e.sureness = Sureness::NotGuaranteed, e.position = CallPosition::SelectList;
  e.limit_blame = {Cause::Limit, at(4)};
  const auto found = checkStatement("lock-before-limit", lockEachJob(), kLock, e);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Warning);
  CHECK(found[0].message.find("not guaranteed") != std::string::npos);
}

TEST_CASE("exact evaluation is silent under AL101 to AL105") {
  Evaluation e;
  e.order = CallOrder::Defined;
  for (const std::string_view rule :
       {"lock-before-limit", "lock-in-where", "lock-never-evaluated", "unordered-lock-set", "mass-lock"})
    CHECK_MESSAGE(checkStatement(rule, lockEachJob(), kLock, e).empty(), rule);
}

TEST_CASE("where names we do not know decide, nothing is said") {
  Evaluation e = discarded(Cause::Limit);
  e.sureness = Sureness::Unknown, e.whole_relation = true;
  for (const std::string_view rule :
       {"lock-before-limit", "lock-in-where", "lock-never-evaluated", "unordered-lock-set", "mass-lock"})
    CHECK_MESSAGE(checkStatement(rule, lockEachJob(), kLock, e).empty(), rule);
}

TEST_CASE("another condition is an error where it always discards, a warning where cost or plan decide") {
  CHECK(checkStatement("lock-in-where", lockEachJob(kTry), kTry, discarded(Cause::OtherCondition)).at(0).severity ==
        Severity::Error);
  for (const Sureness s : {Sureness::ByCostOrPosition, Sureness::ByPlan})
    CHECK(checkStatement("lock-in-where", lockEachJob(kTry), kTry, discarded(Cause::OtherCondition, s)).at(0).severity ==
          Severity::Warning);
}

TEST_CASE("a call in a select list is no condition, but a condition outside may reject its rows") {
  Evaluation e = discarded(Cause::OuterCondition);
  e.position = CallPosition::SelectList;
  CHECK(checkStatement("lock-in-where", lockEachJob(kTry), kTry, e).at(0).severity == Severity::Error);
  e = discarded(Cause::OtherCondition);
  e.position = CallPosition::SelectList;
  CHECK(checkStatement("lock-in-where", lockEachJob(kTry), kTry, e).empty());
}

TEST_CASE("a call that is dropped is an error; a plan, a preparation or a declared cursor drops nothing") {
  Evaluation e;
  e.runs = Runs::Never;
  for (const Cause cause :
       {Cause::UnreadCte, Cause::ExistsSelectList, Cause::PrunedTarget, Cause::DeadBranch, Cause::LimitZero}) {
    e.runs_blame = {cause, at(6)};
    CHECK_MESSAGE(checkStatement("lock-never-evaluated", lockEachJob(), kLock, e).size() == 1, nameOf(cause));
  }
  for (const Cause cause : {Cause::ExplainOnly, Cause::PrepareOnly, Cause::DeclareOnly, Cause::GuardedBranch}) {
    e.runs_blame = {cause, at(6)};
    CHECK_MESSAGE(checkStatement("lock-never-evaluated", lockEachJob(), kLock, e).empty(), nameOf(cause));
  }
}

TEST_CASE("a release that is never run takes no lock away from anybody") {
  Evaluation e;
  e.runs = Runs::Never, e.runs_blame = {Cause::UnreadCte, at(6)};
  CHECK(checkStatement("lock-never-evaluated", lockEachJob("pg_advisory_unlock"), "pg_advisory_unlock", e).empty());
}

TEST_CASE("every row of a relation, or a long series, is a mass lock") {
  Evaluation e;
  e.whole_relation = true, e.relation = "job";
  const auto found = checkStatement("mass-lock", lockEachJob(), kLock, e);
  REQUIRE(found.size() == 1);
  CHECK(found[0].message.find("every row of job") != std::string::npos);

  Evaluation series;
  series.series = 1000;
  CHECK(checkStatement("mass-lock", lockEachJob(), kLock, series).empty());
  series.series = 1001;
  CHECK(checkStatement("mass-lock", lockEachJob(), kLock, series).size() == 1);
}

TEST_CASE("rows of a transition table or a temporary table were chosen before") {
  Evaluation e;
  e.whole_relation = true, e.relation = "job";
  Function trigger;
  trigger.kind = FunctionKind::Routine, trigger.name = "after_insert", trigger.returns = "trigger";
  SmallProgram p(trigger);
  p.function().blocks[0].events.emplace_back(lockEachJob());
  p.site(0, 0, kLock, e);
  CHECK(p.check("mass-lock").empty());

  SmallProgram q;
  Ddl d;
  d.kind = DdlKind::CreateTable, d.temporary = true, d.name = "job";
  q.program->units[0].ddl.push_back(d);
  q.function().blocks[0].events.emplace_back(lockEachJob());
  q.site(0, 0, kLock, e);
  CHECK(q.check("mass-lock").empty());
}

TEST_CASE("blocking calls for rows without order are reported; try functions, one key and ordered rows are not") {
  Evaluation e;
  e.order = CallOrder::Undefined;
  CHECK(checkStatement("unordered-lock-set", lockEachJob(), kLock, e).size() == 1);
  CHECK(checkStatement("unordered-lock-set", lockEachJob(kTry), kTry, e).empty());

  Evaluation defined = e;
  defined.order = CallOrder::Defined;
  CHECK(checkStatement("unordered-lock-set", lockEachJob(), kLock, defined).empty());

  // WHERE id = … binds the key itself.
  Query q = select(call(std::string(kLock), {column("id")}), "job");
  Expr number;
  number.kind = ExprKind::Const, number.literal = LiteralKind::Integer, number.text = "5";
  Expr equal = both(ExprKind::Op, column("id"), number);
  equal.name = "=";
  q.where.push_back(equal);
  CHECK(checkStatement("unordered-lock-set", statement(q), kLock, e).empty());
}

TEST_CASE("ORDER BY is offered as an edit behind a plain statement whose key is one column") {
  Evaluation e;
  const auto found = checkStatement("unordered-lock-set", lockEachJob(), kLock, e);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].fixes.size() == 1);
  CHECK(found[0].fixes[0].start == 230);
  CHECK(found[0].fixes[0].end == 230);
  CHECK(found[0].fixes[0].text == "\nORDER BY id");

  Statement limited = lockEachJob();
  limited.query[0].distinct = DistinctKind::All;
  const auto other = checkStatement("unordered-lock-set", limited, kLock, e);
  REQUIRE(other.size() == 1);
  CHECK(other[0].fixes.empty());
}

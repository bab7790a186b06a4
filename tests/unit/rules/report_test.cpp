// What every finding carries, whichever rule makes it.
#include <doctest/doctest.h>

#include "small_program.h"

using namespace pglocklint;
using namespace pglocklint::test;

TEST_CASE("a finding about a lock call names rule, place, function and key, and the call as its subject") {
  Function f;
  f.kind = FunctionKind::Routine, f.schema = "app", f.name = "claim", f.blocks.emplace_back();
  SmallProgram p(std::move(f));
  p.function().blocks[0].events.emplace_back(
      statement(select(call("pg_advisory_lock", {column("id")}, at(3, 321, 20)), "job")));
  LockSite& site = p.site(0, 0, "pg_advisory_lock");
  site.key.form = KeyForm::Pair, site.key.class_text = "(1001, *)";

  const RuleInfo info{.code = "AL999", .name = "some-rule", .severity = Severity::Error};
  std::vector<Finding> found;
  Report report(*p.program, info, found);
  report.at(site, at(5, 500, 7), "It goes wrong.");

  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == "some-rule");
  CHECK(found[0].code == "AL999");
  CHECK(found[0].severity == Severity::Error);
  CHECK(found[0].where.file == "a.sql");
  CHECK(found[0].where.line == 5);
  CHECK(found[0].where.begin == 500);
  CHECK(found[0].function == "app.claim");
  CHECK(found[0].key_form == "pair");
  CHECK(found[0].key_text == "(1001, *)");
  CHECK(found[0].subject == "a.sql:321");
  CHECK(found[0].message == "It goes wrong.");
}

TEST_CASE("a finding about a place that is no lock call has that place as its subject") {
  SmallProgram p;
  const RuleInfo info{.code = "AL999", .name = "some-rule", .severity = Severity::Note};
  std::vector<Finding> found;
  Report report(*p.program, info, found);
  report.at(0, at(4, 410, 3), "Here.");
  REQUIRE(found.size() == 1);
  CHECK(found[0].subject == "a.sql:410");
  CHECK(found[0].function.empty());
  CHECK(found[0].key_form.empty());
}

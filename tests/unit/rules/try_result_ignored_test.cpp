// AL309: whose answer is read, and by whom.
#include <doctest/doctest.h>

#include "small_program.h"

using namespace pglocklint;
using namespace pglocklint::test;

namespace {

constexpr std::string_view kTry = "pg_try_advisory_xact_lock", kSession = "pg_try_advisory_lock";
constexpr std::string_view kRule = "try-result-ignored";

Statement tryOf(std::string_view name, PlContext context = PlContext::None) {
  return statement(select(call(std::string(name), {column("k")})), context);
}

Statement work() {
  Query q;
  q.kind = QueryKind::Delete, q.target.edit().name = "session";
  return statement(q, PlContext::None, at(5));
}

TransactionOp transaction(TransactionVerb verb) {
  TransactionOp t;
  t.verb = verb, t.range = at(1);
  return t;
}

// BEGIN; events…; COMMIT
std::vector<Finding> checkScript(std::vector<Event> events, bool begin, std::string_view name, RunnerFacts runner = {},
                                 FunctionKind kind = FunctionKind::Script) {
  Function f;
  f.kind = kind, f.language = "sql", f.blocks.emplace_back();
  if (begin) f.blocks[0].events.emplace_back(transaction(TransactionVerb::Begin));
  for (Event& e : events) f.blocks[0].events.push_back(std::move(e));
  if (begin) f.blocks[0].events.emplace_back(transaction(TransactionVerb::Commit));
  SmallProgram p(std::move(f));
  p.program->units[0].runner = std::move(runner);
  p.site(0, begin ? 1 : 0, name);
  return p.check(kRule);
}

}  // namespace

TEST_CASE("a script that goes on whatever the answer was") {
  const auto found = checkScript({tryOf(kTry), work()}, true, kTry);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Error);
  CHECK(found[0].related.at(0).where.line == 5);
}

TEST_CASE("nothing follows, so nothing is done without the lock") {
  CHECK(checkScript({tryOf(kTry)}, true, kTry).empty());
  CHECK(checkScript({tryOf(kSession)}, false, kSession).empty());
}

TEST_CASE("somebody else reads the row") {
  Statement gset = tryOf(kSession);
  gset.consumer = "gset";
  CHECK(checkScript({gset, work()}, false, kSession).empty());
  CHECK(checkScript({tryOf(kSession), work()}, false, kSession, {}, FunctionKind::NamedQuery).empty());
  Statement bound = tryOf(kSession);
  Expr p;
  p.kind = ExprKind::Param, p.text = ":key";
  bound.query[0].targets[0].expr.args = {p};
  CHECK(checkScript({bound, work()}, false, kSession).empty());
}

TEST_CASE("outside a transaction of the script, a transaction lock needs a runner that tells how the file is run") {
  CHECK(checkScript({tryOf(kTry), work()}, false, kTry).empty());
  RunnerFacts goose;
  goose.profile = "goose", goose.transaction = TransactionMode::OnePerFile;
  CHECK(checkScript({tryOf(kTry), work()}, false, kTry, goose).size() == 1);
  CHECK(checkScript({tryOf(kSession), work()}, false, kSession).size() == 1);
}

TEST_CASE("PERFORM throws the answer away; an INTO variable keeps it if somebody reads it") {
  Function f;
  f.kind = FunctionKind::Routine, f.name = "f", f.language = "plpgsql", f.blocks.emplace_back();
  Variable got;
  got.name = "got", got.type = "boolean";
  f.variables.push_back(got);

  SmallProgram perform(f);
  perform.function().blocks[0].events.emplace_back(tryOf(kTry, PlContext::Perform));
  perform.site(0, 0, kTry);
  CHECK(perform.check(kRule).size() == 1);

  Statement into = tryOf(kTry, PlContext::SelectInto);
  into.into = {"got"};
  SmallProgram unread(f);
  unread.function().blocks[0].events.emplace_back(into);
  unread.site(0, 0, kTry);
  CHECK(unread.check(kRule).size() == 1);

  SmallProgram read(f);
  read.function().blocks[0].events.emplace_back(into);
  read.function().blocks[0].events.emplace_back(statement(select(negation(column("got"))), PlContext::Condition, at(4)));
  read.site(0, 0, kTry);
  CHECK(read.check(kRule).empty());
}

TEST_CASE("a variable that an unread statement may read counts as read") {
  Function f;
  f.kind = FunctionKind::Routine, f.name = "f", f.language = "plpgsql", f.blocks.emplace_back();
  Variable got;
  got.name = "got", got.type = "boolean";
  f.variables.push_back(got);
  SmallProgram p(f);
  Statement into = tryOf(kTry, PlContext::Assign);
  into.into = {"got"};
  Statement dark;
  dark.kind = StatementKind::NotUnderstood;
  p.function().blocks[0].events.emplace_back(into);
  p.function().blocks[0].events.emplace_back(dark);
  p.site(0, 0, kTry);
  CHECK(p.check(kRule).empty());
}

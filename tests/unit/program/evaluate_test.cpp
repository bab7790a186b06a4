// evaluate() on facts made by hand: what the program knows of names decides, and what it does not know makes it careful. The
// shapes that SQL text gives are in tests/evaluation.
#include <doctest/doctest.h>

#include <deque>

#include "program/evaluate.h"

namespace pglocklint {
namespace {

std::uint32_t place = 0;  // every expression gets a place of its own

SourceRange somewhere() {
  SourceRange r;
  r.begin = place, r.end = place + 1, r.line = 1, r.column = ++place, r.end_line = 1, r.end_column = place + 1;
  return r;
}

Expr make(ExprKind kind, std::string name = "") {
  Expr e;
  e.kind = kind, e.name = std::move(name), e.range = somewhere();
  return e;
}

Expr column(std::string name, std::string qualifier = "") {
  Expr e = make(ExprKind::Column, std::move(name));
  e.qualifier = std::move(qualifier);
  return e;
}

Expr integer(std::string text) {
  Expr e = make(ExprKind::Const);
  e.literal = LiteralKind::Integer, e.text = std::move(text);
  return e;
}

Expr null() {
  Expr e = make(ExprKind::Const);
  e.literal = LiteralKind::Null;
  return e;
}

Expr call(std::string name, std::vector<Expr> args, std::string schema = "") {
  Expr e = make(ExprKind::Call, std::move(name));
  e.args = std::move(args), e.qualifier = std::move(schema);
  return e;
}

Expr with(ExprKind kind, std::string name, std::vector<Expr> args) {
  Expr e = make(kind, std::move(name));
  e.args = std::move(args);
  return e;
}

FromItem table(std::string name, std::string alias = "") {
  FromItem f;
  f.kind = FromKind::Relation, f.name = std::move(name), f.alias = std::move(alias), f.range = somewhere();
  return f;
}

Query select(std::vector<Expr> targets, std::vector<FromItem> from = {}, std::vector<Expr> where = {}) {
  Query q;
  for (Expr& t : targets) {
    Target target;
    target.name = t.name;
    target.expr = std::move(t);
    q.targets.push_back(std::move(target));
  }
  q.from = std::move(from), q.where = std::move(where);
  q.range = somewhere();
  return q;
}

Statement statement(Query q, StatementKind kind = StatementKind::Query) {
  Statement s;
  s.kind = kind, s.range = somewhere();
  s.query.push_back(std::move(q));
  return s;
}

// A program with one table jobs(id bigint primary key, state text) and routines as a test adds them.
struct World {
  Catalogue catalogue;
  std::deque<Function> functions;

  World() {
    Relation r;
    r.name = "jobs", r.columns = {{"id", "bigint", true}, {"state", "text", false}}, r.columns_known = true;
    r.unique_keys = {{"id"}}, r.indexes = {{"id"}};
    catalogue.relations.push_back(r);
    catalogue.index();
  }
  Routine& add(std::string name, Volatility volatility, bool locks) {
    Function& f = functions.emplace_back();
    f.kind = FunctionKind::Routine, f.name = std::move(name), f.returns = "boolean", f.language = "plpgsql";
    f.parameters.resize(1);
    Routine r;
    r.function = &f, r.volatility = volatility, r.locks = locks, r.language = f.language;
    catalogue.routines.push_back(r);
    catalogue.index();
    return catalogue.routines.back();
  }
  Evaluation first(const Statement& s) const {
    const std::vector<CallEvaluation> found = evaluate(s, catalogue);
    REQUIRE(!found.empty());
    return found[0].evaluation;
  }
};

TEST_CASE("a lock call is a built-in of pg_catalog or a routine that locks") {
  World w;
  w.add("take", Volatility::Volatile, true);
  w.add("idle", Volatility::Volatile, false);
  CHECK(isLockCall(call("pg_advisory_lock", {integer("1")}), w.catalogue));
  CHECK(isLockCall(call("pg_advisory_unlock", {integer("1")}, "pg_catalog"), w.catalogue));
  CHECK(isLockCall(call("take", {integer("1")}), w.catalogue));
  CHECK_FALSE(isLockCall(call("idle", {integer("1")}), w.catalogue));
  CHECK_FALSE(isLockCall(call("pg_advisory_lock", {integer("1")}, "fake"), w.catalogue));
  CHECK_FALSE(isLockCall(column("pg_advisory_lock"), w.catalogue));
}

TEST_CASE("a statement without lock calls has no evaluations") {
  World w;
  CHECK(evaluate(statement(select({column("id")}, {table("jobs")})), w.catalogue).empty());
}

TEST_CASE("several calls of one statement come in written order, each with its own place") {
  World w;
  const Statement s = statement(select({call("pg_advisory_lock", {integer("2")}), call("pg_advisory_lock", {integer("1")})}));
  const std::vector<CallEvaluation> found = evaluate(s, w.catalogue);
  REQUIRE(found.size() == 2);
  CHECK(found[0].call == &s.query[0].targets[0].expr);
  CHECK(found[1].call == &s.query[0].targets[1].expr);
  CHECK(found[0].evaluation.runs == Runs::Once);
  CHECK(found[0].evaluation.order == CallOrder::Single);
  CHECK(found[0].statement == &s);
}

TEST_CASE("a NULL key: the call never runs, and the NULL is to blame") {
  World w;
  const Statement s = statement(select({call("pg_advisory_lock", {null()})}));
  const Evaluation e = w.first(s);
  CHECK(e.runs == Runs::Never);
  CHECK(e.runs_blame == Blame{Cause::NullKey, s.query[0].targets[0].expr.args[0].range});
}

TEST_CASE("a function that we do not know may be volatile: its sub-select stays a fence and its columns are kept") {
  World w;
  // SELECT 1 FROM (SELECT mystery(pg_try_advisory_lock(id)) FROM jobs) q
  FromItem q;
  q.kind = FromKind::SubQuery, q.alias = "q", q.range = somewhere();
  q.query.push_back(select({call("mystery", {call("pg_try_advisory_lock", {column("id")})})}, {table("jobs")}));
  const Evaluation e = w.first(statement(select({integer("1")}, {q})));
  CHECK(e.runs == Runs::PerRow);
}

TEST_CASE("a STABLE wrapper in a column that nobody reads is dropped, a VOLATILE one is not") {
  for (const Volatility v : {Volatility::Stable, Volatility::Volatile}) {
    World w;
    w.add("wrapper", v, true);
    FromItem q;
    q.kind = FromKind::SubQuery, q.alias = "q", q.range = somewhere();
    q.query.push_back(select({call("wrapper", {column("id")})}, {table("jobs")}));
    const Evaluation e = w.first(statement(select({integer("1")}, {q})));
    CHECK((e.runs == Runs::Never) == (v == Volatility::Stable));
    if (v == Volatility::Stable) CHECK(e.runs_blame.cause == Cause::PrunedTarget);
  }
}

TEST_CASE("an IMMUTABLE wrapper of a constant runs when the statement is planned") {
  World w;
  w.add("frozen", Volatility::Immutable, true);
  const Evaluation explained = w.first(statement(select({call("frozen", {integer("1")})}), StatementKind::Explain));
  CHECK(explained.plan_time);
  CHECK(explained.rows == Rows::Superset);
  const Evaluation column_argument = w.first(statement(select({call("frozen", {column("id")})}, {table("jobs")})));
  CHECK_FALSE(column_argument.plan_time);
}

TEST_CASE("PREPARE and DECLARE run nothing by themselves") {
  World w;
  CHECK(w.first(statement(select({call("pg_advisory_lock", {integer("1")})}), StatementKind::Prepare)).runs_blame.cause ==
        Cause::PrepareOnly);
  CHECK(w.first(statement(select({call("pg_advisory_lock", {integer("1")})}), StatementKind::DeclareCursor)).runs_blame.cause ==
        Cause::DeclareOnly);
}

TEST_CASE("the cost of a routine decides whether a filter runs before it") {
  for (const double cost : {1.0, 100.0}) {
    World w;
    w.add("wrapper", Volatility::Volatile, true).cost = cost;
    Expr same = with(ExprKind::Op, "=", {column("state"), integer("1")});
    const Statement s =
        statement(select({column("id")}, {table("jobs")}, {with(ExprKind::And, "", {same, call("wrapper", {column("id")})})}));
    const Evaluation e = w.first(s);
    CHECK(e.rows == (cost > 1 ? Rows::PlanDependent : Rows::Superset));
    CHECK(e.sureness == (cost > 1 ? Sureness::ByCostOrPosition : Sureness::Always));
    CHECK(e.rows_blame == Blame{Cause::OtherCondition, s.query[0].where[0].args[0].range});
  }
}

TEST_CASE("raising the cost of a built-in in the program counts") {
  World w;
  w.catalogue.builtin_costs["pg_try_advisory_lock"] = 10000;
  Expr same = with(ExprKind::Op, "=", {column("state"), integer("1")});
  const Evaluation e = w.first(statement(
      select({column("id")}, {table("jobs")}, {with(ExprKind::And, "", {same, call("pg_try_advisory_lock", {column("id")})})})));
  CHECK(e.sureness == Sureness::ByCostOrPosition);
}

TEST_CASE("calls found at token level are known to be there, and no more") {
  World w;
  Statement s;
  s.kind = StatementKind::NotUnderstood, s.range = somewhere();
  s.exprs.push_back(call("pg_advisory_lock", {integer("1")}));
  CHECK(w.first(s).sureness == Sureness::Unknown);
}

TEST_CASE("CALL and EXECUTE … USING evaluate their arguments once") {
  World w;
  w.add("take", Volatility::Volatile, true);
  Statement s;
  s.kind = StatementKind::Call, s.range = somewhere();
  s.exprs.push_back(call("take", {integer("1")}));
  CHECK(w.first(s).runs == Runs::Once);
  Statement d;
  d.kind = StatementKind::Utility, d.range = somewhere();
  d.using_args.push_back(call("pg_try_advisory_lock", {integer("1")}));
  CHECK(w.first(d).runs == Runs::Once);
}

TEST_CASE("expressions nested without end are left alone") {
  World w;
  Expr deep = call("pg_advisory_lock", {integer("1")});
  for (int i = 0; i < 3000; ++i) {
    Expr outer = make(ExprKind::Not);
    outer.args.push_back(std::move(deep));
    deep = std::move(outer);
  }
  evaluate(statement(select({deep})), w.catalogue);
}

TEST_CASE("PostgreSQL's own functions: volatility, strictness and kind as in pg_proc") {
  REQUIRE(findBuiltin("hashtext"));
  CHECK(findBuiltin("hashtext")->result == "integer");
  CHECK(findBuiltin("hashtextextended")->result == "bigint");
  CHECK(findBuiltin("random")->volatility == Volatility::Volatile);
  CHECK(findBuiltin("now")->volatility == Volatility::Stable);
  CHECK(findBuiltin("md5")->volatility == Volatility::Immutable);
  CHECK(findBuiltin("max")->kind == BuiltinKind::Aggregate);
  CHECK(findBuiltin("row_number")->kind == BuiltinKind::Window);
  CHECK(findBuiltin("generate_series")->kind == BuiltinKind::SetReturning);
  CHECK_FALSE(findBuiltin("concat")->strict);
  CHECK(findBuiltin("pg_advisory_lock") == nullptr);
  CHECK(findBuiltin("no_such_function") == nullptr);
}

}  // namespace
}  // namespace pglocklint

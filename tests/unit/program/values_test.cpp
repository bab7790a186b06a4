// What a key is made of: constants as PostgreSQL computes them (values_constants.tsv was printed by PostgreSQL 15), columns,
// parameters and variables followed to where they come from, and evidence of NULL.
#include "program/values.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "program/types.h"
#include "program/values_fold.h"
#include "values_expression.h"

using namespace pglocklint;
using test::expr;

namespace {

Column column(const std::string& name, const std::string& type, bool not_null = false) { return {name, type, not_null}; }

Relation table(const std::string& name, std::vector<Column> columns) {
  Relation r;
  r.schema = "public", r.name = name, r.columns = std::move(columns), r.columns_known = true;
  return r;
}

FromItem from(const std::string& name, const std::string& alias = "") {
  FromItem f;
  f.kind = FromKind::Relation, f.name = name, f.alias = alias;
  return f;
}

FromItem join(JoinType type, FromItem left, FromItem right, const std::string& on = "") {
  FromItem f;
  f.kind = FromKind::Join, f.join = type, f.sides = {std::move(left), std::move(right)};
  if (!on.empty()) f.on.push_back(expr(on));
  return f;
}

FromItem derived(Query q, const std::string& alias) {
  FromItem f;
  f.kind = FromKind::SubQuery, f.query = {std::move(q)}, f.alias = alias;
  return f;
}

// SELECT targets FROM items; a target "expression AS name", or "*".
Query select(const std::vector<std::string>& targets, std::vector<FromItem> items = {}, const std::string& where = "") {
  Query q;
  for (const std::string& t : targets) {
    Target target;
    const auto as = t.find(" AS ");
    if (t == "*") target.expr.kind = ExprKind::Star;
    else target.expr = expr(t.substr(0, as));
    target.name = as != std::string::npos ? t.substr(as + 4) : target.expr.name.empty() ? "?column?" : target.expr.name;
    q.targets.push_back(std::move(target));
  }
  q.from = std::move(items);
  if (!where.empty()) q.where.push_back(expr(where));
  return q;
}

Catalogue shop() {
  Catalogue c;
  c.relations.push_back(table("jobs", {column("id", "bigint", true), column("kind", "integer"), column("name", "text", true), column("queue", "varchar(40)")}));
  c.relations.push_back(table("users", {column("id", "integer", true), column("email", "text"), column("job_id", "bigint")}));
  c.index();
  return c;
}

Value in(const Query& q, const std::string& text, const Catalogue& catalogue) {
  ValueScope s;
  s.catalogue = &catalogue, s.levels = {&q};
  return resolve(expr(text), s);
}

std::string shown(const Value& v) { return (v.relation.empty() ? "" : v.relation + ".") + v.name + " " + v.type; }

// A PL/pgSQL function put together statement by statement.
struct Plpgsql {
  Function f;
  Catalogue catalogue = shop();
  Plpgsql() {
    f.kind = FunctionKind::Routine, f.language = "plpgsql", f.name = "take";
    f.blocks.emplace_back();
  }
  Plpgsql& parameter(const std::string& name, const std::string& type, const std::string& initial = "") {
    Parameter p;
    p.name = name, p.type = type;
    if (!initial.empty()) p.default_value.push_back(expr(initial));
    f.parameters.push_back(p);
    return *this;
  }
  Plpgsql& variable(const std::string& name, const std::string& type, const std::string& initial = "") {
    Variable v;
    v.name = name, v.type = type;
    if (!initial.empty()) v.initial.push_back(expr(initial));
    f.variables.push_back(v);
    return *this;
  }
  Plpgsql& statement(PlContext context, Query q, std::vector<std::string> into = {}) {
    Statement s;
    s.kind = StatementKind::Query, s.context = context, s.query = {std::move(q)}, s.into = std::move(into);
    f.blocks[0].events.emplace_back(std::move(s));
    return *this;
  }
  Plpgsql& assign(const std::string& name, const std::string& value) { return statement(PlContext::Assign, select({value}), {name}); }
  Value value(const std::string& text, const List<Value>* arguments = nullptr) const {
    ValueScope s;
    s.catalogue = &catalogue, s.function = &f, s.arguments = arguments;
    return resolve(expr(text), s);
  }
};

}  // namespace

TEST_CASE("constants have the value and type, or the error, that PostgreSQL gives") {
  std::ifstream in(std::string(PGLOCKLINT_SOURCE_DIR) + "/tests/unit/program/values_constants.tsv");
  int rows = 0;
  const Catalogue none;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const auto tab = line.find('\t'), second = line.find('\t', tab + 1);
    const std::string text = line.substr(0, tab), type = line.substr(tab + 1, second - tab - 1), value = line.substr(second + 1);
    CAPTURE(text);
    ++rows;
    ValueScope scope;
    scope.catalogue = &none;
    const Value v = resolve(expr(text), scope);
    CHECK(v.text == value);
    if (type == "error") {
      CHECK(isError(v));
    } else {
      CHECK(isKnown(v));
      CHECK(baseType(v.type == "unknown" ? "text" : v.type) == type);
    }
  }
  CHECK(rows > 200);
}

TEST_CASE("integers in every spelling") {
  const auto number = [](const std::string& s) {
    const Value v = resolve(expr(s), {});
    return v.text + " " + v.type;
  };
  CHECK(number("0x1F") == "31 integer");
  CHECK(number("0o17") == "15 integer");
  CHECK(number("0b101") == "5 integer");
  CHECK(number("1_000_000") == "1000000 integer");
  CHECK(number("0xFFFFFFFF") == "4294967295 bigint");
  CHECK(number("-0x80000000") == "-2147483648 integer");
  CHECK(number("0xFFFFFFFFFFFFFFFF") == "18446744073709551615 numeric");
}

TEST_CASE("a quoted hexadecimal number is one only from PostgreSQL 16 on") {
  const Value v = resolve(expr("'0x1F'::int"), {});
  CHECK(v.kind == ValueKind::Unknown);
  CHECK_FALSE(isError(v));
}

TEST_CASE("columns get relation and type from the catalogue, through aliases") {
  const Catalogue c = shop();
  CHECK(shown(in(select({}, {from("jobs")}), "kind", c)) == "jobs.kind integer");
  CHECK(shown(in(select({}, {from("jobs", "j")}), "j.id", c)) == "jobs.id bigint");
  CHECK(shown(in(select({}, {from("jobs", "j"), from("users", "u")}), "u.id", c)) == "users.id integer");
  CHECK(shown(in(select({}, {from("jobs", "j"), from("users", "u")}), "email", c)) == "users.email text");
  CHECK(shown(in(select({}, {from("elsewhere", "e")}), "e.id", c)) == "elsewhere.id ");
  CHECK(shown(in(select({}, {from("elsewhere")}), "id", c)) == "elsewhere.id ");
}

TEST_CASE("columns lead through derived tables, CTEs, views and VALUES to what they are") {
  Catalogue c = shop();
  Query q = select({}, {derived(select({"id AS k", "kind + 1 AS next"}, {from("jobs")}), "q")});
  CHECK(shown(in(q, "q.k", c)) == "jobs.id bigint");
  CHECK(in(q, "q.next", c).kind == ValueKind::Arithmetic);
  CHECK(shown(in(select({}, {derived(select({"*"}, {from("jobs")}), "q")}), "kind", c)) == "jobs.kind integer");

  Query with = select({}, {from("todo", "t")});
  Cte cte;
  cte.name = "todo", cte.query = {select({"id", "hashtext(name) AS h"}, {from("jobs")})}, cte.column_aliases = {"n"};
  with.ctes.push_back(cte);
  CHECK(shown(in(with, "t.n", c)) == "jobs.id bigint");
  CHECK(in(with, "t.h", c).kind == ValueKind::Hash);

  const Query view = select({"id AS number"}, {from("jobs")});
  Relation v;
  v.kind = RelationKind::View, v.schema = "public", v.name = "open_jobs", v.view = &view;
  c.relations.push_back(v);
  c.index();
  CHECK(shown(in(select({}, {from("open_jobs")}), "number", c)) == "jobs.id bigint");

  Query values;
  values.kind = QueryKind::Values;
  values.rows = {{expr("1")}, {expr("3000000000")}};
  FromItem item;
  item.kind = FromKind::Values, item.query = {values}, item.alias = "v", item.column_aliases = {"n"};
  CHECK(in(select({}, {item}), "v.n", c).type == "bigint");
}

TEST_CASE("functions in FROM give elements with their type") {
  const Catalogue c = shop();
  FromItem series;
  series.kind = FromKind::Function, series.alias = "g", series.functions = {expr("generate_series(1, 10)")};
  CHECK(in(select({}, {series}), "g", c).kind == ValueKind::Row);
  CHECK(in(select({}, {series}), "g", c).type == "integer");
  FromItem unnest;
  unnest.kind = FromKind::Function, unnest.alias = "u", unnest.column_aliases = {"id"}, unnest.functions = {expr("unnest($1::bigint[])")};
  CHECK(in(select({}, {unnest}), "u.id", c).type == "bigint");
}

TEST_CASE("a recursive CTE, or a column that leads to itself, comes to an end") {
  const Catalogue c = shop();
  Query with = select({}, {from("t")});
  Cte cte;
  cte.name = "t", cte.recursive = true;
  Query arms;
  arms.kind = QueryKind::SetOperation, arms.set_operator = SetOperator::Union;
  arms.arms = {select({"1 AS n"}), select({"n + 1 AS n"}, {from("t")})};
  cte.query = {arms};
  with.ctes.push_back(cte);
  CHECK(in(with, "n", c).type == "integer");
  Query self = select({}, {from("s")});
  cte.name = "s", cte.query = {select({"n"}, {from("s")})};
  self.ctes = {cte};
  CHECK(in(self, "s.n", c).kind == ValueKind::Column);
}

TEST_CASE("an outer join makes columns of its nullable side NULL, unless a condition rejects that") {
  const Catalogue c = shop();
  const auto evidence = [&](const Query& q, const std::string& text) { return in(q, text, c).null_evidence; };
  const Query left = select({}, {join(JoinType::Left, from("users", "u"), from("jobs", "j"), "j.id = u.job_id")});
  CHECK(evidence(left, "j.id") == "j is on the nullable side of a LEFT JOIN");
  CHECK(evidence(left, "hashtext('x' || j.name)") == "j is on the nullable side of a LEFT JOIN");
  CHECK(evidence(left, "u.id").empty());
  const Query right = select({}, {join(JoinType::Right, from("users", "u"), from("jobs", "j"), "j.id = u.job_id")});
  CHECK(evidence(right, "u.id") == "u is on the nullable side of a RIGHT JOIN");
  const Query filtered = select({}, {join(JoinType::Left, from("users", "u"), from("jobs", "j"), "j.id = u.job_id")}, "j.kind = 3");
  CHECK(evidence(filtered, "j.id").empty());
  const Query inner = select({}, {join(JoinType::Inner, from("users", "u"), from("jobs", "j"), "j.id = u.job_id")});
  CHECK(evidence(inner, "j.id").empty());
}

TEST_CASE("evidence of NULL passes through strict operations and ends at COALESCE, concat and format") {
  const Catalogue c = shop();
  const Query q = select({}, {from("jobs")});
  const auto evidence = [&](const std::string& text) { return in(q, text, c).null_evidence; };
  const std::string setting = "current_setting('app.tenant', true) is NULL when the setting is missing";
  CHECK(evidence("current_setting('app.tenant', true)") == setting);
  CHECK(evidence("current_setting('app.tenant', true)::bigint") == setting);
  CHECK(evidence("hashtextextended('t:' || current_setting('app.tenant', true), 0)") == setting);
  CHECK(evidence("hashtext(lower(current_setting('app.tenant', true))) + 1") == setting);
  CHECK(evidence("current_setting('app.tenant')").empty());
  CHECK(evidence("hashtext(concat('t:', current_setting('app.tenant', true)))").empty());
  CHECK(evidence("hashtext(format('t:%s', current_setting('app.tenant', true)))").empty());
  CHECK(evidence("COALESCE(current_setting('app.tenant', true), 'none')").empty());
  CHECK(evidence("COALESCE(current_setting('app.tenant', true), NULL)") == setting);
  CHECK(evidence("NULLIF(kind, 0)") == "NULLIF gives NULL when its arguments are equal");
  CHECK(evidence("NULL::bigint") == "NULL is written here");
  CHECK(evidence("to_regclass('jobs')::oid::bigint") == "to_regclass() gives NULL when there is no such relation");
  CHECK(evidence("max(id)") == "max() gives NULL when there is no row");
  CHECK(evidence("count(*)").empty());
  CHECK(evidence("kind").empty());
  CHECK(evidence("id").empty());
  Query grouped = q;
  grouped.group_by = {expr("kind")};
  CHECK(in(grouped, "max(id)", c).null_evidence.empty());
}

TEST_CASE("a scalar sub-select may find no row") {
  const Catalogue c = shop();
  const auto sub = [&](Query q) {
    Expr e;
    e.kind = ExprKind::SubSelect, e.sublink = SubLink::Scalar, e.query = {std::move(q)};
    ValueScope s;
    s.catalogue = &c;
    return resolve(e, s);
  };
  const Value found = sub(select({"id"}, {from("jobs")}, "name = 'x'"));
  CHECK(found.kind == ValueKind::Subquery);
  CHECK(found.type == "bigint");
  CHECK(found.null_evidence == "the sub-select gives NULL when it finds no row");
  CHECK(sub(select({"max(id)"}, {from("jobs")})).null_evidence == "max() gives NULL when there is no row");
  CHECK(sub(select({"count(*)"}, {from("jobs")})).null_evidence.empty());
  CHECK(sub(select({"42"})).kind == ValueKind::Integer);
}

TEST_CASE("sources are named") {
  const auto kind = [](const std::string& text) { return std::string(nameOf(resolve(expr(text), {}).kind)); };
  CHECK(kind("now()") == "clock");
  CHECK(kind("random()") == "random");
  CHECK(kind("gen_random_uuid()") == "random");
  CHECK(kind("pg_backend_pid()") == "process-id");
  CHECK(kind("txid_current()") == "transaction-id");
  CHECK(kind("nextval('s')") == "sequence");
  CHECK(kind("current_setting('a.b')") == "setting");
  CHECK(kind("'jobs'::regclass::oid::bigint") == "oid");
  CHECK(resolve(expr("'Public.\"Jobs\"'::regclass::oid::int"), {}).name == "public.Jobs");
  CHECK(resolve(expr("extract('epoch', now())"), {}).name == "extract(epoch from now())");
}

TEST_CASE("a variable assigned once stands for that value") {
  Plpgsql f;
  f.parameter("p", "bigint").variable("k", "bigint", "4200").variable("h", "integer").variable("twice", "bigint").variable("self", "bigint");
  f.assign("h", "hashtext('job:' || p)").assign("twice", "1").assign("twice", "2").assign("self", "self + 1");
  const Value k = f.value("k");
  CHECK(k.kind == ValueKind::Integer);
  CHECK(k.type == "bigint");
  CHECK(k.constant_name == "k");
  CHECK(f.value("h").kind == ValueKind::Hash);
  CHECK(f.value("h").constant_name == "h");
  CHECK(f.value("take.k").text == "4200");
  CHECK(f.value("twice").kind == ValueKind::Variable);
  CHECK(f.value("twice").type == "bigint");
  CHECK(f.value("self").kind == ValueKind::Arithmetic);  // followed once, not for ever
}

TEST_CASE("a variable that a loop, CALL or second INTO writes stays a variable") {
  Plpgsql f;
  f.variable("i", "integer").variable("k", "bigint", "1").variable("out_value", "bigint", "1");
  f.statement(PlContext::ForRange, select({"1", "10"}), {"i"});
  f.statement(PlContext::SelectInto, select({"id"}, {from("jobs")}), {"k"});
  Statement call;
  call.kind = StatementKind::Call, call.exprs = {expr("fill(out_value)")};
  f.f.blocks[0].events.emplace_back(call);
  CHECK(f.value("i").kind == ValueKind::Variable);
  CHECK(f.value("k").kind == ValueKind::Variable);
  CHECK(f.value("out_value").kind == ValueKind::Variable);
}

TEST_CASE("a parameter that is assigned to is no longer the caller's value") {
  Plpgsql f;
  f.parameter("a", "bigint").parameter("b", "bigint").assign("a", "a + 1");
  CHECK(f.value("a").kind == ValueKind::Variable);
  CHECK(f.value("b").kind == ValueKind::Parameter);
}

TEST_CASE("SELECT INTO and loops over a query give its columns") {
  Plpgsql f;
  f.variable("v", "bigint").variable("r", "record").variable("s", "record");
  f.statement(PlContext::SelectInto, select({"id"}, {from("jobs")}, "name = 'x'"), {"v"});
  f.statement(PlContext::ForQuery, select({"id", "name AS label"}, {from("jobs", "j")}), {"r"});
  f.statement(PlContext::ForQuery, select({"*"}, {from("jobs")}), {"s"});
  CHECK(shown(f.value("v")) == "jobs.id bigint");
  CHECK(f.value("v").null_evidence == "INTO leaves v NULL when no row is found");
  CHECK(shown(f.value("r.id")) == "jobs.id bigint");
  CHECK(shown(f.value("r.label")) == "jobs.name text");
  CHECK(f.value("r.id").null_evidence.empty());
  CHECK(shown(f.value("s.kind")) == "jobs.kind integer");
}

TEST_CASE("a function that asks IS NULL or FOUND has dealt with NULL") {
  const auto evidence = [](PlContext context, const std::string& condition) {
    Plpgsql f;
    f.variable("v", "bigint");
    f.statement(PlContext::SelectInto, select({"id"}, {from("jobs")}, "name = 'x'"), {"v"});
    Query q = select({"1"});
    if (condition == "IS NULL") {
      q.targets[0].expr.kind = ExprKind::NullTest, q.targets[0].expr.args = {expr("v")};
    } else if (!condition.empty()) {
      q = select({condition});
    }
    f.statement(context, q);
    return f.value("v").null_evidence;
  };
  CHECK_FALSE(evidence(PlContext::Condition, "").empty());
  CHECK(evidence(PlContext::Condition, "IS NULL").empty());
  CHECK(evidence(PlContext::Condition, "found").empty());
}

TEST_CASE("a bare name is a column where a relation is known to have it, else the variable") {
  Plpgsql f;
  f.parameter("id", "integer").parameter("tenant", "text");
  Query q = select({}, {from("jobs")});
  Query unknown = select({}, {from("elsewhere")});
  ValueScope s;
  s.catalogue = &f.catalogue, s.function = &f.f, s.levels = {&q};
  CHECK(shown(resolve(expr("id"), s)) == "jobs.id bigint");
  CHECK(resolve(expr("tenant"), s).kind == ValueKind::Parameter);
  CHECK(shown(resolve(expr("take.id"), s)) == "id integer");
  s.levels = {&unknown};
  CHECK(resolve(expr("id"), s).kind == ValueKind::Parameter);
}

TEST_CASE("parameters become the arguments of a known call") {
  Plpgsql f;
  f.parameter("p", "bigint").parameter("tenant", "text");
  Value number = constantOf(ValueKind::Integer, "7", "integer"), text = constantOf(ValueKind::Text, "acme", "unknown");
  number.constant_name = "kJobs";
  const List<Value> arguments{number, text};
  const Value p = f.value("p", &arguments);
  CHECK(p.text == "7");
  CHECK(p.type == "bigint");
  CHECK(p.from_argument);
  CHECK(p.constant_name == "kJobs");
  const Value hash = f.value("hashtext('t:' || tenant)", &arguments);
  CHECK(hash.text == std::to_string(hashtext("t:acme")));
  CHECK(hash.from_argument);
  CHECK(f.value("$1", &arguments).text == "7");
}

TEST_CASE("DEFAULT NULL is evidence unless the function is strict or asks") {
  Plpgsql f;
  f.parameter("p", "bigint", "NULL");
  CHECK(f.value("p").null_evidence == "parameter p is NULL when the caller leaves it out (DEFAULT NULL)");
  f.f.strict = true;
  CHECK(f.value("p").null_evidence.empty());
}

TEST_CASE("EXECUTE … USING hands its values to $n") {
  Plpgsql f;
  f.variable("k", "bigint", "99");
  Statement s;
  s.dynamic = true, s.using_args = {expr("k")};
  ValueScope scope;
  scope.catalogue = &f.catalogue, scope.function = &f.f, scope.statement = &s;
  CHECK(resolve(expr("$1"), scope).text == "99");
  CHECK(resolve(expr("$2"), scope).type == "unknown");
  // Put in place by the front end, it still is the variable, even beside a relation that we do not know.
  Query q = select({}, {from("elsewhere")});
  scope.levels = {&q};
  Expr name = expr("k");
  name.range.begin = 40, name.range.end = 41, name.range.line = 3;
  CHECK(resolve(name, scope).kind == ValueKind::Column);
  s.using_args[0].range = name.range;
  CHECK(resolve(name, scope).text == "99");
}

TEST_CASE("functions of one expression are looked into") {
  Function number, key, loop;
  number.kind = key.kind = loop.kind = FunctionKind::Routine;
  number.name = "jobs_key", number.language = "sql", number.returns = "bigint";
  key.name = "tenant_key", key.language = "plpgsql", key.returns = "bigint";
  loop.name = "loop", loop.language = "sql", loop.returns = "bigint";
  Parameter t;
  t.name = "tenant", t.type = "text";
  key.parameters = {t};
  const Query body = select({"815"}), again = select({"loop()"});
  Statement ret;
  ret.kind = StatementKind::Query, ret.context = PlContext::Return, ret.query = {select({"hashtextextended('t:' || tenant, 0)"})};
  key.blocks.emplace_back();
  key.blocks[0].events.emplace_back(ret);
  Catalogue c;
  const auto add = [&](const Function& f, const Query* q) {
    Routine r;
    r.function = &f, r.language = f.language, r.inline_body = q;
    c.routines.push_back(r);
  };
  add(number, &body), add(loop, &again), add(key, nullptr);
  c.index();
  ValueScope s;
  s.catalogue = &c;
  const Value n = resolve(expr("jobs_key()"), s);
  CHECK(n.text == "815");
  CHECK(n.type == "bigint");
  CHECK(n.constant_name == "jobs_key");
  const Value k = resolve(expr("tenant_key(email)"), s);
  CHECK(k.kind == ValueKind::Hash);
  CHECK(classText(k) == "hashtextextended(\"t:\" || *)");
  CHECK(resolve(expr("tenant_key('acme')"), s).text == std::to_string(hashtextextended("t:acme", 0)));
  CHECK(resolve(expr("loop()"), s).kind == ValueKind::Call);
  CHECK(resolve(expr("elsewhere(1)"), s).kind == ValueKind::Call);
}

TEST_CASE("expressions that double at every step do not run for ever") {
  Plpgsql f;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "v" + std::to_string(i), next = "v" + std::to_string(i + 1);
    f.variable(name, "bigint");
    f.assign(name, next + " + " + next);
  }
  f.variable("v40", "bigint").parameter("p", "bigint");
  const Value v = f.value("v0");
  CHECK(v.type == "bigint");
}

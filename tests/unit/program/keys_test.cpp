// The key forms PostgreSQL chooses (SEMANTICS S30 and S31, line by line), key classes, and what rules ask of keys.
#include "program/keys.h"

#include <doctest/doctest.h>

#include "values_expression.h"

using namespace pglocklint;
using test::expr;

namespace {

LockKey keyOf(std::string arguments) {
  static const Catalogue kEmpty;
  ValueScope scope;
  scope.catalogue = &kEmpty;
  return resolveKey(expr("pg_advisory_xact_lock(" + arguments + ")"), scope);
}

Value valueOf(const std::string& text) {
  static const Catalogue kEmpty;
  ValueScope scope;
  scope.catalogue = &kEmpty;
  return resolve(expr(text), scope);
}

std::string chosen(const std::string& arguments) {
  const LockKey key = keyOf(arguments);
  if (!key.error.empty()) return key.error;
  return key.form == KeyForm::Bigint ? "(bigint)" : key.form == KeyForm::Pair ? "(int4,int4)" : std::string(nameOf(key.form));
}

std::string missing(const std::string& types) { return "function pg_advisory_xact_lock(" + types + ") does not exist"; }

// A function whose parameters the expression may name.
struct WithParameters {
  Function function;
  Catalogue catalogue;
  // Each "name type".
  explicit WithParameters(std::initializer_list<std::string> parameters) {
    function.kind = FunctionKind::Routine, function.language = "sql", function.name = "f";
    for (const std::string& parameter : parameters) {
      const auto space = parameter.find(' ');
      const std::string name = parameter.substr(0, space), type = parameter.substr(space + 1);
      Parameter p;
      p.name = name, p.type = type;
      function.parameters.push_back(p);
    }
  }
  ValueScope scope() const {
    ValueScope s;
    s.catalogue = &catalogue, s.function = &function;
    return s;
  }
  LockKey key(const std::string& arguments) const { return resolveKey(expr("pg_advisory_lock(" + arguments + ")"), scope()); }
  Value value(const std::string& text) const { return resolve(expr(text), scope()); }
};

}  // namespace

TEST_CASE("PostgreSQL's choice between (bigint) and (integer, integer)") {
  CHECK(chosen("1") == "(bigint)");
  CHECK(chosen("1,2") == "(int4,int4)");
  CHECK(chosen("'1'") == "(bigint)");
  CHECK(chosen("'1','2'") == "(int4,int4)");
  CHECK(chosen("'abc'") == "invalid input syntax for type bigint: \"abc\"");
  CHECK(chosen("1::smallint") == "(bigint)");
  CHECK(chosen("1.5") == missing("numeric"));
  CHECK(chosen("1::numeric") == missing("numeric"));
  CHECK(chosen("1.0") == missing("numeric"));
  CHECK(chosen("1::float8") == missing("double precision"));
  CHECK(chosen("1::bigint,2") == missing("bigint, integer"));
  CHECK(chosen("1::bigint,2::bigint") == missing("bigint, bigint"));
  CHECK(chosen("1::smallint,2::smallint") == "(int4,int4)");
  CHECK(chosen("2147483648,1") == missing("bigint, integer"));
  CHECK(chosen("1,2,3") == missing("integer, integer, integer"));
  CHECK(chosen("'jobs'::regclass") == missing("regclass"));
  CHECK(chosen("'jobs'::regclass::oid") == missing("oid"));
  CHECK(chosen("'jobs'::regclass::int") == "(bigint)");
  CHECK(chosen("'jobs'::regclass::oid,1") == missing("oid, integer"));
  CHECK(chosen("'jobs'::regclass::oid::int,1") == "(int4,int4)");
  CHECK(chosen("'jobs'::regclass,1") == missing("regclass, integer"));
  CHECK(chosen("hashtext('x')") == "(bigint)");
  CHECK(chosen("hashtext('a'),hashtext('b')") == "(int4,int4)");
  CHECK(chosen("hashtextextended('x',0)") == "(bigint)");
  CHECK(chosen("hashtextextended('x',0),1") == missing("bigint, integer"));
  CHECK(chosen("hashtext('x'),42::bigint") == missing("integer, bigint"));
  CHECK(chosen("'x'::text") == missing("text"));
  CHECK(chosen("true") == missing("boolean"));
  CHECK(chosen("now()") == missing("timestamp with time zone"));
  CHECK(chosen("extract('epoch', now())") == missing("numeric"));
  CHECK(chosen("extract('epoch', now())::bigint") == "(bigint)");
  CHECK(chosen("extract('epoch', now())::int") == "(bigint)");
  CHECK(chosen("floor(random()*1000)") == missing("double precision"));
  CHECK(chosen("(random()*1000)::int") == "(bigint)");
  CHECK(chosen("pg_backend_pid()") == "(bigint)");
  CHECK(chosen("txid_current()") == "(bigint)");
  CHECK(chosen("pg_current_xact_id()") == missing("xid8"));
  CHECK(chosen("('x'||substr(md5('k'),1,16))::bit(64)::bigint") == "(bigint)");
  CHECK(chosen("('x'||md5('k'))::bit(32)::int") == "(bigint)");
  CHECK(chosen("md5('k')::uuid") == missing("uuid"));
  CHECK(chosen("uuid_hash(md5('k')::uuid)") == "(bigint)");
  CHECK(chosen("99999999999999999999") == missing("numeric"));
  CHECK(chosen("'99999999999999999999'") == "value \"99999999999999999999\" is out of range for type bigint");
  CHECK(chosen("-1") == "(bigint)");
  CHECK(chosen("'a'::\"char\"") == missing("\"char\""));
  CHECK(chosen("row(1)") == missing("record"));
  CHECK(chosen("NULL") == "(bigint)");
  CHECK(chosen("ARRAY[1]") == missing("integer[]"));
  CHECK(chosen("9223372036854775808") == missing("numeric"));
  CHECK(chosen("-9223372036854775808") == "(bigint)");
  CHECK(chosen("array_length(ARRAY[1],1)") == "(bigint)");
  CHECK(chosen("1 + 2147483648") == "(bigint)");
  CHECK(chosen("count(*)") == "(bigint)");
}

TEST_CASE("placeholders take the type the lock function wants") {
  CHECK(chosen("$1") == "(bigint)");
  CHECK(keyOf("$1").parts[0].type == "bigint");
  CHECK(chosen("$1,$2") == "(int4,int4)");
  CHECK(chosen("$1,hashtext($2)") == "(int4,int4)");
  CHECK(chosen("$1::int") == "(bigint)");
  CHECK(chosen("hashtext($1)") == "(bigint)");
  CHECK(chosen("hashtext('a'||$1)") == "(bigint)");
  CHECK(chosen("$1+1") == "(bigint)");
  CHECK(chosen("hashtextextended($1,$2)") == "(bigint)");
  CHECK(chosen("$1,1::bigint") == missing("unknown, bigint"));
}

TEST_CASE("values that PostgreSQL refuses although the types fit") {
  CHECK(chosen("2147483647 + 1") == "integer out of range");
  CHECK(chosen("1/0") == "division by zero");
  CHECK(chosen("'2147483648','1'") == "value \"2147483648\" is out of range for type integer");
  CHECK(chosen("4294967296::int") == "integer out of range");
  CHECK(chosen("1::bigint << 2::bigint") == "operator does not exist: bigint << bigint");
  CHECK(chosen("hashtext(1)") == "function hashtext(integer) does not exist");
}

TEST_CASE("a type of the project leaves the number of arguments to decide") {
  const WithParameters f({"id tenant_id", "n bigint"});
  CHECK(f.key("id").form == KeyForm::Bigint);
  CHECK(f.key("id, 1").form == KeyForm::Pair);
  CHECK(f.key("id, n").form == KeyForm::NoOverload);
}

TEST_CASE("unlock_all has no key") {
  Expr call = expr("pg_advisory_unlock_all()");
  CHECK(resolveKey(call, {}).form == KeyForm::None);
  CHECK(resolveKey(expr("pg_advisory_unlock_all(1)"), {}).error == "function pg_advisory_unlock_all(integer) does not exist");
}

TEST_CASE("implicit conversions are recorded on the way into the lock") {
  const WithParameters f({"id integer"});
  const Value part = f.key("id").parts[0];
  CHECK(part.kind == ValueKind::Cast);
  CHECK(part.implicit);
  CHECK(part.type == "bigint");
  CHECK(part.args[0].name == "id");
  const Value hash = f.key("hashtext('x')").parts[0];
  CHECK(hash.kind == ValueKind::Cast);
  CHECK(hash.args[0].kind == ValueKind::Hash);
  CHECK(constantInteger(hash) == hashtext("x"));
  CHECK(f.key("4200").parts[0].kind == ValueKind::Integer);
}

TEST_CASE("key classes keep what is constant and write * for what varies") {
  const WithParameters f({"tenant text", "id integer", "big bigint"});
  CHECK(f.key("4200").class_text == "(4200)");
  CHECK(f.key("0, 4200").class_text == "(0, 4200)");
  CHECK(f.key("1001, id").class_text == "(1001, *)");
  CHECK(f.key("big").class_text == "(*)");
  CHECK(f.key("hashtext('tenant:' || tenant)").class_text == "(hashtext(\"tenant:\" || *))");
  CHECK(f.key("hashtext(format('tenant:%s', tenant))").class_text == "(hashtext(\"tenant:\" || *))");
  CHECK(f.key("hashtext(concat('tenant:', tenant))").class_text == "(hashtext(\"tenant:\" || *))");
  CHECK(f.key("hashtextextended('t:' || big, 0)").class_text == "(hashtextextended(\"t:\" || *))");
  CHECK(f.key("hashtextextended('t:' || big, 7)").class_text == "(hashtextextended(\"t:\" || *, 7))");
  CHECK(f.key("hashtext('jobs')").class_text == "(-1679774495)");
  CHECK(f.key("(5::bigint << 32) | id").class_text == "(21474836480 | *)");
  CHECK(f.key("big # big").class_text == "(*)");
  CHECK(f.key("abs(hashtext('q:' || tenant))").class_text == "(abs(hashtext(\"q:\" || *)))");
  CHECK(f.key("CASE WHEN id = 1 THEN 7 ELSE 7 END").class_text == "(7)");
  CHECK(f.key("CASE WHEN id = 1 THEN 7 ELSE 8 END").class_text == "(*)");
  CHECK(f.key("hashtext('jobs')").constant);
  CHECK_FALSE(f.key("1001, id").constant);
}

TEST_CASE("integer ranges follow masks, remainders and shifts") {
  const WithParameters f({"id integer", "big bigint", "t text", "small smallint"});
  const auto range = [&](const std::string& text) {
    const auto r = integerRange(f.value(text));
    return r ? std::to_string(r->low) + ".." + std::to_string(r->high) : "?";
  };
  CHECK(range("small") == "-32768..32767");
  CHECK(range("big & 255") == "0..255");
  CHECK(range("big % 1000") == "-999..999");
  CHECK(range("abs(small)") == "-32768..32767");  // abs(-32768) is an error; the type bounds it
  CHECK(range("small::bigint << 8") == "-8388608..8388352");
  CHECK(range("small::int + 1") == "-32767..32768");
  CHECK(range("hashtext(t)") == "-2147483648..2147483647");
  CHECK(range("('x'||md5(t))::bit(24)::int") == "0..16777215");
  CHECK(range("t") == "?");
  CHECK(significantBits(f.value("big & 65535")) == 16);
  CHECK(significantBits(f.value("id")) == 32);
  CHECK(significantBits(f.value("big")) == 64);
}

TEST_CASE("32-bit hashes are recognised in every disguise") {
  const WithParameters f({"t text", "id bigint"});
  CHECK(isHash32(f.value("hashtext(t)")));
  CHECK(isHash32(f.value("hashtext(t)::bigint")));
  CHECK(isHash32(f.value("abs(hashtext(t))")));
  CHECK(isHash32(f.value("hashtext(t) & 2147483647")));
  CHECK(isHash32(f.value("('x'||md5(t))::bit(32)::int")));
  CHECK(isHash32(f.value("hashtextextended(t, 0) & 1023")));
  CHECK_FALSE(isHash32(f.value("hashtextextended(t, 0)")));
  CHECK_FALSE(isHash32(f.value("('x'||md5(t))::bit(64)::bigint")));
  CHECK_FALSE(isHash32(f.value("id")));
  CHECK(undocumentedHash(f.value("abs(hashtext(t))"))->name == "hashtext");
  CHECK(undocumentedHash(f.value("hashtextextended(t, 0)")) == nullptr);
  CHECK(undocumentedHash(f.value("('x'||md5(t))::bit(32)::int")) == nullptr);
}

TEST_CASE("keys that differ between runs name their source") {
  CHECK(unstablePart(valueOf("extract('epoch', now())::bigint"))->kind == ValueKind::Clock);
  CHECK(unstablePart(valueOf("(random() * 1000)::int"))->kind == ValueKind::Random);
  CHECK(unstablePart(valueOf("pg_backend_pid()"))->kind == ValueKind::ProcessId);
  CHECK(unstablePart(valueOf("hashtext('x' || txid_current())"))->kind == ValueKind::TransactionId);
  CHECK(unstablePart(valueOf("hashtext('x')")) == nullptr);
}

TEST_CASE("one key in both forms") {
  const WithParameters f({"t text", "u text"});
  const auto mixed = [&](const std::string& bigint, const std::string& pair) { return mixedForms(f.key(bigint), f.key(pair)); };
  CHECK(mixed("4294967298", "1, 2") == MixedForms::SameBits);
  CHECK(mixed("(7::bigint << 32) | 9", "7, 9") == MixedForms::SameBits);
  CHECK(mixed("-1", "-1, -1") == MixedForms::SameBits);
  CHECK(mixed("2", "0, 2") == MixedForms::None);  // small numbers meet by accident
  CHECK(mixed("hashtext('jobs')", "1, hashtext('jobs')") == MixedForms::SameText);
  CHECK(mixed("hashtextextended('job:' || t, 0)", "1, hashtext('job:' || u)") == MixedForms::SameText);
  CHECK(mixed("hashtext('job:' || t)", "1, hashtext('user:' || t)") == MixedForms::None);
  CHECK(mixed("hashtext(t)", "1, hashtext(t)") == MixedForms::None);
  CHECK(mixed("42", "1, 2") == MixedForms::None);
}

TEST_CASE("parts joined without a separator") {
  const WithParameters f({"a text", "b text", "id integer", "u uuid"});
  const auto kind = [&](const std::string& text) {
    const auto found = ambiguousComposition(f.value(text));
    return found ? std::string(nameOf(found->kind)) : "none";
  };
  CHECK(kind("hashtext(a || b)") == "no-separator");
  CHECK(kind("hashtextextended('job:' || a || b, 0)") == "no-separator");
  CHECK(kind("hashtext(concat(a, b))") == "no-separator");
  CHECK(kind("hashtext(format('%s%s', a, b))") == "no-separator");
  CHECK(kind("hashtext(a || id)") == "no-separator");
  CHECK(kind("('x' || md5(a || b))::bit(64)::bigint") == "no-separator");
  CHECK(kind("hashtext(a || ':' || b)") == "none");
  CHECK(kind("hashtext(concat_ws(':', a, b))") == "none");
  CHECK(kind("hashtext(format('%s/%s', a, b))") == "none");
  CHECK(kind("hashtext(u::text || a)") == "none");
  CHECK(kind("hashtext(md5(a) || b)") == "none");
  CHECK(kind("hashtext(a || to_char(now(), 'YYYYMMDD'))") == "none");
  CHECK(kind("hashtext('x' || a)") == "none");
  CHECK(kind("hashtext('x' || 'y')") == "none");
  CHECK(kind("hashtext(quote_literal(a) || quote_literal(b))") == "none");
  CHECK(ambiguousComposition(f.value("hashtext(a || b)"))->why ==
        "a and b are joined without a separator: ('ab', 'c') and ('a', 'bc') give the same text");
}

TEST_CASE("numbers packed so that two inputs meet") {
  const WithParameters f({"a integer", "b integer", "s smallint", "big bigint", "t text", "u text"});
  const auto kind = [&](const std::string& text) {
    const auto found = ambiguousComposition(f.value(text));
    return found ? std::string(nameOf(found->kind)) : "none";
  };
  CHECK(kind("1000000 * a + b") == "packed");
  CHECK(kind("a::bigint * 1000000 + b") == "packed");
  CHECK(kind("a * 31 + b") == "packed");
  CHECK(kind("a + b") == "packed");
  CHECK(kind("hashtext(t) # hashtext(u)") == "packed");
  CHECK(kind("(hashtext(t)::bigint << 32) | hashtext(u)") == "packed");  // a negative hash sets all upper bits
  CHECK(kind("(big << 32) | big") == "none");                            // one input
  CHECK(kind("(a::bigint << 32) | b") == "beyond-width");
  CHECK(kind("(a::bigint << 32) + b") == "none");                        // negative b borrows, and is still told apart
  CHECK(kind("(a::bigint << 32) | (b::bigint & 4294967295)") == "none");
  CHECK(kind("a::bigint * 1000 + b % 500") == "none");
  CHECK(kind("a::bigint * 65536 + s") == "none");
  CHECK(kind("a::bigint * 4294967296 + b") == "none");
  CHECK(kind("5000000 + a") == "none");
  CHECK(kind("big # (big >> 32)") == "none");
  CHECK(kind("(7::bigint << 32) | a") == "none");
}

TEST_CASE("conversions that lose bits") {
  const WithParameters f({"id integer", "big bigint", "n numeric", "t text"});
  const auto lost = [&](const std::string& text) {
    std::string out;
    const Value value = f.value(text);  // narrowings point into it
    for (const Narrowing& n : narrowings(value))
      out += n.from + " to " + n.to + (n.implicit ? " implicit" : " written") + (n.plain_input ? " of " + n.operand->name : "");
    return out;
  };
  CHECK(lost("big::int") == "bigint to integer written of big");
  CHECK(lost("n::bigint") == "numeric to bigint written of n");
  CHECK(lost("id::smallint") == "integer to smallint written of id");
  CHECK(lost("(big & 65535)::int") == "");
  CHECK(lost("(big % 1000)::int") == "");
  CHECK(lost("id::bigint") == "");
  CHECK(lost("5::smallint") == "");
  CHECK(lost("(hashtextextended(t, 0) >> 33)::int") == "");
}

TEST_CASE("wide ids folded to 32 bits") {
  const WithParameters f({"id integer", "big bigint", "u uuid", "t text"});
  CHECK(foldsWideId(f.value("hashint8(big)")) != nullptr);
  CHECK(foldsWideId(f.value("uuid_hash(u)")) != nullptr);
  CHECK(foldsWideId(f.value("(big % 1000)::int")) != nullptr);
  CHECK(foldsWideId(f.value("(big & 2147483647)::int")) != nullptr);
  CHECK(foldsWideId(f.value("hashint4(id)")) == nullptr);
  CHECK(foldsWideId(f.value("big")) == nullptr);
  CHECK(foldsWideId(f.value("hashtext(t)")) == nullptr);
}

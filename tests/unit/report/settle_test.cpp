// What becomes of findings between the rules and the report.
#include <doctest/doctest.h>

#include <algorithm>

#include "report/fingerprint.h"
#include "report/settle.h"
#include "sample.h"

using namespace pglocklint;
using namespace pglocklint::test;

namespace {

const std::string kFile = "a.sql";

Finding findingAt(const std::string& rule, const std::string& text, const std::string& what, std::size_t from = 0) {
  Finding f;
  for (const Rule& r : allRules())
    if (r.info.name == rule) f.rule = r.info.name, f.code = r.info.code, f.severity = r.info.severity;
  REQUIRE_MESSAGE(!f.rule.empty(), rule);
  const SourceRange r = rangeOf(text, what, from);
  f.where = {kFile, r.line, r.column, r.end_line, r.end_column, r.begin, r.end};
  f.message = "about " + what;
  f.subject = kFile + ":" + std::to_string(r.begin);
  return f;
}

// The comment `text` in the source, before `next`.
Allow allow(const std::string& source, const std::string& comment, std::vector<std::string> rules, const std::string& next, std::string reason = "why") {
  Allow a;
  a.range = rangeOf(source, comment);
  a.rules = std::move(rules);
  a.reason = std::move(reason);
  a.next_token = rangeOf(source, next, a.range.end).begin;
  return a;
}

Settled settleIn(const Unit& unit, const std::string& text, std::vector<Finding> raw, SettleOptions options = {}) {
  Program program;
  program.units.push_back(unit);
  SourceCache cache(sources({{unit.path(), text}}));
  return settle(std::move(raw), program, allRules(), options, cache);
}

std::vector<std::string> rulesOf(const Settled& s) {
  std::vector<std::string> rules;
  for (const Finding& f : s.findings) rules.push_back(f.rule);
  return rules;
}

using Rules = std::vector<std::string>;
const std::string kTwo = "SELECT pg_advisory_lock(1);\nSELECT pg_advisory_lock(2);\n";
Unit twoUnit() { return scriptUnit(kFile, kTwo, {"SELECT pg_advisory_lock(1)", "SELECT pg_advisory_lock(2)"}); }

}  // namespace

TEST_CASE("of two findings about one call the one that names the cause stays") {
  const auto limit = findingAt("lock-before-limit", kTwo, "pg_advisory_lock(1)");
  const auto where = findingAt("lock-in-where", kTwo, "pg_advisory_lock(1)");
  const auto other_call = findingAt("lock-in-where", kTwo, "pg_advisory_lock(2)");
  CHECK(rulesOf(settleIn(twoUnit(), kTwo, {where, limit})) == Rules{"lock-before-limit"});
  CHECK(rulesOf(settleIn(twoUnit(), kTwo, {other_call, limit})) == Rules{"lock-before-limit", "lock-in-where"});

  SettleOptions without;
  without.disabled = {"lock-before-limit"};
  CHECK(rulesOf(settleIn(twoUnit(), kTwo, {where, limit}, without)) == Rules{"lock-in-where"});
}

TEST_CASE("a withheld finding withholds what it dominates") {
  static constexpr Dominance kTable[] = {{"A", "B", ""}, {"B", "C", ""}};
  Finding a, b, c;
  a.code = "A", b.code = "B", c.code = "C";
  a.subject = b.subject = c.subject = "x:1";
  CHECK(withoutDominated({c, b, a}, kTable) == std::vector<Finding>{a});
  CHECK(withoutDominated({c, b}, kTable) == std::vector<Finding>{b});
  a.subject = b.subject = "";  // about nothing in particular: nothing is withheld
  CHECK(withoutDominated({b, a}, kTable).size() == 2);
}

TEST_CASE("what two routes say about one call is said once") {
  const auto f = findingAt("lock-in-where", kTwo, "pg_advisory_lock(1)");
  CHECK(settleIn(twoUnit(), kTwo, {f, f}).findings.size() == 1);
}

TEST_CASE("notes are off unless asked for") {
  auto note = findingAt("lock-in-where", kTwo, "pg_advisory_lock(1)");
  note.severity = Severity::Note;
  CHECK(settleIn(twoUnit(), kTwo, {note}).findings.empty());
  SettleOptions all, enabled, configured, as_error;
  all.all = true;
  enabled.enabled = {"lock-in-where"};
  configured.severities = {{"lock-in-where", RuleLevel::Note}};
  as_error.severities = {{"lock-in-where", RuleLevel::Error}};
  CHECK(settleIn(twoUnit(), kTwo, {note}, all).findings.size() == 1);
  CHECK(settleIn(twoUnit(), kTwo, {note}, enabled).findings.size() == 1);
  CHECK(settleIn(twoUnit(), kTwo, {note}, configured).findings.size() == 1);
  CHECK(settleIn(twoUnit(), kTwo, {note}, as_error).findings.empty());
}

TEST_CASE("a configured severity replaces the rule's own, but never makes more of a weaker finding") {
  const auto error = findingAt("lock-before-limit", kTwo, "pg_advisory_lock(1)");
  auto warning = findingAt("lock-before-limit", kTwo, "pg_advisory_lock(2)");
  warning.severity = Severity::Warning;
  SettleOptions options;
  options.severities = {{"lock-before-limit", RuleLevel::Warning}};
  auto settled = settleIn(twoUnit(), kTwo, {error, warning}, options);
  CHECK(settled.findings.at(0).severity == Severity::Warning);
  CHECK(settled.findings.at(1).severity == Severity::Warning);
  options.severities = {{"lock-before-limit", RuleLevel::Error}};
  settled = settleIn(twoUnit(), kTwo, {error, warning}, options);
  CHECK(settled.findings.at(0).severity == Severity::Error);
  CHECK(settled.findings.at(1).severity == Severity::Warning);
  options.severities = {{"lock-before-limit", RuleLevel::Off}};
  CHECK(settleIn(twoUnit(), kTwo, {error, warning}, options).findings.empty());
  options.enabled = {"lock-before-limit"};
  CHECK(settleIn(twoUnit(), kTwo, {error, warning}, options).findings.size() == 2);
}

TEST_CASE("a comment on the line allows its rule there and nowhere else") {
  const std::string text = "SELECT pg_advisory_lock(1); -- pglocklint:allow(lock-in-where) why\nSELECT pg_advisory_lock(2);\n";
  Unit unit = scriptUnit(kFile, text, {"SELECT pg_advisory_lock(1)", "SELECT pg_advisory_lock(2)"});
  unit.allows = {allow(text, "pglocklint:allow(lock-in-where) why", {"lock-in-where"}, "SELECT")};
  const auto here = findingAt("lock-in-where", text, "pg_advisory_lock(1)");
  const auto other_rule = findingAt("mass-lock", text, "pg_advisory_lock(1)");
  auto settled = settleIn(unit, text, {here, other_rule});
  CHECK(rulesOf(settled) == Rules{"mass-lock"});
  CHECK(settled.coverage.suppressed == 1);

  SettleOptions options;
  options.include_suppressed = true;
  settled = settleIn(unit, text, {here}, options);
  REQUIRE(settled.findings.size() == 1);
  CHECK(settled.findings[0].suppressed);
  CHECK(settled.findings[0].suppression_reason == "why");
}

TEST_CASE("a comment before a statement allows its rule in all of that statement, by name or code") {
  const std::string text =
      "-- pglocklint:allow(al102) why\nSELECT 1\nFROM t\nWHERE pg_advisory_lock(1);\nSELECT pg_advisory_lock(2);\n";
  Unit unit = scriptUnit(kFile, text, {"SELECT 1\nFROM t\nWHERE pg_advisory_lock(1)", "SELECT pg_advisory_lock(2)"});
  unit.allows = {allow(text, "pglocklint:allow(al102) why", {"al102"}, "SELECT")};
  const auto inside = findingAt("lock-in-where", text, "pg_advisory_lock(1)");
  const auto next = findingAt("lock-in-where", text, "pg_advisory_lock(2)");
  const auto settled = settleIn(unit, text, {inside, next});
  REQUIRE(settled.findings.size() == 1);
  CHECK(settled.findings[0].where == next.where);
}

TEST_CASE("a comment before IF reaches its condition, one before CREATE FUNCTION all of the body, one inside it one statement") {
  const std::string text =
      "CREATE FUNCTION f() AS $$ BEGIN\n"
      "  -- pglocklint:allow(lock-in-where) first\n"
      "  IF pg_try_advisory_lock(1) THEN\n"
      "    PERFORM pg_advisory_lock(2);\n"
      "  END IF;\n"
      "END $$;\n";
  Unit unit;
  unit.files = {kFile};
  Function script, f;
  script.range = rangeOf(text, text);
  f.kind = FunctionKind::Routine, f.name = "f", f.range = rangeOf(text, text.substr(0, text.rfind(';')));
  f.blocks.emplace_back();
  for (const std::string statement : {"pg_try_advisory_lock(1)", "PERFORM pg_advisory_lock(2)"}) {
    Statement s;
    s.range = rangeOf(text, statement);
    f.blocks[0].events.emplace_back(s);
  }
  unit.functions = {script, f};
  const auto condition = findingAt("lock-in-where", text, "pg_try_advisory_lock(1)");
  const auto body = findingAt("lock-in-where", text, "pg_advisory_lock(2)");

  unit.allows = {allow(text, "pglocklint:allow(lock-in-where) first", {"lock-in-where"}, "IF")};
  auto settled = settleIn(unit, text, {condition, body});
  REQUIRE(settled.findings.size() == 1);
  CHECK(settled.findings[0].where == body.where);

  Allow before_function;
  before_function.range = {0, 0, 99, 1, 99, 1, 0};  // somewhere above
  before_function.rules = {"lock-in-where"}, before_function.reason = "why", before_function.next_token = 0;
  unit.allows = {before_function};
  CHECK(settleIn(unit, text, {condition, body}).findings.empty());
}

TEST_CASE("a comment before the first statement is no comment for the whole file; allow-file is") {
  const std::string text = "-- pglocklint:allow(lock-in-where) why\n" + kTwo;
  Unit unit = scriptUnit(kFile, text, {"SELECT pg_advisory_lock(1)", "SELECT pg_advisory_lock(2)"});
  unit.allows = {allow(text, "pglocklint:allow(lock-in-where) why", {"lock-in-where"}, "SELECT")};
  const std::vector<Finding> both{findingAt("lock-in-where", text, "pg_advisory_lock(1)"), findingAt("lock-in-where", text, "pg_advisory_lock(2)")};
  CHECK(settleIn(unit, text, both).findings.size() == 1);
  unit.allows[0].whole_file = true;
  CHECK(settleIn(unit, text, both).findings.empty());
}

TEST_CASE("a comment that suppresses nothing, names no rule or gives no reason is reported") {
  const std::string text = "-- pglocklint:allow(lock-in-where) why\nSELECT 1;\n";
  Unit unit = scriptUnit(kFile, text, {"SELECT 1"});
  unit.allows = {allow(text, "pglocklint:allow(lock-in-where) why", {"lock-in-where"}, "SELECT")};
  CHECK(rulesOf(settleIn(unit, text, {})) == Rules{"unused-allow"});

  unit.allows[0].rules = {"lock-in-wher"};
  const auto unknown = settleIn(unit, text, {});
  REQUIRE(unknown.findings.size() == 1);
  CHECK(unknown.findings[0].message == "This comment allows lock-in-wher, but there is no such rule; did you mean lock-in-where? (pglocklint rules lists them).");

  unit.allows[0].rules = {"lock-in-where"}, unit.allows[0].reason = "";
  CHECK(rulesOf(settleIn(unit, text, {findingAt("lock-in-where", text, "SELECT 1")})) == Rules{"allow-without-reason"});
}

TEST_CASE("a comment is called unused only where that is certain") {
  const std::string text = "-- pglocklint:allow(lock-in-where) why\nSELECT 1;\n";
  Unit unit = scriptUnit(kFile, text, {"SELECT 1"});
  unit.allows = {allow(text, "pglocklint:allow(lock-in-where) why", {"lock-in-where"}, "SELECT")};
  SettleOptions disabled;
  disabled.disabled = {"lock-in-where"};
  CHECK(settleIn(unit, text, {}, disabled).findings.empty());

  Unit degraded = unit;
  degraded.not_understood = {{rangeOf(text, "SELECT 1"), "syntax error", false}};
  CHECK(settleIn(degraded, text, {}).findings.empty());

  Program part;
  part.units.push_back(unit);
  part.whole = false;
  SourceCache cache(sources({{kFile, text}}));
  CHECK(settle({}, part, allRules(), {}, cache).findings.empty());

  // It covers a finding that another rule dominates: when that is repaired, the comment is needed.
  const auto where = findingAt("lock-in-where", text, "SELECT 1");
  const auto limit = findingAt("lock-before-limit", text, "SELECT 1");
  CHECK(rulesOf(settleIn(unit, text, {where, limit})) == Rules{"lock-before-limit"});
}

TEST_CASE("a statement that mentions a lock and was not understood is a note, any other is coverage") {
  const std::string text = "SELECT pg_advisory_lock( FROM;\nSELECT FROM WHERE;\n";
  Unit unit = scriptUnit(kFile, text, {});
  unit.not_understood = {{rangeOf(text, "SELECT pg_advisory_lock( FROM"), "syntax error", true}, {rangeOf(text, "SELECT FROM WHERE"), "syntax error", false}};
  SettleOptions all;
  all.all = true;
  const auto settled = settleIn(unit, text, {}, all);
  CHECK(rulesOf(settled) == Rules{"statement-not-understood"});
  CHECK(settled.findings[0].where.line == 1);
  CHECK(settled.coverage.not_understood.size() == 2);
  CHECK(settleIn(unit, text, {}).findings.empty());
}

TEST_CASE("the baseline withholds known findings, also after they moved, and not their twins") {
  const auto first = findingAt("lock-in-where", kTwo, "pg_advisory_lock(1)");
  const auto before = settleIn(twoUnit(), kTwo, {first});
  std::string error;
  SettleOptions options;
  options.baseline = baselineFromJson(baselineToJson(before.findings), error);
  REQUIRE_MESSAGE(options.baseline.has_value(), error);

  const std::string moved = "-- new\n\n   SELECT   pg_advisory_lock(1);\nSELECT pg_advisory_lock(1);\n";
  const Unit unit = scriptUnit(kFile, moved, {"SELECT   pg_advisory_lock(1)", "SELECT pg_advisory_lock(1)"});
  const auto here = findingAt("lock-in-where", moved, "pg_advisory_lock(1)");
  const auto twin = findingAt("lock-in-where", moved, "pg_advisory_lock(1)", here.where.end);
  const auto after = settleIn(unit, moved, {here, twin}, options);
  CHECK(after.baselined == 1);
  REQUIRE(after.findings.size() == 1);
  CHECK(after.findings[0].where == twin.where);

  CHECK_FALSE(baselineFromJson("{", error).has_value());
  CHECK_FALSE(baselineFromJson(R"({"schema":"pglocklint/baseline/1","findings":[{}]})", error).has_value());
  CHECK(error == "entry 1 has no fingerprint");
}

TEST_CASE("a limit to a path shows what touches it with any of its places") {
  auto f = findingAt("lock-in-where", kTwo, "pg_advisory_lock(1)");
  f.related.push_back({{"db/keys/k.sql", 1, 1, 1, 2, 0, 1}, "the other one"});
  const auto shown = [&](std::vector<std::string> limit) {
    SettleOptions options;
    options.only = {std::move(limit)};
    return settleIn(twoUnit(), kTwo, {f}, options).findings.size() == 1;
  };
  CHECK(shown({"a.sql"}));
  CHECK(shown({"db"}));
  CHECK(shown({"db/keys/"}));
  CHECK(shown({"x.sql", "."}));
  CHECK_FALSE(shown({"db/key"}));
  CHECK_FALSE(shown({"a.sq"}));
  CHECK_FALSE(shown({}));
}

TEST_CASE("fingerprints: SHA-256, and GitHub's hash of a line") {
  CHECK(sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // Values computed by GitHub's upload action for the same texts.
  using Hashes = std::vector<std::string>;
  CHECK(primaryLocationLineHashes("") == Hashes{"c129715d7a2bc9a3:1"});
  CHECK(primaryLocationLineHashes(" a\nb\n  \t\tc\n d") ==
        Hashes{"271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"});
  const Hashes lines{"e9496ae3ebfced30:1", "fb7c023a8b9ccb3f:1", "ce8ba1a563dcdaca:1", "e20e36e16fcb0cc8:1", "b3edc88f2938467e:1",
                     "c8e28b0b4002a3a0:1", "c129715d7a2bc9a3:1"};
  CHECK(primaryLocationLineHashes(" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n") == lines);
  CHECK(primaryLocationLineHashes(" hello; \t\r\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n") == lines);
}

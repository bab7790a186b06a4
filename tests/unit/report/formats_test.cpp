// Reports as people and programs read them: text, JSON, SARIF.
#include <doctest/doctest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "program/keys.h"
#include "report/json.h"
#include "report/keys_report.h"
#include "report/rules_text.h"
#include "report/sarif.h"
#include "report/suggest.h"
#include "report/text.h"
#include "sample.h"

using namespace pglocklint;
using namespace pglocklint::test;

namespace {

std::string text(const RunReport& run, TextOptions options = {}, SourceReader reader = sources()) {
  SourceCache cache(std::move(reader));
  return textReport(run, options, cache);
}

nlohmann::json sarif(const RunReport& run) {
  SourceCache cache(sources());
  return nlohmann::json::parse(sarifReport(run, allRules(), cache));
}

}  // namespace

TEST_CASE("the text report, whole") {
  CHECK(text(sampleRun()) == R"(db/claim.sql:3:2: error[AL101] lock-before-limit
  pg_advisory_lock(id) runs for rows that OFFSET then discards: the rows that OFFSET skips are
  computed all the same. Every row discarded after that stays locked until the session ends.
    3 |     pg_advisory_lock(id) AS "größe"
      |     ^^^^^^^^^^^^^^^^^^^^
  db/claim.sql:6:9: OFFSET skips rows here, after the call
    6 | LIMIT 1 OFFSET 3;
      |         --------
  fix at db/claim.sql:6:9: replace `OFFSET 3` by `OFFSET 0`
  more: pglocklint explain lock-before-limit

ops/nightly.sql:2:30: warning[AL202] hashtext-key
  hashtext() is an internal 32-bit hash.
    2 | SELECT pg_advisory_xact_lock(hashtext('nightly'));
      |                              ^^^^^^^^^^^^^^^^^^^
  path:
    1. ops/nightly.sql:1:1: the transaction begins
    2. ops/nightly.sql:2:30: the key is made
  more: pglocklint explain hashtext-key

1 error, 1 warning in 12 files (1 suppressed)
Coverage: 412 statements, 97 call sites, 4 superseded definitions, 1 not understood, 1 file not read in full (list: --coverage)
)");
}

TEST_CASE("a run without findings says so, and what it covered") {
  RunReport run;
  run.coverage.files = 1, run.coverage.statements = 1;
  CHECK(text(run) == "No findings in 1 file\nCoverage: 1 statement, 0 call sites, 0 not understood\n");
}

TEST_CASE("--coverage lists what was not understood") {
  TextOptions options;
  options.list_coverage = true;
  const std::string report = text(sampleRun(), options);
  CHECK(report.find("  db/broken.sql:7: not understood: syntax error at \"FORM\" (PostgreSQL 15 grammar)\n") != std::string::npos);
  CHECK(report.find("  db/secret.sql: not-read: not read: permission denied\n") != std::string::npos);
}

TEST_CASE("the mark stands under the spot behind tabs, letters outside ASCII and in long lines") {
  const auto excerpt = [](const std::string& line, const std::string& spot) {
    RunReport run;
    Finding f = hashFinding();
    f.path.clear();
    f.where = locationOf("x.sql", line, spot);
    run.findings = {f};
    const std::string report = text(run, {}, sources({{"x.sql", line}}));
    const auto begin = report.find(" | ");
    const auto line_begin = report.rfind('\n', begin) + 1;
    std::string two = report.substr(line_begin, report.find("\n  more", begin) - line_begin);
    return std::pair(two.substr(0, two.find('\n')), two.substr(two.find('\n') + 1));
  };
  const auto column = [](std::string_view line, std::string_view what) { return columnsOf(line.substr(0, line.find(what))); };
  for (const std::string& before : std::vector<std::string>{"", "\t", "ab\t", "größe 𝄞 ", std::string(300, 'x') + " ", std::string("\x1b[31m\xff\xe2\x80\xae") + " "}) {
    for (const std::string& after : std::vector<std::string>{"", " LIMIT 1", std::string(300, 'y')}) {
      const auto [source, mark] = excerpt(before + "lock(1)" + after, "lock(1)");
      CAPTURE(source);
      CAPTURE(mark);
      CHECK(column(source, "lock(1)") == column(mark, "^"));
      CHECK(mark.substr(mark.find('^')) == "^^^^^^^");
      CHECK(columnsOf(source) <= 100);
      CHECK(source.find('\x1b') == std::string::npos);
    }
  }
  // A spot longer than the line has room for.
  const auto [source, mark] = excerpt("SELECT " + std::string(500, 'z') + ";", std::string(500, 'z'));
  CHECK(columnsOf(source) <= 100);
  CHECK(columnsOf(mark) <= 100);
}

TEST_CASE("names and messages cannot steer the terminal") {
  RunReport run = sampleRun();
  run.findings[0].where.file = "db/\x1b]0;pwned\x07.sql";
  run.findings[0].message = "key \x1b[2J\x9b of \"a\nb\" \xe2\x80\xaeltr";
  run.coverage.not_understood[0].reason = "near \"\x1b[2J\"";
  TextOptions options;
  options.list_coverage = true;
  const std::string report = text(run, options);
  CHECK(std::none_of(report.begin(), report.end(), [](char c) { return (c >= 0 && c < 32 && c != '\n') || c == 127; }));
  CHECK(report.find("\\x1b]0;pwned\\x07") != std::string::npos);
  CHECK(report.find("\\x9b of \"a b\" \\u{202e}ltr") != std::string::npos);
}

TEST_CASE("colour only where it is asked for") {
  TextOptions options;
  CHECK(text(sampleRun(), options).find('\x1b') == std::string::npos);
  options.color = true;
  CHECK(text(sampleRun(), options).find("\x1b[1;31merror[AL101]\x1b[0m") != std::string::npos);
}

TEST_CASE("the JSON report, whole") {
  RunReport run = sampleRun();
  run.findings.pop_back();
  CHECK(jsonReport(run) == R"json({
  "schema": "pglocklint/findings/1",
  "tool": {
    "version": "0.1.0",
    "grammar": 15
  },
  "coverage": {
    "files": 12,
    "statements": 412,
    "call_sites": 97,
    "superseded": 4,
    "suppressed": 1,
    "not_understood": [
      {
        "file": "db/broken.sql",
        "line": 7,
        "reason": "syntax error at \"FORM\" (PostgreSQL 15 grammar)"
      }
    ],
    "units": [
      {
        "file": "db/secret.sql",
        "status": "not-read",
        "reason": "not read: permission denied"
      }
    ]
  },
  "findings": [
    {
      "rule": "lock-before-limit",
      "code": "AL101",
      "severity": "error",
      "file": "db/claim.sql",
      "line": 3,
      "column": 2,
      "end_line": 3,
      "end_column": 22,
      "message": "pg_advisory_lock(id) runs for rows that OFFSET then discards: the rows that OFFSET skips are computed all the same. Every row discarded after that stays locked until the session ends.",
      "function": "",
      "key": {
        "form": "bigint",
        "text": "(*)"
      },
      "related": [
        {
          "file": "db/claim.sql",
          "line": 6,
          "column": 9,
          "message": "OFFSET skips rows here, after the call"
        }
      ],
      "path": [],
      "fixes": [
        {
          "file": "db/claim.sql",
          "start": 92,
          "end": 100,
          "text": "OFFSET 0"
        }
      ],
      "fingerprint": "1111"
    }
  ]
}
)json");
}

TEST_CASE("JSON of a run that failed holds the error; bytes that are not UTF-8 do not break it") {
  RunReport run;
  run.error = "cannot read \xff";
  const auto json = nlohmann::json::parse(jsonReport(run));
  CHECK(json["error"] == "cannot read \xef\xbf\xbd");
  CHECK(json["findings"].empty());
  CHECK(json["coverage"]["files"] == 0);
}

TEST_CASE("a SARIF result: one line, UTF-16 columns, links, fix, fingerprints") {
  const auto log = sarif(sampleRun());
  const auto& run = log["runs"][0];
  CHECK(log["version"] == "2.1.0");
  CHECK(run["columnKind"] == "utf16CodeUnits");
  const auto& result = run["results"][0];
  CHECK(result["ruleId"] == "AL101");
  CHECK(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["name"] == "LockBeforeLimit");
  const auto& physical = result["locations"][0]["physicalLocation"];
  CHECK(physical["artifactLocation"] == nlohmann::json{{"uri", "db/claim.sql"}, {"uriBaseId", "%SRCROOT%"}});
  CHECK(physical["region"] == nlohmann::json{{"startLine", 3}, {"startColumn", 2}, {"endColumn", 22}});
  const std::string message = result["message"]["text"];
  CHECK(message.ends_with(" See: [OFFSET skips rows here, after the call](1)."));
  CHECK(result["relatedLocations"][0]["id"] == 1);
  const auto& change = result["fixes"][0]["artifactChanges"][0];
  CHECK(change["replacements"][0]["deletedRegion"] ==
        nlohmann::json{{"startLine", 6}, {"startColumn", 9}, {"endLine", 6}, {"endColumn", 17}});
  CHECK(change["replacements"][0]["insertedContent"]["text"] == "OFFSET 0");
  CHECK(result["partialFingerprints"].contains("primaryLocationLineHash"));
  CHECK(result["partialFingerprints"]["pglocklint/v1"] == "1111");
  CHECK_FALSE(result.contains("suppressions"));

  const auto& flow = run["results"][1]["codeFlows"][0]["threadFlows"][0]["locations"];
  REQUIRE(flow.size() == 2);
  CHECK(flow[1]["location"]["message"]["text"] == "the key is made");
  CHECK(run["results"][1]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "ops.nightly");

  const auto& notifications = run["invocations"][0]["toolExecutionNotifications"];
  REQUIRE(notifications.size() == 2);
  CHECK(notifications[0]["descriptor"]["id"] == "not-understood");
  CHECK(notifications[1]["descriptor"]["id"] == "not-read");
  CHECK(run["invocations"][0]["executionSuccessful"] == true);
}

TEST_CASE("SARIF: a region of several lines ends with its first; columns count UTF-16 units") {
  RunReport run;
  Finding f = hashFinding();
  const std::string line = "/* é𝄞 */ SELECT\n  1";
  f.where = locationOf("x.sql", line, "SELECT\n  1");
  f.path.clear();
  run.findings = {f};
  SourceCache cache(sources({{"x.sql", line}}));
  const auto region = nlohmann::json::parse(sarifReport(run, allRules(), cache))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
  CHECK(region == nlohmann::json{{"startLine", 1}, {"startColumn", 11}, {"endColumn", 17}});
}

TEST_CASE("SARIF: suppressed results carry the reason, and then all results say whether they are") {
  RunReport run = sampleRun();
  run.findings[0].suppressed = true, run.findings[0].suppression_reason = "one worker";
  const auto results = sarif(run)["runs"][0]["results"];
  CHECK(results[0]["suppressions"] == nlohmann::json::array({{{"kind", "inSource"}, {"justification", "one worker"}}}));
  CHECK(results[1]["suppressions"] == nlohmann::json::array());
}

TEST_CASE("SARIF: placeholders and links of a message are text, file names are URIs") {
  RunReport run = sampleRun();
  run.findings[0].message = "key {0} of int[](1)";
  run.findings[0].where.file = "db/größe 100%#1?.sql";
  const auto result = sarif(run)["runs"][0]["results"][0];
  CHECK(std::string(result["message"]["text"]).starts_with("key {{0}} of int\\[\\](1) See:"));
  CHECK(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "db/gr%C3%B6%C3%9Fe%20100%25%231%3F.sql");
  CHECK(uriOf("a:b") == "a%3Ab");
}

TEST_CASE("every rule can be listed and explained") {
  const std::string table = rulesTable(allRules(), false), page = rulesMarkdown(allRules());
  for (const Rule& rule : allRules()) {
    CHECK(table.find(rule.info.name) != std::string::npos);
    CHECK(page.find("## " + std::string(rule.info.name) + "\n") != std::string::npos);
    const std::string essay = explainRule(rule.info, false, 100);
    CHECK(essay.starts_with(std::string(rule.info.code) + " " + std::string(rule.info.name)));
    CHECK(essay.find("What to write instead") != std::string::npos);
    CHECK(essay.find("expect:") == std::string::npos);
  }
}

TEST_CASE("a mistyped rule name finds the right one") {
  CHECK(ruleSuggestion("lock-befor-limit") == "; did you mean lock-before-limit?");
  CHECK(ruleSuggestion("Lock-In-Wehre") == "; did you mean lock-in-where?");
  CHECK(ruleSuggestion("zzzzzzzzzzzz") == "");
  CHECK(findRule("al101") != nullptr);
  CHECK(findRule("al999") == nullptr);
}

TEST_CASE("keys: one entry a class, with names, what varies, and every site") {
  Program program;
  const std::string source = "SELECT pg_advisory_lock(1001, id);\nSELECT pg_advisory_unlock(1001, id);\n";
  program.units.push_back(scriptUnit("a.sql", source, {"SELECT pg_advisory_lock(1001, id)", "SELECT pg_advisory_unlock(1001, id)"}));
  std::vector<Expr> calls(2);
  calls[0].range = rangeOf(source, "pg_advisory_lock(1001, id)"), calls[1].range = rangeOf(source, "pg_advisory_unlock(1001, id)");
  Value number, column;
  number.kind = ValueKind::Integer, number.text = "1001", number.constant_name = "kJobSync", number.unit = 0, number.range = rangeOf(source, "1001");
  column.kind = ValueKind::Column, column.name = "id", column.relation = "job";
  // A text that is hashed: the number that pg_locks shows, and the name it is made of.
  Value hash, name;
  name.kind = ValueKind::Text, name.text = "nightly";
  hash.kind = ValueKind::Hash, hash.name = "hashtextextended", hash.type = "bigint", hash.text = "42", hash.args = {name};
  LockSite hashed;
  hashed.unit = 0, hashed.function = &program.units[0].functions[0], hashed.call = &calls[0], hashed.lock = findLockFunction("pg_advisory_lock");
  hashed.key.form = KeyForm::Bigint, hashed.key.parts = {hash}, hashed.key.class_text = classText(hash);
  program.sites.push_back(hashed);
  CHECK(keysText(keysOf(program)).starts_with("bigint 42\n  42 = hashtextextended('nightly')\n"));
  program.sites.clear();
  for (std::size_t i = 0; i < 2; ++i) {
    LockSite site;
    site.unit = 0, site.function = &program.units[0].functions[0], site.call = &calls[i];
    site.lock = findLockFunction(i == 0 ? "pg_advisory_lock" : "pg_advisory_unlock");
    site.key.form = KeyForm::Pair, site.key.parts = {number, column}, site.key.class_text = "(1001, *)";
    program.sites.push_back(site);
  }
  LockSite dead = program.sites.front();
  dead.live = false, dead.key.class_text = "(1, 2)";
  program.sites.push_back(dead);

  const auto keys = keysOf(program);
  CHECK(nlohmann::json::parse(keysJson(keys)) == nlohmann::json::parse(R"json({"keys":[{"form":"pair","parts":[{"const":"1001"},{"any":"column job.id"}],
    "text":"(1001, *)","names":["kJobSync"],"defined_at":[{"file":"a.sql","line":1}],
    "sites":[{"file":"a.sql","line":1,"op":"acquire","scope":"session","mode":"exclusive","function":""},
             {"file":"a.sql","line":2,"op":"release","scope":"session","mode":"exclusive","function":""}]}]})json"));
  CHECK(keysText(keys) == R"(pair (1001, *)  kJobSync
  * is column job.id
  defined at a.sql:1
  a.sql:1 acquire session exclusive
  a.sql:2 release session exclusive

1 key
)");
}

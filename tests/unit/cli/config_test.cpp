// pglocklint.json: comments are fine, anything unknown is refused with a place and a suggestion.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/config.h"

using namespace pglocklint;

namespace {

std::string errorOf(std::string_view text) {
  std::string error;
  CHECK_FALSE(readConfig(text, "pglocklint.json", error).has_value());
  return error;
}

}  // namespace

TEST_CASE("a configuration says severities, rules, runners, pooler and timeouts") {
  std::string error;
  const auto config = readConfig(R"({
    // comments are allowed
    "$schema": "docs/pglocklint.schema.json",
    "severities": {"lock-before-limit": "warning", "AL102": "off"},  /* by name or code */
    "enable": ["mass-lock"],
    "disable": ["wrapper-volatility"],
    "runners": {"z/**": "flyway", "a/*.sql": "psql"},
    "pooler": "transaction",
    "timeouts": {"lock_timeout": "5s"}
  })", "pglocklint.json", error);
  REQUIRE_MESSAGE(config.has_value(), error);
  CHECK(config->severities.at("lock-before-limit") == RuleLevel::Warning);
  CHECK(config->severities.at("lock-in-where") == RuleLevel::Off);
  CHECK(config->enable == std::vector<std::string>{"mass-lock"});
  CHECK(config->disable == std::vector<std::string>{"wrapper-volatility"});
  REQUIRE(config->runners.size() == 2);
  CHECK(config->runners[0] == RunnerOverride{"z/**", "flyway"});  // in the order of the file: the first that matches counts
  CHECK(config->pooler == "transaction");
  CHECK(config->timeouts.at("lock_timeout") == "5s");
}

TEST_CASE("an empty object is a configuration, anything but an object is not") {
  std::string error;
  CHECK(readConfig("{}", "pglocklint.json", error).has_value());
  CHECK(errorOf("[]") == "pglocklint.json: /: an object is expected here");
  CHECK(errorOf("").find("pglocklint.json: parse error at line 1") == 0);
  CHECK(errorOf("{\n  \"severities\": {,}\n}").find("line 2, column 18") != std::string::npos);
}

TEST_CASE("a mistyped key, rule, severity or runner is named with its place and the nearest that exists") {
  CHECK(errorOf(R"({"severity": {}})") == "pglocklint.json: /severity: there is no setting \"severity\"; did you mean severities?");
  CHECK(errorOf(R"({"severities": {"lock-befor-limit": "error"}})") ==
        "pglocklint.json: /severities/lock-befor-limit: there is no rule \"lock-befor-limit\"; did you mean lock-before-limit?");
  CHECK(errorOf(R"({"severities": {"lock-before-limit": "eror"}})") ==
        "pglocklint.json: /severities/lock-before-limit: \"eror\" is not known here; did you mean error?");
  CHECK(errorOf(R"({"severities": {"lock-before-limit": 2}})") == "pglocklint.json: /severities/lock-before-limit: a string is expected here");
  CHECK(errorOf(R"({"runners": {"db/**": "flyaway"}})") == "pglocklint.json: /runners/db/**: \"flyaway\" is not known here; did you mean flyway?");
  CHECK(errorOf(R"({"enable": "mass-lock"})") == "pglocklint.json: /enable: an array of rule names is expected here");
  CHECK(errorOf(R"({"enable": ["mass-lock", 3]})") == "pglocklint.json: /enable/1: a rule name is expected here");
  CHECK(errorOf(R"({"timeouts": {"lock_timout": "5s"}})").ends_with("did you mean lock_timeout?"));
  CHECK(errorOf(R"({"enable": ["mass-lock"], "disable": ["AL105"]})") == "pglocklint.json: mass-lock is both enabled and disabled");
}

TEST_CASE("the schema knows every setting and every rule, and docs/pglocklint.schema.json is it") {
  const auto schema = nlohmann::json::parse(configSchema());
  for (const char* key : {"$schema", "severities", "enable", "disable", "runners", "pooler", "timeouts"}) CHECK(schema["properties"].contains(key));
  CHECK(schema["properties"]["enable"]["items"]["enum"].size() == allRules().size());

  std::ifstream file(PGLOCKLINT_SOURCE_DIR "/docs/pglocklint.schema.json");
  std::stringstream stored;
  stored << file.rdbuf();
  CHECK_MESSAGE(stored.str() == configSchema(), "run: pglocklint config-schema > docs/pglocklint.schema.json");
}

TEST_CASE("call models of the project") {
  std::string error;
  const auto config = readConfig(R"({"call_models": [
    {"function": "db::Session::run", "sql": 0, "binds": 1},
    {"function": "db::keep", "role": "prepare", "statement": 1, "sql": 2, "connection": 0},
    {"function": "db::again", "role": "execute-prepared", "statement": 0},
    {"function": "db::note", "role": "ignore"}]})", "pglocklint.json", error);
  REQUIRE_MESSAGE(config.has_value(), error);
  REQUIRE(config->call_models.size() == 4);
  CHECK(config->call_models[0] == HostModel{"db::Session::run", HostModelRole::Execute, 0, -1, 1, -1});
  CHECK(config->call_models[1] == HostModel{"db::keep", HostModelRole::Prepare, 2, 1, -1, 0});
  CHECK(hostModelsFromJson(hostModelsToJson(config->call_models), error) == config->call_models);
  CHECK(errorOf(R"({"call_models": {}})") == "pglocklint.json: /call_models: an array of call models is expected here");
  CHECK(errorOf(R"({"call_models": [{"sql": 0}]})") == "pglocklint.json: /call_models/0: \"function\" is missing");
  CHECK(errorOf(R"({"call_models": [{"function": "f"}]})") == "pglocklint.json: /call_models/0: \"sql\" is missing: which argument is the text?");
  CHECK(errorOf(R"({"call_models": [{"function": "f", "role": "execute-prepared"}]})") ==
        "pglocklint.json: /call_models/0: \"statement\" is missing: which argument is the name of the statement?");
  CHECK(errorOf(R"({"call_models": [{"function": "f", "sql": -1}]})") ==
        "pglocklint.json: /call_models/0/sql: the number of an argument is expected here, counted from 0");
  CHECK(errorOf(R"({"call_models": [{"function": "f", "role": "run"}]})") ==
        "pglocklint.json: /call_models/0/role: one of execute, prepare, execute-prepared, ignore is expected here");
  CHECK(errorOf(R"({"call_models": [{"function": "f", "sql": 0, "bind": 1}]})") ==
        "pglocklint.json: /call_models/0/bind: there is no such setting; known are function, role, sql, statement, binds, connection");
}

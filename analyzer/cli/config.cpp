#include "cli/config.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/suggest.h"
#include "source/runner.h"

namespace pglocklint {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kFileName = "pglocklint.json";
constexpr std::string_view kPoolerModes[] = {"none", "session", "transaction", "statement"};
constexpr std::string_view kTimeouts[] = {"lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "deadlock_timeout"};

// The place of a value, as a JSON pointer, and what is wrong with it.
struct Problem {
  std::string place, what;
};
using MaybeProblem = std::optional<Problem>;

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view nearest = nearestName(name, known);
  return nearest.empty() ? fmt::format("; known are {}", fmt::join(known, ", ")) : fmt::format("; did you mean {}?", nearest);
}

// The name of the rule that is written, or a problem.
MaybeProblem ruleName(const std::string& written, const std::string& place, std::string& name) {
  const Rule* rule = findRule(written);
  if (rule == nullptr) return Problem{place, fmt::format("there is no rule \"{}\"{}", written, ruleSuggestion(written))};
  name = rule->info.name;
  return std::nullopt;
}

MaybeProblem oneOf(const Json& value, const std::string& place, std::span<const std::string_view> known) {
  if (!value.is_string()) return Problem{place, "a string is expected here"};
  const std::string& text = value.get_ref<const std::string&>();
  if (std::ranges::find(known, text) != known.end()) return std::nullopt;
  return Problem{place, fmt::format("\"{}\" is not known here{}", text, suggestion(text, known))};
}

// Calls read(key, value, place) for each member of an object.
MaybeProblem forEachMember(const Json& value, const std::string& place,
                           const std::function<MaybeProblem(const std::string&, const Json&, const std::string&)>& read) {
  if (!value.is_object()) return Problem{place, "an object is expected here"};
  for (const auto& [key, member] : value.items())
    if (auto problem = read(key, member, place + "/" + key)) return problem;
  return std::nullopt;
}

MaybeProblem readSeverities(const Json& value, const std::string& place, Config& config) {
  return forEachMember(value, place, [&](const std::string& key, const Json& level, const std::string& at) -> MaybeProblem {
    std::string name;
    if (auto problem = ruleName(key, at, name)) return problem;
    const auto levels = enumNames(EnumTag<RuleLevel>{});
    if (auto problem = oneOf(level, at, levels)) return problem;
    const auto index = std::ranges::find(levels, level.get_ref<const std::string&>()) - levels.begin();
    config.severities[name] = static_cast<RuleLevel>(index);
    return std::nullopt;
  });
}

MaybeProblem readRuleList(const Json& value, const std::string& place, std::vector<std::string>& into) {
  if (!value.is_array()) return Problem{place, "an array of rule names is expected here"};
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("{}/{}", place, i);
    if (!value[i].is_string()) return Problem{at, "a rule name is expected here"};
    std::string name;
    if (auto problem = ruleName(value[i].get<std::string>(), at, name)) return problem;
    into.push_back(name);
  }
  return std::nullopt;
}

MaybeProblem readRunners(const Json& value, const std::string& place, Config& config) {
  return forEachMember(value, place, [&](const std::string& glob, const Json& runner, const std::string& at) -> MaybeProblem {
    if (auto problem = oneOf(runner, at, runnerNames())) return problem;
    config.runners.push_back({glob, runner.get<std::string>()});
    return std::nullopt;
  });
}

MaybeProblem readTimeouts(const Json& value, const std::string& place, Config& config) {
  return forEachMember(value, place, [&](const std::string& name, const Json& timeout, const std::string& at) -> MaybeProblem {
    if (auto problem = oneOf(Json(name), at, kTimeouts)) return problem;
    if (!timeout.is_string()) return Problem{at, "a time as PostgreSQL writes it is expected here, for example \"5s\""};
    config.timeouts[name] = timeout.get<std::string>();
    return std::nullopt;
  });
}

MaybeProblem readCallModels(const Json& value, const std::string& place, Config& config) {
  std::string error;
  config.call_models = hostModelsFromJson(value.dump(), error);
  if (error.empty()) return std::nullopt;
  const std::size_t colon = error.find(": ");
  return Problem{place + error.substr(0, colon), error.substr(colon + 2)};
}

Json enumSchema(std::span<const std::string_view> names) {
  Json list = Json::array();
  for (const std::string_view n : names) list.push_back(n);
  return {{"enum", list}};
}

Json ruleNames() {
  Json names = Json::array();
  for (const Rule& rule : allRules()) names.push_back(rule.info.name);
  return names;
}

// Each key of the file: how it is read, and its part of the schema.
struct ConfigKey {
  std::string_view name, description;
  MaybeProblem (*read)(const Json&, const std::string& place, Config&);
  Json (*schema)();
};
const ConfigKey kKeys[] = {
    {"$schema", "The schema of this file, for editors.",
     [](const Json& v, const std::string& at, Config&) -> MaybeProblem {
       return v.is_string() ? std::nullopt : MaybeProblem(Problem{at, "a string is expected here"});
     },
     [] { return Json{{"type", "string"}}; }},
    {"severities", "Severity by rule name. \"off\" switches a rule off; \"note\" shows its findings without failing the run.", readSeverities,
     [] {
       return Json{{"type", "object"}, {"propertyNames", {{"enum", ruleNames()}}},
                   {"additionalProperties", enumSchema(enumNames(EnumTag<RuleLevel>{}))}};
     }},
    {"enable", "Rules to switch on, with their notes.",
     [](const Json& v, const std::string& at, Config& c) { return readRuleList(v, at, c.enable); },
     [] { return Json{{"type", "array"}, {"items", {{"enum", ruleNames()}}}}; }},
    {"disable", "Rules to switch off.",
     [](const Json& v, const std::string& at, Config& c) { return readRuleList(v, at, c.disable); },
     [] { return Json{{"type", "array"}, {"items", {{"enum", ruleNames()}}}}; }},
    {"runners", "What runs the files that match a glob (relative to this file): it decides which statements share a transaction.", readRunners,
     [] { return Json{{"type", "object"}, {"additionalProperties", enumSchema(runnerNames())}}; }},
    {"pooler", "Pooling mode between the program and PostgreSQL.",
     [](const Json& v, const std::string& at, Config& c) -> MaybeProblem {
       if (auto problem = oneOf(v, at, kPoolerModes)) return problem;
       c.pooler = v.get<std::string>();
       return std::nullopt;
     },
     [] { return enumSchema(kPoolerModes); }},
    {"timeouts", "Timeouts that are in force by default (ALTER ROLE, ALTER DATABASE, postgresql.conf).", readTimeouts,
     [] {
       return Json{{"type", "object"}, {"propertyNames", enumSchema(kTimeouts)}, {"additionalProperties", {{"type", "string"}}}};
     }},
    {"call_models", "C++ functions of the project that send SQL, where that cannot be seen. Arguments are counted from 0.", readCallModels,
     [] {
       const auto argument = [](const char* description) { return Json{{"description", description}, {"type", "integer"}, {"minimum", 0}}; };
       const Json properties{{"function", {{"description", "Qualified name, without arguments: ns::Session::run."}, {"type", "string"}, {"minLength", 1}}},
                             {"role", enumSchema(enumNames(EnumTag<HostModelRole>{}))},
                             {"sql", argument("The text.")},
                             {"statement", argument("The name of a prepared statement.")},
                             {"binds", argument("The first of the values of $1, $2, …; the others follow it.")},
                             {"connection", argument("The connection, if it is not the object.")}};
       return Json{{"type", "array"},
                   {"items", {{"type", "object"}, {"required", Json::array({"function"})}, {"additionalProperties", false}, {"properties", properties}}}};
     }},
};

MaybeProblem readKeys(const Json& json, Config& config) {
  return forEachMember(json, "", [&](const std::string& key, const Json& value, const std::string& at) -> MaybeProblem {
    const auto known = std::ranges::find(kKeys, key, &ConfigKey::name);
    if (known != std::end(kKeys)) return known->read(value, at, config);
    std::vector<std::string_view> names;
    for (const ConfigKey& k : kKeys) names.push_back(k.name);
    return Problem{at, fmt::format("there is no setting \"{}\"{}", key, suggestion(key, names))};
  });
}

// "[json.exception.parse_error.101] parse error at line 3, column 18: …" without the library's tag, on one line.
std::string parseErrorText(const std::exception& e) {
  std::string what = e.what();
  if (const auto tag = what.find("] "); tag != std::string::npos) what.erase(0, tag + 2);
  std::ranges::replace(what, '\n', ' ');
  return what;
}

}  // namespace

std::optional<Config> readConfig(std::string_view text, const std::string& name, std::string& error) {
  Json json;
  try {
    json = Json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const std::exception& e) {
    error = fmt::format("{}: {}", name, parseErrorText(e));
    return std::nullopt;
  }
  Config config;
  if (const auto problem = readKeys(json, config)) {
    error = fmt::format("{}: {}: {}", name, problem->place.empty() ? "/" : problem->place, problem->what);
    return std::nullopt;
  }
  for (const std::string& rule : config.enable)
    if (std::ranges::find(config.disable, rule) != config.disable.end()) {
      error = fmt::format("{}: {} is both enabled and disabled", name, rule);
      return std::nullopt;
    }
  return config;
}

std::string findConfig(const std::string& path) {
  std::error_code ignored;
  fs::path folder = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  if (folder.empty()) return "";
  if (!fs::is_directory(folder, ignored)) folder = folder.parent_path();
  for (;; folder = folder.parent_path()) {
    const fs::path candidate = folder / kFileName;
    if (fs::exists(candidate, ignored)) return candidate.string();
    if (!folder.has_parent_path() || folder == folder.parent_path()) return "";
  }
}

std::string configSchema() {
  Json properties = Json::object();
  for (const ConfigKey& key : kKeys) {
    Json schema{{"description", key.description}};
    schema.update(key.schema());
    properties[std::string(key.name)] = schema;
  }
  const Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"title", "pglocklint.json"},
                    {"description", "Configuration of pglocklint. Comments are allowed."},
                    {"type", "object"},
                    {"additionalProperties", false},
                    {"properties", properties}};
  return schema.dump(2) + "\n";
}

}  // namespace pglocklint

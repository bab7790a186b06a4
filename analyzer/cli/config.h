// pglocklint.json: what a project says about its rules and how its files are run. JSON with comments; every key is known, or
// the run ends with exit 2 and a suggestion.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/read_project.h"
#include "model/host_models.h"
#include "report/settle.h"

namespace pglocklint {

struct Config {
  std::map<std::string, RuleLevel> severities;         // by rule name
  std::vector<std::string> enable, disable;            // rule names
  std::vector<RunnerOverride> runners;                 // in the order of the file
  std::string pooler;                                  // "transaction", "statement", "session", "none", or empty: not said
  std::map<std::string, std::string> timeouts;         // "lock_timeout" → "5s"
  std::vector<HostModel> call_models;                  // functions of the project that send SQL
};

// Reads a configuration. `name` is how errors call the file.
std::optional<Config> readConfig(std::string_view text, const std::string& name, std::string& error);

// The nearest pglocklint.json in or above `path` (a file or folder); empty if there is none.
std::string findConfig(const std::string& path);

// JSON Schema (draft 2020-12) of the file: docs/pglocklint.schema.json.
std::string configSchema();

}  // namespace pglocklint

// Runner profiles: which tool applies a file, in which order, and in which transactions. Told from names, neighbours and directives in
// the text; what is not sure stays Unknown.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"

namespace pglocklint {

// Configuration: files whose path matches `glob` are run by `runner` ("flyway", "psql", …; "none": by nobody we know).
struct RunnerRule {
  std::string glob, runner;
};

// Reads a file by its path relative to the project root; nullopt if there is none.
using SiblingReader = std::function<std::optional<std::string>(const std::string& path)>;

class RunnerProfiles {
 public:
  // `paths`: all SQL files of the project. `read` is asked for files beside them (atlas.sum, V1__x.sql.conf, Cargo.toml).
  RunnerProfiles(const std::vector<std::string>& paths, std::vector<RunnerRule> rules, SiblingReader read);
  // May be called from several threads.
  RunnerFacts of(const std::string& path, std::string_view text) const;

 private:
  struct Claim;
  std::optional<std::string> read(const std::string& path) const;
  bool exists(const std::string& path) const;
  bool existsAbove(std::string folder, const std::string& name) const;
  Claim claim(const std::string& path, std::string_view text) const;
  Claim byName(const std::string& path) const;
  bool isNumbered(const std::string& path) const;
  void extension(const std::string& path, RunnerFacts& facts) const;

  std::map<std::string, std::vector<std::string>> folders_;  // folder → base names
  std::map<std::string, std::size_t> numbered_;              // folder → files with a leading number
  std::vector<RunnerRule> rules_;
  SiblingReader read_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::optional<std::string>> seen_;  // what read_ has answered
};

// Names of the profiles, for messages about configuration.
std::vector<std::string_view> runnerNames();

// True if psql commands stand in the text, outside quotes, comments and function bodies.
bool hasPsqlCommands(std::string_view text);

}  // namespace pglocklint

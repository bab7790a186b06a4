#include "cli/project.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/facts_json.h"
#include "model/facts_section.h"
#include "source/object_files.h"
#include "source/parallel.h"

namespace pglocklint {
namespace {

namespace fs = std::filesystem;

std::string readStandardInput() {
  std::string text;
  char buffer[65536];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, stdin)) text.append(buffer, n);
  return text;
}

// `folder` is the project's root if the configuration in it was found from the paths, or lies above them.
std::string rootOfConfig(const std::string& config_file, const std::string& first_path) {
  std::error_code ignored;
  const fs::path folder = fs::weakly_canonical(fs::absolute(config_file, ignored), ignored).parent_path();
  const fs::path path = fs::weakly_canonical(fs::absolute(first_path, ignored), ignored);
  const fs::path inside = path.lexically_relative(folder);
  return inside.empty() || *inside.begin() == ".." ? "" : folder.string();
}

bool loadConfig(const ReadOptions& options, const std::string& first_path, Project& project, std::string& root) {
  const std::string file = options.config_file.empty() ? findConfig(first_path) : options.config_file;
  if (file.empty()) return true;
  root = rootOfConfig(file, first_path);
  std::string why;
  const auto text = readFile(file, why);
  if (!text) {
    project.error = fmt::format("cannot read the configuration {}: {}", file, why);
    return false;
  }
  const auto config = readConfig(*text, file, project.error);
  if (config) project.config = *config;
  return config.has_value();
}

// A path that was asked for by name must be readable; what lies below a folder is coverage.
std::string unreadRequest(const std::vector<std::string>& paths, const ProjectFacts& facts) {
  for (const UnitStatus& unread : facts.unread)
    for (const std::string& path : paths) {
      std::string_view file = unread.file;
      while (file.ends_with('/')) file.remove_suffix(1);
      if (unread.status == "not-read" && relativeToRoot(path, facts.root) == file) return fmt::format("cannot read {}: {}", path, unread.reason);
    }
  return "";
}

// The units in all .json files of a folder.
std::vector<Unit> unitsOfFolder(const std::string& folder, std::string& problem) {
  std::vector<Unit> result;
  std::error_code error;
  std::vector<std::string> files;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::recursive_directory_iterator(); it.increment(error))
    if (it->is_regular_file(error) && it->path().extension() == ".json") files.push_back(it->path().string());
  if (error) {
    problem = fmt::format("cannot read the facts in {}: {}", folder, error.message());
    return {};
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    std::string why;
    const auto text = readFile(file, why);
    std::vector<Unit> units = text ? unitsFromJson(*text, why) : std::vector<Unit>();
    if (!why.empty()) {
      problem = fmt::format("{}: {}", file, why);
      return {};
    }
    std::move(units.begin(), units.end(), std::back_inserter(result));
  }
  return result;
}

// The facts in object files. A section that is damaged is coverage; a path that holds no object file at all is not what was asked for.
std::vector<MadeUnit> unitsOfObjects(const std::vector<std::string>& paths, std::vector<UnitStatus>& unread, std::string& problem) {
  SectionReader sections;
  for (const std::string& path : paths) {
    std::string why;
    if (readFactsSections(path, [&](std::string_view section) { return sections.add(section); }, unread, why)) continue;
    problem = fmt::format("cannot read the facts in {}: {}", path, why);
    return {};
  }
  std::vector<std::string> problems;
  std::vector<MadeUnit> units = sections.units(problems);
  for (const std::string& p : problems) unread.push_back({paths.front(), "not-read", "its facts: " + p});
  return units;
}

// Facts that were made before: those of C++ are lowered with the rest of it, others are added as they are.
struct FoundFacts {
  std::vector<MadeUnit> cpp;
  std::vector<Unit> others;
  std::vector<UnitStatus> unread;
  std::string problem;
};
FoundFacts findFacts(const ReadOptions& options) {
  FoundFacts found;
  std::set<std::string> known;
  // Facts from anywhere may be nested deeply.
  parallelFor(1, 1, kLargeStack, [&](std::size_t) {
    if (!options.objects.empty())
      for (MadeUnit& made : unitsOfObjects(options.objects, found.unread, found.problem))
        if (known.insert(made.unit.path()).second) found.cpp.push_back(std::move(made));
    if (options.facts_folder.empty() || !found.problem.empty()) return;
    for (Unit& unit : unitsOfFolder(options.facts_folder, found.problem)) {
      if (!known.insert(unit.path()).second) continue;
      if (unit.language != "cpp") {
        found.others.push_back(std::move(unit));
        continue;
      }
      const std::size_t files = unit.files.size();
      found.cpp.push_back({std::move(unit), std::vector<std::string>(files)});  // what they were made of is not known
    }
  });
  return found;
}

// Facts of files that were also read from source yield to them.
void addFacts(FoundFacts found, ProjectFacts& facts) {
  std::set<std::string> known;
  for (const Unit& unit : facts.units) known.insert(unit.path());
  for (Unit& unit : found.others)
    if (known.insert(unit.path()).second) ++facts.files, facts.units.push_back(std::move(unit));
  std::sort(facts.units.begin(), facts.units.end(), [](const Unit& a, const Unit& b) { return a.files < b.files; });
  std::move(found.unread.begin(), found.unread.end(), std::back_inserter(facts.unread));
  std::sort(facts.unread.begin(), facts.unread.end());
}

}  // namespace

std::string relativeToRoot(const std::string& path, const std::string& root) {
  if (root.empty()) return path;
  std::error_code ignored;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  const fs::path base = fs::weakly_canonical(root, ignored);
  const fs::path relative = absolute.lexically_relative(base);
  return relative.empty() || *relative.begin() == ".." ? path : relative.generic_string();
}

std::optional<std::string> readFile(const std::string& path, std::string& error) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) {
    error = std::strerror(errno);
    return std::nullopt;
  }
  std::string text;
  char buffer[65536];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, n);
  if (std::ferror(file.get()) != 0) {
    error = std::strerror(errno);
    return std::nullopt;
  }
  return text;
}

std::vector<Unit> unitsFromJson(std::string_view text, std::string& error) {
  std::vector<Unit> units;
  const auto addUnit = [&](std::string_view one, std::string_view place) {
    auto unit = factsFromJson(one, error);
    if (unit) error = inconsistencyOf(*unit);
    if (!error.empty())
      error = std::string(place) + error;
    else
      units.push_back(std::move(*unit));
  };
  if (const auto first = text.find_first_not_of(" \t\r\n"); first == std::string_view::npos || text[first] != '[') {
    addUnit(text, "");
    return units;
  }
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_array()) {
    error = "this is neither a unit nor an array of units (schema pglocklint/facts/1)";
    return units;
  }
  for (std::size_t i = 0; i < json.size() && error.empty(); ++i) addUnit(json[i].dump(), fmt::format("/{}", i));
  return units;
}

Project openProject(const ReadOptions& options) {
  Project project;
  ProjectInput input;
  input.paths = options.paths;
  const bool only_facts = !options.facts_folder.empty() || !options.objects.empty();
  if (input.paths.empty() && !only_facts) input.paths = {"."};
  const std::string first_path = !input.paths.empty() ? input.paths.front() : ".";
  if (!loadConfig(options, first_path, project, input.config_root)) return project;
  input.runners = project.config.runners;
  input.call_models = project.config.call_models;
  input.staged = options.staged;
  input.threads = options.threads;
  input.everything = options.everything;
  input.build_folder = options.build_folder;
  input.stdin_path = options.stdin_path;
  if (!options.stdin_path.empty()) input.stdin_text = readStandardInput();

  FoundFacts found = findFacts(options);
  project.error = std::move(found.problem);
  if (!project.error.empty()) return project;
  input.cpp_units = std::move(found.cpp);
  project.facts = readProject(input);
  project.error = project.facts.errors.empty() ? unreadRequest(input.paths, project.facts) : project.facts.errors.front();
  if (!project.error.empty()) return project;
  addFacts(std::move(found), project.facts);
  return project;
}

}  // namespace pglocklint

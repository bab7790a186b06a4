// Configuration and facts of one run: what every subcommand that reads a project begins with.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/config.h"
#include "cli/options.h"
#include "cli/read_project.h"

namespace pglocklint {

struct Project {
  Config config;
  ProjectFacts facts;
  std::string error;  // empty, or why the run cannot go on
};

// Configuration first, for it says how files are read; then the facts of all files and of --facts folders.
Project openProject(const ReadOptions& options);

// The contents of a file, or nullopt and the reason.
std::optional<std::string> readFile(const std::string& path, std::string& error);

// A path of the command line, relative to the working directory, as reports name files: relative to the root.
std::string relativeToRoot(const std::string& path, const std::string& root);

// The facts in a .json file: one unit, or an array of units.
std::vector<Unit> unitsFromJson(std::string_view text, std::string& error);

}  // namespace pglocklint

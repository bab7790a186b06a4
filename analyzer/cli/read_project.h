// The first half of a run: from the paths of the command line to the facts of every file that matters.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/facts_section.h"
#include "model/finding.h"
#include "model/host_models.h"
#include "model/pooler.h"
#include "model/unit.h"

namespace pglocklint {

// Configuration: files that match `glob` (relative to the project root) are run by `runner`.
struct RunnerOverride {
  std::string glob, runner;
  bool operator==(const RunnerOverride&) const = default;
};

struct ProjectInput {
  std::vector<std::string> paths;       // as given on the command line
  std::string config_root;              // folder of the configuration file; empty: the root is found from the paths
  bool staged = false;                  // read the index of the git repository instead of the working tree
  std::string stdin_path;               // name under which stdin_text is analyzed; empty: none
  std::string stdin_text;
  unsigned threads = 0;                 // 0: as many as the machine has
  std::vector<RunnerOverride> runners;
  bool everything = false;              // parse every statement, not only the relevant ones
  std::string build_folder;             // with the compile database of the C++ files; empty: looked for
  std::vector<MadeUnit> cpp_units;      // facts of C++ that somebody has made before
  std::vector<HostModel> call_models;   // C++ functions of the project that send SQL
};

struct ProjectFacts {
  std::vector<Unit> units;              // sorted by path
  std::string root;                     // absolute; files are named relative to it
  std::vector<std::string> errors;      // fatal: the run ends with exit 2
  std::vector<UnitStatus> unread;       // files that could not be read, or only in part
  std::vector<Pooler> poolers;          // sorted by file
  std::uint64_t files = 0;              // files looked at
  std::vector<std::string> staged;      // `staged` only: files whose index content differs from HEAD, sorted
  // The text of a file as it was analyzed (index content with `staged`); empty when there is none.
  std::function<std::string(const std::string& file)> source;
};

ProjectFacts readProject(const ProjectInput& input);

}  // namespace pglocklint

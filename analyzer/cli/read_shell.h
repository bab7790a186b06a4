// The shell scripts of a project that run psql: their own facts, and what they say about the SQL files they run.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/unit.h"
#include "shell/front_end.h"
#include "source/read_file.h"

namespace pglocklint {

struct ShellReading {
  std::vector<Unit> units;                      // of scripts that mention psql, in the order of the paths
  std::map<std::string, shell::SqlFileRun> runs;  // SQL file → how scripts run it; what they differ in is not known
  std::map<std::string, std::string> unread;    // script → why it could not be read
};

// `paths` are candidates relative to the project root; those that are no shell scripts or do not mention psql are left out.
ShellReading readShellScripts(const std::vector<std::string>& paths, const std::function<FileText(const std::string&)>& read, unsigned threads);

// What the scripts say about a SQL file, put into its runner facts. Where a migration tool claims the file too and would run it
// otherwise, nothing is certain.
void applyRuns(const std::map<std::string, shell::SqlFileRun>& runs, Unit& unit);

}  // namespace pglocklint

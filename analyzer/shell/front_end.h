// The shell front end: a script that runs psql → one Unit. Each psql process is a session of its own: Start, what it is given
// (-c strings, here-documents, pipes, files as includes), End. Branches and loops of the script are the function's blocks; its own
// functions are taken in where they are called; variables set once to a constant are followed.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/unit.h"

namespace pglocklint::shell {

// A script runs this SQL file with psql, in such transactions.
struct SqlFileRun {
  std::string path;  // relative to the project root
  TransactionMode mode = TransactionMode::Unknown;
  bool fresh_session = true;  // nothing has set a timeout before: not PGOPTIONS, not an earlier -c
  std::vector<std::pair<std::string, std::string>> variables;  // -v: psql variables and their values, as far as they are constants
  auto operator<=>(const SqlFileRun&) const = default;
};

struct ShellFacts {
  Unit unit;
  std::vector<SqlFileRun> runs;
};

// True for a text whose first line names a shell.
bool isShellText(std::string_view text);

// True if the text mentions psql at all.
bool mentionsPsql(std::string_view text);

// `exists` is asked for paths relative to the project root. Run it on a large stack.
ShellFacts readShell(const std::string& path, std::string_view text, const std::function<bool(const std::string&)>& exists);

}  // namespace pglocklint::shell

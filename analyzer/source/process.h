// Runs a program, without a shell.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace pglocklint {

struct ProcessResult {
  int status = -1;          // exit status; -1 if it could not be started or was ended by a signal
  bool timed_out = false;   // it was ended because it took too long
  bool out_of_processor_time = false;
  std::string out, err;     // what it wrote
  bool started() const { return status >= 0; }
};

struct ProcessRequest {
  std::vector<std::string> arguments;    // the program first, found in PATH
  std::string folder;                    // working folder; empty: ours
  std::string_view input;
  std::vector<std::string> environment;  // additions "NAME=value"
  std::vector<std::string> without;      // variables taken away
  int seconds = 0;                       // that it may take; 0: as long as it likes
  int processor_seconds = 0;             // the same, not counting what other programs take
  std::size_t most_output = 0;           // bytes on standard output, 0: any number; beyond, it is ended as if out of time
};

ProcessResult runProcess(const ProcessRequest& request);

// git with a fixed behaviour: independent of the caller's GIT_* variables, locale and hooks of the repository it reads.
// With `index_of_hook`, GIT_INDEX_FILE counts: during a commit it names the index that is being committed.
ProcessResult runGit(std::vector<std::string> arguments, const std::string& folder, std::string_view input = {},
                     bool index_of_hook = false);

}  // namespace pglocklint

// compile_commands.json: how the project's own build compiles each file, reduced to flags that cannot do harm.
//
// A compile database is input like any other: it may have been written for gcc, and by somebody hostile. Only flags of a list
// pass: where headers are, what is defined, which language, headers that are included first. Nothing that loads, writes or runs, nothing
// that pulls in files from outside of the project, its build and the system's headers.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pglocklint {

struct CompileCommand {
  std::string folder;                // working folder, absolute
  std::vector<std::string> flags;    // harmless ones, in their order
  std::vector<std::string> refused;  // names of flags that could have done harm: for coverage
};

// Splits a command as a POSIX shell does: quotes and backslashes.
std::vector<std::string> splitCommand(std::string_view command);

// What a command line may read, by paths as it writes them.
struct CompileFiles {
  std::function<std::optional<std::string>(const std::string& path)> response;  // the text of an @file; nullopt: it must not be read
  // Where a header of -include lies, looked for in these folders too; empty: it must not be read, or is not there.
  std::function<std::string(const std::string& path, const std::vector<std::string>& folders)> header;
};

// The harmless flags of a command line (without the compiler's name).
CompileCommand harmlessFlags(const std::vector<std::string>& arguments, const std::string& folder, const CompileFiles& files);

class CompileDatabase {
 public:
  // `text` of a compile_commands.json. Files of the response kind are read below `root` or `build` only, headers of -include also where
  // the system has its own. On failure `error` says why.
  static CompileDatabase parse(std::string_view text, const std::string& root, const std::string& build, std::string& error);

  bool empty() const { return commands_.empty(); }
  // Of a file by its absolute path; null if it is not compiled.
  const CompileCommand* of(const std::string& absolute) const;

 private:
  std::map<std::string, CompileCommand> commands_;
};

}  // namespace pglocklint

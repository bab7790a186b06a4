// The C++ files of a project that have to do with locks: facts made by worker processes, one for each translation unit.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/facts_section.h"
#include "model/finding.h"
#include "model/host_models.h"
#include "model/unit.h"
#include "source/read_file.h"
#include "sql/front_end.h"

namespace pglocklint {

struct CppInput {
  std::vector<std::string> paths;  // of C and C++ files, relative to the project root, sorted
  std::string root;                // absolute
  std::string build_folder;        // -p; empty: compile_commands.json is looked for in the root and its build folders
  unsigned threads = 0;
  std::function<FileText(const std::string& path)> read;
  std::vector<MadeUnit> given;  // facts from object files and the like, as the clang stage makes them
  std::vector<HostModel> models;  // of the project
};

class CppReading {
 public:
  explicit CppReading(CppInput input);
  ~CppReading();
  CppReading(const CppReading&) = delete;
  CppReading& operator=(const CppReading&) = delete;

  // A fault of what the user asked for (-p without a database), or empty.
  const std::string& error() const { return error_; }
  // Parses the files that mention a lock function, then those that call functions found there.
  void run();
  // And those that mention one of these routines or tables of SQL.
  void follow(const std::vector<std::string>& sql_names);
  // Names that the SQL in the files makes relevant for SQL files.
  sql::RelevantNames names() const;
  // Facts of all files parsed, each function once; the SQL in them is lowered to statements.
  std::vector<Unit> units();
  std::vector<UnitStatus> unread() const { return unread_; }

 private:
  struct State;
  void adopt(std::vector<MadeUnit> given);
  void parse(std::vector<std::string> files);
  void nameRounds();
  std::vector<std::string> preparedNames() const;
  std::vector<std::string> senders() const;
  std::vector<std::string> constantNames(const std::set<std::string>& locking) const;
  std::vector<std::vector<std::size_t>> namedIn(const std::vector<std::string>& names) const;
  std::vector<std::string> includersOf(const std::vector<std::string>& headers) const;

  CppInput input_;
  std::string error_;
  std::vector<UnitStatus> unread_;
  std::vector<Unit> parsed_;
  std::unique_ptr<State> state_;
};

}  // namespace pglocklint

// The generator of query levels. What a level offers to the level above is always the same: id, kind and ts of a row of jobs,
// and the extra columns x0, x1, … of its own; so any source can stand anywhere. Statements around the levels: statements.cpp.
#pragma once
#include <string>
#include <vector>

#include "case.h"

namespace pglocklint::differential {

// Which functions a place takes.
enum class Takes { Boolean, Any };

struct LevelOptions {
  bool plain = false;     // one extra column x0 of type boolean, no tail that an arm of a set operation cannot have
  bool outermost = false;
  bool no_limit = false;
  bool booleans = false;  // all extra columns are boolean
};

struct Source {
  std::string text, alias;
  std::vector<std::string> booleans;  // extra columns of type boolean
  bool table = false;                 // a stored table, whose rows can be locked
  bool joined = false;
};

class Generator {
 public:
  explicit Generator(Choices& choices) : choices_(choices) {}
  Case finish();

 private:
  // expressions (expressions.cpp)
  std::string lock(const std::string& key, Takes takes, bool sort_key = false);
  std::string key(const std::string& alias);
  std::string plain(const std::string& alias);
  std::string lockCondition(const std::string& alias, const Source& source);
  std::string target(const std::string& alias, Takes takes);
  std::string argumentOf(const std::string& alias);

  // levels (levels.cpp)
  std::string newAlias();
  Source source(int depth);
  Source setOperation(int depth);
  Source cte(int depth);
  Source rowsFunction();
  Source from(int depth);
  std::string level(int depth, LevelOptions options = {});
  std::string groupedLevel(int depth);
  std::string tail(const std::string& alias, const std::vector<std::string>& extras, const std::string& distinct, LevelOptions options);
  std::string limit(bool ordered);
  std::string order(const std::string& alias, const std::vector<std::string>& extras, const std::string& distinct, LevelOptions options);
  std::string with(const std::string& query);

  // statements (statements.cpp)
  std::string wrapped();
  void selectStatement();
  void insertStatement();
  void updateStatement();
  void deleteStatement();
  void mergeStatement();
  void viewStatement();
  void preparedStatement();
  void cursorStatement();
  void otherStatement();
  void bodyStatement();
  std::string bodyOf(const std::string& query, std::string& declare);

  void shape(const char* name) { out_.shapes.insert(name); }
  void loseLineage(std::size_t from_site);
  void send(const std::string& marked) { messages_.push_back(marked); }

  Choices& choices_;
  Case out_;
  std::vector<std::string> messages_;  // with marked names
  std::vector<std::string> ctes_;
  int aliases_ = 0;
  bool x0_boolean_ = false;  // the level generated last has a boolean column x0
};

}  // namespace pglocklint::differential

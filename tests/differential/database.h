// PostgreSQL's side: the data sets, the shadow functions, the planner settings, and running one case under one of them.
#pragma once
#include <libpq-fe.h>

#include <map>
#include <string>
#include <vector>

#include "case.h"

namespace pglocklint::differential {

// What the analyzer reads before each case.
std::string analyzerSetup();

// Under which a case runs: the tables of a data set and a planner setting.
struct Combination {
  int data = 0, setting = 0;
  bool operator<(const Combination& o) const { return data != o.data ? data < o.data : setting < o.setting; }
  bool operator==(const Combination&) const = default;
};
inline constexpr int kDataSets = 3;    // few rows and empty partners; a table of the usual kind; shuffled rows and duplicates
inline constexpr int kHeldData = 3;    // a fourth: the second with some rows locked by another session
inline constexpr int kSettings = 7;    // the last one: parallel plans
std::string nameOf(const Combination& c);

// One call that ran.
struct Call {
  int site = -1;
  std::string key;
  bool obtained = true;
};

struct Observation {
  std::string error;             // SQLSTATE, empty if none
  std::vector<Call> calls;       // in the order in which they ran
  std::vector<std::string> ids;  // of the rows returned, written or seen by the body, in their order
  bool has_ids = false;          // the first column is an id
  std::size_t rows = 0;
};

struct RowFacts { long kind = 0, ts = 0; };

class Database {
 public:
  // `where`: a libpq connection string. Creates nothing; throws std::runtime_error if there is no connection.
  explicit Database(const std::string& where);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  int major() const { return PQserverVersion(connection_) / 10000; }
  void createAll();                        // data sets and shadow functions; once for a cluster
  void holdRows();                         // lock rows of the fourth data set until this connection ends
  void use(const Combination& c);
  Observation run(const Case& c);
  std::map<std::string, RowFacts> facts(int data);  // rows of jobs by id

 private:
  void must(const std::string& sql);
  static void notice(void* self, const PGresult* result);

  PGconn* connection_ = nullptr;
  Observation* observing_ = nullptr;
};

}  // namespace pglocklint::differential

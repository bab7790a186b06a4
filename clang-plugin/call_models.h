// Call models: which functions of which libraries send SQL, and what their arguments are. One table; no clang in it.
#pragma once
#include <string_view>

namespace pglocklint::extract {

enum class Role {
  Execute,          // sends the text now
  Prepare,          // gives a statement a name
  ExecutePrepared,  // sends a prepared statement by its name
  Begin, Autocommit, Commit, Rollback,
  Savepoint, Release, RollbackTo,
  Connect,          // makes a session; the text names the database
  Disconnect,
  Reset,
  Nothing,          // known to do nothing that matters: commit() of a transaction that is none
};

enum class Binds {
  None,
  Pack,             // the arguments from `binds` on are $1, $2, …
  PqArrays,         // nParams, paramTypes, paramValues, paramLengths, paramFormats from `binds` on (PQexecParams)
  PqArraysUntyped,  // the same without paramTypes (PQexecPrepared)
  PqKeywords,       // keywords, values: a connection string in two arrays (PQconnectdbParams)
  PqLogin,          // host, port, options, tty, database, user, password (PQsetdbLogin)
};

struct CallModel {
  std::string_view scope;  // "" for a C function; else a prefix of the class's qualified name: "pqxx::"
  std::string_view name;   // "constructor", "destructor" for those
  Role role = Role::Execute;
  int sql = -1;        // argument that holds the text
  int statement = -1;  // argument that holds the prepared statement's name
  Binds binds = Binds::None;
  int first_bind = -1;
  int connection = -1;  // argument that is the connection; -1: the object
};

// The model of a function, or null. `qualified_class` is empty for free functions. Entries for one class stand before those for all of
// a library.
const CallModel* findCallModel(std::string_view qualified_class, std::string_view name);

// Classes of libraries, by the prefix of their qualified name.
bool isConnectionClass(std::string_view qualified);     // an object or handle is a session: PGconn, pqxx::connection
bool isTransactionClass(std::string_view qualified);    // made of a session, and stands for it: pqxx::work, pqxx::pipeline
bool isPointerLike(std::string_view qualified);         // stands for what it points to or holds: std::unique_ptr, std::optional
bool mayShare(std::string_view qualified);              // pointer-like, and others may hold the same: std::shared_ptr

// Methods that hand a handle back to the pool it came from, by name.
bool givesBack(std::string_view name);

// Functions that do not come back: the process ends, or control goes to where it was caught.
enum class Ending { None, Process, Jump };
Ending endingOf(std::string_view qualified_name);
// setjmp and its kin: 0 on the way in, something else when a jump arrives.
bool catchesJumps(std::string_view qualified_name);

// How an answer is looked at (see ResultUse).
enum class Look { Value, Status, RowCount, Frees };
struct ResultModel {
  std::string_view scope, name;
  Look look;
};
const ResultModel* findResultModel(std::string_view qualified_class, std::string_view name);

// Functions by whose name a value is known for what it is.
enum class Source { None, Hash, Clock, Random, ProcessId, ThreadId, Environment, ToText, FromText, Minimum, Maximum, Quote };
Source sourceOf(std::string_view qualified_name);

// Functions that only handle text (concatenate, format, compare, log): text in their arguments is not executed by them.
bool handlesTextOnly(std::string_view qualified_name);

// Functions that make text of a format: std::format and fmt ({}), printf (%d), absl::Substitute ($0), boost::format (%1%).
enum class FormatStyle { Braces, Printf, Dollar, Boost };
struct FormatModel {
  std::string_view name;  // qualified
  FormatStyle style;
  unsigned format, first;  // arguments: the format, and the first value
};
const FormatModel* findFormatModel(std::string_view qualified_name);

// Whether a text begins as SQL does: not every text that names a lock function is sent to a server.
bool beginsLikeSql(std::string_view text);

}  // namespace pglocklint::extract

// Call models: which functions of which libraries send SQL, and what their arguments are. One table; no clang in it. A project adds its
// own in pglocklint.json ("call_models", model/host_models.h).
#pragma once
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/host_models.h"

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
  Wait,             // sleeps
  Nothing,          // known to do nothing that matters: commit() of a transaction that is none; handles text only
  Stream,           // object << text << …: all of it is the text
  StreamValues,     // object << text << value << …: the first is the text, the others are $1, $2, …
  ServerFunction,   // inside the server: argument `sql` is the C function behind an SQL function
  LockTag,          // inside the server: argument `sql` is the address of a LOCKTAG
};

enum class Binds {
  None,
  Pack,             // the arguments from `binds` on are $1, $2, …
  PqArrays,         // nParams, paramTypes, paramValues, paramLengths, paramFormats from `binds` on (PQexecParams)
  PqArraysUntyped,  // the same without paramTypes (PQexecPrepared)
  PqKeywords,       // keywords, values: a connection string in two arrays (PQconnectdbParams)
  PqLogin,          // host, port, options, tty, database, user, password (PQsetdbLogin)
  Datums,           // an array of Datum (SPI_execute_with_args)
  Comma,            // , use(a), use(b) behind the call (SOCI, POCO)
  Chain,            // (a)(b) behind the call (libpqxx 6: prepared("x")(a)(b).exec())
  Later,            // calls that follow give the object its values (bindValue, SQLBindParameter)
};

inline constexpr int kFirstText = -2;     // for CallModel::sql: the first argument that is a text, whichever overload it is
inline constexpr int kNoConnection = -2;  // for CallModel::connection: the call does not show it

struct CallModel {
  std::string_view scope;  // "" for a C function; a class; or all of a library: "pqxx::"
  std::string_view name;   // "constructor", "destructor" for those
  Role role = Role::Execute;
  int sql = -1;        // argument that holds the text
  int statement = -1;  // argument that holds the prepared statement's name
  Binds binds = Binds::None;
  int first_bind = -1;
  int connection = -1;  // argument that is the connection; -1: the object
};

// The model of a function, or null. `scope`: its class; "ns::" for a function of a namespace; empty for one of none. Entries for one class
// stand before those for all of a library.
const CallModel* findCallModel(std::string_view scope, std::string_view name);

// Whether an error of such a call leaves it as an exception, or inside of the server as ereport's jump.
bool raisesErrors(const CallModel& model);
// A call of the server's own code: its session is that of the process.
bool isInsideServer(const CallModel& model);

// What a project says of its own functions.
class ProjectModels {
 public:
  explicit ProjectModels(std::span<const HostModel> models);
  // By the qualified name; null if nothing is said.
  const CallModel* find(std::string_view qualified_name) const;

 private:
  std::deque<std::string> names_;
  std::vector<CallModel> models_;
};

// Calls that give a value to a statement that was prepared before (Binds::Later).
struct LaterBind {
  std::string_view name;  // qualified
  int object = -1;        // argument that is the statement; -1: the object
  int position = -1;      // argument that says which placeholder, by number or by name; -1: the next one
  int value = 0;          // argument that is the value, or its address
  int first = 0;          // number of the first placeholder
};
const LaterBind* findLaterBind(std::string_view qualified_name);

// The SQL function that a C function of the server implements, or empty: "pg_advisory_lock_int8" is pg_advisory_lock.
std::string_view serverFunction(std::string_view c_function);

// Functions that only wrap their argument: use(x), Int64GetDatum(x).
bool wrapsValue(std::string_view qualified_name);

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

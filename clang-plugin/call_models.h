// Call models: which functions of which libraries send SQL, and what their arguments are. One table; no clang in it.
#pragma once
#include <string_view>

namespace pglocklint::extract {

enum class Role {
  Execute,          // sends the text now
  Prepare,          // gives a statement a name
  ExecutePrepared,  // sends a prepared statement by its name
};

enum class Binds {
  None,
  Pack,             // the arguments from `binds` on are $1, $2, …
  PqArrays,         // nParams, paramTypes, paramValues, paramLengths, paramFormats from `binds` on (PQexecParams)
  PqArraysUntyped,  // the same without paramTypes (PQexecPrepared)
};

struct CallModel {
  std::string_view scope;  // "" for a C function; else a prefix of the class's qualified name: "pqxx::"
  std::string_view name;
  Role role = Role::Execute;
  int sql = -1;        // argument that holds the text
  int statement = -1;  // argument that holds the prepared statement's name
  Binds binds = Binds::None;
  int first_bind = -1;
  int connection = -1;  // argument that is the connection; -1: the object
};

// The model of a function, or null. `qualified_class` is empty for free functions.
const CallModel* findCallModel(std::string_view qualified_class, std::string_view name);

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

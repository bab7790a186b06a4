// What a host program (C++) does with SQL: the database calls of one function, the text that each may send, the values it binds, and
// what becomes of the answer.
//
// A front end for a host language fills this in and knows no SQL. The SQL front end then lowers each text to ordinary Statement events
// (sql/host_sql.h), whose parameters and holes lead back to the HostValues here; the Program turns those into Values
// (program/host_values.cpp). So a rule sees a statement of C++ as it sees one of a .sql file.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/describe.h"
#include "model/source_range.h"

namespace pglocklint {

enum class HostTypeKind { None, Signed, Unsigned, Floating, Boolean, Text, Pointer, Other };
PGLOCKLINT_ENUM_NAMES(HostTypeKind, "none", "signed", "unsigned", "floating", "boolean", "text", "pointer", "other")

struct HostType {
  HostTypeKind kind = HostTypeKind::None;
  std::uint32_t bits = 0;  // Signed, Unsigned, Floating
  std::string name;        // as written: "Oid", "std::size_t"
  bool operator==(const HostType&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("kind", s.kind), v("bits", s.bits), v("name", s.name); }
};

enum class HostValueKind {
  Integer, Floating, Text, Boolean, Null,  // text
  Parameter,    // index: which; name
  Variable,     // name: a local that is not one expression
  Member,       // name
  Global,       // name
  Element,      // name; index: the loop (HostCode::loops) that runs over a container
  Result,       // of another function: name; args
  Hash,         // name; args
  Clock, Random, ProcessId, ThreadId, Address, Environment,  // name
  Concat,       // args
  Arithmetic,   // name: operator as C++ writes it; args
  Convert,      // args[0] as `type`
  ToText,       // args[0] written as decimal text
  FromText,     // args[0] read as a number: name
  Choice,       // args: the possible values
  Extreme,      // name: "min", "max"; args
  Unknown,      // text: why
};
PGLOCKLINT_ENUM_NAMES(HostValueKind, "integer", "floating", "text", "boolean", "null", "parameter", "variable", "member", "global",
                      "element", "result", "hash", "clock", "random", "process-id", "thread-id", "address", "environment", "concat",
                      "arithmetic", "convert", "to-text", "from-text", "choice", "extreme", "unknown")

// A value of the host program, as far as its source shows it.
struct HostValue {
  HostValueKind kind = HostValueKind::Unknown;
  HostType type;
  std::string name, text;
  std::int32_t index = -1;
  bool implicit = false;         // Convert: nobody wrote it
  std::string constant;          // name of the constant that it is ("kOrderLock"), or empty
  SourceRange range;             // where it is written
  SourceRange defined;           // where the constant is defined
  std::vector<HostValue> args;
  bool operator==(const HostValue&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("type", s.type), v("name", s.name), v("text", s.text), v("index", s.index), v("implicit", s.implicit);
    v("constant", s.constant), v("range", s.range), v("defined", s.defined), v("args", s.args);
  }
};

// From byte `offset` of the piece on, text and file run in step.
struct HostPlace {
  std::uint32_t offset = 0, file = 0, at = 0;
  bool operator==(const HostPlace&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("offset", s.offset), v("file", s.file), v("at", s.at); }
};

// Text that is written down, or (hole >= 0) a part that is not: index into HostCall::holes.
struct HostPiece {
  std::string text;
  std::vector<HostPlace> places;
  std::int32_t hole = -1;
  bool quoted = false;  // hole: a literal with its quotes (tx.quote(x))
  SourceRange range;
  bool operator==(const HostPiece&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("text", s.text), v("places", s.places), v("hole", s.hole), v("quoted", s.quoted), v("range", s.range);
  }
};

struct HostText {
  std::vector<HostPiece> pieces;
  bool operator==(const HostText&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("pieces", s.pieces); }
};

enum class HostCallKind {
  Execute,          // sends text now
  Prepare,          // name: of the prepared statement; text
  ExecutePrepared,  // name
  Function,         // a function of the program: name with signature; binds = arguments
  Begin,            // pqxx::work's constructor
  Commit,
  Rollback,         // abort(), and the destructor of a transaction that may still be open
};
PGLOCKLINT_ENUM_NAMES(HostCallKind, "execute", "prepare", "execute-prepared", "function", "begin", "commit", "rollback")

// What the program does with the answer.
enum class ResultUse {
  Unknown,
  Ignored,         // nobody looks at it
  StatusOnly,      // only whether the statement ran: PQresultStatus
  RowCountOnly,    // only how many rows came: a try function always gives one
  PointerTested,   // PQgetvalue(…) as a condition: true for "f" too
  Read,
};
PGLOCKLINT_ENUM_NAMES(ResultUse, "unknown", "ignored", "status-only", "row-count-only", "pointer-tested", "read")

struct HostCall {
  HostCallKind kind = HostCallKind::Execute;
  std::string api;                  // "PQexecParams", "pqxx::work::exec"; a function of the program: as called
  std::string name;
  SourceRange range;
  std::vector<HostText> texts;      // alternatives, in source order
  std::vector<HostValue> holes;
  std::vector<HostValue> binds;     // of $1, $2, …
  std::string connection;           // path to the session: "parameter c", "member conn_", "fresh 12:3", or empty: not known
  ResultUse result = ResultUse::Unknown;
  SourceRange result_range;         // where it is used so
  std::int32_t loop = -1;           // innermost loop around it
  bool binary = false;              // a bind goes out in binary format
  std::uint32_t loop_depth = 0;
  bool session_in_loop = false;     // its transaction or connection is made anew in each round of a loop around it
  bool operator==(const HostCall&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("api", s.api), v("name", s.name), v("range", s.range), v("texts", s.texts), v("holes", s.holes);
    v("binds", s.binds), v("connection", s.connection), v("result", s.result), v("result_range", s.result_range);
    v("loop", s.loop), v("binary", s.binary), v("loop_depth", s.loop_depth);
    v("session_in_loop", s.session_in_loop);
  }
};

enum class LoopOrder { Unknown, Sorted, Unsorted };
PGLOCKLINT_ENUM_NAMES(LoopOrder, "unknown", "sorted", "unsorted")

// A loop over the elements of a container.
struct HostLoop {
  SourceRange range;       // its head
  std::string variable;    // of the element
  std::string container;   // for people: "ports (std::unordered_set<int>)"
  LoopOrder order = LoopOrder::Unknown;
  std::int32_t parent = -1;
  bool operator==(const HostLoop&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("range", s.range), v("variable", s.variable), v("container", s.container), v("order", s.order), v("parent", s.parent);
  }
};

// Of one function.
struct HostCode {
  std::vector<HostCall> calls;
  std::vector<HostLoop> loops;
  bool operator==(const HostCode&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("calls", s.calls), v("loops", s.loops); }
};

// Functions of the host program are named "ns::Class::lock(PGconn *, int)": with their signature, for there are overloads. In the
// catalogue they have a schema of their own, so that no call in SQL can mean one.
inline constexpr char kHostSchema[] = "C++";

// The name without the signature.
inline std::string hostDisplayName(const std::string& name) {
  const std::size_t from = name.find("operator()") == std::string::npos ? 0 : name.find("operator()") + 10;
  return name.substr(0, name.find('(', from));
}

}  // namespace pglocklint

// What a host program (C++) does with SQL: the database calls of one function, the text that each may send, the values it binds, on
// which session, and what becomes of the answer.
//
// A front end for a host language fills this in and knows no SQL. The SQL front end then lowers each text to ordinary Statement events
// (sql/host_sql.h), whose parameters and holes lead back to the HostValues here; the Program turns those into Values
// (program/host_values.cpp). So a rule sees a statement of C++ as it sees one of a .sql file.
//
// Paths name objects and variables of the host program, as one function sees them: a root and fields, "this.db_.conn_". Roots:
//   this               the object of the method
//   parameter N        0-based
//   local NAME L:C     a variable of the function, by its declaration
//   global NAME        qualified; also static members and function-local statics
//   made L:C           what an expression at that place makes (a temporary, a handle that nobody names)
//   return             what the function returns
// Pointers, references, smart pointers, std::optional and iterators are transparent: c, *c, c->, c.get() are one path. A transaction
// object stands for the session that it runs on: pqxx::work tx(c) has the path of c. "": not known.
// "lock.#ns::Class" says whether the object `lock`, of a class with virtual functions, is of that class and not of one derived from it.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
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

// … without the conversions around it.
inline const HostValue& unconverted(const HostValue& v) { return v.kind == HostValueKind::Convert && v.args.size() == 1 ? unconverted(v.args[0]) : v; }

// The number that a value is, below its conversions; a boolean is 0 or 1. nullopt: it is no constant, or one beyond 64 bits with a sign.
inline std::optional<std::int64_t> integerOf(const HostValue& v) {
  const HostValue& plain = unconverted(v);
  if (plain.kind == HostValueKind::Boolean) return plain.text == "true";
  std::int64_t n = 0;
  const char* end = plain.text.data() + plain.text.size();
  const auto [stop, error] = std::from_chars(plain.text.data(), end, n);
  return plain.kind == HostValueKind::Integer && error == std::errc() && stop == end ? std::optional(n) : std::nullopt;
}

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

// The function's parameter has one of these values.
struct HostWhen {
  std::int32_t parameter = -1;
  std::vector<std::int64_t> values;
  bool operator==(const HostWhen&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("parameter", s.parameter), v("values", s.values); }
};

struct HostText {
  std::vector<HostPiece> pieces;
  std::vector<HostWhen> when;  // what decides for this alternative: all of it
  bool operator==(const HostText&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("pieces", s.pieces), v("when", s.when); }
};

enum class HostCallKind {
  Execute,          // sends text now; name: of the function of the program that is given the text, if it is one
  Prepare,          // name: of the prepared statement; text
  ExecutePrepared,  // name
  Function,         // a function of the program: name with signature, empty if the target is not known; binds = arguments
  Begin,            // pqxx::work's constructor: name = isolation level as PostgreSQL writes it, or empty
  Autocommit,       // pqxx::nontransaction's constructor: from here on each statement is a transaction of its own
  Commit,
  Rollback,         // abort(), and the destructor of a transaction that may still be open; without effect after Commit
  Savepoint,        // pqxx::subtransaction: name
  Release,          // its commit()
  RollbackTo,       // its destructor without one; without effect after Release
  Connect,          // a new session: texts = what names the database (PQconnectdb, pqxx::connection)
  Obtain,           // a session from somewhere else, for this call alone: a pool's checkout. api = what gives it
  GiveBack,         // to where it was obtained from: whoever gets it next finds its session locks held
  Disconnect,       // the session ends: PQfinish, the destructor of a connection
  Reset,            // another session in its place: PQreset
  Wait,             // it sleeps, and sends nothing meanwhile
};
PGLOCKLINT_ENUM_NAMES(HostCallKind, "execute", "prepare", "execute-prepared", "function", "begin", "autocommit", "commit", "rollback",
                      "savepoint", "release", "rollback-to", "connect", "obtain", "give-back", "disconnect", "reset", "wait")

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
  std::vector<std::int32_t> bind_types;  // OIDs of their types, where the program says them; 0: the server decides
  std::string dispatch;             // Function, Execute: the call is virtual, and the object is of this class or of one derived from it
  std::vector<std::string> targets;  // of a virtual call, once all units are together: what it may run, where that is not told apart
  std::string connection;           // path of the session; Function: of the object it is called on, a constructor's of what it makes
  std::vector<std::string> bind_paths;  // of the call's arguments, where they are objects or handles: one for each, or none at all
  std::vector<std::string> outputs;  // of the arguments that are booleans and numbers which the call may write (&got): their paths, as bind_paths
  std::string made;                 // path of the variable that takes what the call returns, where that is an object or a handle
  bool throws = false;              // an error of the statement, or in the function, leaves it as an exception
  ResultUse result = ResultUse::Unknown;
  SourceRange result_range;         // where it is used so
  std::int32_t loop = -1;           // innermost loop around it
  bool binary = false;              // a bind goes out in binary format
  std::uint32_t loop_depth = 0;
  bool session_in_loop = false;     // its transaction or connection is made anew in each round of a loop around it
  bool deferred = false;            // Function: a closure that is given to code that is not seen; it may run from here on, often or never
  bool lock_tag = false;            // of the lock manager: a key of three parts is one of a space that no SQL function reaches, its number first
  bool lasting = false;             // Begin: of a field, in a class whose methods never end that transaction
  bool operator==(const HostCall&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("api", s.api), v("name", s.name), v("range", s.range), v("texts", s.texts), v("holes", s.holes);
    v("binds", s.binds), v("bind_types", s.bind_types), v("connection", s.connection), v("result", s.result), v("result_range", s.result_range);
    v("loop", s.loop), v("binary", s.binary), v("loop_depth", s.loop_depth);
    v("session_in_loop", s.session_in_loop), v("bind_paths", s.bind_paths), v("outputs", s.outputs), v("made", s.made), v("throws", s.throws);
    v("deferred", s.deferred), v("lasting", s.lasting), v("lock_tag", s.lock_tag), v("dispatch", s.dispatch), v("targets", s.targets);
  }
};

enum class HostTruthKind {
  Unknown,
  Constant,  // value
  Answer,    // the boolean that call `call` answers: the first column of its first row; what a function of the program returns
  Success,   // call `call` raised no error (PQresultStatus(r) == PGRES_TUPLES_OK)
  Variable,  // name: path of a bool, or of a pointer or optional that is tested (engaged; of a field with "?" behind it: "this.c_?")
  Not, And, Or,  // args
  Rows,      // a comparison of how many rows call `call` gave: name
};
PGLOCKLINT_ENUM_NAMES(HostTruthKind, "unknown", "constant", "answer", "success", "variable", "not", "and", "or", "rows")

// What a condition or a boolean of the host program is, as far as it depends on the database.
struct HostTruth {
  HostTruthKind kind = HostTruthKind::Unknown;
  bool value = false;
  std::int32_t call = -1;  // index into HostCode::calls
  std::string name;        // Variable: its path. Answer, Rows: a comparison of the number that it is ("<0"); empty: that it is not 0
  std::vector<HostTruth> args;
  bool operator==(const HostTruth&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("value", s.value), v("call", s.call), v("name", s.name), v("args", s.args);
  }
};

enum class HostStepKind {
  Assign,     // `target`, a path, becomes `truth`; also the engaged state of an optional or a pointer
  Condition,  // the last event of its block: the block's True and False edges are taken by `truth`
  Return,     // truth: of a function that returns bool, or a number (true where it is not 0; "return.=-1": see host_number.h)
  Throw,      // target: the type, as written; empty: throw;
  Exit,       // the process ends: std::exit, abort
};
PGLOCKLINT_ENUM_NAMES(HostStepKind, "assign", "condition", "return", "throw", "exit")

// What a function does between its calls, as far as lock state needs it.
struct HostStep {
  HostStepKind kind = HostStepKind::Assign;
  SourceRange range;
  std::string target;
  HostTruth truth;
  bool operator==(const HostStep&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("kind", s.kind), v("range", s.range), v("target", s.target), v("truth", s.truth); }
};

// Two paths of one object: `path` is bound to, copied or moved from `target` (a constructor's conn_(c): this.conn_ is parameter 0), or
// a field that holds a value (id_(id)); flow-insensitive.
struct HostAlias {
  std::string path, target;
  HostValue value;  // Unknown: not a value
  bool operator==(const HostAlias&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("path", s.path), v("target", s.target), v("value", s.value); }
};

enum class LoopOrder { Unknown, Sorted, Unsorted };
PGLOCKLINT_ENUM_NAMES(LoopOrder, "unknown", "sorted", "unsorted")

// A loop over the elements of a container, or over the rows of an answer.
struct HostLoop {
  SourceRange range;       // its head
  std::string variable;    // of the element; "ids[i]" where an index counts
  std::string container;   // for people: "ports (std::unordered_set<int>)"
  LoopOrder order = LoopOrder::Unknown;
  std::int32_t parent = -1;
  std::int32_t answer = -1;  // the call whose rows it goes over
  bool operator==(const HostLoop&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("range", s.range), v("variable", s.variable), v("container", s.container), v("order", s.order), v("parent", s.parent);
    v("answer", s.answer);
  }
};

// A method of a class with virtual functions. Classes are named as functions are, with their file if no other unit can name them.
struct HostMethod {
  std::string of_class;
  std::vector<std::string> bases;      // of that class, and theirs; sorted
  std::vector<std::string> overrides;  // the functions it overrides, and those that they override, by name with signature; sorted
  bool is_virtual = false;
  bool abstract = false;  // there are no objects of exactly that class
  bool operator==(const HostMethod&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("of_class", s.of_class), v("bases", s.bases), v("overrides", s.overrides), v("is_virtual", s.is_virtual), v("abstract", s.abstract);
  }
};

// Of one function. Its blocks have the calls and steps as events, in the order of control. An exception of a call goes to
// Block::unwind: blocks with the destructors that run (calls like any other), then the handlers that may take it, or the way out of the
// function (a block without successors that ends in a Throw without a target).
struct HostCode {
  std::vector<HostCall> calls;
  std::vector<HostLoop> loops;
  std::vector<HostStep> steps;
  std::vector<HostAlias> aliases;
  std::vector<HostMethod> method;  // zero or one
  bool degraded = false;  // its text could not be understood in full (a type or a header is missing): destructors may be missing
  bool operator==(const HostCode&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("calls", s.calls), v("loops", s.loops), v("steps", s.steps), v("aliases", s.aliases), v("degraded", s.degraded);
    v("method", s.method);
  }
};

// Variables that stand for what a call answered, and whether it went well, where a HostTruth has become an expression.
inline std::string hostAnswer(std::int32_t call) { return "#answer " + std::to_string(call); }
inline std::string hostSuccess(std::int32_t call) { return "#success " + std::to_string(call); }

// The variable that says whether the object at `path` is of class `name`.
inline constexpr char kHostClass[] = ".#";
inline std::string hostClass(const std::string& path, const std::string& name) { return path + kHostClass + name; }

// Functions of the host program are named "ns::Class::lock(PGconn *, int)": with their signature, for there are overloads. In the
// catalogue they have a schema of their own, so that no call in SQL can mean one.
inline constexpr char kHostSchema[] = "C++";

inline constexpr char kHostConstructor[] = "constructor", kHostDestructor[] = "destructor";  // "ns::Class::constructor(int)"

// The name without the signature.
inline std::string hostDisplayName(const std::string& name) {
  const std::size_t from = name.find("operator()") == std::string::npos ? 0 : name.find("operator()") + 10;
  return name.substr(0, name.find('(', from));
}

}  // namespace pglocklint

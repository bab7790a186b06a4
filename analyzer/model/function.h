// Functions, blocks and events: a program as small control-flow graphs, one for each script, DO block, SQL or PL/pgSQL
// function, and (other front ends) each C++ function.
#pragma once
#include <cstdint>
#include <string>

#include "model/host.h"
#include "model/query_shape.h"

namespace pglocklint {

// What kind of SQL statement a Statement event is.
enum class StatementKind : std::uint8_t {
  Query,          // SELECT, VALUES, TABLE, INSERT, UPDATE, DELETE, MERGE; also every SQL expression of PL/pgSQL
  Explain,        // EXPLAIN without ANALYZE: plans, runs nothing
  ExplainAnalyze,
  Prepare,        // name = the prepared statement; nothing runs
  Execute,        // name; exprs = arguments
  DeclareCursor,  // name; nothing runs
  Fetch,          // name; fetch_count rows
  Move,
  CloseCursor,
  CreateTableAs,  // also SELECT INTO table, CREATE MATERIALIZED VIEW, REFRESH has no query
  Copy,           // COPY (query) TO …
  Call,           // CALL procedure(…): exprs[0]
  Do,             // DO block: function = its index in Unit::functions
  Utility,        // parsed, of no further interest (VACUUM, GRANT, LOCK TABLE, …): see head
  HostCall,       // a call of another function of the host program: exprs[0]
  Unparsed,       // not looked into because nothing in it can matter; `count` of them in a row
  NotUnderstood,  // mentions something relevant and could not be parsed; degraded facts may be in exprs
};
PGLOCKLINT_ENUM_NAMES(StatementKind, "query", "explain", "explain-analyze", "prepare", "execute", "declare-cursor", "fetch", "move",
                      "close-cursor", "create-table-as", "copy", "call", "do", "utility", "host-call", "unparsed", "not-understood")

// Where in PL/pgSQL a statement or expression stands; it decides how many rows are asked for and who reads the result.
enum class PlContext : std::uint8_t {
  None,           // not in PL/pgSQL
  Sql,            // a plain SQL statement without INTO
  Perform,        // all rows, result thrown away
  SelectInto,     // first row (into_strict: two)
  Assign,         // into[0] := expression
  ForQuery,       // FOR r IN query LOOP
  ForRange,       // bounds of an integer FOR, or the array of FOREACH
  Condition,      // IF, ELSIF, WHILE, CASE, EXIT/CONTINUE WHEN: a branch depends on it
  Return,         // RETURN expression
  ReturnQuery,    // RETURN QUERY: all rows, stored; also RETURN NEXT
  OpenCursor,     // OPEN c FOR query: nothing runs yet
  Raise,          // argument of RAISE
  Assert,         // evaluated only while plpgsql.check_asserts is on
  Default,        // initial value in DECLARE
  Argument,       // other expression that is evaluated once
};
PGLOCKLINT_ENUM_NAMES(PlContext, "none", "sql", "perform", "select-into", "assign", "for-query", "for-range", "condition", "return",
                      "return-query", "open-cursor", "raise", "assert", "default", "argument")

struct Statement {
  StatementKind kind = StatementKind::Utility;
  SourceRange range;               // without the semicolon, without leading comments
  std::string head;                // leading keywords, upper case, at most three: "UPDATE", "CREATE INDEX", "DISCARD ALL"
  List<Query> query;        // zero or one. A PL/pgSQL expression e is the query SELECT e
  List<Expr> exprs;         // see kind; NotUnderstood: the lock calls that were recovered at token level
  PlContext context = PlContext::None;
  List<std::string> into;   // INTO targets, or the variable assigned to / looped with; folded
  bool into_strict = false;
  bool left_early = false;         // ForQuery: the loop body can leave the loop (EXIT, RETURN)
  RareText name;                   // cursor or prepared statement
  bool hold = false;               // WITH HOLD
  std::int64_t fetch_count = 1;    // Fetch, Move: rows; -1 = all
  bool fetch_backward = false;
  bool fetch_skips = false;        // Fetch: ABSOLUTE or RELATIVE n passes n rows and returns the last
  bool no_data = false;            // WITH NO DATA
  bool dynamic = false;            // the text comes from EXECUTE of text we know
  bool has_holes = false;          // dynamic text with parts we do not know (params whose text starts with "%")
  List<Expr> using_args;    // EXECUTE … USING
  RareText consumer;               // psql: "gset", "gexec", "watch", "g" …: who takes the result; else empty
  std::int32_t function = -1;      // Do
  std::uint32_t count = 1;         // Unparsed
  std::uint32_t loop_depth = 0;    // loops of this function that enclose it
  std::int32_t host_call = -1;     // index into HostCode::calls of a host function: whose call sends it; binds $1, $2, …

  bool operator==(const Statement&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("range", s.range), v("head", s.head), v("query", s.query), v("exprs", s.exprs);
    v("context", s.context), v("into", s.into), v("into_strict", s.into_strict), v("left_early", s.left_early);
    v("name", s.name), v("hold", s.hold), v("fetch_count", s.fetch_count), v("fetch_backward", s.fetch_backward);
    v("fetch_skips", s.fetch_skips);
    v("no_data", s.no_data), v("dynamic", s.dynamic), v("has_holes", s.has_holes), v("using", s.using_args);
    v("consumer", s.consumer), v("function", s.function), v("count", s.count), v("loop_depth", s.loop_depth);
    v("host_call", s.host_call);
  }
};

enum class TransactionVerb : std::uint8_t {
  Begin, Commit, Rollback, Savepoint, Release, RollbackTo, PrepareTransaction, CommitPrepared, RollbackPrepared, SetTransaction
};
PGLOCKLINT_ENUM_NAMES(TransactionVerb, "begin", "commit", "rollback", "savepoint", "release", "rollback-to", "prepare-transaction",
                      "commit-prepared", "rollback-prepared", "set-transaction")

struct TransactionOp {
  TransactionVerb verb = TransactionVerb::Begin;
  SourceRange range;
  RareText name;          // savepoint or gid
  RareText isolation;     // "read committed", "repeatable read", "serializable", … if written
  bool chain = false;
  auto operator<=>(const TransactionOp&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("verb", s.verb), v("range", s.range), v("name", s.name), v("isolation", s.isolation), v("chain", s.chain);
  }
};

enum class SettingScope : std::uint8_t { Session, Local, Reset };
PGLOCKLINT_ENUM_NAMES(SettingScope, "session", "local", "reset")

// SET, SET LOCAL, RESET; set_config is a call. SET CONSTRAINTS: "constraints" or "constraints NAME", "deferred" or "immediate".
struct Setting {
  SourceRange range;
  std::string name, value;
  SettingScope scope = SettingScope::Session;
  auto operator<=>(const Setting&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("range", s.range), v("name", s.name), v("value", s.value), v("scope", s.scope); }
};

enum class SessionVerb : std::uint8_t {
  Include,     // \i, \ir: text = path as written; relative = \ir
  Reconnect,   // \c, \connect: another session
  DiscardAll,
  Quit,        // \q
  Start,       // a new session begins (a shell script starts psql): text = what names the database, as written
  End,         // and ends: its session locks are gone
  StringBegin, // what follows up to StringEnd is sent as one string of several statements: one implicit transaction,
  StringEnd,   //   unless BEGIN or COMMIT inside split it
  Outside,     // the session waits for something that is no SQL: \!, \prompt, a program that writes into psql's pipe
};
PGLOCKLINT_ENUM_NAMES(SessionVerb, "include", "reconnect", "discard-all", "quit", "start", "end", "string-begin", "string-end", "outside")

struct SessionOp {
  SessionVerb verb = SessionVerb::Include;
  SourceRange range;
  std::string text;
  bool relative = false;
  auto operator<=>(const SessionOp&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("verb", s.verb), v("range", s.range), v("text", s.text), v("relative", s.relative); }
};

enum class ExitKind : std::uint8_t { Return, Raise };
PGLOCKLINT_ENUM_NAMES(ExitKind, "return", "raise")

// The function ends here (RETURN), or an error is raised (RAISE EXCEPTION; text = condition name or SQLSTATE if written).
struct Exit {
  ExitKind kind = ExitKind::Return;
  SourceRange range;
  std::string text;
  auto operator<=>(const Exit&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("kind", s.kind), v("range", s.range), v("text", s.text); }
};

enum class EventKind : std::uint8_t { Statement, Transaction, Setting, Session, Ddl, Exit, HostCall, HostStep };
PGLOCKLINT_ENUM_NAMES(EventKind, "statement", "transaction", "setting", "session", "ddl", "exit", "host-call", "host-step")

// One thing that happens. Exactly the vector that belongs to `kind` has one element (Ddl: an index into Unit::ddl).
struct Event {
  EventKind kind = EventKind::Statement;
  List<Statement> statement;
  List<TransactionOp> transaction;
  List<Setting> setting;
  List<SessionOp> session;
  List<Exit> exit;
  std::int32_t ddl = -1;
  std::int32_t host_call = -1;  // HostCall, and what it is lowered to: index into HostCode::calls. HostStep: into HostCode::steps

  Event() = default;
  Event(Statement s) : kind(EventKind::Statement) { statement.push_back(std::move(s)); }
  Event(TransactionOp t) : kind(EventKind::Transaction) { transaction.push_back(std::move(t)); }
  Event(Setting s) : kind(EventKind::Setting) { setting.push_back(std::move(s)); }
  Event(SessionOp s) : kind(EventKind::Session) { session.push_back(std::move(s)); }
  Event(Exit e) : kind(EventKind::Exit) { exit.push_back(std::move(e)); }
  static Event ofDdl(std::int32_t index) {
    Event e;
    e.kind = EventKind::Ddl, e.ddl = index;
    return e;
  }
  bool operator==(const Event&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("statement", s.statement), v("transaction", s.transaction), v("setting", s.setting);
    v("session", s.session), v("exit", s.exit), v("ddl", s.ddl), v("host_call", s.host_call);
  }
};

enum class EdgeKind : std::uint8_t { Next, True, False };  // True/False: by the Condition statement that ends the block
PGLOCKLINT_ENUM_NAMES(EdgeKind, "next", "true", "false")

struct Edge {
  std::int32_t target = -1;
  EdgeKind kind = EdgeKind::Next;
  auto operator<=>(const Edge&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("target", s.target), v("kind", s.kind); }
};

// Straight-line events; then one of the edges. Block 0 is the entry; a block without edges ends the function.
struct Block {
  List<Event> events;
  List<Edge> successors;
  std::int32_t scope = -1;   // innermost exception scope, index into Function::exception_scopes
  std::int32_t unwind = -1;  // host functions: the block where an exception of this block's events goes; -1: out of the function
  bool operator==(const Block&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("events", s.events), v("successors", s.successors), v("scope", s.scope), v("unwind", s.unwind);
  }
};

struct ExceptionHandler {
  List<std::string> conditions;  // lower case: "others", "unique_violation", "sqlstate 22012"
  std::int32_t block = -1;              // first block of the handler (its own scope is the parent's)
  SourceRange range;
  auto operator<=>(const ExceptionHandler&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("conditions", s.conditions), v("block", s.block), v("range", s.range); }
};

// A PL/pgSQL block with EXCEPTION: a subtransaction around the blocks whose `scope` it is.
struct ExceptionScope {
  SourceRange range;  // BEGIN … END
  std::int32_t parent = -1;
  List<ExceptionHandler> handlers;
  auto operator<=>(const ExceptionScope&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("range", s.range), v("parent", s.parent), v("handlers", s.handlers); }
};

enum class ParameterMode : std::uint8_t { In, Out, InOut, Variadic, Table };
PGLOCKLINT_ENUM_NAMES(ParameterMode, "in", "out", "inout", "variadic", "table")

struct Parameter {
  std::string name, type;  // type canonical, e.g. "bigint", "integer[]"
  ParameterMode mode = ParameterMode::In;
  List<Expr> default_value;  // zero or one
  SourceRange range;
  bool operator==(const Parameter&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("name", s.name), v("type", s.type), v("mode", s.mode), v("default", s.default_value), v("range", s.range);
  }
};

// A variable or cursor declared in PL/pgSQL (or the loop variable of a FOR).
struct Variable {
  std::string name, type;  // "record", "refcursor" (a bound cursor has query), "table%rowtype", …
  bool constant = false, not_null = false;
  List<Expr> initial;       // zero or one
  List<Query> query;        // bound cursor
  SourceRange range;               // the declaration
  SourceRange visible;             // the block it is visible in
  bool operator==(const Variable&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("name", s.name), v("type", s.type), v("constant", s.constant), v("not_null", s.not_null), v("initial", s.initial);
    v("query", s.query), v("range", s.range), v("visible", s.visible);
  }
};

enum class FunctionKind : std::uint8_t {
  Script,      // the top level of a file: one session, statements in order
  DownScript,  // the down section of a migration file
  NamedQuery,  // one query of an sqlc/yesql style file: a prepared statement of the host program
  DoBlock,
  Routine,     // CREATE FUNCTION
  Procedure,   // CREATE PROCEDURE
  HostFunction,  // of the host program: `host` says more
};
PGLOCKLINT_ENUM_NAMES(FunctionKind, "script", "down-script", "named-query", "do-block", "routine", "procedure", "host-function")

enum class Volatility : std::uint8_t { Volatile, Stable, Immutable };
PGLOCKLINT_ENUM_NAMES(Volatility, "volatile", "stable", "immutable")
enum class ParallelSafety : std::uint8_t { Unsafe, Restricted, Safe };
PGLOCKLINT_ENUM_NAMES(ParallelSafety, "unsafe", "restricted", "safe")

struct Function {
  FunctionKind kind = FunctionKind::Script;
  RareText schema;
  std::string name;                // folded; DoBlock and scripts: empty
  std::string language;            // "sql", "plpgsql", "c", …; scripts: "sql"
  SourceRange range;               // the CREATE statement, the DO statement, or the whole file
  SourceRange name_range;
  SourceRange body_range;          // inside the quotes
  List<Parameter> parameters;
  std::string returns;             // canonical type; "void", "trigger", "table"; procedures: ""
  bool returns_set = false;
  Volatility volatility = Volatility::Volatile;
  SourceRange volatility_range;    // of the word, if written
  ParallelSafety parallel = ParallelSafety::Unsafe;
  SourceRange parallel_range;
  bool strict = false, security_definer = false, leakproof = false, atomic_body = false;
  double cost = -1;                // -1: not written (1 for C and internal, else 100)
  List<Setting> settings;   // SET clauses
  List<Variable> variables; // all of the body, in order
  List<Block> blocks;       // empty: the body is not known (C, or not understood)
  List<ExceptionScope> exception_scopes;
  bool body_understood = true;
  List<HostCode> host;             // HostFunction: one

  bool operator==(const Function&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("schema", s.schema), v("name", s.name), v("language", s.language), v("range", s.range);
    v("name_range", s.name_range), v("body_range", s.body_range), v("parameters", s.parameters), v("returns", s.returns);
    v("returns_set", s.returns_set), v("volatility", s.volatility), v("volatility_range", s.volatility_range);
    v("parallel", s.parallel), v("parallel_range", s.parallel_range), v("strict", s.strict);
    v("security_definer", s.security_definer), v("leakproof", s.leakproof), v("atomic_body", s.atomic_body), v("cost", s.cost);
    v("settings", s.settings), v("variables", s.variables), v("blocks", s.blocks);
    v("exception_scopes", s.exception_scopes), v("body_understood", s.body_understood), v("host", s.host);
  }
};

}  // namespace pglocklint

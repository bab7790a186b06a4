// A Unit: the facts of one file (or translation unit). Plain values: they serialise to JSON and back without loss, and say what
// is written, never what it means.
#pragma once
#include <cstdint>
#include <string>

#include "model/function.h"

namespace pglocklint {

struct ColumnDefinition {
  std::string name, type;  // canonical type; serial types as written ("bigserial")
  SourceRange range;
  bool not_null = false, primary_key = false, unique = false, generated = false, identity = false;
  List<Expr> default_value;  // zero or one: DEFAULT or GENERATED expression
  List<Expr> checks;
  bool operator==(const ColumnDefinition&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("name", s.name), v("type", s.type), v("range", s.range), v("not_null", s.not_null), v("primary_key", s.primary_key);
    v("unique", s.unique), v("generated", s.generated), v("identity", s.identity), v("default", s.default_value);
    v("checks", s.checks);
  }
};

enum class DdlKind : std::uint8_t {
  CreateTable,     // columns, keys, checks
  AlterTable,      // actions
  CreateView,      // query; also materialized
  CreateIndex,     // relation, key_columns, exprs, unique
  CreateTrigger,   // relation, function_name, …
  CreatePolicy,    // relation, exprs: USING, WITH CHECK
  AlterPolicy,
  CreateDomain,    // checks
  CreateRule,      // relation, query: the actions, exprs: the condition
  CreateFunction,  // function = index into Unit::functions; also procedures
  AlterFunction,   // volatility etc. in `options`
  DropFunction, DropRelation, DropTrigger, DropPolicy,
  RenameRelation, RenameFunction,  // new_name
  SetSearchPath,
  Other,
};
PGLOCKLINT_ENUM_NAMES(DdlKind, "create-table", "alter-table", "create-view", "create-index", "create-trigger", "create-policy",
                      "alter-policy", "create-domain", "create-rule", "create-function", "alter-function", "drop-function", "drop-relation",
                      "drop-trigger", "drop-policy", "rename-relation", "rename-function", "set-search-path", "other")

enum class AlterActionKind : std::uint8_t {
  AddColumn, DropColumn, SetType, SetNotNull, DropNotNull, SetDefault, DropDefault, AddConstraint, RenameColumn, EnableRowSecurity,
  DisableTrigger, EnableTrigger,  // column.name: the trigger, "" for all
  Other
};
PGLOCKLINT_ENUM_NAMES(AlterActionKind, "add-column", "drop-column", "set-type", "set-not-null", "drop-not-null", "set-default",
                      "drop-default", "add-constraint", "rename-column", "enable-row-security", "disable-trigger", "enable-trigger", "other")

struct AlterAction {
  AlterActionKind kind = AlterActionKind::Other;
  ColumnDefinition column;               // AddColumn; for the others its name, type or default
  RareText new_name;                     // RenameColumn
  bool unique = false, primary_key = false;  // AddConstraint with key_columns
  List<std::string> key_columns;
  List<Expr> checks;
  bool operator==(const AlterAction&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("column", s.column), v("new_name", s.new_name), v("unique", s.unique);
    v("primary_key", s.primary_key), v("key_columns", s.key_columns), v("checks", s.checks);
  }
};

// One data-definition statement, in file order. Which of them is live is decided when all units are linked.
struct Ddl {
  DdlKind kind = DdlKind::Other;
  SourceRange range;
  SourceRange name_range;
  bool down = false;                      // in the down section of a migration
  RareText schema;                        // of the object; triggers and policies: their own name
  std::string name;
  RareText relation_schema, relation;     // index, trigger, policy
  bool or_replace = false, if_not_exists = false, temporary = false, materialized = false, unique = false;
  bool concurrently = false, constraint = false, deferrable = false, each_row = false;
  RareText timing;                        // trigger: "before", "after", "instead of"
  RareText function_schema, function_name;      // trigger
  std::int32_t function = -1;             // CreateFunction
  List<std::string> argument_types;      // Drop/Alter/Rename function: canonical, if written
  bool has_argument_types = false;
  List<std::string> options;       // AlterFunction: "volatile", "stable", "immutable", "strict", "parallel safe", "cost 10", …;
                                   // CreateTable: "partitioned"; view: "security_barrier";
                                   // trigger: "insert", "update", "delete", "truncate", "initially deferred"
  RareText new_name;
  List<ColumnDefinition> columns;
  List<List<std::string>> primary_keys, unique_keys;  // table-level constraints
  List<std::string> key_columns;   // index: plain column names, in order ("" for an expression); trigger: UPDATE OF
  List<std::string> column_aliases;  // view
  List<Expr> exprs;                // index expressions and predicate, policy conditions, table checks, trigger WHEN
  List<Query> query;               // view; rule: its actions
  List<AlterAction> actions;

  bool operator==(const Ddl&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("kind", s.kind), v("range", s.range), v("name_range", s.name_range), v("down", s.down), v("schema", s.schema);
    v("name", s.name), v("relation_schema", s.relation_schema), v("relation", s.relation), v("or_replace", s.or_replace);
    v("if_not_exists", s.if_not_exists), v("temporary", s.temporary), v("materialized", s.materialized), v("unique", s.unique);
    v("concurrently", s.concurrently), v("constraint", s.constraint), v("deferrable", s.deferrable), v("each_row", s.each_row);
    v("timing", s.timing), v("function_schema", s.function_schema), v("function_name", s.function_name);
    v("function", s.function), v("argument_types", s.argument_types), v("has_argument_types", s.has_argument_types);
    v("options", s.options), v("new_name", s.new_name), v("columns", s.columns), v("primary_keys", s.primary_keys);
    v("unique_keys", s.unique_keys), v("key_columns", s.key_columns), v("column_aliases", s.column_aliases);
    v("exprs", s.exprs), v("query", s.query), v("actions", s.actions);
  }
};

// A suppression comment: pglocklint:allow(rule, rule) reason  or  pglocklint:allow-file(rule) reason.
struct Allow {
  SourceRange range;                // the comment's `pglocklint:…` text up to the end of the reason
  List<std::string> rules;   // as written
  std::string reason;               // trimmed; may be empty
  bool whole_file = false;
  std::uint32_t next_token = 0;     // offset of the first token after the comment (comments and space skipped)
  auto operator<=>(const Allow&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("range", s.range), v("rules", s.rules), v("reason", s.reason), v("whole_file", s.whole_file), v("next_token", s.next_token);
  }
};

struct NotUnderstood {
  SourceRange range;
  std::string reason;
  bool mentions_lock = false;  // the text names a lock function: AL901
  auto operator<=>(const NotUnderstood&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("range", s.range), v("reason", s.reason), v("mentions_lock", s.mentions_lock); }
};

enum class TransactionMode : std::uint8_t {
  Unknown,      // no profile claims the file: one session, outside BEGIN … COMMIT the transaction state is not known
  OnePerFile,   // the runner wraps the file in a transaction
  Autocommit,   // certain: each statement is its own transaction
};
PGLOCKLINT_ENUM_NAMES(TransactionMode, "unknown", "one-per-file", "autocommit")

// How a file is run, as far as names, directives and configuration tell (DESIGN §4, runner profiles).
struct RunnerFacts {
  std::string profile;      // "flyway", "goose", "golang-migrate", "dbmate", "psql", … or empty
  std::string order_key;    // sorts the files of one profile and folder in the order they are applied; empty: not a migration
  std::string group;        // migrations of one group form one history (profile + folder)
  TransactionMode transaction = TransactionMode::Unknown;
  bool down = false;        // the whole file undoes a migration
  bool repeatable = false;  // applied again whenever it changes (Flyway R__), after all versions
  bool fresh_session = true;  // false: what runs the file may have changed the session's settings before
  auto operator<=>(const RunnerFacts&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("profile", s.profile), v("order_key", s.order_key), v("group", s.group), v("transaction", s.transaction);
    v("down", s.down), v("repeatable", s.repeatable), v("fresh_session", s.fresh_session);
  }
};

inline constexpr int kFactsVersion = 1;  // of the JSON form; raised whenever a field changes its meaning

struct Unit {
  List<std::string> files;       // files[0]: the unit's own path relative to the project root, '/' separated
  std::string language = "sql";
  RunnerFacts runner;
  List<Function> functions;      // functions[0]: the file's top level
  List<Ddl> ddl;
  List<Allow> allows;
  List<NotUnderstood> not_understood;
  std::uint32_t statements = 0;         // statements in the file
  std::uint32_t parsed = 0;             // of them looked into
  std::string status;                   // empty, or why the unit is degraded ("not read: permission denied")

  const std::string& path() const { return files.front(); }
  bool operator==(const Unit&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("files", s.files), v("language", s.language), v("runner", s.runner), v("functions", s.functions), v("ddl", s.ddl);
    v("allows", s.allows), v("not_understood", s.not_understood), v("statements", s.statements), v("parsed", s.parsed);
    v("status", s.status);
  }
};

}  // namespace pglocklint

// What a statement says: PostgreSQL's query as we need it, in our own words.
//
// A front end lowers a parse tree into these values; nothing after it sees the parser's nodes. Names are folded as
// PostgreSQL folds them (lower case unless quoted), without quotes. The tree says what is *written*: no
// constant is folded, no view expanded, no function looked up. Column references keep their written qualifier; which
// relation a bare column belongs to is decided after linking.
#pragma once
#include <cstdint>
#include <string>

#include "model/describe.h"
#include "model/list.h"
#include "model/rare.h"
#include "model/source_range.h"

namespace pglocklint {

struct Query;

enum class ExprKind : std::uint8_t {
  Const,      // literal: `literal` says which, `text` its value without quotes; args: its pieces, if placeholders stand in it
  Param,      // $1 (text "1"), or a driver/psql/template placeholder (text as written, e.g. ":id")
  Column,     // name, qualifier (may be empty); in PL/pgSQL this may turn out to be a variable
  Star,       // * or qualifier.*
  Call,       // function call: name, qualifier = schema, args; see the call_* members
  And, Or,    // n-ary, flattened
  Not,
  Case,       // args: [operand?] then when, then, when, then … [else?]; see has_operand, has_else
  Coalesce,
  MinMax,     // GREATEST / LEAST: name
  NullIf,     // args: 2
  NullTest,   // args: 1; negated = IS NOT NULL
  BoolTest,   // args: 1; text "true" "false" "unknown"; negated
  InList,     // args: value, then the elements; negated = NOT IN
  Between,    // args: value, low, high; negated
  Like,       // LIKE/ILIKE/SIMILAR: args 2; name = operator; negated
  AnyAll,     // value op ANY/ALL (array): args: value, array; name = operator; text "any" or "all"
  Distinct,   // IS [NOT] DISTINCT FROM: args 2; negated = IS NOT DISTINCT
  Cast,       // args: 1; type = target type as written, folded (canonical: "bigint", "integer", …)
  Op,         // operator: name; args: 1 (prefix) or 2, or n for a long chain of one left-associative operator
  SubSelect,  // see `sublink`; query[0]; args: the left operand for IN / op ANY
  Array,      // ARRAY[…]
  Row,        // ROW(…) or (a, b)
  Subscript,  // args: container, then the index expressions; field selection: name = field
  Default,    // DEFAULT
  Other,      // understood as an expression with these operands and nothing more: text says what it is
};
PGLOCKLINT_ENUM_NAMES(ExprKind, "const", "param", "column", "star", "call", "and", "or", "not", "case", "coalesce", "min-max",
                      "null-if", "null-test", "bool-test", "in-list", "between", "like", "any-all", "distinct", "cast", "op",
                      "sub-select", "array", "row", "subscript", "default", "other")

enum class LiteralKind : std::uint8_t { None, Null, Boolean, Integer, Numeric, String, BitString };
PGLOCKLINT_ENUM_NAMES(LiteralKind, "none", "null", "boolean", "integer", "numeric", "string", "bit-string")

enum class SubLink : std::uint8_t { None, Scalar, Exists, Any, All, Array };  // Any also stands for IN (name "=")
PGLOCKLINT_ENUM_NAMES(SubLink, "none", "scalar", "exists", "any", "all", "array")

struct OrderItem;

struct Expr {
  ExprKind kind = ExprKind::Other;
  SourceRange range;      // the whole expression; for a Call from the name to the closing parenthesis
  std::string name;       // see ExprKind
  RareText qualifier;     // schema of a function, or relation alias of a column (last part only)
  RareText text;
  RareText type;          // Cast: target type, canonical spelling; else empty
  LiteralKind literal = LiteralKind::None;
  SubLink sublink = SubLink::None;
  bool negated = false;
  bool has_operand = false, has_else = false;  // Case
  List<Expr> args;
  List<Query> query;  // SubSelect: exactly one

  // Call
  std::int32_t call_id = -1;        // identity of the call site within its statement: its index in written order
  bool quoted_name = false;         // written "name"
  bool call_star = false;           // count(*)
  bool call_distinct = false;       // agg(DISTINCT …)
  bool call_window = false;         // has OVER (…) or OVER name
  bool variadic = false;
  bool has_filter = false;          // then call_filter[0]
  List<Expr> call_filter;
  List<OrderItem> call_order;      // ORDER BY inside the aggregate, or WITHIN GROUP
  List<Expr> window_partition;
  List<OrderItem> window_order;
  List<std::string> arg_names;     // named notation (name => value): parallel to args, "" where positional

  bool is(ExprKind k) const { return kind == k; }
  bool isCall(std::string_view n) const { return kind == ExprKind::Call && name == n; }
  bool isNull() const { return kind == ExprKind::Const && literal == LiteralKind::Null; }

  bool operator==(const Expr&) const;
  template <class Self, class V>
  static void describe(Self& s, V& v);
};

enum class NullsOrder : std::uint8_t { Default, First, Last };
PGLOCKLINT_ENUM_NAMES(NullsOrder, "default", "first", "last")

struct OrderItem {
  Expr expr;
  bool descending = false;
  NullsOrder nulls = NullsOrder::Default;
  bool operator==(const OrderItem&) const;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("expr", s.expr), v("descending", s.descending), v("nulls", s.nulls); }
};

// One entry of a select list, RETURNING list or SET list. `name`: written alias, else the name PostgreSQL would give
// (column or function name, "?column?"). In SET: the column assigned to.
struct Target {
  Expr expr;
  std::string name;
  bool has_alias = false;
  bool operator==(const Target&) const;
  template <class Self, class V>
  static void describe(Self& s, V& v) { v("expr", s.expr), v("name", s.name), v("has_alias", s.has_alias); }
};

enum class FromKind : std::uint8_t { Relation, SubQuery, Function, Values, Join, Other };
PGLOCKLINT_ENUM_NAMES(FromKind, "relation", "sub-query", "function", "values", "join", "other")
enum class JoinType : std::uint8_t { Inner, Left, Right, Full, Cross };
PGLOCKLINT_ENUM_NAMES(JoinType, "inner", "left", "right", "full", "cross")

// A node of the FROM tree. Whether a Relation is a table, a view or a CTE is decided by name after linking
// (CTEs of the enclosing levels first).
struct FromItem {
  FromKind kind = FromKind::Other;
  SourceRange range;
  RareText schema;                        // Relation
  std::string name;
  RareText alias;                         // as written, empty if none
  List<std::string> column_aliases;
  bool lateral = false, only = false, sampled = false, ordinality = false;
  List<Query> query;               // SubQuery, Values (kind Values): one
  List<Expr> functions;            // Function: one call, several for ROWS FROM
  JoinType join = JoinType::Inner;        // Join
  bool natural = false;
  List<FromItem> sides;            // Join: left, right
  List<Expr> on;                   // Join: zero or one
  List<std::string> using_columns;

  bool operator==(const FromItem&) const;
  template <class Self, class V>
  static void describe(Self& s, V& v);
};

enum class Materialize : std::uint8_t { Default, Always, Never };
PGLOCKLINT_ENUM_NAMES(Materialize, "default", "always", "never")

struct Cte {
  std::string name;
  SourceRange range;  // from the name to the closing parenthesis
  SourceRange name_range;
  Materialize materialize = Materialize::Default;
  bool recursive = false;  // WITH RECURSIVE was written (the whole WITH list); self reference is decided later
  List<std::string> column_aliases;
  List<Query> query;  // one
  bool operator==(const Cte&) const;
  template <class Self, class V>
  static void describe(Self& s, V& v);
};

enum class LockStrength : std::uint8_t { KeyShare, Share, NoKeyUpdate, Update };
PGLOCKLINT_ENUM_NAMES(LockStrength, "key share", "share", "no key update", "update")
enum class WaitPolicy : std::uint8_t { Block, Skip, NoWait };
PGLOCKLINT_ENUM_NAMES(WaitPolicy, "block", "skip", "nowait")

struct LockingClause {
  SourceRange range;  // of the clause where the parser tells, else of the whole level
  LockStrength strength = LockStrength::Update;
  WaitPolicy wait = WaitPolicy::Block;
  List<std::string> relations;
  auto operator<=>(const LockingClause&) const = default;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("range", s.range), v("strength", s.strength), v("wait", s.wait), v("relations", s.relations);
  }
};

enum class QueryKind : std::uint8_t { Select, Values, SetOperation, Insert, Update, Delete, Merge };
PGLOCKLINT_ENUM_NAMES(QueryKind, "select", "values", "set-operation", "insert", "update", "delete", "merge")
enum class DistinctKind : std::uint8_t { None, All, On };
PGLOCKLINT_ENUM_NAMES(DistinctKind, "none", "all", "on")
enum class SetOperator : std::uint8_t { None, Union, Intersect, Except };
PGLOCKLINT_ENUM_NAMES(SetOperator, "none", "union", "intersect", "except")
enum class ConflictAction : std::uint8_t { None, Nothing, Update };
PGLOCKLINT_ENUM_NAMES(ConflictAction, "none", "nothing", "update")

struct MergeWhen {
  bool matched = false;              // WHEN MATCHED; otherwise NOT MATCHED
  List<Expr> condition;       // zero or one
  std::string action;                // "update" "insert" "delete" "nothing"
  List<Target> sets;          // SET list or INSERT columns with their values
  bool operator==(const MergeWhen&) const;
  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("matched", s.matched), v("condition", s.condition), v("action", s.action), v("sets", s.sets);
  }
};

// One query level. In `conditions` nothing is split: WHERE is one expression tree, as written.
struct Query {
  QueryKind kind = QueryKind::Select;
  SourceRange range;                 // as exactly as the parser allows
  List<Cte> ctes;
  List<FromItem> from;        // comma list; DML: FROM/USING items (the target relation is `target`)
  List<Expr> where;           // zero or one; MERGE: the ON condition
  List<Target> targets;       // select list
  List<Expr> group_by;
  bool grouping_sets = false;        // GROUPING SETS, ROLLUP, CUBE
  List<Expr> having;          // zero or one
  DistinctKind distinct = DistinctKind::None;
  List<Expr> distinct_on;
  List<OrderItem> order_by;
  List<Expr> limit;           // zero or one. LIMIT ALL and LIMIT NULL: a NULL constant
  List<Expr> offset;          // zero or one
  bool with_ties = false;
  Rare<SourceRange> limit_range, offset_range, order_range, distinct_range;  // of the clause (keyword included where known)
  List<LockingClause> locking;
  List<List<Expr>> rows;  // VALUES
  SetOperator set_operator = SetOperator::None;
  bool set_all = false;
  List<Query> arms;           // SetOperation: chains of one operator flattened

  // DML
  Rare<FromItem> target;             // relation written to, with alias
  List<std::string> columns;  // INSERT column list
  List<Target> sets;          // UPDATE SET
  List<Query> source;         // INSERT: zero (DEFAULT VALUES) or one query; a VALUES list is a query of kind Values
  List<Target> returning;
  ConflictAction conflict = ConflictAction::None;
  List<Target> conflict_sets;
  List<Expr> conflict_where;
  List<MergeWhen> merge;

  bool operator==(const Query&) const;
  template <class Self, class V>
  static void describe(Self& s, V& v);
};

template <class Self, class V>
void Expr::describe(Self& s, V& v) {
  v("kind", s.kind), v("range", s.range), v("name", s.name), v("qualifier", s.qualifier), v("text", s.text), v("type", s.type);
  v("literal", s.literal), v("sublink", s.sublink), v("negated", s.negated), v("has_operand", s.has_operand);
  v("has_else", s.has_else), v("args", s.args), v("query", s.query), v("call_id", s.call_id), v("quoted_name", s.quoted_name);
  v("call_star", s.call_star), v("call_distinct", s.call_distinct), v("call_window", s.call_window), v("variadic", s.variadic);
  v("has_filter", s.has_filter), v("call_filter", s.call_filter), v("call_order", s.call_order);
  v("window_partition", s.window_partition), v("window_order", s.window_order), v("arg_names", s.arg_names);
}
template <class Self, class V>
void FromItem::describe(Self& s, V& v) {
  v("kind", s.kind), v("range", s.range), v("schema", s.schema), v("name", s.name), v("alias", s.alias);
  v("column_aliases", s.column_aliases), v("lateral", s.lateral), v("only", s.only), v("sampled", s.sampled);
  v("ordinality", s.ordinality), v("query", s.query), v("functions", s.functions), v("join", s.join), v("natural", s.natural);
  v("sides", s.sides), v("on", s.on), v("using", s.using_columns);
}
template <class Self, class V>
void Cte::describe(Self& s, V& v) {
  v("name", s.name), v("range", s.range), v("name_range", s.name_range), v("materialize", s.materialize);
  v("recursive", s.recursive), v("column_aliases", s.column_aliases), v("query", s.query);
}
template <class Self, class V>
void Query::describe(Self& s, V& v) {
  v("kind", s.kind), v("range", s.range), v("ctes", s.ctes), v("from", s.from), v("where", s.where), v("targets", s.targets);
  v("group_by", s.group_by), v("grouping_sets", s.grouping_sets), v("having", s.having), v("distinct", s.distinct);
  v("distinct_on", s.distinct_on), v("order_by", s.order_by), v("limit", s.limit), v("offset", s.offset);
  v("with_ties", s.with_ties), v("limit_range", s.limit_range), v("offset_range", s.offset_range);
  v("order_range", s.order_range), v("distinct_range", s.distinct_range), v("locking", s.locking), v("rows", s.rows);
  v("set_operator", s.set_operator), v("set_all", s.set_all), v("arms", s.arms), v("target", s.target), v("columns", s.columns);
  v("sets", s.sets), v("source", s.source), v("returning", s.returning), v("conflict", s.conflict);
  v("conflict_sets", s.conflict_sets), v("conflict_where", s.conflict_where), v("merge", s.merge);
}
inline bool Expr::operator==(const Expr&) const = default;
inline bool OrderItem::operator==(const OrderItem&) const = default;
inline bool Target::operator==(const Target&) const = default;
inline bool FromItem::operator==(const FromItem&) const = default;
inline bool Cte::operator==(const Cte&) const = default;
inline bool MergeWhen::operator==(const MergeWhen&) const = default;
inline bool Query::operator==(const Query&) const = default;

}  // namespace pglocklint

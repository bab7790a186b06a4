// From libpg_query's tree to our own shapes. Only this header and the lower_*.cpp files know the parser's nodes.
//
// Three habits: (1) positions: nodes tell where they start, the token index tells where they end, so every function that lowers a
// node returns the token span it covers; (2) chains that lean to the left (a + b + c, UNION ALL, joins) are walked in a loop and
// kept flat, and below kMaxDepth a subtree becomes a flat list of its calls, so what we keep has bounded depth; (3) nodes that
// say nothing to us become ExprKind::Other with whatever expressions a walk over the message's fields finds in them, so a
// newer grammar's nodes need no code.
#pragma once
#include <pg_query.h>
#include <pg_query/pg_query.pb-c.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/mapped_text.h"
#include "sql/pg_parse.h"
#include "sql/script.h"
#include "sql/token_index.h"

namespace pglocklint::sql {

using Node = PgQuery__Node;
using NodeList = std::span<Node* const>;

// The statement as the parser saw it and as it is written. Both have the same length, but for a keyword that may have been put in
// front: `prefix` bytes of `parsed` stand nowhere in the file.
struct StatementText {
  const MappedText& original;
  std::uint32_t prefix;
  std::string_view parsed;
  const LineIndex& lines;
  const TokenIndex& tokens;
  const std::vector<RewrittenPlaceholder>& placeholders;  // sorted by begin
};

// Calls visit for `root` and every message below it, in field order, without recursion; visit answers whether to go deeper.
void forEachMessage(const ProtobufCMessage& root, const std::function<bool(const ProtobufCMessage&)>& visit);
// The `location` field of a message; -1 if it has none or it is not set.
int locationOf(const ProtobufCMessage& message);
// The first place in the text that any part of the message has; -1 if none.
int firstLocation(const ProtobufCMessage& message);
// The message inside a Node, null for an empty one.
const ProtobufCMessage* contentOf(const Node* node);
std::string_view stringOf(const Node* node);  // of a String node; "" otherwise
std::vector<std::string> stringsOf(NodeList nodes);
bool isLockCall(const PgQuery__FuncCall& call);

// What "select list" names an expression gets from PostgreSQL (FigureColname).
std::string figureColumnName(const Node* node);

// Canonical name of a type, e.g. "bigint", "character varying", "integer[]", "app.mood".
std::string typeOf(const PgQuery__TypeName* type);

class Lowering {
 public:
  explicit Lowering(const StatementText& text) : text_(text), tokens_(text.tokens) {}

  // A whole statement that covers `region`; adds to `out`.
  void statement(const Node* node, Span region, ParsedStatement& out);
  SourceRange range(Span span) const;

 private:
  friend class Nest;
  static constexpr int kMaxDepth = 600;         // of what is kept
  static constexpr std::size_t kMaxRuns = 200;  // alternations of operators in one chain that are kept as a tree

  // Places (lower_places.cpp)
  // Offsets of `parsed`, here and in tokens and nodes.
  SourceRange bytes(std::uint32_t begin, std::uint32_t end) const;
  std::string_view written(std::uint32_t begin, std::uint32_t end) const;
  Span token(int location) const;     // the one token there
  Span callSpan(int location) const;  // name ( … ), from the name
  Span nameSpan(int location) const;  // a . b . c
  Span typeSpan(int location) const;  // double precision (…) []
  Span afterCall(Span call) const;    // with WITHIN GROUP, FILTER, OVER
  Span aliasSpan(Span item) const;    // with [AS] alias [(columns)]
  std::string nameAt(std::int32_t token, std::string_view parsed_name) const;
  const RewrittenPlaceholder* placeholderAt(std::int32_t token) const;

  // Queries: clauses stand on the level of their keyword; levels of one query level from the innermost brackets outwards
  struct Levels {
    Span whole;                 // with the brackets around it
    std::vector<Span> inner;    // innermost first; the last one is `whole`
    std::int32_t keyword = -1;  // SELECT, VALUES, TABLE of a simple level
  };
  enum class ClauseKind { Order, Limit, Offset, Locking };
  struct Clause {
    ClauseKind kind;
    Span span;
  };
  std::int32_t selectKeyword(const PgQuery__SelectStmt& select) const;
  std::int32_t startToken(const PgQuery__SelectStmt& select) const;
  Levels levelsOf(const PgQuery__SelectStmt& select, Span outer) const;
  std::vector<Clause> clausesAt(Span level) const;
  Span upTo(Span region,
            std::initializer_list<std::string_view> words) const;  // ends before the first of these words on its level
  Span regionAround(const PgQuery__SelectStmt& select) const;      // the brackets that hold it

  // Expressions (lower_expr.cpp, lower_call.cpp)
  Span expr(const Node* node, Expr& out);
  Span exprOf(const Node& node, Expr& out);
  Span exprs(NodeList nodes, List<Expr>& out);
  void optionalExpr(const Node* node, List<Expr>& out);
  Span constant(const PgQuery__AConst& c, Expr& out);
  void splitTemplate(Span span, Expr& literal) const;
  Span column(const PgQuery__ColumnRef& c, Expr& out);
  Span call(const PgQuery__FuncCall& c, Expr& out);
  Span valueFunction(const PgQuery__SQLValueFunction& f, Expr& out);
  Span operation(const PgQuery__AExpr& e, Expr& out);
  Span operatorChain(const PgQuery__AExpr& top, Expr& out);
  Span boolean(const PgQuery__BoolExpr& e, Expr& out);
  Span cast(const PgQuery__TypeCast& top, Expr& out);
  Span caseOf(const PgQuery__CaseExpr& e, Expr& out);
  Span sublink(const PgQuery__SubLink& s, Expr& out);
  Span subscript(const PgQuery__AIndirection& a, Expr& out);
  Span listed(ExprKind kind, int location, NodeList args, Expr& out);
  Span generic(const ProtobufCMessage& message, Expr& out);
  Span flattened(const ProtobufCMessage& message, Expr& out);
  List<OrderItem> orderItems(NodeList nodes);
  List<Expr> callsIn(const ProtobufCMessage& message);

  // Queries (lower_query.cpp, lower_dml.cpp)
  List<Query> optionalQuery(const Node* node, Span outer);
  Query query(const Node* node, Span outer);
  Query select(const PgQuery__SelectStmt& s, Span outer);
  void setOperation(const PgQuery__SelectStmt& s, const Levels& levels, Query& q);
  void simpleSelect(const PgQuery__SelectStmt& s, Query& q);
  void trailingClauses(const PgQuery__SelectStmt& s, const Levels& levels, Query& q);
  void ctes(const PgQuery__WithClause* with, Query& q);
  Query insert(const PgQuery__InsertStmt& s, Span outer);
  Query update(const PgQuery__UpdateStmt& s, Span outer);
  Query remove(const PgQuery__DeleteStmt& s, Span outer);
  Query merge(const PgQuery__MergeStmt& s, Span outer);
  Span dmlSpan(const PgQuery__RangeVar* relation, const PgQuery__WithClause* with, std::string_view word, Span outer) const;
  Target target(const PgQuery__ResTarget& t);
  List<Target> targets(NodeList nodes);
  List<Target> assignments(NodeList nodes);
  List<FromItem> fromItems(NodeList nodes);
  Span fromItem(const Node* node, FromItem& out);
  Span relation(const PgQuery__RangeVar& r, FromItem& out);
  Span subquery(const PgQuery__RangeSubselect& s, FromItem& out);
  Span fromFunction(const PgQuery__RangeFunction& f, FromItem& out);
  Span join(const PgQuery__JoinExpr& top, FromItem& out);

  // Statements (lower_statement.cpp)
  std::optional<Statement> executable(const Node* node, Span region);
  bool sessionStatement(const Node* node, Span region, ParsedStatement& out);
  void transaction(const PgQuery__TransactionStmt& t, Span region, ParsedStatement& out);
  bool setting(const PgQuery__VariableSetStmt& s, Span region, ParsedStatement& out);
  Setting settingOf(const PgQuery__VariableSetStmt& s, Span region) const;
  Statement tableAs(const PgQuery__CreateTableAsStmt& c, Span region);
  std::string head(Span region) const;
  Statement plain(StatementKind kind, Span region) const;

  // Data definition (lower_ddl.cpp, lower_table.cpp)
  bool definition(const Node* node, Span region, ParsedStatement& out);
  Ddl ddl(DdlKind kind, Span region) const;
  static void add(Ddl ddl, ParsedStatement& out);
  void relationName(const PgQuery__RangeVar* r, Ddl& d) const;
  void onRelation(const PgQuery__RangeVar* r, Ddl& d) const;
  template <class Text>
  static void qualifiedName(NodeList names, RareText& schema, Text& name) {
    if (!names.empty()) name = stringOf(names.back());
    if (names.size() > 1) schema = stringOf(names[names.size() - 2]);
  }
  Ddl createTable(const PgQuery__CreateStmt& s, Span region);
  Ddl alterTable(const PgQuery__AlterTableStmt& s, Span region);
  AlterAction alterAction(const PgQuery__AlterTableCmd& c);
  ColumnDefinition columnDefinition(const PgQuery__ColumnDef& c);
  Ddl createView(const PgQuery__ViewStmt& s, Span region);
  void createMaterializedView(const PgQuery__CreateTableAsStmt& s, Span region, ParsedStatement& out);
  Ddl createIndex(const PgQuery__IndexStmt& s, Span region);
  Ddl createTrigger(const PgQuery__CreateTrigStmt& s, Span region);
  Ddl createDomain(const PgQuery__CreateDomainStmt& s, Span region);
  Ddl createRule(const PgQuery__RuleStmt& s, Span region);
  void createSchema(const PgQuery__CreateSchemaStmt& s, Span region, ParsedStatement& out);
  void drop(const PgQuery__DropStmt& s, Span region, ParsedStatement& out);
  Ddl rename(const PgQuery__RenameStmt& s, Span region);
  void functionObject(const Node* object, Ddl& d) const;

  // Routines (lower_routine.cpp)
  void createFunction(const PgQuery__CreateFunctionStmt& s, Span region, ParsedStatement& out);
  void parameters(const PgQuery__CreateFunctionStmt& s, Span name, Function& f);
  void functionOption(const PgQuery__DefElem& option, Span region, Function& f);
  void atomicBody(const PgQuery__CreateFunctionStmt& s, Span region, Function& f);
  void stringBody(std::int32_t string_token, std::int32_t function, ParsedStatement& out);
  Ddl alterFunction(const PgQuery__AlterFunctionStmt& s, Span region);
  void doBlock(const PgQuery__DoStmt& s, Span region, ParsedStatement& out);

  const StatementText& text_;
  const TokenIndex& tokens_;
  int depth_ = 0;
  std::vector<NodeList> windows_;  // WINDOW clauses of the enclosing levels
};

// One level deeper, for the length of a scope.
class Nest {
 public:
  explicit Nest(Lowering& l, int levels = 1) : depth_(l.depth_), levels_(levels) { depth_ += levels_; }
  ~Nest() { depth_ -= levels_; }
  Nest(const Nest&) = delete;
  Nest& operator=(const Nest&) = delete;

 private:
  int& depth_;
  int levels_;
};

// A protobuf list field as a span: nodes(s->n_args, s->args).
inline NodeList nodes(std::size_t n, Node* const* items) { return {items, n}; }

// Numbers the calls of a statement (or definition) in written order.
void numberCalls(ParsedStatement& parsed);
void numberCalls(Query& query);

}  // namespace pglocklint::sql

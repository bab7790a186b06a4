// From an expression to a symbolic Value: what a key is made of, as far as the program shows it.
//
// A Resolver answers one question (one key, one argument) and is then thrown away. It follows names where they lead: columns
// through aliases, derived tables, CTEs and views; PL/pgSQL variables to the one expression assigned to them; parameters to the
// arguments of a known call; calls of small SQL and PL/pgSQL functions into their body. Each step costs; an expression
// that leads too far is Unknown, so hostile input cannot make it run long.
//
//   values.cpp            expressions: literals, casts, operators, concatenation, CASE, sub-selects
//   values_columns.cpp    which relation a column belongs to, and what its columns are
//   values_variables.cpp  parameters, PL/pgSQL variables, placeholders
//   values_calls.cpp      functions of pg_catalog and of the project
//   values_fold.cpp       constant folding (no names)
//   host_values.cpp       what a host program puts into a parameter or between pieces of text
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/function_names.h"
#include "program/keys.h"

namespace pglocklint {

// One column that a FROM item or query offers: stored (type, relation), or computed by an expression in its own scope.
struct OfferedColumn {
  std::string name;
  std::string type, relation;
  bool not_null = false;
  const Expr* expr = nullptr;
  std::shared_ptr<const ValueScope> scope;  // of expr
  std::optional<Value> value;               // element of a function in FROM
  std::string null_evidence;                // it stands on the nullable side of an outer join
};
struct OfferedColumns {
  std::vector<OfferedColumn> columns;
  bool complete = true;  // false: there may be more
};

class Resolver {
 public:
  Value resolve(const Expr& e, const ValueScope& scope);

  // `v` where PostgreSQL wants `type`: the same value with its type decided, a folded constant, or a Cast around it.
  static Value convert(Value v, const std::string& type, bool implicit, const SourceRange& range, int unit);

 private:
  // values.cpp
  Value expression(const Expr& e, const ValueScope& scope);
  Value literal(const Expr& e);
  Value templateText(const Expr& e, const ValueScope& scope);
  Value cast(const Expr& e, const ValueScope& scope);
  Value operation(const Expr& e, const ValueScope& scope);
  Value arithmetic(const std::string& name, Value left, Value right, const SourceRange& range, int unit);
  Value prefix(const Expr& e, const ValueScope& scope);
  Value choice(const Expr& e, const ValueScope& scope);
  Value subSelect(const Expr& e, const ValueScope& scope);
  Value subscript(const Expr& e, const ValueScope& scope);
  List<Value> operands(const Expr& e, const ValueScope& scope);

  // values_columns.cpp
  struct Visible {
    const FromItem* item;
    std::string null_evidence;
  };
  std::optional<Value> column(const Expr& e, const ValueScope& scope, bool& maybe);
  Value columnOrVariable(const Expr& e, const ValueScope& scope);
  std::vector<Visible> visibleItems(const Query& level);
  OfferedColumns columnsOf(const FromItem& item, const ValueScope& scope);
  OfferedColumns relationColumns(const FromItem& item, const ValueScope& scope);
  OfferedColumns functionColumns(const FromItem& item, const ValueScope& scope);
  OfferedColumns outputsOf(const Query& query, const ValueScope& outer);
  Value valueOf(const OfferedColumn& c, const Expr& e, const ValueScope& scope);
  std::optional<Value> targetOf(const Statement& s, std::size_t index, std::string_view field, const ValueScope& scope);

  // values_variables.cpp
  std::optional<Value> variableOrParameter(const Expr& e, const ValueScope& scope);
  Value parameter(std::size_t input, const Parameter& p, const Expr& e, const ValueScope& scope);
  Value placeholder(const Expr& e, const ValueScope& scope);
  std::optional<Value> hostPlaceholder(const Expr& e, const ValueScope& scope);  // host_values.cpp
  std::optional<Value> variable(const std::string& name, const std::string& field, const Expr& e, const ValueScope& scope);
  Value plainVariable(const Variable& v, const void* identity, const Expr& e, const ValueScope& scope);
  std::optional<Value> reachingValue(const Variable& v, const Expr& e, const ValueScope& outside);
  Value recordField(const Variable& v, const std::string& field, const Expr& e, const ValueScope& scope);
  std::optional<Value> writtenValue(const Statement& s, const std::string& name, const ValueScope& scope);
  const FunctionNames& namesOf(const Function& function, const ValueScope& scope);
  std::string typeName(const std::string& written, const ValueScope& scope);

  // values_calls.cpp
  Value call(const Expr& e, const ValueScope& scope);
  Value builtin(const std::string& name, const Expr& e, List<Value> args, const ValueScope& scope);
  std::optional<Value> source(const std::string& name, const Expr& e, const List<Value>& args);
  Value hash(const std::string& name, List<Value> args, const Expr& e, const ValueScope& scope);
  Value concatCall(const std::string& name, List<Value> args, const Expr& e, const ValueScope& scope);
  Value aggregate(const std::string& name, List<Value> args, const Expr& e, const ValueScope& scope);
  Value routineCall(const Routine& r, List<Value> args, const Expr& e, const ValueScope& scope);

  NamesOfFunctions own_names_;  // unless the scope brings some that many questions share
  std::vector<const void*> active_;  // queries, variables and functions being followed: no way leads back into itself
  int steps_ = 0;
  int inlined_ = 0;  // bodies of key functions being looked into; their parameters are no arguments of a lock wrapper
};

// Evidence of NULL that passes on to the result of a strict operation.
void propagateNull(Value& result, const List<Value>& args);

// A concatenation of text pieces: neighbouring literals become one, a single literal stands alone.
Value concatenation(List<Value> pieces, const SourceRange& range, int unit);

// `tree` over known operands becomes the literal `folded` when nothing but literals is in it; else it keeps the result in text.
Value computed(Value tree, const std::optional<Value>& folded);

Value placed(Value v, const SourceRange& range, int unit);

}  // namespace pglocklint

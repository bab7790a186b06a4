// What the linked program knows about names in SQL: relations, routines, PostgreSQL's own functions.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/unit.h"

namespace pglocklint {

struct Column {
  std::string name, type;  // canonical type ("" = not known)
  bool not_null = false;
};

enum class RelationKind { Table, View, MaterializedView };

// A table or view, as the last live definitions leave it.
struct Relation {
  RelationKind kind = RelationKind::Table;
  std::string schema, name;
  int unit = -1;                                       // where it is created
  SourceRange range;
  std::vector<Column> columns;                         // in order
  bool columns_known = false;                          // all of them
  bool partitioned = false, security_barrier = false;
  std::vector<List<std::string>> unique_keys;          // column names; primary key first
  std::vector<List<std::string>> indexes;              // leading column names of each index, unique keys included
  const Query* view = nullptr;                         // view or materialized view: its query, and its column aliases
  List<std::string> view_columns;
  std::vector<const Expr*> policies;                   // USING conditions while row security is enabled
  const Column* column(std::string_view name) const {
    for (const Column& c : columns)
      if (c.name == name) return &c;
    return nullptr;
  }
};

// A live user-defined function or procedure.
struct Routine {
  const Function* function = nullptr;
  int unit = -1;
  Volatility volatility = Volatility::Volatile;  // after ALTER FUNCTION
  bool strict = false, returns_set = false;
  double cost = 100;
  std::string language;
  std::string altered_parallel;  // by ALTER FUNCTION: "safe", "restricted", "unsafe"; empty: as declared
  bool locks = false;         // it, or something it calls, acquires an advisory lock
  bool body_known = true;     // false: C, or a body that was not understood
  const Query* inline_body = nullptr;  // LANGUAGE sql with one SELECT statement: that query (whether PostgreSQL
                                       // inlines it is for evaluate() to decide)
};

// A live trigger: which table fires a trigger function, NEW and OLD are its rows.
struct TriggerUse {
  std::string function_schema, function;
  std::string relation_schema, relation;
  int unit = -1;
  const Ddl* ddl = nullptr;  // CREATE TRIGGER
  bool enabled = true;
  int history = -1, position = 0;  // created when that many units of the history had run to their end (Catalogue::replayed)
};

enum class BuiltinKind { Scalar, Aggregate, Window, SetReturning };

// What we know of a function of pg_catalog. Source: pg_proc of PostgreSQL 15 and 18.
struct Builtin {
  std::string_view name;
  BuiltinKind kind = BuiltinKind::Scalar;
  Volatility volatility = Volatility::Immutable;
  bool strict = true;
  std::string_view result = "";  // canonical type; "" = depends on the arguments
};
// The entry for a folded name without schema, or null. Sorted table in builtin_functions.cpp.
const Builtin* findBuiltin(std::string_view name);

class Catalogue {
 public:
  // By written schema ("" = search the usual path: a unique match in any schema, "public" first) and folded name; null if unknown.
  const Relation* relation(std::string_view schema, std::string_view name) const;
  // The live routine that a call with `args` arguments means; null if none or if it is ambiguous.
  const Routine* routine(std::string_view schema, std::string_view name, std::size_t args) const;

  std::vector<Relation> relations;  // in the order of their definitions
  std::vector<Routine> routines;
  std::vector<TriggerUse> triggers;
  std::map<std::pair<int, int>, int> replayed;  // history and unit: as which one the unit came to its end
  std::map<std::string, double, std::less<>> builtin_costs;  // ALTER FUNCTION pg_catalog.… COST, by name
  // Call after the vectors have been filled or changed: builds the indexes that the look-ups use.
  void index();
  // Call after a property of routines has changed by which calls of overloads are told apart (Routine::locks).
  void indexOverloads();

 private:
  std::vector<std::uint32_t> by_name_relations, by_name_routines;
  // Names with many overloads: the widest of them, and by arity (one more than the widest: any beyond) and schema what a call means.
  std::map<std::string_view, std::size_t> widest_;
  std::map<std::tuple<std::string_view, std::size_t, std::string_view>, std::int64_t> meant_;  // index into routines; -1: ambiguous
};

}  // namespace pglocklint

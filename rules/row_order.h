// In which order a query or an array yields its rows, as far as its text tells.
#pragma once
#include <map>
#include <string>

#include "function_index.h"

namespace pglocklint {

enum class RowOrder {
  Single,     // one row or element
  Ordered,    // by ORDER BY, by a written list of constants, by a series
  Unordered,  // as the plan, or the caller, happens to deliver them
  Unknown,
};

// Reads queries and arrays of one function (null: of none). What it finds out about a variable it keeps.
class RowOrders {
 public:
  RowOrders(const FunctionIndex* index, const Catalogue& catalogue) : index_(index), catalogue_(catalogue) {}
  RowOrder of(const Query& query) {
    steps_ = 0;
    return ofQuery(query, 0);
  }
  // Of the rows that go into an aggregate of the query.
  RowOrder ofInput(const Query& query) {
    steps_ = 0;
    return query.from.size() == 1 ? leaf(query, query.from[0], 0) : query.from.empty() ? RowOrder::Single : RowOrder::Unordered;
  }
  RowOrder ofArray(const Expr& array) {
    steps_ = 0;
    return ofArrayAt(array, 0);
  }

 private:
  RowOrder ofQuery(const Query& q, int depth);
  RowOrder ofArrayAt(const Expr& e, int depth);
  RowOrder arms(const Query& q, int depth);
  RowOrder targets(const Query& q, int depth);
  RowOrder leaf(const Query& q, const FromItem& item, int depth);
  RowOrder setReturning(const Expr& e, int depth);
  RowOrder subSelect(const Expr& e, int depth);
  RowOrder call(const Expr& e, int depth);
  RowOrder asWritten(const Expr& call);
  RowOrder variable(const Expr& e, int depth);
  RowOrder ofParameter(const std::string& name) const;
  RowOrder ofPlaceholder(const Expr& e) const;

  const FunctionIndex* index_;
  const Catalogue& catalogue_;
  std::map<std::string, RowOrder> variables_;
  int steps_ = 0;
};

}  // namespace pglocklint

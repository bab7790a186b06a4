// In which order a query or an array yields its rows, as far as its text tells.
#pragma once
#include "program/program.h"

namespace pglocklint {

enum class RowOrder {
  Single,     // one row or element
  Ordered,    // by ORDER BY, by a written list of constants, by a series
  Unordered,  // as the plan, or the caller, happens to deliver them
  Unknown,
};

RowOrder rowOrder(const Query& query, const Function* function, const Catalogue& catalogue);
RowOrder arrayOrder(const Expr& array, const Function* function, const Catalogue& catalogue);

}  // namespace pglocklint

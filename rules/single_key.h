// Whether a call that runs for many rows takes one key all the same.
#pragma once
#include "function_index.h"

namespace pglocklint {

// A column of the query's rows; in PL/pgSQL and SQL functions a name may be a variable or parameter instead.
bool isRowColumn(const Expr& expr, const FunctionIndex& index);

// The key is constant, or made of variables, or of columns that the query binds by equalities; or nothing is known about the
// relation and `id = $1` may well pick one row of it (unless several are expected).
bool takesOneKey(const LockSite& site, const FunctionIndex& index, const Catalogue& catalogue, bool expects_several = false);

}  // namespace pglocklint

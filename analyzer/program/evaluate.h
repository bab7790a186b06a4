// evaluate(): for every lock call in a statement, how often PostgreSQL runs it, for which rows, in which order, how sure,
// and which clause is to blame. The essay is at the head of evaluate.cpp.
#pragma once
#include <string>
#include <vector>

#include "model/evaluation.h"
#include "model/unit.h"
#include "program/catalogue.h"

namespace pglocklint {

// One lock call as one statement runs it. `call` points into the statement's own Query, or (via_view, inlined) into
// that of a view or SQL function; then `via` is the place in the statement that leads to it.
struct CallEvaluation {
  const Expr* call = nullptr;
  const Statement* statement = nullptr;
  Evaluation evaluation;
  std::string via;        // name of the view or inlined function; empty = written in the statement
  SourceRange via_range;  // in the statement
};

// A lock call is a call of a built-in lock function (releases too), or of a live routine with `locks`.
bool isLockCall(const Expr& call, const Catalogue& catalogue);

// All lock calls of one statement by itself. PREPARE and DECLARE run nothing here.
std::vector<CallEvaluation> evaluate(const Statement& statement, const Catalogue& catalogue);

// What a PREPARE without EXECUTE in view is taken for.
enum class Unexecuted : std::uint8_t {
  NeverRuns,     // as PostgreSQL does
  AsIfExecuted,  // somebody else executes it, or why is it written?
};

// All lock calls of a function's or script's statements, with PREPARE … EXECUTE and DECLARE … FETCH/MOVE put together:
// a prepared statement or cursor that is executed or fetched from in the same function is judged by that. In
// statement order; the statement of a prepared call is the PREPARE (or DECLARE) it is written in.
std::vector<CallEvaluation> evaluate(const Function& function, const Catalogue& catalogue, Unexecuted unexecuted = Unexecuted::NeverRuns);

}  // namespace pglocklint

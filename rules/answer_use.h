// What becomes of the answer of a try function: does anything depend on it?
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "function_index.h"

namespace pglocklint {

// How a query hands on the result of one call in it.
struct CarriedAnswer {
  bool decides = false;                              // a condition, a join, written data or a function depends on it
  std::vector<std::pair<int, std::string>> outputs;  // columns that show it: position (-1: by *) and name
};
CarriedAnswer carryAnswer(const Query& query, const Expr& call);

// Why nothing in the function (PL/pgSQL) depends on the call's answer, to finish the sentence "answers false …, but …".
// Nothing: something does, or may.
std::optional<std::string> whyIgnored(const LockSite& site, const FunctionIndex& index, const Catalogue& catalogue);

}  // namespace pglocklint

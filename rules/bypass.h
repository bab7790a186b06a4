// Bypasses: work that is meant to be done under a lock, and a condition that lets it happen without.
#pragma once
#include <optional>
#include <string_view>

#include "function_index.h"

namespace pglocklint {

struct Bypass {
  const Expr* decider = nullptr;  // the operand that decides without the call
  std::string_view construct;     // "OR", "AND", "COALESCE", "CASE"
  SourceRange work;               // first piece of the work, if it is a statement of its own
};

// The condition that the call stands in (of IF, WHILE, EXIT WHEN; a variable assigned and then tested; WHERE with a
// condition that does not depend on rows) can come out the way that leads to the work although the call did not run.
std::optional<Bypass> findBypass(const LockSite& site, const FunctionIndex& index, const Catalogue& catalogue);

}  // namespace pglocklint

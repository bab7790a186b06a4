// Which assignment gave a variable its value: reaching definitions over the blocks of a PL/pgSQL body. The text of an EXECUTE is
// often put together in several steps, or one variable serves for several texts.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/function.h"
#include "sql/plpgsql_flow.h"
#include "sql/plpgsql_tokens.h"

namespace pglocklint::sql {

// An assignment and the expression that it assigns.
struct HeldValue {
  TokenSpan expression;
  EventPlace place;
};

// The expressions assigned to whole variables, by the place of the event.
using AssignedValues = std::map<EventPlace, TokenSpan>;

class ReachingValues {
 public:
  ReachingValues(const Function& function, const AssignedValues& values);

  // The one assignment whose value `variable` holds just before `place`; nullopt if it may be another one, or one without an
  // expression (INTO, a parameter).
  std::optional<HeldValue> at(std::string_view variable, EventPlace place) const;
  // Whether one of the expressions that are ever assigned to it satisfies `test`.
  template <class Test>
  bool anyAssigned(std::string_view variable, Test test) const;

 private:
  // One search: the places that may have given the variable its value.
  class Search;

  const Function& function_;
  const AssignedValues& values_;
  std::vector<std::vector<std::int32_t>> predecessors_;
  std::vector<std::int32_t> handler_of_;  // by block: the scope that it is the first block of a handler of
  // Where each variable is assigned, in order; variables that are never assigned are not in it.
  std::map<std::string, std::vector<EventPlace>, std::less<>> assignments_;
  mutable std::size_t budget_;  // blocks that may still be looked at: a huge body must not cost its square
};

template <class Test>
bool ReachingValues::anyAssigned(std::string_view variable, Test test) const {
  const auto assignments = assignments_.find(variable);
  if (assignments == assignments_.end()) return false;
  for (const EventPlace& place : assignments->second)
    if (const auto value = values_.find(place); value != values_.end() && test(value->second)) return true;
  return false;
}

}  // namespace pglocklint::sql

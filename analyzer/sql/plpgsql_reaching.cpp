#include "sql/plpgsql_reaching.h"

#include <algorithm>
#include <set>

namespace pglocklint::sql {

namespace {

constexpr std::size_t kMaxVisited = 5000;

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

bool assigns(const Event& event, std::string_view variable) {
  for (const Statement& statement : event.statement)
    for (const std::string& target : statement.into)
      if (std::string_view(target).substr(0, target.find_first_of(".[")) == variable) return true;
  return false;
}

bool within(const Function& f, std::int32_t scope, std::int32_t outer) {
  while (scope >= 0 && scope != outer) scope = f.exception_scopes[index(scope)].parent;
  return scope == outer;
}

}  // namespace

ReachingValues::ReachingValues(const Function& function, const AssignedValues& values)
    : function_(function), values_(values), predecessors_(function.blocks.size()), handler_of_(function.blocks.size(), -1) {
  for (std::size_t i = 0; i < function.blocks.size(); ++i)
    for (const Edge& edge : function.blocks[i].successors) predecessors_[index(edge.target)].push_back(static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < function.exception_scopes.size(); ++i)
    for (const ExceptionHandler& handler : function.exception_scopes[i].handlers)
      handler_of_[index(handler.block)] = static_cast<std::int32_t>(i);
}

std::optional<std::size_t> ReachingValues::lastAssignment(std::string_view variable, std::int32_t block, std::size_t before) const {
  const std::vector<Event>& events = function_.blocks[index(block)].events;
  for (std::size_t i = std::min(before, events.size()); i-- > 0;)
    if (assigns(events[i], variable)) return i;
  return std::nullopt;
}

std::optional<HeldValue> ReachingValues::at(std::string_view variable, EventPlace place) const {
  if (std::ranges::count(function_.variables, variable, &Variable::name) > 1) return std::nullopt;  // one hides the other
  std::set<EventPlace> found;
  std::set<std::int32_t> visited;
  std::vector<std::int32_t> work;
  bool from_outside = false;  // the value that the caller passes
  const auto before = [&](std::int32_t block) {
    from_outside = from_outside || block == 0;
    work.insert(work.end(), predecessors_[index(block)].begin(), predecessors_[index(block)].end());
    const std::int32_t scope = handler_of_[index(block)];
    // An error can come from anywhere in the scope, before or after what is assigned there.
    for (std::size_t i = 0; scope >= 0 && i < function_.blocks.size(); ++i) {
      if (!within(function_, function_.blocks[i].scope, scope)) continue;
      for (std::size_t e = 0; e < function_.blocks[i].events.size(); ++e)
        if (assigns(function_.blocks[i].events[e], variable)) found.insert({static_cast<std::int32_t>(i), e});
      work.insert(work.end(), predecessors_[i].begin(), predecessors_[i].end());
    }
  };
  const auto look = [&](std::int32_t block, std::size_t end) {
    if (const auto event = lastAssignment(variable, block, end))
      found.insert({block, *event});
    else
      before(block);
  };
  look(place.block, place.event);
  while (!work.empty() && found.size() < 2 && visited.size() < kMaxVisited) {
    const std::int32_t block = work.back();
    work.pop_back();
    if (visited.insert(block).second) look(block, function_.blocks[index(block)].events.size());
  }
  const bool declared = std::ranges::count(function_.variables, variable, &Variable::name) == 1;
  if (found.size() != 1 || !work.empty() || (from_outside && !declared)) return std::nullopt;
  const auto value = values_.find(*found.begin());
  if (value == values_.end()) return std::nullopt;
  return HeldValue{value->second, value->first};
}

std::vector<TokenSpan> ReachingValues::everAssigned(std::string_view variable) const {
  std::vector<TokenSpan> all;
  for (const auto& [place, expression] : values_)
    if (assigns(function_.blocks[index(place.block)].events[place.event], variable)) all.push_back(expression);
  return all;
}

}  // namespace pglocklint::sql

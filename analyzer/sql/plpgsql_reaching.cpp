#include "sql/plpgsql_reaching.h"

#include <algorithm>
#include <set>

namespace pglocklint::sql {

namespace {

constexpr std::size_t kBudget = 2'000'000;

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

bool within(const Function& f, std::int32_t scope, std::int32_t outer) {
  while (scope >= 0 && scope != outer) scope = f.exception_scopes[index(scope)].parent;
  return scope == outer;
}

}  // namespace

ReachingValues::ReachingValues(const Function& function, const AssignedValues& values)
    : function_(function), values_(values), predecessors_(function.blocks.size()), handler_of_(function.blocks.size(), -1),
      budget_(kBudget) {
  for (std::size_t i = 0; i < function.blocks.size(); ++i) {
    const auto block = static_cast<std::int32_t>(i);
    for (const Edge& edge : function.blocks[i].successors) predecessors_[index(edge.target)].push_back(block);
    for (std::size_t e = 0; e < function.blocks[i].events.size(); ++e)
      for (const Statement& statement : function.blocks[i].events[e].statement)
        for (const std::string& target : statement.into)
          assignments_[target.substr(0, target.find_first_of(".["))].push_back({block, e});
  }
  for (std::size_t i = 0; i < function.exception_scopes.size(); ++i)
    for (const ExceptionHandler& handler : function.exception_scopes[i].handlers)
      handler_of_[index(handler.block)] = static_cast<std::int32_t>(i);
}

class ReachingValues::Search {
 public:
  Search(const ReachingValues& all, const std::vector<EventPlace>& assignments) : all_(all), assignments_(assignments) {}

  void run(EventPlace place) {
    look(place);
    while (!work_.empty() && found_.size() < 2 && spend(1)) {
      const std::int32_t block = work_.back();
      work_.pop_back();
      if (visited_.insert(block).second) look({block, all_.function_.blocks[index(block)].events.size()});
    }
  }
  bool complete() const { return work_.empty(); }
  bool fromOutside() const { return from_outside_; }  // the value that the caller passes may still be there
  const std::set<EventPlace>& found() const { return found_; }

 private:
  bool spend(std::size_t blocks) {
    if (all_.budget_ < blocks) return false;
    all_.budget_ -= blocks;
    return true;
  }

  // Backwards from `place`: the last assignment in its block, or whatever leads to the block.
  void look(EventPlace place) {
    const auto after = std::ranges::lower_bound(assignments_, place);
    if (after != assignments_.begin() && std::prev(after)->block == place.block)
      found_.insert(*std::prev(after));
    else
      lookBefore(place.block);
  }

  void lookBefore(std::int32_t block) {
    from_outside_ = from_outside_ || block == 0;
    const auto& before = all_.predecessors_[index(block)];
    work_.insert(work_.end(), before.begin(), before.end());
    if (all_.handler_of_[index(block)] >= 0) lookInScope(all_.handler_of_[index(block)]);
  }

  // An error can come from anywhere in the scope, before or after what is assigned there.
  void lookInScope(std::int32_t scope) {
    const Function& f = all_.function_;
    if (!spend(f.blocks.size() + assignments_.size())) return;
    for (const EventPlace& place : assignments_)
      if (within(f, f.blocks[index(place.block)].scope, scope)) found_.insert(place);
    for (std::size_t i = 0; i < f.blocks.size(); ++i) {
      const auto& before = all_.predecessors_[i];
      if (within(f, f.blocks[i].scope, scope)) work_.insert(work_.end(), before.begin(), before.end());
    }
  }

  const ReachingValues& all_;
  const std::vector<EventPlace>& assignments_;
  std::set<EventPlace> found_;
  std::set<std::int32_t> visited_;
  std::vector<std::int32_t> work_;
  bool from_outside_ = false;
};

std::optional<HeldValue> ReachingValues::at(std::string_view variable, EventPlace place) const {
  const auto assignments = assignments_.find(variable);
  if (assignments == assignments_.end()) return std::nullopt;
  const auto declarations = std::ranges::count(function_.variables, variable, &Variable::name);
  if (declarations > 1) return std::nullopt;  // one hides the other
  Search search(*this, assignments->second);
  search.run(place);
  if (search.found().size() != 1 || !search.complete() || (search.fromOutside() && declarations == 0)) return std::nullopt;
  const auto value = values_.find(*search.found().begin());
  if (value == values_.end()) return std::nullopt;
  return HeldValue{value->second, value->first};
}

}  // namespace pglocklint::sql

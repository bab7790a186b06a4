// What a function does with its variables' names, looked up once for all keys in it: who writes to a name, where it is declared, whether
// the function asks if it is NULL. A function may have thousands of lock calls, and each key asks.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/unit.h"

namespace pglocklint {

class FunctionNames {
 public:
  explicit FunctionNames(const Function& function);

  // Statements that may write to `name`; not the initial value of its declaration.
  const std::vector<const Statement*>& writes(std::string_view name) const;
  // Does the function ask whether `name` is NULL (IS NULL, COALESCE), or whether a row was found? Then what follows is not our
  // business: evidence of NULL would only repeat what the author has handled.
  bool nullChecked(std::string_view name) const { return asks_found_ || null_checked_.count(name) > 0; }
  // The write that certainly gave the variable its value where `place` stands: the last one before it in the same block, where nothing
  // comes between. Null: another block's, a CALL's, or none.
  const Statement* reachingWrite(std::string_view name, const SourceRange& place) const;
  // Declarations of `name`, in order.
  const std::vector<const Variable*>& declarations(std::string_view name) const;

 private:
  struct Position {
    std::size_t block = 0, event = 0;
    auto operator<=>(const Position&) const = default;
  };
  struct Write {
    Position at;
    const Statement* statement = nullptr;
  };
  struct Extent {
    std::uint32_t begin = 0, end = 0, file = 0;
    std::uint32_t furthest = 0;  // the largest `end` up to here
    Position at;
  };
  void readPositions(const Function& function);
  const Extent* around(const SourceRange& place) const;

  std::map<std::string, std::vector<const Statement*>, std::less<>> writes_;
  std::map<std::string, std::vector<Write>, std::less<>> into_;  // in the order of blocks and events
  std::vector<Position> calls_;                                  // CALL statements, in that order
  std::vector<Extent> extents_;                                  // of statements, by begin
  std::map<std::string_view, std::vector<const Variable*>> declarations_;  // names live in the function
  std::set<std::string_view> null_checked_;
  bool asks_found_ = false;
};

// Of many functions, each read when it is first asked for. Not for several threads at once.
class NamesOfFunctions {
 public:
  const FunctionNames& of(const Function& function) { return names_.try_emplace(&function, function).first->second; }

 private:
  std::unordered_map<const Function*, FunctionNames> names_;
};

}  // namespace pglocklint

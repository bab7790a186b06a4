// What the statements of one function say about its variables, its branches and its loops, gathered in one pass: generated
// functions have thousands of lock calls, and none of them may cost another walk through all statements.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/program.h"

namespace pglocklint {

struct Assignment {
  const Statement* statement = nullptr;  // null: the value in DECLARE
  const Expr* value = nullptr;           // null: not one expression
};

// IF v THEN … (value true), IF NOT v THEN … (value false): the block that ends with the test.
struct TestedVariable {
  std::int32_t block = -1;
  bool value = true;
};

class FunctionIndex {
 public:
  FunctionIndex(const Function& function, const Catalogue& catalogue);

  const Function& function() const { return function_; }

  // A parameter or variable of that name is visible somewhere in the function.
  bool isVariable(std::string_view name) const { return variables_.find(name) != variables_.end(); }
  // A statement other than `except` looks at the variable, or may: one that we could not read.
  bool isRead(std::string_view variable, const Statement* except) const;
  std::span<const Assignment> assignments(std::string_view variable) const;
  std::span<const TestedVariable> tests(std::string_view variable) const;
  // The expression names a variable that got its value from a lock call: it may say whether the lock is held.
  bool tellsOfLock(const Expr& expr) const;

  // The last loop that begins before `offset`, lies further out than `depth` and runs over that variable; null if none.
  const Statement* loopOver(std::string_view variable, std::uint32_t offset, std::uint32_t depth) const;
  // A FETCH inside of a loop gives the variable its value; the query of a cursor, if there is one.
  const Statement* fetchInLoop(std::string_view variable) const;
  const Query* cursorQuery(std::string_view cursor) const;
  bool unreadable() const { return unreadable_; }  // a statement in it was not read
  bool endsTransactions() const { return ends_transactions_; }

  // Block that the statement stands in, or -1.
  std::int32_t blockOf(const Statement& statement) const;
  // The first work that is done only when the condition at the end of `block` comes out as `value`; a range without place
  // for DDL.
  std::optional<SourceRange> workBehind(std::int32_t block, bool value) const;

 private:
  void readStatement(const Statement& s, std::int32_t block, const Catalogue& catalogue);
  void readFlow(const Catalogue& catalogue);

  template <class T>
  using ByName = std::map<std::string, std::vector<T>, std::less<>>;

  const Function& function_;
  std::set<std::string, std::less<>> variables_, lock_results_;
  ByName<const Statement*> readers_, loops_, fetches_, opens_;
  ByName<Assignment> assignments_;
  ByName<TestedVariable> tests_;
  std::unordered_map<const Statement*, std::int32_t> block_;
  std::vector<std::vector<std::int32_t>> predecessors_;  // earlier blocks only: a loop's way back enters nothing new
  std::vector<std::optional<SourceRange>> work_;         // by block
  bool unreadable_ = false, ends_transactions_ = false;
};

// The indexes of a program's functions, each made when first asked for.
class FunctionIndexes {
 public:
  explicit FunctionIndexes(const Catalogue& catalogue) : catalogue_(catalogue) {}
  const FunctionIndex& of(const Function& function) {
    std::unique_ptr<FunctionIndex>& index = indexes_[&function];
    if (!index) index = std::make_unique<FunctionIndex>(function, catalogue_);
    return *index;
  }

 private:
  const Catalogue& catalogue_;
  std::unordered_map<const Function*, std::unique_ptr<FunctionIndex>> indexes_;
};

}  // namespace pglocklint

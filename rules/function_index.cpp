#include "function_index.h"

#include <algorithm>

#include "program/walk.h"

namespace pglocklint {
namespace {

constexpr std::size_t kMostBlocks = 10'000;  // looked at behind one condition

bool isWork(const Event& event, const Catalogue& catalogue) {
  if (event.kind == EventKind::Ddl) return true;
  for (const Statement& s : event.statement) {
    switch (s.kind) {
      case StatementKind::Call:
      case StatementKind::Execute:
      case StatementKind::CreateTableAs:
      case StatementKind::Copy:
      case StatementKind::Utility:
      case StatementKind::Unparsed:
      case StatementKind::NotUnderstood: return true;
      case StatementKind::Query: break;
      default: continue;
    }
    if (s.query.empty() || s.context == PlContext::Sql || s.context == PlContext::None) return true;
    if (s.query[0].kind != QueryKind::Select && s.query[0].kind != QueryKind::Values) return true;
    if (s.context != PlContext::Perform) continue;
    bool locks = false;
    forEachExpr(s,
                [&](const Expr& e, const QueryLevels&) { locks |= e.kind == ExprKind::Call && isLockCall(e, catalogue); });
    if (!locks) return true;
  }
  return false;
}

// IF v, IF NOT v: the variable, and the value that leads into the branch.
std::optional<std::pair<std::string, bool>> testOf(const Statement& s) {
  if (s.context != PlContext::Condition || s.query.empty() || s.query[0].targets.size() != 1) return std::nullopt;
  const Expr* test = &s.query[0].targets[0].expr;
  bool value = true;
  while (test->kind == ExprKind::Not && !test->args.empty()) test = &test->args[0], value = !value;
  if (test->kind != ExprKind::Column) return std::nullopt;
  return std::pair(test->name, value);
}

template <class T>
std::span<const T> listOf(const std::map<std::string, std::vector<T>, std::less<>>& lists, std::string_view name) {
  const auto at = lists.find(name);
  return at == lists.end() ? std::span<const T>() : std::span<const T>(at->second);
}

}  // namespace

FunctionIndex::FunctionIndex(const Function& function, const Catalogue& catalogue) : function_(function) {
  for (const Parameter& p : function.parameters) variables_.insert(p.name);
  for (const Variable& v : function.variables) {
    variables_.insert(v.name);
    if (!v.initial.empty()) assignments_[v.name].push_back({nullptr, &v.initial[0]});
  }
  variables_.erase("");
  for (std::size_t b = 0; b < function.blocks.size(); ++b)
    for (const Event& e : function.blocks[b].events) {
      for (const Statement& s : e.statement) readStatement(s, static_cast<std::int32_t>(b), catalogue);
      for (const TransactionOp& t : e.transaction)
        ends_transactions_ |= t.verb == TransactionVerb::Commit || t.verb == TransactionVerb::Rollback;
    }
  for (auto& [name, loops] : loops_) std::ranges::stable_sort(loops, {}, [](const Statement* s) { return s->range.begin; });
  readFlow(catalogue);
}

void FunctionIndex::readStatement(const Statement& s, std::int32_t block, const Catalogue& catalogue) {
  block_[&s] = block;
  unreadable_ |= s.kind == StatementKind::NotUnderstood || s.kind == StatementKind::Unparsed;
  bool locks = false;
  const auto reads = [&](const std::string& name) {
    auto& readers = readers_[name];
    if (readers.empty() || readers.back() != &s) readers.push_back(&s);
  };
  if (!variables_.empty() || !s.into.empty())
    forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
      locks |= e.kind == ExprKind::Call && isLockCall(e, catalogue);
      // A bare * is columns, never variables. In a.b, b is a field where a is a variable.
      if (e.kind == ExprKind::Star || e.kind == ExprKind::Column)
        if (isVariable(e.qualifier)) reads(e.qualifier);
      if (e.kind == ExprKind::Column && isVariable(e.name) && (e.qualifier == function_.name || !isVariable(e.qualifier)))
        reads(e.name);
    });
  if (locks) lock_results_.insert(s.into.begin(), s.into.end());
  if (s.context == PlContext::OpenCursor && !s.query.empty()) opens_[s.name].push_back(&s);
  for (std::size_t i = 0; i < s.into.size(); ++i) {
    if (s.kind == StatementKind::Fetch && s.loop_depth > 0) fetches_[s.into[i]].push_back(&s);
    const bool one = !s.query.empty() && i < s.query[0].targets.size();
    if (!s.query.empty()) assignments_[s.into[i]].push_back({&s, one ? &s.query[0].targets[i].expr : nullptr});
    if (s.context == PlContext::ForQuery || s.context == PlContext::ForRange) loops_[s.into[i]].push_back(&s);
  }
  if (auto test = testOf(s)) tests_[test->first].push_back({block, test->second});
}

void FunctionIndex::readFlow(const Catalogue& catalogue) {
  const List<Block>& blocks = function_.blocks;
  predecessors_.resize(blocks.size());
  work_.resize(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const Edge& e : blocks[b].successors)
      if (e.target > static_cast<std::int32_t>(b) && static_cast<std::size_t>(e.target) < blocks.size())
        predecessors_[static_cast<std::size_t>(e.target)].push_back(static_cast<std::int32_t>(b));
    for (const Event& e : blocks[b].events)
      if (!work_[b] && isWork(e, catalogue)) work_[b] = e.statement.empty() ? SourceRange{} : e.statement[0].range;
  }
}

bool FunctionIndex::isRead(std::string_view variable, const Statement* except) const {
  if (unreadable_) return true;
  return std::ranges::any_of(listOf(readers_, variable), [&](const Statement* s) { return s != except; });
}

const Statement* FunctionIndex::fetchInLoop(std::string_view variable) const {
  const auto found = fetches_.find(variable);
  return found == fetches_.end() ? nullptr : found->second.front();
}

const Query* FunctionIndex::cursorQuery(std::string_view cursor) const {
  for (const Variable& v : function_.variables)
    if (v.name == cursor && !v.query.empty()) return &v.query[0];
  const auto opened = opens_.find(cursor);
  return opened == opens_.end() || opened->second.size() != 1 ? nullptr : &opened->second[0]->query[0];
}

std::span<const Assignment> FunctionIndex::assignments(std::string_view variable) const {
  return listOf(assignments_, variable);
}

std::span<const TestedVariable> FunctionIndex::tests(std::string_view variable) const { return listOf(tests_, variable); }

bool FunctionIndex::tellsOfLock(const Expr& expr) const {
  if (lock_results_.empty()) return false;
  bool found = false;
  struct V {
    bool& found;
    const std::set<std::string, std::less<>>& results;
    void onExpr(const Expr& e, const QueryLevels&) {
      found |= e.kind == ExprKind::Column && (results.count(e.name) > 0 || results.count(e.qualifier) > 0);
    }
  } v{found, lock_results_};
  QueryWalker<V>(v).expr(expr);
  return found;
}

const Statement* FunctionIndex::loopOver(std::string_view variable, std::uint32_t offset, std::uint32_t depth) const {
  const std::span<const Statement* const> loops = listOf(loops_, variable);
  auto at = std::ranges::lower_bound(loops, offset, {}, [](const Statement* s) { return s->range.begin; });
  while (at != loops.begin())
    if ((*--at)->loop_depth < depth) return *at;
  return nullptr;
}

std::int32_t FunctionIndex::blockOf(const Statement& statement) const {
  const auto at = block_.find(&statement);
  return at == block_.end() ? -1 : at->second;
}

// The blocks that only the taken edge leads to: the target, and then each block all of whose predecessors are among them.
std::optional<SourceRange> FunctionIndex::workBehind(std::int32_t block, bool value) const {
  const List<Block>& blocks = function_.blocks;
  if (block < 0 || static_cast<std::size_t>(block) >= blocks.size()) return std::nullopt;
  std::int32_t taken = -1, other = -1;
  for (const Edge& e : blocks[static_cast<std::size_t>(block)].successors)
    (e.kind == (value ? EdgeKind::True : EdgeKind::False) ? taken : other) = e.target;
  if (taken <= block || taken == other || static_cast<std::size_t>(taken) >= blocks.size()) return std::nullopt;
  if (predecessors_[static_cast<std::size_t>(taken)] != std::vector{block}) return std::nullopt;

  std::set<std::int32_t> region{taken};
  std::vector<std::int32_t> queue{taken};
  for (std::size_t next = 0; next < queue.size() && next < kMostBlocks; ++next) {
    const auto b = static_cast<std::size_t>(queue[next]);
    if (work_[b]) return work_[b];
    for (const Edge& e : blocks[b].successors) {
      if (e.target < 0 || static_cast<std::size_t>(e.target) >= blocks.size() || region.count(e.target)) continue;
      const auto& from = predecessors_[static_cast<std::size_t>(e.target)];
      if (from.empty() || !std::ranges::all_of(from, [&](std::int32_t p) { return region.count(p) > 0; })) continue;
      region.insert(e.target);
      queue.push_back(e.target);
    }
  }
  return std::nullopt;
}

}  // namespace pglocklint

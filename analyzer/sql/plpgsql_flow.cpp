#include "sql/plpgsql_flow.h"

#include <algorithm>
#include <utility>

namespace pglocklint::sql {

namespace {

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

// What finish() knows about each block.
struct Shape {
  std::vector<std::size_t> predecessors;  // how many edges lead to it
  std::vector<bool> pinned;               // entry of the function or of a handler
};

Shape shapeOf(const Function& f) {
  Shape shape{std::vector<std::size_t>(f.blocks.size(), 0), std::vector<bool>(f.blocks.size(), false)};
  for (const Block& block : f.blocks)
    for (const Edge& edge : block.successors) ++shape.predecessors[index(edge.target)];
  if (!f.blocks.empty()) shape.pinned[0] = true;
  for (const ExceptionScope& scope : f.exception_scopes)
    for (const ExceptionHandler& handler : scope.handlers) shape.pinned[index(handler.block)] = true;
  return shape;
}

bool canBeDropped(const Function& f, const Shape& shape, std::size_t i) {
  return f.blocks[i].events.empty() && shape.predecessors[i] == 0 && !shape.pinned[i];
}

void dropDeadEmptyBlocks(Function& f, Shape& shape, std::vector<bool>& gone) {
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < f.blocks.size(); ++i)
    if (canBeDropped(f, shape, i)) work.push_back(i);
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    if (gone[i]) continue;
    gone[i] = true;
    for (const Edge& edge : f.blocks[i].successors) {
      const std::size_t target = index(edge.target);
      if (--shape.predecessors[target] == 0 && canBeDropped(f, shape, target)) work.push_back(target);
    }
    f.blocks[i].successors.clear();
  }
}

// Block i and the ones that only it leads to become one.
void joinFollowers(Function& f, const Shape& shape, std::vector<bool>& gone, std::size_t i) {
  for (;;) {
    Block& block = f.blocks[i];
    if (block.successors.size() != 1 || block.successors[0].kind != EdgeKind::Next) return;
    const std::size_t next = index(block.successors[0].target);
    if (next == i || shape.predecessors[next] != 1 || shape.pinned[next] || f.blocks[next].scope != block.scope) return;
    Block follower = std::move(f.blocks[next]);
    f.blocks[next] = {};
    gone[next] = true;
    for (Event& event : follower.events) block.events.push_back(std::move(event));
    block.successors = std::move(follower.successors);
  }
}

void renumber(Function& f, const std::vector<bool>& gone) {
  std::vector<std::int32_t> number(f.blocks.size(), -1);
  List<Block> kept;
  for (std::size_t i = 0; i < f.blocks.size(); ++i) {
    if (gone[i]) continue;
    number[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(std::move(f.blocks[i]));
  }
  for (Block& block : kept) {
    for (Edge& edge : block.successors) edge.target = number[index(edge.target)];
    std::ranges::stable_sort(block.successors, {}, &Edge::kind);  // True before False, whichever place was reached first
  }
  for (ExceptionScope& scope : f.exception_scopes)
    for (ExceptionHandler& handler : scope.handlers) handler.block = number[index(handler.block)];
  f.blocks = std::move(kept);
}

}  // namespace

FlowBuilder::FlowBuilder(Function& function) : function_(function) {
  function_.blocks.assign(1, Block{});
  function_.exception_scopes.clear();
}

EventPlace FlowBuilder::add(Event event) {
  List<Event>& events = function_.blocks[index(current_)].events;
  events.push_back(std::move(event));
  return {current_, events.size() - 1};
}

void FlowBuilder::connect(OpenEnd from, std::int32_t target) {
  function_.blocks[index(from.block)].successors.push_back({target, from.kind});
}

std::int32_t FlowBuilder::start(const std::vector<OpenEnd>& from) {
  current_ = blockCount();
  Block block;
  block.scope = scope_;
  function_.blocks.push_back(std::move(block));
  for (const OpenEnd& end : from) connect(end, current_);
  return current_;
}

std::int32_t FlowBuilder::closeScope(std::int32_t first_block, std::size_t first_scope, SourceRange range) {
  const auto scope = static_cast<std::int32_t>(function_.exception_scopes.size());
  for (std::size_t i = index(first_block); i < function_.blocks.size(); ++i)
    if (function_.blocks[i].scope == scope_) function_.blocks[i].scope = scope;
  for (std::size_t i = first_scope; i < function_.exception_scopes.size(); ++i)
    if (function_.exception_scopes[i].parent == scope_) function_.exception_scopes[i].parent = scope;
  function_.exception_scopes.push_back({range, scope_, {}});
  return scope;
}

void FlowBuilder::finish() {
  Shape shape = shapeOf(function_);
  std::vector<bool> gone(function_.blocks.size(), false);
  dropDeadEmptyBlocks(function_, shape, gone);
  for (std::size_t i = 0; i < function_.blocks.size(); ++i)
    if (!gone[i]) joinFollowers(function_, shape, gone, i);
  renumber(function_, gone);
}

}  // namespace pglocklint::sql

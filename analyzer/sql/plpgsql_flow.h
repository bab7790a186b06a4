// The control-flow graph of a PL/pgSQL body while it is being read. Blocks are made in the order of the text; jumps to a
// place that is not read yet wait as open ends.
#pragma once
#include <compare>
#include <cstddef>
#include <vector>

#include "model/function.h"

namespace pglocklint::sql {

// A block whose edge of that kind still needs a target.
struct OpenEnd {
  std::int32_t block = -1;
  EdgeKind kind = EdgeKind::Next;
};

// Where an event is kept.
struct EventPlace {
  std::int32_t block = -1;
  std::size_t event = 0;
  auto operator<=>(const EventPlace&) const = default;
};

class FlowBuilder {
 public:
  explicit FlowBuilder(Function& function);

  std::int32_t current() const { return current_; }
  std::int32_t blockCount() const { return static_cast<std::int32_t>(function_.blocks.size()); }
  EventPlace add(Event event);
  Event& at(EventPlace place) { return function_.blocks[static_cast<std::size_t>(place.block)].events[place.event]; }
  OpenEnd end(EdgeKind kind = EdgeKind::Next) const { return {current_, kind}; }

  // A new current block; `from` gets edges to it. Without any it has no predecessors.
  std::int32_t start(const std::vector<OpenEnd>& from);
  std::int32_t continueInNewBlock() { return start({end()}); }
  void connect(OpenEnd from, std::int32_t target);

  // BEGIN … EXCEPTION: the word EXCEPTION comes last, so the blocks made since `first_block` (and the scopes made since
  // `first_scope`) that lie directly in the current scope move into a new one.
  std::int32_t closeScope(std::int32_t first_block, std::size_t first_scope, SourceRange range);

  // Joins blocks that can only follow each other and drops the empty ones that nothing leads to.
  void finish();

 private:
  Function& function_;
  std::int32_t current_ = 0;
  std::int32_t scope_ = -1;
};

}  // namespace pglocklint::sql

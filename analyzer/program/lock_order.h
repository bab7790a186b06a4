// Lock order over the whole program: which key classes are waited for while which others are held, and where two paths disagree.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "program/lock_state.h"

namespace pglocklint {

// While `held` was held (taken at `taken`), `wanted` is waited for at `event`; through a routine's call, `inner` is the lock call in it.
struct OrderEdge {
  KeyId held = kUnknownKey, wanted = kUnknownKey;
  LockMode held_mode = LockMode::Exclusive, wanted_mode = LockMode::Exclusive;
  EventId taken = -1, event = -1, inner = -1;
  bool certain = true;  // on each run of what is called there: false if a branch inside of a callee decides
  int unit = -1;
  const Function* function = nullptr;
  const std::string* session = nullptr;  // host functions: the session that the path is about
  std::shared_ptr<const std::vector<std::pair<KeyId, LockMode>>> gates;  // further keys that are certainly held
};

// Edges that close a circle, the one to report first. Two of one class with itself: `same_class`, one edge.
struct OrderCycle {
  std::vector<OrderEdge> edges;
  bool same_class = false;
};

std::vector<OrderCycle> orderCycles(const Program& program, const LockStates& locks);

}  // namespace pglocklint

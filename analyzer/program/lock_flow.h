// The lock state over the blocks of one function: a fixpoint, then one pass that writes down what the rules look at.
#pragma once
#include "program/lock_domain.h"
#include "program/lock_events.h"

namespace pglocklint {

struct FlowResult {
  FunctionLocks locks;
  LockSummary summary;
};

// `events`: of this function, in order. With `record`, LockEvent::before and the lists of FunctionLocks are filled in. `entry`: what is
// held when it begins, where that is known.
FlowResult flowLocks(const Program& program, LockStates& states, LockEvents& reader, const LockEvents::Candidate& candidate,
                     const std::vector<EventId>& events, bool record, const LockStateSet* entry = nullptr);

}  // namespace pglocklint

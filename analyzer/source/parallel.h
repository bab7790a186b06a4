// Work on all processors, on stacks large enough for deep SQL.
#pragma once
#include <cstddef>
#include <functional>

namespace pglocklint {

inline constexpr std::size_t kLargeStack = std::size_t{512} << 20;  // only touched pages cost memory

// Calls f(0) … f(n-1), each once, on up to `threads` threads (0: as many as the machine has) with stacks of `stack_bytes`. Returns when
// all are done. Results belong into slots by index, so that their order does not depend on the threads. If calls throw, the exception of
// the smallest index is thrown again here, after the others have ended.
void parallelFor(std::size_t n, unsigned threads, std::size_t stack_bytes, const std::function<void(std::size_t)>& f);

}  // namespace pglocklint

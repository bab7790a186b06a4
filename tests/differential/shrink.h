// Making a record of choices smaller (choices.h) without knowing what it stands for.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace pglocklint::differential {

using Record = std::vector<std::uint32_t>;

// Tries smaller records until none of them is taken, or `attempts` are spent. `take` runs one: true if it still shows what is looked for
// and is simpler, and then `best()` is its record from now on.
inline void shrinkRecord(const std::function<const Record&()>& best, const std::function<bool(const Record&)>& take, int attempts) {
  const auto attempt = [&](const Record& record) { return --attempts >= 0 && take(record); };
  bool progress = true;
  while (progress && attempts > 0) {
    progress = false;
    for (std::size_t length = std::max<std::size_t>(1, best().size() / 2); length > 0 && attempts > 0; length /= 2) {
      for (std::size_t at = 0; at < best().size() && attempts > 0;) {
        const std::size_t end = std::min(best().size(), at + length);
        Record without(best().begin(), best().begin() + static_cast<long>(at));
        Record zeroed = best();
        without.insert(without.end(), best().begin() + static_cast<long>(end), best().end());
        std::fill(zeroed.begin() + static_cast<long>(at), zeroed.begin() + static_cast<long>(end), 0U);
        if (attempt(without) || (zeroed != best() && attempt(zeroed))) progress = true;
        else at = end;
      }
    }
    for (std::size_t at = 0; at < best().size() && attempts > 0; ++at) {
      if (best()[at] < 2) continue;
      Record lower = best();
      lower[at] /= 2;
      progress = attempt(lower) || progress;
    }
  }
}

}  // namespace pglocklint::differential

// One finding per fault. Where two rules see the same fault in the same call, the one that names its cause is reported and
// the one that names a consequence is withheld. Each line has a fixture that shows it: the right-hand rule, run alone,
// reports the marked line; run together with the left-hand rule it does not.
#include "rule.h"

#include <array>

namespace pglocklint {

std::span<const Dominance> dominanceTable() {
  static constexpr std::array kTable{
      // A LIMIT that comes after the lock: the repair (pick the rows first, in order) settles the other three as well.
      Dominance{"AL101", "AL102", "lock-before-limit/bad_where_sorted.sql"},
      Dominance{"AL101", "AL104", "lock-before-limit/bad_select_list.sql"},
      Dominance{"AL101", "AL105", "lock-before-limit/bad_loop_left_early.sql"},
      // A call that never runs because its key is NULL, its overload missing or its wrapper misdeclared: that is the cause.
      Dominance{"AL106", "AL103", "wrapper-volatility/bad_pruned.sql"},
      Dominance{"AL207", "AL103", "lock-never-evaluated/bad_null_key.sql"},
      Dominance{"AL210", "AL103", "lock-never-evaluated/bad_no_overload.sql"},
      // The result of a call that is never made cannot be looked at.
      Dominance{"AL103", "AL309", "lock-never-evaluated/bad_try_switched_off.sql"},
      // A key that changes from run to run: how it is hashed, shared or narrowed no longer matters.
      Dominance{"AL203", "AL202", "unstable-key/bad_hashed.sql"},
      Dominance{"AL203", "AL204", "unstable-key/bad_folded.sql"},
      Dominance{"AL203", "AL206", "unstable-key/bad_narrowed.sql"},
      // Behind a transaction pooler lock and release meet different sessions wherever they stand.
      Dominance{"AL306", "AL308", "session-lock-with-transaction-pooler/bad_two_processes"},
      // Locked on one connection and released on another: that the first keeps the lock follows from it.
      Dominance{"AL308", "AL301", "lock-on-different-connection/bad_checkouts.cpp"},
      // Taken again while it is held: that the lock is left over in the end follows from it.
      Dominance{"AL312", "AL301", "stacked-lock/bad_loop.sql"},
  };
  return kTable;
}

}  // namespace pglocklint

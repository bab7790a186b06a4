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
      // Keys in no order: a loop over them meets itself, whatever else is held.
      Dominance{"AL104", "AL401", "unordered-lock-set/bad_loop_under_another.sql"},
      // An upgrade deadlocks with itself: that it also stacks, or stands in a circle, follows.
      Dominance{"AL402", "AL312", "lock-upgrade/bad_loop.sql"},
      Dominance{"AL402", "AL401", "lock-upgrade/bad_in_circle.sql"},
      // The savepoint or COMMIT that ends the lock, where on another path no transaction was open at all.
      Dominance{"AL307", "AL304", "xact-lock-released-by-savepoint/bad_branch.sql"},
      Dominance{"AL313", "AL304", "xact-lock-lost-at-commit/bad_branch.sql"},
      // An unlock that misses its lock: the lock is left over, and where it misses by the form, the forms are mixed.
      Dominance{"AL302", "AL201", "unlock-mismatch/bad_form_in_script.sql"},
      Dominance{"AL302", "AL301", "unlock-mismatch/bad_left_over.sql"},
      // Released in another session: it is not held there.
      Dominance{"AL308", "AL302", "lock-on-different-connection/bad_again.sh"},
      // Behind a transaction pooler lock and release meet different sessions wherever they stand.
      Dominance{"AL306", "AL308", "session-lock-with-transaction-pooler/bad_two_processes"},
      // Locked on one connection and released on another: that the first keeps the lock follows from it.
      Dominance{"AL308", "AL301", "lock-on-different-connection/bad_checkouts.cpp"},
      // Taken again while it is held: that the lock is left over in the end follows from it.
      Dominance{"AL312", "AL301", "stacked-lock/bad_loop.sql"},
      Dominance{"AL312", "AL302", "stacked-lock/bad_wrong_release.sql"},
  };
  return kTable;
}

}  // namespace pglocklint

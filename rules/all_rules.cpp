// Every rule, by code: this list is the index. Name, file, fixture folder and page share one spelling (a test compares them).
#include "all_rules.h"

namespace pglocklint {

std::span<const Rule> allRules() {
  // Built on first use: the rules live in other files, whose initialisation must not be raced.
  static const std::vector<Rule> kAll{
      kLockBeforeLimit,                   // AL101
      kLockInWhere,                       // AL102
      kLockNeverEvaluated,                // AL103
      kUnorderedLockSet,                  // AL104
      kMassLock,                          // AL105
      kWrapperVolatility,                 // AL106
      kLockInSchemaObject,                // AL107
      kMixedKeyForms,                     // AL201
      kHashtextKey,                       // AL202
      kUnstableKey,                       // AL203
      kKeyCollision,                      // AL204
      kMagicKey,                          // AL205
      kKeyOverflow,                       // AL206
      kNullKey,                           // AL207
      kAmbiguousCompositeKey,             // AL209
      kNoMatchingOverload,                // AL210
      kSessionLockNotReleased,            // AL301
      kUnlockMismatch,                    // AL302
      kUnlockBeforeCommit,                // AL303
      kXactLockOutsideTransaction,        // AL304
      kSessionLockInTransaction,          // AL305
      kSessionLockWithTransactionPooler,  // AL306
      kXactLockReleasedBySavepoint,       // AL307
      kLockOnDifferentConnection,         // AL308
      kTryResultIgnored,                  // AL309
      kBlockingWithoutTimeout,            // AL310
      kContinueAfterLockFailure,          // AL311
      kStackedLock,                       // AL312
      kXactLockLostAtCommit,              // AL313
      kLockOnAnyHost,                     // AL314
      kInconsistentLockOrder,             // AL401
      kLockUpgrade,                       // AL402
      kStaleSnapshot,                     // AL501
      kPgLocksDecode,                     // AL504
      kLockInIdleTransaction,             // AL507
      kStatementNotUnderstood,            // AL901
      kUnusedAllow,                       // AL902
      kAllowWithoutReason,                // AL903
  };
  return kAll;
}

}  // namespace pglocklint

// The rules, one definition a file; all_rules.cpp holds the list that everybody else reads.
#pragma once
#include "rule.h"

namespace pglocklint {

// AL1xx: how PostgreSQL runs the call
extern const Rule kLockBeforeLimit;                   // AL101
extern const Rule kLockInWhere;                       // AL102
extern const Rule kLockNeverEvaluated;                // AL103
extern const Rule kUnorderedLockSet;                  // AL104
extern const Rule kMassLock;                          // AL105
extern const Rule kWrapperVolatility;                 // AL106
extern const Rule kLockInSchemaObject;                // AL107
// AL2xx: keys
extern const Rule kMixedKeyForms;                     // AL201
extern const Rule kHashtextKey;                       // AL202
extern const Rule kUnstableKey;                       // AL203
extern const Rule kKeyCollision;                      // AL204
extern const Rule kMagicKey;                          // AL205
extern const Rule kKeyOverflow;                       // AL206
extern const Rule kNullKey;                           // AL207
extern const Rule kAmbiguousCompositeKey;             // AL209
extern const Rule kNoMatchingOverload;                // AL210
// AL3xx: how long a lock is held, and what becomes of it
extern const Rule kSessionLockNotReleased;            // AL301
extern const Rule kUnlockMismatch;                    // AL302
extern const Rule kUnlockBeforeCommit;                // AL303
extern const Rule kXactLockOutsideTransaction;        // AL304
extern const Rule kSessionLockInTransaction;          // AL305
extern const Rule kSessionLockWithTransactionPooler;  // AL306
extern const Rule kXactLockReleasedBySavepoint;       // AL307
extern const Rule kLockOnDifferentConnection;         // AL308
extern const Rule kTryResultIgnored;                  // AL309
extern const Rule kBlockingWithoutTimeout;            // AL310
extern const Rule kContinueAfterLockFailure;          // AL311
extern const Rule kStackedLock;                       // AL312
extern const Rule kXactLockLostAtCommit;              // AL313
extern const Rule kLockOnAnyHost;                     // AL314
// AL4xx: order and deadlock
extern const Rule kInconsistentLockOrder;             // AL401
extern const Rule kLockUpgrade;                       // AL402
// AL5xx: snapshots, and reading pg_locks
extern const Rule kStaleSnapshot;                     // AL501
extern const Rule kPgLocksDecode;                     // AL504
extern const Rule kLockInIdleTransaction;             // AL507
// AL9xx: the run itself
extern const Rule kStatementNotUnderstood;            // AL901
extern const Rule kUnusedAllow;                       // AL902
extern const Rule kAllowWithoutReason;                // AL903

}  // namespace pglocklint

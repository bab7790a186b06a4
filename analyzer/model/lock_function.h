// PostgreSQL's advisory lock functions: 11 names, 21 overloads, the same on 13 to 18 (SEMANTICS S01).
// All are VOLATILE STRICT PARALLEL RESTRICTED COST 1, in pg_catalog.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "model/describe.h"

namespace pglocklint {

enum class LockOperation { Acquire, Try, Release, ReleaseAll };
PGLOCKLINT_ENUM_NAMES(LockOperation, "acquire", "try", "release", "release-all")

enum class LockScope { Session, Transaction };
PGLOCKLINT_ENUM_NAMES(LockScope, "session", "transaction")

enum class LockMode { Exclusive, Shared };
PGLOCKLINT_ENUM_NAMES(LockMode, "exclusive", "shared")

struct LockFunction {
  std::string_view name;  // lower case, without schema
  LockOperation operation;
  LockScope scope;
  LockMode mode;
  bool returns_boolean;  // otherwise void

  bool acquires() const { return operation == LockOperation::Acquire || operation == LockOperation::Try; }
  bool blocks() const { return operation == LockOperation::Acquire; }
};

inline constexpr std::array<LockFunction, 11> kLockFunctions{{
    {"pg_advisory_lock", LockOperation::Acquire, LockScope::Session, LockMode::Exclusive, false},
    {"pg_advisory_lock_shared", LockOperation::Acquire, LockScope::Session, LockMode::Shared, false},
    {"pg_advisory_unlock", LockOperation::Release, LockScope::Session, LockMode::Exclusive, true},
    {"pg_advisory_unlock_all", LockOperation::ReleaseAll, LockScope::Session, LockMode::Exclusive, false},
    {"pg_advisory_unlock_shared", LockOperation::Release, LockScope::Session, LockMode::Shared, true},
    {"pg_advisory_xact_lock", LockOperation::Acquire, LockScope::Transaction, LockMode::Exclusive, false},
    {"pg_advisory_xact_lock_shared", LockOperation::Acquire, LockScope::Transaction, LockMode::Shared, false},
    {"pg_try_advisory_lock", LockOperation::Try, LockScope::Session, LockMode::Exclusive, true},
    {"pg_try_advisory_lock_shared", LockOperation::Try, LockScope::Session, LockMode::Shared, true},
    {"pg_try_advisory_xact_lock", LockOperation::Try, LockScope::Transaction, LockMode::Exclusive, true},
    {"pg_try_advisory_xact_lock_shared", LockOperation::Try, LockScope::Transaction, LockMode::Shared, true},
}};

// The built-in of that (lower-case, folded) name, or null.
inline const LockFunction* findLockFunction(std::string_view name) {
  for (const LockFunction& f : kLockFunctions)
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace pglocklint

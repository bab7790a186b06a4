// Calls of the lock manager inside of the server: LockAcquire(&tag, mode, sessionLock, dontWait), LockRelease(&tag, mode, sessionLock).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/host.h"
#include "tree.h"

namespace pglocklint::extract {

// The SQL that would do the same. A tag of one key (field 4 is 1) or two (2) is that of the SQL functions (lockfuncs.c); any other number
// is a key space that no SQL function reaches, and becomes a call with three arguments: the number and the two halves.
struct LockTagCall {
  std::vector<HostText> texts;   // alternatives: of what the tag may hold, and of what the function is given
  std::vector<HostValue> binds;
  std::string lost;              // why some or all of it is not followed; empty: all is
  bool may_be_other = false;     // lost, and not even known to be advisory
};

// nullopt: of a tag that is no advisory one, or releases what SQL cannot.
std::optional<LockTagCall> lockTagCall(ValueReader& values, const clang::FunctionDecl& function, const Expr& call,
                                       const std::string& name, const std::vector<const Expr*>& arguments);

}  // namespace pglocklint::extract

// Values that reach a statement otherwise than as arguments beside its text: bound by calls that follow, or by the server's own call convention.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "call_models.h"
#include "model/host.h"
#include "tree.h"

namespace pglocklint::extract {

inline constexpr std::size_t kMostBinds = 64;  // values that a call is taken to give

// What later calls of the function bind to a statement, up to its next text. Placeholders with names are numbered as the text brings them.
std::vector<HostValue> laterBinds(ValueReader& values, clang::ASTContext& context, const clang::FunctionDecl& function, const Expr& prepared, const Expr* statement, const std::vector<HostText>& texts);

// What later calls of any name tell a statement by the names of its placeholders: stmt.bindUint64(":KEY", 7). `made`: the call that is given the
// text; `object`: what it is called on.
std::vector<HostValue> namedBinds(ValueReader& values, clang::ASTContext& context, const clang::FunctionDecl& function, const Expr& made, const Expr* object, const std::vector<HostText>& texts);

// A call inside of the server, as the SQL that would do the same.
struct ServerCall {
  std::string sql;
  std::vector<HostValue> binds;
};

// DirectFunctionCall2(pg_advisory_lock_int4, …): nullopt if the C function is not behind a lock function.
std::optional<ServerCall> serverFunctionCall(ValueReader& values, const std::vector<const Expr*>& arguments, int first_bind);

}  // namespace pglocklint::extract

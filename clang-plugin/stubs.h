// Headers of the modelled libraries, as far as call sites need them: declarations only. They stand last in the search path, for a
// file whose real headers are not there; clang drops the arguments of calls that it cannot resolve, and with them the SQL.
#pragma once
#include <span>

namespace pglocklint::extract {

inline constexpr char kStubFolder[] = "/pglocklint-stubs";

struct StubHeader {
  const char* name;
  const char* text;
};
std::span<const StubHeader> stubHeaders();

}  // namespace pglocklint::extract

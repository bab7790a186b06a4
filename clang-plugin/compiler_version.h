// Whether the compiler that loads the plugin is the one that it was built for. This file knows nothing of clang: a compiler of another version
// has other classes, and must be told so before any of ours is used.
#pragma once
#include <string>
#include <string_view>

namespace pglocklint::extract {

// What to tell the user, or empty. `full` is what clang calls itself ("Debian clang version 19.1.7 (…)"), empty if it is no clang.
inline std::string wrongCompiler(std::string_view full, int wanted) {
  constexpr std::string_view kWord = "clang version ";
  const std::string needs = "the pglocklint plugin needs clang " + std::to_string(wanted);
  const std::size_t at = full.find(kWord);
  if (at == full.npos) return needs + ", and this compiler is no clang that it knows";
  std::string_view version = full.substr(at + kWord.size());
  version = version.substr(0, version.find_first_not_of("0123456789."));
  if (version.substr(0, version.find('.')) == std::to_string(wanted)) return "";
  return needs + ", and this is clang " + std::string(version);
}

}  // namespace pglocklint::extract

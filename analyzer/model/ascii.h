// Letters as PostgreSQL and file formats fold them: A to Z, whatever the locale, and no other byte.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

namespace pglocklint {

constexpr char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline std::string lowered(std::string_view s) {
  std::string out(s);
  std::ranges::transform(out, out.begin(), [](char c) { return lowered(c); });
  return out;
}

inline constexpr std::string_view kSpace = " \t\r\n\f\v";

// Without the white space at both ends.
inline std::string_view trimmed(std::string_view s) {
  const std::size_t begin = s.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? std::string_view() : s.substr(begin, s.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace pglocklint

// Numbers of host programs that stand for what happened, as C's status codes and enums do: 0, -1, BUSY. What is known of one is kept as
// booleans beside its truth (not 0): the variable "local rc 5:7.=-1" says whether it is -1, "local rc 5:7.<0" whether it is negative.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pglocklint {

// A comparison with a constant. relation: "=", "<", "<=", ">" or ">=".
struct HostComparison {
  std::string_view relation;
  std::int64_t number = 0;
};

inline std::string comparisonText(std::string_view relation, std::int64_t number) { return std::string(relation) + std::to_string(number); }
// The variable of what is at `path`.
inline std::string hostNumber(const std::string& path, std::string_view relation, std::int64_t number) { return path + "." + comparisonText(relation, number); }

inline std::optional<HostComparison> comparisonOf(std::string_view text) {
  const std::size_t end = text.find_first_not_of("=<>");
  HostComparison c{text.substr(0, end), 0};
  if (end == 0 || end == std::string_view::npos) return std::nullopt;
  const char* last = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + end, last, c.number);
  return error == std::errc() && at == last ? std::optional(c) : std::nullopt;
}

// Splits such a variable: its path, and the comparison.
inline std::optional<std::pair<std::string_view, HostComparison>> splitNumber(std::string_view variable) {
  const std::size_t dot = variable.rfind('.');
  if (dot == std::string_view::npos || dot + 1 >= variable.size()) return std::nullopt;
  const auto comparison = comparisonOf(variable.substr(dot + 1));
  return comparison ? std::optional(std::pair(variable.substr(0, dot), *comparison)) : std::nullopt;
}

inline bool holds(std::int64_t number, const HostComparison& c) {
  if (c.relation == "=") return number == c.number;
  if (c.relation == "<") return number < c.number;
  if (c.relation == "<=") return number <= c.number;
  if (c.relation == ">") return number > c.number;
  return number >= c.number;
}

}  // namespace pglocklint

// The report for people: place, rule, what happens, the source with the spot marked.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "report/run_report.h"

namespace pglocklint {

struct TextOptions {
  bool color = false;
  bool list_coverage = false;   // what was not understood, line by line
  std::size_t width = 100;      // columns; only a terminal has another width
};

std::string textReport(const RunReport& run, const TextOptions& options, SourceCache& sources);

// Breaks at blanks so that lines stay within `width` columns where words allow it; each line gets `margin` in front.
std::string wrapped(std::string_view text, std::size_t width, std::string_view margin);

// "1 error", "2 errors"
std::string counted(std::uint64_t n, std::string_view noun);

}  // namespace pglocklint

#include "report/examples.h"

namespace pglocklint {
namespace {

// What a line says before a test's expectation, "… -- expect: lock-in-where".
std::string_view withoutExpectation(std::string_view line) {
  for (const std::string_view mark : {"-- expect:", "-- false-positive:", "-- false-negative:"})
    if (const auto at = line.find(mark); at != std::string_view::npos) line = line.substr(0, at);
  const auto last = line.find_last_not_of(" \t\r");
  return last == std::string_view::npos ? std::string_view() : line.substr(0, last + 1);
}

}  // namespace

std::string exampleText(std::string_view rule, std::string_view file) {
  for (const Example& example : embeddedExamples()) {
    if (example.rule != rule || example.file != file) continue;
    std::string out;
    std::string_view rest = example.text;
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      const std::string_view kept = withoutExpectation(line);
      if (!kept.empty() || line.empty()) out.append(kept).append("\n");
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return out;
  }
  return "";
}

}  // namespace pglocklint

#include "report/examples.h"

namespace pglocklint {
namespace {

constexpr std::string_view kMarks[] = {"expect:", "false-positive:", "false-negative:"};

// A line without what only a test reads: "… -- expect: lock-in-where", "… /* expect: lock-in-where */ …".
std::string withoutExpectation(std::string_view line) {
  std::string kept(line);
  for (const std::string_view mark : kMarks) {
    if (const auto at = kept.find(std::string("/* ").append(mark)); at != std::string::npos) {
      const auto end = kept.find("*/", at);
      const auto rest = end == std::string::npos ? kept.size() : kept.find_first_not_of(' ', end + 2);
      kept.erase(at, (rest == std::string::npos ? kept.size() : rest) - at);
    }
    for (const std::string_view comment : {"-- ", "# ", "// "})
      if (const auto at = kept.find(std::string(comment).append(mark)); at != std::string::npos) kept.erase(at);
  }
  kept.erase(kept.find_last_not_of(" \t\r") + 1);
  return kept;
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
      const std::string kept = withoutExpectation(line);
      if (!kept.empty() || line.empty()) out.append(kept).append("\n");
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return out;
  }
  return "";
}

}  // namespace pglocklint

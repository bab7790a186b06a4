// `pglocklint check` as tests see it: the findings of its JSON report, and the expectations written in the files it read.
#pragma once
#include <algorithm>
#include <compare>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/process.h"

namespace pglocklint::test {

struct Reported {
  std::string file;
  int line = 0;
  std::string rule;
  auto operator<=>(const Reported&) const = default;
};

struct CheckRun {
  Outcome outcome;
  nlohmann::json report;  // discarded if the output was no JSON
  std::vector<Reported> findings;
};

// Runs the program of this build in `folder`; `what` are the paths and options after `check --format json`.
inline CheckRun check(const std::filesystem::path& folder, const std::vector<std::string>& what) {
  std::vector<std::string> command{PGLOCKLINT_BIN, "check", "--format", "json", "--no-cache", "--fail-on", "never"};
  command.insert(command.end(), what.begin(), what.end());
  CheckRun result;
  result.outcome = run(command, folder);
  result.report = nlohmann::json::parse(result.outcome.out, nullptr, /*allow_exceptions=*/false);
  if (result.report.is_object() && result.report.contains("findings"))
    for (const auto& finding : result.report["findings"])
      result.findings.push_back({finding.at("file"), finding.at("line"), finding.at("rule")});
  std::ranges::sort(result.findings);
  return result;
}

// What a comment in a fixture says about its line:
//   expect: RULE[, RULE]       this finding is right
//   false-positive: RULE - why  it is reported, wrongly: pinned until it improves
//   false-negative: RULE - why  it is not reported, wrongly: pinned too
enum class Claim { Expected, FalsePositive, FalseNegative };
struct Annotation {
  Claim claim;
  Reported finding;
};

inline std::vector<Annotation> annotations(const std::string& file, std::string_view text) {
  struct Word {
    std::string_view text;
    Claim claim;
  };
  constexpr Word kWords[] = {{"expect: ", Claim::Expected},
                             {"false-positive: ", Claim::FalsePositive},
                             {"false-negative: ", Claim::FalseNegative}};
  const auto isName = [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || (c >= '0' && c <= '9'); };
  std::vector<Annotation> found;
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view row = text.substr(begin, end - begin);
    begin = end + 1;
    for (const Word& word : kWords)
      for (std::size_t at = row.find(word.text); at != std::string_view::npos; at = row.find(word.text, at)) {
        // A comment must open before the word, or directly hold it: "-- expect: x", "/* expect: x */", "// expect: x", "# expect: x".
        const std::string_view before = row.substr(0, at);
        at += word.text.size();
        if (before.find("--") == std::string_view::npos && before.find("/*") == std::string_view::npos &&
            before.find("//") == std::string_view::npos && before.find("# ") == std::string_view::npos)
          continue;
        while (at < row.size()) {  // names, separated by commas
          std::size_t stop = at;
          while (stop < row.size() && isName(row[stop])) ++stop;
          if (stop > at) found.push_back({word.claim, {file, line, std::string(row.substr(at, stop - at))}});
          at = stop;
          if (word.claim != Claim::Expected || row.substr(at, 2) != ", ") break;
          at += 2;
        }
      }
  }
  return found;
}

// The files of a fixture as its report names them: a file alone under its own name, a folder's files relative to the folder.
inline std::vector<Annotation> annotationsOf(const std::filesystem::path& fixture) {
  namespace fs = std::filesystem;
  std::vector<Annotation> found;
  const auto add = [&](const fs::path& path, const std::string& name) {
    for (Annotation& annotation : annotations(name, readFile(path))) found.push_back(std::move(annotation));
  };
  if (!fs::is_directory(fixture)) {
    add(fixture, fixture.filename().string());
  } else {
    for (const auto& entry : fs::recursive_directory_iterator(fixture))
      if (entry.is_regular_file()) add(entry.path(), fs::relative(entry.path(), fixture).generic_string());
  }
  return found;
}

inline std::string text(const Reported& finding) {
  return finding.file + ":" + std::to_string(finding.line) + ": " + finding.rule;
}

// Where the report and the annotations differ, one sentence each; empty if they agree.
inline std::vector<std::string> differences(const std::vector<Annotation>& announced, const std::vector<Reported>& findings) {
  std::vector<std::string> result;
  std::vector<Reported> left = findings;
  const auto take = [&](const Reported& finding) {
    const auto at = std::ranges::find(left, finding);
    if (at == left.end()) return false;
    left.erase(at);
    return true;
  };
  for (const auto& [claim, finding] : announced) {
    if (claim == Claim::FalseNegative) continue;
    if (take(finding)) continue;
    result.push_back(text(finding) + (claim == Claim::Expected ? " was expected and not reported"
                                                               : " is no longer reported: now right, delete its false-positive:"));
  }
  for (const auto& [claim, finding] : announced)
    if (claim == Claim::FalseNegative && take(finding))
      result.push_back(text(finding) + " is reported: now right, turn its false-negative: into expect: or delete it");
  for (const Reported& finding : left) result.push_back(text(finding) + " was reported and nothing announces it");
  return result;
}

}  // namespace pglocklint::test

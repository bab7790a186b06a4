// The cases after real public bugs (data/README.md): each at its line, with nothing beside what its verdict allows.
// later.tsv lists those that wait for a front end or a rule; one that starts to be met must leave the list.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "support/check.h"

namespace fs = std::filesystem;
using namespace pglocklint::test;

namespace {

const fs::path kCases = fs::path(PGLOCKLINT_SOURCE_DIR) / "tests/cases";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// Rows of a tab-separated file without its heading.
std::vector<std::vector<std::string>> table(const fs::path& file) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(readFile(file));
  std::string line;
  for (std::getline(in, line); std::getline(in, line);) rows.push_back(split(line, '\t'));
  return rows;
}

struct Verdict {
  std::string name, file;
  std::set<int> lines;
  std::string rule;
  std::set<std::string> also;
};

std::vector<Verdict> verdicts() {
  std::vector<Verdict> found;
  for (const auto& row : table(kCases / "data/verdicts.tsv")) {
    REQUIRE(row.size() == 5);
    Verdict verdict{row[0], row[1], {}, row[3], {}};
    for (const std::string& line : split(row[2], '|')) verdict.lines.insert(std::stoi(line));
    for (const std::string& rule : split(row[4], ',')) verdict.also.insert(rule);
    found.push_back(verdict);
  }
  return found;
}

// Why the case is not met, or nothing.
std::string shortcoming(const Verdict& verdict, const fs::path& folder = kCases / "data") {
  const CheckRun run = verdict.rule == "silent" ? check(folder, {verdict.name}) : check(folder, {"--enable", verdict.rule, verdict.name});
  if (run.outcome.status != 0) return "exit status " + std::to_string(run.outcome.status) + ": " + run.outcome.err;
  std::string report;
  for (const Reported& finding : run.findings) report += "\n  " + text(finding);
  if (verdict.rule == "silent") return run.findings.empty() ? "" : "reported:" + report;
  bool met = false;
  const auto matches = [&](const nlohmann::json& place) {
    return place.at("file") == verdict.file && verdict.lines.contains(place.at("line").get<int>());
  };
  for (const auto& finding : run.report["findings"]) {
    const std::string rule = finding.at("rule");
    if (rule != verdict.rule) {
      if (!verdict.also.contains(rule)) return rule + " is not allowed beside " + verdict.rule + ":" + report;
      continue;
    }
    met |= matches(finding);
    if (finding.contains("related"))
      for (const auto& place : finding["related"]) met |= matches(place);
  }
  return met ? "" : verdict.rule + " is not reported at its line:" + report;
}

}  // namespace

TEST_CASE("the cases after real bugs are met") {
  std::map<std::string, std::string> later;
  for (const auto& row : table(kCases / "later.tsv")) later[row.at(0)] = row.at(1);
  int met = 0;
  for (const Verdict& verdict : verdicts()) {
    CAPTURE(verdict.name);
    const std::string why = shortcoming(verdict);
    if (later.contains(verdict.name)) {
      CHECK_MESSAGE(!why.empty(), verdict.name, " is met now: delete it from tests/cases/later.tsv");
    } else {
      CHECK_MESSAGE(why.empty(), verdict.name, ": ", why);
      met += why.empty();
    }
  }
  MESSAGE("cases met: ", met, ", later: ", later.size());
}

// Our own declarations of the libraries come first in the search path: as if the real headers were not there.
TEST_CASE("C++ cases are met without the libraries' headers") {
  std::set<std::string> later;
  for (const auto& row : table(kCases / "later.tsv")) later.insert(row.at(0));
  const TemporaryFolder copy;
  int met = 0;
  for (const Verdict& verdict : verdicts()) {
    nlohmann::json commands = nlohmann::json::array();
    const fs::path folder = copy.path() / verdict.name;
    fs::copy(kCases / "data" / verdict.name, folder, fs::copy_options::recursive);
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".cpp")
        commands.push_back({{"directory", folder.string()}, {"file", entry.path().filename().string()},
                            {"arguments", {"c++", "-std=c++17", "-I/pglocklint-stubs", "-c", entry.path().filename().string()}}});
    if (commands.empty() || later.contains(verdict.name)) continue;
    std::ofstream(folder / "compile_commands.json") << commands.dump();
    const std::string why = shortcoming(verdict, copy.path());
    CHECK_MESSAGE(why.empty(), verdict.name, ": ", why);
    met += why.empty();
  }
  MESSAGE("C++ cases met without headers: ", met);
}

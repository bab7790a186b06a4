// A C++ source that holds many examples at once, because reading the libraries' headers costs more than all of them together: each example in a
// namespace of its own, what they include at the head.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "support/check.h"

namespace pglocklint::test {

// Where an example stands in a file; lines from 1, both included.
struct Stands {
  std::string file;
  int begin = 0, end = 0;
  bool holds(std::string_view in, int line) const { return in == file && begin <= line && line <= end; }
};

class CombinedUnit {
 public:
  explicit CombinedUnit(std::string file, std::set<std::string> includes = {}) : file_(std::move(file)), includes_(std::move(includes)) {}

  // Adds an example; its macros end with it.
  void add(const std::string& scope, std::string_view code) {
    std::istringstream lines{std::string(code)};
    std::string body, ends;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#include")) {
        includes_.insert(line);
        continue;
      }
      if (line.starts_with("#define ")) ends += "#undef " + line.substr(8, line.find_first_of(" (", 8) - 8) + "\n";
      body += line + "\n";
    }
    body_ += opening(scope) + body + "}\n" + ends + kEnd;
  }
  std::string text() const {
    std::string all;
    for (const std::string& include : includes_) all += include + "\n";
    return all + body_;
  }
  // Of an example, when all are added.
  Stands find(const std::string& scope) const {
    const std::string all = text();
    const std::size_t begin = all.find(opening(scope));
    REQUIRE(begin != std::string::npos);
    return {file_, lineAt(all, begin), lineAt(all, all.find(kEnd, begin))};
  }
  // The line on which `what` stands within an example; 0 if it does not.
  int lineOf(const std::string& scope, std::string_view what) const {
    const std::string all = text();
    const std::size_t begin = all.find(opening(scope)), at = all.find(what, begin);
    return at < all.find(kEnd, begin) ? lineAt(all, at) : 0;
  }
  void write(const std::filesystem::path& folder) const { std::ofstream(folder / file_, std::ios::binary) << text(); }

 private:
  static constexpr char kEnd[] = "// end of example\n";
  static std::string opening(const std::string& scope) { return "namespace " + scope + " {\n"; }
  static int lineAt(const std::string& text, std::size_t at) {
    return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  std::string file_, body_;
  std::set<std::string> includes_;
};

// `keys --format json` of a folder.
inline nlohmann::json keysIn(const std::filesystem::path& folder) {
  const Outcome outcome = run({PGLOCKLINT_BIN, "keys", "--format", "json", "."}, folder);
  auto json = nlohmann::json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  REQUIRE_MESSAGE(!json.is_discarded(), outcome.out, outcome.err);
  return json.at("keys");
}

// The lock sites of an example, each as the text of its key.
inline std::vector<std::string> sitesIn(const nlohmann::json& keys, const Stands& where) {
  std::vector<std::string> found;
  for (const auto& key : keys)
    for (const auto& site : key.at("sites"))
      if (where.holds(site.at("file").get<std::string>(), site.at("line"))) found.push_back(key.at("text"));
  return found;
}

}  // namespace pglocklint::test

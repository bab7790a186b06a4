// The list of rules is an index: what it says about a rule must be where it says it is.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "rules/rule.h"

using namespace pglocklint;
namespace fs = std::filesystem;

namespace {

std::string fileName(std::string_view rule) {
  std::string name(rule);
  std::replace(name.begin(), name.end(), '-', '_');
  return name + ".cpp";
}

}  // namespace

TEST_CASE("rules are listed by code, each code and name once") {
  std::set<std::string_view> names;
  std::string_view last;
  for (const Rule& r : allRules()) {
    CHECK_MESSAGE(last < r.info.code, r.info.code, " stands after ", last);
    CHECK_MESSAGE(names.insert(r.info.name).second, r.info.name, " twice");
    last = r.info.code;
  }
  CHECK(names.size() >= 11);
}

TEST_CASE("a rule's name finishes the sentence \"allow …\"") {
  for (const Rule& r : allRules()) {
    const std::string_view name = r.info.name;
    CHECK_MESSAGE(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos, name);
    for (const std::string_view negative : {"no-", "ban-", "dont-", "avoid-"})
      CHECK_MESSAGE((!name.starts_with(negative) || name == "no-matching-overload"), name);
  }
}

TEST_CASE("a rule has a file and a fixture folder of its name") {
  const fs::path root = PGLOCKLINT_SOURCE_DIR;
  for (const Rule& r : allRules()) {
    CHECK_MESSAGE(fs::exists(root / "rules" / fileName(r.info.name)), "rules/", fileName(r.info.name), " is missing");
    CHECK_MESSAGE(fs::is_directory(root / "fixtures" / std::string(r.info.name)), "fixtures/", r.info.name, " is missing");
  }
}

TEST_CASE("a rule says what is wrong, why, and what to write instead") {
  for (const Rule& r : allRules()) {
    CHECK_MESSAGE(!r.info.summary.empty(), r.info.name);
    CHECK_MESSAGE(r.info.explanation.size() > 80, r.info.name);
    CHECK_MESSAGE(!r.info.remedy.empty(), r.info.name);
    CHECK_MESSAGE(r.info.summary.find('\n') == std::string_view::npos, r.info.name);
  }
}

TEST_CASE("only what the pipeline knows alone has no check") {
  for (const Rule& r : allRules()) CHECK_MESSAGE((r.check == nullptr) == r.info.code.starts_with("AL9"), r.info.name);
}

TEST_CASE("dominance is between two different rules and has no circle") {
  std::set<std::pair<std::string_view, std::string_view>> above;
  for (const Dominance& d : dominanceTable()) {
    CHECK(d.left != d.right);
    CHECK_MESSAGE(!d.fixture.empty(), d.left, " over ", d.right);
    above.insert({d.left, d.right});
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& [a, b] : std::set(above))
      for (const auto& [c, d] : std::set(above))
        if (b == c) grown |= above.insert({a, d}).second;
  }
  for (const auto& [a, b] : above) CHECK_MESSAGE(a != b, a, " dominates itself");
}

// Searches that decide which files are looked at.
#include "source/search.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace pglocklint;

TEST_CASE("words are found in any case and at any place of the text") {
  constexpr std::array<std::string_view, 3> kWords{"advisory", "pg_locks", "set_locktag_"};
  const WordSearch search(kWords);
  for (std::size_t before = 0; before < 70; ++before) {
    for (std::size_t after = 0; after < 40; after += 13) {
      const std::string text = std::string(before, 'v') + "AdViSoRy" + std::string(after, 'y');
      REQUIRE(search.in(text));
      REQUIRE(search.in(std::string(before, ' ') + "SET_LOCKTAG_" + std::string(after, '_')));
    }
  }
  CHECK_FALSE(search.in(""));
  CHECK_FALSE(search.in("advisor"));
  CHECK_FALSE(search.in(std::string(1000, 'v') + "advisor_"));
  CHECK_FALSE(search.in(std::string(100, ' ') + "pg\x7flocks" + std::string(100, ' ')));
  CHECK_FALSE(search.in("adviso ry pg-locks"));
}

TEST_CASE("names are found as whole identifiers only") {
  const std::vector<std::string> names{"take_lock", "Shop$lock", "x", "take_lock", "übung"};
  const NameSearch search(names);
  CHECK(search.in("perform TAKE_LOCK(1)"));
  CHECK(search.found("call \"shop$lock\"(x)") == std::vector<std::size_t>{1, 2});
  CHECK(search.found("take_lock") == std::vector<std::size_t>{0, 3});
  CHECK(search.found("übung") == std::vector<std::size_t>{4});
  CHECK_FALSE(search.in("take_locks untake_lock take_loc 1x"));
  CHECK_FALSE(NameSearch({}).in("anything"));
}

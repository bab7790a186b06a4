// PostgreSQL's hash functions: every value here was printed by a PostgreSQL server (hash_values.tsv and hash_integers.tsv by 15).
#include "program/hash.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "program/keys.h"

using namespace pglocklint;

namespace {

// Lines of a data file beside this test, split at tabs; comment lines left out.
std::vector<std::vector<std::string>> measured(const std::string& name) {
  std::ifstream in(std::string(PGLOCKLINT_SOURCE_DIR) + "/tests/unit/program/" + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> cells(1);
    for (const char c : line)
      if (c == '\t')
        cells.emplace_back();
      else
        cells.back() += c;
    rows.push_back(cells);
  }
  return rows;
}

std::string fromHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

TEST_CASE("hashtext and hashtextextended give the documented example values") {
  CHECK(hashtext("user:42") == -1579110294);
  CHECK(hashtext("") == -1477818771);
  CHECK(hashtext("jobs") == -1679774495);
  CHECK(hashtext("ab") == 1718550461);
  CHECK(hashtext("ab   ") == -914234571);
  CHECK(hashtext("AB") == 1868615494);
  CHECK(hashtext("42") == 1865074622);
  CHECK(hashtextextended("user:42", 0) == 8169282796211187818);
  CHECK(hashtextextended("user:42", 1) == -6301572480564949615);
}

TEST_CASE("real hashtext collisions are found") {
  CHECK(hashtext("user:70606") == -656838246);
  CHECK(hashtext("user:156495") == -656838246);
  CHECK(hashtext("user:96734") == hashtext("user:165161"));
  CHECK(hashtext("abqr") == 697240953);
  CHECK(hashtext("dors") == 697240953);
  CHECK(hashtext("bfku") == hashtext("jvzx"));
}

TEST_CASE("hashint8 hashes like hashint4 and folds its halves") {
  CHECK(hashint4(42) == 1509752520);
  CHECK(hashint8(42) == 1509752520);
  CHECK(hashint8(1) == hashint8(4294967296));
  CHECK(hashint8(1) != hashint8(-2));
  CHECK(hashint8(2) != hashint8(4294967297));
}

TEST_CASE("texts of every length and in every script hash as on the server") {
  const auto rows = measured("hash_values.tsv");
  REQUIRE(rows.size() == 200);
  for (const auto& row : rows) {
    REQUIRE(row.size() == 6);
    const std::string text = fromHex(row[0]);
    CAPTURE(text);
    CHECK(std::to_string(hashtext(text)) == row[1]);
    CHECK(std::to_string(hashtextextended(text, 0)) == row[2]);
    CHECK(std::to_string(hashtextextended(text, 1)) == row[3]);
    CHECK(std::to_string(hashtextextended(text, -7000000001)) == row[4]);
    CHECK(md5Hex(text) == row[5]);
  }
}

TEST_CASE("integers hash as on the server") {
  const auto rows = measured("hash_integers.tsv");
  REQUIRE(rows.size() == 43);
  for (const auto& row : rows) {
    const std::int64_t v = std::stoll(row[0]);
    CAPTURE(v);
    CHECK(std::to_string(hashint8(v)) == row[1]);
    CHECK(std::to_string(hashint8extended(v, 0)) == row[2]);
    CHECK(std::to_string(hashint8extended(v, 77)) == row[3]);
    CHECK(std::to_string(hashint4(static_cast<std::int32_t>(v % 2147483647))) == row[4]);
  }
}

TEST_CASE("md5 is md5") {
  CHECK(md5Hex("") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(md5Hex("k") == "8ce4b16b22b58894aa86c421e8759df3");
}

// Key collisions: the figures that the rules quote, and pairs of texts that do collide, found and met on live servers.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "oracle/servers.h"
#include "oracle/session.h"
#include "support/process.h"

using namespace pglocklint::oracle;
namespace test = pglocklint::test;

namespace {

// The chance that among n keys of that many bits, drawn at random, two are the same (birthday problem). expm1: the small ones matter.
double collisionChance(double keys, int bits) {
  // 1 - product(1 - i / 2^bits), in logarithms; the sum of i + i^2 / 2^(bits+1) is enough where keys are far fewer than 2^bits.
  const double space = std::ldexp(1.0, bits);
  const double pairs = keys * (keys - 1) / 2;
  const double squares = (keys - 1) * keys * (2 * keys - 1) / 6;
  return -std::expm1(-(pairs / space + squares / (2 * space * space)));
}

// The number of keys at which the chance reaches a half.
double keysForHalf(int bits) {
  double low = 1, high = std::ldexp(1.0, bits);
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (collisionChance(middle, bits) < 0.5 ? low : high) = middle;
  }
  return high;
}

// Two sessions, a key each: does the second wait for the first, and go on when that ends?
bool blocks(const TestServer& server, const std::string& first, const std::string& second) {
  Session one(server.conninfo()), two(server.conninfo()), observer(server.conninfo());
  one.must("BEGIN");
  one.must("SELECT pg_advisory_xact_lock(" + first + ")");
  two.must("BEGIN");
  two.send("SELECT pg_advisory_xact_lock(" + second + ")");
  const bool waits = two.settled(observer) == Session::Settled::Waits;
  one.must("COMMIT");
  CHECK(two.settled(observer) == Session::Settled::Ended);
  CHECK(two.finish().ok());
  return waits;
}

}  // namespace

TEST_CASE("the figures that the rules quote are right") {
  // The exact product, to check the approximation against where it is affordable.
  double unequal = 1;
  for (int i = 1; i < 77163; ++i) unequal *= 1 - i / std::ldexp(1.0, 32);
  CHECK(collisionChance(77163, 32) == doctest::Approx(1 - unequal).epsilon(1e-6));

  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "key.sql") << "SELECT pg_advisory_xact_lock(hashtext('x' || current_user));\nSELECT 1;\n";
  const std::string message = test::run({PGLOCKLINT_BIN, "check", "--no-cache", "--fail-on", "never", "--format", "json", "key.sql"}, folder.path()).out;
  const std::string page = test::run({PGLOCKLINT_BIN, "rules", "--format", "markdown"}, "/").out;
  const auto says = [](const std::string& text, const char* words) { return text.find(words) != std::string::npos; };

  CHECK(says(message, "among 10,000 names two share a key with a probability of 1.2 %"));
  CHECK(std::round(collisionChance(10000, 32) * 1000) == 12);
  CHECK(says(message, "among 100,000 with 69 %"));
  CHECK(std::round(collisionChance(100000, 32) * 100) == 69);
  CHECK(says(page, "With 77,000 names the chance that two share a key is one half"));
  CHECK(std::round(keysForHalf(32) / 1000) == 77);
  CHECK(says(page, "among a million names, one chance in 37 million that two share a key"));
  CHECK(std::round(1 / collisionChance(1e6, 64) / 1e6) == 37);
}

TEST_CASE("as many texts collide as the figures say, and the server's own hash says which") {
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    Session session(server->conninfo());
    // 200,000 texts: n^2 / 2^33 = 4.66 pairs are expected; fewer than 1 or more than 13 have a chance below 1 in 100 and 1 in 1,000.
    const Result pairs = session.must(
        "SELECT min(t), max(t), min(h) FROM (SELECT 'user:' || n AS t, hashtext('user:' || n) AS h FROM generate_series(0, 199999) AS n) AS x"
        " GROUP BY h HAVING count(*) > 1 ORDER BY 3");
    CHECK(pairs.rows.size() >= 1);
    CHECK(pairs.rows.size() <= 13);
    bool known = false;
    for (const auto& row : pairs.rows) {
      known |= (row[0] == "user:70606" && row[1] == "user:156495") || (row[0] == "user:156495" && row[1] == "user:70606");
      CHECK(session.must("SELECT hashtextextended('" + *row[0] + "', 0) <> hashtextextended('" + *row[1] + "', 0)").value() == "t");
    }
    CHECK_MESSAGE(known, "fixtures/key-collision/bad_hash.sql names a pair that is none");
  }
}

TEST_CASE("two sessions whose texts collide block each other, and with 64 bits they do not") {
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    CHECK(blocks(*server, "hashtext('user:70606')", "hashtext('user:156495')"));
    CHECK(blocks(*server, "31, hashtext('user:70606')", "31, hashtext('user:156495')"));
    CHECK(!blocks(*server, "hashtextextended('user:70606', 0)", "hashtextextended('user:156495', 0)"));
    CHECK(!blocks(*server, "31, hashtext('user:70606')", "32, hashtext('user:156495')"));
    CHECK(!blocks(*server, "hashtext('user:70606')", "hashtext('user:70607')"));
    CHECK(blocks(*server, "12, hashint8(1)", "12, hashint8(4294967296)"));  // fixtures/key-collision/bad_folded.sql
    CHECK(blocks(*server, "17", "17"));                                      // bad_row_ids.sql: orders 17, customer 17
  }
}

TEST_CASE("pglocklint names the pair that blocks, and is silent for the pair that does not") {
  const test::TemporaryFolder folder;
  const auto findings = [&](const std::string& hash, const char* tail) {
    std::ofstream(folder.path() / "keys.sql") << "BEGIN;\nSELECT pg_advisory_xact_lock(" << hash << "('user:70606'" << tail << "));\nCOMMIT;\n"
                                              << "BEGIN;\nSELECT pg_advisory_xact_lock(" << hash << "('user:156495'" << tail << "));\nCOMMIT;\n";
    return test::run({PGLOCKLINT_BIN, "check", "--no-cache", "--format", "json", "--fail-on", "never", "keys.sql"}, folder.path()).out;
  };
  CHECK(findings("hashtext", "").find("\"key-collision\"") != std::string::npos);
  CHECK(findings("hashtextextended", ", 0").find("\"key-collision\"") == std::string::npos);
}

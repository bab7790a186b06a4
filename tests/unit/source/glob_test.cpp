// Patterns of the configuration.
#include "source/glob.h"

#include <doctest/doctest.h>

#include <string>

using pglocklint::globMatches;

TEST_CASE("a pattern without a slash matches the name anywhere") {
  CHECK(globMatches("*.sql", "db/a/x.sql"));
  CHECK(globMatches("V?__*.sql", "db/V1__x.sql"));
  CHECK_FALSE(globMatches("*.sql", "db/x.sql.bak"));
}

TEST_CASE("a star stays within a folder, two stars cross folders") {
  CHECK(globMatches("db/*.sql", "db/x.sql"));
  CHECK_FALSE(globMatches("db/*.sql", "db/a/x.sql"));
  CHECK(globMatches("db/**/*.sql", "db/x.sql"));
  CHECK(globMatches("db/**/*.sql", "db/a/b/x.sql"));
  CHECK(globMatches("**/ops/*", "ops/a.sql"));
  CHECK(globMatches("**/ops/*", "x/y/ops/a.sql"));
  CHECK_FALSE(globMatches("**/ops/*", "x/tops/a.sql"));
  CHECK(globMatches("db/", "db/a/b.sql"));
  CHECK(globMatches("./db/**", "db/a/b.sql"));
  CHECK_FALSE(globMatches("db/**", "dbx/a.sql"));
}

TEST_CASE("sets, and bytes that mean themselves") {
  CHECK(globMatches("[a-c]x[!0-9].sql", "bxz.sql"));
  CHECK_FALSE(globMatches("[a-c]x[!0-9].sql", "bx1.sql"));
  CHECK(globMatches("[]]x", "]x"));
  CHECK(globMatches("a[b", "a[b"));
  CHECK(globMatches("a\\*", "a*"));
  CHECK_FALSE(globMatches("a\\*", "ab"));
  CHECK_FALSE(globMatches("a[!x]b/c", "a/b/c"));
}

TEST_CASE("a hostile pattern ends") {
  std::string pattern, path(200, 'a');
  for (int i = 0; i < 60; ++i) pattern += "*a";
  CHECK_FALSE(globMatches(pattern + "b", path));
  CHECK(globMatches("", ""));
  CHECK(globMatches("**", ""));
  CHECK_FALSE(globMatches("[", ""));
}

// The tests that hold pglocklint's claims against PostgreSQL. They know the analyzer only through its program and its JSON: libpq and
// libpg_query define the same names and cannot meet in one executable.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "oracle/servers.h"

int main(int count, char** words) {
  if (const int status = pglocklint::oracle::statusWithoutServers()) return status;
  return doctest::Context(count, words).run();
}

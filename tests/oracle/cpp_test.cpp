// C++ fixtures, compiled with libpqxx and run: the locks that they leave are counted in pg_locks. What the analyzer says of C++ can be held
// against this as rules learn to read it.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "oracle/servers.h"
#include "support/process.h"

using namespace pglocklint::oracle;
namespace test = pglocklint::test;
namespace fs = std::filesystem;

namespace {

const fs::path kSamples = fs::path(PGLOCKLINT_SOURCE_DIR) / "tests/oracle/cpp";

// The program that runs the entries of the fixture; empty if it does not compile.
fs::path compiled(const fs::path& fixture, const std::vector<std::string>& entries, const fs::path& folder) {
  const fs::path program = folder / fixture.stem();
  std::string list;
  for (const std::string& entry : entries) list += "{\"" + entry + "\", " + entry + "},";
  const test::Outcome done = test::run({CXX_COMPILER, "-std=c++17", "-w", "-DFIXTURE=\"" + fixture.string() + "\"", "-DENTRIES=" + list,
                                        (kSamples / "driver.cpp").string(), "-o", program.string(), "-lpqxx", "-lpq"}, folder);
  CHECK_MESSAGE(done.status == 0, done.err);
  return done.status == 0 ? program : fs::path();
}

}  // namespace

TEST_CASE("a C++ fixture is compiled and run, and the locks it leaves are counted") {
  const test::TemporaryFolder folder;
  const struct {
    const char* entry;
    const char* output;
  } kRuns[] = {{"renumber", "threw\n1 locks\n"}, {"renumber_guarded", "threw\n0 locks\n"}, {"renumber_in_transaction", "threw\n0 locks\n"}};
  std::vector<std::string> entries;
  for (const auto& run : kRuns) entries.push_back(run.entry);
  const fs::path program = compiled(kSamples / "renumber.cpp", entries, folder.path());
  REQUIRE(!program.empty());
  for (const auto& run : kRuns)
    for (const auto& server : testServers()) {
      CAPTURE(server->program().version);
      CAPTURE(run.entry);
      CHECK(test::run({program.string(), server->conninfo(), run.entry}, folder.path()).out == run.output);
    }
}

// Shapes of control flow between a lock and its release: what each file of shapes/ announces is reported, and nothing else.
#include <doctest/doctest.h>

#include "support/check.h"

namespace fs = std::filesystem;
using namespace pglocklint::test;

TEST_CASE("shapes of control flow") {
  const fs::path folder = fs::path(PGLOCKLINT_SOURCE_DIR) / "tests/cpp/shapes";
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const CheckRun run = check(folder, {name});
    for (const std::string& difference : differences(annotationsOf(entry.path()), run.findings)) FAIL_CHECK(difference);
    CHECK_MESSAGE(run.report.at("coverage").at("units").empty(), name, ": ", run.report.at("coverage").dump());
    ++files;
  }
  CHECK(files >= 9);
}

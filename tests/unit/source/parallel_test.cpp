// Work on several threads.
#include "source/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/facts_json.h"

using namespace pglocklint;

namespace {
int deep(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? frame[0] : deep(depth - 1) + frame[0] * 0 + 1;
}
}  // namespace

TEST_CASE("every index is worked on once, at any number of threads") {
  for (const unsigned threads : {0u, 1u, 2u, 16u}) {
    std::vector<std::atomic<int>> calls(500);
    parallelFor(calls.size(), threads, 0, [&](std::size_t i) { ++calls[i]; });
    for (const auto& c : calls) REQUIRE(c == 1);
  }
  parallelFor(0, 4, 0, [](std::size_t) { FAIL("no work"); });
}

TEST_CASE("the stack is as large as asked for") {
  int reached = 0;
  parallelFor(1, 1, kLargeStack, [&](std::size_t) { reached = deep(100000); });  // more than 100 MB of frames
  CHECK(reached == 100000);
}

TEST_CASE("facts nested without end are refused on such a stack, not followed") {
  std::string text = R"({"schema":"pglocklint/facts/1","functions":[{"parameters":[{"default":[)";
  for (int i = 0; i < 20000; ++i) text += R"({"args":[)";
  for (int i = 0; i < 20000; ++i) text += "]}";
  text += "]}]}]}";
  std::string error;
  parallelFor(1, 1, kLargeStack, [&](std::size_t) { CHECK_FALSE(factsFromJson(text, error).has_value()); });
  CHECK(error.find("nested too deeply") != std::string::npos);
}

TEST_CASE("the first failure by index is thrown, the others still run") {
  std::atomic<int> calls = 0;
  const auto work = [&](std::size_t i) {
    ++calls;
    if (i == 7 || i == 30) throw std::runtime_error("failed at " + std::to_string(i));
  };
  CHECK_THROWS_WITH(parallelFor(50, 4, 0, work), "failed at 7");
  CHECK(calls == 50);
}

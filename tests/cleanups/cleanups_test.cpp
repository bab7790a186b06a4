// Our cleanup lists against the landing pads of clang's own code, call for call and in order: on shapes, and on functions of the libraries' headers,
// which nobody here wrote. Where they differ, the difference is written down with its reason.
#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "landing_pads.h"

using namespace pglocklint::test;

namespace {

struct Known {
  std::string_view function, callee;  // how they begin
  std::string_view why;
};

const std::vector<Known> kDifferent = {
    {"logicalOr(bool)", "ask()", "in (a || b(temporary)) || c the temporary is there for certain while c runs; ours says perhaps"},
    {"", "Task::promise_type::promise_type()", "memory of the coroutine's frame"},
    {"", "Task::promise_type::get_return_object()", "memory of the coroutine's frame"},
    {"", "Task::promise_type::unhandled_exception()", "an exception of it ends in code that takes the frame apart"},
};

// Calls that the compiler makes by itself: no expression stands for them.
const char* unwritten(const Comparison::Difference& d) {
  const std::string_view callee = d.callee, function = d.function;
  if (callee == "__cxa_end_catch") return "the end of a handler";
  if (callee.find("::~") != std::string_view::npos) return "the end of an object, which may throw in these examples";
  if (callee == "release(int*)") return "__attribute__((cleanup))";
  if (callee.starts_with("llvm.coro.await.suspend")) return "a wrapper around await_suspend()";
  if (d.code == "nothing" && callee == "operator new(unsigned long)") return "memory of the coroutine's frame";
  if (function.ends_with("::__invoke()")) return "the function that a closure without captures converts to";
  return nullptr;
}

Comparison compare(const std::string& name) {
  std::string error;
  Comparison c = compareLandingPads(std::string(PGLOCKLINT_SOURCE_DIR) + "/tests/cleanups/" + name, {"-std=c++20"}, error);
  REQUIRE_MESSAGE(error.empty(), error);
  for (const Comparison::Difference& d : c.unseen)
    CHECK_MESSAGE(unwritten(d) != nullptr, d.function, " line ", d.line, ": ", d.callee, " is no place in the tree; the code: ", d.code);
  return c;
}

}  // namespace

TEST_CASE("shapes: exceptions go where the landing pads say") {
  const Comparison c = compare("shapes.cpp");
  std::vector<bool> seen(kDifferent.size());
  for (const Comparison::Difference& d : c.different) {
    const auto known = std::ranges::find_if(kDifferent, [&](const Known& k) { return d.function.starts_with(k.function) && d.callee == k.callee; });
    CHECK_MESSAGE(known != kDifferent.end(), d.function, " line ", d.line, ": ", d.callee, "\n  the tree: ", d.tree, "\n  the code: ", d.code);
    if (known != kDifferent.end()) seen[static_cast<std::size_t>(known - kDifferent.begin())] = true;
  }
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK_MESSAGE(seen[i], kDifferent[i].callee, " is now right: take it off the list");
  CHECK(c.equal > 700);
}

TEST_CASE("functions of headers: exceptions go where the landing pads say") {
  const Comparison c = compare("libraries.cpp");
  for (const Comparison::Difference& d : c.different) FAIL_CHECK(d.function, " line ", d.line, ": ", d.callee, "\n  the tree: ", d.tree, "\n  the code: ", d.code);
  CHECK(c.equal > 1000);
}

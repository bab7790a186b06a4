// Where exceptions go, told twice of one source: by our walk of clang's tree (clang-plugin/cleanups.h), and by the landing pads of the code that
// clang generates without optimisation.
#pragma once
#include <string>
#include <vector>

namespace pglocklint::test {

// One step on the way of an exception: an object that ends, a handler, something that the compiler's run-time library does.
struct Step {
  std::string what;    // demangled: "Guard::~Guard()", "typeinfo for std::exception", "catch ...", "terminate"
  std::string object;  // its variable, where it has one
  bool maybe = false;  // only if the operand that made it was evaluated
};

// A call that may throw.
struct CallSite {
  std::string callee;  // demangled; "?" through a pointer
  unsigned line = 0, column = 0;
  bool looked_up = false;  // virtual: the code calls through a pointer, or it knows better
  std::vector<Step> steps;
};

struct Comparison {
  struct Difference {
    std::string function, callee;
    unsigned line = 0;
    std::string tree, code;
  };
  int equal = 0;                      // calls whose lists are the same; calls of the tree that do not throw in the code do not count
  std::vector<Difference> different;  // lists that differ
  std::vector<Difference> unseen;     // calls of the code that the tree has no place for
};

// Compiles a file with these flags and compares; `error` says what went wrong.
Comparison compareLandingPads(const std::string& file, const std::vector<std::string>& flags, std::string& error);

}  // namespace pglocklint::test

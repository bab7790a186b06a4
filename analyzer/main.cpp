// pglocklint: reads a project's SQL and says which PostgreSQL advisory locks it takes, and where that goes wrong.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "sql/pg_parse.h"

// Read by jemalloc when it starts (its manual, "TUNING"). Huge pages: a run touches most of its memory once, and that is what pages of
// 4 kB cost. One arena for all threads: what one has freed serves the other; their caches keep them apart.
extern "C" {
const char* malloc_conf = "thp:always,metadata_thp:always,narenas:1";
}

namespace {

struct Run {
  std::vector<std::string> arguments;
  int status = pglocklint::kFailed;
};

// The last line of defence: an error here is a bug, but it still ends in one line and the documented status.
void runGuarded(void* argument) {
  Run& run = *static_cast<Run*>(argument);
  try {
    run.status = pglocklint::runCommandLine(run.arguments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "pglocklint: internal error: %s\n", e.what());
    run.status = pglocklint::kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Run run{std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc)};
  // Facts nest as deeply as the SQL they describe, and are walked by recursion.
  pglocklint::sql::runOnLargeStack(runGuarded, &run);
  return run.status;
}

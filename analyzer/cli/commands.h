// The subcommands. Each writes its report and returns the exit status: 0 nothing to report, 1 findings, 2 it could not be done.
#pragma once
#include <string>
#include <vector>

#include "cli/options.h"

namespace pglocklint {

inline constexpr int kNothing = 0, kFindings = 1, kFailed = 2;

int check(const CheckOptions& options);
int listRules(const RulesOptions& options);
int explain(const ExplainOptions& options);
int listKeys(const KeysOptions& options);
int printFacts(const FactsOptions& options);
int printConfigSchema();

// Parses the arguments (without the program's name) and runs what they ask for.
int runCommandLine(const std::vector<std::string>& arguments);

}  // namespace pglocklint

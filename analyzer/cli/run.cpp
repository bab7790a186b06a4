#include "cli/commands.h"
#include "cli/config.h"
#include "cli/terminal.h"

namespace pglocklint {
namespace {

struct RunCommand {
  int operator()(const NothingToRun& n) const {
    if (!n.error.empty()) {
      complain(n.error);
      return kFailed;
    }
    return writeOutput(n.output, "").empty() ? kNothing : kFailed;
  }
  int operator()(const CheckOptions& o) const { return check(o); }
  int operator()(const RulesOptions& o) const { return listRules(o); }
  int operator()(const ExplainOptions& o) const { return explain(o); }
  int operator()(const KeysOptions& o) const { return listKeys(o); }
  int operator()(const FactsOptions& o) const { return printFacts(o); }
  int operator()(const ConfigSchemaOptions&) const { return printConfigSchema(); }
};

}  // namespace

int printConfigSchema() { return writeOutput(configSchema(), "").empty() ? kNothing : kFailed; }

int runCommandLine(const std::vector<std::string>& arguments) { return std::visit(RunCommand{}, parseCommandLine(arguments)); }

}  // namespace pglocklint

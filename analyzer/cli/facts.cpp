#include "cli/commands.h"
#include "cli/project.h"
#include "cli/terminal.h"
#include "model/facts_json.h"

namespace pglocklint {

// One unit is an object, several are an array: --facts reads both.
int printFacts(const FactsOptions& options) {
  Progress progress("reading files");
  const Project project = openProject(options.read);
  if (!project.error.empty()) {
    complain(project.error);
    return kFailed;
  }
  const std::vector<Unit>& units = project.facts.units;
  std::string text;
  for (const Unit& unit : units) text += (text.empty() ? "" : ",\n") + factsToJson(unit, 2);
  if (units.size() != 1) text = "[" + text + "]";
  const std::string wrong = writeOutput(text + "\n", options.output);
  if (!wrong.empty()) complain(wrong);
  return wrong.empty() ? kNothing : kFailed;
}

}  // namespace pglocklint

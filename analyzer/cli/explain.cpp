#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "report/rules_text.h"
#include "report/suggest.h"

namespace pglocklint {

int explain(const ExplainOptions& options) {
  const Rule* rule = findRule(options.rule);
  if (rule == nullptr) {
    complain(fmt::format("there is no rule \"{}\"{} (pglocklint rules lists them)", options.rule, ruleSuggestion(options.rule)));
    return kFailed;
  }
  const std::string wrong = writeOutput(explainRule(rule->info, wantsColor(options.color, false), outputWidth(false)), "");
  if (!wrong.empty()) complain(wrong);
  return wrong.empty() ? kNothing : kFailed;
}

}  // namespace pglocklint

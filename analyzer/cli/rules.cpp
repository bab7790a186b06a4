#include "cli/commands.h"
#include "cli/terminal.h"
#include "report/rules_text.h"

namespace pglocklint {

int listRules(const RulesOptions& options) {
  std::string text;
  switch (options.format) {
    case ListFormat::Text: text = rulesTable(allRules(), wantsColor(options.color, false)); break;
    case ListFormat::Json: text = rulesJson(allRules()); break;
    case ListFormat::Markdown: text = rulesMarkdown(allRules()); break;
  }
  const std::string wrong = writeOutput(text, "");
  if (!wrong.empty()) complain(wrong);
  return wrong.empty() ? kNothing : kFailed;
}

}  // namespace pglocklint

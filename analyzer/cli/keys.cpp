#include "cli/commands.h"
#include "cli/project.h"
#include "cli/terminal.h"
#include "program/program.h"
#include "report/keys_report.h"

namespace pglocklint {

int listKeys(const KeysOptions& options) {
  Progress progress("reading files");
  Project project = openProject(options.read);
  if (!project.error.empty()) {
    complain(project.error);
    return kFailed;
  }
  const Program program = link(std::move(project.facts.units));
  const std::vector<KeyEntry> keys = keysOf(program);
  std::string text;
  switch (options.format) {
    case ListFormat::Text: text = keysText(keys); break;
    case ListFormat::Json: text = keysJson(keys); break;
    case ListFormat::Markdown: text = keysMarkdown(keys); break;
  }
  const std::string wrong = writeOutput(text, options.output);
  if (!wrong.empty()) complain(wrong);
  return wrong.empty() ? kNothing : kFailed;
}

}  // namespace pglocklint

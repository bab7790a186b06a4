#include "cli/read_shell.h"

#include <algorithm>

#include "shell/front_end.h"
#include "source/parallel.h"

namespace pglocklint {

namespace {

bool hasEnding(const std::string& path) { return path.find('.', path.rfind('/') + 1) != std::string::npos; }

}  // namespace

ShellReading readShellScripts(const std::vector<std::string>& paths, const std::function<FileText(const std::string&)>& read, unsigned threads) {
  std::vector<shell::ShellFacts> facts(paths.size());
  std::vector<std::string> errors(paths.size());
  const auto exists = [&](const std::string& path) { return read(path).error.empty(); };
  parallelFor(paths.size(), threads, kLargeStack, [&](std::size_t i) {
    FileText file = read(paths[i]);
    errors[i] = std::move(file.error);
    if (errors[i].empty() && shell::mentionsPsql(file.text) && (hasEnding(paths[i]) || shell::isShellText(file.text)))
      facts[i] = shell::readShell(paths[i], file.text, exists);
  });
  ShellReading reading;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!errors[i].empty()) reading.unread[paths[i]] = errors[i];
    if (facts[i].unit.files.empty()) continue;
    for (const shell::SqlFileRun& run : facts[i].runs) {
      const auto [known, first] = reading.runs.try_emplace(run.path, run);
      if (!first && known->second.mode != run.mode) known->second.mode = TransactionMode::Unknown;
      known->second.fresh_session &= run.fresh_session;
      if (!first)
        std::erase_if(known->second.variables, [&](const auto& v) { return std::find(run.variables.begin(), run.variables.end(), v) == run.variables.end(); });
    }
    reading.units.push_back(std::move(facts[i].unit));
  }
  return reading;
}

void applyRuns(const std::map<std::string, shell::SqlFileRun>& runs, Unit& unit) {
  const auto run = runs.find(unit.path());
  if (run == runs.end()) return;
  if (!unit.functions.empty())
    for (const auto& [name, value] : run->second.variables) {
      Variable v;
      v.name = ":" + name;
      Expr& text = v.initial.emplace_back();
      text.kind = ExprKind::Const, text.literal = LiteralKind::String, text.text = value;
      List<Variable>& known = unit.functions[0].variables;
      if (std::none_of(known.begin(), known.end(), [&](const Variable& x) { return x.name == v.name; })) known.push_back(std::move(v));
    }
  RunnerFacts& runner = unit.runner;
  if (runner.profile.empty()) runner.profile = "psql";
  runner.fresh_session &= run->second.fresh_session;
  if (runner.profile == "psql") runner.transaction = run->second.mode;
  else if (runner.transaction != run->second.mode) runner.transaction = TransactionMode::Unknown;
}

}  // namespace pglocklint

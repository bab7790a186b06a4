#include "cli/read_shell.h"

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
      const auto [known, first] = reading.runs.try_emplace(run.path, run.mode);
      if (!first && known->second != run.mode) known->second = TransactionMode::Unknown;
    }
    reading.units.push_back(std::move(facts[i].unit));
  }
  return reading;
}

void applyRuns(const std::map<std::string, TransactionMode>& runs, Unit& unit) {
  const auto run = runs.find(unit.path());
  if (run == runs.end()) return;
  RunnerFacts& runner = unit.runner;
  if (runner.profile.empty()) runner.profile = "psql";
  if (runner.profile == "psql") runner.transaction = run->second;
  else if (runner.transaction != run->second) runner.transaction = TransactionMode::Unknown;
}

}  // namespace pglocklint

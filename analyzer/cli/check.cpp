#include "cli/check.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "cli/until_exit.h"
#include "program/program.h"
#include "report/json.h"
#include "report/sarif.h"
#include "report/suggest.h"
#include "report/text.h"
#include "source/parallel.h"
#include "sql/pg_parse.h"

namespace pglocklint {
namespace {

std::string formatted(const RunReport& run, const CheckOptions& o, SourceCache& sources) {
  switch (o.format) {
    case ReportFormat::Json: return jsonReport(run);
    case ReportFormat::Sarif: return sarifReport(run, allRules(), sources);
    case ReportFormat::Text: break;
  }
  const bool to_file = !o.output.empty();
  return textReport(run, {wantsColor(o.color, to_file), o.list_coverage, outputWidth(to_file)}, sources);
}

// The run cannot do what it was asked to: one line for people, and a report that says so for programs.
int fail(const CheckOptions& o, std::string why) {
  complain(why);
  if (o.format == ReportFormat::Text) return kFailed;
  RunReport run;
  run.grammar = sql::grammarVersion();
  run.error = std::move(why);
  SourceCache nothing(nullptr);
  if (const std::string wrong = writeOutput(formatted(run, o, nothing), o.output); !wrong.empty()) complain(wrong);
  return kFailed;
}

bool loadBaseline(const CheckOptions& o, SettleOptions& settle, std::string& error) {
  if (o.baseline.empty()) return true;
  std::string why;
  const auto text = readFile(o.baseline, why);
  if (text) settle.baseline = baselineFromJson(*text, why);
  if (!settle.baseline) error = fmt::format("cannot use the baseline {}: {}", o.baseline, why);
  return settle.baseline.has_value();
}

void addLimits(const CheckOptions& o, const ProjectFacts& facts, SettleOptions& settle) {
  if (o.read.staged) settle.only.push_back(facts.staged);
  if (o.report_only.empty()) return;
  std::vector<std::string> paths;
  for (const std::string& path : o.report_only) paths.push_back(relativeToRoot(path, facts.root));
  settle.only.push_back(std::move(paths));
}

int writeBaseline(const CheckOptions& o, const std::vector<Finding>& findings) {
  if (const std::string wrong = writeOutput(baselineToJson(findings), o.write_baseline); !wrong.empty()) return fail(o, wrong);
  const auto written = std::ranges::count(findings, false, &Finding::suppressed);
  const std::string line = fmt::format("{} written to the baseline {}\n", counted(static_cast<std::uint64_t>(written), "finding"), o.write_baseline);
  if (o.format == ReportFormat::Text && !writeOutput(line, o.output).empty()) return kFailed;
  return kNothing;
}

// What --strict-coverage objects to, or empty.
std::string incompleteness(const Coverage& c) {
  if (c.not_understood.empty() && c.units.empty()) return "";
  return fmt::format("--strict-coverage: {} not understood, {} not read in full (list: --coverage)", counted(c.not_understood.size(), "statement"),
                     counted(c.units.size(), "file"));
}

void addUnread(std::vector<UnitStatus> unread, Coverage& coverage) {
  for (UnitStatus& u : unread)
    if (std::ranges::none_of(coverage.units, [&](const UnitStatus& known) { return known.file == u.file; })) coverage.units.push_back(std::move(u));
  std::ranges::sort(coverage.units);
}

}  // namespace

int check(const CheckOptions& options) {
  std::string error;
  if (!settleOptions(options, {}, error)) return fail(options, error);  // a mistyped rule should not wait for the files
  Progress progress("reading files");
  const UntilExit<Project> opened([&] { return openProject(options.read); });          // discover, read facts
  Project& project = *opened;
  if (!project.error.empty()) return fail(options, project.error);
  auto settle_options = settleOptions(options, project.config, error);
  if (!settle_options || !loadBaseline(options, *settle_options, error)) return fail(options, error);
  addLimits(options, project.facts, *settle_options);

  progress.stage("analyzing");
  const auto in_parallel = [&](std::size_t n, const std::function<void(std::size_t)>& f) { parallelFor(n, options.read.threads, kLargeStack, f); };
  const UntilExit<Program> linked([&] { return link(std::move(project.facts.units), in_parallel); });  // link
  Program& program = *linked;
  program.poolers = std::move(project.facts.poolers);
  program.pooler_mode = project.config.pooler;
  for (const auto& [name, value] : project.config.timeouts)
    program.waits_end |= name != "idle_in_transaction_session_timeout" && value.find_first_of("123456789") != std::string::npos;
  SourceCache sources(project.facts.source);
  Settled settled = settle(applyRules(program, allRules(), in_parallel), program, allRules(), *settle_options, sources);  // rules, settle
  if (!options.write_baseline.empty()) return writeBaseline(options, settled.findings);

  RunReport run{sql::grammarVersion(), std::move(settled.findings), std::move(settled.coverage), settled.baselined, ""};
  run.coverage.files = project.facts.files;
  addUnread(std::move(project.facts.unread), run.coverage);
  if (options.strict_coverage) run.error = incompleteness(run.coverage);
  const int status = run.error.empty() ? exitStatus(run.findings, options.fail_on) : kFailed;
  if (!run.error.empty()) complain(run.error);
  const std::string wrong = writeOutput(formatted(run, options, sources), options.output);                   // report
  if (!wrong.empty()) complain(wrong);
  return wrong.empty() ? status : kFailed;
}

std::optional<SettleOptions> settleOptions(const CheckOptions& options, const Config& config, std::string& error) {
  SettleOptions settle;
  settle.severities = config.severities;
  settle.enabled.insert(config.enable.begin(), config.enable.end());
  settle.disabled.insert(config.disable.begin(), config.disable.end());
  settle.all = options.all;
  settle.include_suppressed = options.include_suppressed;
  const auto apply = [&](const std::vector<std::string>& names, std::string_view option, std::set<std::string>& into, std::set<std::string>& from) {
    for (const std::string& name : names) {
      const Rule* rule = findRule(name);
      if (rule == nullptr) {
        error = fmt::format("{} {}: there is no such rule{} (pglocklint rules lists them)", option, name, ruleSuggestion(name));
        return false;
      }
      from.erase(std::string(rule->info.name));
      into.insert(std::string(rule->info.name));
    }
    return true;
  };
  // --disable comes last: it wins over --enable, as with --all.
  if (!apply(options.enable, "--enable", settle.enabled, settle.disabled) || !apply(options.disable, "--disable", settle.disabled, settle.enabled))
    return std::nullopt;
  return settle;
}

int exitStatus(const std::vector<Finding>& findings, FailOn fail_on) {
  if (fail_on == FailOn::Never) return kNothing;
  const Severity least = fail_on == FailOn::Error ? Severity::Error : fail_on == FailOn::Warning ? Severity::Warning : Severity::Note;
  return std::ranges::any_of(findings, [&](const Finding& f) { return !f.suppressed && f.severity >= least; }) ? kFindings : kNothing;
}

}  // namespace pglocklint

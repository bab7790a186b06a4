#include "cli/options.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/suggest.h"

namespace pglocklint {
namespace {

// An option whose values are the names of an enum; another value is refused with the list of those there are.
template <class E>
CLI::Option* addChoice(CLI::App& app, const std::string& flags, E& target, const std::string& description) {
  const auto names = enumNames(EnumTag<E>{});
  return app
      .add_option_function<std::string>(
          flags,
          [&target, flags, names](const std::string& value) {
            const auto at = std::find(names.begin(), names.end(), value);
            if (at == names.end())
              throw CLI::ValidationError(fmt::format("{}: there is no \"{}\"; choose one of {}", flags, value, fmt::join(names, ", ")));
            target = static_cast<E>(at - names.begin());
          },
          description)
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

void addReading(CLI::App& app, ReadOptions& read) {
  app.add_option("PATH", read.paths, "files and folders that make up the program (default: the working directory)")->type_name("");
  app.add_option("--config", read.config_file, "configuration file (default: pglocklint.json in a folder above the first path)")->type_name("FILE");
  app.add_option("--stdin-path", read.stdin_path, "analyze standard input as if it were this file")->type_name("NAME");
  app.add_option("--facts", read.facts_folder, "also link the facts in this folder's .json files (written by pglocklint facts or pglocklint-clang)")->type_name("DIR");
  app.add_option("--objects", read.objects, "also link the facts in these objects, archives, libraries, executables or folders (compiled with the plugin; repeatable)")
      ->type_name("PATH")->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-p", read.build_folder, "folder with the compile_commands.json of the C++ files (default: looked for)")->type_name("DIR");
  app.add_option("-j,--jobs", read.threads, "threads (default: one a processor)")->type_name("N");
  app.add_flag("--staged", read.staged, "read the index of the git repository, and show what concerns staged files");
}

void addCheck(CLI::App& app, CheckOptions& o, bool& no_cache) {
  addReading(app, o.read);
  addChoice(app, "--format", o.format, "of the report");
  app.add_option("-o,--output", o.output, "write the report to this file")->type_name("FILE");
  addChoice(app, "--fail-on", o.fail_on, "exit with 1 from this severity on (default: warning)");
  auto* baseline = app.add_option("--baseline", o.baseline, "withhold the findings listed in this file")->type_name("FILE");
  app.add_option("--write-baseline", o.write_baseline, "list today's findings in this file and exit with 0")->type_name("FILE")->excludes(baseline);
  app.add_option("--report-only", o.report_only, "show only findings that touch this file or folder (repeatable)")
      ->type_name("PATH")->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--enable", o.enable, "switch a rule and its notes on (repeatable)")
      ->type_name("RULE")->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--disable", o.disable, "switch a rule off (repeatable)")
      ->type_name("RULE")->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--all", o.all, "switch all rules and notes on");
  app.add_flag("--no-cache", no_cache, "read every file anew");
  app.add_flag("--coverage", o.list_coverage, "list what was not understood");
  app.add_flag("--strict-coverage", o.strict_coverage, "exit with 2 if something was not understood");
  app.add_flag("--include-suppressed", o.include_suppressed, "show suppressed findings too, marked as such");
  addChoice(app, "--color", o.color, "colours (default: auto, for a terminal)");
}

// CLI11's own messages name neither the subcommand nor a way on.
std::string wrongCommandLine(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  const auto used = app.get_subcommands();
  if (used.empty() && !arguments.empty() && arguments.front().front() != '-') {
    static constexpr std::string_view kCommands[] = {"check", "rules", "explain", "keys", "facts"};
    const std::string_view nearest = nearestName(arguments.front(), kCommands);
    text = fmt::format("there is no command \"{}\"{}", arguments.front(), nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  return fmt::format("{} (see pglocklint{} --help)", text, used.empty() ? "" : " " + used.front()->get_name());
}

}  // namespace

Command parseCommandLine(const std::vector<std::string>& arguments) {
  CLI::App app("Finds where PostgreSQL advisory locks go wrong.", "pglocklint");
  app.set_version_flag("--version", std::string("pglocklint ") + PGLOCKLINT_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);

  CheckOptions check;
  RulesOptions rules;
  ExplainOptions explain;
  KeysOptions keys;
  FactsOptions facts;
  bool no_cache = false;  // every file is read anew as it is

  CLI::App& check_app = *app.add_subcommand("check", "analyze a program and report what goes wrong");
  addCheck(check_app, check, no_cache);
  CLI::App& rules_app = *app.add_subcommand("rules", "list the rules");
  addChoice(rules_app, "--format", rules.format, "of the list");
  addChoice(rules_app, "--color", rules.color, "colours (default: auto, for a terminal)");
  CLI::App& explain_app = *app.add_subcommand("explain", "say what a rule reports, why, and what to write instead");
  explain_app.add_option("RULE", explain.rule, "name or code")->required()->type_name("");
  addChoice(explain_app, "--color", explain.color, "colours (default: auto, for a terminal)");
  CLI::App& keys_app = *app.add_subcommand("keys", "list the lock keys of a program and where they are used");
  addReading(keys_app, keys.read);
  addChoice(keys_app, "--format", keys.format, "of the list");
  keys_app.add_option("-o,--output", keys.output, "write the list to this file")->type_name("FILE");
  CLI::App& facts_app = *app.add_subcommand("facts", "print as JSON what was read, file by file");
  addReading(facts_app, facts.read);
  facts_app.add_option("-o,--output", facts.output, "write the facts to this file")->type_name("FILE");
  facts_app.add_flag("--everything", facts.read.everything, "look into statements that concern no lock, too");
  CLI::App& schema_app = *app.add_subcommand("config-schema", "print the JSON schema of pglocklint.json")->group("");

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    const auto used = app.get_subcommands();
    return NothingToRun{used.empty() ? app.help() : used.front()->help(), ""};
  } catch (const CLI::CallForVersion& version) {
    return NothingToRun{std::string(version.what()) + "\n", ""};
  } catch (const CLI::ParseError& error) {
    return NothingToRun{"", wrongCommandLine(app, error, arguments)};
  }
  if (check_app.parsed()) return check;
  if (rules_app.parsed()) return rules;
  if (explain_app.parsed()) return explain;
  if (keys_app.parsed()) return keys;
  if (facts_app.parsed()) return facts;
  if (schema_app.parsed()) return ConfigSchemaOptions{};
  return NothingToRun{app.help(), ""};
}

}  // namespace pglocklint

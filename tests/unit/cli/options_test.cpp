// What the command line means.
#include <doctest/doctest.h>

#include "cli/check.h"
#include "cli/options.h"
#include "cli/project.h"
#include "model/facts_json.h"

using namespace pglocklint;

namespace {

CheckOptions checkOptions(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "check");
  const Command command = parseCommandLine(arguments);
  REQUIRE(std::holds_alternative<CheckOptions>(command));
  return std::get<CheckOptions>(command);
}

std::string errorOf(const std::vector<std::string>& arguments) {
  const Command command = parseCommandLine(arguments);
  REQUIRE(std::holds_alternative<NothingToRun>(command));
  return std::get<NothingToRun>(command).error;
}

SettleOptions settled(const CheckOptions& options, const Config& config) {
  std::string error;
  const auto settle = settleOptions(options, config, error);
  REQUIRE_MESSAGE(settle.has_value(), error);
  return *settle;
}

}  // namespace

TEST_CASE("options may stand before and after the paths, repeated ones add up") {
  const CheckOptions o = checkOptions({"db", "--format", "sarif", "-o", "out.sarif", "--enable", "magic-key", "ops", "--enable", "AL102", "--fail-on",
                                       "error", "--report-only", "db/a.sql", "--report-only", "ops", "-j", "3", "--all"});
  CHECK(o.read.paths == std::vector<std::string>{"db", "ops"});
  CHECK(o.format == ReportFormat::Sarif);
  CHECK(o.output == "out.sarif");
  CHECK(o.enable == std::vector<std::string>{"magic-key", "AL102"});
  CHECK(o.report_only == std::vector<std::string>{"db/a.sql", "ops"});
  CHECK(o.fail_on == FailOn::Error);
  CHECK(o.read.threads == 3);
  CHECK(o.all);
  CHECK_FALSE(o.strict_coverage);
}

TEST_CASE("what cannot be used is refused in one line") {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"check", "--format", "xml"}, {"check", "--no-such-option"}, {"chekc"}, {},
                                                                    {"explain"}, {"check", "-j", "many"}, {"check", "--baseline", "a", "--write-baseline", "b"}}) {
    const std::string error = errorOf(arguments);
    CHECK(error != "");
    CHECK(error.find('\n') == std::string::npos);
    CHECK(error.find("--help)") != std::string::npos);
  }
  CHECK(errorOf({"check", "--format", "xml"}).find("choose one of text, json, sarif") != std::string::npos);
  CHECK(errorOf({"chekc"}).find("did you mean check?") != std::string::npos);
}

TEST_CASE("help and version go to standard output") {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--help"}, {"check", "--help"}, {"--version"}}) {
    const Command command = parseCommandLine(arguments);
    REQUIRE(std::holds_alternative<NothingToRun>(command));
    CHECK(std::get<NothingToRun>(command).error == "");
    CHECK(std::get<NothingToRun>(command).output != "");
  }
}

TEST_CASE("the command line overrides the configuration, and --disable wins") {
  Config config;
  config.enable = {"mass-lock"};
  config.disable = {"lock-in-where"};
  auto settle = settled(checkOptions({"--enable", "lock-in-where", "--disable", "AL105"}), config);
  CHECK(settle.enabled == std::set<std::string>{"lock-in-where"});
  CHECK(settle.disabled == std::set<std::string>{"mass-lock"});
  settle = settled(checkOptions({"--enable", "mass-lock", "--disable", "mass-lock"}), {});
  CHECK(settle.enabled.empty());

  std::string error;
  CHECK_FALSE(settleOptions(checkOptions({"--disable", "mass-lok"}), {}, error).has_value());
  CHECK(error == "--disable mass-lok: there is no such rule; did you mean mass-lock? (pglocklint rules lists them)");
}

TEST_CASE("the exit status follows the most severe finding that is not suppressed") {
  Finding note, warning, suppressed_error;
  note.severity = Severity::Note, warning.severity = Severity::Warning;
  suppressed_error.severity = Severity::Error, suppressed_error.suppressed = true;
  CHECK(exitStatus({}, FailOn::Note) == kNothing);
  CHECK(exitStatus({note, suppressed_error}, FailOn::Warning) == kNothing);
  CHECK(exitStatus({note}, FailOn::Note) == kFindings);
  CHECK(exitStatus({warning}, FailOn::Warning) == kFindings);
  CHECK(exitStatus({warning}, FailOn::Error) == kNothing);
  CHECK(exitStatus({warning}, FailOn::Never) == kNothing);
}

TEST_CASE("facts are read as one unit or an array of them, and refused with a place") {
  Unit unit;
  unit.files = {"a.sql"};
  unit.functions.emplace_back();
  const std::string one = factsToJson(unit, 2);
  std::string error;
  CHECK(unitsFromJson(one, error) == std::vector<Unit>{unit});
  CHECK(unitsFromJson("[" + one + ",\n" + one + "]\n", error).size() == 2);
  CHECK(unitsFromJson("[]", error).empty());
  CHECK(error == "");

  unit.functions[0].range.file = 5;
  unitsFromJson("[" + one + "," + factsToJson(unit, -1) + "]", error);
  CHECK(error == "/1/functions/0/range: the range is in a file that the unit does not name");
  error.clear();
  unitsFromJson("[3]", error);
  CHECK(error.starts_with("/0/schema:"));
  error.clear();
  unitsFromJson("[", error);
  CHECK(error != "");
}

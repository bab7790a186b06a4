// The command line, parsed: one struct a subcommand.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/finding.h"

namespace pglocklint {

enum class ReportFormat { Text, Json, Sarif };
PGLOCKLINT_ENUM_NAMES(ReportFormat, "text", "json", "sarif")
enum class ListFormat { Text, Json, Markdown };
PGLOCKLINT_ENUM_NAMES(ListFormat, "text", "json", "markdown")
enum class FailOn { Error, Warning, Note, Never };
PGLOCKLINT_ENUM_NAMES(FailOn, "error", "warning", "note", "never")
enum class ColorWhen { Auto, Always, Never };
PGLOCKLINT_ENUM_NAMES(ColorWhen, "auto", "always", "never")

// What is read: shared by the subcommands that read a project.
struct ReadOptions {
  std::vector<std::string> paths;
  std::string config_file;   // --config
  std::string stdin_path;    // --stdin-path
  std::string facts_folder;  // --facts
  std::string build_folder;  // -p
  std::vector<std::string> objects;  // --objects
  unsigned threads = 0;      // -j
  bool staged = false;
  bool everything = false;
};

struct CheckOptions {
  ReadOptions read;
  ReportFormat format = ReportFormat::Text;
  std::string output;        // -o
  FailOn fail_on = FailOn::Warning;
  std::string baseline, write_baseline;
  std::vector<std::string> report_only, enable, disable;
  bool all = false, list_coverage = false, strict_coverage = false, include_suppressed = false;
  ColorWhen color = ColorWhen::Auto;
};

struct RulesOptions {
  ListFormat format = ListFormat::Text;
  ColorWhen color = ColorWhen::Auto;
};
struct ExplainOptions {
  std::string rule;
  ColorWhen color = ColorWhen::Auto;
};
struct KeysOptions {
  ReadOptions read;
  ListFormat format = ListFormat::Text;
  std::string output;
};
struct FactsOptions {
  ReadOptions read;
  std::string output;
};
struct ConfigSchemaOptions {};

// Nothing to run: help or version for standard output, or what is wrong with the command line.
struct NothingToRun {
  std::string output, error;
};

using Command = std::variant<NothingToRun, CheckOptions, RulesOptions, ExplainOptions, KeysOptions, FactsOptions, ConfigSchemaOptions>;

Command parseCommandLine(const std::vector<std::string>& arguments);  // without the program's name

}  // namespace pglocklint

// From what the rules found to what a run reports: one finding per fault, severities, suppression comments, baseline, limits.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/source_text.h"
#include "rules/rule.h"

namespace pglocklint {

// What a configuration may say about a rule in `severities`.
enum class RuleLevel { Off, Note, Warning, Error };
PGLOCKLINT_ENUM_NAMES(RuleLevel, "off", "note", "warning", "error")

struct SettleOptions {
  std::map<std::string, RuleLevel> severities;       // by rule name
  std::set<std::string> enabled, disabled;           // rule names; a rule is in one of them at most
  bool all = false;                                  // rules and notes that are off unless asked for
  bool include_suppressed = false;                   // keep suppressed findings, marked
  std::optional<std::set<std::string>> baseline;     // fingerprints of known findings, which are withheld
  // Show findings that touch one of these files or folders (relative to the root); of several limits, all hold.
  std::vector<std::vector<std::string>> only;
};

struct Settled {
  std::vector<Finding> findings;                     // in report order
  Coverage coverage;                                 // `files` is for the caller to fill in
  std::uint64_t baselined = 0;                       // findings that the baseline withheld
};

// All findings of all rules, whether they are on or not: settle() sorts them out.
std::vector<Finding> applyRules(const Program& program, std::span<const Rule> rules, const ForEach& for_each = oneAfterAnother);

Settled settle(std::vector<Finding> raw, const Program& program, std::span<const Rule> rules, const SettleOptions& options,
               SourceCache& sources);

// Steps of settle(), each a function of values.

// Withholds the right-hand side of each dominance whose left-hand side is about the same subject.
std::vector<Finding> withoutDominated(std::vector<Finding> findings, std::span<const Dominance> table);

// Baseline files.
std::string baselineToJson(std::span<const Finding> findings);
std::optional<std::set<std::string>> baselineFromJson(std::string_view text, std::string& error);

}  // namespace pglocklint

// The report for code scanning: SARIF 2.1.0.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "report/run_report.h"
#include "rules/rule.h"

namespace pglocklint {

std::string sarifReport(const RunReport& run, std::span<const Rule> rules, SourceCache& sources);

// "lock-before-limit" → "LockBeforeLimit"
std::string pascalCase(std::string_view rule_name);
// A relative file name as a URI reference.
std::string uriOf(std::string_view file);

}  // namespace pglocklint

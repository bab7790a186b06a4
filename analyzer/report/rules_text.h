// The rules in words: the table of `rules`, the page of `explain`, docs/rules.md, and the help that SARIF carries.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "rules/rule.h"

namespace pglocklint {

std::string rulesTable(std::span<const Rule> rules, bool color);
std::string rulesJson(std::span<const Rule> rules);
std::string rulesMarkdown(std::span<const Rule> rules);  // docs/rules.md
std::string explainRule(const RuleInfo& info, bool color, std::size_t width);

std::string ruleHelpText(const RuleInfo& info);
std::string ruleHelpMarkdown(const RuleInfo& info);
// Where the rule is described on the web: the project's pages where the build names them (PGLOCKLINT_DOCS_URL), else
// what PostgreSQL's manual says about advisory locks.
std::string ruleUri(std::string_view rule_name);
// With a capital letter and a full stop.
std::string sentence(std::string_view text);

}  // namespace pglocklint

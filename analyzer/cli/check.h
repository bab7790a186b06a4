// What `check` decides by itself: which rules run how, what the exit status is.
#pragma once
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/project.h"
#include "report/run_report.h"
#include "report/settle.h"

namespace pglocklint {

// Rule switches of the command line over those of the configuration; nullopt and the reason for a name that is no rule.
std::optional<SettleOptions> settleOptions(const CheckOptions& options, const Config& config, std::string& error);

// 1 if a finding that is not suppressed is at least as severe as asked for.
int exitStatus(const std::vector<Finding>& findings, FailOn fail_on);

}  // namespace pglocklint

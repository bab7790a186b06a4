// "did you mean …": the known name nearest to one that is not known, and rules by name or code.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace pglocklint {

// The nearest of `known`, or empty when none is near.
std::string_view nearestName(std::string_view name, std::span<const std::string_view> known);

// A rule by its name or its code (any case); null if there is none.
const Rule* findRule(std::string_view name_or_code);

// "; did you mean lock-before-limit?", or empty.
std::string ruleSuggestion(std::string_view name);

}  // namespace pglocklint

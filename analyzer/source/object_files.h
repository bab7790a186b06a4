// Object files, archives, shared libraries and executables, as far as facts are in them (model/facts_section.h).
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"

namespace pglocklint {

// Reads the facts section of everything under `path`: one file, or all object files of a folder. `add` is given each section, and says what is
// wrong with it, or nothing. What could not be read, and how many objects hold no facts, is added to `problems`. Gives false if
// there is nothing at `path` that could hold facts; then `error` says why.
bool readFactsSections(const std::string& path, const std::function<std::string(std::string_view section)>& add,
                       std::vector<UnitStatus>& problems, std::string& error);

}  // namespace pglocklint

// Facts as JSON: a Unit written and read back without loss. Both directions visit describe() (model/describe.h), so a new
// member of the model needs no word here.
//
//   {"schema":"pglocklint/facts/1","files":["db/a.sql"],"functions":[{"range":[1,1,9,1,0,212],"blocks":[…]}],…}
//
// Members that hold their default value are left out; enumerators are written by name; a range is
// [line, column, end_line, end_column, begin, end] and, if not of the unit's own file, the file's index.
// A string that is not UTF-8 is written as {"hex":"…"}.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "model/unit.h"

namespace pglocklint {

// indent < 0: everything on one line. Otherwise what fits on a line stays on it.
std::string factsToJson(const Unit& unit, int indent);

// Reads what factsToJson() wrote. On failure nullopt, and `error` says where (line and column, or JSON pointer) and what.
std::optional<Unit> factsFromJson(std::string_view text, std::string& error);

// Facts may come from anywhere (another machine, an object file). Empty if all indexes of the unit point to something and every
// element that has to be there is; else where and what is wrong. Whoever links facts that were read must ask.
std::string inconsistencyOf(const Unit& unit);

}  // namespace pglocklint

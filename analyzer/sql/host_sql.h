// SQL that a host program sends: each text of a database call becomes ordinary statements of the function that sends it.
//
// A HostCall event of a block gives way to the statements of its text; several alternatives become branches. Parameters ($1) stay
// parameters and Statement::host_call says which call binds them; a hole in the text becomes a parameter "%h0", "%h1", … of that
// call's holes. Every range leads to the characters of the literal, in whichever file of the unit it stands. Calls that send no text
// (Begin, Connect, …), or text of which nothing is known, stay as they are. A call of a function of the program that sends a text it is
// given, and nothing of its own around it, sends that text. A HostStep becomes what PL/pgSQL has for it: an assignment, a condition,
// RETURN, RAISE; in its expression a path is a column, and "#answer 3", "#success 3" are what call 3 answered and whether it went well.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "model/unit.h"

namespace pglocklint::sql {

// `units`: all of the host language, because a statement may be prepared in one and executed in another. `text` reads a file by
// its path relative to the project root.
void lowerHostSql(std::vector<Unit>& units, const std::function<std::string(const std::string& path)>& text);

}  // namespace pglocklint::sql

// Functions of the host program that send a text they are given, with nothing of their own around it:
// bool run(const char* sql) { return ok(PQexec(conn_, sql)); }
#pragma once
#include <vector>

#include "model/unit.h"

namespace pglocklint::sql {

// A call of such a function, run("BEGIN"), becomes the Execute that it stands for, and what the program asks of its answer is asked of the
// statement: whether it went well, or what it answered. Lock SQL is an Execute already, known by what it says, whoever it is given to.
// `units`: all of the host language, for the function may be defined in another one.
void sendTexts(std::vector<Unit>& units);

}  // namespace pglocklint::sql

// What makes a finding the same finding in the next run, although lines were added above it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "report/source_text.h"
#include "report/statement_index.h"

namespace pglocklint {

std::string sha256Hex(std::string_view bytes);

// Sets Finding::fingerprint of all: SHA-256 of code, qualified function or (at the top level) statement head, the primary line with
// its white space made single, key text, the file's base name, and a number that tells equal ones apart in report
// order. No line numbers and no folder: both change when nothing else does. `findings` must be in report order.
void addFingerprints(std::vector<Finding>& findings, StatementIndexes& statements, SourceCache& sources);

// GitHub's `primaryLocationLineHash` of each line of a text (index 0 = line 1), by the rule of its SARIF upload: a base-37 polynomial
// over the 100 UTF-16 units that follow the line's start, blanks left out, then how often that hash has come up.
std::vector<std::string> primaryLocationLineHashes(std::string_view text);

}  // namespace pglocklint

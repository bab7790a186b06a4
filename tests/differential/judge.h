// What the analysis said of a case against what PostgreSQL did.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "case.h"
#include "database.h"

namespace pglocklint::differential {

// An Evaluation (analyzer/model/evaluation.h) of one call, as it comes from the peer.
struct Verdict {
  std::string name, via, runs, rows, order, sureness, position, rows_cause, runs_cause;
  bool plan_time = false, repeated = false, sorted = false;
  std::string text() const;
};

// By site. A call of an inlined SQL function has two: one for the call, one for what it stands for.
using Verdicts = std::vector<std::vector<Verdict>>;
Verdicts verdictsOf(const Case& c, const nlohmann::json& calls);

enum class Claim { Never, Once, Exact, Multiplicity, EveryRow, Single, Sorted, Defined, NoAnswer };
const char* nameOf(Claim claim);

struct Contradiction {
  int site = -1;
  Claim claim = Claim::Never;
  std::string text;  // "said exact, but 3 of 10 keys are not of returned rows"
};

// Contradictions of one run.
std::vector<Contradiction> judge(const Case& c, const Verdicts& verdicts, const Observation& seen, const std::map<std::string, RowFacts>& facts);

// Did the site lock more than the rows returned explain, in this run?
bool overLocks(const Case& c, int site, const Observation& seen);

}  // namespace pglocklint::differential

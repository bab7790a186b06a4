// All that a report says about one run. Each format is a function of this value.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/finding.h"
#include "report/source_text.h"

namespace pglocklint {

struct RunReport {
  int grammar = 0;                 // major version of the PostgreSQL grammar in use
  std::vector<Finding> findings;   // in report order; suppressed ones only if they were asked for
  Coverage coverage;
  std::uint64_t baselined = 0;     // known findings that the baseline withheld
  std::string error;               // the run could not do what it was asked to: nothing else counts
};

}  // namespace pglocklint

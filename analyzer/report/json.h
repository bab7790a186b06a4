// The report for programs: schema pglocklint/findings/1. Members, their order and meaning are a public interface.
#pragma once
#include <string>

#include "report/run_report.h"

namespace pglocklint {

std::string jsonReport(const RunReport& run);

}  // namespace pglocklint

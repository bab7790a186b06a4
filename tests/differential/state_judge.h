// What the lock state says of a program against what one run of it held.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "program_run.h"

namespace pglocklint::differential {

// One key of one alternative (Hold in analyzer/program/lock_state.h).
struct HoldClaim {
  std::string form;
  std::vector<std::string> parts;  // numbers; "k" and "j" for the parameters; empty: not one key at any moment
  std::string mode;
  int lo = 0, hi = 0, floor_lo = 0, floor_hi = 0;
  bool may = false, must = false;
  std::optional<Lock> lock(const std::array<std::string, 2>& parameters) const;  // what it stands for, where that can be told
};

enum class Cleared { No, Maybe, Yes };  // likewise

struct StateClaim {
  bool unknown_held = false;
  Cleared cleared = Cleared::No;
  std::vector<HoldClaim> holds;
};

// The lock state at a mark: alternatives; none: it is never reached.
struct MarkClaim {
  bool known = false;     // the analysis has an answer
  bool relative = false;  // counts are counted from what the caller held
  std::vector<StateClaim> states;

  // may − must, summed over keys, modes and scopes, of all alternatives together; many counts as 3. 0: exact.
  int width() const;
  std::string text() const;
};

// By mark.
std::vector<MarkClaim> claimsOf(const Program& p, const nlohmann::json& answer);

struct StateContradiction {
  Look look;
  std::string text;
};

// The first point of the run at which no alternative fits.
std::optional<StateContradiction> judge(const std::vector<MarkClaim>& claims, const ProgramRun& run);

}  // namespace pglocklint::differential

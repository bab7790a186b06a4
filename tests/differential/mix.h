// What a run was made of: the report that shows whether the random cases were worth running.
#pragma once
#include <map>
#include <string>

#include "trial.h"

namespace pglocklint::differential {

class Mix {
 public:
  void add(const Trial& t);
  void add(const Mix& other);
  std::string report() const;
  // What the mix must have, as the issue asks: nothing if it has. `scale`: counts are for 100,000 statements.
  std::string complaint(double scale) const;

  long statements = 0, runs = 0, failed = 0, over = 0, under = 0, over_or_under = 0, unsure = 0, silent = 0, without_answer = 0;
  std::map<std::string, long> shapes, verdicts, errors;
  std::map<std::string, std::pair<long, long>> seen_over;  // by verdict on rows: sites of that verdict, those that over-locked in some run
  std::map<std::string, long> unsure_shapes;
};

}  // namespace pglocklint::differential

// One case put to both sides: what the analysis says, what a server does under several plans, and whether that agrees.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "judge.h"
#include "peer_client.h"

namespace pglocklint::differential {

struct Outcome {
  Combination under;
  Observation seen;
};

struct Trial {
  std::uint64_t number = 0;
  std::vector<std::uint32_t> record;
  Case c;
  Verdicts verdicts;
  std::vector<Outcome> outcomes;
  std::vector<std::pair<Combination, Contradiction>> contradictions;
};

// A worker's own connection and peer.
class Bench {
 public:
  Bench(const std::string& server, const std::string& peer);
  int major() const { return database_.major(); }

  // Cases seed/first … seed/first+count-1, each under a few combinations that depend on its number.
  std::vector<Trial> runBatch(std::uint64_t seed, std::uint64_t first, std::size_t count);
  // The case of a record under the given combinations.
  Trial runRecord(const std::vector<std::uint32_t>& record, const std::vector<Combination>& combinations);

 private:
  void ask(Trial& t);
  void observe(Trial& t, const Combination& c);

  Database database_;
  PeerClient peer_;
  std::vector<std::map<std::string, RowFacts>> facts_;
};

// The smallest trial found that shows the same kind of contradiction under the same combination, and is itself one.
Trial shrink(Bench& bench, const Trial& trial, int attempts = 600);

}  // namespace pglocklint::differential

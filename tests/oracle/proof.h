// An isolation proof: fixtures/<rule>/proof.spec, an isolation test in PostgreSQL's own format (src/test/isolation/README of its
// source), in which the bad form of a rule shows its hazard on a live server and the good form does not.
//
// What is ours is said in comments:
//   # hazard: TEXT      a line of the tester's output that is the hazard; holds for the permutations that follow
//   # bad: TITLE        before a permutation: its output has that line …
//   # good: TITLE       … and this one's has not
//   # apart: WHY        once: the analyzer cannot read the fault from the steps
// A session named `observer` looks on; the steps of all other sessions, with the setup, are what pglocklint must judge alike: it reports
// the rule for every bad permutation and none for a good one. So rule and proof speak of one text.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/servers.h"

namespace pglocklint::oracle {

struct Step {
  std::string session, name, sql;
};

struct Permutation {
  bool bad = false;
  std::string title, hazard;
  std::vector<std::string> steps;
};

struct Spec {
  std::vector<std::string> setup;  // of the whole test, each block
  std::vector<Step> session_setups;  // without names
  std::vector<Step> steps;
  std::vector<Permutation> permutations;
  std::string apart;
};

// Throws std::runtime_error if the text is no specification or lacks what is ours.
Spec parseSpec(std::string_view text);

// What a permutation gave.
struct Outcome {
  bool shown = false;  // the hazard
  std::string output;  // of the tester
};

// The files of a permutation as pglocklint reads them: setup.sql, and one file a session.
void writeProgram(const Spec& spec, const Permutation& permutation, const std::filesystem::path& folder);

// Runs isolationtester in a database of its own; one outcome a permutation. Throws std::runtime_error if it fails.
std::vector<Outcome> runSpec(const Spec& spec, const std::filesystem::path& file, const TestServer& server, const std::string& database);
// The outcomes in what the tester printed.
std::vector<Outcome> readOutcomes(const Spec& spec, std::string_view output);

// What speaks against the proof; empty if it holds.
std::vector<std::string> complaints(const Spec& spec, const std::vector<Outcome>& outcomes);

// The isolationtester of the distribution's client package, or of another server; empty if there is none.
std::filesystem::path isolationTester();

// A short name of a text: changes with it.
std::string digestOf(std::string_view text);

}  // namespace pglocklint::oracle

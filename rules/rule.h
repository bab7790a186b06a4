// What a rule is: a literal that describes it and a function that reads the Program.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "program/program.h"

namespace pglocklint {

// Metadata. `name` finishes "allow …". Texts are plain sentences in the user's words.
struct RuleInfo {
  std::string_view code;             // "AL101"
  std::string_view name;             // "lock-before-limit"
  Severity severity;                 // default
  std::string_view summary;          // one line: what is wrong
  std::string_view explanation;      // what happens and why PostgreSQL does it; a few sentences
  std::string_view remedy;           // what to write instead
  std::string_view proof;            // why there is no proof.spec, or empty
  std::vector<std::string_view> clauses;  // each clause of the sentence in DESIGN §6 and its fixture: "clause text | fixture file"
};

// Collects the findings of one rule; fills in code, name, default severity, place, function and key.
class Report {
 public:
  Report(const Program& program, const RuleInfo& info, std::vector<Finding>& out) : program_(program), info_(info), out_(out) {}
  // Starts a finding about `site` at `range` (of the site's unit); the caller adds related places, path, fixes.
  Finding& at(const LockSite& site, const SourceRange& range, std::string message);
  Finding& at(int unit, const SourceRange& range, std::string message);
  // The finding is about that call too: a rule that dominates there dominates here.
  void alsoAbout(Finding& finding, int unit, const SourceRange& call) const;
  RelatedPlace place(int unit, const SourceRange& range, std::string message) const;
  const Program& program() const { return program_; }

 private:
  const Program& program_;
  const RuleInfo& info_;
  std::vector<Finding>& out_;
};

struct Rule {
  RuleInfo info;
  void (*check)(const Program&, Report&);  // null: reported by the pipeline itself (AL901 to AL903)
};

// Every rule, sorted by code. rules/all_rules.cpp.
std::span<const Rule> allRules();

// One finding per fault: `left` is reported, `right` withheld for the same subject (DESIGN §6).
struct Dominance {
  std::string_view left, right;      // codes
  std::string_view fixture;          // shows the pair
};
std::span<const Dominance> dominanceTable();

}  // namespace pglocklint

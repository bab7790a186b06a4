// One level at work: the flows at its stages. Internal to evaluate_expressions.cpp, evaluate_levels.cpp, evaluate_stages.cpp and
// evaluate_scan.cpp.
#pragma once
#include <optional>
#include <set>
#include <vector>

#include "program/evaluate_tree.h"

namespace pglocklint::evaluation {

// --- recording (evaluate_record.cpp) ----------------------------------------------------------------------------------
bool stronger(const Discard& a, const Discard& b);       // is a the better reason?
// Adds to the evaluation of each site of the call what one way to it gives.
void record(const Term& call, const Flow& flow, Tree& tree);

// --- expressions (evaluate_expressions.cpp) ----------------------------------------------------------------------------
// Where in its level a term is evaluated: aggregates and window functions take their arguments at earlier stages.
struct Stages {
  const Flow* here = nullptr;
  const Flow* aggregate = nullptr;
  const Flow* window = nullptr;
  bool conjunct = false;  // a condition of WHERE or ON itself, where IN and EXISTS may become joins
};
void runTerm(const Term& term, const Stages& stages, Tree& tree);

// --- what a level is like (evaluate_levels.cpp) ------------------------------------------------------------------------
bool isZero(const Term& term);                           // the constants 0 and 1
bool isOne(const Term& term);
inline const SourceRange& orElse(const SourceRange& a, const SourceRange& b) { return a.known() ? a : b; }
SourceRange limitRange(const Level& level);
const LockingClause* skipLocked(const Level& level);
const Leaf* onlyLeaf(const Level& level);                // null if there are none or several
bool givesOneRow(const Level& level);                    // by its form alone: no FROM, or an aggregate

// --- how many rows it gives (evaluate_rows.cpp) ------------------------------------------------------------------------
bool leafGivesOneRow(const Leaf& leaf, const Tree& tree);
bool levelGivesOneRow(const Level& level, const Tree& tree);
bool scanGivesOneRow(const Level& level, const Tree& tree);  // FROM and WHERE alone; of UPDATE and DELETE: the rows written

// How rows come out of a leaf or level when nothing sorts them on the way.
struct RowOrder {
  CallOrder order = CallOrder::Undefined;
  std::vector<Term> terms;                               // in columns of the leaf
};
RowOrder orderOfLeaf(const Leaf& leaf, const Tree& tree, int depth = 0);
RowOrder naturalOrder(const Level& level, const Tree& tree, int depth = 0);  // below its own ORDER BY
std::vector<Term> orderTerms(const Level& level);
// Could a known index give the rows in this order, so that a LIMIT stops the scan?
bool indexGives(const std::vector<Term>& order, const Level& level, const Tree& tree);
// May become a join of its own: EXISTS, IN, NOT EXISTS without volatile calls inside.
bool isSemiJoin(const Term& condition);

// The rows that come from one stored relation or constant source with nothing in between that asks anything (AL105).
struct WholeSource {
  std::string relation;
  long long series = -1;
};
WholeSource wholeSource(const Leaf& leaf, const Tree& tree);

// --- flows (evaluate_stages.cpp) ----------------------------------------------------------------------------------------
// The stage must see all its input: what stops above it discards below.
Flow block(Flow flow, Sureness sureness = Sureness::Always, Blame because = {});
void discard(Flow& flow, Rows rows, Sureness sureness, Cause cause, const SourceRange& range, bool absorbed = true);

// A condition of WHERE and what decides its place.
struct Condition {
  Rank rank;
  std::set<int> leaves;        // of this level
  bool gate = false;           // no columns of this level, nothing volatile: asked once, before the scan
  bool is_volatile = false;
  bool semi_join = false;
  bool unsure = false;         // names a column of we do not know which leaf
};

class LevelRun {
 public:
  LevelRun(Level& level, const Flow& demand, Tree& tree);
  void select();
  void plannedOnly();
  void modify();
  void setOperation();
  void values();

 private:
  // Stages (evaluate_stages.cpp)
  void makeFlows();
  Flow tail(Flow f, bool many) const;
  void makeGroupFlows(const Flow& sort_input, bool plain_aggregate);
  void makeWhereFlow(const Flow& sort_input, bool plain_aggregate);
  void markWhole();
  void targets();
  Flow targetFlow(const Output& o, std::size_t index) const;
  void gateTerms(const std::vector<Term>& terms, CallPosition position);
  bool keyTakenByWhere(const Term& call) const;

  // Scan and joins (evaluate_scan.cpp)
  void conditions();
  void condition(std::size_t index);
  bool gainsNothingFromJoins(const std::set<int>& mine) const;
  bool findsItsOwnRows(const Leaf& leaf) const;
  void against(Flow& f, std::size_t q, std::size_t p, const std::set<int>& mine) const;
  Flow gateFlow(std::size_t index) const;
  void gate(std::size_t index);
  void gateBeforeFalse(std::size_t index, const SourceRange& condition);
  void outerConditions(const FromNode& node);
  void having(std::size_t index);
  void policies(const Leaf& leaf);
  void leaves();
  void leaf(Leaf& leaf, bool nullable, const std::vector<Term>* on);
  void lateralLeaf(const Leaf& leaf, const std::set<int>& outer, const std::vector<Term>* on, Flow& f) const;
  void joinedLeaf(const Leaf& leaf, Flow& f) const;
  void functionLeaf(const Leaf& leaf, const std::set<int>& outer, const Flow& f);
  bool isOnlyRequired(const Leaf& leaf) const;
  void dropUnused(Leaf& leaf);
  bool isGate(const Term& c) const;
  std::set<int> own(const Term& c) const;
  // What a condition on the leaf's columns says of the rows that lock calls in its select list have locked.
  struct LockTest {
    std::vector<int> spared;  // calls of which no row that was locked is rejected
    bool own_result = false;  // it rejects rows because their lock was obtained
  };
  LockTest testOf(const Term& c, const Leaf& leaf) const;
  SourceRange joinRange(const std::set<int>& mine) const;
  CallPosition positionOf(const Term& c) const;

  Level& level_;
  const Flow& demand_;
  Tree& tree_;
  std::set<int> leaves_;
  std::vector<Condition> where_conditions_;  // parallel to level_.where
  bool many_from_ = false;     // more than one row may come out of FROM and WHERE
  Flow late_, early_, order_key_, group_, having_, aggregate_, window_, where_;
};

}  // namespace pglocklint::evaluation

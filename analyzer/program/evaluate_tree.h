// The working copy of a statement that evaluate() rewrites: levels, leaves and terms with names resolved. Internal to
// evaluate*.cpp; the essay is at the head of evaluate.cpp.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/evaluation.h"
#include "model/lock_function.h"
#include "model/unit.h"
#include "program/catalogue.h"

namespace pglocklint::evaluation {

struct Level;
struct Flow;

// Every leaf of every FROM tree has a number of its own, unique in the statement, copies included. So a column means the same
// wherever a rewrite carries it, and "correlated" is "names a leaf that is not below".
inline constexpr int kNoLeaf = -1;         // no column of a relation: a parameter, a variable
inline constexpr int kSomeLeaf = -2;       // a column, but of which leaf cannot be told

// What a call calls.
struct Callee {
  bool known = false;                      // otherwise taken as VOLATILE
  Volatility volatility = Volatility::Volatile;
  bool strict = false, returns_set = false, aggregate = false, window = false;
  double cost = 1;                         // in operators
  bool locks = false;                      // a lock function, or a routine that locks
  bool boolean = false;                    // result type
  const Routine* routine = nullptr;
};

struct Term {
  ExprKind kind = ExprKind::Other;
  const Expr* source = nullptr;            // where it is written; null for what PostgreSQL derives
  std::string name;                        // Column, Call, Op
  std::string type;                        // canonical, if known (Column, Cast)
  std::string text;                        // Const
  LiteralKind literal = LiteralKind::None;
  SubLink sublink = SubLink::None;
  bool negated = false;
  int leaf = kNoLeaf;                      // Column
  Callee callee;                           // Call
  bool folded = false;                     // Call: its constants were folded in the level that it came from
  std::vector<int> sites;                  // lock calls: every written call that this one stands for (Tree::sites)
  std::vector<Term> args;
  std::vector<Term> filter, order;         // of an aggregate
  std::vector<Term> window;                // PARTITION BY and ORDER BY of OVER
  std::vector<Level> query;                // SubSelect

  bool is(ExprKind k) const { return kind == k; }
  bool isNull() const { return kind == ExprKind::Const && literal == LiteralKind::Null; }
  bool isTrue() const { return kind == ExprKind::Const && literal == LiteralKind::Boolean && text == "true"; }
  bool isFalse() const { return kind == ExprKind::Const && literal == LiteralKind::Boolean && text == "false"; }
  SourceRange range() const { return source ? source->range : SourceRange{}; }
};

enum class LeafKind { Table, SubQuery, Cte, Function, Unknown };

struct Leaf {
  LeafKind kind = LeafKind::Unknown;
  int id = kNoLeaf;
  const FromItem* source = nullptr;
  int cte = -1;                            // Cte
  bool self_reference = false;             // Cte: the recursive term reads what the last round gave
  bool lateral = false;
  std::vector<Level> query;                // SubQuery
  std::vector<Term> functions;             // Function
};

// A node of the FROM tree: a leaf, or a join of sides. A merged sub-select becomes an inner join of its items, its WHERE the
// condition.
struct FromNode {
  bool is_leaf = true;
  Leaf leaf;
  JoinType join = JoinType::Inner;
  const FromItem* source = nullptr;
  bool pinned = false;                     // cannot be removed: something that is computed here is needed above
  std::vector<FromNode> sides;
  std::vector<Term> on;                    // conjuncts
};

// An entry of a select list and who else refers to it (by number, by alias, by the same text).
struct Output {
  Term term;
  std::string name;
  bool order_key = false, group_key = false, distinct_key = false;
};

struct SortKey {
  Term term;                               // if target is -1
  int target = -1;
  bool descending = false;
};

struct Branch {                            // WHEN of a MERGE
  std::vector<Term> condition;
  std::vector<Output> sets;
};

struct Level {
  QueryKind kind = QueryKind::Select;
  const Query* source = nullptr;
  std::vector<FromNode> from;
  std::vector<Term> where;                 // conjuncts, in PostgreSQL's order before it sorts by cost
  std::vector<Output> targets;
  std::vector<Term> group_by, having, distinct_on;
  std::vector<SortKey> order_by;
  std::vector<Term> limit, offset;         // zero or one
  bool grouped = false, grouping_sets = false, with_ties = false, has_ctes = false;
  DistinctKind distinct = DistinctKind::None;
  SetOperator set_operator = SetOperator::None;
  bool set_all = false;
  std::vector<Level> arms;                 // SetOperation; INSERT: its source
  std::vector<std::vector<Term>> rows;     // VALUES
  std::vector<Output> sets, returning, conflict_sets;
  std::vector<Term> conflict_where;
  std::vector<Branch> merge;
  int target_leaf = kNoLeaf;               // DML
  std::vector<Term> killed_by;             // the constant-false condition, if PostgreSQL found one
  bool bound = false;                      // the query around it may set a column of it equal to a constant

  bool isDml() const {
    return kind == QueryKind::Insert || kind == QueryKind::Update || kind == QueryKind::Delete || kind == QueryKind::Merge;
  }
};

// What is known of a leaf's names, keys and indexes.
struct LeafInfo {
  std::string alias;
  std::vector<Column> columns;
  bool columns_known = false;
  const Relation* relation = nullptr;      // a table we know
  std::vector<Term> policies;
  bool barrier = false;                    // it stays a query of its own, as a view with security_barrier: only conditions that leak nothing go into it
};

struct Via {
  std::string name;
  SourceRange range;
};

// One written lock call on one way into the statement.
struct Site {
  const Expr* call = nullptr;
  int via = -1;
  bool seen = false;
  Rows rows_if_several = Rows::Exact;      // what discards rows above, were it not that the call runs once
  Blame rows_if_several_blame;
  Evaluation evaluation;
};

struct CteDef {
  const Cte* source = nullptr;
  std::vector<Level> level;                // one; empty while it is being built
  std::vector<Column> columns;
  bool columns_known = false;
  bool recursive = false;                  // reads itself
  bool inlined = false;
  int references = 0;
  mutable int one_row = -1;                // whether it gives at most one row, once that has been asked
  std::vector<Flow> demands;               // of its readers
};

// One statement, as a tree that is rewritten, and what has been found out about its calls.
struct Tree {
  const Catalogue* catalogue = nullptr;
  const Function* function = nullptr;      // whose variables its names may mean; may be null
  std::deque<LeafInfo> leaves;
  std::deque<CteDef> ctes;
  std::vector<Via> vias;
  std::vector<Site> sites;
  std::map<std::pair<const Expr*, int>, int> inlined;  // site of a call in a body, inlined for that site: the same in each copy of it
  std::deque<Expr> synthesized;            // sources of terms that are written nowhere as an expression
  // Views, inlined bodies, CTEs and merged columns can double what they copy at each step. Terms that may be made by copying,
  // and terms that may be visited in merging; a statement that uses them up is not judged (gaveUp).
  int budget = 50000;
  long work = 3000000;
  int depth = 0;
  bool planned_only = false;               // EXPLAIN
  Blame planned_blame;

  LeafInfo& info(int leaf) { return leaves[static_cast<std::size_t>(leaf)]; }
  const LeafInfo& info(int leaf) const { return leaves[static_cast<std::size_t>(leaf)]; }
  bool spend(int n = 1) { return (budget -= n) > 0; }
  bool gaveUp() const { return budget <= 0 || work <= 0; }
};

// --- building (evaluate_tree.cpp) ----------------------------------------------------------------------------------
Level buildLevel(const Query& query, Tree& tree);
Term buildTerm(const Expr& expr, Tree& tree);

// The body of a routine with its parameters replaced by the arguments of a call; `via` as for a view; `site` is that of the call, -1
// if it has none.
Level buildBody(const Query& body, const Function& function, const std::vector<Term>& arguments, int via, int site, Tree& tree);

// --- asking ---------------------------------------------------------------------------------------------------------
using TermVisitor = std::function<void(const Term&)>;
void forEachTerm(const Term& term, bool deep, const TermVisitor& visit);   // deep: into sub-selects
void forEachTerm(const Level& level, const TermVisitor& visit);            // deep
void forEachLeaf(const Level& level, const std::function<void(const Leaf&)>& visit);  // deep, sub-selects in terms too
void forEachLeafHere(const std::vector<FromNode>& from, const std::function<void(const Leaf&)>& visit);
void forEachLeafHere(std::vector<FromNode>& from, const std::function<void(Leaf&)>& visit);

std::set<int> leavesOf(const Term& term);                // all leaves it names, through sub-selects (those inside them too)
std::set<int> leavesOf(const FromNode& node);            // the leaves of this tree, not what is inside them
std::set<int> leavesOf(const std::vector<FromNode>& from);
bool namesUnknownLeaf(const Term& term);
// PostgreSQL asks "volatile?" at different moments: before planning a sub-select in an expression is looked into, later it is a
// SubPlan that hides what it calls.
bool volatileDeep(const Term& term);
bool volatileDeep(const Level& level);
bool volatileDirect(const Term& term);
bool containsSetReturning(const Term& term);
bool containsAggregate(const Term& term);                // of this level
bool containsWindow(const Term& term);
bool containsSubSelect(const Term& term);
bool containsLock(const Term& term);                     // deep; a CTE read inside counts too
bool containsLock(const Level& level);
bool levelAggregates(const Level& level);
bool levelHasWindow(const Level& level);
bool levelReturnsSets(const Level& level);
bool sameTerm(const Term& a, const Term& b);
bool isConstantTerm(const Term& term);                   // literal, or casts and arrays of literals
bool correlated(const Level& level);                     // names a leaf outside
std::vector<Column> columnsOf(const Level& level, bool& known);

// Gives every leaf inside (sub-selects of the term, the level itself) a new number: for copies.
void refresh(Term& term, Tree& tree);
void refresh(Level& level, Tree& tree);

// Replaces the columns of a leaf by what the function gives for a name.
using Replacement = std::function<Term(const Term& column)>;
void substitute(Term& term, int leaf, const Replacement& replace, Tree& tree);
void substitute(Level& level, int leaf, const Replacement& replace, Tree& tree);

void splitConjuncts(Term term, std::vector<Term>& out);

// --- rewriting (evaluate_rewrites.cpp) ------------------------------------------------------------------------------
// R3, with R0 for scalar SQL functions. Calls that are folded away are recorded as never run.
void fold(Term& term, Tree& tree);
void foldLevel(Level& level, Tree& tree);
// R1: which CTEs are inlined.
void decideCtes(Tree& tree);
// R0 (views were expanded when built), R1 and R4 for the FROM tree of a level; then R3, R5, R6.
void rewriteLevel(Level& level, bool row_marks, Tree& tree);
// R2; true if the select list is dropped.
bool existsDropsTargets(const Level& level);

void recordNever(const Term& term, Cause cause, const SourceRange& range, Tree& tree,
                 CallPosition position = CallPosition::Other);
void recordNever(const Level& level, Cause cause, const SourceRange& range, Tree& tree);
// The same for what is dropped after the planner has folded constants in it: calls of IMMUTABLE routines have run by then.
void recordFolded(const Term& term, Cause cause, const SourceRange& range, Tree& tree,
                  CallPosition position = CallPosition::Other);
void recordFolded(const Level& level, Cause cause, const SourceRange& range, Tree& tree);

// --- conditions (evaluate_conditions.cpp) --------------------------------------------------------------------------
// Something that discards rows above a call.
struct Discard {
  Rows rows = Rows::Exact;
  Sureness sureness = Sureness::Always;
  Blame blame;
  bool absorbed = true;                    // does not matter to a call that runs once
  std::vector<int> spared;                 // sites: rows are discarded because these calls did not get their lock
};

struct Cost { double low = 0, high = 0; };               // in operators; high > low where types are not known
Cost costOf(const Term& term, const Tree& tree);
bool isEquivalence(const Term& term);                    // non-volatile a = b: goes last among equals
struct Rank { Cost cost; bool equality = false; };       // what the planner sorts conditions by, written order apart
Rank rankOf(const Term& term, const Tree& tree);

enum class Before { Yes, No, Unknown };
// Does condition `p` (at position i) run before `q` (at position j)?
Before runsBefore(const Rank& p, std::size_t i, const Rank& q, std::size_t j);
// Could an index supply the condition (known index on a column that it compares)?
bool indexable(const Term& condition, const Tree& tree);
// Is a row kept whenever the lock calls in this condition obtained their lock?
bool keepsLockedRows(const Term& condition);
// Are at most one row's columns equal to these conditions' other sides? (unique key bound)
// `forbidden`: leaves that the other sides must not name; `constant` is set if one of them names no leaf at all.
bool bindsUniqueKey(int leaf, const std::vector<Term>& conditions, const Tree& tree, const std::set<int>& forbidden,
                    bool* constant = nullptr);
bool rejectsNull(const Term& condition, const std::set<int>& leaves);

// --- stages (evaluate_stages.cpp) -----------------------------------------------------------------------------------
enum class Pull { All, FirstRow };

// What a consumer says to a producer of rows, and what holds at one stage of a level.
struct Flow {
  Runs runs = Runs::PerRow;                // Never, NeedNot, or PerRow for "runs"
  Blame runs_blame;
  Sureness runs_sureness = Sureness::Always;
  bool once = true;                        // the level is run at most once per statement
  bool many = true;                        // more than one row may pass this stage
  std::vector<Discard> discards;           // outermost last
  bool limited = false;                    // the consumer may stop early without discarding
  Blame limit_blame;
  Pull pull = Pull::All;
  bool dead_targets = false;               // EXISTS: nobody looks at the columns
  Blame dead_blame;
  Blame guard;                             // an ordinary condition decides whether this part of an expression runs
  bool planned_only = false;               // EXPLAIN: planned, not run
  bool cached = false;                     // a plan that is run several times
  Blame cached_blame;
  bool estimated = false;                  // the planner calls it to estimate
  bool filtered = false;                   // rows may be missing: a condition or LIMIT stands between here and the result
  bool repeated = false;                   // known to run more than once per row
  bool at_most_one = false;                // per round of a recursion
  bool others_each_time = false;           // asked again for each row of a host, for other rows each time: no order over all of them
  bool resorted = false;                   // an arm of UNION, INTERSECT, EXCEPT: sorted as they need it, not as the arm says (17 and later)
  bool row_marks = false;                  // UPDATE, DELETE, MERGE, FOR UPDATE: rows of sub-selects are kept whole, for a second look
  bool in_recursion = false;
  Sureness sureness = Sureness::Always;    // extra doubt (Memoize)
  CallOrder order = CallOrder::Undefined;
  std::vector<Term> order_terms;           // of a Defined order
  CallPosition position = CallPosition::Other;
  std::set<int> row_leaves;                // the leaves whose rows pass here
  std::string relation;                    // whole_relation
  bool unconditional = false;              // no LIMIT and no condition between the scan of `relation` and here
  long long series = -1;
};

void runLevel(Level& level, const Flow& demand, Tree& tree);
void runTerm(const Term& term, const Flow& flow, Tree& tree);
void runCtes(Tree& tree);                                // after the main level: with what its readers asked for
void runStatement(Level& level, const Flow& demand, Tree& tree);

}  // namespace pglocklint::evaluation

// Evaluation: how PostgreSQL runs one call in a statement, and which clause is to blame.
#pragma once
#include <cstdint>
#include <string>

#include "model/describe.h"
#include "model/list.h"
#include "model/rare.h"
#include "model/source_range.h"

namespace pglocklint {

// How often the call runs. Ordered: combining along a path takes the minimum.
enum class Runs : std::uint8_t {
  Never,    // PostgreSQL drops the call
  NeedNot,  // may be skipped although the statement runs to its end
  Once,     // at most once per execution of the statement
  PerRow,   // once for each row that reaches it
};
PGLOCKLINT_ENUM_NAMES(Runs, "never", "need-not", "once", "per-row")

// For which rows it runs, against those that the statement returns or writes. Ordered: the maximum wins.
enum class Rows : std::uint8_t {
  Exact,          // just those
  PlanDependent,  // more or other rows under some plans, statistics, costs or positions
  Superset,       // rows that are then discarded
};
PGLOCKLINT_ENUM_NAMES(Rows, "exact", "plan-dependent", "superset")

enum class CallOrder : std::uint8_t {
  Single,     // one key
  Defined,    // by an ORDER BY that PostgreSQL honours before the call
  Written,    // order of VALUES, of a function or array: observed, not promised
  Undefined,
};
PGLOCKLINT_ENUM_NAMES(CallOrder, "single", "defined", "written", "undefined")

// How firmly `rows` and `runs` hold.
enum class Sureness : std::uint8_t {
  Always,            // by rewrites and stages that need no statistics
  ByCostOrPosition,  // only the planner's cost or the written order decides
  ByPlan,            // join order, index choice
  NotGuaranteed,     // measured exact on 13 to 18, but the manual refuses to promise it
  Unknown,           // names that we do not know decide: rules stay silent
};
PGLOCKLINT_ENUM_NAMES(Sureness, "always", "by-cost-or-position", "by-plan", "not-guaranteed", "unknown")

enum class Cause : std::uint8_t {
  None,
  // rows
  Limit, Offset, WithTies, SkipLocked, OrderByCall, Distinct, GroupingKey, OtherCondition, OwnCondition /* NOT try, = false */,
  Having, Join, SemiJoin, SetOperation, OuterCondition, ConstantKeyPerRow, MoveCursor, BackwardFetch, LoopPrefetch, StoredFunction,
  BesideSetReturning, HiddenVolatility, StableWrapper, PlanTime,
  // runs
  UnreadCte, ExistsSelectList, PrunedTarget, DeadBranch, ConstantFalse, LimitZero, RemovedJoin, NullKey, ShortCircuit, Coalesce,
  ExplainOnly, PrepareOnly, DeclareOnly, WithNoData, FirstRowOnly, UnionArmSkipped, GuardedBranch, AssertOnly, CachedPlan, EmptySide,
};
PGLOCKLINT_ENUM_NAMES(Cause, "none", "limit", "offset", "with-ties", "skip-locked", "order-by-call", "distinct", "grouping-key",
                      "other-condition", "own-condition", "having", "join", "semi-join", "set-operation", "outer-condition",
                      "constant-key-per-row", "move-cursor", "backward-fetch", "loop-prefetch", "stored-function",
                      "beside-set-returning", "hidden-volatility", "stable-wrapper", "plan-time", "unread-cte",
                      "exists-select-list", "pruned-target", "dead-branch", "constant-false", "limit-zero", "removed-join", "null-key",
                      "short-circuit", "coalesce", "explain-only", "prepare-only", "declare-only", "with-no-data",
                      "first-row-only", "union-arm-skipped", "guarded-branch", "assert-only", "cached-plan", "empty-side")

struct Blame {
  Cause cause = Cause::None;
  SourceRange range;  // of the clause, in the file of the statement (a view's or function's own file if inlined from there)
  bool operator==(const Blame&) const = default;
};

// Where the call stands, for rules and messages.
enum class CallPosition : std::uint8_t { SelectList, Where, On, Having, OrderBy, GroupBy, From, Limit, AggregateArgument, Returning, SetClause, Values, Other };
PGLOCKLINT_ENUM_NAMES(CallPosition, "select-list", "where", "on", "having", "order-by", "group-by", "from", "limit",
                      "aggregate-argument", "returning", "set-clause", "values", "other")

struct Evaluation {
  Runs runs = Runs::PerRow;
  Rows rows = Rows::Exact;
  CallOrder order = CallOrder::Undefined;
  Sureness sureness = Sureness::Always;
  bool plan_time = false;       // the planner may run it, EXPLAIN too
  bool repeated = false;        // more than once per row (or once per row with a constant key): session locks stack
  CallPosition position = CallPosition::Other;
  bool limited = false;         // a LIMIT stands above it at a level where it discards nothing (AL101's warning)
  bool whole_relation = false;  // runs for every row of a stored relation: no LIMIT and no condition at that level (AL105)
  RareText relation;            // that relation
  long long series = -1;        // rows of a constant generate_series / VALUES / array source, if that is all there is
  bool sorted_by_key = false;   // order is Defined and its leading terms determine the key
  Blame rows_blame;             // why rows is not Exact
  Blame runs_blame;             // why runs is Never or NeedNot; GuardedBranch beside Once and PerRow: an ordinary condition decides
  Blame limit_blame;            // the LIMIT meant by `limited`, or by the cause of rows_blame (OrderByCall, HiddenVolatility, …)
  List<Blame> others;    // further clauses that discard rows, in written order

  bool operator==(const Evaluation&) const = default;
};

}  // namespace pglocklint

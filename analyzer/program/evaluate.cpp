// # How PostgreSQL runs a lock call
//
// An advisory lock call is a VOLATILE function like any other, so how often it runs, for which rows and in which order is decided
// by the planner, not by the place where it is written. evaluate() predicts that from the text of a statement and what is known
// of the names in it: no statistics, no plan.
//
// A query level is a fixed pipeline of stages. The planner first rewrites levels (drops, folds, merges, pushes) by rules that
// need no statistics; after that each call sits at exactly one stage of one level. A call takes too many locks if and only if
// something that discards rows lies above its stage, in its own level or in a consumer of that level. So there are three parts:
//
//   R0–R6  the rewrites                                                  evaluate_rewrites.cpp
//     R0   views and SQL functions of one expression are replaced by what they stand for
//     R1   a CTE that nobody reads never runs; one without volatile calls and with one reader is a sub-select; others are fences
//     R2   EXISTS drops the select list
//     R3   constants fold: x AND false, x OR true, dead CASE branches, strict calls of NULL
//     R4   a simple sub-select in FROM becomes part of its level; a volatile call in its select list stops that, one in its WHERE not
//     R5   outer joins become inner ones, and LEFT JOINs that change nothing vanish
//     R6   conditions go down into the sub-select they are about, below its ORDER BY, volatile or not
//   stages  the pipeline of one level, and what is above each stage      evaluate_stages.cpp, its scan and joins evaluate_scan.cpp
//   conditions  the order of the conditions of one scan, by cost         evaluate_conditions.cpp
//
// Beside them: what happens inside of one expression (evaluate_expressions.cpp), what a level is like (evaluate_levels.cpp), and how
// all that becomes an Evaluation (evaluate_record.cpp).
//
// They work on a private copy of the statement with all names resolved (evaluate_tree.h). A call keeps its identity through all
// copies (`Term::sites`), and its evaluations on several ways are combined by the maximum.
//
// What surprises people, and where it is decided:
//
// - `WHERE state = 'ready' AND pg_try_advisory_lock(id)` runs the lock first: the equality becomes part of an equivalence class
//   and is attached again behind the other conditions of equal cost (runsBefore).
// - `FROM (SELECT … ORDER BY ts) q WHERE pg_try_advisory_lock(id) LIMIT 1` locks everything: the ORDER BY stops the merge, but
//   the condition is pushed below it (R6).
// - `SELECT pg_advisory_lock(id) … ORDER BY ts LIMIT 5` locks five rows: a volatile target is computed after the sort. The manual
//   refuses to promise it; that is Sureness::NotGuaranteed. But `SELECT (SELECT pg_advisory_lock(id)) …` locks all: when
//   PostgreSQL asks "volatile?" there, the sub-select has become a plan that hides its calls (volatileDirect against
//   volatileDeep).
// - `WITH l AS (SELECT pg_advisory_lock(1)) UPDATE …` takes no lock, and `EXISTS (SELECT pg_advisory_lock(1))` neither.
// - A call of an IMMUTABLE routine with constant arguments runs when the statement is planned, under EXPLAIN too (plan_time).
//
// Three degrees of sureness survive to the rules: what rewrites and stages decide (Always), what only cost or position decides
// (ByCostOrPosition: measured, promised nowhere), what the plan decides (ByPlan). Where a name that we do not know would decide,
// the answer is Unknown and rules stay silent. In doubt the answer is the weaker one: PlanDependent rather than Exact, NeedNot
// rather than Never.
#include "program/evaluate.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/evaluate_tree.h"
#include "program/walk.h"

namespace pglocklint {

using namespace evaluation;

namespace {

// --- what the statement asks of its query ---------------------------------------------------------------------------------

Flow demandOf(const Statement& s) {
  Flow d;
  d.unconditional = true;
  switch (s.kind) {
    case StatementKind::Explain:
      d.planned_only = true, d.runs_blame = {Cause::ExplainOnly, s.range};
      break;
    case StatementKind::Prepare:
      d.runs = Runs::Never, d.runs_blame = {Cause::PrepareOnly, s.range};
      break;
    case StatementKind::DeclareCursor:
      d.planned_only = true, d.runs_blame = {Cause::DeclareOnly, s.range};
      break;
    case StatementKind::CreateTableAs:
      if (s.no_data) d.runs = Runs::Never, d.runs_blame = {Cause::WithNoData, s.range};
      break;
    default: break;
  }
  switch (s.context) {
    case PlContext::SelectInto:
      // EXECUTE … INTO runs its statement to the end and keeps the first row (measured: 100 locks where SELECT INTO takes one).
      if (!s.into_strict && !s.dynamic) d.limited = true, d.limit_blame = {Cause::FirstRowOnly, s.range}, d.pull = Pull::FirstRow;
      break;
    case PlContext::ForQuery:
      if (s.left_early) d.discards.push_back({Rows::Superset, Sureness::Always, {Cause::LoopPrefetch, s.range}});
      break;
    case PlContext::Assert:
      d.runs = std::min(d.runs, Runs::NeedNot), d.runs_blame = {Cause::AssertOnly, s.range}, d.runs_sureness = Sureness::Always;
      break;
    case PlContext::OpenCursor:
      if (s.kind == StatementKind::Query || s.kind == StatementKind::DeclareCursor)
        d.planned_only = true, d.runs_blame = {Cause::DeclareOnly, s.range};
      break;
    default: break;
  }
  return d;
}

// --- is there anything to do? -----------------------------------------------------------------------------------------

class LockSearch {
 public:
  explicit LockSearch(const Catalogue& catalogue) : catalogue_(catalogue) {}
  bool in(const Statement& s) {
    return any(s.query) || anyExpr(s.exprs) || anyExpr(s.using_args);
  }
  bool in(const Query& q) {
    if (++depth_ > 200) return --depth_, false;
    const bool found = search(q);
    --depth_;
    return found;
  }
  bool in(const Expr& e) {
    if (++depth_ > 200) return --depth_, false;
    bool found = e.is(ExprKind::Call) && isLockCall(e, catalogue_);
    found = found || anyExpr(e.args) || any(e.query) || anyExpr(e.call_filter) || anyOrder(e.call_order) ||
            anyExpr(e.window_partition) || anyOrder(e.window_order);
    --depth_;
    return found;
  }

 private:
  bool any(const List<Query>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Query& q) { return in(q); });
  }
  bool anyExpr(const List<Expr>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return in(e); });
  }
  bool anyOrder(const List<OrderItem>& list) {
    return std::any_of(list.begin(), list.end(), [&](const OrderItem& o) { return in(o.expr); });
  }
  bool anyTarget(const List<Target>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Target& t) { return in(t.expr); });
  }
  bool inFrom(const FromItem& f) {
    if (f.kind == FromKind::Relation)
      if (const Relation* r = catalogue_.relation(f.schema, f.name)) {
        if (r->view && r->kind == RelationKind::View && inView(*r)) return true;
        for (const Expr* p : r->policies)
          if (in(*p)) return true;
      }
    return any(f.query) || anyExpr(f.functions) || anyExpr(f.on) ||
           std::any_of(f.sides.begin(), f.sides.end(), [&](const FromItem& s) { return inFrom(s); });
  }
  // Each view is looked into once, however many others read it; one that reads itself adds nothing new.
  bool inView(const Relation& r) {
    const auto [seen, first] = views_.emplace(&r, false);
    if (first) {
      const bool found = in(*r.view);
      views_[&r] = found;
      return found;
    }
    return seen->second;
  }
  bool search(const Query& q) {
    for (const Cte& c : q.ctes)
      if (any(c.query)) return true;
    for (const FromItem& f : q.from)
      if (inFrom(f)) return true;
    if (q.kind != QueryKind::Select && q.kind != QueryKind::SetOperation && q.kind != QueryKind::Values && inFrom(q.target))
      return true;
    for (const auto& row : q.rows)
      if (anyExpr(row)) return true;
    for (const MergeWhen& w : q.merge)
      if (anyExpr(w.condition) || anyTarget(w.sets)) return true;
    return anyExpr(q.where) || anyTarget(q.targets) || anyExpr(q.group_by) || anyExpr(q.having) || anyExpr(q.distinct_on) ||
           anyOrder(q.order_by) || anyExpr(q.limit) || anyExpr(q.offset) || any(q.arms) || anyTarget(q.sets) || any(q.source) ||
           anyTarget(q.returning) || anyTarget(q.conflict_sets) || anyExpr(q.conflict_where);
  }

  const Catalogue& catalogue_;
  std::map<const Relation*, bool> views_;
  int depth_ = 0;
};

// --- one statement ------------------------------------------------------------------------------------------------------

std::vector<CallEvaluation> results(const Tree& tree, const Statement& statement) {
  std::vector<CallEvaluation> out;
  for (const Site& s : tree.sites) {
    CallEvaluation e;
    e.call = s.call, e.statement = &statement, e.evaluation = s.evaluation;
    if (tree.gaveUp()) e.evaluation.sureness = Sureness::Unknown;
    if (s.via >= 0)
      e.via = tree.vias[static_cast<std::size_t>(s.via)].name, e.via_range = tree.vias[static_cast<std::size_t>(s.via)].range;
    out.push_back(std::move(e));
  }
  const auto place = [](const CallEvaluation& e) {
    const SourceRange& r = e.via.empty() ? e.call->range : e.via_range;
    return std::tuple(r.begin, !e.via.empty(), e.call->range.file, e.call->range.begin);
  };
  std::stable_sort(out.begin(), out.end(), [&](const CallEvaluation& a, const CallEvaluation& b) { return place(a) < place(b); });
  return out;
}

void runQuery(const Query& query, const Flow& demand, Tree& tree) {
  Level level = buildLevel(query, tree);
  if (demand.runs == Runs::Never) {
    recordNever(level, demand.runs_blame.cause, demand.runs_blame.range, tree);
    for (const CteDef& c : tree.ctes)
      for (const Level& l : c.level) recordNever(l, demand.runs_blame.cause, demand.runs_blame.range, tree);
    return;
  }
  runStatement(level, demand, tree);
}

std::vector<CallEvaluation> evaluateWith(const Statement& statement, const List<Query>& query, const Flow& demand,
                                         const Function* function, const Catalogue& catalogue) {
  if (LockSearch search(catalogue);
      !search.in(statement) && std::none_of(query.begin(), query.end(), [&](const Query& q) { return search.in(q); }))
    return {};
  Tree tree;
  tree.catalogue = &catalogue;
  tree.function = function;
  for (const Query& q : query) runQuery(q, demand, tree);
  // Arguments of CALL, EXECUTE and EXECUTE … USING: once each.
  Flow once;
  once.many = false;
  const bool understood = statement.kind != StatementKind::NotUnderstood;
  for (const auto* list : {&statement.exprs, &statement.using_args})
    for (const Expr& e : *list) {
      Term t = buildTerm(e, tree);
      if (!understood) continue;  // found at token level: how it runs is not known
      fold(t, tree);
      runTerm(t, once, tree);
    }
  return results(tree, statement);
}

// --- prepared statements and cursors ------------------------------------------------------------------------------------

struct Uses {
  const Statement* fetch = nullptr;     // the one that decides
  int executions = 0;
  bool in_loop = false, all = false, moved = false, backward = false, loop_over = false, left_early = false;
  SourceRange committed;  // a COMMIT while the cursor may be open
};

bool preparesOrOpens(const Statement& s) {
  return s.kind == StatementKind::Prepare || s.kind == StatementKind::DeclareCursor || s.context == PlContext::OpenCursor;
}

Flow demandOfUses(const Statement& s, const Uses& u) {
  Flow d;
  if (s.kind == StatementKind::Prepare) {
    // The plan is kept: what was folded when it was made is not run again.
    if (u.executions > 1 || u.in_loop) d.cached = true, d.cached_blame = {Cause::CachedPlan, s.range};
    return d;
  }
  if (u.loop_over) {
    if (u.left_early) d.discards.push_back({Rows::Superset, Sureness::Always, {Cause::LoopPrefetch, u.fetch->range}});
    return d;
  }
  if (u.backward) d.discards.push_back({Rows::Superset, Sureness::Always, {Cause::BackwardFetch, u.fetch->range}});
  else if (u.moved) d.discards.push_back({Rows::Superset, Sureness::Always, {Cause::MoveCursor, u.fetch->range}});
  if (!u.all && !u.in_loop) {
    d.limited = true, d.limit_blame = {Cause::FirstRowOnly, u.fetch->range};
    // COMMIT runs the rest of a holdable cursor.
    if (s.hold && u.committed.known()) d.discards.push_back({Rows::Superset, Sureness::Always, {Cause::DeclareOnly, u.committed}});
    else if (s.hold) d.discards.push_back({Rows::PlanDependent, Sureness::Always, {Cause::DeclareOnly, s.range}});
  }
  return d;
}

// COMMIT between FETCH and CLOSE.
void findCommits(const Function& function, std::map<std::string, Uses>& uses) {
  std::set<std::string> open;
  for (const Block& b : function.blocks)
    for (const Event& e : b.events) {
      for (const Statement& s : e.statement) {
        if (s.kind == StatementKind::Fetch) open.insert(s.name);
        if (s.kind == StatementKind::CloseCursor && s.name.empty()) open.clear();
        if (s.kind == StatementKind::CloseCursor) open.erase(s.name);
      }
      for (const TransactionOp& t : e.transaction)
        if (t.verb == TransactionVerb::Commit)
          for (const std::string& name : open)
            if (Uses& u = uses[name]; !u.committed.known()) u.committed = t.range;
    }
}

std::map<std::string, Uses> usesOf(const Function& function) {
  std::map<std::string, Uses> uses;
  forEachStatement(function, [&](const Statement& s) {
    const bool fetches = s.kind == StatementKind::Fetch || s.kind == StatementKind::Move;
    const bool loops = s.context == PlContext::ForQuery && s.query.empty() && !s.name.empty();
    if (!fetches && !loops && s.kind != StatementKind::Execute) return;
    Uses& u = uses[s.name];
    ++u.executions;
    u.in_loop = u.in_loop || s.loop_depth > 0;
    if (loops) u.loop_over = true, u.left_early = u.left_early || s.left_early;
    if (fetches && s.fetch_count < 0) u.all = true;
    const bool passes_over = s.kind == StatementKind::Move || s.fetch_skips;
    const bool worse = s.fetch_backward ? !u.backward : passes_over && !u.moved && !u.backward;
    if (!u.fetch || worse || loops) u.fetch = &s;
    if (fetches && s.fetch_backward) u.backward = true;
    if (passes_over) u.moved = true;
  });
  findCommits(function, uses);
  return uses;
}

}  // namespace

bool isLockCall(const Expr& call, const Catalogue& catalogue) {
  if (!call.is(ExprKind::Call)) return false;
  if ((call.qualifier.empty() || call.qualifier == "pg_catalog") && findLockFunction(call.name)) return true;
  const Routine* r = catalogue.routine(call.qualifier, call.name, call.args.size());
  return r && r->locks;
}

std::vector<CallEvaluation> evaluate(const Statement& statement, const Catalogue& catalogue) {
  return evaluateWith(statement, statement.query, demandOf(statement), nullptr, catalogue);
}

std::vector<CallEvaluation> evaluate(const Function& function, const Catalogue& catalogue, Unexecuted unexecuted) {
  const std::map<std::string, Uses> uses = usesOf(function);
  // The last statement of a SQL function is its result: one row for a scalar, all for a set or for void.
  const Statement* result = nullptr;
  if (function.kind == FunctionKind::Routine && function.language == "sql" && !function.returns_set && function.returns != "void")
    forEachStatement(function, [&](const Statement& s) { result = &s; });

  std::vector<CallEvaluation> out;
  forEachStatement(function, [&](const Statement& s) {
    Flow demand = demandOf(s);
    const List<Query>* query = &s.query;
    if (&s == result && s.kind == StatementKind::Query)
      demand.limited = true, demand.limit_blame = {Cause::FirstRowOnly, s.range}, demand.pull = Pull::FirstRow;
    if (preparesOrOpens(s)) {
      if (query->empty() && s.context == PlContext::OpenCursor)  // OPEN of a bound cursor: the query is in its declaration
        for (const Variable& v : function.variables)
          if (v.name == s.name && !v.query.empty()) query = &v.query;
      if (const auto u = uses.find(s.name); u != uses.end() && !s.name.empty()) demand = demandOfUses(s, u->second);
      else if (s.kind == StatementKind::Prepare && unexecuted == Unexecuted::AsIfExecuted) demand = demandOfUses(s, Uses{});
    }
    if (s.context == PlContext::ForQuery && s.query.empty() && !s.name.empty())
      for (const Variable& v : function.variables)
        if (v.name == s.name && !v.query.empty()) query = &v.query;
    std::vector<CallEvaluation> found = evaluateWith(s, *query, demand, &function, catalogue);
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  });
  return out;
}

}  // namespace pglocklint

// # Why several locks need one order
//
// A statement that takes one lock per row takes them in the order in which its plan delivers the rows: by heap position
// today, by an index or a hash table tomorrow. Two sessions whose sets overlap can then take the same two keys in opposite
// order, each waits for the other, and after deadlock_timeout PostgreSQL aborts one. The cure is one word of SQL: ORDER BY
// the key. The select list is computed after the sort (measured on 13 to 18), so the locks are taken in that order.
//
// The same holds for one call inside a PL/pgSQL loop over an unsorted query or array: the loop only spreads the set over
// time.
//
// Not meant: try functions (they do not wait), one key, any ORDER BY (even by another column: it is an order, if everybody
// uses it), written lists of constants and series, and loops that give each lock back before they take the next.
#include <algorithm>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "all_rules.h"
#include "program/keys.h"
#include "program/walk.h"
#include "row_order.h"
#include "single_key.h"
#include "wording.h"

namespace pglocklint {
namespace {

constexpr int kAssignmentsDeep = 3;  // k := r.id * 10; PERFORM pg_advisory_lock(k)
constexpr std::size_t kMostVariables = 64;

// --- one statement --------------------------------------------------------------------------------------------------

// ORDER BY key can be appended as it stands: a plain query over the whole statement, and a key that is one column.
void offerOrderBy(const LockSite& site, const FunctionIndex& index, Finding& f) {
  if (site.statement->query.empty() || site.level != &site.statement->query[0] || site.statement->dynamic) return;
  const Query& q = *site.level;
  const bool plain = q.kind == QueryKind::Select && q.order_by.empty() && q.limit.empty() && q.offset.empty() &&
                     q.locking.empty() && q.group_by.empty() && q.distinct == DistinctKind::None && q.having.empty() &&
                     !q.with_ties;
  const PlContext c = site.statement->context;
  if (!plain || (c != PlContext::None && c != PlContext::Sql && c != PlContext::Perform)) return;
  if (site.statement->kind != StatementKind::Query || site.call->args.empty() || site.routine) return;
  std::string key;
  for (const Expr& a : site.call->args) {
    if (a.kind == ExprKind::Const) continue;
    const Expr* column = &a;
    while (column->kind == ExprKind::Cast && !column->args.empty()) column = &column->args[0];
    if (column->kind != ExprKind::Column || !isRowColumn(*column, index) || !key.empty()) return;
    if (column->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
      return;  // would need quotes
    key = column->qualifier.empty() ? column->name : column->qualifier + "." + column->name;
  }
  if (key.empty()) return;
  const std::uint32_t end = site.statement->range.end;
  f.fixes.push_back({f.where.file, end, end, "\nORDER BY " + key});  // on its own line: a comment may end the statement
}

std::string keyText(const LockSite& site) {
  std::string out;
  for (const Expr& a : site.call->args)
    if (a.kind != ExprKind::Const) out += (out.empty() ? "" : ", ") + exprText(a);
  return out.empty() ? "the key" : out;
}

// What one function's sites are judged by.
struct Context {
  const Catalogue& catalogue;
  const FunctionIndex& index;
  RowOrders orders;
  std::uint32_t deepest_release = 0;  // loop depth of its innermost release of a session lock
  bool releases = false;
};

// count(lock(id)): called for the rows that go into the one row that comes out.
bool isAggregated(const LockSite& site, const Evaluation& e) { return e.position == CallPosition::AggregateArgument && site.level->group_by.empty(); }

bool unorderedStatement(const LockSite& site, const Evaluation& e, Context& in) {
  if (e.runs != Runs::PerRow || e.sureness == Sureness::Unknown || !site.level) return false;
  const bool aggregated = isAggregated(site, e);
  if (e.position == CallPosition::Values || takesOneKey(site, in.index, in.catalogue, aggregated)) return false;
  if (e.order == CallOrder::Undefined) {
    const RowOrder o = aggregated ? in.orders.ofInput(*site.level) : in.orders.of(*site.level);  // an array sorted before, a sorted sub-select
    const bool sorted = site.level->from.size() == 1 && site.level->order_by.empty() && o != RowOrder::Unordered;
    return !sorted;
  }
  if (e.order != CallOrder::Written || e.series >= 0) return false;
  return in.orders.of(*site.level) == RowOrder::Unordered;
}

// A condition, a sub-select around the call or a wrapper that is not VOLATILE runs below the sort of its own level.
bool runsBeforeSort(const LockSite& site) { return !site.level->order_by.empty(); }

void reportStatement(const LockSite& site, const Evaluation& e, const Context& in, Report& report) {
  const bool aggregated = isAggregated(site, e);
  const std::string remedy = aggregated
                                 ? fmt::format("An ORDER BY inside of the aggregate is no remedy: up to version 15 it sorts what the calls have returned. Sort in a sub-select, and "
                                               "take the locks over it: FROM (SELECT … ORDER BY {}).",
                                               keyText(site))
                             : runsBeforeSort(site)
                                 ? "The ORDER BY of the same level does not help: the call runs before the sort. Sort in a "
                                   "sub-select with LIMIT or OFFSET 0, and take the locks in the outer select list."
                                 : fmt::format(
                                       "Add ORDER BY {} to the query that delivers the rows: PostgreSQL sorts before it "
                                       "computes the select list, so the locks are taken in that order.",
                                       keyText(site));
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} takes one lock per row, in whatever order the rows arrive. Two sessions whose rows "
                                     "overlap can take the same keys in opposite order and deadlock. {}",
                                     callText(site), remedy));
  if (!aggregated) offerOrderBy(site, in.index, f);
}

// --- one site in a loop ---------------------------------------------------------------------------------------------

// Variables that the call's arguments come from, through a few assignments.
std::set<std::string> feeding(const LockSite& site, const FunctionIndex& index) {
  std::set<std::string> names;
  std::vector<std::string> fresh;
  const auto add = [&](const Expr& e) {
    struct V {
      std::set<std::string>& names;
      std::vector<std::string>& fresh;
      void onExpr(const Expr& x, const QueryLevels&) {
        const std::string& name = x.qualifier.empty() ? x.name : x.qualifier;
        if (x.kind == ExprKind::Column && names.insert(name).second) fresh.push_back(name);
      }
    } v{names, fresh};
    QueryWalker<V>(v).expr(e);
  };
  add(*site.call);
  for (int i = 0; i < kAssignmentsDeep && !fresh.empty() && names.size() < kMostVariables; ++i)
    for (const std::string& name : std::exchange(fresh, {}))
      for (const Assignment& a : index.assignments(name).first(std::min(index.assignments(name).size(), kMostVariables)))
        if (a.value && a.statement && a.statement->context == PlContext::Assign) add(*a.value);
  return names;
}

// The innermost loop around the site whose variable the key depends on.
const Statement* loopOf(const LockSite& site, const FunctionIndex& index) {
  if (site.statement->loop_depth == 0) return nullptr;
  const Statement* loop = nullptr;
  for (const std::string& name : feeding(site, index)) {
    const Statement* s = index.loopOver(name, site.call->range.begin, site.statement->loop_depth);
    if (s && (!loop || s->range.begin > loop->range.begin)) loop = s;
  }
  return loop;
}

// A loop around `inner` whose variable its query or array depends on.
const Statement* loopAround(const Statement& inner, const FunctionIndex& index) {
  if (inner.loop_depth == 0) return nullptr;
  const Statement* loop = nullptr;
  forEachExpr(inner, [&](const Expr& e, const QueryLevels&) {
    if (e.kind != ExprKind::Column) return;
    const Statement* s = index.loopOver(e.qualifier.empty() ? e.name : e.qualifier, inner.range.begin, inner.loop_depth);
    if (s && s != &inner && (!loop || s->range.begin > loop->range.begin)) loop = s;
  });
  return loop;
}

bool endsTransaction(const Block& b) {
  return std::any_of(b.events.begin(), b.events.end(), [](const Event& e) {
    return std::any_of(e.transaction.begin(), e.transaction.end(),
                       [](const TransactionOp& t) { return t.verb == TransactionVerb::Commit || t.verb == TransactionVerb::Rollback; });
  });
}

// Blocks that are reached from `start` over `next` without `outside`.
template <class Next>
std::vector<bool> reached(std::size_t blocks, std::size_t start, std::size_t outside, const Next& next) {
  std::vector<bool> seen(blocks, false);
  std::vector<std::size_t> work{start};
  seen[start] = true;
  while (!work.empty()) {
    const std::size_t b = work.back();
    work.pop_back();
    next(b, [&](std::size_t to) {
      if (to != outside && !seen[to]) seen[to] = true, work.push_back(to);
    });
  }
  return seen;
}

// COMMIT or ROLLBACK in the body of a FOR or FOREACH: in a block that comes back to the head of the loop without entering it anew.
bool endsTransactionIn(const Statement& loop, const FunctionIndex& index) {
  const List<Block>& blocks = index.function().blocks;
  const std::int32_t entry = index.blockOf(loop);
  if (entry < 0 || blocks[static_cast<std::size_t>(entry)].successors.size() != 1) return true;
  const auto before = static_cast<std::size_t>(entry), head = static_cast<std::size_t>(blocks[before].successors[0].target);
  if (head >= blocks.size()) return true;
  std::vector<std::vector<std::size_t>> from(blocks.size());
  const auto forward = [&](std::size_t b, const auto& visit) {
    for (const Edge& e : blocks[b].successors)
      if (e.target >= 0 && static_cast<std::size_t>(e.target) < blocks.size()) visit(static_cast<std::size_t>(e.target));
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) forward(b, [&](std::size_t to) { from[to].push_back(b); });
  const std::vector<bool> behind = reached(blocks.size(), head, before, forward);
  const std::vector<bool> back = reached(blocks.size(), head, before, [&](std::size_t b, const auto& visit) {
    for (const std::size_t p : from[b]) visit(p);
  });
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (behind[b] && back[b] && endsTransaction(blocks[b])) return true;
  return false;
}

bool isWithin(const HostCode& host, std::int32_t call, const HostLoop& loop) {
  for (std::int32_t i = host.calls[static_cast<std::size_t>(call)].loop; i >= 0; i = host.loops[static_cast<std::size_t>(i)].parent)
    if (&host.loops[static_cast<std::size_t>(i)] == &loop) return true;
  return false;
}

// Likewise in a loop of the host program.
bool endsTransactionIn(const HostLoop& loop, const Function& function) {
  const HostCode& host = function.host[0];
  for (const Block& b : function.blocks)
    for (const Event& e : b.events) {
      if (e.host_call < 0 || !isWithin(host, e.host_call, loop)) continue;
      const HostCallKind kind = host.calls[static_cast<std::size_t>(e.host_call)].kind;
      const bool ends = std::any_of(e.transaction.begin(), e.transaction.end(),
                                    [](const TransactionOp& t) { return t.verb == TransactionVerb::Commit || t.verb == TransactionVerb::Rollback; });
      if (ends || kind == HostCallKind::Commit || kind == HostCallKind::Rollback) return true;
    }
  return false;
}

// A release in the loop, or, of transaction locks, the end of the transaction. `loop`: a Statement or a HostLoop; where it is not known, any
// end of a transaction counts.
template <class Loop>
bool givesBack(const LockSite& site, const Context& in, const Loop* loop) {
  if (site.lock->scope != LockScope::Transaction) return in.releases && in.deepest_release >= site.statement->loop_depth;
  if (loop == nullptr || !in.index.endsTransactions()) return in.index.endsTransactions();
  if constexpr (std::is_same_v<Loop, HostLoop>) return endsTransactionIn(*loop, *site.function);
  else return endsTransactionIn(*loop, in.index);
}

// FOR i IN 1..array_length(ids, 1): the array whose elements ids[i] the key is made of.
const Expr* indexedArray(const LockSite& site, const Statement& loop) {
  const Expr* array = nullptr;
  struct V {
    const Statement& loop;
    const Expr*& array;
    void onExpr(const Expr& e, const QueryLevels&) {
      if (e.kind != ExprKind::Subscript || e.args.size() != 2 || loop.into.size() != 1) return;
      if (e.args[1].kind == ExprKind::Column && e.args[1].name == loop.into[0]) array = &e.args[0];
    }
  } v{loop, array};
  QueryWalker<V>(v).expr(*site.call);
  return array;
}

RowOrder loopOrder(const LockSite& site, const Statement& loop, Context& in) {
  if (loop.context == PlContext::ForQuery) {
    if (!loop.query.empty()) return in.orders.of(loop.query[0]);
    for (const Variable& v : in.index.function().variables)  // FOR r IN a_bound_cursor LOOP
      if (v.name == loop.name && !v.query.empty()) return in.orders.of(v.query[0]);
    return RowOrder::Unknown;
  }
  if (const Expr* array = indexedArray(site, loop)) return in.orders.ofArray(*array);
  // FOREACH; the bounds of an integer FOR are numbers and give Unknown.
  if (loop.head != "FOREACH" || loop.query.empty() || loop.query[0].targets.size() != 1) return RowOrder::Unknown;
  return in.orders.ofArray(loop.query[0].targets[0].expr);
}

// A wrapper may be called with the row's values and lock a key of its own all the same.
bool keyComesFromCall(const LockSite& site) {
  if (site.direct()) return true;
  return std::any_of(site.key.parts.begin(), site.key.parts.end(),
                     [](const Value& part) { return contains(part, [](const Value& v) { return v.from_argument; }); });
}

// LOOP FETCH c INTO r; … lock(r.id): the query of the cursor, if the key depends on what is fetched, and the FETCH.
const Query* fetchedInLoop(const LockSite& site, const Context& in, const Statement*& fetch) {
  if (site.statement->loop_depth == 0) return nullptr;
  for (const std::string& name : feeding(site, in.index))
    if (const Statement* s = in.index.fetchInLoop(name)) fetch = s;
  return fetch ? in.index.cursorQuery(fetch->name.str()) : nullptr;
}

bool reportFetchLoop(const LockSite& site, Context& in, Report& report) {
  if (site.key.constant || !keyComesFromCall(site) || givesBack<Statement>(site, in, nullptr)) return false;
  const Statement* fetch = nullptr;
  const Query* query = fetchedInLoop(site, in, fetch);
  if (!query || in.orders.of(*query) != RowOrder::Unordered) return false;
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} takes one lock for each row that a cursor without ORDER BY delivers, and all of them stay held. Two sessions whose "
                                     "keys overlap can take them in opposite order and deadlock. Add ORDER BY the key to the cursor's query.",
                                     callText(site)));
  f.related.push_back(report.place(site.unit, fetch->range, "the rows are fetched here"));
  return true;
}

bool reportLoop(const LockSite& site, Context& in, Report& report) {
  if (site.key.constant || !keyComesFromCall(site)) return false;
  const Statement* loop = loopOf(site, in.index);
  if (!loop || givesBack(site, in, loop)) return false;
  // An ordered loop inside of one that is not: its sets come in any order.
  for (int depth = 0; loop && loopOrder(site, *loop, in) != RowOrder::Unordered; ++depth) loop = depth < 4 ? loopAround(*loop, in.index) : nullptr;
  if (!loop || givesBack(site, in, loop)) return false;
  const bool array = loop->context == PlContext::ForRange;
  Finding& f =
      report.at(site, site.call->range,
                fmt::format("{} takes one lock in each round of a loop over {}, and all of them stay held. Two sessions "
                            "whose keys overlap can take them in opposite order and deadlock. {}",
                            callText(site), array ? "an array that nobody sorted" : "a query without ORDER BY",
                            array ? "Sort first: FOREACH … IN ARRAY ARRAY(SELECT DISTINCT k FROM unnest(…) AS k ORDER BY k)."
                                  : "Add ORDER BY the key to the query of the loop."));
  f.related.push_back(report.place(site.unit, loop->range, array ? "the loop's array" : "the loop's query has no ORDER BY"));
  return true;
}

// --- one site in a loop of the host program -------------------------------------------------------------------------

// `item` names the loop's element or a part of it: "item", "item.id"; `[item, count]` names two.
bool namesElement(const HostLoop& loop, std::string_view name) {
  name = name.substr(0, name.find('.'));
  if (loop.variable == name) return true;
  for (std::size_t at = 0; (at = loop.variable.find(name, at)) != std::string::npos; ++at) {
    const std::size_t end = at + name.size();
    if (at > 0 && (loop.variable[at - 1] == '[' || loop.variable[at - 1] == ' ') && (loop.variable[end] == ',' || loop.variable[end] == ']')) return true;
  }
  return false;
}

// The innermost loop over a container of the host program on whose elements the key depends.
const HostLoop* hostLoopOf(const LockSite& site, const HostCall& call) {
  const std::vector<HostLoop>& loops = site.function->host[0].loops;
  for (std::int32_t i = call.loop; i >= 0; i = loops[static_cast<std::size_t>(i)].parent) {
    const HostLoop& loop = loops[static_cast<std::size_t>(i)];
    const auto isElement = [&](const Value& v) {
      return v.kind == ValueKind::Row && v.relation == kHostSchema && v.unit == site.unit && namesElement(loop, v.name);
    };
    if (std::ranges::any_of(site.key.parts, [&](const Value& part) { return contains(part, isElement); })) return &loop;
  }
  return nullptr;
}

// Of the rows that a loop goes over, or of the container.
bool isUnordered(const LockSite& site, const HostLoop& loop, Context& in) {
  if (loop.order != LoopOrder::Unknown || loop.answer < 0) return loop.order == LoopOrder::Unsorted;
  bool found = false;
  for (const Block& b : site.function->blocks)
    for (const Event& e : b.events)
      for (const Statement& s : e.statement) {
        if (s.host_call != loop.answer || s.kind != StatementKind::Query || s.query.empty()) continue;
        if (in.orders.of(s.query[0]) != RowOrder::Unordered) return false;
        found = true;
      }
  return found;
}

bool reportHostLoop(const LockSite& site, Context& in, Report& report) {
  if (site.key.constant || site.statement->host_call < 0 || site.function->host.empty() || !keyComesFromCall(site)) return false;
  const HostCall& call = site.function->host[0].calls[static_cast<std::size_t>(site.statement->host_call)];
  const HostLoop* loop = hostLoopOf(site, call);
  // A transaction, or a connection, of each round: nothing stays held.
  if (!loop || call.session_in_loop || givesBack(site, in, loop) || !isUnordered(site, *loop, in)) return false;
  const bool rows = loop->order == LoopOrder::Unknown;
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} takes one lock in each round of a loop over {}, and all of them stay held. Nothing says in which order its {} "
                                     "come: two sessions whose keys overlap can take them in opposite order and deadlock. {}",
                                     callText(site), rows ? "the rows of a query without ORDER BY" : loop->container, rows ? "rows" : "elements",
                                     rows ? "Add ORDER BY the key to the query of the loop."
                                          : "Copy the keys to a sorted container first (std::set, or std::sort), without duplicates."));
  f.related.push_back(report.place(site.unit, loop->range, "the loop"));
  return true;
}

// One Context for each function with lock sites.
class Contexts {
 public:
  explicit Contexts(const Program& program) : program_(program), indexes_(program.catalogue) {
    for (const LockSite& s : program.sites) {
      if (!s.function || !s.statement || !s.lock || s.lock->acquires()) continue;
      std::uint32_t& deepest = releases_[s.function];
      deepest = std::max(deepest, s.statement->loop_depth);
    }
  }
  Context& of(const Function& f) {
    const auto found = contexts_.find(&f);
    if (found != contexts_.end()) return found->second;
    const FunctionIndex& index = indexes_.of(f);
    Context made{program_.catalogue, index, RowOrders(&index, program_.catalogue)};
    if (const auto r = releases_.find(&f); r != releases_.end()) made.releases = true, made.deepest_release = r->second;
    return contexts_.emplace(&f, std::move(made)).first->second;
  }

 private:
  const Program& program_;
  FunctionIndexes indexes_;
  std::unordered_map<const Function*, std::uint32_t> releases_;
  std::unordered_map<const Function*, Context> contexts_;
};

void check(const Program& program, Report& report) {
  Contexts contexts(program);
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last) continue;
    if (!site.lock || !site.lock->blocks() || !site.statement || !site.function) continue;
    Context& in = contexts.of(*site.function);
    const auto statement = std::ranges::find_if(
        site.evaluations, [&](const CallEvaluation& c) { return unorderedStatement(site, c.evaluation, in); });
    const bool found = statement != site.evaluations.end();
    if (found) reportStatement(site, statement->evaluation, in, report);
    if (found || reportLoop(site, in, report) || reportFetchLoop(site, in, report) || reportHostLoop(site, in, report)) last = site.call;
  }
}

}  // namespace

const Rule kUnorderedLockSet{
    {
        .code = "AL104",
        .name = "unordered-lock-set",
        .severity = Severity::Warning,
        .summary = "several blocking locks are taken in no defined order",
        .explanation =
            "A query without ORDER BY delivers its rows as the plan likes, and a statement that locks each row takes the "
            "locks in that order; so does a loop over such a query or over an array that nobody sorted. Two sessions with "
            "overlapping sets can take the same keys in opposite order: a deadlock, and PostgreSQL aborts one of them.",
        .remedy = "ORDER BY the key in the query that delivers the rows; sort an array before the loop.",
        .clauses = {"several keys by blocking calls in one statement with no defined order | bad_join.sql",
                    "several keys in an aggregate, whatever its own ORDER BY | bad_aggregate.sql",
                    "several keys of an array that nobody sorted | bad_unnest.sql",
                    "by one site in a loop over a query | bad_loop.sql",
                    "the COMMIT stands behind the loop | bad_commit_behind.sql",
                    "in an ordered loop inside of an unordered one, or by index | bad_nested_loops.sql",
                    "by one site in a loop over an array | bad_foreach.sql", "by one site in a loop that fetches from a cursor | bad_fetch.sql"},
    },
    check};

}  // namespace pglocklint

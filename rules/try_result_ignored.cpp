// # Why the answer of a try function must be read
//
// pg_try_advisory_lock answers false instead of waiting. Nothing else happens: no error, no exception. A script that runs
// `SELECT pg_try_advisory_xact_lock(7)` and then deletes rows deletes them with or without the lock; so does PERFORM, and
// SELECT … INTO a variable that nobody looks at, RAISE NOTICE of it, or an IF that only prints "busy" and goes on.
//
// A bare SELECT in a file is not always a script's: one statement in a file, a named query (`-- name:`), placeholders, \gset
// and \gexec mean that somebody else reads the row. So at the top level we ask for work that follows while the lock would be
// held, and for a file that is certainly run as a script: a transaction of its own around both, a runner that claims it, or
// a session lock. SELECT of a try function as the last statement of a SQL function is its result.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "all_rules.h"
#include "answer_use.h"
#include "function_index.h"
#include "program/walk.h"
#include "routines.h"
#include "wording.h"
#include "work.h"

namespace pglocklint {
namespace {

// The call is the whole value of the expression, through casts, NOT and IS TRUE: nothing in the statement depends on it.
bool isWhole(const Expr& e, const Expr* call) {
  if (&e == call) return true;
  switch (e.kind) {
    case ExprKind::Cast:
    case ExprKind::Not:
    case ExprKind::BoolTest: return !e.args.empty() && isWhole(e.args[0], call);
    default: return false;
  }
}

// Index of the select-list entry that is the call, or -1. SELECT * FROM pg_try_advisory_lock(1) counts as the first.
int targetOf(const Statement& s, const Expr* call) {
  if (s.query.size() != 1 || s.query[0].kind != QueryKind::Select) return -1;
  const Query& q = s.query[0];
  for (std::size_t i = 0; i < q.targets.size(); ++i)
    if (isWhole(q.targets[i].expr, call)) return static_cast<int>(i);
  const bool alone =
      q.targets.size() == 1 && q.targets[0].expr.kind == ExprKind::Star && q.from.size() == 1 && q.where.empty();
  if (alone && q.from[0].kind == FromKind::Function && q.from[0].functions.size() == 1 && &q.from[0].functions[0] == call)
    return 0;
  return -1;
}

// --- scripts
// -----------------------------------------------------------------------------------------------------------------

struct ScriptView {
  bool work_follows = false;    // while the lock would be held
  bool in_transaction = false;  // BEGIN in the script before, COMMIT or ROLLBACK not yet
  bool alone = true;            // the only statement of its script
  SourceRange work;
};

// A script as a row of moments, read once for all its lock calls.
class ScriptTimeline {
 public:
  ScriptTimeline(const Function& script, const Unit& unit, const Catalogue& catalogue) {
    bool in_transaction = false;
    for (const Block& b : script.blocks)
      for (const Event& e : b.events) {
        Moment m;
        for (const TransactionOp& t : e.transaction) {
          m.ends = t.verb == TransactionVerb::Commit || t.verb == TransactionVerb::Rollback ||
                   t.verb == TransactionVerb::PrepareTransaction;
          if (m.ends || t.verb == TransactionVerb::Begin) in_transaction = !m.ends;
        }
        for (const SessionOp& s : e.session) m.leaves_session |= s.verb == SessionVerb::Reconnect || s.verb == SessionVerb::Quit ||
                                                                 s.verb == SessionVerb::Start || s.verb == SessionVerb::End;
        m.work = isWork(e, catalogue);
        m.range = placeOf(e, unit);
        for (const Statement& s : e.statement) at_[&s] = moments_.size(), ++statements_;
        m.in_transaction = in_transaction;
        moments_.push_back(m);
      }
    lookAhead();
  }

  ScriptView from(const LockSite& site) const {
    ScriptView view;
    const auto at = at_.find(site.statement);
    if (at == at_.end()) return view;
    const Moment& m = moments_[at->second];
    view.alone = statements_ == 1;
    view.in_transaction = m.in_transaction;
    const bool until_commit = site.lock->scope == LockScope::Transaction && m.in_transaction;
    const std::size_t over = std::min(m.next_leave, until_commit ? m.next_end : kNone);
    view.work_follows = m.next_work != kNone && m.next_work < over;
    if (view.work_follows) view.work = moments_[m.next_work].range;
    return view;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Moment {
    bool work = false, ends = false, leaves_session = false, in_transaction = false;
    SourceRange range;
    std::size_t next_work = kNone, next_end = kNone, next_leave = kNone;  // the first of each after this one
  };

  void lookAhead() {
    std::size_t work = kNone, end = kNone, leave = kNone;
    for (std::size_t i = moments_.size(); i-- > 0;) {
      Moment& m = moments_[i];
      m.next_work = work, m.next_end = end, m.next_leave = leave;
      if (m.work) work = i;
      if (m.ends) end = i;
      if (m.leaves_session) leave = i;
    }
  }

  std::vector<Moment> moments_;
  std::unordered_map<const Statement*, std::size_t> at_;
  std::size_t statements_ = 0;
};

bool hasPlaceholder(const Statement& s) {
  bool found = false;
  forEachExpr(s, [&](const Expr& e, const QueryLevels&) { found |= e.kind == ExprKind::Param; });
  return found;
}

bool certainlyScript(const LockSite& site, const ScriptView& view, const RunnerFacts& runner) {
  return view.in_transaction || !runner.profile.empty() || runner.transaction != TransactionMode::Unknown ||
         site.lock->scope == LockScope::Session;
}

void checkScript(const LockSite& site, const ScriptTimeline& timeline, Report& report) {
  const Statement& s = *site.statement;
  const RunnerFacts& runner = report.program().units[static_cast<std::size_t>(site.unit)].runner;
  if (s.kind != StatementKind::Query || (!s.consumer.empty() && s.consumer != "shell") || s.query.empty() || carryAnswer(s.query[0], *site.call).decides)
    return;
  if (hasPlaceholder(s) && runner.profile != "psql") return;  // a program fills them in, and reads the answer
  const ScriptView view = timeline.from(site);
  const QueryKind kind = s.query[0].kind;
  const bool works_itself = kind == QueryKind::Update || kind == QueryKind::Delete;  // beside a FROM that asks for the lock
  if (!works_itself && (view.alone || !view.work_follows || !certainlyScript(site, view, runner))) return;
  Finding& f =
      report.at(site, site.call->range,
                fmt::format("{} answers false when somebody else holds the lock, and nothing in this script reads the "
                            "answer: what follows is done with or without the lock. Wait for it instead (the function "
                            "without try_, with lock_timeout set), or test it in a DO block: IF NOT … THEN RAISE EXCEPTION.",
                            callText(site)));
  if (view.work.known() && !works_itself) f.related.push_back(report.place(site.unit, view.work, "done with or without the lock"));
}

// --- functions and DO blocks
// -------------------------------------------------------------------------------------------------

void reportInFunction(const LockSite& site, Report& report, const std::string& how) {
  report.at(
      site, site.call->range,
      fmt::format("{} answers false when somebody else holds the lock, but {}: the work is done with or without the lock. "
                  "Test it (IF NOT {} THEN RETURN; END IF;), or wait for the lock with the function without try_.",
                  callText(site), how, site.call->name + "(…)"));
}

const Statement* lastStatement(const Function& f) {
  for (auto b = f.blocks.rbegin(); b != f.blocks.rend(); ++b)
    for (auto e = b->events.rbegin(); e != b->events.rend(); ++e)
      if (!e->statement.empty()) return &e->statement.back();
  return nullptr;
}

// In a SQL function the last statement's result is the function's; the results of the others are thrown away.
void checkSqlBody(const LockSite& site, Report& report) {
  const Statement& s = *site.statement;
  if (s.query.empty() || &s == lastStatement(*site.function) || carryAnswer(s.query[0], *site.call).decides) return;
  reportInFunction(site, report, "a SQL function throws away the result of every statement but its last");
}

void checkFunction(const LockSite& site, FunctionIndexes& indexes, Report& report) {
  if (site.statement->context != PlContext::None) {
    if (const auto why = whyIgnored(site, indexes.of(*site.function), report.program().catalogue)) reportInFunction(site, report, *why);
  } else if (site.function->language == "sql" && site.function->kind == FunctionKind::Routine) {
    checkSqlBody(site, report);
  }
}

// --- host programs
// ---------------------------------------------------------------------------------------------------------

// Several statements in one string: whose answer the program looks at is not followed.
bool sentAlone(const LockSite& site) {
  int count = 0;
  for (const Block& b : site.function->blocks) {
    const bool here = std::ranges::any_of(b.events, [&](const Event& e) { return !e.statement.empty() && &e.statement[0] == site.statement; });
    if (!here) continue;
    for (const Event& e : b.events) count += !e.statement.empty() && e.statement[0].host_call == site.statement->host_call;
  }
  return count == 1;
}

std::string lookedAtHow(ResultUse use) {
  switch (use) {
    case ResultUse::Ignored: return "the program never looks at it";
    case ResultUse::StatusOnly: return "the program only asks whether the statement ran, which it did either way";
    case ResultUse::RowCountOnly: return "the program only asks whether there is a row, and there is one either way";
    case ResultUse::PointerTested: return "the program tests the pointer to it: the text \"f\" is a pointer too, so the lock always looks obtained";
    case ResultUse::Read:
    case ResultUse::Unknown: break;
  }
  return "";
}

void checkHost(const LockSite& site, Report& report) {
  const Statement& s = *site.statement;
  if (site.routine || s.host_call < 0 || site.function->host.empty() || targetOf(s, site.call) != 0 || !sentAlone(site)) return;
  const HostCall& call = site.function->host[0].calls[static_cast<std::size_t>(s.host_call)];
  const std::string how = lookedAtHow(call.result);
  if (how.empty()) return;
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} answers false when somebody else holds the lock, but {}. Read the value (PQgetvalue(r, 0, 0)[0] == 't', "
                                     "row[0].as<bool>()) and do the work only if it is true, or wait for the lock with the function without try_.",
                                     callText(site), how));
  if (call.result_range.known() && call.result_range.line != site.call->range.line)
    f.related.push_back(report.place(site.unit, call.result_range, "the answer is looked at here, but not its value"));
}

// A wrapper that hands on the answer: RETURN pg_try_advisory_lock(k), or SELECT of it in a SQL function.
bool handsOnTheAnswer(const LockSite& site) {
  if (!site.inner || !site.inner->statement || !site.routine->function || site.routine->function->returns != "boolean")
    return false;
  const Statement& s = *site.inner->statement;
  const bool returned = s.context == PlContext::Return || (s.context == PlContext::None && site.routine->inline_body);
  return returned && targetOf(s, site.inner->call) >= 0 && !s.query[0].targets.empty();
}

void check(const Program& program, Report& report) {
  FunctionIndexes indexes(program.catalogue);
  std::unordered_map<const Function*, ScriptTimeline> timelines;
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || site.call == last || !site.function || !site.statement) continue;
    if (!site.lock || site.lock->operation != LockOperation::Try || (site.routine && !handsOnTheAnswer(site))) continue;
    last = site.call;
    if (site.function->kind == FunctionKind::HostFunction) {
      checkHost(site, report);
    } else if (site.function->kind == FunctionKind::Script) {
      const Unit& unit = program.units[static_cast<std::size_t>(site.unit)];
      checkScript(site, timelines.try_emplace(site.function, *site.function, unit, program.catalogue).first->second, report);
    } else if (site.function->kind != FunctionKind::NamedQuery && site.function->kind != FunctionKind::DownScript) {
      checkFunction(site, indexes, report);
    }
  }
}

}  // namespace

const Rule kTryResultIgnored{
    {
        .code = "AL309",
        .name = "try-result-ignored",
        .severity = Severity::Error,
        .summary = "the boolean of a try function decides nothing",
        .explanation =
            "pg_try_advisory_lock and its relatives do not wait and raise no error: they answer false when the lock is "
            "taken. Where nobody reads the answer, the work that follows is done whether the lock was obtained or not. "
            "PERFORM throws the answer away, a script prints it, and a variable that is never read hides it.",
        .remedy = "Test the answer and leave, or wait for the lock with the function without try_, bounded by lock_timeout.",
        .clauses = {"a bare SELECT in a script, when another statement follows | bad_script.sql",
                    "beside the work in one statement | bad_using.sql",
                    "PERFORM | bad_perform.sql", "an unused INTO variable | bad_into.sql",
                    "an assigned variable that is never read | bad_assign.sql",
                    "a value in DECLARE that is never read | bad_declare.sql",
                    "an answer that is only printed, or tested by an IF that changes nothing | bad_only_printed.sql",
                    "a loop that gives up and goes on | bad_gives_up.sql",
                    "a variable that is overwritten | bad_overwritten.sql", "a column or field that nobody reads | bad_unread_column.sql",
                    "not the last statement of a SQL function | bad_sql_function.sql"},
    },
    check};

}  // namespace pglocklint

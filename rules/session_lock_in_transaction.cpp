// # Why a lock for one transaction should be a transaction lock
//
// A session lock that is taken for one transaction and released after it does what pg_advisory_xact_lock does, and needs a release on every
// way out: when a statement of the transaction fails, the script stops, or the pool takes the connection back, the lock stays. A transaction
// lock goes with the transaction, however it ends.
//
// A note, in scripts: the lock is taken before BEGIN or at the head of the transaction, released after COMMIT, and nothing else is done between
// lock and release. Silent under REPEATABLE READ and SERIALIZABLE: there the lock must be taken before the snapshot. Silent too where the
// transaction itself takes long by design (pg_sleep, a program outside), and where the release comes before COMMIT, which is
// unlock-before-commit.
#include <algorithm>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"
#include "work.h"

namespace pglocklint {
namespace {

struct Step {
  const Event* event = nullptr;
  std::size_t block = 0;
};

std::vector<Step> stepsOf(const Function& f) {
  std::vector<Step> steps;
  for (std::size_t b = 0; b < f.blocks.size(); ++b)
    for (const Event& e : f.blocks[b].events) steps.push_back({&e, b});
  return steps;
}

std::size_t stepOf(const std::vector<Step>& steps, const Statement* s) {
  return static_cast<std::size_t>(std::find_if(steps.begin(), steps.end(), [&](const Step& x) {
                                    return !x.event->statement.empty() && &x.event->statement[0] == s;
                                  }) - steps.begin());
}

// Control reaches `to` from `from` and from nowhere else.
bool leadsOnlyTo(const Function& f, std::size_t from, std::size_t to) {
  if (from == to) return true;
  bool found = false;
  for (std::size_t b = 0; b < f.blocks.size(); ++b)
    for (const Edge& e : f.blocks[b].successors)
      if (static_cast<std::size_t>(e.target) == to) {
        if (b != from) return false;
        found = true;
      }
  return found;
}

const TransactionOp* onlyTransaction(const std::vector<Step>& steps, std::size_t first, std::size_t last, const Catalogue& catalogue, std::size_t acquired) {
  const TransactionOp* begin = nullptr;
  bool open = false, committed = false;
  for (std::size_t i = first; i <= last; ++i) {
    const Event& e = *steps[i].event;
    if (!e.session.empty()) return nullptr;
    for (const Setting& s : e.setting)
      if (s.name.find("isolation") != std::string::npos) return nullptr;
    for (const TransactionOp& t : e.transaction) {
      const bool read_committed = t.isolation.empty() || t.isolation == "read committed";
      if (!read_committed || t.chain) return nullptr;
      switch (t.verb) {
        case TransactionVerb::Begin:
          if (begin != nullptr) return nullptr;
          begin = &t, open = true;
          break;
        case TransactionVerb::Commit:
          if (!open) return nullptr;
          open = false, committed = true;
          break;
        case TransactionVerb::SetTransaction: break;
        default: return nullptr;
      }
    }
    if (!open && isWork(e, catalogue)) return nullptr;                      // done under the lock, but outside of the transaction
    if (open && i < acquired && isWork(e, catalogue)) return nullptr;       // done before the lock
  }
  return committed && !open ? begin : nullptr;
}

// From BEGIN, if that stands right before the lock in the same block.
std::size_t beginBefore(const std::vector<Step>& steps, std::size_t acquired) {
  for (std::size_t i = acquired; i-- > 0 && steps[i].block == steps[acquired].block;)
    for (const TransactionOp& t : steps[i].event->transaction) return t.verb == TransactionVerb::Begin ? i : acquired;
  return acquired;
}

bool waits(const FunctionLocks& f, const SourceRange& from, const SourceRange& to) {
  return std::any_of(f.waits.begin(), f.waits.end(), [&](const IdleWait& w) { return w.range.begin > from.begin && w.range.begin < to.begin; });
}

void checkLock(const LockEvent& e, const FunctionLocks& f, const std::vector<Step>& steps, const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  const LockEvent* release = nullptr;
  for (const EventId id : f.events) {
    const LockEvent& other = locks.event(id);
    if (&other == &e || other.key != e.key || other.lock == nullptr || other.lock->mode != e.lock->mode) continue;
    if (other.acquires() || (release != nullptr && other.range.begin > e.range.begin)) return;  // more than a pair
    if (other.range.begin > e.range.begin) release = &other;
  }
  if (release == nullptr || release->kind != LockEventKind::Release) return;
  const std::size_t acquired = stepOf(steps, e.statement), released = stepOf(steps, release->statement);
  if (acquired >= released || released >= steps.size()) return;
  for (std::size_t i = acquired; i <= released; ++i)
    if (steps[i].block != steps[acquired].block && steps[i].block != steps[released].block) return;
  if (!leadsOnlyTo(*f.function, steps[acquired].block, steps[released].block) || waits(f, e.range, release->range)) return;
  const std::size_t first = beginBefore(steps, acquired);
  const TransactionOp* begin = onlyTransaction(steps, first, released, program.catalogue, acquired);
  if (begin == nullptr) return;
  Finding& finding = reportAt(report, e, e.range,
                              fmt::format("{} is held for one transaction, and outlives it until it is unlocked: when a statement in between fails, or the connection goes "
                                          "back to a pool, it stays. Take it inside of the transaction with {}: COMMIT and ROLLBACK release it.",
                                          eventText(locks, e), e.lock->mode == LockMode::Shared ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock"));
  addTaken(report, finding, e);
  addStep(report, finding, f.unit, begin->range, "the one transaction under it");
  addStep(report, finding, f.unit, release->range, "released here");
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f) || !isScript(f)) continue;
    const std::vector<Step> steps = stepsOf(*f.function);
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      if (e.acquires() && e.lock->scope == LockScope::Session && e.key != kUnknownKey && locks.keys.at(e.key).exact && !e.per_row)
        checkLock(e, f, steps, program, report);
    }
  }
}

}  // namespace

const Rule kSessionLockInTransaction{
    {
        .code = "AL305",
        .name = "session-lock-in-transaction",
        .severity = Severity::Note,
        .summary = "a session lock is held for exactly one transaction",
        .explanation = "A session lock that brackets one transaction has to be released on every way out: an error, a script that stops, a connection that goes back to its "
                       "pool leave it held. A transaction lock covers the same work and ends with the transaction. Under REPEATABLE READ the session lock before BEGIN is "
                       "right, because the lock call itself would take the snapshot; not reported.",
        .remedy = "pg_advisory_xact_lock as the first statement of the transaction, and no unlock.",
        .clauses = {"session lock held for exactly one transaction | bad.sql", "short READ COMMITTED transaction | good.sql", "use the xact form | bad_inside.sql"},
    },
    check};

}  // namespace pglocklint

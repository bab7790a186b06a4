// # Why a lock does not make an old snapshot new
//
// Under REPEATABLE READ a transaction reads all its statements from one snapshot, taken by its first query: and the query that waits for the lock is
// one. After the wait it still sees the rows as they were before the other session's work. A STABLE (or IMMUTABLE) function has the same
// trouble in any isolation: its queries use the snapshot of the statement that called it, which is older than the lock.
//
// READ COMMITTED takes a new snapshot for each statement, and each statement of a VOLATILE function has its own: silent. Reported at
// the lock call when a statement after it reads a relation. SERIALIZABLE is left out: its conflicts end in an error.
//
// One statement has one snapshot, also in READ COMMITTED: a lock inside of an INSERT that looks for the highest number, or whether the row is there
// already, waits and then looks at the past. Reported where the statement reads the relation that it writes; the row that an UPDATE or DELETE changes is
// itself read anew after a wait, so only its sub-selects count, and ON CONFLICT settles the matter otherwise.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"
#include "program/walk.h"
#include "wording.h"

namespace pglocklint {
namespace {

bool changesData(const Query& q) { return q.kind != QueryKind::Select && q.kind != QueryKind::Values && q.kind != QueryKind::SetOperation; }

// Where the statement reads the relation that it writes by its snapshot alone.
const FromItem* readsItsTarget(const Query& q) {
  struct V {
    const Query& top;
    const FromItem* found = nullptr;
    void onFrom(const FromItem& f, const QueryLevels& levels) {
      const FromItem& target = top.target;
      const bool itself = &f == &target || (levels.size() == 1 && top.kind != QueryKind::Insert);
      if (f.kind == FromKind::Relation && f.name == target.name && !itself && found == nullptr) found = &f;
    }
  } v{q};
  if (q.target->name.empty() || q.conflict != ConflictAction::None) return nullptr;
  QueryWalker<V>(v).query(q);
  return v.found;
}

void checkOneStatement(const Program& program, Report& report) {
  for (const LockSite& site : program.sites) {
    if (!site.live || !site.direct() || site.host != SiteHost::Statement || !site.lock || !site.lock->blocks() || !site.statement) continue;
    const Statement& s = *site.statement;
    if (s.kind != StatementKind::Query || s.query.size() != 1 || !changesData(s.query[0])) continue;
    const Evaluation* e = site.evaluation();
    if (e != nullptr && e->runs == Runs::Never) continue;
    const FromItem* read = readsItsTarget(s.query[0]);
    if (read == nullptr) continue;
    Finding& finding = report.at(site, site.call->range,
                                 fmt::format("{} waits inside of the statement that reads {}: the statement's snapshot is taken before the wait, so it does not see what the other "
                                             "session has written meanwhile. Take the lock in a statement of its own, before this one.", callText(site), read->name));
    addStep(report, finding, site.unit, read->range, "read from the snapshot taken before the wait");
  }
}

void check(const Program& program, Report& report) {
  checkOneStatement(program, report);
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const auto& [id, read] : f.read_after) {
      const LockEvent& e = locks.event(id);
      const bool waits = e.kind != LockEventKind::Try;
      Finding& finding = reportAt(
          report, e, e.range,
          isClient(f) ? fmt::format("{} {} under REPEATABLE READ: the transaction's snapshot is taken before the {}, so what is read after it is older than the "
                                    "lock. Use READ COMMITTED, or take a session lock before BEGIN and release it after COMMIT.", eventText(locks, e), waits ? "waits" : "asks for a lock", waits ? "wait" : "answer")
                      : fmt::format("{} {} in a function that is not VOLATILE: its queries use the snapshot of the statement that called it, which is older than the "
                                    "lock. Declare the function VOLATILE.", eventText(locks, e), waits ? "waits" : "asks for a lock"));
      addTaken(report, finding, e, waits ? "waits here" : "taken here");
      addStep(report, finding, f.unit, read, fmt::format("reads from the snapshot taken before the {}", waits ? "wait" : "lock"));
      if (!isClient(f) && f.function->volatility_range.known())
        finding.related.push_back(report.place(f.unit, f.function->volatility_range, "declared here"));
    }
  }
}

}  // namespace

const Rule kStaleSnapshot{
    {
        .code = "AL501",
        .name = "stale-snapshot",
        .severity = Severity::Error,
        .summary = "what is read under the lock is older than the lock",
        .explanation =
            "A REPEATABLE READ transaction, a STABLE function in any transaction, and the very statement that takes the lock read from a snapshot that is taken before the lock "
            "call waits. What the other session has committed meanwhile is not seen, so the check under the lock checks the past.",
        .remedy = "Use READ COMMITTED, or take the lock before the transaction begins (session lock, released after COMMIT). Declare functions that lock VOLATILE.",
        .clauses = {"a read after the lock uses an older snapshot (REPEATABLE READ) | bad_repeatable_read.sql",
                    "a read after the lock uses an older snapshot (STABLE function) | bad_stable.sql",
                    "shares the lock's statement and is not re-checked on the row version written | bad_one_statement.sql"},
    },
    check};

}  // namespace pglocklint

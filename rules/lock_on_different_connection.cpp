// # Why a lock is no use to another connection
//
// A session lock belongs to the session that took it: a psql process, a connection. `psql -c "SELECT pg_advisory_lock(1)"` takes the
// lock and gives it back before the shell goes on to the next line, because psql has ended; the unlock in a later psql warns
// and returns false. `\c` in a script is the same: another session.
//
// In scripts the rule looks at locks after which their own session does nothing more, although a later session of the same script
// releases that key or does the work. A lock that its own session still works under is none, nor is one with no work after it: a
// script may take and drop a lock only to wait for its holder.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "all_rules.h"
#include "sessions.h"
#include "wording.h"
#include "work.h"

namespace pglocklint {
namespace {

struct Sites {
  std::unordered_map<const Statement*, std::vector<const LockSite*>> by_statement;
};

bool sameKey(const LockSite& a, const LockSite& b) {
  return a.key.form == b.key.form && a.key.form != KeyForm::Unknown && a.key.class_text == b.key.class_text;
}

const LockSite* releaseOf(const LockSite& lock, const Event& event, const Sites& sites) {
  for (const Statement& s : event.statement) {
    const auto here = sites.by_statement.find(&s);
    if (here == sites.by_statement.end()) continue;
    for (const LockSite* other : here->second)
      if (other->lock->operation == LockOperation::ReleaseAll || (other->lock->operation == LockOperation::Release && sameKey(lock, *other)))
        return other;
  }
  return nullptr;
}

void checkLock(const LockSite& site, const ScriptSessions& script, const Sites& sites, Report& report) {
  const int found = script.momentOf(site.statement);
  if (found < 0) return;
  const std::vector<Moment>& moments = script.moments();
  const int session = moments[static_cast<std::size_t>(found)].session;
  const Catalogue& catalogue = report.program().catalogue;
  const Unit& unit = report.program().units[static_cast<std::size_t>(site.unit)];
  const SessionOp* end = script.session(session).ended_by;
  if (!end) return;
  const Event* work = nullptr;
  const LockSite* release = nullptr;
  for (std::size_t i = static_cast<std::size_t>(found) + 1; i < moments.size() && !release; ++i) {
    const Event& event = *moments[i].event;
    const LockSite* released = releaseOf(site, event, sites);
    if (moments[i].session == session) {
      if (released || isWork(event, catalogue)) return;
      continue;
    }
    release = released;
    if (!release && !work && isWork(event, catalogue)) work = &event;
  }
  if (!release && !work) return;
  const bool reconnect = end->verb == SessionVerb::Reconnect;
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} takes a lock of this session, and the session ends {}: the lock is gone before {}. {}", callText(site),
                                     reconnect ? "at \\c" : "when this psql does",
                                     work ? "the work begins" : "it is released, and the release only warns",
                                     reconnect ? "Take the lock on the connection that does the work."
                                               : "Give lock and work to one psql, for example psql -c 'SELECT pg_advisory_lock(…)' -f work.sql."));
  if (reconnect) f.related.push_back(report.place(site.unit, end->range, "another session begins here"));
  if (work) f.related.push_back(report.place(site.unit, placeOf(*work, unit), "done in another session, without the lock"));
  if (release) f.related.push_back(report.place(site.unit, release->call->range, "another session: there is nothing to release"));
}

void check(const Program& program, Report& report) {
  Sites sites;
  for (const LockSite& site : program.sites)
    if (site.live && site.host == SiteHost::Statement && site.statement && site.lock) sites.by_statement[site.statement].push_back(&site);
  std::unordered_map<const Function*, ScriptSessions> scripts;
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || !site.function || !site.statement || !site.lock || site.call == last) continue;
    if (site.function->kind != FunctionKind::Script || !site.lock->acquires() || site.lock->scope != LockScope::Session) continue;
    last = site.call;
    checkLock(site, scripts.try_emplace(site.function, *site.function).first->second, sites, report);
  }
}

}  // namespace

const Rule kLockOnDifferentConnection{
    {
        .code = "AL308",
        .name = "lock-on-different-connection",
        .severity = Severity::Error,
        .summary = "taken and released, or taken and relied on, over different sessions",
        .explanation =
            "A session lock belongs to the connection that took it and goes when that connection ends. Each psql process is a "
            "session of its own, and so is what follows \\c in a script: work or an unlock there does not have the lock, and "
            "the unlock returns false with a warning.",
        .remedy = "Take the lock, do the work and release the lock over one connection: one psql, one checkout from the pool.",
        .clauses = {"taken and released over different sessions | bad.sh",
                    "taken and relied on over different sessions | bad_reconnect.sql"},
    },
    check};

}  // namespace pglocklint

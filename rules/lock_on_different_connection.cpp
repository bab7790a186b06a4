// # Why a lock is no use to another connection
//
// A session lock belongs to the session that took it: a psql process, a connection. `psql -c "SELECT pg_advisory_lock(1)"` takes the
// lock and gives it back before the shell goes on to the next line, because psql has ended; the unlock in a later psql warns
// and returns false. `\c` in a script is the same: another session.
//
// In scripts the rule looks at locks after which their own session does nothing more, although a later session of the same script
// releases that key or does the work. A lock that its own session still works under is none, nor is one with no work after it: a
// script may take and drop a lock only to wait for its holder.
//
// In C++ it looks at functions that take sessions for themselves (a pool's checkout, a helper that checks one out for each statement): a
// lock whose own session neither works under it nor releases it, although another session of the same function does.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "all_rules.h"
#include "program/host_paths.h"
#include "program/script_sessions.h"
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

// What a script does, by moment, so that what comes after a lock is found without reading on from each.
class ScriptDeeds {
 public:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  struct Release {
    std::size_t moment = 0, number = 0;  // number: in written order
    const LockSite* site = nullptr;
  };

  ScriptDeeds(const ScriptSessions& script, const Sites& sites, const Catalogue& catalogue) {
    for (std::size_t i = 0; i < script.moments().size(); ++i) {
      const Event& event = *script.moments()[i].event;
      if (isWork(event, catalogue)) work_.push_back(i);
      for (const Statement& s : event.statement)
        if (const auto here = sites.by_statement.find(&s); here != sites.by_statement.end())
          for (const LockSite* site : here->second) add(*site, i);
    }
  }

  // The first work after moment `after`; kNone if there is none.
  std::size_t workAfter(std::size_t after) const {
    const auto found = std::upper_bound(work_.begin(), work_.end(), after);
    return found == work_.end() ? kNone : *found;
  }

  // The first release of the lock's key after that moment; without a site if there is none.
  Release releaseAfter(const LockSite& lock, std::size_t after) const {
    Release first = firstAfter(all_, after);
    if (const auto of_key = of_key_.find(keyOf(lock)); of_key != of_key_.end())
      if (const Release r = firstAfter(of_key->second, after); r.site && (!first.site || r.number < first.number)) first = r;
    return first;
  }

 private:
  using Key = std::pair<KeyForm, std::string>;
  static Key keyOf(const LockSite& site) { return {site.key.form, site.key.class_text}; }

  void add(const LockSite& site, std::size_t moment) {
    const Release release{moment, count_++, &site};
    if (site.lock->operation == LockOperation::ReleaseAll) all_.push_back(release);
    else if (site.lock->operation == LockOperation::Release && site.key.form != KeyForm::Unknown) of_key_[keyOf(site)].push_back(release);
  }

  static Release firstAfter(const std::vector<Release>& releases, std::size_t after) {
    const auto found = std::upper_bound(releases.begin(), releases.end(), after, [](std::size_t moment, const Release& r) { return moment < r.moment; });
    return found == releases.end() ? Release{} : *found;
  }

  std::vector<std::size_t> work_;
  std::vector<Release> all_;
  std::map<Key, std::vector<Release>> of_key_;
  std::size_t count_ = 0;
};

void checkLock(const LockSite& site, const ScriptSessions& script, std::size_t moment, const ScriptDeeds& deeds, Report& report) {
  const std::vector<Moment>& moments = script.moments();
  const int session = moments[moment].session;
  const SessionOp* end = script.session(session).ended_by;
  if (!end) return;
  const Unit& unit = report.program().units[static_cast<std::size_t>(site.unit)];
  const std::size_t next_work = deeds.workAfter(moment);
  const ScriptDeeds::Release next_release = deeds.releaseAfter(site, moment);
  const LockSite* release = next_release.site;
  if (!release && next_work == ScriptDeeds::kNone) return;
  if (release && moments[next_release.moment].session == session) return;
  const Event* work = nullptr;
  if (next_work != ScriptDeeds::kNone) {
    if (moments[next_work].session == session) return;
    if (!release || next_work < next_release.moment) work = moments[next_work].event;
  }
  const bool reconnect = end->verb == SessionVerb::Reconnect;
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} takes a lock of this session, and the session ends {}: the lock is gone before {}. {}", callText(site),
                                     reconnect ? "at \\c" : "when this psql does",
                                     work ? "the work begins" : "it is released, and the release only warns",
                                     reconnect ? "Take the lock on the connection that does the work."
                                               : "Give lock and work to one psql, for example psql -c 'SELECT pg_advisory_lock(…)' -f work.sql."));
  if (reconnect) f.related.push_back(report.place(site.unit, end->range, "another session begins here"));
  if (work) f.related.push_back(report.place(site.unit, placeOf(*work, unit), "done in another session, without the lock"));
  if (release) {
    f.related.push_back(report.place(site.unit, release->call->range, "another session: there is nothing to release"));
    report.alsoAbout(f, site.unit, release->call->range);
  }
}

// What a host function does on sessions that it takes for itself: its lock calls and its work, in written order.
struct HostDeed {
  const LockSite* site = nullptr;  // null: work
  SourceRange range;
  std::string session;
};

std::vector<HostDeed> deedsOf(const Function& f, HostPaths& paths, const Sites& sites, const Catalogue& catalogue) {
  std::vector<HostDeed> deeds;
  for (const Block& b : f.blocks)
    for (const Event& e : b.events)
      for (const Statement& s : e.statement) {
        if (s.host_call < 0) continue;
        const std::string session = paths.sessionOf(f, s.host_call);
        if (!isLocalPath(session)) continue;
        if (const auto here = sites.by_statement.find(&s); here != sites.by_statement.end())
          for (const LockSite* site : here->second) deeds.push_back({site, site->call->range, session});
        else if (s.kind != StatementKind::HostCall && isWork(s, catalogue)) deeds.push_back({nullptr, s.range, session});
      }
  std::sort(deeds.begin(), deeds.end(), [](const HostDeed& a, const HostDeed& b) { return a.range.begin < b.range.begin; });
  return deeds;
}

void checkHost(const Function& f, HostPaths& paths, const Sites& sites, Report& report) {
  const std::vector<HostDeed> deeds = deedsOf(f, paths, sites, report.program().catalogue);
  for (std::size_t i = 0; i < deeds.size(); ++i) {
    const LockSite* lock = deeds[i].site;
    if (lock == nullptr || !lock->live || !lock->lock->acquires() || lock->lock->scope != LockScope::Session) continue;
    const HostDeed *release = nullptr, *work = nullptr;
    bool used = false;  // its own session works under it, or releases it
    for (std::size_t k = i + 1; k < deeds.size() && !used; ++k) {
      const HostDeed& d = deeds[k];
      const bool frees = d.site != nullptr && (d.site->lock->operation == LockOperation::ReleaseAll ||
                                               (d.site->lock->operation == LockOperation::Release && sameKey(*lock, *d.site)));
      const bool own = sameSession(d.session, deeds[i].session);
      if (own && (frees || d.site == nullptr)) used = true;
      else if (!own && frees && !release) release = &d;
      else if (!own && d.site == nullptr && !work) work = &d;
    }
    if (used || (!release && !work)) continue;
    Finding& finding = report.at(
        *lock, lock->call->range,
        fmt::format("{} takes a lock on one connection, and {} on another: each checkout may be another session, so the lock protects nothing there, and the "
                    "release only warns while the lock goes back to the pool with its connection. Check out one connection for lock, work and release.",
                    callText(*lock), release ? "it is released" : "the work is done"));
    if (work) finding.related.push_back(report.place(lock->unit, work->range, "done on another connection, without the lock"));
    if (release) finding.related.push_back(report.place(lock->unit, release->range, "another connection: there is nothing to release"));
  }
}

void check(const Program& program, Report& report) {
  Sites sites;
  for (const LockSite& site : program.sites)
    if (site.live && site.host == SiteHost::Statement && site.statement && site.lock) sites.by_statement[site.statement].push_back(&site);
  HostPaths paths(program);
  std::unordered_set<const Function*> hosts;
  for (const LockSite& site : program.sites)
    if (site.live && site.direct() && site.function && site.function->kind == FunctionKind::HostFunction && site.statement && hosts.insert(site.function).second)
      checkHost(*site.function, paths, sites, report);
  std::unordered_map<const Function*, ScriptDeeds> deeds;
  forEachSessionLock(program, [&](const LockSite& site, const ScriptSessions& script, std::size_t moment) {
    checkLock(site, script, moment, deeds.try_emplace(site.function, script, sites, program.catalogue).first->second, report);
  });
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
            "the unlock returns false with a warning. So is each checkout from a pool in C++.",
        .remedy = "Take the lock, do the work and release the lock over one connection: one psql, one checkout from the pool.",
        .clauses = {"taken and released over different sessions | bad.sh",
                    "taken and relied on over different sessions | bad_reconnect.sql"},
    },
    check};

}  // namespace pglocklint

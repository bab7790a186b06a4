// # Why an advisory lock needs one host
//
// Advisory locks live in the shared memory of one server. They are not replicated, and a standby gives them out as well (the manual's "Hot
// Standby" lists them among what is allowed). Two processes whose connection strings name several hosts may be connected to two of
// them: each gets "the" lock, and both work.
//
// Reported where a connection string names several hosts and does not ask for the primary, or asks for a standby. target_session_attrs
// read-write and primary are sound; so is one host. Where a connection leads that is not written down nobody knows: silent.
#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "all_rules.h"
#include "program/connections.h"
#include "program/host_connections.h"
#include "program/host_paths.h"
#include "program/script_sessions.h"
#include "wording.h"

namespace pglocklint {
namespace {

// Why the session may not be on the primary, to finish "the connection …"; empty if it is, or if that is not known.
std::string whyNotPrimary(const ConnectionTarget& t) {
  constexpr std::array<std::string_view, 3> kStandby = {"standby", "read-only", "prefer-standby"};
  const std::string& wanted = t.target_session_attrs;
  if (std::find(kStandby.begin(), kStandby.end(), wanted) != kStandby.end()) return fmt::format("asks for a standby (target_session_attrs={})", wanted);
  if (t.host_known && t.host.find(".cluster-ro-") != std::string::npos) return "leads to the reader endpoint of a cluster";
  if (t.several_hosts && t.host_known && (wanted.empty() || wanted == "any"))
    return fmt::format("takes whichever of the hosts {} answers", t.host);
  return "";
}

void reportSite(const LockSite& site, const std::string& why, int unit, const SourceRange& connection, Report& report) {
  Finding& f = report.at(site, site.call->range,
                         fmt::format("{} takes a lock that only one server knows, and the connection {}: locks are not replicated, and a standby gives them out "
                                     "too, so two processes on two hosts both hold it. Connect with target_session_attrs=read-write.",
                                     callText(site), why));
  if (connection.known()) f.related.push_back(report.place(unit, connection, "the connection"));
}

// Several calls may open the connection of one function.
void checkHost(const LockSite& site, HostPaths& paths, HostConnections& connections, Report& report) {
  for (const HostConnection& c : connections.of(*site.function, paths.sessionOf(*site.function, site.statement->host_call)))
    if (const std::string why = whyNotPrimary(connectionTarget(HostConnections::textOf(*c.call))); !why.empty())
      return reportSite(site, why, c.unit, c.call->range, report);
}

void check(const Program& program, Report& report) {
  ProgramSessions sessions(program);
  HostPaths paths(program);
  HostConnections connections(program, paths);
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || !site.function || !site.statement || !site.lock || site.call == last) continue;
    if (!site.lock->acquires()) continue;
    last = site.call;
    if (site.function->kind == FunctionKind::HostFunction && site.direct()) checkHost(site, paths, connections, report);
    if (site.function->kind != FunctionKind::Script) continue;
    for (const ScriptSession& session : sessions.of(site))
      if (const std::string why = whyNotPrimary(connectionTarget(session.target)); !why.empty()) {
        reportSite(site, why, session.unit, session.begun_by ? session.begun_by->range : SourceRange{}, report);
        break;
      }
  }
}

}  // namespace

const Rule kLockOnAnyHost{
    {
        .code = "AL314",
        .name = "lock-on-any-host",
        .severity = Severity::Warning,
        .summary = "the lock is taken on whichever host answers, or on a standby",
        .explanation = "An advisory lock is known to one server only: it is not replicated, and a standby grants it independently of the primary. With several hosts in "
                       "the connection string and no demand for the primary, two processes may lock on two servers and both go on.",
        .remedy = "Ask for the primary: target_session_attrs=read-write (or primary) in the connection string, PGTARGETSESSIONATTRS in the environment.",
        .proof = "It takes two servers, a primary and a standby; an isolation test has one.",
        .clauses = {"session may be on any of several hosts | bad.sh", "session may be on a standby | bad_standby.sh", "by \\c | bad_reconnect.sql",
                    "the file that the session runs | bad_file"},
    },
    check};

}  // namespace pglocklint

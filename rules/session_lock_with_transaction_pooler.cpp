// # Why a session lock does not survive a transaction pooler
//
// A pooler in transaction mode gives a client a server connection for one transaction and may give it another for the next. A session
// lock stays with the server connection: the work and the unlock go elsewhere (the unlock warns and returns false), the lock
// outlives the client, and another client of the same server connection "holds" it and is granted it again (measured with pgbouncer; its
// server_reset_query is not run in transaction mode). Transaction locks inside BEGIN … COMMIT are sound.
//
// A connection is matched with the configurations of poolers in the tree by port, host, database and user. Where it leads nobody can
// tell from here ("$DATABASE_URL"), it is a warning; a connection to the server's own port is none.
#include <fmt/format.h>

#include "all_rules.h"
#include "program/connections.h"
#include "program/host_connections.h"
#include "program/script_sessions.h"
#include "wording.h"

namespace pglocklint {
namespace {

std::string nameOfPooler(const PoolerFinding& found) {
  return found.pooler ? fmt::format("{} in {}", found.pooler->program, found.pooler->file) : "its provider's pooler";
}

void reportSite(const LockSite& site, const PoolerFinding& found, int unit, const SourceRange& connection, Report& report) {
  const bool certain = found.match == PoolerMatch::Certain;
  Finding& f = report.at(
      site, site.call->range,
      fmt::format("{} takes a session lock, and {} {}, in {} mode: the next {} may run on another server connection, so the work and the "
                  "unlock do not have the lock, and the lock stays behind. Use pg_advisory_xact_lock in the transaction that does the work, or "
                  "connect to the server directly.",
                  callText(site), certain ? "the connection goes through" : "the connection, which is not known here, may go through",
                  nameOfPooler(found), nameOf(found.mode), found.mode == PoolMode::Statement ? "statement" : "transaction"));
  if (!certain) f.severity = Severity::Warning;
  if (connection.known()) f.related.push_back(report.place(unit, connection, "the connection"));
  if (found.pool && !found.pool->mode_at.file.empty()) f.related.push_back({found.pool->mode_at, "the pooler's mode"});
}

PoolerFinding poolerOf(const std::string& connection, const Program& program) {
  const ConnectionTarget target = connectionTarget(connection);
  PoolerFinding found = findPooler(target, program.poolers);
  // What the project says of all its connections decides where the text does not.
  if (found.match == PoolerMatch::Certain || !(target.unknown || !target.port_known)) return found;
  if (program.pooler_mode == "transaction" || program.pooler_mode == "statement") {
    found.match = PoolerMatch::Certain;
    found.mode = program.pooler_mode == "statement" ? PoolMode::Statement : PoolMode::Transaction;
  } else if (!program.pooler_mode.empty()) {
    found.match = PoolerMatch::None;
  }
  return found;
}

// Several calls may open the connection of one function: the surest of them is reported.
void checkHost(const LockSite& site, HostPaths& paths, HostConnections& connections, Report& report) {
  PoolerFinding worst;
  const HostConnection* through = nullptr;
  const std::vector<HostConnection> all = connections.of(*site.function, paths.sessionOf(*site.function, site.statement->host_call));
  for (const HostConnection& c : all) {
    const PoolerFinding found = poolerOf(HostConnections::textOf(*c.call), report.program());
    const bool surer = found.match == PoolerMatch::Certain && worst.match != PoolerMatch::Certain;
    if (found.match != PoolerMatch::None && (through == nullptr || surer)) worst = found, through = &c;
  }
  if (through != nullptr) reportSite(site, worst, through->unit, through->call->range, report);
}

void check(const Program& program, Report& report) {
  ProgramSessions sessions(program);
  HostPaths paths(program);
  HostConnections connections(program, paths);
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || !site.direct() || site.host != SiteHost::Statement || !site.function || !site.statement || !site.lock || site.call == last) continue;
    if (site.function->kind != FunctionKind::HostFunction || !site.lock->acquires() || site.lock->scope != LockScope::Session) continue;
    checkHost(site, paths, connections, report);
    last = site.call;
  }
  forEachSessionLock(program, [&](const LockSite& site, const ScriptSessions&, std::size_t) {
    for (const ScriptSession& session : sessions.of(site)) {
      if (!session.target_written) continue;
      const PoolerFinding found = poolerOf(session.target, program);
      if (found.match == PoolerMatch::None) continue;
      reportSite(site, found, session.unit, session.begun_by ? session.begun_by->range : SourceRange{}, report);
      break;
    }
  });
}

}  // namespace

const Rule kSessionLockWithTransactionPooler{
    {
        .code = "AL306",
        .name = "session-lock-with-transaction-pooler",
        .severity = Severity::Error,
        .summary = "session lock over a pooler in transaction or statement mode",
        .explanation =
            "A pooler in transaction mode may run each transaction of a client on another server connection. A session lock stays with the "
            "connection that took it: work and unlock go elsewhere, the lock outlives the client, and whoever gets that "
            "connection next is granted the lock again. The pooler does not reset connections between transactions.",
        .remedy = "Use pg_advisory_xact_lock inside the transaction that does the work, or connect to the server's own port.",
        .proof = "PostgreSQL's isolation tests know no pooler. tests/oracle drives pgbouncer instead: the unlock returns false, and the lock outlives the client.",
        .clauses = {"over a pooler in transaction or statement mode | bad", "that docker-compose starts | bad_compose",
                    "that Kubernetes starts | bad_kubernetes", "of a provider | bad_provider", "warning when the target is unknown | bad_unknown_target",
                    "silent for the server's own port | good"},
    },
    check};

}  // namespace pglocklint

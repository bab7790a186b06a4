// # Why a transaction should not wait for the world
//
// A transaction that is open only so that its lock lasts, while something else runs, sits idle: its snapshot and its transaction id hold back
// vacuum in the whole database, table locks of earlier statements stay, and idle_in_transaction_session_timeout, where it is set, ends the session
// and with it the lock, unnoticed by the program that relies on it.
//
// A note. Reported in scripts where a lock is held in an open transaction while psql waits for something else: \! and \prompt, pg_sleep,
// \watch, a program that writes into the same pipe. In routines, which cannot leave their transaction, for pg_sleep in a loop under a
// lock, unless the routine ends its transactions. Pauses under a second do not count.
//
// In C++ likewise for a sleep in a loop. And for a lock on a transaction that lasts as long as an object: a field of a class whose methods,
// all in view, run statements on it and never commit, abort or hand it out. A guard that is given its connection and locks in its
// constructor is none: it lives as short as its scope.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"
#include "program/host_paths.h"

namespace pglocklint {
namespace {

bool endsTransactions(const Function& f) {
  const bool host = f.kind == FunctionKind::HostFunction;
  const auto ends = [&](const Event& e) {
    if (e.kind == EventKind::HostCall && host) return f.host[0].calls[static_cast<std::size_t>(e.host_call)].kind == HostCallKind::Commit;
    return e.kind == EventKind::Transaction && !(host && e.transaction[0].verb == TransactionVerb::Begin);
  };
  return std::any_of(f.blocks.begin(), f.blocks.end(),
                     [&](const Block& b) { return std::any_of(b.events.begin(), b.events.end(), ends); });
}

// --- transactions of objects

struct Lasting {  // a transaction that is as old as an object of the class
  int unit = -1;
  const HostCall* begin = nullptr;
};

void checkObjects(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  std::map<std::string, std::vector<Lasting>> lasting;
  std::set<std::string> connecting;  // classes that open a session of their own
  for (const Routine& r : program.catalogue.routines)
    if (!r.function->host.empty())
      for (const HostCall& c : r.function->host[0].calls) {
        if (c.lasting) lasting[hostScope(r.function->name)].push_back({r.unit, &c});
        if (c.kind == HostCallKind::Connect && isWithin(c.connection, "this")) connecting.insert(hostScope(r.function->name));
      }
  if (lasting.empty()) return;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f) || !isHost(f) || f.constructor != nullptr) continue;
    const auto own = lasting.find(hostScope(f.function->name));
    if (own == lasting.end()) continue;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      if (!e.acquires()) continue;
      const auto on = std::find_if(own->second.begin(), own->second.end(), [&](const Lasting& t) {
        return sameSession(f.session, t.begin->made) || sameSession(f.session, t.begin->connection);
      });
      if (on == own->second.end() || (isHostConstructor(*f.function) && !connecting.contains(own->first))) continue;
      Finding& finding = reportAt(
          report, e, e.range,
          fmt::format("The lock {} is taken in a transaction that no method of {} ends: it stays open as long as the object lives, the session is idle in transaction, and "
                      "vacuum cannot remove what was deleted since. Take a session lock (pg_advisory_lock) outside of a transaction (pqxx::nontransaction), and keep "
                      "transactions to the work itself.",
                      keyText(locks, e.key, id), own->first));
      addTaken(report, finding, e);
      addStep(report, finding, on->unit, firstLine(on->begin->range), "the transaction begins here");
    }
  }
}

const Hold* firmHold(const IdleWait& w) {
  for (const Hold& h : w.states.front().holds)
    if (h.mustHold() && !h.taken.empty()) return &h;
  return nullptr;
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    const bool script = isScript(f);
    std::vector<EventId> told;
    for (const IdleWait& w : f.waits) {
      const Hold* hold = firmHold(w);
      if (hold == nullptr || (!script && (!w.repeated || endsTransactions(*f.function)))) continue;
      const EventId id = hold->taken.front();
      if (std::find(told.begin(), told.end(), id) != told.end()) continue;
      told.push_back(id);
      const LockEvent& taken = locks.event(id);
      Finding& finding = reportAt(
          report, taken, taken.range,
          fmt::format("The lock {} is held in a transaction that stays open while {} is waited for: {}, and vacuum cannot remove what was deleted since. "
                      "Take a session lock (pg_advisory_lock) outside of a transaction, and keep transactions to the work itself.",
                      keyText(locks, hold->key, id), w.what,
                      script ? "the session is idle in transaction" : "one transaction lasts as long as the lock"));
      addTaken(report, finding, taken);
      addStep(report, finding, f.unit, firstLine(w.range), "waits here with the transaction open");
    }
  }
  checkObjects(program, report);
}

}  // namespace

const Rule kLockInIdleTransaction{
    {
        .code = "AL507",
        .name = "lock-in-idle-transaction",
        .severity = Severity::Note,
        .summary = "a transaction is kept open for the life of a lock",
        .explanation = "While a transaction is open, vacuum keeps every row version that it might still see, in all tables. One that waits for a program, a person or "
                       "a clock, only so that its lock lasts, does so for as long as they take; idle_in_transaction_session_timeout ends it, and the lock with it.",
        .remedy = "Take a session lock outside of a transaction (each statement then commits by itself), and open transactions only for the work.",
        .proof = "What it costs is time and dead rows, which an isolation test does not measure.",
        .clauses = {"a transaction kept open for the life of a lock | bad.sql", "idle in transaction | bad_pipe.sh", "vacuum held back | bad_loop.sql", "a pause in a script | bad_sleep.sql",
                    "a transaction that lasts as long as an object | bad_object.cpp", "a sleep in a loop in C++ | bad_sleep.cpp"},
    },
    check};

}  // namespace pglocklint

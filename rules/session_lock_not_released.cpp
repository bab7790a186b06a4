// # Why a session lock needs a release on every way out
//
// A session lock ends when it is unlocked or when the session ends: not with the function, not with COMMIT or ROLLBACK, not with an
// error. A function that returns early, or whose work fails, between lock and unlock leaves the lock to its session; a pooled connection
// carries it for hours, and everybody else waits.
//
// The rule of decision. A lock that a function takes and never releases may well be meant to be held: a wrapper, a daemon's singleton, a
// runner that exits. So a report needs intent to release: a release of the same key stands in the function, and a way out misses it.
// Ways out are RETURN, the end, RAISE, and errors of statements that can fail for reasons of data: reads and writes of relations, DDL,
// calls of the program's functions, dynamic SQL. Handlers count: WHEN OTHERS takes every error to itself, but for a cancelled statement and a
// failed ASSERT; where only those escape it is a note. A function that hands the lock
// on is none: one that returns true exactly when it holds the lock, or returns what it has locked and nothing otherwise.
//
// Where no release stands anywhere in the program, a lock is taken to be forgotten (a warning) only if the function that takes it also does
// the work under it, and the session goes on: a routine returns to its caller, a DO block to the script's next work or to the program that
// sent it. A function that does nothing but lock is a wrapper, and what takes the lock in a script means the session that ends with it.
//
// A round of a loop that goes on without releasing its lock leaves it too: the variable that names it gets another value.
//
// In C++ ways out are return, the end and exceptions, and destructors run on all of them. A function that takes its session from a pool
// gives it back with the locks on it, so there no release need be seen. A constructor that takes a lock which the destructor releases must
// not fail afterwards: for an object that was never finished no destructor runs. What a factory made and took the lock for is not judged where
// it is used, nor is a guard that becomes part of another object. The fixtures *_shape_* are a table: twelve ways to hold a lock, each released, leaked where something throws, leaked by a return.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"
#include "model/host.h"
#include "program/host_paths.h"
#include "program/keys.h"
#include "work.h"

namespace pglocklint {
namespace {

struct Leak {
  EventId taken;
  KeyId key;
  LockMode mode;
  std::vector<const WayOut*> ways;
};

bool isNormal(const WayOut& w) { return w.kind == WayOutKind::Return || w.kind == WayOutKind::End; }

std::optional<bool> returned(const LockState& s) {
  const auto at = std::find_if(s.facts.begin(), s.facts.end(), [](const Fact& f) { return f.text == "#return"; });
  return at == s.facts.end() ? std::nullopt : std::optional(at->value);
}

bool held(const LockState& s, KeyId key, LockMode mode) {
  const Hold* h = s.find(key, mode);
  return h != nullptr && h->lo > 0;
}

// RETURN of something else than a constant.
bool returnsValue(const Function& f, const SourceRange& range) {
  for (const Block& b : f.blocks)
    for (const Event& e : b.events)
      for (const Statement& s : e.statement)
        if (s.context == PlContext::Return && s.range.begin == range.begin)
          return !s.query.empty() && !s.query[0].targets.empty() && s.query[0].targets[0].expr.kind != ExprKind::Const;
  return false;
}

// OUT parameters are assigned, or rows returned, just before the function ends there.
bool givesOutput(const Function& f, const WayOut& w) {
  const auto isOutput = [&](const std::string& name) {
    return std::any_of(f.parameters.begin(), f.parameters.end(), [&](const Parameter& p) {
      return p.name == name && (p.mode == ParameterMode::Out || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Table);
    });
  };
  for (const Block& b : f.blocks) {
    const bool ends = std::any_of(b.events.begin(), b.events.end(), [&](const Event& e) {
      if (!e.exit.empty()) return e.exit[0].range == w.range;
      return w.kind == WayOutKind::End && b.successors.empty() && !e.statement.empty() && e.statement[0].range == w.range;
    });
    if (!ends) continue;
    for (const Event& e : b.events)
      for (const Statement& s : e.statement)
        if (s.context == PlContext::ReturnQuery || std::any_of(s.into.begin(), s.into.end(), isOutput)) return true;
  }
  return false;
}

bool heldOnAllReturns(const FunctionLocks& f, const Leak& leak) {
  return std::all_of(f.ways_out.begin(), f.ways_out.end(), [&](const WayOut& w) {
    return !isNormal(w) || std::all_of(w.states.begin(), w.states.end(), [&](const LockState& s) { return held(s, leak.key, leak.mode); });
  });
}

// A host function that returns an object or a handle that it made or was given.
bool returnsObject(const FunctionLocks& f) {
  const std::vector<HostAlias>& aliases = f.function->host[0].aliases;
  return std::any_of(aliases.begin(), aliases.end(), [](const HostAlias& a) { return a.path == "return" && !a.target.empty(); });
}

// The connection is taken from somewhere for this function alone, and goes back there.
bool isObtained(const FunctionLocks& f) {
  if (!isHost(f) || !isLocalPath(f.session)) return false;
  const std::vector<HostCall>& calls = f.function->host[0].calls;
  return std::any_of(calls.begin(), calls.end(), [&](const HostCall& c) { return c.kind == HostCallKind::Obtain && c.connection == f.session; });
}

// The way out is an error of a statement that reads: a claim that looks once more whether there is still something to do.
bool onlyLooks(const Function& f, const WayOut& w) {
  if (w.kind != WayOutKind::ErrorIn && w.kind != WayOutKind::Cancelled) return false;
  for (const Block& b : f.blocks)
    for (const Event& e : b.events)
      for (const Statement& s : e.statement)
        if (s.range == w.range) return s.kind == StatementKind::Query && (s.query.empty() || s.query[0].kind == QueryKind::Select);
  return false;
}

// The lock is part of what the function returns: true only with it, or a value that without it is missing.
bool handsOn(const FunctionLocks& f, const Leak& leak) {
  if (isObtained(f)) return false;  // whoever gets the connection next has it
  bool held_true = false, other = false, value_with = true, value_without = false, outputs = false;
  for (const WayOut& w : f.ways_out) {
    if (!isNormal(w)) continue;
    for (const LockState& s : w.states) {
      const bool has = held(s, leak.key, leak.mode);
      const auto result = returned(s);
      if (has && result == true) held_true = true;
      else if (has || result != false) other = true;
      const bool output = !isHost(f) && givesOutput(*f.function, w);
      outputs |= output;
      if (has) value_with &= output || returnsValue(*f.function, w.range);
      else value_without |= output || returnsValue(*f.function, w.range);
    }
  }
  if (held_true && !other) return true;
  const std::string& type = f.function->returns;
  if (isHost(f)) return returnsObject(f) && heldOnAllReturns(f, leak);
  if (type == "trigger" || type == "event_trigger") return false;  // the row goes to the server
  return (outputs || (type != "void" && type != "boolean" && !type.empty())) && value_with && !value_without;
}

std::vector<Leak> leaksOf(const FunctionLocks& f, const LockStates& locks) {
  std::map<EventId, Leak> by_taken;
  const bool block = f.function->kind == FunctionKind::DoBlock;
  for (const WayOut& w : f.ways_out) {
    if (block && !isNormal(w)) continue;
    for (const LockState& s : w.states)
      for (const Hold& h : s.holds) {
        if (h.lo <= 0 || h.taken.empty() || !locks.keys.at(h.key).exact) continue;
        const LockEvent& taken = locks.event(h.taken.back());
        if (w.kind == WayOutKind::ErrorIn && taken.kind == LockEventKind::Call && isHost(f) && w.range.contains(taken.range)) continue;  // the callee's own
        Leak& leak = by_taken.try_emplace(h.taken.back(), Leak{h.taken.back(), h.key, h.mode, {}}).first->second;
        if (leak.ways.empty() || leak.ways.back() != &w) leak.ways.push_back(&w);
      }
  }
  std::vector<Leak> leaks;
  for (auto& [event, leak] : by_taken) leaks.push_back(std::move(leak));
  return leaks;
}

std::string_view wayText(const FunctionLocks& f, const WayOut& w) {
  if (isHost(f)) {
    switch (w.kind) {
      case WayOutKind::Return: return "return leaves the function";
      case WayOutKind::End: return "the end of the function is reached";
      case WayOutKind::Raise: return "an exception leaves the function";
      case WayOutKind::ErrorIn:
      case WayOutKind::Cancelled: return "an exception here leaves the function";
    }
  }
  switch (w.kind) {
    case WayOutKind::Return: return "RETURN leaves";
    case WayOutKind::End: return "the end of the function is reached";
    case WayOutKind::Raise: return "RAISE leaves";
    case WayOutKind::ErrorIn: return "an error here leaves";
    case WayOutKind::Cancelled: return "a cancelled statement leaves";
  }
  return "";
}

void reportLeak(const FunctionLocks& f, const Leak& leak, const LockStates& locks, bool released_elsewhere, Report& report) {
  std::vector<const WayOut*> normal;
  std::copy_if(leak.ways.begin(), leak.ways.end(), std::back_inserter(normal), [](const WayOut* w) { return isNormal(*w); });
  const bool hands_on = !normal.empty() && handsOn(f, leak);
  std::vector<const WayOut*> ways;
  if (!hands_on) ways = normal;
  for (const WayOutKind kind : {WayOutKind::Raise, WayOutKind::ErrorIn, WayOutKind::Cancelled})
    for (const WayOut* w : leak.ways)
      if (w->kind == kind && !(hands_on && !isHost(f) && onlyLooks(*f.function, *w))) ways.push_back(w);
  const auto samePlace = [](const WayOut* a, const WayOut* b) { return a->range == b->range; };
  ways.erase(std::unique(ways.begin(), ways.end(), samePlace), ways.end());
  if (ways.empty()) return;
  const WayOut& first = *ways.front();
  const LockEvent* taken = nullptr;
  for (const LockState& s : first.states)
    if (const Hold* h = s.find(leak.key, leak.mode); h != nullptr && h->lo > 0 && !h->taken.empty()) taken = &locks.event(h->taken.back());
  if (taken == nullptr) return;
  const LockEvent* release = releaseOf(locks, f, leak.key, leak.mode);
  const bool error = !isNormal(first), cancelled = first.kind == WayOutKind::Cancelled;
  // The way out is at fault where another one releases; where nothing does, the acquisition is.
  Finding& finding = reportAt(
      report, *taken, release != nullptr || released_elsewhere ? firstLine(first.range) : taken->range,
      fmt::format("{} with the session lock {} still held{}: it outlives the function, the transaction and any ROLLBACK, and a pooled connection keeps "
                  "it until it is closed. {}, or take a transaction lock (pg_advisory_xact_lock), which needs no release.",
                  wayText(f, first), keyText(locks, leak.key, static_cast<EventId>(taken - locks.events.data())),
                  cancelled                ? ", because WHEN OTHERS catches neither query_canceled (statement_timeout, pg_cancel_backend) nor assert_failure"
                  : error && !isHost(f) ? ", because no handler releases it"
                                           : "",
                  isHost(f)   ? "Release it on every way out, best in the destructor of a guard"
                  : cancelled ? "Write WHEN OTHERS OR query_canceled OR assert_failure"
                  : error     ? "Release it in an EXCEPTION handler that raises again"
                              : "Release it before this way out, and in an EXCEPTION handler"));
  if (cancelled) finding.severity = Severity::Note;
  addTaken(report, finding, *taken);
  addStep(report, finding, f.unit, first.range, fmt::format("{} without releasing it", wayText(f, first)));
  for (std::size_t i = 1; i < ways.size() && i < 4; ++i)
    finding.related.push_back(report.place(f.unit, firstLine(ways[i]->range), fmt::format("so too: {}", wayText(f, *ways[i]))));
  if (release != nullptr) addStep(report, finding, release->unit, release->range, "only this path releases it");
}

// The guard that took the lock is given to another function, or moved into another object: whoever has it now may release.
bool isHandedOver(const FunctionLocks& f, const Leak& leak, const LockStates& locks) {
  if (!isHost(f)) return false;
  const std::vector<HostCall>& calls = f.function->host[0].calls;
  for (const WayOut* w : leak.ways)
    for (const LockState& s : w->states) {
      const Hold* h = s.find(leak.key, leak.mode);
      if (h == nullptr || h->lo <= 0 || h->taken.empty()) continue;
      const LockEvent& taken = locks.event(h->taken.back());
      if (taken.kind != LockEventKind::Call || taken.statement->host_call < 0) continue;
      const HostCall& made = calls[static_cast<std::size_t>(taken.statement->host_call)];
      const std::string& object = made.made.empty() ? made.connection : made.made;
      if (isLocalPath(object) && std::any_of(calls.begin(), calls.end(), [&](const HostCall& c) {
            return std::any_of(c.bind_paths.begin(), c.bind_paths.end(), [&](const std::string& p) { return isWithin(p, object); });
          }))
        return true;
    }
  return false;
}

// The function is a constructor, and the destructor of its class releases the lock: the exceptional ways out are left.
bool releasedByDestructor(const FunctionLocks& f, const Leak& leak, const LockStates& locks) {
  return isHost(f) && std::any_of(locks.functions.begin(), locks.functions.end(), [&](const FunctionLocks& d) {
           return d.constructor == f.function && releasesMode(locks, d, leak.mode);
         });
}

// The lock came with an object that another function made, and that object's destructor may release it: what the object was told about the
// lock where it was made is not known here.
bool isGuardOfFactory(const FunctionLocks& f, const Leak& leak, const LockStates& locks) {
  const LockEvent* release = isHost(f) ? releaseOf(locks, f, leak.key, leak.mode) : nullptr;
  if (release == nullptr || release->callee == nullptr || !isHostDestructor(*release->callee) || release->statement->host_call < 0) return false;
  const std::vector<HostCall>& calls = f.function->host[0].calls;
  const std::string& object = calls[static_cast<std::size_t>(release->statement->host_call)].connection;
  return std::any_of(f.events.begin(), f.events.end(), [&](EventId id) {
    const LockEvent& e = locks.event(id);
    return e.kind == LockEventKind::Call && e.statement->host_call >= 0 && !isHostConstructor(*e.callee) && !object.empty() &&
           isWithin(object, calls[static_cast<std::size_t>(e.statement->host_call)].made);
  });
}

// --- locks that a round of a loop leaves behind ----------------------------------------------------------------------------------

// The release in the same round, on another path; or null.
const LockEvent* releaseInRound(const FunctionLocks& f, const LockStates& locks, const Hold& left, EventId taken) {
  const KeyId key = locks.keys.at(left.key).older;
  for (const EventId id : f.events) {
    const LockEvent& e = locks.event(id);
    if (e.kind != LockEventKind::Release || e.lock->mode != left.mode || locks.keys.alias(e.key, key) != Alias::Must) continue;
    for (const LockState& s : e.before)
      if (const Hold* h = s.find(key, left.mode); h != nullptr && h->lo > 0 && h->taken.has(taken)) return &e;
  }
  return nullptr;
}

// lock(r.id); CONTINUE WHEN …; unlock(r.id): the variable has its next value, and nothing names the lock any more. A function that
// returns a value may return what it has claimed.
void checkRounds(const FunctionLocks& f, const LockStates& locks, std::set<EventId> told, Report& report) {
  const std::string& type = f.function->returns;
  if (isHost(f) || (!type.empty() && type != "void" && type != "boolean" && type != "trigger")) return;
  for (const WayOut& w : f.ways_out) {
    if (!isNormal(w)) continue;
    for (const LockState& s : w.states)
      for (const Hold& h : s.holds) {
        if (h.lo <= 0 || h.taken.empty() || locks.keys.at(h.key).older == kUnknownKey) continue;
        const EventId id = h.taken.back();
        const LockEvent* release = releaseInRound(f, locks, h, id);
        if (release == nullptr || !told.insert(id).second) continue;
        const LockEvent& taken = locks.event(id);
        Finding& finding = reportAt(report, taken, taken.range,
                                    fmt::format("a round of the loop goes on to the next with the session lock {} still held: the variable has another value then, and nothing "
                                                "releases the lock until the session ends. Release it before CONTINUE and on every other way to the next round, or take a "
                                                "transaction lock (pg_advisory_xact_lock), which needs no release.",
                                                keyText(locks, h.key, id)));
        addTaken(report, finding, taken);
        addStep(report, finding, release->unit, release->range, "only this path releases it");
        addStep(report, finding, f.unit, firstLine(w.range), fmt::format("{} without releasing it", wayText(f, w)));
      }
  }
}

// --- locks that nothing releases ------------------------------------------------------------------------------------------------

// Its key is made by a hash of SQL.
bool isHashedBySql(const KeyInfo& k) {
  return std::ranges::any_of(k.parts, [](const Value& part) {
    return contains(part, [](const Value& v) { return v.kind == ValueKind::Hash && v.relation != kHostSchema; });
  });
}

// Its key comes from the host program, as a value: pg_advisory_unlock($1).
bool isBound(const LockEvent& e) {
  const auto bound = [](const Expr& a) { return (a.kind == ExprKind::Cast ? a.args[0] : a).kind == ExprKind::Param; };
  return e.function->kind == FunctionKind::HostFunction && e.call != nullptr && std::ranges::all_of(e.call->args, bound);
}

// Some release in the program that may mean this lock: one of its key, of a key of its class, or of one that is not known. A program that
// tells SQL to hash a name does not know the key, and cannot bind it to a release.
bool mayBeReleasedSomewhere(const LockStates& locks, const Leak& leak) {
  const KeyInfo& taken = locks.keys.at(leak.key);
  const bool hashed = isHashedBySql(taken);
  return std::any_of(locks.events.begin(), locks.events.end(), [&](const LockEvent& e) {
    if (e.kind == LockEventKind::ReleaseAll) return true;
    if (e.kind != LockEventKind::Release || e.lock->mode != leak.mode || (hashed && isBound(e))) return false;
    if (e.key == kUnknownKey) return true;
    const KeyInfo& released = locks.keys.at(e.key);
    return released.form == taken.form && !(released.constant && taken.constant && e.key != leak.key);
  });
}

// What the script does after the DO block, in the session that has the lock.
std::optional<SourceRange> workAfter(const Program& program, const FunctionLocks& block) {
  const Unit& unit = program.units[static_cast<std::size_t>(block.unit)];
  for (const Function& f : unit.functions) {
    if (f.kind != FunctionKind::Script && f.kind != FunctionKind::HostFunction) continue;
    bool passed = false;
    for (const Block& b : f.blocks)
      for (const Event& e : b.events) {
        for (const SessionOp& op : e.session)
          if (op.verb != SessionVerb::StringEnd && op.verb != SessionVerb::StringBegin && op.verb != SessionVerb::Outside) passed = false;
        if (passed && isWork(e, program.catalogue)) return placeOf(e, unit);
        for (const Statement& s : e.statement)
          if (s.kind == StatementKind::Do && s.function >= 0 && &unit.functions[static_cast<std::size_t>(s.function)] == block.function) {
            if (f.kind == FunctionKind::HostFunction) return s.range;
            passed = true;
          }
      }
  }
  return std::nullopt;
}

void reportForgotten(const FunctionLocks& f, const Leak& leak, const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  const WayOut* end = nullptr;
  const Hold* hold = nullptr;
  for (const WayOut* w : leak.ways)
    for (const LockState& s : w->states)
      if (const Hold* h = s.find(leak.key, leak.mode); isNormal(*w) && h != nullptr && h->lo > 0 && !h->worked.empty()) end = w, hold = h;
  if (end == nullptr || handsOn(f, leak) || mayBeReleasedSomewhere(locks, leak)) return;
  const bool block = f.function->kind == FunctionKind::DoBlock;
  const std::optional<SourceRange> later = block ? workAfter(program, f) : std::nullopt;
  if (block && !later) return;
  const LockEvent& taken = locks.event(hold->taken.back());
  Finding& finding = reportAt(
      report, taken, taken.range,
      fmt::format("{} takes a session lock that nothing releases: {} ends, the transaction ends, and the session keeps the lock {} until it is closed. "
                  "Take a transaction lock (pg_advisory_xact_lock), which ends with the transaction, or unlock it on every way out.",
                  eventText(locks, taken), block ? "the DO block" : "the function", keyText(locks, leak.key, hold->taken.back())));
  finding.severity = Severity::Warning;
  addTaken(report, finding, taken);
  addStep(report, finding, f.unit, firstLine(end->range), "the end, with the lock still held");
  if (later && later->known()) addStep(report, finding, f.unit, firstLine(*later), "the session goes on");
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f) || isScript(f) || f.constructor != nullptr) continue;
    std::vector<Leak> leaks = leaksOf(f, locks);
    std::set<EventId> told;
    for (const Leak& leak : leaks) told.insert(leak.taken);
    checkRounds(f, locks, std::move(told), report);
    for (Leak& leak : leaks) {
      if (isHandedOver(f, leak, locks) || isGuardOfFactory(f, leak, locks)) continue;
      const bool by_destructor = releasedByDestructor(f, leak, locks);
      // What a constructor took belongs to its object: only an exception is at fault, for then there is none.
      if (by_destructor || isHostConstructor(*f.function)) std::erase_if(leak.ways, [](const WayOut* w) { return isNormal(*w); });
      if (by_destructor || releasesKey(locks, f, leak.key, leak.mode) || isObtained(f)) {
        reportLeak(f, leak, locks, by_destructor || !isHost(f), report);
      } else if (!isHost(f)) {
        reportForgotten(f, leak, program, report);
      }
    }
  }
}

}  // namespace

const Rule kSessionLockNotReleased{
    {
        .code = "AL301",
        .name = "session-lock-not-released",
        .severity = Severity::Error,
        .summary = "a way out of the function leaves a session lock held",
        .explanation =
            "A session lock stays until it is unlocked or the session ends. Neither RETURN nor an error, neither COMMIT nor ROLLBACK releases it. "
            "Reported when the function releases the same key on another path: then the lock was meant to end here. A lock that nothing in the program "
            "releases is a warning where the function or DO block that takes it also does the work, and the session goes on; a function that does nothing but lock, a "
            "lock for the whole session (a daemon's singleton, a script that exits) and a function that returns true exactly when it holds the lock are none. Where only a cancelled "
            "statement or a failed ASSERT escapes WHEN OTHERS it is a note. In C++ exceptions are ways out too, and destructors run on them; a connection that the "
            "function takes from a pool goes back with its locks, so there no release need be seen. Errors are those that data can cause: reads and writes of relations, DDL, calls of functions, "
            "dynamic SQL; not COMMIT, ROLLBACK, assignments, try or unlock calls.",
        .remedy = "Use pg_advisory_xact_lock, which ends with the transaction. Or unlock before every RETURN and in an EXCEPTION handler that raises again; "
                  "in C++ in the destructor of a guard.",
        .clauses = {"some path (return) leaves a session lock held | bad_return.sql",
                    "some path (error) leaves a session lock held | bad_error.sql",
                    "some path (throw) leaves a session lock held | bad_libpqxx_throw.cpp",
                    "try(1) AND try(2) | bad_two_tries.sql",
                    "a round of a loop leaves a session lock held | bad_round.sql",
                    "note where only cancellation or a failed ASSERT escapes WHEN OTHERS | bad_cancelled.sql",
                    "a lock that nothing releases | bad_forgotten.sql"},
    },
    check};

}  // namespace pglocklint

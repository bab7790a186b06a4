// What the statements of a function do, as far as the lock state cares: their lock operations in order, and what else they are.
#pragma once
#include <unordered_map>
#include <vector>

#include "program/host_paths.h"
#include "program/lock_state.h"
#include "program/program.h"
#include "program/triggers.h"
#include "program/walk.h"

namespace pglocklint {

// What a statement does besides locking (LOCKSTATE §6).
struct Deed {
  bool may_raise = false;
  bool key_may_raise = false;  // before it has taken anything: in the arguments of a lock call
  bool reads = false;     // rows of a relation, by the statement's snapshot
  bool writes = false;    // data or schema, in the transaction
  std::vector<std::string> rows_of;  // UPDATE, DELETE: names that its WHERE sets equal to something
  bool work = false;      // writes, or runs what may write: calls of the program, dynamic SQL
  std::vector<std::uint32_t> names;  // relations written to, and routines called (LockStates::names)
  std::vector<Setting> settings;     // by set_config
  bool sleeps = false;               // for a second or more
};

// The routine, DO block, procedure or host function that a statement runs as a whole, calls, or fires as a trigger.
struct RoutineCall {
  const Statement* statement = nullptr;
  const Expr* call = nullptr;          // null: DO, trigger
  const Function* callee = nullptr;
  int callee_unit = -1;
  QueryLevels levels;
  FiredTrigger trigger{};              // trigger.use is null: none
};

// Reads functions into events. One for a program.
class LockEvents {
 public:
  LockEvents(const Program& program, LockStates& states);

  // A function that contains a lock call or reaches one through calls; a host function once for each session that it has to do with.
  struct Candidate {
    const Function* function = nullptr;
    int unit = -1;
    std::string session;               // host functions: its canonical path
    std::vector<std::size_t> callees;  // candidates
  };
  const std::vector<Candidate>& candidates() const { return candidates_; }
  HostPaths& paths() { return paths_; }

  // The call runs on the candidate's session.
  bool onSession(const Candidate& c, std::int32_t host_call);
  // Adds the lock operations of a candidate to LockStates::events; callees first, so that summaries exist.
  std::vector<EventId> read(const Candidate& candidate);

  Deed deed(const Event& event, const Function& function, int unit);
  // The live routine that the function defines, or null.
  const Routine* routine(const Function& function) const {
    const auto at = live_.find(&function);
    return at == live_.end() ? nullptr : at->second;
  }
  // Its callee's summary as the caller of this event sees it.
  const LockSummary& summary(EventId event);
  void forgetCalls(const std::vector<EventId>& events) {  // callees have changed
    for (const EventId e : events) at_call_.erase(e);
  }

 private:
  struct Node;
  bool writes(const Function* routine);
  Deed statementDeed(const Statement& s, const Function& function, int unit);
  Deed hostCallDeed(const Statement& s, const Function& function);
  void addFields(const LockSummary& summary, const RoutineCall& call, const ValueScope& scope, std::vector<std::string>& names,
                 List<Value>& values);
  void lookInto(const Statement& s, Deed& deed);
  bool onlyLocks(const Function* routine) const;  // it takes or releases locks and does nothing else
  std::uint32_t nameId(const std::string& name);
  void findCandidates();
  void addSessionChanges(std::vector<Node>& nodes);
  void findSessions(std::vector<Node>& nodes);
  void addCandidates(const std::vector<Node>& nodes);
  // The session of a candidate as its caller sees it; "" if the caller has no part in it.
  std::string sessionInCaller(const std::string& session, const RoutineCall& call, const Function& caller);
  std::string sessionOf(const Function& function, std::int32_t host_call);
  std::vector<RoutineCall> calls(const Function& f, int unit);
  void addCall(const RoutineCall& call, std::size_t callee, const Candidate& c, std::vector<EventId>& out);
  // Of a site that runs with `statement`, its own or one that runs it later.
  void addEvent(const LockSite& site, const Statement& statement, const Candidate& c, std::vector<EventId>& out);
  // The calls of a prepared statement that `use` executes, or of a cursor that it fetches from or that it declares WITH HOLD.
  void addDeferred(const Statement& text, const Statement& use, const std::unordered_map<const Expr*, const LockSite*>& direct,
                   const Candidate& c, std::vector<EventId>& out);

  const Program& program_;
  LockStates& states_;
  HostPaths paths_;
  Triggers triggers_;
  std::vector<Candidate> candidates_;
  std::unordered_map<const Function*, std::size_t> routine_candidates_;  // not of the host program
  std::unordered_map<const Function*, const Routine*> live_;
  std::unordered_map<const Function*, std::vector<const LockSite*>> sites_;  // direct
  std::unordered_map<EventId, LockSummary> at_call_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  std::unordered_map<const Function*, bool> writes_;  // it, or what it calls, changes data or schema and leaves that to its caller to commit
  std::unordered_map<EventId, RoutineCall> call_of_;
};

}  // namespace pglocklint

// # Why locks need one order
//
// A session that holds A and waits for B, and another that holds B and waits for A, wait for each other; PostgreSQL ends one of them with 40P01
// after deadlock_timeout. It happens under load only, and to both paths alike. The remedy is one order for all: smallest key first, or one
// lock above both.
//
// Locks that triggers take belong to the path of the statement that fires them, those of deferred triggers to its COMMIT.
//
// The order graph and what is no circle in it: program/lock_order.cpp. Each circle is reported once, at the second acquisition of the path that
// breaks the majority (of equals: the last in the order of files). Two locks of one class in the order of the arguments are a warning: called
// with the arguments the other way round, the function meets itself. So is a circle in which a branch inside of what a path calls decides whether
// it takes the lock: whether both paths ever take these branches together, the program does not say.
#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"
#include "program/lock_order.h"

namespace pglocklint {
namespace {

std::string pathName(const OrderEdge& e) {
  const std::string name = functionName(e.function);
  return name.empty() ? "this script" : name;
}

// Tells the paths of circles, each call on the way to a lock with it.
class Paths {
 public:
  Paths(const LockStates& locks, Report& report) : locks_(locks), report_(report) {
    for (const FunctionLocks& f : locks.functions) of_[f.function].push_back(&f);
  }

  void add(const OrderEdge& e, Finding& f) {
    const LockEvent& taken = locks_.event(e.taken);
    addStep(report_, f, taken.unit, taken.range, fmt::format("{}: holds {} from here", pathName(e), keyText(locks_, e.held, e.taken)));
    const LockSummary* callee = locks_.summaryOf(taken);  // of several locks it is not known which one that is
    if (callee != nullptr && callee->acquires.size() == 1) addInside(taken, callee->acquires.front().event, f);
    const LockEvent& wanted = locks_.event(e.event);
    addStep(report_, f, wanted.unit, wanted.range, fmt::format("{}: and waits for {} here", pathName(e), keyText(locks_, e.wanted, e.event)));
    if (e.inner >= 0) addInside(wanted, e.inner, f);
  }

 private:
  // The way from a call to the lock call inside of it.
  void addInside(const LockEvent& call, EventId lock, Finding& f) {
    std::set<const Function*> seen;
    for (const LockEvent* at = &call; at != nullptr && seen.insert(at->callee).second;) {
      const LockEvent* next = nextTo(*at, lock);
      const LockEvent& step = next != nullptr ? *next : locks_.event(lock);
      std::string text = fmt::format("inside of {}: {}", functionName(at->callee), eventText(locks_, step));
      if (step.kind == LockEventKind::Call) f.path.push_back(report_.place(step.unit, firstLine(step.range), std::move(text)));
      else addStep(report_, f, step.unit, step.range, std::move(text));
      at = step.kind == LockEventKind::Call ? &step : nullptr;
    }
  }

  // In the function that is called: the lock call, or the call that leads to it; null if it is not seen.
  const LockEvent* nextTo(const LockEvent& call, EventId lock) const {
    const auto bodies = of_.find(call.callee);
    if (bodies == of_.end()) return nullptr;
    for (const FunctionLocks* body : bodies->second)
      for (const EventId id : body->events) {
        const LockSummary* s = locks_.summaryOf(locks_.event(id));
        if (id == lock || (s != nullptr && std::any_of(s->acquires.begin(), s->acquires.end(), [&](const InnerAcquisition& a) { return a.event == lock; })))
          return &locks_.event(id);
      }
    return nullptr;
  }

  const LockStates& locks_;
  Report& report_;
  std::unordered_map<const Function*, std::vector<const FunctionLocks*>> of_;
};

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  Paths paths(locks, report);
  for (const OrderCycle& c : orderCycles(program, locks)) {
    const OrderEdge& e = c.edges.front();
    const LockEvent& event = locks.event(e.event);
    if (c.same_class) {
      Finding& f = reportAt(report, event, event.range,
                            fmt::format("Two locks of the class {} are taken in the order of the arguments: a call with the arguments the other way round takes them in "
                                        "the opposite order, and both wait for each other. Take the smaller key first (LEAST, then GREATEST).",
                                        keyText(locks, e.wanted, e.event)));
      f.severity = Severity::Warning;
      paths.add(e, f);
      continue;
    }
    const OrderEdge& other = c.edges[1];
    const bool certain = std::ranges::all_of(c.edges, &OrderEdge::certain);
    Finding& f = reportAt(report, event, event.range,
                          fmt::format("{} is waited for while {} is held; {} takes them the other way round ({}:{}){}. {} wait for each other until "
                                      "PostgreSQL ends one with a deadlock error. Take the locks in one order everywhere.",
                                      keyText(locks, e.wanted, e.event), keyText(locks, e.held, e.taken), functionName(other.function).empty() ? "another path" : functionName(other.function),
                                      program.path(other.unit), locks.event(other.event).range.line,
                                      c.edges.size() > 2 ? fmt::format(", in a circle of {} locks", c.edges.size()) : "",
                                      certain ? "Sessions on these paths" : "If what they call takes these branches, sessions on these paths"));
    if (!certain) f.severity = Severity::Warning;
    for (const OrderEdge& x : c.edges) paths.add(x, f);
  }
}

}  // namespace

const Rule kInconsistentLockOrder{
    {
        .code = "AL401",
        .name = "inconsistent-lock-order",
        .severity = Severity::Error,
        .summary = "two paths take the same locks in opposite order",
        .explanation =
            "Each of the two sessions holds what the other waits for. No circle is: a try function (it does not wait), a key the session already holds, shared "
            "locks among themselves, two paths that first take a common exclusive lock, two keys of one class in a proven order, connections that name different "
            "databases.",
        .remedy = "Take the locks in one order on every path: smallest key first, or one lock that stands for both.",
        .clauses = {"two paths take the same key classes in opposite order | bad_functions.sql", "or one class in argument order | bad_arguments.sql",
                    "a branch inside of what a path calls decides: a warning | bad_branch_in_callee.sql",
                    "the trigger of a table is one of the paths | bad_trigger.sql", "a deferred trigger, at COMMIT | bad_deferred_trigger.sql"},
    },
    check};

}  // namespace pglocklint

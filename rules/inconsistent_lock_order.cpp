// # Why locks need one order
//
// A session that holds A and waits for B, and another that holds B and waits for A, wait for each other; PostgreSQL ends one of them with 40P01
// after deadlock_timeout. It happens under load only, and to both paths alike. The remedy is one order for all: smallest key first, or one
// lock above both.
//
// The order graph and what is no circle in it: program/lock_order.cpp. Each circle is reported once, at the second acquisition of the path that
// breaks the majority (of equals: the last in the order of files). Two locks of one class in the order of the arguments are a warning: called
// with the arguments the other way round, the function meets itself.
#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"
#include "program/lock_order.h"

namespace pglocklint {
namespace {

const LockEvent& lockCall(const LockStates& locks, const OrderEdge& e) { return locks.event(e.inner >= 0 ? e.inner : e.event); }

std::string pathName(const OrderEdge& e) {
  const std::string name = functionName(e.function);
  return name.empty() ? "this script" : name;
}

void addEdge(const OrderEdge& e, const LockStates& locks, Report& report, Finding& f) {
  const LockEvent &taken = locks.event(e.taken), &wanted = locks.event(e.event);
  addStep(report, f, taken.unit, taken.range, fmt::format("{}: holds {} from here", pathName(e), keyText(locks, e.held, e.taken)));
  addStep(report, f, wanted.unit, wanted.range, fmt::format("{}: and waits for {} here", pathName(e), keyText(locks, e.wanted, e.event)));
  if (e.inner < 0) return;
  const LockEvent& inner = lockCall(locks, e);
  addStep(report, f, inner.unit, inner.range, fmt::format("inside of {}: {}", eventText(locks, wanted), eventText(locks, inner)));
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const OrderCycle& c : orderCycles(program, locks)) {
    const OrderEdge& e = c.edges.front();
    const LockEvent& event = locks.event(e.event);
    if (c.same_class) {
      Finding& f = reportAt(report, event, event.range,
                            fmt::format("Two locks of the class {} are taken in the order of the arguments: a call with the arguments the other way round takes them in "
                                        "the opposite order, and both wait for each other. Take the smaller key first (LEAST, then GREATEST).",
                                        keyText(locks, e.wanted, e.event)));
      f.severity = Severity::Warning;
      addEdge(e, locks, report, f);
      continue;
    }
    const OrderEdge& other = c.edges[1];
    Finding& f = reportAt(report, event, event.range,
                          fmt::format("{} is waited for while {} is held; {} takes them the other way round ({}:{}){}. Sessions on these paths wait for each other until "
                                      "PostgreSQL ends one with a deadlock error. Take the locks in one order everywhere.",
                                      keyText(locks, e.wanted, e.event), keyText(locks, e.held, e.taken), functionName(other.function).empty() ? "another path" : functionName(other.function),
                                      program.path(other.unit), locks.event(other.event).range.line,
                                      c.edges.size() > 2 ? fmt::format(", in a circle of {} locks", c.edges.size()) : ""));
    for (const OrderEdge& x : c.edges) addEdge(x, locks, report, f);
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
            "locks among themselves, two paths that first take a common exclusive lock, two keys of one class in a proven order.",
        .remedy = "Take the locks in one order on every path: smallest key first, or one lock that stands for both.",
        .clauses = {"two paths take the same key classes in opposite order | bad_functions.sql", "or one class in argument order | bad_arguments.sql"},
    },
    check};

}  // namespace pglocklint

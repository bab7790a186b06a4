// # Why taking a lock twice needs two releases
//
// Session locks count. A session that has the lock gets it again at once, and pg_locks shows one row all the same; but each acquisition needs a
// release of its own. A loop that tries the lock at every turn and releases it once at the end leaves it held.
//
// Reported for session locks of one key and mode that are certainly held when they are taken again, in a function or script that does release the
// key, and is left with a count above zero. Silent where a routine that may release it is called in between.
#include <algorithm>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

// A session lock that an event takes: a lock call, or a routine that takes it and keeps it.
struct Taking {
  KeyId key = kUnknownKey;
  LockMode mode = LockMode::Exclusive;
  bool per_row = false;
};

std::vector<Taking> takings(const LockEvent& e) {
  if (e.acquires()) return e.lock->scope == LockScope::Session ? std::vector<Taking>{{e.key, e.lock->mode, e.per_row}} : std::vector<Taking>{};
  std::vector<Taking> all;
  for (const auto& [key, mode] : e.keeps) all.push_back({key, mode, false});
  return all;
}

const Hold* heldAlready(const LockEvent& e, const Taking& t) {
  for (const LockState& s : e.before)
    if (const Hold* h = s.find(t.key, t.mode); h != nullptr && h->lo > 0 && !h->taken.empty()) return h;
  return nullptr;
}

bool leftHeld(const FunctionLocks& f, KeyId key, LockMode mode, bool per_row) {
  return std::any_of(f.ways_out.begin(), f.ways_out.end(), [&](const WayOut& w) {
    if (w.kind != WayOutKind::Return && w.kind != WayOutKind::End) return false;
    return std::any_of(w.states.begin(), w.states.end(), [&](const LockState& s) {
      const Hold* h = s.find(key, mode);
      return h != nullptr && (per_row ? h->hi : h->lo) > 0;
    });
  });
}

// A routine that is called in between releases the lock on some of its ways; which of them was gone is not known here.
bool perhapsReleased(const LockStates& locks, const FunctionLocks& f, const LockEvent& first, const LockEvent& again, const Taking& t) {
  return std::any_of(f.events.begin(), f.events.end(), [&](EventId id) {
    const LockEvent& e = locks.event(id);
    return e.kind == LockEventKind::Call && e.unit == again.unit && first.unit == again.unit && e.range.begin > first.range.begin &&
           e.range.begin < again.range.begin && mayRelease(locks, e, t.key, t.mode);
  });
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      for (const Taking& t : takings(e)) {
        if (t.key == kUnknownKey || !locks.keys.at(t.key).exact) continue;
        const Hold* before = heldAlready(e, t);
        const LockEvent* release = releaseOf(locks, f, t.key, t.mode);
        if ((before == nullptr && !t.per_row) || release == nullptr || release->kind == LockEventKind::ReleaseAll || release->per_row ||
            !leftHeld(f, t.key, t.mode, t.per_row) || (before != nullptr && perhapsReleased(locks, f, locks.event(before->taken.front()), e, t)))
          continue;
        Finding& finding = reportAt(report, e, e.range,
                                    fmt::format("{} takes the session lock {} {}. Session locks count: each acquisition needs its own release, and fewer releases "
                                                "follow, so the lock stays held. Take it once, and remember that it is held.",
                                                eventText(locks, e), keyText(locks, t.key, id), before ? "while this session already holds it" : "once for every row"));
        if (before) {
          const LockEvent& first = locks.event(before->taken.front());
          addTaken(report, finding, first, "taken first");
          report.alsoAbout(finding, first.unit, first.range);
        }
        addStep(report, finding, e.unit, e.range, "taken again");
        addStep(report, finding, release->unit, release->range, "released once");
      }
    }
  }
}

}  // namespace

const Rule kStackedLock{
    {
        .code = "AL312",
        .name = "stacked-lock",
        .severity = Severity::Warning,
        .summary = "a session lock is taken again while it is held, and released less often",
        .explanation = "A session that holds a lock gets it again without waiting, and must then release it as often as it was taken. pg_locks shows one row for any "
                       "number of acquisitions.",
        .remedy = "Take the lock once and remember it, release it as often as it is taken, or use a transaction lock.",
        .clauses = {"taken again while held | bad_loop.sql", "per row with one key | bad_rows.sql", "and released less often | good.sql", "by a function that is called | bad_callee.sql"},
    },
    check};

}  // namespace pglocklint

// # Why an unlock must name the very lock that was taken
//
// pg_advisory_unlock looks for one entry: this key, in this form (bigint or pair), in exclusive mode, taken with session scope. Anything
// else is another lock: a shared one, the pair (0, 7) for 7, a transaction lock. PostgreSQL answers false with a warning that nobody
// sees, and the lock stays.
//
// Reported when the lock to be released is certainly not held by what the function or script has done, and the one that was meant is seen:
// the same key in the other mode, the same key as a transaction lock, the same number in the other form, a constant key beside the one
// that was taken. A helper that only unlocks is none: its caller holds the lock. pg_advisory_unlock_all in a function that takes session
// locks of its own releases those of its callers too.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "all_rules.h"
#include "lock_paths.h"

namespace pglocklint {
namespace {

constexpr std::size_t kMostPairs = 1'000'000;  // of acquisitions and releases that are compared

// What the unlock was meant for.
struct Meant {
  const Hold* hold = nullptr;
  std::string why;
};

// lock(a, b), unlock(b, a).
bool isReversed(const KeyInfo& a, const KeyInfo& b) {
  const auto same = [](const Value& x, const Value& y) { return sameValue(stripCasts(x), stripCasts(y)); };
  return a.parts.size() == 2 && b.parts.size() == 2 && !same(a.parts[0], a.parts[1]) && same(a.parts[0], b.parts[1]) && same(a.parts[1], b.parts[0]);
}

bool releasable(const LockState& s, const LockEvent& unlock, const KeyTable& keys) {
  return std::any_of(s.holds.begin(), s.holds.end(), [&](const Hold& h) {
    return h.mode == unlock.lock->mode && h.hi > 0 && keys.alias(h.key, unlock.key) != Alias::No &&
           (h.key == kUnknownKey || !isReversed(keys.at(h.key), keys.at(unlock.key)));
  });
}

bool sharesNumber(const KeyInfo& a, const KeyInfo& b) {
  if (a.form == b.form || a.form == KeyForm::Tag || b.form == KeyForm::Tag) return false;
  const KeyInfo &single = a.form == KeyForm::Bigint ? a : b, &pair = a.form == KeyForm::Bigint ? b : a;
  if (single.parts.empty() || pair.parts.size() != 2) return false;
  const Value& v = stripCasts(single.parts[0]);
  const auto whole = constantInteger(v), high = constantInteger(pair.parts[0]), low = constantInteger(pair.parts[1]);
  if (whole && high && low) return *whole == *low || *whole == *high || *whole == ((*high << 32) | (*low & 0xFFFFFFFFLL));
  return !whole && (sameValue(v, stripCasts(pair.parts[1])) || sameValue(v, stripCasts(pair.parts[0])));
}

// Pairs of two classes, (600, n) and (601, n), for the same object.
bool isOtherClass(const KeyInfo& held, const KeyInfo& wanted) {
  if (held.parts.size() != 2 || wanted.parts.size() != 2) return false;
  const auto a = constantInteger(held.parts[0]), b = constantInteger(wanted.parts[0]);
  return a && b && *a != *b && sameValue(stripCasts(held.parts[1]), stripCasts(wanted.parts[1]));
}

bool takenLike(const LockStates& locks, const LockEvent& unlock) {
  return std::any_of(locks.events.begin(), locks.events.end(), [&](const LockEvent& e) {
    return e.acquires() && e.lock->scope == LockScope::Session && e.lock->mode == unlock.lock->mode && locks.keys.alias(e.key, unlock.key) != Alias::No;
  });
}

bool releasedElsewhere(const LockStates& locks, const FunctionLocks& f, const Hold& h) {
  return std::any_of(f.events.begin(), f.events.end(), [&](EventId id) {
    const LockEvent& e = locks.event(id);
    return e.kind == LockEventKind::Release && e.lock->mode == h.mode && locks.keys.alias(e.key, h.key) != Alias::No &&
           (e.key == kUnknownKey || !isReversed(locks.keys.at(h.key), locks.keys.at(e.key)));
  });
}

std::optional<Meant> meantBy(const LockState& s, const LockEvent& unlock, const FunctionLocks& f, const LockStates& locks) {
  const KeyTable& keys = locks.keys;
  for (const Hold& h : s.holds) {
    if (h.key == kUnknownKey) continue;
    const Alias alias = keys.alias(h.key, unlock.key);
    if (alias == Alias::Must && h.mode != unlock.lock->mode && h.lo > 0)
      return Meant{&h, fmt::format("the lock was taken {}, and this looks for the {} one", modeText(h.mode), modeText(unlock.lock->mode))};
    if (alias == Alias::Must && h.mode == unlock.lock->mode && h.must != 0 && h.hi <= 0)
      return Meant{&h, "it is a transaction lock, which only the end of the transaction releases"};
  }
  for (const Hold& h : s.holds) {
    if (h.key == kUnknownKey || h.lo <= 0 || releasedElsewhere(locks, f, h)) continue;
    const KeyInfo &held = keys.at(h.key), &wanted = keys.at(unlock.key);
    if (h.mode == unlock.lock->mode && isReversed(held, wanted))
      return Meant{&h, fmt::format("the lock was taken as {}, and the two parts have changed places", held.class_text)};
    if (h.mode == unlock.lock->mode && sharesNumber(held, wanted))
      return Meant{&h, fmt::format("the lock was taken as {}, and one-key and two-key locks are different locks", held.class_text)};
    // A guard: its destructor has nothing but the lock of its own constructor.
    if (f.constructor != nullptr && h.mode == unlock.lock->mode && isOtherClass(held, wanted) && !takenLike(locks, unlock))
      return Meant{&h, fmt::format("the lock that the constructor took is {}", held.class_text)};
    if (h.mode == unlock.lock->mode && held.constant && wanted.constant && held.form == wanted.form)
      return Meant{&h, fmt::format("the lock that is held is {}", held.class_text)};
  }
  return std::nullopt;
}

bool takenAnywhere(const LockStates& locks, KeyId key, LockMode mode) {
  return std::any_of(locks.events.begin(), locks.events.end(), [&](const LockEvent& e) {
    return e.acquires() && e.lock->scope == LockScope::Session && e.lock->mode == mode && e.key == key;
  });
}

// Its count has come down to nothing in this very script.
const LockEvent* releasedBefore(const LockStates& locks, const FunctionLocks& f, const LockEvent& unlock) {
  const LockEvent* earlier = nullptr;
  bool taken = false;
  for (const EventId id : f.events) {
    const LockEvent& e = locks.event(id);
    if (&e == &unlock) break;
    if (e.kind == LockEventKind::Call) return nullptr;
    if (e.kind == LockEventKind::ReleaseAll) {
      earlier = &e;
      continue;
    }
    if (e.key != unlock.key || e.lock->mode != unlock.lock->mode || e.lock->scope != LockScope::Session) continue;
    if (e.acquires()) taken = true;
    if (e.kind == LockEventKind::Release) earlier = &e;
  }
  return taken ? earlier : nullptr;
}

// False: nothing to say.
bool checkUnlock(const LockEvent& unlock, const FunctionLocks& f, const LockStates& locks, Report& report) {
  if (unlock.key == kUnknownKey || unlock.before.empty() || !locks.keys.at(unlock.key).exact) return false;
  std::optional<Meant> meant;
  for (const LockState& s : unlock.before) {
    if (s.unknown_held || releasable(s, unlock, locks.keys)) return false;
    if (std::any_of(s.lost.begin(), s.lost.end(), [](const LostLock& l) { return l.how == Loss::Reconnect; })) return false;
    if (!meant) meant = meantBy(s, unlock, f, locks);
  }
  const LockEvent* earlier = isScript(f) && f.function->blocks.size() == 1 ? releasedBefore(locks, f, unlock) : nullptr;
  const auto doubtful = [&](const Hold& h) {
    // A helper may release what somebody else takes; a script knows what it holds.
    const bool own = isScript(f) && locks.keys.at(h.key).form != locks.keys.at(unlock.key).form;
    return h.taken.empty() || (!own && locks.keys.at(h.key).constant && h.key != unlock.key && h.must == 0 &&
                               takenAnywhere(locks, unlock.key, unlock.lock->mode));
  };
  if (meant && doubtful(*meant->hold)) meant.reset();
  if (!meant && earlier == nullptr) return false;
  const std::string why = meant ? meant->why : "it is released already";
  Finding& finding = reportAt(report, unlock, unlock.range,
                              fmt::format("{} releases nothing: {}. PostgreSQL answers false with a warning{}. Release with the function that belongs to the one "
                                          "that took the lock, and with the same key.",
                                          eventText(locks, unlock), why, meant && meant->hold->lo > 0 ? ", and the lock stays held" : ""));
  if (meant) {
    const LockEvent& taken = locks.event(meant->hold->taken.front());
    addTaken(report, finding, taken, "taken here");
    report.alsoAbout(finding, taken.unit, taken.range);
  }
  if (!meant) addStep(report, finding, earlier->unit, earlier->range, "released here");
  addStep(report, finding, unlock.unit, unlock.range, "this unlock finds no such lock");
  return true;
}

// pg_advisory_unlock_all in a routine that takes session locks itself.
void checkUnlockAll(const LockEvent& unlock, const FunctionLocks& f, const LockStates& locks, Report& report) {
  if (f.function->kind != FunctionKind::Routine && f.function->kind != FunctionKind::Procedure) return;
  const LockEvent* own = nullptr;
  for (const EventId id : f.events) {
    const LockEvent& e = locks.event(id);
    if (own == nullptr && e.acquires() && e.lock->scope == LockScope::Session) own = &e;
  }
  if (own == nullptr || unlock.before.empty()) return;
  Finding& finding = reportAt(report, unlock, unlock.range,
                              "pg_advisory_unlock_all() releases every session lock of the session, also those that the callers of this function hold. "
                              "Release the locks that were taken here, one by one, with pg_advisory_unlock.");
  addTaken(report, finding, *own, "the function's own lock");
}

// A pair of helpers in one file or class, one that locks and one that unlocks, when nothing in the program releases the key of the one
// or takes the key of the other.
void checkOrphans(const Program& program, const LockStates& locks, const std::set<const Expr*>& reported, Report& report) {
  const auto isSession = [](const LockEvent& e) { return e.lock != nullptr && e.lock->scope == LockScope::Session && e.key != kUnknownKey; };
  const auto meets = [&](const LockEvent& a, const LockEvent& b) {
    return a.lock->mode == b.lock->mode && (locks.keys.alias(a.key, b.key) != Alias::No ||
                                            (locks.keys.at(a.key).form == locks.keys.at(b.key).form && locks.keys.at(a.key).class_text == locks.keys.at(b.key).class_text));
  };
  std::vector<const LockEvent*> taken, released;
  for (const FunctionLocks& f : locks.functions)
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      if (f.constructor != nullptr) continue;
      if (isSession(e) && e.acquires()) taken.push_back(&e);
      if (isSession(e) && e.kind == LockEventKind::Release) released.push_back(&e);
      if (e.kind == LockEventKind::ReleaseAll) return;
    }
  if (taken.size() * released.size() > kMostPairs) return;
  for (const LockEvent* r : released) {
    if (reported.contains(r->call) || program.units[static_cast<std::size_t>(r->unit)].runner.down) continue;
    if (std::any_of(taken.begin(), taken.end(), [&](const LockEvent* a) { return meets(*a, *r); })) continue;
    for (const LockEvent* a : taken) {
      const KeyInfo &held = locks.keys.at(a->key), &wanted = locks.keys.at(r->key);
      if (a->unit != r->unit || a->function == r->function) continue;
      if (std::any_of(released.begin(), released.end(), [&](const LockEvent* other) { return meets(*a, *other); })) continue;
      const bool form = a->lock->mode == r->lock->mode && sharesNumber(held, wanted);
      const bool mode = a->lock->mode != r->lock->mode && held.form == wanted.form && held.class_text == wanted.class_text && (held.constant || held.class_text != "(*)");
      if (!form && !mode) continue;
      Finding& finding = reportAt(report, *r, r->range,
                                  fmt::format("{} releases nothing: the lock is taken {} as {}, and nothing in the program takes what this releases. PostgreSQL answers false "
                                              "with a warning, and the lock stays held. Release with the function that belongs to the one that took the lock, and with the same key.",
                                              eventText(locks, *r), modeText(a->lock->mode), held.class_text));
      addTaken(report, finding, *a, "taken here");
      addStep(report, finding, r->unit, r->range, "this unlock finds no such lock");
      break;
    }
  }
}

void check(const Program& program, Report& report) {
  const LockStates& locks = *program.locks;
  std::set<const Expr*> reported;
  for (const FunctionLocks& f : locks.functions) {
    if (!isJudged(program, f)) continue;
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      if (e.kind == LockEventKind::Release && checkUnlock(e, f, locks, report)) reported.insert(e.call);
      if (e.kind == LockEventKind::ReleaseAll) checkUnlockAll(e, f, locks, report);
    }
  }
  checkOrphans(program, locks, reported, report);
}

}  // namespace

const Rule kUnlockMismatch{
    {
        .code = "AL302",
        .name = "unlock-mismatch",
        .severity = Severity::Error,
        .summary = "an unlock that does not release the lock that was taken",
        .explanation =
            "Exclusive and shared locks, one-key and two-key locks, session and transaction locks are released apart: pg_advisory_unlock finds "
            "only an exclusive session lock with the same key in the same form. Otherwise it answers false with a warning, and the lock stays held "
            "until the session ends. pg_advisory_unlock_all in a function releases the locks of its callers as well.",
        .remedy = "Pair pg_advisory_lock with pg_advisory_unlock and pg_advisory_lock_shared with pg_advisory_unlock_shared, with the same arguments. "
                  "Transaction locks need no release.",
        .clauses = {"release of another mode than was taken | bad_mode.sql",
                    "release of another form than was taken | bad_form.sql",
                    "release of another scope than was taken | bad_scope.sql",
                    "release of locks of a caller | bad_unlock_all.sql",
                    "release of one certainly not held | bad_twice.sql"},
    },
    check};

}  // namespace pglocklint

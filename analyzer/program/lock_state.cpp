// # What is held, when, and how surely
//
// The lock state is a forward data-flow over the blocks of one function: every lock call moves a few holds, every transaction command
// moves all of them. Most mistakes of this kind of analysis come from one of five simplifications, so these five are not made:
//
//   * A session lock is a *count*. Taking it twice needs two releases, and `unlock` that answers true does not mean free. No transaction
//     event ever changes the count: not COMMIT, not ROLLBACK, not an error.
//   * A transaction lock belongs to the *level* that took it: the transaction, a savepoint, a PL/pgSQL block with EXCEPTION. RELEASE and
//     the normal end of a block hand it down; ROLLBACK TO and a handler drop exactly the levels above. Nothing else releases it, least of
//     all pg_advisory_unlock.
//   * What a try function answers and what is held go together. A state is a set of at most eight alternatives, and an alternative
//     carries what branches and assignments have settled (`ok` is true, `p_force` is false). So
//     `ok := pg_try_advisory_lock(k); IF ok THEN … END IF; … IF ok THEN unlock` comes out right, and so does
//     `IF try(1) AND try(2)`, which leaves 1 held when 2 is refused.
//   * Unknown is not "not held". A routine does not know what its caller holds, so counts in it start at the caller's, whatever that is,
//     and may go below zero: a helper that unlocks is no mismatch. What it does to the caller's count x is max(x + d, m), which is closed
//     under composition: a release of what is not held does nothing, so `unlock(k); lock(k)` leaves max(x, 1). A key that we cannot name (⊤) never gives a report; it only takes
//     certainty away from the others.
//   * An error is a way out like RETURN. What a statement that may fail leaves behind is the hull of before and after for sessions, and
//     the dropped level for transactions; WHEN OTHERS takes it over unless a condition is not caught (57014, P0004), which we accept:
//     otherwise every cleanup in PL/pgSQL would be an alarm.
//
// Which statements may fail is decided by kind (LOCKSTATE §6): reads and writes of relations, DDL, calls of functions of the program, dynamic
// SQL. BEGIN, COMMIT, assignments of plain expressions, RETURN, RAISE NOTICE, try and unlock never do by decision; a blocking acquire does
// only for a handler that asks for it.
//
// Joins. Alternatives with the same holds become one and keep the facts they share; different holds stay apart while there is room,
// because "held on one path, free on the other" is what the rules ask for. Beyond eight, and in loops that do not settle, alternatives of
// the same transaction status and levels are widened to their hull. Every component has finite height, so the fixpoint ends.
//
// Calls. Routines are analyzed from callees to callers. A summary says how a call returns (one outcome for each boolean result that is
// known) and what each outcome changes, with the callee's parameters replaced by the arguments of the call. Cycles start from "no
// effect" and are iterated; what does not settle is widened.
#include "program/lock_domain.h"
#include "model/host_number.h"

#include <algorithm>
#include <tuple>

namespace pglocklint {
namespace {

constexpr std::size_t kMostHolds = 64;    // of one state; beyond, keys are forgotten (unknown_held)
constexpr std::size_t kMostLost = 8;
constexpr std::size_t kMostLevels = 30;   // bits of Hold::may; deeper levels share the last one

std::uint32_t bit(std::size_t level) { return 1U << std::min(level, kMostLevels); }
std::uint32_t fromBit(std::size_t level) { return level > kMostLevels ? 0 : ~(bit(level) - 1); }

int capped(int n) { return std::clamp(n, -kMany, kMany); }

auto place(const Hold& h) { return std::tuple(h.key, h.mode); }

// In a list of holds, const or not.
auto lowerBound(auto& items, KeyId key, LockMode mode) {
  return std::lower_bound(items.begin(), items.end(), std::tuple(key, mode), [](const auto& h, const auto& wanted) { return place(*h) < wanted; });
}

void dropEmpty(LockState& s) {
  s.holds.eraseIf([](const Hold& h) { return h.lo == 0 && h.hi == 0 && h.floor_lo == 0 && h.floor_hi == 0 && h.may == 0; });
}

void recordLoss(LockState& s, LostLock lost) {
  std::erase_if(s.lost, [&](const LostLock& l) { return l.how == lost.how && place(l.hold) == place(lost.hold); });
  if (s.lost.size() < kMostLost) s.lost.push_back(std::move(lost));
}

bool sameHolding(const LockState& a, const LockState& b) {
  return a.holds.size() == b.holds.size() && std::equal(a.holds.begin(), a.holds.end(), b.holds.begin(), [](const Hold& x, const Hold& y) {
           return place(x) == place(y) && x.lo == y.lo && x.hi == y.hi && x.floor_lo == y.floor_lo && x.floor_hi == y.floor_hi &&
                  x.may == y.may && x.must == y.must;
         });
}

bool sameLosses(const LockState& a, const LockState& b) {
  return a.lost.size() == b.lost.size() && std::equal(a.lost.begin(), a.lost.end(), b.lost.begin(), [](const LostLock& x, const LostLock& y) {
           return x.how == y.how && x.where == y.where && place(x.hold) == place(y.hold);
         });
}

bool sameShape(const LockState& a, const LockState& b) { return a.status == b.status && a.levels == b.levels && a.cleared == b.cleared && a.ended == b.ended; }

// As joined with "not touched".
void mergeNothing(Hold& h) {
  h.lo = std::min(h.lo, 0), h.hi = std::max(h.hi, 0);
  h.floor_lo = 0, h.must = 0;
}

void mergeHold(Hold& into, const Hold& h) {
  into.lo = std::min(into.lo, h.lo), into.hi = std::max(into.hi, h.hi);
  into.floor_lo = std::min(into.floor_lo, h.floor_lo), into.floor_hi = std::max(into.floor_hi, h.floor_hi);
  into.may |= h.may, into.must &= h.must;
  for (const EventId e : h.taken) into.taken.add(e);
  for (const std::uint32_t w : h.worked) into.worked.add(w);
  if (!into.written.known()) into.written = h.written, into.written_level = h.written_level;
}

// The hull of two states of one shape. A lock that only one of them mentions is not held in the other.
void mergeInto(LockState& a, const LockState& b) {
  for (const Hold& h : b.holds) {
    const Hold* known = a.find(h.key, h.mode);
    if (known == &h) continue;
    Hold& own = a.holds.change(h.key, h.mode);
    if (known == nullptr) own = h, mergeNothing(own);
    else mergeHold(own, h);
  }
  a.holds.changeAll([&](Hold& h) {
    if (b.find(h.key, h.mode) == nullptr) mergeNothing(h);
  });
  for (const LostLock& l : b.lost)
    if (a.lost.size() < kMostLost && std::none_of(a.lost.begin(), a.lost.end(), [&](const LostLock& x) { return x.how == l.how && place(x.hold) == place(l.hold); }))
      a.lost.push_back(l);
  std::vector<Fact> shared;
  std::set_intersection(a.facts.begin(), a.facts.end(), b.facts.begin(), b.facts.end(), std::back_inserter(shared));
  a.facts = std::move(shared);
  std::erase_if(a.refused, [&](const auto& r) { return !std::binary_search(b.refused.begin(), b.refused.end(), r); });
  for (const EventId e : b.stale) a.stale.add(e);
  a.unknown_held |= b.unknown_held;
  if (a.cleared != b.cleared) a.cleared = Happened::Perhaps;
  if (a.ended != b.ended) a.ended = Happened::Perhaps;
  a.undone |= b.undone;
  a.repeatable_read &= b.repeatable_read;
  a.timeouts.merge(b.timeouts);
}

}  // namespace

std::optional<std::size_t> Timeouts::indexOf(std::string_view setting) {
  if (setting == "lock_timeout") return 0;
  if (setting == "statement_timeout") return 1;
  if (setting == "transaction_timeout") return 2;
  return std::nullopt;
}

void Timeouts::set(std::size_t setting, TimeoutValue value, SettingScope scope, TransactionStatus status) {
  const auto maybe = [&](TimeoutValue& v) { v = v == value ? value : TimeoutValue::Unknown; };
  const bool local = scope == SettingScope::Local;
  switch (status) {
    case TransactionStatus::None:
      if (!local) now[setting] = committed[setting] = rolled_back[setting] = value;  // SET LOCAL warns and does nothing
      break;
    case TransactionStatus::Failed: break;
    case TransactionStatus::Unknown:
      if (local) return maybe(now[setting]);
      now[setting] = committed[setting] = value;
      maybe(rolled_back[setting]);
      break;
    case TransactionStatus::Implicit:
    case TransactionStatus::Explicit:
      now[setting] = value;
      if (!local) committed[setting] = value;
      break;
  }
}

void Timeouts::rollbackPart() {
  for (std::size_t i = 0; i < now.size(); ++i)
    for (Values* v : {&now, &committed})
      if ((*v)[i] != rolled_back[i]) (*v)[i] = TimeoutValue::Unknown;
}

void Timeouts::merge(const Timeouts& other) {
  const auto join = [](Values& own, const Values& b) {
    for (std::size_t i = 0; i < own.size(); ++i)
      if (own[i] != b[i]) own[i] = TimeoutValue::Unknown;
  };
  join(now, other.now), join(committed, other.committed), join(rolled_back, other.rolled_back);
}

TimeoutValue Timeouts::bound() const {
  bool off = true;
  for (const TimeoutValue v : now) {
    if (v == TimeoutValue::On) return TimeoutValue::On;
    off &= v == TimeoutValue::Off;
  }
  return off ? TimeoutValue::Off : TimeoutValue::Unknown;
}

const Hold* HoldList::find(KeyId key, LockMode mode) const {
  const auto at = lowerBound(items_, key, mode);
  return at != items_.end() && (*at)->key == key && (*at)->mode == mode ? at->get() : nullptr;
}

Hold& HoldList::change(KeyId key, LockMode mode) {
  auto at = lowerBound(items_, key, mode);
  if (at == items_.end() || (*at)->key != key || (*at)->mode != mode) {
    at = items_.insert(at, std::make_shared<Hold>());
    (*at)->key = key, (*at)->mode = mode;
  } else if (at->use_count() > 1) {
    *at = std::make_shared<Hold>(**at);
  }
  return **at;
}

bool addState(LockStateSet& set, LockState s, bool hull) {
  for (LockState& t : set) {
    if (!sameShape(t, s) || !(hull || (sameHolding(t, s) && sameLosses(t, s)))) continue;
    const LockState old = t;
    mergeInto(t, s);
    return !(t == old);
  }
  if (set.size() < kMostStates) {
    set.push_back(std::move(s));
    return true;
  }
  // No room: join the one that is most alike. Different shapes stay apart as long as any two of one shape can be joined instead.
  for (const bool facts : {true, false})
    for (LockState& t : set) {
      if (!sameShape(t, s) || (facts && t.facts != s.facts)) continue;
      const LockState old = t;
      mergeInto(t, s);
      return !(t == old);
    }
  LockState& t = set.front();
  const LockState old = t;
  s.status = t.status = TransactionStatus::Unknown;
  mergeInto(t, s);
  t.holds.changeAll([](Hold& h) { h.may = h.may != 0 ? bit(0) : 0, h.must = 0; });  // of some level: none that a later ROLLBACK TO names
  t.levels.clear();
  return !(t == old);
}

void acquire(LockState& s, const Acquisition& a, const KeyTable& keys) {
  if (a.most <= 0) return;
  if (a.key == kUnknownKey || (s.holds.size() >= kMostHolds && s.find(a.key, a.mode) == nullptr)) {
    s.unknown_held = true;
    return;
  }
  std::erase_if(s.lost, [&](const LostLock& l) { return keys.alias(l.hold.key, a.key) != Alias::No; });
  Hold& h = s.holds.change(a.key, a.mode);
  const bool certain = a.least > 0 && keys.at(a.key).exact;
  const std::uint32_t level = bit(s.levels.size());
  if (!h.mayHold()) h.written = {}, h.worked.clear(), h.taken.clear();
  if (a.scope == LockScope::Session) {
    const int least = certain ? a.least : 0;
    h.lo = capped(h.lo + least), h.hi = capped(h.hi + a.most);
    h.floor_lo = capped(h.floor_lo + least), h.floor_hi = capped(h.floor_hi + a.most);
  } else {
    h.may |= a.any_level ? level | (level - 1) : level;
    if (certain && !a.any_level) h.must |= level;
  }
  h.taken.add(a.event);
}

bool refuse(const LockState& s, KeyId key, LockMode mode, const KeyTable& keys) {
  if (key == kUnknownKey || !keys.at(key).exact) return true;
  const Hold* h = s.find(key, mode);
  return h == nullptr || !h->mustHold();
}

namespace {

// Counts are counted from what the caller held.
bool fromCaller(const LockState& s, bool routine) { return routine && s.cleared != Happened::Yes; }

// One less, but not less than none.
int less(int count) { return count >= kMany ? kMany : std::max(count - 1, 0); }

}  // namespace

void release(LockState& s, KeyId key, LockMode mode, bool routine, const KeyTable& keys) {
  const bool from_caller = fromCaller(s, routine);
  bool own = false;
  s.holds.changeAll([&](Hold& h) {
    if (h.mode != mode) return;
    switch (keys.alias(h.key, key)) {
      case Alias::No: break;
      case Alias::Must:
        own = true;
        h.lo = from_caller ? capped(h.lo - 1) : std::max(h.lo - 1, 0);
        h.hi = from_caller && h.hi < kMany ? capped(h.hi - 1) : less(h.hi);
        h.floor_lo = std::max(h.floor_lo - 1, 0), h.floor_hi = less(h.floor_hi);
        break;
      case Alias::May:
        h.lo = std::min(h.lo, 0), h.floor_lo = 0;
        if (h.key == key) h.hi = std::min(h.hi, 0), h.floor_hi = 0, own = true;  // the same set: rows released as they were taken
        break;
    }
  });
  if (!own && from_caller && key != kUnknownKey && s.holds.size() < kMostHolds) {
    Hold& h = s.holds.change(key, mode);
    if (keys.at(key).exact) h.lo = h.hi = -1;
    else h.lo = -1;
  }
  dropEmpty(s);
}

void releaseAll(LockState& s, bool routine) {
  s.holds.changeAll([](Hold& h) { h.lo = h.hi = h.floor_lo = h.floor_hi = 0; });
  if (routine) s.cleared = Happened::Yes;
  dropEmpty(s);
}

void applyCleared(LockState& s, Happened cleared, bool routine) {
  if (cleared == Happened::Yes) return releaseAll(s, routine);
  if (cleared == Happened::No) return;
  s.holds.changeAll([](Hold& h) { h.lo = std::min(h.lo, 0), h.floor_lo = 0; });
  if (fromCaller(s, routine)) s.cleared = Happened::Perhaps;
}

void apply(LockState& s, const LockEffect& e, EventId event, bool routine, const KeyTable& keys) {
  if (e.hi > 0 || e.may)
    std::erase_if(s.lost, [&](const LostLock& l) { return keys.alias(l.hold.key, e.key) != Alias::No; });
  if (e.key == kUnknownKey) {
    s.unknown_held |= e.hi > 0 || e.may;
    if (e.lo < 0) s.holds.changeAll([](Hold& h) { h.lo = std::min(h.lo, 0), h.floor_lo = 0; });
    return;
  }
  const bool exact = keys.at(e.key).exact;
  if (e.lo < 0)
    s.holds.changeAll([&](Hold& h) {
      if (h.mode == e.mode && h.key != e.key && keys.alias(h.key, e.key) == Alias::May) h.lo = std::min(h.lo, 0), h.floor_lo = 0;
    });
  if (s.holds.size() >= kMostHolds && s.find(e.key, e.mode) == nullptr) {
    s.unknown_held = true;
    return;
  }
  Hold& h = s.holds.change(e.key, e.mode);
  if (!h.mayHold()) h.written = {}, h.worked.clear(), h.taken.clear();
  // max(max(x + lo, floor) + e.lo, e.floor)
  const int lo = exact ? e.lo : std::min(e.lo, 0);
  h.lo = capped(h.lo + lo), h.floor_lo = std::max(capped(h.floor_lo + lo), exact ? e.floor_lo : 0);
  h.hi = h.hi >= kMany ? kMany : capped(h.hi + e.hi), h.floor_hi = std::max(h.floor_hi >= kMany ? kMany : capped(h.floor_hi + e.hi), e.floor_hi);
  if (!fromCaller(s, routine)) h.lo = std::max(h.lo, h.floor_lo), h.hi = std::max(h.hi, h.floor_hi);
  const std::uint32_t level = bit(s.levels.size());
  if (e.may) h.may |= level;
  if (e.must && exact) h.must |= level;
  if (e.hi > 0 || e.may) h.taken.add(event);
  dropEmpty(s);
}

void pushLevel(LockState& s, std::string name) { s.levels.push_back(std::move(name)); }

void popLevel(LockState& s) {
  if (s.levels.empty()) return;
  const std::uint32_t top = bit(s.levels.size()), below = bit(s.levels.size() - 1);
  s.levels.pop_back();
  s.holds.changeAll([&](Hold& h) {
    if (h.may & top) h.may = (h.may & ~top) | below;
    if (h.must & top) h.must = (h.must & ~top) | below;
    if (h.written.known()) h.written_level = std::min<std::uint32_t>(h.written_level, static_cast<std::uint32_t>(s.levels.size()));
  });
}

void dropLevels(LockState& s, std::size_t level, std::size_t keep, Loss how, const SourceRange& where, std::int32_t scope) {
  const std::uint32_t gone = fromBit(level);
  s.holds.changeAll([&](Hold& h) {
    if ((h.must & gone) && (h.may & ~gone) == 0 && h.hi <= 0) recordLoss(s, {how, h, where, scope});
    h.may &= ~gone, h.must &= ~gone;
    if (h.written.known() && h.written_level >= level) h.written = {};
  });
  s.levels.resize(std::min(s.levels.size(), keep));
  s.timeouts.rollbackPart();
  dropEmpty(s);
}

std::size_t findLevel(const LockState& s, const std::string& name) {
  for (std::size_t i = s.levels.size(); i-- > 0;)
    if (s.levels[i] == name) return i + 1;
  return 0;
}

void endTransaction(LockState& s, Loss how, const SourceRange& where) {
  s.holds.changeAll([&](Hold& h) {
    if (h.must != 0 && h.hi <= 0) recordLoss(s, {how, h, where, -1});
    h.may = h.must = 0;
    h.written = {};
  });
  s.levels.clear();
  s.repeatable_read = false;
  how == Loss::Rollback ? s.timeouts.rollback() : s.timeouts.commit();
  dropEmpty(s);
}

void perhapsEndTransaction(LockState& s) {
  s.holds.changeAll([](Hold& h) { h.must = 0; });
  if (s.ended == Happened::No) s.ended = Happened::Perhaps;
}

namespace {

// How far `text` says of which object it tells the class: "parameter 0.#" of "parameter 0.#ns::FileLock"; npos: it tells something else.
std::size_t classPrefix(const std::string& text) {
  const std::size_t at = text.rfind(kHostClass);
  return at == std::string::npos ? at : at + std::string_view(kHostClass).size();
}

// Of the same object, and of another class.
bool otherClass(const Fact& f, const std::string& text, std::size_t prefix) {
  return f.text != text && f.text.compare(0, prefix, text, 0, prefix) == 0;
}

}  // namespace

void leaveSession(LockState& s, const SourceRange& where) {
  const HoldList gone = std::move(s.holds);
  s.holds.clear();
  s.levels.clear();
  std::erase_if(s.facts, [](const Fact& f) { return classPrefix(f.text) == std::string::npos; });
  s.refused.clear();
  s.lost.clear();
  s.stale.clear();
  s.unknown_held = s.repeatable_read = false;
  s.cleared = s.ended = Happened::No;
  s.undone = false;
  for (const Hold& h : gone)
    if (h.lo > 0) recordLoss(s, {Loss::Reconnect, h, where, -1});
}

void forget(LockState& s, const std::string& variable, KeyTable& keys) {
  const auto isNamed = [&](KeyId key) {
    if (key == kUnknownKey) return false;
    const std::vector<std::string>& names = keys.at(key).names;
    return std::binary_search(names.begin(), names.end(), variable);
  };
  std::erase_if(s.facts, [&](const Fact& f) { return std::find(f.names.begin(), f.names.end(), variable) != f.names.end(); });
  std::erase_if(s.refused, [&](const auto& r) { return isNamed(r.first); });
  std::vector<Hold> renamed;
  s.holds.eraseIf([&](const Hold& h) {
    if (!isNamed(h.key)) return false;
    renamed.push_back(h);
    return true;
  });
  for (Hold& h : renamed) {
    const KeyId key = keys.older(h.key);
    const bool fresh = s.find(key, h.mode) == nullptr;
    Hold& older = s.holds.change(key, h.mode);
    h.key = key;
    if (fresh) {
      older = h;
    } else {  // one more old key beside those of earlier values
      Hold both = older;
      both.lo = capped(older.lo + h.lo), both.hi = capped(older.hi + h.hi);
      both.floor_lo = capped(older.floor_lo + h.floor_lo), both.floor_hi = capped(older.floor_hi + h.floor_hi);
      both.must |= h.must;
      mergeHold(older, h);
      older.lo = both.lo, older.hi = both.hi, older.floor_lo = both.floor_lo, older.floor_hi = both.floor_hi, older.must = both.must;
    }
  }
}

void learn(LockState& s, Fact fact) {
  if (const std::size_t prefix = classPrefix(fact.text); prefix != std::string::npos) {
    if (fact.value) std::erase_if(s.facts, [&](const Fact& f) { return otherClass(f, fact.text, prefix); });
    const std::string object = fact.text.substr(0, prefix - std::string_view(kHostClass).size());
    if (!fact.names.empty()) fact.names = {object, object + "?", fact.text};
  }
  if (const auto number = splitNumber(fact.text)) {
    const std::string path(number->first);
    if (fact.value && number->second.relation == "=") forgetNumbers(s, path);
    fact.names = {path, fact.text};
  }
  const auto at = std::lower_bound(s.facts.begin(), s.facts.end(), fact.text, [](const Fact& f, const std::string& t) { return f.text < t; });
  if (at != s.facts.end() && at->text == fact.text) *at = std::move(fact);
  else if (s.facts.size() < 16) s.facts.insert(at, std::move(fact));
}

std::optional<bool> known(const LockState& s, const std::string& text) {
  const auto at = std::lower_bound(s.facts.begin(), s.facts.end(), text, [](const Fact& f, const std::string& t) { return f.text < t; });
  if (at != s.facts.end() && at->text == text) return at->value;
  const std::size_t prefix = classPrefix(text);
  if (prefix != std::string::npos && std::any_of(s.facts.begin(), s.facts.end(), [&](const Fact& f) { return f.value && otherClass(f, text, prefix); })) return false;
  if (const auto number = splitNumber(text)) {
    const std::string path(number->first);
    if (const auto n = knownNumber(s, path)) return holds(*n, number->second);
    const auto truth = known(s, path);  // not 0
    if (truth == false) return holds(0, number->second);
    if (truth == true && number->second.relation == "=" && number->second.number == 0) return false;
  } else if (const auto n = knownNumber(s, text)) {
    return *n != 0;
  }
  return std::nullopt;
}

std::optional<std::int64_t> knownNumber(const LockState& s, const std::string& path) {
  const std::string prefix = path + ".=";
  for (auto at = std::lower_bound(s.facts.begin(), s.facts.end(), prefix, [](const Fact& f, const std::string& t) { return f.text < t; });
       at != s.facts.end() && at->text.starts_with(prefix); ++at)
    if (const auto number = at->value ? splitNumber(at->text) : std::nullopt) return number->second.number;
  return std::nullopt;
}

void forgetNumbers(LockState& s, const std::string& path) {
  std::erase_if(s.facts, [&](const Fact& f) {
    const auto number = f.text.starts_with(path) ? splitNumber(f.text) : std::nullopt;
    return number && number->first == path;
  });
}

}  // namespace pglocklint

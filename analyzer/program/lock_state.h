// The lock state: which advisory locks may and must be held at each lock call, on this session, in which transaction, taken where.
// The essay is at the head of lock_state.cpp; lock_flow.cpp runs it over functions, lock_program.cpp over the call graph.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/lock_function.h"
#include "program/few.h"
#include "program/lock_keys.h"

namespace pglocklint {

struct LockSite;
struct Program;
struct TriggerUse;

enum class TransactionStatus {
  None,      // autocommit: each statement is a transaction of its own
  Implicit,  // statements of one string
  Explicit,  // BEGIN … COMMIT
  Failed,    // only the ends of the transaction have an effect
  Unknown,
};
PGLOCKLINT_ENUM_NAMES(TransactionStatus, "none", "implicit", "explicit", "failed", "unknown")

using EventId = std::int32_t;  // index into LockStates::events
inline constexpr int kMany = 3;  // session counts from here on are "many"

// What is held of one key in one mode. The session count is an interval; in a routine it counts from what the caller held (below zero:
// released for the caller), and is `floor` at least whatever that was, for a lock that is not held cannot be released: caller's count x
// becomes max(x + lo, floor_lo) … max(x + hi, floor_hi). Transaction locks: a bit for each level (bit 0: the transaction, then savepoints
// and EXCEPTION blocks).
struct Hold {
  KeyId key = kUnknownKey;
  LockMode mode = LockMode::Exclusive;
  int lo = 0, hi = 0;
  int floor_lo = 0, floor_hi = 0;
  std::uint32_t may = 0, must = 0;
  Few<EventId, 4> taken;                // where
  SourceRange written;                  // first write under it that is not committed
  std::uint32_t written_level = 0;
  Few<std::uint32_t, 12> worked;        // relations worked on under it (LockStates::names)

  bool session() const { return hi > 0 || floor_hi > 0; }
  bool mayHold() const { return session() || may != 0; }
  bool mustHold() const { return lo > 0 || floor_lo > 0 || must != 0; }
  bool operator==(const Hold&) const = default;
};

// The holds of one state, sorted by key and mode. Copies of a state share what none of them changes: most of what is held at a call is
// what was held at the call before.
class HoldList {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = const Hold;
    using difference_type = std::ptrdiff_t;
    using pointer = const Hold*;
    using reference = const Hold&;
    Iterator() = default;
    explicit Iterator(const std::shared_ptr<Hold>* at) : at_(at) {}
    const Hold& operator*() const { return **at_; }
    const Hold* operator->() const { return at_->get(); }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const std::shared_ptr<Hold>* at_ = nullptr;
  };

  Iterator begin() const { return Iterator(items_.data()); }
  Iterator end() const { return Iterator(items_.data() + items_.size()); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const Hold& operator[](std::size_t i) const { return *items_[i]; }
  void clear() { items_.clear(); }

  const Hold* find(KeyId key, LockMode mode) const;
  Hold& change(KeyId key, LockMode mode);  // to be changed; added if it is not there
  // `f(Hold&)` may change each.
  template <class F>
  void changeAll(F&& f) {
    for (std::shared_ptr<Hold>& h : items_) {
      if (h.use_count() == 1) {
        f(*h);
        continue;
      }
      Hold changed = *h;
      f(changed);
      if (changed != *h) h = std::make_shared<Hold>(changed);
    }
  }
  template <class Unwanted>
  void eraseIf(Unwanted&& unwanted) {
    std::erase_if(items_, [&](const std::shared_ptr<Hold>& h) { return unwanted(std::as_const(*h)); });
  }
  bool operator==(const HoldList& o) const {
    return std::equal(items_.begin(), items_.end(), o.items_.begin(), o.items_.end(), [](const auto& a, const auto& b) { return a == b || *a == *b; });
  }

 private:
  std::vector<std::shared_ptr<Hold>> items_;
};

enum class Loss { Commit, Rollback, Chain, Prepare, Savepoint, Handler, StatementEnd, Reconnect, Failure };
PGLOCKLINT_ENUM_NAMES(Loss, "commit", "rollback", "chain", "prepare", "savepoint", "handler", "statement-end", "reconnect", "failure")

// A lock that was certainly held and is gone (Failure: that was waited for and not got), until it is taken again.
struct LostLock {
  Loss how = Loss::Commit;
  Hold hold;
  SourceRange where;           // what ended it
  std::int32_t scope = -1;     // Handler, Failure: the EXCEPTION scope
  bool operator==(const LostLock&) const = default;
};

// What a branch or an assignment has settled: `text` (a variable, or a condition over variables) is true or false.
struct Fact {
  std::string text;
  std::vector<std::string> names;
  bool value = false;
  auto operator<=>(const Fact&) const = default;
};

// The settings that end a wait: lock_timeout, statement_timeout, transaction_timeout. For each the value in force, the one that COMMIT
// leaves (SET LOCAL is gone) and the one that ROLLBACK brings back.
enum class TimeoutValue : std::uint8_t { Off, On, Unknown };
struct Timeouts {
  using Values = std::array<TimeoutValue, 3>;
  Values now{}, committed{}, rolled_back{};

  static Timeouts all(TimeoutValue v) { return {{v, v, v}, {v, v, v}, {v, v, v}}; }
  static std::optional<std::size_t> indexOf(std::string_view setting);
  void set(std::size_t setting, TimeoutValue value, SettingScope scope, TransactionStatus status);
  void begin() { committed = rolled_back = now; }
  void commit() { now = rolled_back = committed; }
  void rollback() { now = committed = rolled_back; }
  void rollbackPart();             // to a savepoint: what was set in the transaction may be undone
  void merge(const Timeouts& other);
  TimeoutValue bound() const;      // On: some wait ends; Off: none does
  bool operator==(const Timeouts&) const = default;
};

// On no path, on some, on all.
enum class Happened : std::uint8_t { No, Perhaps, Yes };

struct LockState {
  TransactionStatus status = TransactionStatus::Unknown;
  std::vector<std::string> levels;   // names of savepoints, "#3" for EXCEPTION scope 3; the transaction itself is not in it
  HoldList holds;
  std::vector<LostLock> lost;
  std::vector<Fact> facts;           // sorted by text
  std::vector<std::pair<KeyId, LockMode>> refused;  // in a routine, sorted: session locks that its caller does not have
  Few<EventId, 4> stale;             // acquisitions after which nothing was read yet, though the snapshot is older
  bool unknown_held = false;         // a key we do not know may be held
  Happened cleared = Happened::No;   // pg_advisory_unlock_all in a routine: from then on its counts are counted from nothing
  Happened ended = Happened::No;     // COMMIT or ROLLBACK in a routine: the caller's transaction locks are gone
  bool undone = false;               // and it was, or may have been, a ROLLBACK or the end of the session (host functions)
  bool repeatable_read = false;      // the transaction keeps one snapshot
  SourceRange raised;                // host functions: the call whose exception is under way; says nothing of the state
  Timeouts timeouts;

  const Hold* find(KeyId key, LockMode mode) const { return holds.find(key, mode); }
  bool operator==(const LockState& o) const {
    return status == o.status && unknown_held == o.unknown_held && cleared == o.cleared && ended == o.ended && undone == o.undone && repeatable_read == o.repeatable_read && timeouts == o.timeouts &&
           levels == o.levels && holds == o.holds && lost == o.lost && facts == o.facts && refused == o.refused && stale == o.stale;
  }
};
static_assert(std::is_trivially_copyable_v<Hold>, "states are copied all the time");
inline constexpr std::size_t kMostStates = 8;
using LockStateSet = std::vector<LockState>;  // alternatives; empty: not reached

// One acquisition somewhere inside: for lock order.
struct InnerAcquisition {
  KeyId key = kUnknownKey;
  LockMode mode = LockMode::Exclusive;
  LockScope scope = LockScope::Session;
  bool blocks = true;
  EventId event = -1;                                   // the built-in call
  bool certain = true;                                  // on each way through the callee that comes back
  std::vector<std::pair<KeyId, LockMode>> held;         // must be held by the callee itself at that point
  bool operator==(const InnerAcquisition&) const = default;
};

enum class LockEventKind { Acquire, Try, Release, ReleaseAll, Call };

// One lock operation of a function or script: a call of a lock function, or of a routine with effects on locks (Call).
struct LockEvent {
  LockEventKind kind = LockEventKind::Acquire;
  int unit = -1;
  const Function* function = nullptr;
  const Statement* statement = nullptr;
  const Expr* call = nullptr;            // null for a DO block's Call and a trigger's
  const TriggerUse* trigger = nullptr;   // Call: fired by the statement
  SourceRange range;                     // of the call
  const LockSite* site = nullptr;        // direct lock calls
  const LockFunction* lock = nullptr;    // likewise
  const Function* callee = nullptr;      // Call
  std::int32_t summary = -1;             // Call: index into LockStates::summaries
  KeyId key = kUnknownKey;
  int least = 1, most = 1;               // times it runs when its statement does
  bool per_row = false;                  // once for each row of something stored
  bool cursor = false;                   // runs when rows are fetched: what it takes belongs to the level that has declared the cursor
  LockStateSet before;
  std::vector<std::pair<KeyId, LockMode>> keeps;  // Call: session locks that the callee takes and may leave held, each once
  std::vector<std::pair<KeyId, LockMode>> frees;  // Call: session locks that the callee releases in the caller's transaction
  std::vector<InnerAcquisition> inner;   // Call: acquisitions inside, where this caller's locks or arguments matter to their order

  bool acquires() const { return kind == LockEventKind::Acquire || kind == LockEventKind::Try; }
};

// ErrorIn: an error in the statement leaves the function; Cancelled: only one that WHEN OTHERS does not catch (57014, P0004).
enum class WayOutKind { End, Return, Raise, ErrorIn, Cancelled };

struct WayOut {
  WayOutKind kind = WayOutKind::End;
  SourceRange range;
  LockStateSet states;
};

// Work that is done after a lock was lost.
struct WorkAfterLoss {
  LostLock lost;
  SourceRange work;
  bool same_work = false;   // on something that was worked on under the lock
  bool in_handler = false;  // of the scope that caught it
};

// The session waits for something that is not its transaction's work, with the transaction open and locks held.
struct IdleWait {
  SourceRange range;
  std::string what;      // "pg_sleep", "\!", "another program"
  bool repeated = false;  // in a loop
  LockStateSet states;
};

struct FunctionLocks {
  int unit = -1;
  const Function* function = nullptr;
  std::string session;                    // host functions: the session that this is about (HostPaths)
  const Function* constructor = nullptr;  // a destructor as it runs right after this constructor of its class; else null
  std::vector<EventId> events;            // in block order
  std::vector<WayOut> ways_out;           // with a session lock that may be held
  std::vector<WorkAfterLoss> after_loss;  // each loss and lock once
  std::vector<std::pair<EventId, SourceRange>> read_after;  // snapshot kept: an acquisition, and the first read after it
  std::vector<IdleWait> waits;
  bool complete = true;                   // false: given up, nothing is known
};

// What a call of a routine does to the locks of its caller.
struct LockEffect {
  KeyId key = kUnknownKey;
  LockMode mode = LockMode::Exclusive;
  int lo = 0, hi = 0;            // change of the session count, and what it is at least (Hold)
  int floor_lo = 0, floor_hi = 0;
  bool may = false, must = false;  // a transaction lock more
  auto operator<=>(const LockEffect&) const = default;
};
struct LockOutcome {
  std::optional<bool> result;    // of a boolean routine, if known; of a host function that returns a number: it is not 0
  std::optional<std::int64_t> number;  // of such a one
  Happened cleared = Happened::No, ended = Happened::No;  // before the effects
  bool undone = false;           // see LockState
  std::vector<LockEffect> effects;
  std::vector<std::pair<KeyId, LockMode>> refused;  // session locks that the caller does not have, for a release has answered false
  // Host functions, over paths that the caller sees: what was found so on entry, what is so afterwards (owns_ of a guard), and the state
  // of the session's transaction.
  std::vector<Fact> found, left;
  TransactionStatus status = TransactionStatus::Unknown;
  bool operator==(const LockOutcome&) const = default;
};
struct LockSummary {
  std::vector<LockOutcome> outcomes;   // ways to return; empty: never returns
  std::vector<LockOutcome> raised;     // ways to leave by an error
  std::vector<LockOutcome> refused;    // routines: by an error of a blocking acquire, which is of interest to handlers that ask for it
  std::vector<InnerAcquisition> acquires;
  bool releases_all = false;
  bool works = false;                  // does more than lock: its locks protect something of its own
  bool operator==(const LockSummary&) const = default;
};

// What was left out to stay within bounds.
struct NotFollowed {
  int unit = -1;
  SourceRange range;
  std::string reason;
};

class LockStates {
 public:
  std::vector<NotFollowed> not_followed;
  KeyTable keys;
  std::vector<std::string> names;               // relations, see Hold::worked
  std::vector<LockEvent> events;
  std::vector<FunctionLocks> functions;         // those that touch locks, in order of unit and place
  std::vector<LockSummary> summaries;

  const LockEvent& event(EventId id) const { return events[static_cast<std::size_t>(id)]; }
  // Of the routine that a Call runs, in the routine's own words; null for other events.
  const LockSummary* summaryOf(const LockEvent& e) const {
    return e.summary < 0 ? nullptr : &summaries[static_cast<std::size_t>(e.summary)];
  }
};

// Analyzes every function and script of the program that can reach a lock call.
std::shared_ptr<const LockStates> lockStates(const Program& program);

}  // namespace pglocklint

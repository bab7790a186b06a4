// The lock state over the call graph: callees before callers, cycles to a fixpoint.
#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "program/components.h"
#include "program/lock_flow.h"

namespace pglocklint {
namespace {

constexpr int kMostRounds = 4;                 // through one cycle of calls
constexpr std::size_t kMostAcquisitions = 24;  // of a summary

// The callee holds it for certain at that point.
std::vector<std::pair<KeyId, LockMode>> heldFor(const LockStateSet& before) {
  std::vector<std::pair<KeyId, LockMode>> held;
  if (before.empty()) return held;
  for (const Hold& h : before.front().holds) {
    const bool always = std::all_of(before.begin(), before.end(), [&](const LockState& s) {
      const Hold* own = s.find(h.key, h.mode);
      return own != nullptr && own->mustHold();
    });
    if (always && held.size() < 8) held.emplace_back(h.key, h.mode);
  }
  return held;
}

// Which statements run whenever their function comes to a normal end. Looked up only where somebody asks.
class CertainStatements {
 public:
  explicit CertainStatements(const Function& function) : blocks_(function.blocks) {}

  bool operator()(const Statement* s) {
    if (!std::exchange(found_, true)) find();
    return certain_.contains(s);
  }

 private:
  static bool raises(const Block& b) { return !b.events.empty() && !b.events.back().exit.empty() && b.events.back().exit[0].kind == ExitKind::Raise; }

  // Calls f(block) for each block behind this one; the normal end is one more block.
  template <class F>
  void eachNext(std::size_t block, F&& f) const {
    if (block == blocks_.size()) return;
    for (const Edge& e : blocks_[block].successors) f(static_cast<std::size_t>(e.target));
    if (blocks_[block].successors.empty() && !raises(blocks_[block])) f(blocks_.size());
  }

  void find() {
    const std::vector<std::size_t> way = wayToEnd();
    std::vector<std::size_t> place(blocks_.size() + 1, kNone);  // in `way`
    for (std::size_t i = 0; i < way.size(); ++i) place[way[i]] = i;
    // Nothing leads around a block of the way if all that was left before it leads to it at most. Each block is left once.
    std::vector<bool> left(blocks_.size() + 1);
    std::size_t furthest = 0;
    for (std::size_t i = 0; i < way.size(); ++i) {
      if (i == furthest) add(way[i]);
      std::vector<std::size_t> work{way[i]};
      while (!work.empty()) {
        const std::size_t block = work.back();
        work.pop_back();
        if (left[block]) continue;
        left[block] = true;
        eachNext(block, [&](std::size_t next) {
          if (place[next] == kNone) work.push_back(next);
          else furthest = std::max(furthest, place[next]);
        });
      }
    }
    if (way.empty())  // it never comes back
      for (std::size_t b = 0; b < blocks_.size(); ++b) add(b);
  }

  // Blocks from the entry to the normal end; none if there is no way.
  std::vector<std::size_t> wayToEnd() const {
    std::vector<std::size_t> before(blocks_.size() + 1, kNone), work{0};
    while (!work.empty() && before.back() == kNone) {
      const std::size_t block = work.back();
      work.pop_back();
      eachNext(block, [&](std::size_t next) {
        if (next == 0 || before[next] != kNone) return;
        before[next] = block;
        work.push_back(next);
      });
    }
    std::vector<std::size_t> way;
    if (before.back() == kNone) return way;
    for (std::size_t block = blocks_.size(); block != kNone; block = before[block]) way.push_back(block);
    std::reverse(way.begin(), way.end());
    return way;
  }

  void add(std::size_t block) {
    if (block == blocks_.size()) return;
    for (const Event& e : blocks_[block].events)
      for (const Statement& s : e.statement) certain_.insert(&s);
  }

  static constexpr std::size_t kNone = ~std::size_t{0};
  const List<Block>& blocks_;
  std::unordered_set<const Statement*> certain_;
  bool found_ = false;
};

// False: there is no room for it.
bool addAcquisition(std::vector<InnerAcquisition>& all, InnerAcquisition a) {
  for (InnerAcquisition& known : all) {
    InnerAcquisition as_certain = a;
    as_certain.certain = known.certain;
    if (as_certain != known) continue;
    known.certain |= a.certain;
    return true;
  }
  if (all.size() >= kMostAcquisitions) return false;
  all.push_back(std::move(a));
  return true;
}

// Session locks that the callee releases in the transaction of its caller.
std::vector<std::pair<KeyId, LockMode>> freedBy(const LockSummary& callee) {
  std::vector<std::pair<KeyId, LockMode>> freed, committed;
  for (const LockOutcome& o : callee.outcomes)
    for (const LockEffect& x : o.effects) {
      auto& all = o.ended == Happened::No && o.cleared == Happened::No ? freed : committed;
      if (x.hi < 0 && std::find(all.begin(), all.end(), std::pair(x.key, x.mode)) == all.end()) all.emplace_back(x.key, x.mode);
    }
  std::erase_if(freed, [&](const auto& f) { return std::find(committed.begin(), committed.end(), f) != committed.end(); });
  return freed;
}

class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program), reader_(program, states_) {}

  std::shared_ptr<const LockStates> run() {
    const auto& candidates = reader_.candidates();
    std::vector<FunctionLocks> results(candidates.size());
    states_.summaries.resize(candidates.size());
    std::vector<std::vector<EventId>> events(candidates.size());
    const auto callees = [&](std::size_t i) -> const std::vector<std::size_t>& { return candidates[i].callees; };
    for (const std::vector<std::size_t>& component : components(candidates.size(), callees)) {
      for (const std::size_t i : component) events[i] = reader_.read(candidates[i]);
      solve(component, candidates, events, results);
    }
    states_.functions = std::move(results);
    destroyRightAfter(candidates);
    return std::make_shared<const LockStates>(std::move(states_));
  }

 private:
  void solve(const std::vector<std::size_t>& component, const std::vector<LockEvents::Candidate>& candidates,
             const std::vector<std::vector<EventId>>& events, std::vector<FunctionLocks>& results) {
    const bool cyclic = component.size() > 1 || std::count(candidates[component[0]].callees.begin(), candidates[component[0]].callees.end(), component[0]) > 0;
    if (cyclic)
      for (const std::size_t i : component) states_.summaries[i].outcomes.assign(1, LockOutcome{});
    for (int round = 0; cyclic && round < kMostRounds; ++round) {
      bool changed = false;
      for (const std::size_t i : component) {
        reader_.forgetCalls(events[i]);
        LockSummary summary = flowLocks(program_, states_, reader_, candidates[i], events[i], false).summary;
        summary.acquires = std::move(states_.summaries[i].acquires);
        if (summary == states_.summaries[i]) {
          continue;
        }
        changed = true;
        states_.summaries[i] = std::move(summary);
      }
      if (!changed) break;
    }
    for (const std::size_t i : component) {
      reader_.forgetCalls(events[i]);
      FlowResult r = flowLocks(program_, states_, reader_, candidates[i], events[i], true);
      if (!r.locks.complete) notFollowed(candidates[i], "too many paths: which locks it holds is not followed");
      if (!summarize(r, events[i])) notFollowed(candidates[i], "it takes more than 24 locks: the order of the others is not followed into its callers");
      results[i] = std::move(r.locks);
      states_.summaries[i] = std::move(r.summary);
    }
  }

  bool takes(const std::vector<std::size_t>& methods) const {
    return std::any_of(methods.begin(), methods.end(), [&](std::size_t m) { return !states_.summaries[m].acquires.empty(); });
  }

  // A class of the host program whose constructor takes locks and whose destructor releases them, with nothing in between: the
  // destructor once more, begun with what the constructor leaves. Methods that take locks too make that unknown.
  void destroyRightAfter(const std::vector<LockEvents::Candidate>& candidates) {
    struct Class {
      std::vector<std::size_t> constructors, destructors, others;
    };
    std::map<std::string, Class> classes;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].function->kind != FunctionKind::HostFunction) continue;
      const std::string& name = candidates[i].function->name;
      const std::string scope = hostScope(name);
      if (scope.empty()) continue;
      const std::string own = hostDisplayName(name).substr(scope.size() + 2);
      Class& c = classes[scope];
      (own == kHostConstructor ? c.constructors : own == kHostDestructor ? c.destructors : c.others).push_back(i);
    }
    for (const auto& [scope, c] : classes)
      for (const std::size_t d : c.destructors)
        for (const std::size_t k : c.constructors)
          if (sameSession(reader_.paths().canonical(*candidates[k].function, candidates[d].session), candidates[k].session) && !takes(c.others))
            destroyRightAfter(candidates[k], k, candidates[d]);
  }

  void destroyRightAfter(const LockEvents::Candidate& constructor, std::size_t k, const LockEvents::Candidate& destructor) {
    // What the constructor was given has become fields.
    std::vector<std::string> names;
    List<Value> values;
    ValueScope scope;
    scope.catalogue = &program_.catalogue, scope.unit = destructor.unit;
    for (const HostAlias& a : constructor.function->host[0].aliases)
      if (a.value.kind == HostValueKind::Parameter && isWithin(a.path, "this")) {
        HostValue field;
        field.kind = HostValueKind::Member, field.type = a.value.type, field.name = a.path.substr(a.path.rfind('.') + 1), field.text = a.path;
        names.push_back(a.value.name), values.push_back(hostValue(field, scope));
      }
    LockStateSet entry;
    bool takes = false;
    for (const LockOutcome& o : states_.summaries[k].outcomes) {
      LockState s;
      for (LockEffect e : o.effects) {
        e.key = states_.keys.substitute(e.key, names, values, destructor.function);
        apply(s, e, -1, false, states_.keys);
        takes |= e.hi > 0;
      }
      s.holds.changeAll([&](Hold& h) {
        h.taken.clear();
        for (const EventId id : states_.functions[k].events)
          if (states_.event(id).acquires() || states_.event(id).kind == LockEventKind::Call) h.taken.add(id);
      });
      for (const Fact& f : o.left) learn(s, {f.text, {f.text}, f.value});
      addState(entry, std::move(s));
    }
    if (!takes) return;
    const std::vector<EventId> events = reader_.read(destructor);
    FunctionLocks locks = flowLocks(program_, states_, reader_, destructor, events, true, &entry).locks;
    locks.constructor = constructor.function;
    states_.functions.push_back(std::move(locks));
  }

  void notFollowed(const LockEvents::Candidate& c, const char* reason) {
    const SourceRange& range = c.function->name_range.known() ? c.function->name_range : c.function->range;
    states_.not_followed.push_back({c.unit, range, reason});
  }

  // False: some acquisitions are not in the summary.
  bool summarize(FlowResult& r, const std::vector<EventId>& events) {
    bool all = true;
    CertainStatements certain(*r.locks.function);
    for (const EventId id : events) {
      const LockEvent& e = states_.event(id);
      if (e.before.empty()) continue;
      r.summary.releases_all |= e.kind == LockEventKind::ReleaseAll;
      const auto held = heldFor(e.before);
      if (e.acquires()) all &= addAcquisition(r.summary.acquires, {e.key, e.lock->mode, e.lock->scope, e.kind == LockEventKind::Acquire, id, e.least > 0 && certain(e.statement), held});
      if (e.kind != LockEventKind::Call) continue;
      const LockSummary& callee = reader_.summary(id);
      const bool holding = std::any_of(e.before.begin(), e.before.end(), [](const LockState& s) { return !s.holds.empty(); });
      const bool ordered = std::any_of(callee.acquires.begin(), callee.acquires.end(), [](const InnerAcquisition& a) { return !a.held.empty(); });
      if (holding || ordered) states_.events[static_cast<std::size_t>(id)].inner = callee.acquires;
      r.summary.releases_all |= callee.releases_all;
      for (const LockOutcome& o : callee.outcomes)
        for (const LockEffect& x : o.effects) {
          auto& keeps = states_.events[static_cast<std::size_t>(id)].keeps;
          const std::pair kept(x.key, x.mode);
          if (x.hi > 0 && std::find(keeps.begin(), keeps.end(), kept) == keeps.end()) keeps.push_back(kept);
        }
      states_.events[static_cast<std::size_t>(id)].frees = freedBy(callee);
      for (InnerAcquisition a : callee.acquires) {
        a.certain = a.certain && certain(e.statement);
        for (const auto& h : held)
          if (a.held.size() < 8 && std::find(a.held.begin(), a.held.end(), h) == a.held.end()) a.held.push_back(h);
        all &= addAcquisition(r.summary.acquires, std::move(a));
      }
    }
    const FunctionKind kind = r.locks.function->kind;
    return all || (kind != FunctionKind::Routine && kind != FunctionKind::Procedure);  // nobody calls a script
  }

  const Program& program_;
  LockStates states_;
  LockEvents reader_;
};

}  // namespace

std::shared_ptr<const LockStates> lockStates(const Program& program) { return Analysis(program).run(); }

}  // namespace pglocklint

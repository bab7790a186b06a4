#include "sql/virtual_calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/ascii.h"
#include "sql/front_end.h"

namespace pglocklint::sql {
namespace {

constexpr std::size_t kMostBranches = 4;  // classes that are told apart at one call
constexpr std::size_t kMostTargets = 16;

// Text that takes or releases a lock, or begins or ends a transaction.
bool concernsLocks(const HostText& t) {
  constexpr std::array<std::string_view, 10> kCommands{"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "discard", "prepare"};
  for (const HostPiece& p : t.pieces)
    if (mentionsSeed(p.text)) return true;
  if (t.pieces.empty() || t.pieces[0].hole >= 0) return false;
  const std::string text = lowered(t.pieces[0].text);
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::string_view word = std::string_view(text).substr(first, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", first) - first);
  return std::ranges::find(kCommands, word) != kCommands.end();
}

bool concernsLocks(const HostCall& c) {
  switch (c.kind) {
    case HostCallKind::Function:
    case HostCallKind::Wait: return false;
    case HostCallKind::Execute:
    case HostCallKind::Prepare: return std::ranges::any_of(c.texts, [](const HostText& t) { return concernsLocks(t); });
    default: return true;
  }
}

class Linking {
 public:
  explicit Linking(std::vector<Unit>& units) : units_(units) {}

  void run() {
    collect();
    if (classes_.empty()) return;
    findLocking();
    for (Unit& u : units_)
      for (Function& f : u.functions)
        if (!f.host.empty()) function(u, f);
  }

 private:
  struct Class {
    std::set<std::string> bases;
    bool abstract = false;
    std::map<std::string, const HostMethod*> own;  // its virtual functions, by name
  };
  struct Target {  // `name` runs for objects of `of_class`
    std::string of_class, name;
  };
  // Functions that a call may run, each with the classes whose objects run it; those that have nothing to do with locks are one choice.
  struct Choice {
    std::vector<std::string> classes, names;
  };

  void collect() {
    for (const Unit& u : units_)
      for (const Function& f : u.functions)
        for (const HostCode& h : f.host)
          for (const HostMethod& m : h.method) {
            Class& c = classes_[m.of_class];
            c.bases.insert(m.bases.begin(), m.bases.end()), c.abstract = m.abstract;
            if (m.is_virtual) c.own.emplace(f.name, &m);
          }
    for (const auto& [name, c] : classes_) {
      if (c.abstract) continue;
      derived_[name].push_back(name);
      for (const std::string& base : c.bases) derived_[base].push_back(name);
    }
  }

  // From functions that concern locks to their callers, which may call them by the name of what they override.
  void findLocking() {
    std::multimap<std::string, std::string> callers;
    std::vector<std::string> work;
    std::map<std::string, const HostMethod*> methods;
    for (const Unit& u : units_)
      for (const Function& f : u.functions)
        for (const HostCode& h : f.host) {
          if (!h.method.empty()) methods[f.name] = &h.method[0];
          bool locks = false;
          for (const HostCall& c : h.calls) {
            if (!c.name.empty()) callers.emplace(c.name, f.name);
            locks |= concernsLocks(c);
          }
          if (locks && locking_.insert(f.name).second) work.push_back(f.name);
        }
    while (!work.empty()) {
      const std::string name = std::move(work.back());
      work.pop_back();
      const auto reach = [&](const std::string& called) {
        const auto [begin, end] = callers.equal_range(called);
        for (auto at = begin; at != end; ++at)
          if (locking_.insert(at->second).second) work.push_back(at->second);
      };
      reach(name);
      if (const auto method = methods.find(name); method != methods.end())
        for (const std::string& overridden : method->second->overrides) reach(overridden);
    }
    for (const auto& [name, c] : classes_) {
      const auto locks = [&](const Class& of) { return std::ranges::any_of(of.own, [&](const auto& m) { return locking_.contains(m.first); }); };
      bool any = locks(c);
      for (const std::string& base : c.bases)
        if (const auto at = classes_.find(base); at != classes_.end()) any |= locks(at->second);
      if (any) locking_classes_.insert(name);
    }
  }

  // What an object of exactly that class runs for `method`: the overrider of the most derived class. Empty: it is not seen.
  std::string overrider(const std::string& of_class, const std::string& method) const {
    const auto in = [&](const std::string& name) -> const std::string* {
      const auto c = classes_.find(name);
      if (c == classes_.end()) return nullptr;
      for (const auto& [function, m] : c->second.own)
        if (function == method || std::ranges::binary_search(m->overrides, method)) return &function;
      return nullptr;
    };
    if (const std::string* own = in(of_class)) return *own;
    std::string best, best_class;
    for (const std::string& base : classes_.at(of_class).bases)
      if (const std::string* found = in(base); found && (best.empty() || classes_.at(base).bases.contains(best_class))) best = *found, best_class = base;
    return best;
  }

  std::vector<Target> targets(const HostCall& c) const {
    std::vector<Target> found;
    if (const auto classes = derived_.find(c.dispatch); classes != derived_.end())
      for (const std::string& name : classes->second)
        if (std::string function = overrider(name, c.name); !function.empty()) found.push_back({name, std::move(function)});
    return found;
  }

  static std::vector<std::string> namesOf(const std::vector<Target>& targets) {
    std::set<std::string> names;
    for (const Target& t : targets)
      if (names.size() < kMostTargets) names.insert(t.name);
    return {names.begin(), names.end()};
  }

  // One function, or several that are not told apart.
  static void setTargets(HostCall& c, std::vector<std::string> names) {
    if (names.size() == 1) c.name = std::move(names[0]);
    else c.targets = std::move(names);
  }

  void function(Unit& unit, Function& f) {
    const std::size_t written = f.blocks.size();
    for (std::size_t b = 0; b < written; ++b) {
      const auto isVirtual = [&](const Event& e) {
        return e.kind == EventKind::HostCall && !f.host[0].calls[static_cast<std::size_t>(e.host_call)].dispatch.empty();
      };
      if (std::ranges::none_of(f.blocks[b].events, isVirtual)) continue;
      List<Event> events = std::exchange(f.blocks[b].events, {});
      List<Edge> successors = std::exchange(f.blocks[b].successors, {});
      std::size_t at = b;
      for (Event& e : events) {
        if (isVirtual(e)) at = call(unit, f, at, e);
        else f.blocks[at].events.push_back(std::move(e));
      }
      f.blocks[at].successors = std::move(successors);
    }
  }

  // Puts a virtual call into block `at`, or branches that meet again. Gives the block that goes on.
  std::size_t call(Unit& unit, Function& f, std::size_t at, const Event& e) {
    HostCall& c = f.host[0].calls[static_cast<std::size_t>(e.host_call)];
    const std::vector<Target> all = targets(c);
    c.dispatch.clear();
    std::vector<Choice> choices;
    std::set<std::string> locking;  // classes
    for (const Target& t : all) {
      if (locking_classes_.contains(t.of_class)) locking.insert(t.of_class);
      if (!locking_.contains(t.name)) continue;
      auto same = std::ranges::find_if(choices, [&](const Choice& other) { return other.names[0] == t.name; });
      if (same == choices.end()) same = choices.insert(choices.end(), {{}, {t.name}});
      same->classes.push_back(t.of_class);
    }
    const std::vector<std::string> names = namesOf(all);
    const bool certain = names.size() < 2 || choices.empty() || c.kind == HostCallKind::Execute;
    if (certain || locking.size() == 1) {
      if (!names.empty()) setTargets(c, certain ? names : choices[0].names);
      f.blocks[at].events.push_back(e);
      return at;
    }
    std::vector<Target> others = all;
    std::erase_if(others, [&](const Target& t) { return locking_.contains(t.name); });
    if (c.connection.empty() || all.size() - others.size() > kMostBranches) {
      unit.not_understood.push_back({c.range, "C++: which of several overriders a virtual call runs is not followed", false});
      c.name.clear();
      f.blocks[at].events.push_back(e);
      return at;
    }
    if (!others.empty()) choices.push_back({{}, namesOf(others)});
    return branches(f, at, e.host_call, choices);
  }

  static std::size_t branches(Function& f, std::size_t at, std::int32_t index, const std::vector<Choice>& choices) {
    const std::int32_t unwind = f.blocks[at].unwind;
    const auto fresh = [&] {
      f.blocks.emplace_back().unwind = unwind;
      return f.blocks.size() - 1;
    };
    const auto lead = [&](std::size_t from, std::size_t to, EdgeKind kind) { f.blocks[from].successors.push_back({static_cast<std::int32_t>(to), kind}); };
    const HostCall call = f.host[0].calls[static_cast<std::size_t>(index)];
    const std::size_t join = fresh();
    std::size_t from = at;
    for (std::size_t k = 0; k < choices.size(); ++k) {
      const Choice& choice = choices[k];
      const std::size_t branch = fresh();
      lead(branch, join, EdgeKind::Next);
      const std::int32_t own = k == 0 ? index : static_cast<std::int32_t>(f.host[0].calls.size());
      if (k > 0) f.host[0].calls.push_back(call);
      setTargets(f.host[0].calls[static_cast<std::size_t>(own)], choice.names);
      put(f, branch, EventKind::HostCall, own);
      if (k > 0) passAnswers(f, branch, index, own);
      if (choice.classes.empty()) lead(from, branch, EdgeKind::Next);
      for (std::size_t i = 0; i < choice.classes.size(); ++i) {
        HostStep step;
        step.kind = HostStepKind::Condition, step.range = call.range;
        step.truth.kind = HostTruthKind::Variable, step.truth.name = hostClass(call.connection, choice.classes[i]);
        putStep(f, from, std::move(step));
        lead(from, branch, EdgeKind::True);
        if (k + 1 == choices.size() && i + 1 == choice.classes.size()) break;  // no other class is seen
        const std::size_t next = fresh();
        lead(from, next, EdgeKind::False);
        from = next;
      }
    }
    return join;
  }

  static void put(Function& f, std::size_t block, EventKind kind, std::int32_t index) {
    Event e;
    e.kind = kind, e.host_call = index;
    f.blocks[block].events.push_back(std::move(e));
  }
  static void putStep(Function& f, std::size_t block, HostStep step) {
    put(f, block, EventKind::HostStep, static_cast<std::int32_t>(f.host[0].steps.size()));
    f.host[0].steps.push_back(std::move(step));
  }

  // What call `own` answers is the answer of `call`, where somebody looks at that.
  static void passAnswers(Function& f, std::size_t block, std::int32_t call, std::int32_t own) {
    const auto asks = [&](const auto& self, const HostTruth& t, HostTruthKind kind) -> bool {
      return (t.kind == kind && t.call == call) || std::ranges::any_of(t.args, [&](const HostTruth& a) { return self(self, a, kind); });
    };
    for (const HostTruthKind kind : {HostTruthKind::Answer, HostTruthKind::Success}) {
      if (std::ranges::none_of(f.host[0].steps, [&](const HostStep& s) { return asks(asks, s.truth, kind); })) continue;
      HostStep step;
      step.kind = HostStepKind::Assign, step.target = kind == HostTruthKind::Answer ? hostAnswer(call) : hostSuccess(call);
      step.truth.kind = kind, step.truth.call = own;
      putStep(f, block, std::move(step));
    }
  }

  std::vector<Unit>& units_;
  std::map<std::string, Class> classes_;
  std::map<std::string, std::vector<std::string>> derived_;  // concrete classes, by those they are or derive from
  std::set<std::string> locking_, locking_classes_;
};

}  // namespace

void linkVirtualCalls(std::vector<Unit>& units) { Linking(units).run(); }

}  // namespace pglocklint::sql

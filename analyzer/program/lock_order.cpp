// # When two paths deadlock
//
// A path that holds A and waits for B and a path that holds B and waits for A end in 40P01 when they meet. So the order graph has the key
// classes as nodes and an edge for each pair (held, waited for) on some path, through calls too; circles in it are candidates. No circle is:
//
//   * an edge to a try function: it does not wait;
//   * an edge to a key that the session already holds: it is granted at once;
//   * two paths that meet in shared mode only, on either key;
//   * two paths that both hold a third key first, one of them exclusively: the gate queues them;
//   * two paths over connections that are known to lead to different databases: each database has its own keys;
//   * two keys of one class in a proven order (LEAST before GREATEST, or the function compares the two);
//   * an edge to a key of a row that a trigger locks, while a key is held that may be the same: who locks the group first and then changes
//     its rows meets the lock that it holds.
//
// Keys of one class are one node: (1001, *) taken before (1002, *) here and after it there is an inversion for equal ids. A class of which
// nothing is known (*) is no node. Within one class, two different variables in the order of the arguments are a circle of their own.
#include "program/lock_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "program/components.h"
#include "program/connections.h"
#include "program/host_connections.h"
#include "program/program.h"
#include "program/script_sessions.h"
#include "program/walk.h"

namespace pglocklint {
namespace {

constexpr std::size_t kMostWitnesses = 16;  // of one pair
constexpr std::size_t kLongestCycle = 6;

bool conflict(LockMode a, LockMode b) { return a == LockMode::Exclusive || b == LockMode::Exclusive; }

// Fields of one record go by the record's name: which of them is the smaller nobody says. Those of a trigger's row are arguments.
void collectNames(const Value& v, std::set<std::string>& out, int depth = 0) {
  if (depth > 20) return;
  const auto record = [](const std::string& name) { return name.substr(0, name.find('.')); };
  if (v.kind == ValueKind::Parameter || v.kind == ValueKind::Variable) out.insert(record(v.name));
  const std::string& held = v.constant_name.str();
  if (!held.empty()) out.insert(held.starts_with("new.") || held.starts_with("old.") ? held : record(held));
  for (const Value& a : v.args) collectNames(a, out, depth + 1);
}

bool containsChoice(const Value& v, std::string_view name, int depth = 0) {
  if (depth > 20) return false;
  if (v.kind == ValueKind::Choice && v.name == name) return true;
  return std::any_of(v.args.begin(), v.args.end(), [&](const Value& a) { return containsChoice(a, name, depth + 1); });
}
bool containsChoice(const KeyInfo& k, std::string_view name) {
  return std::any_of(k.parts.begin(), k.parts.end(), [&](const Value& v) { return containsChoice(v, name); });
}

bool comparesAnything(const Expr& e) {
  return e.kind == ExprKind::MinMax ||
         (e.kind == ExprKind::Op && (e.name == "<" || e.name == ">" || e.name == "<=" || e.name == ">=") && e.args.size() == 2 &&
          e.args[0].kind != ExprKind::Const && e.args[1].kind != ExprKind::Const);
}

// The databases in which an edge may be, as far as the connections of its path say so by name.
class Databases {
 public:
  Databases(const Program& program, const LockStates& locks) : locks_(locks), paths_(program), connections_(program, paths_), scripts_(program) {}

  // Whether both are known, and no database is in both.
  bool apart(const OrderEdge& x, const OrderEdge& y) {
    const Names &a = of(x), &b = of(y);
    return !a.empty() && !b.empty() && std::none_of(a.begin(), a.end(), [&](const std::string& name) { return b.count(name) != 0; });
  }

 private:
  using Names = std::set<std::string>;  // empty: not known

  // A name for each text; none at all as soon as one of them does not say.
  static void add(const std::string& text, Names& names, bool& known) {
    const ConnectionTarget target = connectionTarget(text);
    known &= !target.unknown && target.database_known && !target.database.empty() && target.database != "-";  // \c -: as before
    names.insert(target.database);
  }

  const Names& of(const OrderEdge& e) {
    const bool host = e.function->kind == FunctionKind::HostFunction;
    const Statement* statement = host ? nullptr : locks_.event(e.event).statement;
    const auto [at, fresh] = known_.try_emplace({e.function, statement, e.session});
    if (!fresh) return at->second;
    bool known = true;
    if (host)
      for (const HostConnection& c : connections_.of(*e.function, *e.session)) add(HostConnections::textOf(*c.call), at->second, known);
    else if (e.function->kind == FunctionKind::Script)
      for (const ScriptSession& s : scripts_.of(e.unit, *e.function, statement)) add(s.target, at->second, known);
    if (!known) at->second.clear();
    return at->second;
  }

  const LockStates& locks_;
  HostPaths paths_;
  HostConnections connections_;
  ProgramSessions scripts_;
  std::map<std::tuple<const Function*, const Statement*, const std::string*>, Names> known_;
};

class Order {
 public:
  Order(const Program& program, const LockStates& locks) : program_(program), locks_(locks), node_of_(locks.keys.size(), kNotAsked), told_holds_(2 * locks.keys.size()) {}

  std::vector<OrderCycle> run() {
    for (const FunctionLocks& f : locks_.functions)
      if (f.complete && f.function->kind != FunctionKind::DownScript && !program_.units[static_cast<std::size_t>(f.unit)].runner.down) collect(f);
    std::erase_if(cycles_, [&](const OrderCycle& c) {
      const auto ways = both_ways_.find(c.edges[0].function);
      return c.same_class && ways != both_ways_.end() && ways->second.contains({c.edges[0].wanted, c.edges[0].held});
    });
    for (const auto& [ends, list] : edges_) sorted_.push_back(ends);
    std::sort(sorted_.begin(), sorted_.end());
    pairs();
    longer();
    std::stable_sort(cycles_.begin(), cycles_.end(), [&](const OrderCycle& a, const OrderCycle& b) { return placeOf(a.edges[0]) < placeOf(b.edges[0]); });
    return std::move(cycles_);
  }

 private:
  using Node = std::uint32_t;
  struct Ends {
    Node held, wanted;
    std::uint64_t packed() const { return std::uint64_t{held} << 32 | wanted; }
    static Ends of(std::uint64_t packed) { return {static_cast<Node>(packed >> 32), static_cast<Node>(packed)}; }
  };
  static constexpr Node kNotAsked = ~0U, kNoNode = ~0U - 1;
  using Gates = std::vector<std::pair<KeyId, LockMode>>;

  std::tuple<int, std::uint32_t> placeOf(const OrderEdge& e) const { return {e.unit, locks_.event(e.event).range.begin}; }

  // Class of a key; kNoNode for those of which nothing is known.
  Node node(KeyId key) {
    Node& known = node_of_[static_cast<std::size_t>(key)];
    if (known != kNotAsked) return known;
    const KeyInfo& k = locks_.keys.at(key);
    if (k.class_text == "(*)" || k.class_text == "*" || k.class_text == "(*, *)" || k.class_text.empty()) return known = kNoNode;
    return known = nodes_.try_emplace({k.form, k.class_text}, static_cast<Node>(nodes_.size())).first->second;
  }

  void collect(const FunctionLocks& f) {
    for (const EventId id : f.events) {
      const LockEvent& e = locks_.event(id);
      if (e.kind == LockEventKind::Acquire && e.key != kUnknownKey) from(e, f, id, -1, e.key, e.lock->mode, {}, true);
      if (e.kind != LockEventKind::Call) continue;
      for (const InnerAcquisition& a : e.inner)
        if (a.blocks && a.key != kUnknownKey) from(e, f, id, a.event, a.key, a.mode, a.held, a.certain);
    }
  }

  void from(const LockEvent& e, const FunctionLocks& f, EventId event, EventId inner, KeyId wanted, LockMode mode, const Gates& held_inside, bool certain) {
    ++round_;
    for (const LockState& s : e.before) from(s, f, event, inner, wanted, mode, held_inside, certain);
  }

  bool ofTriggersRow(EventId inner, KeyId wanted) const {
    return inner >= 0 && locks_.event(inner).function->returns == "trigger" && !locks_.keys.at(wanted).exact;
  }

  static bool firmly(const Hold& h, const KeyInfo& k) { return h.mustHold() || (!k.exact && h.mayHold()); }

  void from(const LockState& s, const FunctionLocks& f, EventId event, EventId inner, KeyId wanted, LockMode mode,
            const Gates& held_inside, bool certain) {
    const auto holds = [&](LockMode m) {
      const Hold* h = s.find(wanted, m);
      return h != nullptr && h->mustHold() && locks_.keys.at(wanted).exact;
    };
    if (holds(mode) || holds(LockMode::Exclusive)) return;
    if (std::any_of(held_inside.begin(), held_inside.end(), [&](const auto& h) { return h.first == wanted; })) return;
    if (ofTriggersRow(inner, wanted)) {
      const auto may_be = [&](KeyId held) { return held != kUnknownKey && locks_.keys.alias(held, wanted) != Alias::No; };
      if (std::any_of(s.holds.begin(), s.holds.end(), [&](const Hold& h) { return h.mayHold() && may_be(h.key); })) return;
      if (std::any_of(held_inside.begin(), held_inside.end(), [&](const auto& h) { return may_be(h.first); })) return;
    }
    OrderEdge edge{kUnknownKey, wanted, mode, mode, -1, event, inner, certain, f.unit, f.function, &f.session, nullptr};
    const auto gates = [&] {  // the same for all edges
      if (edge.gates) return;
      Gates all = held_inside;
      for (const Hold& h : s.holds)
        if (h.mustHold() && locks_.keys.at(h.key).exact) all.emplace_back(h.key, h.mode);
      edge.gates = std::make_shared<const Gates>(std::move(all));
    };
    for (const Hold& h : s.holds) {
      if (h.key == wanted || h.taken.empty() || !firmly(h, locks_.keys.at(h.key))) continue;
      Told& told = told_holds_[2 * static_cast<std::size_t>(h.key) + (h.mode == LockMode::Exclusive)];
      if (told.round == round_ && told.taken == h.taken.front()) continue;
      told = {round_, h.taken.front()};
      edge.held = h.key, edge.held_mode = h.mode, edge.taken = h.taken.front();
      edge.certain = certain && h.mustHold();
      add(edge, gates);
    }
    for (const auto& [key, held_mode] : held_inside) {  // the callee's own order, with the keys of this call
      if (key == wanted || key == kUnknownKey || !locks_.keys.at(key).constant) continue;
      edge.held = key, edge.held_mode = held_mode, edge.taken = event, edge.certain = certain;
      add(edge, gates);
    }
  }

  // `gates` completes the edge: for those that are kept.
  template <class FillGates>
  void add(const OrderEdge& e, const FillGates& gates) {
    const Node a = node(e.held), b = node(e.wanted);
    const KeyInfo &held = locks_.keys.at(e.held), &wanted = locks_.keys.at(e.wanted);
    if (a == b && held.form == wanted.form && held.class_text == wanted.class_text) {
      if (!sameClass(e, held, wanted)) return;
      gates();
      cycles_.push_back({{e}, true});
      return;
    }
    if (a == kNoNode || b == kNoNode) return;
    std::vector<OrderEdge>& all = edges_[Ends{a, b}.packed()];
    if (all.size() >= kMostWitnesses) return;
    for (auto x = all.rbegin(); x != all.rend() && x->event == e.event; ++x)  // events come one after the other
      if (x->taken == e.taken && x->inner == e.inner && x->held_mode == e.held_mode && x->wanted_mode == e.wanted_mode) {
        x->certain |= e.certain;
        return;
      }
    gates();
    all.push_back(e);
  }

  // lock(from); lock(to): each order happens, with the arguments the other way round.
  bool sameClass(const OrderEdge& e, const KeyInfo& held, const KeyInfo& wanted) {
    const bool host = e.function->kind == FunctionKind::HostFunction;
    if (!host && e.function->kind != FunctionKind::Routine && e.function->kind != FunctionKind::Procedure) return false;  // no arguments
    if (held.constant || !held.exact || !wanted.exact || held.older != kUnknownKey || e.taken == e.event) return false;
    if (e.held_mode == LockMode::Shared && e.wanted_mode == LockMode::Shared) return false;
    if (locks_.event(e.taken).call != nullptr && locks_.event(e.taken).call == locks_.event(e.event).call) return false;
    for (const std::string_view extreme : {"least", "greatest", "min", "max"})
      if (containsChoice(held, extreme) || containsChoice(wanted, extreme)) return false;
    std::size_t differing = 0;
    for (std::size_t i = 0; i < held.parts.size() && i < wanted.parts.size(); ++i)
      if (!sameValue(stripCasts(held.parts[i]), stripCasts(wanted.parts[i]))) ++differing;
    if (differing != 1) return false;
    std::set<std::string> a, b;
    for (const Value& v : held.parts) collectNames(v, a);
    for (const Value& v : wanted.parts) collectNames(v, b);
    if (a.empty() || b.empty() || a == b || compares(*e.function)) return false;
    // Both orders in one function of the host program: it chooses between them, by a comparison that we do not see.
    if (host && !both_ways_[e.function].emplace(e.held, e.wanted).second) return false;
    return told_.insert({e.function, e.event}).second;
  }

  // The function compares things with < or sorts them: then it may well know the order.
  bool compares(const Function& f) {
    const auto [at, fresh] = compares_.try_emplace(&f, false);
    if (!fresh) return at->second;
    bool found = false;
    forEachStatement(f, [&](const Statement& s) {
      forEachExpr(s, [&](const Expr& e, const QueryLevels&) { found |= comparesAnything(e); });
    });
    return at->second = found;
  }

  bool gated(const OrderEdge& x, const OrderEdge& y) const {
    for (const auto& [key, mode] : *x.gates) {
      if (key == x.held || key == x.wanted || !locks_.keys.at(key).constant) continue;
      for (const auto& [other, other_mode] : *y.gates)
        if (other == key && other != y.held && other != y.wanted && conflict(mode, other_mode)) return true;
    }
    return false;
  }

  // x waits for what y holds.
  static bool waits(const OrderEdge& x, const OrderEdge& y) { return conflict(x.wanted_mode, y.held_mode); }

  bool apart(const OrderEdge& x, const OrderEdge& y) {
    if (!databases_) databases_ = std::make_unique<Databases>(program_, locks_);
    return databases_->apart(x, y);
  }

  void pairs() {
    for (const std::uint64_t packed : sorted_) {
      const Ends ends = Ends::of(packed);
      if (ends.held >= ends.wanted) continue;
      const auto back = edges_.find(Ends{ends.wanted, ends.held}.packed());
      if (back == edges_.end()) continue;
      const std::vector<OrderEdge>& forward = edges_.at(packed);
      const auto meet = [&](const OrderEdge& x, const OrderEdge& y) { return waits(x, y) && waits(y, x) && !gated(x, y) && !apart(x, y); };
      for (const bool certain : {true, false}) {  // a circle that no branch decides tells more
        std::vector<const OrderEdge*> one, other;
        const auto counts = [&](const OrderEdge& e) { return e.certain || !certain; };
        for (const OrderEdge& x : forward)
          if (counts(x) && std::ranges::any_of(back->second, [&](const OrderEdge& y) { return counts(y) && meet(x, y); })) one.push_back(&x);
        for (const OrderEdge& y : back->second)
          if (counts(y) && std::ranges::any_of(forward, [&](const OrderEdge& x) { return counts(x) && meet(x, y); })) other.push_back(&y);
        if (one.empty() || other.empty()) continue;
        reportPair(one, other, meet);
        joined_.insert(ends.held), joined_.insert(ends.wanted);
        break;
      }
    }
  }

  std::size_t functionsOf(const std::vector<const OrderEdge*>& edges) const {
    std::set<const Function*> found;
    for (const OrderEdge* e : edges) found.insert(e->function);
    return found.size();
  }

  // At the edge that breaks the majority; of equals, at the path that stands last. One circle for an acquisition: the keys held there may
  // close many, and mending one usually mends all.
  template <class Meet>
  void reportPair(std::vector<const OrderEdge*>& one, std::vector<const OrderEdge*>& other, const Meet& meet) {
    const auto later = [&](const OrderEdge* a, const OrderEdge* b) { return placeOf(*a) > placeOf(*b); };
    std::stable_sort(one.begin(), one.end(), later);
    std::stable_sort(other.begin(), other.end(), later);
    const std::size_t m = functionsOf(one), n = functionsOf(other);
    const bool first = m != n ? m < n : placeOf(*one.front()) > placeOf(*other.front());
    const OrderEdge& minority = first ? *one.front() : *other.front();
    if (reported_.count(minority.event) != 0) return;
    for (const OrderEdge* e : first ? other : one)
      if (meet(minority, *e)) {
        cycles_.push_back({{minority, *e}, false});
        reported_.insert(minority.event);
        return;
      }
  }

  // Circles of three and more, where no two of the classes have been reported: the shortest through each class.
  void longer() {
    std::vector<std::vector<std::size_t>> next(nodes_.size());
    for (const std::uint64_t packed : sorted_) {
      const Ends ends = Ends::of(packed);
      if (!joined_.count(ends.held) && !joined_.count(ends.wanted)) next[ends.held].push_back(ends.wanted);
    }
    std::vector<std::size_t> starts;
    for (const std::vector<std::size_t>& component : components(next.size(), [&](std::size_t n) -> const auto& { return next[n]; })) {
      if (component.size() < 3) continue;  // two are a pair
      starts.insert(starts.end(), component.begin(), component.end());
      for (const std::size_t n : component)
        std::erase_if(next[n], [&](std::size_t m) { return !std::binary_search(component.begin(), component.end(), m); });
    }
    std::sort(starts.begin(), starts.end());
    for (const std::size_t start : starts)
      if (!joined_.count(static_cast<Node>(start))) shortest(static_cast<Node>(start), next);
  }

  void shortest(Node start, const std::vector<std::vector<std::size_t>>& next) {
    std::map<Node, Node> before;
    std::vector<Node> frontier{start};
    for (std::size_t depth = 1; depth <= kLongestCycle && !frontier.empty() && before.size() < 500; ++depth) {
      std::vector<Node> reached;
      for (const Node n : frontier)
        for (const std::size_t s : next[n]) {
          const Node m = static_cast<Node>(s);
          if (joined_.count(m)) continue;
          if (m == start) {
            if (closeCycle(start, n, before)) return;
          } else if (before.try_emplace(m, n).second) {
            reached.push_back(m);
          }
        }
      frontier = std::move(reached);
    }
  }

  bool closeCycle(Node start, Node last, const std::map<Node, Node>& before) {
    std::vector<Node> nodes{last};
    while (nodes.back() != start) nodes.push_back(before.at(nodes.back()));
    std::reverse(nodes.begin(), nodes.end());
    std::vector<OrderEdge> chosen;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::vector<OrderEdge>& all = edges_.at(Ends{nodes[i], nodes[(i + 1) % nodes.size()]}.packed());
      const auto certain = std::ranges::find_if(all, &OrderEdge::certain);
      chosen.push_back(certain != all.end() ? *certain : all.front());
    }
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (!waits(chosen[i], chosen[(i + 1) % chosen.size()])) return false;
      for (std::size_t j = i + 1; j < chosen.size(); ++j)
        if (gated(chosen[i], chosen[j]) || apart(chosen[i], chosen[j])) return false;
    }
    const auto last_edge = std::max_element(chosen.begin(), chosen.end(), [&](const OrderEdge& a, const OrderEdge& b) { return placeOf(a) < placeOf(b); });
    std::rotate(chosen.begin(), last_edge, chosen.end());
    cycles_.push_back({std::move(chosen), false});
    joined_.insert(nodes.begin(), nodes.end());
    return true;
  }

  const Program& program_;
  const LockStates& locks_;
  std::vector<Node> node_of_;  // by key
  std::map<std::pair<KeyForm, std::string>, Node> nodes_;
  std::unordered_map<std::uint64_t, std::vector<OrderEdge>> edges_;  // by Ends
  std::vector<std::uint64_t> sorted_;                                // its keys, once all are there
  // By key and mode: what the states before one acquisition have told of it so far.
  struct Told {
    std::uint32_t round = 0;  // of the acquisition
    EventId taken = -1;
  };
  std::vector<Told> told_holds_;
  std::uint32_t round_ = 0;
  std::set<EventId> reported_;
  std::set<Node> joined_;
  std::set<std::pair<const Function*, EventId>> told_;
  std::unordered_map<const Function*, std::set<std::pair<KeyId, KeyId>>> both_ways_;
  std::map<const Function*, bool> compares_;
  std::unique_ptr<Databases> databases_;  // when two paths first disagree
  std::vector<OrderCycle> cycles_;
};

}  // namespace

std::vector<OrderCycle> orderCycles(const Program& program, const LockStates& locks) { return Order(program, locks).run(); }

}  // namespace pglocklint

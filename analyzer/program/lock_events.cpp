#include "program/lock_events.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "program/walk.h"

namespace pglocklint {
namespace {

constexpr std::size_t kMostSites = 400;   // lock calls of one function whose state is followed
constexpr std::size_t kMostSessions = 6;  // of one host function

// Statements of a function whose session is not known are taken to run on one.
const std::string kSomeSession = "?";

bool meets(const std::string& a, const std::string& b) { return (a == b && !a.empty()) || sameSession(a, b); }

bool begins(const std::string& head, std::string_view word) {
  return head.starts_with(word) && (head.size() == word.size() || head[word.size()] == ' ');
}
bool beginsOneOf(const std::string& head, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return begins(head, w); });
}

// Commands that change nothing and do not fail for reasons of data.
bool harmless(const std::string& head) {
  return beginsOneOf(head, {"SET", "RESET", "SHOW", "LISTEN", "UNLISTEN", "NOTIFY", "GET", "CLOSE", "DEALLOCATE", "CHECKPOINT", "DISCARD", "LOAD",
                            "COMMENT", "GRANT", "REVOKE", "EXPLAIN"});
}
bool readsOnly(const std::string& head) { return beginsOneOf(head, {"SELECT", "TABLE", "VALUES", "FETCH", "MOVE", "DECLARE"}); }

// The call runs exactly once when its statement does: nothing but a bare select list, an expression of PL/pgSQL, or the only
// function in FROM.
bool exactlyOnce(const LockSite& site) {
  const Statement& s = *site.statement;
  if (s.query.size() != 1 || site.level != &s.query[0]) return s.kind == StatementKind::Call;
  const Query& q = s.query[0];
  const bool bare = q.from.empty() || (q.from.size() == 1 && q.from[0].kind == FromKind::Function && q.from[0].functions.size() == 1 &&
                                       &q.from[0].functions[0] == site.call);
  if (q.kind != QueryKind::Select || !bare || !q.where.empty() || !q.having.empty() || !q.limit.empty() || !q.offset.empty()) return false;
  const Evaluation* e = site.evaluation();
  return e == nullptr || (e->runs != Runs::Never && e->runs != Runs::NeedNot);
}

// set_config('lock_timeout', '5s', true); the name must be written out.
std::optional<Setting> settingBy(const Expr& e) {
  if (e.name != "set_config" || e.args.size() != 3 || e.args[0].kind != ExprKind::Const) return std::nullopt;
  Setting s;
  s.range = e.range, s.name = e.args[0].text;
  s.value = e.args[1].kind == ExprKind::Const ? e.args[1].text.str() : "?";
  s.scope = e.args[2].kind == ExprKind::Const && e.args[2].text == "false" ? SettingScope::Session : SettingScope::Local;
  return s;
}

// pg_sleep(30), pg_sleep_for('5 minutes'), pg_sleep(p_interval): longer than the pause between two tries.
bool sleeps(const Expr& e) {
  if (e.name != "pg_sleep" && e.name != "pg_sleep_for" && e.name != "pg_sleep_until") return false;
  if (e.name != "pg_sleep" || e.args.size() != 1 || e.args[0].kind != ExprKind::Const) return true;
  const std::string& seconds = e.args[0].text.str();
  return seconds.find_first_of("123456789") < seconds.find('.');
}

bool readsRelation(const Query& q, int depth) {
  if (depth > 30) return true;
  const auto relation = [&](const auto& self, const FromItem& f) -> bool {
    if (f.kind == FromKind::Relation) {
      const bool cte = std::any_of(q.ctes.begin(), q.ctes.end(), [&](const Cte& c) { return c.name == f.name; });
      return !cte;
    }
    for (const FromItem& side : f.sides)
      if (self(self, side)) return true;
    return std::any_of(f.query.begin(), f.query.end(), [&](const Query& inner) { return readsRelation(inner, depth + 1); });
  };
  return std::any_of(q.from.begin(), q.from.end(), [&](const FromItem& f) { return relation(relation, f); });
}

}  // namespace

// A function while the candidates are looked for.
struct LockEvents::Node {
  const Function* function = nullptr;
  int unit = -1;
  bool wanted = false, too_long = false;
  bool session_only = false;  // takes no lock, but begins, ends or leaves what callers hold locks in
  std::vector<RoutineCall> calls;
  std::vector<std::size_t> callees, callers;  // nodes; callees: one for each of `calls`
  std::vector<std::string> sessions;          // host functions
  std::vector<std::size_t> candidates;        // one for each session
};

LockEvents::LockEvents(const Program& program, LockStates& states) : program_(program), states_(states), paths_(program), triggers_(program) {
  for (const LockSite& s : program.sites)
    if (s.direct() && s.host == SiteHost::Statement && s.function != nullptr && s.statement != nullptr && s.lock != nullptr)
      sites_[s.function].push_back(&s);
  findCandidates();
}

std::uint32_t LockEvents::nameId(const std::string& name) {
  const auto [at, fresh] = name_ids_.try_emplace(name, static_cast<std::uint32_t>(states_.names.size()));
  if (fresh) states_.names.push_back(name);
  return at->second;
}

std::vector<RoutineCall> LockEvents::calls(const Function& f, int unit) {
  std::vector<RoutineCall> found;
  const Unit& u = program_.units[static_cast<std::size_t>(unit)];
  forEachStatement(f, [&](const Statement& s) {
    if (s.kind == StatementKind::Do && s.function >= 0 && static_cast<std::size_t>(s.function) < u.functions.size())
      found.push_back({&s, nullptr, &u.functions[static_cast<std::size_t>(s.function)], unit, {}});
    if (s.kind == StatementKind::HostCall) {
      if (const Function* callee = paths_.find(f.host[0].calls[static_cast<std::size_t>(s.host_call)].name))
        found.push_back({&s, &s.exprs[0], callee, paths_.unitOf(*callee), {}});
      return;
    }
    if (s.kind == StatementKind::Explain || s.kind == StatementKind::Prepare || s.kind == StatementKind::DeclareCursor) return;
    const std::vector<FiredTrigger> fired = triggers_.firedBy(s, f, unit);
    const auto addFired = [&](bool before_rows) {
      for (const FiredTrigger& t : fired)
        if (t.before_rows == before_rows) found.push_back({&s, nullptr, t.routine->function, t.routine->unit, {}, t});
    };
    addFired(true);
    forEachExpr(s, [&](const Expr& e, const QueryLevels& levels) {
      if (e.kind != ExprKind::Call || findLockFunction(e.name)) return;
      if (const Routine* r = program_.catalogue.routine(e.qualifier, e.name, e.args.size())) found.push_back({&s, &e, r->function, r->unit, levels});
    });
    addFired(false);
  });
  return found;
}

// Routines with a lock call in them, and whatever reaches one. Anything else has no effect on locks and is not looked at.
void LockEvents::findCandidates() {
  std::unordered_map<const Function*, std::size_t> number;
  std::vector<Node> nodes;
  for (const Routine& r : program_.catalogue.routines) live_[r.function] = &r;
  for (std::size_t u = 0; u < program_.units.size(); ++u)
    for (const Function& f : program_.units[u].functions) {
      if (f.kind == FunctionKind::NamedQuery || f.kind == FunctionKind::DownScript) continue;
      const bool host = f.kind == FunctionKind::HostFunction && !f.host.empty();
      const bool definition = f.kind == FunctionKind::Routine || f.kind == FunctionKind::Procedure || host;
      if (definition && live_.count(&f) == 0) continue;
      number[&f] = nodes.size();
      Node& node = nodes.emplace_back();
      node.function = &f, node.unit = static_cast<int>(u);
      bool ends = false;
      if (f.kind == FunctionKind::Procedure)
        for (const Block& b : f.blocks)
          for (const Event& e : b.events) ends |= e.kind == EventKind::Transaction;
      const auto own = sites_.find(&f);
      // Beyond what anybody writes by hand the state costs more than it can tell: none, so nothing is reported.
      node.too_long = own != sites_.end() && own->second.size() > kMostSites;
      node.wanted = (own != sites_.end() || ends) && !node.too_long;
    }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (RoutineCall& c : calls(*nodes[i].function, nodes[i].unit))
      if (const auto at = number.find(c.callee); at != number.end()) {
        nodes[at->second].callers.push_back(i);
        nodes[i].callees.push_back(at->second);
        nodes[i].calls.push_back(std::move(c));
      }
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].wanted) work.push_back(i);
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    for (const std::size_t caller : nodes[i].callers)
      if (!nodes[caller].wanted && !nodes[caller].too_long) nodes[caller].wanted = true, work.push_back(caller);
  }
  addSessionChanges(nodes);
  findSessions(nodes);
  addCandidates(nodes);
}

namespace {

// A session or a transaction begins or ends here.
bool changesSession(const HostCall& c) {
  switch (c.kind) {
    case HostCallKind::Begin:
    case HostCallKind::Autocommit:
    case HostCallKind::Commit:
    case HostCallKind::Rollback:
    case HostCallKind::Connect:
    case HostCallKind::Disconnect:
    case HostCallKind::Reset: return true;
    default: return false;
  }
}

// Calls f with the index of each call of a host function that changes its session or transaction.
template <class F>
void forEachSessionChange(const Function& function, F&& f) {
  if (function.kind != FunctionKind::HostFunction || function.host.empty()) return;
  const auto& calls = function.host[0].calls;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (changesSession(calls[i])) f(static_cast<std::int32_t>(i));
  for (const Block& b : function.blocks)
    for (const Event& e : b.events)
      if (e.host_call >= 0 && (e.kind == EventKind::Transaction || e.kind == EventKind::Session)) f(e.host_call);
}

}  // namespace

// Methods like begin(), commit() and close(), constructors and destructors: of interest where a function that locks calls them.
void LockEvents::addSessionChanges(std::vector<Node>& nodes) {
  std::vector<bool> changes(nodes.size(), false);
  std::vector<std::size_t> work;
  const auto spread = [&](std::size_t i) {
    if (!changes[i]) changes[i] = true, work.push_back(i);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) forEachSessionChange(*nodes[i].function, [&](std::int32_t) { spread(i); });
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    for (const std::size_t caller : nodes[i].callers)
      if (nodes[caller].function->kind == FunctionKind::HostFunction) spread(caller);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].wanted) work.push_back(i);
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    for (const std::size_t callee : nodes[i].callees)
      if (changes[callee] && !nodes[callee].wanted && !nodes[callee].too_long) nodes[callee].wanted = nodes[callee].session_only = true, work.push_back(callee);
  }
}

// The sessions that a host function has to do with: those of its own lock calls, and those of its callees as it sees them.
void LockEvents::findSessions(std::vector<Node>& nodes) {
  const auto add = [](Node& node, std::string session) {
    if (node.sessions.size() >= kMostSessions ||
        std::any_of(node.sessions.begin(), node.sessions.end(), [&](const std::string& s) { return isWithin(session, s) || s == session; }))
      return false;
    std::erase_if(node.sessions, [&](const std::string& s) { return isWithin(s, session); });
    node.sessions.push_back(std::move(session));
    return true;
  };
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    if (!node.wanted) continue;
    if (node.function->kind != FunctionKind::HostFunction) {
      node.sessions.emplace_back();
      if (std::any_of(node.callers.begin(), node.callers.end(), [&](std::size_t c) { return nodes[c].function->kind == FunctionKind::HostFunction; }))
        work.push_back(i);
      continue;
    }
    if (const auto own = sites_.find(node.function); own != sites_.end())
      for (const LockSite* s : own->second) add(node, sessionOf(*node.function, s->statement->host_call));
    if (node.session_only)
      forEachSessionChange(*node.function, [&](std::int32_t call) {
        if (std::string session = paths_.sessionOf(*node.function, call); !session.empty()) add(node, std::move(session));
      });
    if (!node.sessions.empty()) work.push_back(i);
  }
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    std::vector<std::size_t> callers = nodes[i].callers;
    std::sort(callers.begin(), callers.end());
    callers.erase(std::unique(callers.begin(), callers.end()), callers.end());
    for (const std::size_t c : callers) {
      Node& caller = nodes[c];
      if (!caller.wanted || caller.function->kind != FunctionKind::HostFunction) continue;
      if (nodes[i].session_only && !caller.session_only) continue;  // it knows on which sessions it locks
      bool changed = false;
      for (std::size_t k = 0; k < caller.calls.size(); ++k) {
        if (caller.callees[k] != i) continue;
        for (const std::string& s : nodes[i].sessions) {
          std::string seen = sessionInCaller(s, caller.calls[k], *caller.function);
          if (!seen.empty()) changed |= add(caller, std::move(seen));
        }
      }
      if (changed) work.push_back(c);
    }
  }
  for (Node& node : nodes) std::sort(node.sessions.begin(), node.sessions.end());
}

std::string LockEvents::sessionInCaller(const std::string& session, const RoutineCall& call, const Function& caller) {
  if (caller.kind != FunctionKind::HostFunction) return {};
  if (call.callee->kind == FunctionKind::HostFunction) return paths_.inCaller(session, caller, call.statement->host_call);
  return sessionOf(caller, call.statement->host_call);
}

std::string LockEvents::sessionOf(const Function& function, std::int32_t host_call) {
  std::string session = host_call < 0 ? std::string() : paths_.sessionOf(function, host_call);
  return session.empty() ? kSomeSession : session;
}

bool LockEvents::onSession(const Candidate& c, std::int32_t host_call) { return meets(c.session, sessionOf(*c.function, host_call)); }

void LockEvents::addCandidates(const std::vector<Node>& nodes) {
  std::vector<std::size_t> first(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    first[i] = candidates_.size();
    if (!nodes[i].wanted) continue;
    for (const std::string& s : nodes[i].sessions) candidates_.push_back({nodes[i].function, nodes[i].unit, s, {}});
    if (nodes[i].function->kind != FunctionKind::HostFunction) routine_candidates_[nodes[i].function] = first[i];
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t s = 0; nodes[i].wanted && s < nodes[i].sessions.size(); ++s) {
      Candidate& c = candidates_[first[i] + s];
      const bool host = c.function->kind == FunctionKind::HostFunction;
      for (std::size_t k = 0; k < nodes[i].calls.size(); ++k) {
        const Node& callee = nodes[nodes[i].callees[k]];
        for (std::size_t t = 0; callee.wanted && t < callee.sessions.size(); ++t)
          if (!host || meets(c.session, sessionInCaller(callee.sessions[t], nodes[i].calls[k], *c.function)))
            c.callees.push_back(first[nodes[i].callees[k]] + t);
      }
    }
}

void LockEvents::addEvent(const LockSite& site, const Statement& statement, const Candidate& c, std::vector<EventId>& out) {
  LockEvent e;
  switch (site.lock->operation) {
    case LockOperation::Acquire: e.kind = LockEventKind::Acquire; break;
    case LockOperation::Try: e.kind = LockEventKind::Try; break;
    case LockOperation::Release: e.kind = LockEventKind::Release; break;
    case LockOperation::ReleaseAll: e.kind = LockEventKind::ReleaseAll; break;
  }
  const Evaluation* how = site.evaluation();
  const bool declared = statement.kind == StatementKind::DeclareCursor;  // WITH HOLD: whether or not anybody fetches
  if (how != nullptr && how->runs == Runs::Never && !declared) return;
  e.unit = c.unit, e.function = c.function, e.statement = &statement, e.call = site.call, e.range = site.call->range;
  e.site = &site, e.lock = site.lock;
  e.key = states_.keys.intern(site.key, c.function);
  const bool once = exactlyOnce(site);
  e.least = once ? 1 : 0;
  e.per_row = !once && how != nullptr && how->runs == Runs::PerRow;
  e.most = e.per_row ? kMany : 1;
  out.push_back(static_cast<EventId>(states_.events.size()));
  states_.events.push_back(std::move(e));
}

namespace {

bool returnsOnce(const Statement& s, const Expr* call) {
  if (call == nullptr || s.kind == StatementKind::Call || s.kind == StatementKind::HostCall) return true;
  if (s.query.size() != 1) return false;
  const Query& q = s.query[0];
  if (q.kind != QueryKind::Select || !q.where.empty() || !q.having.empty() || !q.limit.empty()) return false;
  if (q.from.empty()) return true;
  return q.from.size() == 1 && q.from[0].kind == FromKind::Function && q.from[0].functions.size() == 1 && &q.from[0].functions[0] == call;
}

}  // namespace

void LockEvents::addCall(const RoutineCall& call, std::size_t callee, const Candidate& c, std::vector<EventId>& out) {
  const Statement& s = *call.statement;
  LockEvent e;
  e.kind = LockEventKind::Call;
  e.unit = c.unit, e.function = c.function, e.statement = &s, e.call = call.call, e.range = call.call ? call.call->range : s.range;
  e.callee = call.callee, e.summary = static_cast<std::int32_t>(callee);
  e.least = returnsOnce(s, call.call) ? 1 : 0;
  if (const FiredTrigger& fired = call.trigger; fired.use != nullptr) {
    e.trigger = fired.use;
    e.least = fired.certain ? 1 : 0;
    if (fired.level->target->range.known()) e.range = fired.level->target->range;
  }
  e.most = e.least == 1 ? 1 : kMany;
  const auto id = static_cast<EventId>(states_.events.size());
  call_of_[id] = call;
  states_.events.push_back(std::move(e));
  out.push_back(id);
}

std::vector<EventId> LockEvents::read(const Candidate& c) {
  std::vector<EventId> events;
  std::unordered_map<const Expr*, const LockSite*> direct;
  if (const auto at = sites_.find(c.function); at != sites_.end())
    for (const LockSite* s : at->second)
      if (c.function->kind != FunctionKind::HostFunction || onSession(c, s->statement->host_call)) direct[s->call] = s;
  if (direct.empty() && c.callees.empty()) return events;
  std::unordered_multimap<const Function*, std::size_t> relevant;
  for (const std::size_t callee : c.callees) relevant.emplace(candidates_[callee].function, callee);
  const bool host = c.function->kind == FunctionKind::HostFunction;
  const auto add = [&](const RoutineCall& call) {
    const auto [begin, end] = relevant.equal_range(call.callee);
    std::vector<std::size_t> callees;
    for (auto at = begin; at != end; ++at) callees.push_back(at->second);
    std::sort(callees.begin(), callees.end());
    callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
    for (const std::size_t callee : callees)
      if (!host || meets(c.session, sessionInCaller(candidates_[callee].session, call, *c.function))) addCall(call, callee, c, events);
  };
  std::unordered_map<std::string, const Statement*> prepared, cursors;
  const std::vector<RoutineCall> all = relevant.empty() ? std::vector<RoutineCall>() : calls(*c.function, c.unit);
  auto next = all.begin();
  forEachStatement(*c.function, [&](const Statement& s) {
    bool rows_done = false;  // everything of the statement but the triggers on its rows
    const auto addCalls = [&](const Expr* call) {
      for (; next != all.end() && next->statement == &s && next->call == call; ++next) {
        if (call == nullptr && next->trigger.use != nullptr && !next->trigger.before_rows && !rows_done) return;
        add(*next);
      }
    };
    addCalls(nullptr);
    if (s.kind == StatementKind::HostCall) return addCalls(&s.exprs[0]);
    if (!host && s.kind == StatementKind::Prepare) prepared[s.name] = &s;
    if (!host && s.kind == StatementKind::DeclareCursor) {
      cursors[s.name] = &s;
      if (s.hold) addDeferred(s, s, direct, c, events);
    }
    const bool fetches = s.kind == StatementKind::Fetch || s.kind == StatementKind::Move;
    const auto& texts = fetches ? cursors : prepared;
    if (fetches || s.kind == StatementKind::Execute)
      if (const auto text = texts.find(s.name); text != texts.end()) addDeferred(*text->second, s, direct, c, events);
    if (s.kind == StatementKind::Explain || s.kind == StatementKind::Prepare || s.kind == StatementKind::DeclareCursor) return;
    if (direct.empty() && (next == all.end() || next->statement != &s)) return;
    forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
      if (e.kind != ExprKind::Call) return;
      if (const auto at = direct.find(&e); at != direct.end()) return addEvent(*at->second, *at->second->statement, c, events);
      addCalls(&e);
    });
    rows_done = true;
    addCalls(nullptr);
  });
  return events;
}

void LockEvents::addDeferred(const Statement& text, const Statement& use, const std::unordered_map<const Expr*, const LockSite*>& direct,
                             const Candidate& c, std::vector<EventId>& out) {
  std::vector<std::string> names;
  List<Value> values;
  ValueScope scope;
  scope.catalogue = &program_.catalogue, scope.unit = c.unit, scope.function = c.function, scope.statement = &use;
  for (std::size_t i = 0; use.kind == StatementKind::Execute && i < use.exprs.size(); ++i)
    names.push_back("$" + std::to_string(i + 1)), values.push_back(resolve(use.exprs[i], scope));
  forEachExpr(text, [&](const Expr& e, const QueryLevels&) {
    const auto site = direct.find(&e);
    if (site == direct.end()) return;
    const std::size_t before = out.size();
    addEvent(*site->second, use, c, out);
    if (out.size() == before) return;
    LockEvent& event = states_.events.back();
    event.range = use.range;
    event.key = states_.keys.substitute(event.key, names, values, c.function);
    if (use.kind == StatementKind::Execute) return;
    event.cursor = true, event.most = event.least == 1 ? 1 : kMany;
    event.least = 0, event.per_row = false;  // any number of rows
  });
}

// Fields that the callee's keys are made of, and what the caller knows of them: the value that a constructor was given, or the field
// itself in the caller's words.
void LockEvents::addFields(const LockSummary& summary, const RoutineCall& call, const ValueScope& scope, std::vector<std::string>& names,
                           List<Value>& values) {
  const auto add = [&](KeyId key) {
    if (key == kUnknownKey) return;
    for (const std::string& name : states_.keys.at(key).names) {
      if (!isWithin(name, "this") || std::find(names.begin(), names.end(), name) != names.end()) continue;
      const std::string here = paths_.inCaller(name, *scope.function, call.statement->host_call);
      if (here.empty()) continue;
      const HostValue* known = paths_.fieldValue(*scope.function, here);
      names.push_back(name);
      values.push_back(known != nullptr ? hostValue(*known, scope) : hostField(here, scope.unit));
    }
  };
  for (const std::vector<LockOutcome>* all : {&summary.outcomes, &summary.raised, &summary.refused})
    for (const LockOutcome& o : *all)
      for (const LockEffect& e : o.effects) add(e.key);
  for (const InnerAcquisition& a : summary.acquires) add(a.key);
}

namespace {

// Two keys of the callee that are one to this caller: what was done to them was done in some order.
void joinAliases(std::vector<LockEffect>& effects, const KeyTable& keys) {
  for (std::size_t i = 0; i < effects.size(); ++i)
    for (std::size_t k = i + 1; k < effects.size();) {
      LockEffect& a = effects[i];
      const LockEffect& b = effects[k];
      if (a.mode != b.mode || a.key == kUnknownKey || keys.alias(a.key, b.key) != Alias::Must) {
        ++k;
        continue;
      }
      const bool only_taken = a.lo == a.floor_lo && b.lo == b.floor_lo;
      a.floor_lo = only_taken ? std::min(a.floor_lo + b.floor_lo, kMany) : 0, a.floor_hi = std::min(a.floor_hi + b.floor_hi, kMany);
      a.lo = std::clamp(a.lo + b.lo, -kMany, kMany), a.hi = std::clamp(a.hi + b.hi, -kMany, kMany);
      if (b.hi >= kMany) a.hi = kMany;
      a.may |= b.may, a.must |= b.must;
      effects.erase(effects.begin() + static_cast<std::ptrdiff_t>(k));
    }
}

}  // namespace

// Parameter names of the callee beside the values that this call gives them.
const LockSummary& LockEvents::summary(EventId id) {
  const auto [at, fresh] = at_call_.try_emplace(id);
  if (!fresh) return at->second;
  const RoutineCall& call = call_of_.at(id);
  const LockEvent& event = states_.event(id);
  LockSummary& seen = at->second;
  seen = states_.summaries[static_cast<std::size_t>(event.summary)];
  std::vector<std::string> names;
  List<Value> values;
  std::vector<const Parameter*> inputs;
  for (const Parameter& p : call.callee->parameters)
    if (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Variadic) inputs.push_back(&p);
  ValueScope scope;
  scope.catalogue = &program_.catalogue, scope.unit = event.unit, scope.function = event.function, scope.statement = event.statement;
  scope.levels = call.levels;
  const auto hasEffects = [](const LockOutcome& o) { return !o.effects.empty(); };
  const bool wanted = std::any_of(seen.outcomes.begin(), seen.outcomes.end(), hasEffects) ||
                      std::any_of(seen.raised.begin(), seen.raised.end(), hasEffects) ||
                      std::any_of(seen.refused.begin(), seen.refused.end(), hasEffects) || !seen.acquires.empty();
  for (std::size_t i = 0; wanted && i < inputs.size(); ++i) {
    names.push_back(inputs[i]->name.empty() ? "$" + std::to_string(i + 1) : inputs[i]->name);
    const Expr* given = nullptr;
    for (std::size_t a = 0; call.call != nullptr && a < call.call->args.size(); ++a) {
      const bool named = a < call.call->arg_names.size() && !call.call->arg_names[a].empty();
      if (named ? call.call->arg_names[a] == inputs[i]->name : a == i) given = &call.call->args[a];
    }
    if (given != nullptr) values.push_back(resolve(*given, scope));
    else if (!inputs[i]->default_value.empty()) {
      ValueScope body;
      body.catalogue = &program_.catalogue, body.unit = call.callee_unit, body.function = call.callee;
      values.push_back(resolve(inputs[i]->default_value.front(), body));
    } else {
      values.emplace_back();
    }
  }
  if (call.callee->kind == FunctionKind::HostFunction) addFields(seen, call, scope, names, values);
  const auto caller = [&](KeyId key) { return states_.keys.substitute(key, names, values, event.function); };
  for (std::vector<LockOutcome>* all : {&seen.outcomes, &seen.raised, &seen.refused})
    for (LockOutcome& o : *all) {
      for (LockEffect& e : o.effects) e.key = caller(e.key);
      joinAliases(o.effects, states_.keys);
      for (auto& refused : o.refused) refused.first = caller(refused.first);
    }
  for (InnerAcquisition& a : seen.acquires) {
    a.key = caller(a.key);
    for (auto& held : a.held) held.first = caller(held.first);
  }
  return seen;
}

// --- deeds --------------------------------------------------------------------------------------------------------------

namespace {

bool endsTransaction(const Event& e) {
  return !e.transaction.empty() && (e.transaction[0].verb == TransactionVerb::Commit || e.transaction[0].verb == TransactionVerb::Rollback);
}

// Which events of a procedure can be followed by its end with no COMMIT between.
class Uncommitted {
 public:
  explicit Uncommitted(const Function& f) : blocks_(f.blocks), from_end_(f.blocks.size(), false) {
    std::vector<std::vector<std::size_t>> before(blocks_.size());
    std::vector<std::size_t> work;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (const Edge& e : blocks_[b].successors)
        if (e.target >= 0 && static_cast<std::size_t>(e.target) < before.size()) before[static_cast<std::size_t>(e.target)].push_back(b);
      const List<Event>& events = blocks_[b].events;
      if (blocks_[b].successors.empty() || (!events.empty() && events.back().kind == EventKind::Exit)) work.push_back(b), from_end_[b] = true;
    }
    while (!work.empty()) {
      const std::size_t b = work.back();
      work.pop_back();
      if (std::any_of(blocks_[b].events.begin(), blocks_[b].events.end(), endsTransaction)) continue;
      for (const std::size_t p : before[b])
        if (!from_end_[p]) from_end_[p] = true, work.push_back(p);
    }
  }

  // What event `i` of block `b` writes may be uncommitted when the procedure ends.
  bool at(std::size_t b, std::size_t i) const {
    const List<Event>& events = blocks_[b].events;
    return from_end_[b] && std::none_of(events.begin() + static_cast<std::ptrdiff_t>(i), events.end(), endsTransaction);
  }

 private:
  const List<Block>& blocks_;
  std::vector<bool> from_end_;  // from the end of the block on
};

}  // namespace

// By its own statements or those of the routines it calls, and it does not commit what it has written; of bodies that are not read it is
// not known, and not said.
bool LockEvents::writes(const Function* root) {
  if (const auto known = writes_.find(root); known != writes_.end()) return known->second;
  std::vector<const Function*> found{root}, work{root};
  std::unordered_set<const Function*> seen{root};
  bool any = false;
  while (!work.empty() && !any) {
    const Function* f = work.back();
    work.pop_back();
    const Uncommitted uncommitted(*f);
    for (std::size_t b = 0; b < f->blocks.size(); ++b)
      for (std::size_t i = 0; i < f->blocks[b].events.size(); ++i) {
        const Event& e = f->blocks[b].events[i];
        if (!uncommitted.at(b, i)) continue;
        any |= e.kind == EventKind::Ddl;
        for (const Statement& s : e.statement) {
          const bool changes = !s.query.empty() && s.query[0].kind != QueryKind::Select && s.query[0].kind != QueryKind::Values &&
                               s.query[0].kind != QueryKind::SetOperation;
          any |= changes || s.kind == StatementKind::CreateTableAs ||
                 (s.kind == StatementKind::Unparsed && beginsOneOf(s.head, {"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"}));
          forEachExpr(s, [&](const Expr& x, const QueryLevels&) {
            if (x.kind != ExprKind::Call || findLockFunction(x.name)) return;
            const Routine* r = program_.catalogue.routine(x.qualifier, x.name, x.args.size());
            if (r == nullptr || !seen.insert(r->function).second) return;
            if (const auto known = writes_.find(r->function); known != writes_.end()) any |= known->second;
            else work.push_back(r->function), found.push_back(r->function);
          });
        }
      }
  }
  writes_[root] = any;
  if (!any)
    for (const Function* f : found) writes_[f] = false;
  return any;
}

namespace {

void collectEqualNames(const Expr& e, std::vector<std::string>& out) {
  if (e.kind == ExprKind::And)
    for (const Expr& a : e.args) collectEqualNames(a, out);
  if (e.kind != ExprKind::Op || e.name != "=") return;
  for (const Expr& a : e.args)
    if (a.kind == ExprKind::Column) out.push_back(a.qualifier.empty() ? a.name : a.qualifier.str() + "." + a.name);
}

}  // namespace

void LockEvents::lookInto(const Statement& s, Deed& deed) {
  struct Inside {  // all queries and expressions
    std::unordered_set<const void*>& found;
    void onLevel(const Query& q, const QueryLevels&) { found.insert(&q); }
    void onExpr(const Expr& e, const QueryLevels&) { found.insert(&e); }
  };
  struct V {
    LockEvents& events;
    const Statement& statement;
    Deed& deed;
    // What a key is computed of, before the lock is taken. A release computes once more what the acquisition did: that it fails only now is not assumed.
    std::unordered_set<const void*> taken_keys, released_keys;
    bool released = false;
    bool& mayRaise(const void* place) { return taken_keys.contains(place) ? deed.key_may_raise : released_keys.contains(place) ? released : deed.may_raise; }
    void onLevel(const Query& q, const QueryLevels&) {
      if (q.kind != QueryKind::Select && q.kind != QueryKind::Values && q.kind != QueryKind::SetOperation) {
        deed.writes = deed.work = deed.may_raise = true;
        deed.reads |= q.kind != QueryKind::Insert;
        if (!q.target->name.empty()) deed.names.push_back(events.nameId(q.target->name));
        if (q.kind == QueryKind::Update || q.kind == QueryKind::Delete)
          for (const Expr& w : q.where) collectEqualNames(w, deed.rows_of);
      }
      if (readsRelation(q, 0)) deed.reads = mayRaise(&q) = true;
    }
    void onExpr(const Expr& e, const QueryLevels&) {
      if (e.kind != ExprKind::Call) return;
      if (const LockFunction* lock = findLockFunction(e.name)) {
        Inside keys{lock->acquires() ? taken_keys : released_keys};
        for (const Expr& a : e.args) QueryWalker<Inside>(keys).expr(a);
        return;
      }
      const Routine* r = events.program_.catalogue.routine(e.qualifier, e.name, e.args.size());
      if (r == nullptr) {
        mayRaise(&e) |= findBuiltin(e.name) == nullptr;
        deed.sleeps |= sleeps(e);
        if (std::optional<Setting> set = settingBy(e)) deed.settings.push_back(std::move(*set));
        return;
      }
      if (events.onlyLocks(r->function)) return;
      if (!r->locks && (taken_keys.contains(&e) || released_keys.contains(&e))) {
        mayRaise(&e) = true;
        return;
      }
      const bool value = statement.context == PlContext::None || statement.context == PlContext::Sql || statement.context == PlContext::Perform;
      deed.may_raise = true;
      deed.work |= value && !r->locks;
      deed.writes |= events.writes(r->function);
      if (!r->locks) deed.names.push_back(events.nameId(e.name + "()"));
    }
  } v{*this, s, deed, {}, {}};
  QueryWalker<V>(v).statement(s);
}

// A function of the host program that is no candidate does work if it sends anything.
Deed LockEvents::hostCallDeed(const Statement& s, const Function& function) {
  Deed d;
  d.may_raise = paths_.mayThrow(function, s.host_call);
  const HostCall& call = function.host[0].calls[static_cast<std::size_t>(s.host_call)];
  const std::vector<const Function*> callees = paths_.targets(call);
  if (std::none_of(callees.begin(), callees.end(), [&](const Function* f) { return paths_.sendsWork(*f); })) return d;
  d.work = true;
  d.names.push_back(nameId(hostDisplayName(call.name) + "()"));
  return d;
}

bool LockEvents::onlyLocks(const Function* routine) const {
  const auto candidate = routine_candidates_.find(routine);
  if (candidate == routine_candidates_.end() || candidate->second >= states_.summaries.size()) return false;
  const LockSummary& summary = states_.summaries[candidate->second];
  return !summary.works && !summary.outcomes.empty();
}

Deed LockEvents::statementDeed(const Statement& s, const Function& function, int unit) {
  Deed d;
  switch (s.kind) {
    case StatementKind::HostCall: return hostCallDeed(s, function);
    case StatementKind::Query:
    case StatementKind::ExplainAnalyze:
    case StatementKind::Copy:
      lookInto(s, d);
      // STRICT fails where there is not one row: without FROM there is.
      d.may_raise |= (s.into_strict && !(s.query.size() == 1 && s.query[0].kind == QueryKind::Select && s.query[0].from.empty() && s.query[0].where.empty())) || s.has_holes;
      break;
    case StatementKind::CreateTableAs:
      lookInto(s, d);
      d.writes = d.work = d.may_raise = true;
      break;
    case StatementKind::Explain:
    case StatementKind::Prepare:
    case StatementKind::DeclareCursor:
    case StatementKind::CloseCursor: break;
    case StatementKind::Fetch:
    case StatementKind::Move: d.reads = d.may_raise = true; break;
    case StatementKind::Execute:
    case StatementKind::Call:
      lookInto(s, d);
      d.work = d.may_raise = true;
      break;
    case StatementKind::Do: {
      const auto& functions = program_.units[static_cast<std::size_t>(unit)].functions;
      const bool known = s.function >= 0 && static_cast<std::size_t>(s.function) < functions.size();
      d.may_raise = true;
      d.work = !known || !onlyLocks(&functions[static_cast<std::size_t>(s.function)]);
      break;
    }
    case StatementKind::Utility:
      if (s.dynamic) d.work = d.may_raise = true, d.names.push_back(nameId("EXECUTE"));
      else if (!harmless(s.head)) {
        d.may_raise = true;
        d.work = d.writes = !beginsOneOf(s.head, {"VACUUM", "ANALYZE", "LOCK", "REINDEX", "CLUSTER", "OPEN"});
      }
      break;
    case StatementKind::Unparsed:
      if (readsOnly(s.head)) d.reads = d.may_raise = true;
      else if (!harmless(s.head)) {
        d.work = d.may_raise = true;
        d.reads = s.head != "INSERT VALUES" && beginsOneOf(s.head, {"INSERT", "UPDATE", "DELETE", "MERGE", "WITH"});
        d.writes = !beginsOneOf(s.head, {"WITH", "CALL", "DO", "EXECUTE", "VACUUM", "ANALYZE", "LOCK"});
      }
      break;
    case StatementKind::NotUnderstood: d.may_raise = d.work = true; break;
  }
  return d;
}

Deed LockEvents::deed(const Event& event, const Function& function, int unit) {
  if (event.kind == EventKind::Ddl) {
    Deed d;
    const Unit& u = program_.units[static_cast<std::size_t>(unit)];
    const bool routine = event.ddl >= 0 && static_cast<std::size_t>(event.ddl) < u.ddl.size() &&
                         u.ddl[static_cast<std::size_t>(event.ddl)].kind == DdlKind::SetSearchPath;
    if (!routine) d.may_raise = d.writes = d.work = true;
    return d;
  }
  if (event.kind == EventKind::Statement) {
    Deed d = statementDeed(event.statement[0], function, unit);
    const std::int32_t call = event.statement[0].host_call;
    if (call >= 0) d.may_raise = paths_.mayThrow(function, call) && (d.may_raise || d.work);
    return d;
  }
  return {};
}

}  // namespace pglocklint

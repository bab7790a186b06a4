#include "program/lock_events.h"

#include <algorithm>

#include "program/walk.h"

namespace pglocklint {
namespace {

constexpr std::size_t kMostSites = 400;  // lock calls of one function whose state is followed

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

LockEvents::LockEvents(const Program& program, LockStates& states) : program_(program), states_(states) {
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

std::vector<RoutineCall> LockEvents::calls(const Function& f, int unit) const {
  std::vector<RoutineCall> found;
  const Unit& u = program_.units[static_cast<std::size_t>(unit)];
  forEachStatement(f, [&](const Statement& s) {
    if (s.kind == StatementKind::Do && s.function >= 0 && static_cast<std::size_t>(s.function) < u.functions.size())
      found.push_back({nullptr, &u.functions[static_cast<std::size_t>(s.function)], unit, {}});
    if (s.kind == StatementKind::Explain || s.kind == StatementKind::Prepare || s.kind == StatementKind::DeclareCursor) return;
    forEachExpr(s, [&](const Expr& e, const QueryLevels& levels) {
      if (e.kind != ExprKind::Call || findLockFunction(e.name)) return;
      if (const Routine* r = program_.catalogue.routine(e.qualifier, e.name, e.args.size())) found.push_back({&e, r->function, r->unit, levels});
    });
  });
  return found;
}

// Routines with a lock call in them, and whatever reaches one. Anything else has no effect on locks and is not looked at.
void LockEvents::findCandidates() {
  std::vector<std::vector<std::size_t>> callers;
  // Beyond what anybody writes by hand the state costs more than it can tell: none, so nothing is reported.
  const auto tooLong = [&](const Function& f) {
    const auto own = sites_.find(&f);
    return own != sites_.end() && own->second.size() > kMostSites;
  };
  std::unordered_map<const Function*, std::size_t> number;
  std::vector<Candidate> all;
  std::vector<bool> wanted;
  for (const Routine& r : program_.catalogue.routines) live_[r.function] = &r;
  for (std::size_t u = 0; u < program_.units.size(); ++u)
    for (const Function& f : program_.units[u].functions) {
      if (f.kind == FunctionKind::NamedQuery || f.kind == FunctionKind::DownScript) continue;
      if (f.kind == FunctionKind::HostFunction) continue;  // its exceptions and destructors are not modelled yet: no state rather than a wrong one
      const bool definition = f.kind == FunctionKind::Routine || f.kind == FunctionKind::Procedure;
      if (definition && live_.count(&f) == 0) continue;
      number[&f] = all.size();
      all.push_back({&f, static_cast<int>(u), {}});
      bool ends = false;
      if (f.kind == FunctionKind::Procedure)
        for (const Block& b : f.blocks)
          for (const Event& e : b.events) ends |= e.kind == EventKind::Transaction;
      const auto own = sites_.find(&f);
      wanted.push_back((own != sites_.end() || ends) && !tooLong(f));
    }
  callers.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const RoutineCall& c : calls(*all[i].function, all[i].unit))
      if (const auto at = number.find(c.callee); at != number.end()) {
        callers[at->second].push_back(i);
        all[i].callees.push_back(at->second);
      }
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (wanted[i]) work.push_back(i);
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    for (const std::size_t caller : callers[i])
      if (!wanted[caller] && !tooLong(*all[caller].function)) wanted[caller] = true, work.push_back(caller);
  }
  std::vector<std::size_t> renumbered(all.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (wanted[i]) renumbered[i] = candidates_.size(), candidates_.push_back(std::move(all[i]));
  for (Candidate& c : candidates_) {
    std::erase_if(c.callees, [&](std::size_t callee) { return !wanted[callee]; });
    for (std::size_t& callee : c.callees) callee = renumbered[callee];
  }
}

void LockEvents::addSite(const LockSite& site, const Candidate& c, std::vector<EventId>& out) {
  LockEvent e;
  switch (site.lock->operation) {
    case LockOperation::Acquire: e.kind = LockEventKind::Acquire; break;
    case LockOperation::Try: e.kind = LockEventKind::Try; break;
    case LockOperation::Release: e.kind = LockEventKind::Release; break;
    case LockOperation::ReleaseAll: e.kind = LockEventKind::ReleaseAll; break;
  }
  const Evaluation* how = site.evaluation();
  if (how != nullptr && how->runs == Runs::Never) return;
  if (site.statement->kind == StatementKind::Explain || site.statement->kind == StatementKind::Prepare ||
      site.statement->kind == StatementKind::DeclareCursor)
    return;
  e.unit = c.unit, e.function = c.function, e.statement = site.statement, e.call = site.call, e.range = site.call->range;
  e.site = &site, e.lock = site.lock;
  e.key = states_.keys.intern(site.key, c.function);
  const bool once = exactlyOnce(site);
  e.least = once ? 1 : 0;
  e.per_row = !once && how != nullptr && how->runs == Runs::PerRow;
  e.most = e.per_row ? kMany : 1;
  const auto id = static_cast<EventId>(states_.events.size());
  by_statement_[site.statement].push_back(id);
  by_call_[site.call] = id;
  states_.events.push_back(std::move(e));
  out.push_back(id);
}

namespace {

bool returnsOnce(const Statement& s, const Expr* call) {
  if (call == nullptr || s.kind == StatementKind::Call) return true;
  if (s.query.size() != 1) return false;
  const Query& q = s.query[0];
  if (q.kind != QueryKind::Select || !q.where.empty() || !q.having.empty() || !q.limit.empty()) return false;
  if (q.from.empty()) return true;
  return q.from.size() == 1 && q.from[0].kind == FromKind::Function && q.from[0].functions.size() == 1 && &q.from[0].functions[0] == call;
}

}  // namespace

void LockEvents::addCall(const RoutineCall& call, const Statement& s, const Candidate& c, std::vector<EventId>& out) {
  LockEvent e;
  e.kind = LockEventKind::Call;
  e.unit = c.unit, e.function = c.function, e.statement = &s, e.call = call.call, e.range = call.call ? call.call->range : s.range;
  e.callee = call.callee;
  e.least = returnsOnce(s, call.call) ? 1 : 0;
  e.most = e.least == 1 ? 1 : kMany;
  const auto id = static_cast<EventId>(states_.events.size());
  by_statement_[&s].push_back(id);
  if (call.call) by_call_[call.call] = id;
  call_of_[id] = call;
  states_.events.push_back(std::move(e));
  out.push_back(id);
}

std::vector<EventId> LockEvents::read(const Candidate& c) {
  std::vector<EventId> events;
  std::unordered_map<const Expr*, const LockSite*> direct;
  if (const auto at = sites_.find(c.function); at != sites_.end())
    for (const LockSite* s : at->second) direct[s->call] = s;
  std::vector<const Function*> relevant;
  for (const std::size_t callee : c.callees) relevant.push_back(candidates_[callee].function);
  std::sort(relevant.begin(), relevant.end());
  const auto isRelevant = [&](const Function* f) { return std::binary_search(relevant.begin(), relevant.end(), f); };
  const Unit& u = program_.units[static_cast<std::size_t>(c.unit)];
  forEachStatement(*c.function, [&](const Statement& s) {
    if (s.kind == StatementKind::Do && s.function >= 0 && static_cast<std::size_t>(s.function) < u.functions.size()) {
      const Function* block = &u.functions[static_cast<std::size_t>(s.function)];
      if (isRelevant(block)) addCall({nullptr, block, c.unit, {}}, s, c, events);
    }
    if (s.kind == StatementKind::Explain || s.kind == StatementKind::Prepare || s.kind == StatementKind::DeclareCursor) return;
    forEachExpr(s, [&](const Expr& e, const QueryLevels& levels) {
      if (e.kind != ExprKind::Call) return;
      if (const auto at = direct.find(&e); at != direct.end()) return addSite(*at->second, c, events);
      if (relevant.empty() || findLockFunction(e.name)) return;
      const Routine* r = program_.catalogue.routine(e.qualifier, e.name, e.args.size());
      if (r != nullptr && isRelevant(r->function)) addCall({&e, r->function, r->unit, levels}, s, c, events);
    });
  });
  return events;
}

// Parameter names of the callee beside the values that this call gives them.
const LockSummary& LockEvents::summary(EventId id) {
  const auto [at, fresh] = at_call_.try_emplace(id);
  const RoutineCall& call = call_of_.at(id);
  const auto own = states_.summaries.find(call.callee);
  if (own == states_.summaries.end()) return at->second;
  LockSummary& seen = at->second;
  seen = own->second;
  const LockEvent& event = states_.event(id);
  std::vector<std::string> names;
  List<Value> values;
  std::vector<const Parameter*> inputs;
  for (const Parameter& p : call.callee->parameters)
    if (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Variadic) inputs.push_back(&p);
  ValueScope scope;
  scope.catalogue = &program_.catalogue, scope.unit = event.unit, scope.function = event.function, scope.statement = event.statement;
  scope.levels = call.levels;
  const bool wanted = std::any_of(seen.outcomes.begin(), seen.outcomes.end(), [&](const LockOutcome& o) { return !o.effects.empty(); }) ||
                      !seen.acquires.empty();
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
  const auto caller = [&](KeyId key) { return states_.keys.substitute(key, names, values, event.function); };
  for (LockOutcome& o : seen.outcomes)
    for (LockEffect& e : o.effects) e.key = caller(e.key);
  for (InnerAcquisition& a : seen.acquires) {
    a.key = caller(a.key);
    for (auto& held : a.held) held.first = caller(held.first);
  }
  return seen;
}

// --- deeds --------------------------------------------------------------------------------------------------------------

void LockEvents::lookInto(const Statement& s, Deed& deed) {
  struct V {
    LockEvents& events;
    const Statement& statement;
    Deed& deed;
    void onLevel(const Query& q, const QueryLevels&) {
      if (q.kind != QueryKind::Select && q.kind != QueryKind::Values && q.kind != QueryKind::SetOperation) {
        deed.writes = deed.work = deed.may_raise = true;
        deed.reads |= q.kind != QueryKind::Insert;
        if (!q.target->name.empty()) deed.names.push_back(events.nameId(q.target->name));
      }
      if (readsRelation(q, 0)) deed.reads = deed.may_raise = true;
    }
    void onExpr(const Expr& e, const QueryLevels&) {
      if (e.kind != ExprKind::Call || findLockFunction(e.name)) return;
      const Routine* r = events.program_.catalogue.routine(e.qualifier, e.name, e.args.size());
      if (r == nullptr) {
        deed.may_raise |= findBuiltin(e.name) == nullptr;
        return;
      }
      const bool value = statement.context == PlContext::None || statement.context == PlContext::Sql || statement.context == PlContext::Perform;
      deed.may_raise = true;
      deed.work |= value && !r->locks;
      if (!r->locks) deed.names.push_back(events.nameId(e.name + "()"));
    }
  } v{*this, s, deed};
  QueryWalker<V>(v).statement(s);
}

Deed LockEvents::statementDeed(const Statement& s, const Function&) {
  Deed d;
  switch (s.kind) {
    case StatementKind::Query:
    case StatementKind::ExplainAnalyze:
    case StatementKind::Copy:
      lookInto(s, d);
      d.may_raise |= s.into_strict || s.has_holes;
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
    case StatementKind::Do: d.may_raise = d.work = true; break;
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
        d.reads = beginsOneOf(s.head, {"INSERT", "UPDATE", "DELETE", "MERGE", "WITH"});
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
  if (event.kind == EventKind::Statement) return statementDeed(event.statement[0], function);
  return {};
}

}  // namespace pglocklint

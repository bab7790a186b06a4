// Linking: units → Program. Live definitions first, then which routines lock (a fixpoint over calls by name), then one LockSite for
// each lock call, with its key and its evaluations.
#include <algorithm>
#include <map>
#include <set>

#include "program/keys.h"
#include "program/live.h"
#include "program/lock_state.h"
#include "program/program.h"
#include "program/walk.h"

namespace pglocklint {

namespace {

constexpr int kMaxWrapperDepth = 4;       // wrapper of a wrapper of …
constexpr std::size_t kMaxInnerSites = 8; // lock calls behind one call of a routine

const LockFunction* builtinLock(const Expr& e) {
  if (e.kind != ExprKind::Call || (!e.qualifier.empty() && e.qualifier != "pg_catalog")) return nullptr;
  return findLockFunction(e.name);
}

// A call of the built-in, unless the program defines a routine of that name and the call does not say pg_catalog.
// (pg_catalog comes first on the search path, so an unqualified call means the built-in all the same.)
bool acquiresDirectly(const Routine& r) {
  bool found = false;
  forEachStatement(*r.function, [&](const Statement& s) {
    forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
      const LockFunction* lock = builtinLock(e);
      found |= lock != nullptr && lock->acquires();
    });
  });
  return found;
}

// Sets Routine::locks: a routine locks if it acquires itself or calls one that locks. One walk collects who calls whom, then the
// property is carried from callee to callers: linear in the calls.
void findLockingRoutines(Catalogue& catalogue) {
  std::vector<std::vector<std::size_t>> callers(catalogue.routines.size());
  std::vector<std::size_t> work;
  for (Routine& r : catalogue.routines) r.locks = acquiresDirectly(r);
  for (std::size_t i = 0; i < catalogue.routines.size(); ++i) {
    const Routine& r = catalogue.routines[i];
    if (r.locks) work.push_back(i);
    forEachStatement(*r.function, [&](const Statement& s) {
      forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
        if (e.kind != ExprKind::Call) return;
        if (const Routine* callee = catalogue.routine(e.qualifier, e.name, e.args.size()))
          callers[static_cast<std::size_t>(callee - catalogue.routines.data())].push_back(i);
      });
    });
  }
  while (!work.empty()) {
    const std::size_t callee = work.back();
    work.pop_back();
    for (const std::size_t caller : callers[callee])
      if (!catalogue.routines[caller].locks) catalogue.routines[caller].locks = true, work.push_back(caller);
  }
}

class Linker {
 public:
  explicit Linker(Program& program) : program_(program), live_(liveDefinitions(program.units)) {}

  void run() {
    program_.superseded = live_.superseded;
    program_.catalogue = std::move(live_.catalogue);
    findLockingRoutines(program_.catalogue);
    for (std::size_t u = 0; u < program_.units.size(); ++u) {
      const int unit = static_cast<int>(u);
      for (const Function& f : program_.units[u].functions)
        if (isLive(f)) sitesOf(f, unit);
    }
    for (const SchemaObject& o : live_.objects) schemaObject(o);
    std::stable_sort(program_.sites.begin(), program_.sites.end(), [](const LockSite& a, const LockSite& b) {
      return std::tie(a.unit, a.call->range.begin, a.call->range.end) < std::tie(b.unit, b.call->range.begin, b.call->range.end);
    });
    addWrapperSites();
  }

 private:
  bool isLive(const Function& f) const {
    const bool definition = f.kind == FunctionKind::Routine || f.kind == FunctionKind::Procedure;
    return !definition || live_.routines.count(&f) > 0;
  }

  ValueScope scope(const LockSite& s, const QueryLevels& levels, const List<Value>* arguments = nullptr) const {
    ValueScope v;
    v.catalogue = &program_.catalogue;
    v.unit = s.unit, v.function = s.function, v.statement = s.statement;
    v.levels = levels, v.arguments = arguments;
    return v;
  }

  // Direct sites of one function; calls of locking routines are noted for later, when all direct sites are known.
  void sitesOf(const Function& f, int unit) {
    std::map<const Expr*, std::vector<CallEvaluation>> evaluations;
    for (CallEvaluation& e : evaluate(f, program_.catalogue)) evaluations[e.call].push_back(std::move(e));
    forEachStatement(f, [&](const Statement& s) {
      struct V {
        Linker& linker;
        const Function& f;
        const Statement& s;
        int unit;
        std::map<const Expr*, std::vector<CallEvaluation>>& evaluations;
        void onExpr(const Expr& e, const QueryLevels& levels) { linker.expression(e, levels, f, s, unit, evaluations); }
        void onFrom(const FromItem& item, const QueryLevels& levels) { linker.pgLocks(item, levels, &f, &s, unit); }
      } v{*this, f, s, unit, evaluations};
      QueryWalker<V>(v).statement(s);
    });
  }

  void expression(const Expr& e, const QueryLevels& levels, const Function& f, const Statement& s, int unit,
                  std::map<const Expr*, std::vector<CallEvaluation>>& evaluations) {
    if (e.kind != ExprKind::Call) return;
    LockSite site;
    site.unit = unit, site.function = &f, site.statement = &s, site.call = &e;
    site.level = levels.empty() ? nullptr : levels.front();
    site.live = f.kind != FunctionKind::DownScript && !program_.units[static_cast<std::size_t>(unit)].runner.down;
    if (const auto it = evaluations.find(&e); it != evaluations.end()) site.evaluations = it->second;
    addSite(std::move(site), levels);
  }

  void addSite(LockSite site, const QueryLevels& levels) {
    site.lock = builtinLock(*site.call);
    if (site.lock) {
      site.key = resolveKey(*site.call, scope(site, levels));
      program_.sites.push_back(std::move(site));
      return;
    }
    const Routine* r = program_.catalogue.routine(site.call->qualifier, site.call->name, site.call->args.size());
    if (!r || !r->locks) return;
    site.routine = r;
    wrappers_.push_back({std::move(site), levels});
  }

  void pgLocks(const FromItem& item, const QueryLevels& levels, const Function* f, const Statement* s, int unit) {
    if (item.kind != FromKind::Relation || item.name != "pg_locks" || (!item.schema.empty() && item.schema != "pg_catalog")) return;
    program_.pg_locks.push_back({unit, f, s, levels.empty() ? nullptr : levels.front(), &item});
  }

  // Views, policies, checks, defaults, indexes and trigger conditions.
  void schemaObject(const SchemaObject& o) {
    const Ddl& d = *o.ddl;
    std::string what;
    switch (d.kind) {
      case DdlKind::CreateView: what = d.materialized ? "materialized view" : "view"; break;
      case DdlKind::CreatePolicy:
      case DdlKind::AlterPolicy: what = "policy"; break;
      case DdlKind::CreateIndex: what = "index"; break;
      case DdlKind::CreateTrigger: what = "trigger condition"; break;
      case DdlKind::CreateDomain: what = "domain check"; break;
      default: what = "check constraint"; break;
    }
    for (const Query& q : d.query) object(o, what, q);
    for (const Expr& e : d.exprs) object(o, what, e);
    for (const ColumnDefinition& c : d.columns) column(o, c);
    for (const AlterAction& a : d.actions) {
      column(o, a.column);
      for (const Expr& e : a.checks) object(o, "check constraint", e);
    }
  }

  void column(const SchemaObject& o, const ColumnDefinition& c) {
    for (const Expr& e : c.default_value) object(o, c.generated ? "generated column" : "column default", e);
    for (const Expr& e : c.checks) object(o, "check constraint", e);
  }

  struct ObjectVisitor {
    Linker& linker;
    const SchemaObject& object;
    const std::string& what;
    void onExpr(const Expr& e, const QueryLevels& levels) {
      if (e.kind != ExprKind::Call) return;
      LockSite site;
      site.unit = object.unit, site.host = SiteHost::SchemaObject, site.host_ddl = object.ddl, site.host_what = what, site.call = &e;
      site.level = levels.empty() ? nullptr : levels.front();
      linker.addSite(std::move(site), levels);
    }
    void onFrom(const FromItem& item, const QueryLevels& levels) {
      linker.pgLocks(item, levels, nullptr, nullptr, object.unit);
    }
  };

  void object(const SchemaObject& o, const std::string& what, const Query& q) {
    ObjectVisitor v{*this, o, what};
    QueryWalker<ObjectVisitor>(v).query(q);
  }
  void object(const SchemaObject& o, const std::string& what, const Expr& e) {
    ObjectVisitor v{*this, o, what};
    QueryWalker<ObjectVisitor>(v).expr(e);
  }

  struct PendingWrapper {
    LockSite site;
    QueryLevels levels;
  };

  // Values of a routine's input parameters in one call, in their order; defaults and named arguments put in place.
  List<Value> argumentValues(const Expr& call, const Routine& r, const ValueScope& caller) const {
    std::vector<const Parameter*> inputs;
    for (const Parameter& p : r.function->parameters)
      if (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Variadic) inputs.push_back(&p);
    List<Value> values(inputs.size());
    std::vector<bool> given(inputs.size());
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      std::size_t at = i;
      if (i < call.arg_names.size() && !call.arg_names[i].empty()) {
        const auto named = std::find_if(inputs.begin(), inputs.end(), [&](const Parameter* p) { return p->name == call.arg_names[i]; });
        at = static_cast<std::size_t>(named - inputs.begin());
      }
      if (at >= inputs.size()) continue;
      values[at] = resolve(call.args[i], caller);
      given[at] = true;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (given[i] || inputs[i]->default_value.empty()) continue;
      ValueScope body;
      body.catalogue = &program_.catalogue, body.unit = r.unit, body.function = r.function;
      values[i] = resolve(inputs[i]->default_value.front(), body);
    }
    return values;
  }

  const QueryLevels& levelsOf(const LockSite& s) const {
    static const QueryLevels none;
    const auto it = levels_.find(s.call);
    return it == levels_.end() ? none : it->second;
  }

  // The lock calls that a call of `r` with these arguments leads to: (built-in site, its key as the caller sees it).
  void innerLocks(const Routine& r, const List<Value>& arguments, int depth,
                  std::vector<std::pair<const LockSite*, LockKey>>& out) const {
    if (depth > kMaxWrapperDepth) return;
    if (const auto it = direct_.find(r.function); it != direct_.end())
      for (const LockSite* s : it->second) {
        if (out.size() >= kMaxInnerSites) return;
        out.emplace_back(s, resolveKey(*s->call, scope(*s, levelsOf(*s), &arguments)));
      }
    const auto it = wrappers_in_.find(r.function);
    if (it == wrappers_in_.end()) return;
    for (const std::size_t i : it->second) {
      const PendingWrapper& w = wrappers_[i];
      if (w.site.routine == &r) continue;
      innerLocks(*w.site.routine, argumentValues(*w.site.call, *w.site.routine, scope(w.site, w.levels, &arguments)), depth + 1, out);
    }
  }

  void addWrapperSites() {
    for (const LockSite& s : program_.sites)
      if (s.function) direct_[s.function].push_back(&s);
    for (std::size_t i = 0; i < wrappers_.size(); ++i) wrappers_in_[wrappers_[i].site.function].push_back(i);
    collectLevels();
    std::vector<LockSite> added;
    for (const PendingWrapper& w : wrappers_) {
      std::vector<std::pair<const LockSite*, LockKey>> inner;
      innerLocks(*w.site.routine, argumentValues(*w.site.call, *w.site.routine, scope(w.site, w.levels)), 1, inner);
      for (auto& [site, key] : inner) {
        LockSite copy = w.site;
        copy.inner = site, copy.lock = site->lock, copy.key = std::move(key);
        added.push_back(std::move(copy));
      }
    }
    std::stable_sort(added.begin(), added.end(), [](const LockSite& a, const LockSite& b) {
      return std::tie(a.unit, a.call->range.begin, a.call->range.end) < std::tie(b.unit, b.call->range.begin, b.call->range.end);
    });
    for (LockSite& s : added) program_.sites.push_back(std::move(s));
  }

  // Enclosing levels of every direct lock call inside a routine, for resolving its key again with a caller's arguments.
  void collectLevels() {
    for (const auto& [function, sites] : direct_) {
      forEachStatement(*function, [&](const Statement& s) {
        forEachExpr(s, [&](const Expr& e, const QueryLevels& levels) {
          if (builtinLock(e)) levels_[&e] = levels;
        });
      });
    }
  }

  Program& program_;
  LiveDefinitions live_;
  std::vector<PendingWrapper> wrappers_;
  std::map<const Function*, std::vector<std::size_t>> wrappers_in_;   // indexes into wrappers_
  std::map<const Function*, std::vector<const LockSite*>> direct_;
  std::map<const Expr*, QueryLevels> levels_;
};

}  // namespace

std::string functionName(const Function* function) {
  if (!function || function->name.empty()) return {};
  if (function->kind == FunctionKind::HostFunction) return hostDisplayName(function->name);
  return function->schema.empty() ? function->name : function->schema + "." + function->name;
}

Program link(std::vector<Unit> units) {
  std::sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.path() < b.path(); });
  Program program;
  for (Unit& u : units) program.units.push_back(std::move(u));
  Linker(program).run();
  program.locks = lockStates(program);
  return program;
}

}  // namespace pglocklint

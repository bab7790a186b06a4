// Linking: units → Program. Live definitions first, then which routines lock (a fixpoint over calls by name), then one LockSite for
// each lock call, with its key and its evaluations.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "program/function_names.h"
#include "program/keys.h"
#include "program/live.h"
#include "program/lock_state.h"
#include "program/program.h"
#include "program/walk.h"

namespace pglocklint {

namespace {

constexpr int kMaxWrapperDepth = 4;       // wrapper of a wrapper of …
constexpr std::size_t kMaxInnerSites = 8; // lock calls behind one call of a routine
constexpr int kMaxInnerCalls = 256;       // calls of routines that are followed to find them

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
  catalogue.indexOverloads();
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
  catalogue.indexOverloads();
}

bool inOrder(const LockSite& a, const LockSite& b) {
  return std::tie(a.unit, a.call->range.begin, a.call->range.end) < std::tie(b.unit, b.call->range.begin, b.call->range.end);
}

class Linker {
 public:
  Linker(Program& program, const ForEach& for_each)
      : program_(program), for_each_(for_each), live_(liveDefinitions(program.units)) {}

  void run() {
    program_.superseded = live_.superseded;
    for (const int unit : live_.included) program_.units[static_cast<std::size_t>(unit)].runner.fresh_session = false;
    program_.catalogue = std::move(live_.catalogue);
    findLockingRoutines(program_.catalogue);
    std::vector<Found> found(program_.units.size() + 1);  // by unit, then what schema objects hold
    for_each_(program_.units.size(), [&](std::size_t u) {
      for (const Function& f : program_.units[u].functions)
        if (isLive(f)) sitesOf(f, static_cast<int>(u), found[u]);
    });
    for (const SchemaObject& o : live_.objects) schemaObject(o, found.back());
    std::vector<LockSite> sites;
    for (Found& f : found) {
      std::move(f.sites.begin(), f.sites.end(), std::back_inserter(sites));
      std::move(f.pg_locks.begin(), f.pg_locks.end(), std::back_inserter(program_.pg_locks));
      if (!f.wrappers.empty()) wrapper_groups_.push_back({wrappers_.size(), wrappers_.size() + f.wrappers.size()});
      std::move(f.wrappers.begin(), f.wrappers.end(), std::back_inserter(wrappers_));
      f = {};
    }
    std::stable_sort(sites.begin(), sites.end(), inOrder);
    std::move(sites.begin(), sites.end(), std::back_inserter(program_.sites));
    addWrapperSites();
  }

 private:
  struct PendingWrapper {
    LockSite site;
    QueryLevels levels;
  };

  // What one unit holds.
  struct Found {
    std::vector<LockSite> sites;
    std::vector<PgLocksRead> pg_locks;
    std::vector<PendingWrapper> wrappers;
    NamesOfFunctions names;
  };

  bool isLive(const Function& f) const {
    const bool definition = f.kind == FunctionKind::Routine || f.kind == FunctionKind::Procedure;
    return !definition || live_.routines.count(&f) > 0;
  }

  ValueScope scope(const LockSite& s, const QueryLevels& levels, NamesOfFunctions& names, const List<Value>* arguments = nullptr) const {
    ValueScope v;
    v.catalogue = &program_.catalogue;
    v.unit = s.unit, v.function = s.function, v.statement = s.statement;
    v.levels = levels, v.arguments = arguments;
    v.names = &names;
    return v;
  }

  // Direct sites of one function; calls of locking routines are noted for later, when all direct sites are known.
  void sitesOf(const Function& f, int unit, Found& found) const {
    std::map<const Expr*, std::vector<CallEvaluation>> evaluations;
    for (CallEvaluation& e : evaluate(f, program_.catalogue, Unexecuted::AsIfExecuted)) evaluations[e.call].push_back(std::move(e));
    forEachStatement(f, [&](const Statement& s) {
      struct V {
        const Linker& linker;
        const Function& f;
        const Statement& s;
        int unit;
        Found& found;
        std::map<const Expr*, std::vector<CallEvaluation>>& evaluations;
        void onExpr(const Expr& e, const QueryLevels& levels) { linker.expression(e, levels, f, s, unit, evaluations, found); }
        void onFrom(const FromItem& item, const QueryLevels& levels) { linker.pgLocks(item, levels, &f, &s, unit, found); }
      } v{*this, f, s, unit, found, evaluations};
      QueryWalker<V>(v).statement(s);
    });
  }

  void expression(const Expr& e, const QueryLevels& levels, const Function& f, const Statement& s, int unit,
                  std::map<const Expr*, std::vector<CallEvaluation>>& evaluations, Found& found) const {
    if (e.kind != ExprKind::Call) return;
    LockSite site;
    site.unit = unit, site.function = &f, site.statement = &s, site.call = &e;
    site.level = levels.empty() ? nullptr : levels.front();
    site.live = f.kind != FunctionKind::DownScript && !program_.units[static_cast<std::size_t>(unit)].runner.down;
    if (const auto it = evaluations.find(&e); it != evaluations.end()) site.evaluations = it->second;
    addSite(std::move(site), levels, found);
  }

  void addSite(LockSite site, const QueryLevels& levels, Found& found) const {
    site.lock = builtinLock(*site.call);
    if (site.lock) {
      site.key = resolveKey(*site.call, scope(site, levels, found.names));
      found.sites.push_back(std::move(site));
      return;
    }
    const Routine* r = program_.catalogue.routine(site.call->qualifier, site.call->name, site.call->args.size());
    if (!r || !r->locks) return;
    site.routine = r;
    found.wrappers.push_back({std::move(site), levels});
  }

  void pgLocks(const FromItem& item, const QueryLevels& levels, const Function* f, const Statement* s, int unit, Found& found) const {
    if (item.kind != FromKind::Relation || item.name != "pg_locks" || (!item.schema.empty() && item.schema != "pg_catalog")) return;
    found.pg_locks.push_back({unit, f, s, levels.empty() ? nullptr : levels.front(), &item});
  }

  // Views, policies, checks, defaults, indexes and trigger conditions.
  void schemaObject(const SchemaObject& o, Found& found) const {
    const Ddl& d = *o.ddl;
    std::string what;
    switch (d.kind) {
      case DdlKind::CreateView: what = d.materialized ? "materialized view" : "view"; break;
      case DdlKind::CreatePolicy:
      case DdlKind::AlterPolicy: what = "policy"; break;
      case DdlKind::CreateIndex: what = "index"; break;
      case DdlKind::CreateTrigger: what = "trigger condition"; break;
      case DdlKind::CreateDomain: what = "domain check"; break;
      case DdlKind::CreateRule: what = "rule"; break;
      case DdlKind::Other: what = !d.options.empty() && d.options[0] == "statistics" ? "statistics object" : "domain check"; break;
      default: what = "check constraint"; break;
    }
    for (const Query& q : d.query) object(o, what, q, found);
    for (const Expr& e : d.exprs) object(o, what, e, found);
    for (const ColumnDefinition& c : d.columns) column(o, c, found);
    for (const AlterAction& a : d.actions) {
      column(o, a.column, found);
      for (const Expr& e : a.checks) object(o, "check constraint", e, found);
    }
  }

  void column(const SchemaObject& o, const ColumnDefinition& c, Found& found) const {
    for (const Expr& e : c.default_value) object(o, c.generated ? "generated column" : "column default", e, found);
    for (const Expr& e : c.checks) object(o, "check constraint", e, found);
  }

  struct ObjectVisitor {
    const Linker& linker;
    const SchemaObject& object;
    const std::string& what;
    Found& found;
    void onExpr(const Expr& e, const QueryLevels& levels) {
      if (e.kind != ExprKind::Call) return;
      LockSite site;
      site.unit = object.unit, site.host = SiteHost::SchemaObject, site.host_ddl = object.ddl, site.host_what = what, site.call = &e;
      site.level = levels.empty() ? nullptr : levels.front();
      linker.addSite(std::move(site), levels, found);
    }
    void onFrom(const FromItem& item, const QueryLevels& levels) {
      linker.pgLocks(item, levels, nullptr, nullptr, object.unit, found);
    }
  };

  void object(const SchemaObject& o, const std::string& what, const Query& q, Found& found) const {
    ObjectVisitor v{*this, o, what, found};
    QueryWalker<ObjectVisitor>(v).query(q);
  }
  void object(const SchemaObject& o, const std::string& what, const Expr& e, Found& found) const {
    ObjectVisitor v{*this, o, what, found};
    QueryWalker<ObjectVisitor>(v).expr(e);
  }

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
      body.catalogue = &program_.catalogue, body.unit = r.unit, body.function = r.function, body.names = caller.names;
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
  struct InnerLocks {
    NamesOfFunctions& names;
    std::vector<std::pair<const LockSite*, LockKey>> found;
    int calls = 0;
    bool full() const { return found.size() >= kMaxInnerSites || calls >= kMaxInnerCalls; }
  };
  void innerLocks(const Routine& r, const List<Value>& arguments, int depth, InnerLocks& out) const {
    ++out.calls;
    if (depth > kMaxWrapperDepth) return;
    if (const auto it = direct_.find(r.function); it != direct_.end())
      for (const LockSite* s : it->second) {
        if (out.found.size() >= kMaxInnerSites) return;
        out.found.emplace_back(s, resolveKey(*s->call, scope(*s, levelsOf(*s), out.names, &arguments)));
      }
    const auto it = wrappers_in_.find(r.function);
    if (it == wrappers_in_.end()) return;
    for (const std::size_t i : it->second) {
      const PendingWrapper& w = wrappers_[i];
      if (w.site.routine == &r) continue;
      if (out.full()) return;
      innerLocks(*w.site.routine, argumentValues(*w.site.call, *w.site.routine, scope(w.site, w.levels, out.names, &arguments)), depth + 1, out);
    }
  }

  void wrapperSites(const PendingWrapper& w, NamesOfFunctions& names, std::vector<LockSite>& out) const {
    InnerLocks inner{names, {}, 0};
    innerLocks(*w.site.routine, argumentValues(*w.site.call, *w.site.routine, scope(w.site, w.levels, names)), 1, inner);
    for (auto& [site, key] : inner.found) {
      LockSite copy = w.site;
      copy.inner = site, copy.lock = site->lock, copy.key = std::move(key);
      out.push_back(std::move(copy));
    }
  }

  void addWrapperSites() {
    for (const LockSite& s : program_.sites)
      if (s.function) direct_[s.function].push_back(&s);
    for (std::size_t i = 0; i < wrappers_.size(); ++i) wrappers_in_[wrappers_[i].site.function].push_back(i);
    collectLevels();
    std::vector<std::vector<LockSite>> by_group(wrapper_groups_.size());
    for_each_(wrapper_groups_.size(), [&](std::size_t g) {
      NamesOfFunctions names;
      for (std::size_t i = wrapper_groups_[g].first; i < wrapper_groups_[g].second; ++i) wrapperSites(wrappers_[i], names, by_group[g]);
    });
    std::vector<LockSite> added;
    for (std::vector<LockSite>& group : by_group) std::move(group.begin(), group.end(), std::back_inserter(added));
    std::stable_sort(added.begin(), added.end(), inOrder);
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
  const ForEach& for_each_;
  LiveDefinitions live_;
  std::vector<PendingWrapper> wrappers_;
  std::vector<std::pair<std::size_t, std::size_t>> wrapper_groups_;   // of one unit each: [first, last) of wrappers_
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

Program link(std::vector<Unit> units, const ForEach& for_each) {
  std::sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.path() < b.path(); });
  Program program;
  for (Unit& u : units) program.units.push_back(std::move(u));
  Linker(program, for_each).run();
  program.locks = lockStates(program);
  return program;
}

}  // namespace pglocklint

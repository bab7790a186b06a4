#include "program/host_paths.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace pglocklint {
namespace {

constexpr int kMostAliases = 16;       // followed one after the other
constexpr std::size_t kLongestPath = 400;
constexpr std::size_t kMostAssigned = 200;  // of one function, its callees' among them

// Where the root ends and the fields begin: names of locals and globals have no dots, but "global a::b" and "local c 5:9" have blanks.
std::size_t rootEnd(std::string_view path) { return std::min(path.find('.'), path.size()); }

// The parameter that a path begins with.
std::optional<std::size_t> parameterIndex(std::string_view path) {
  constexpr std::string_view kParameter = "parameter ";
  if (!path.starts_with(kParameter)) return std::nullopt;
  std::size_t n = 0;
  for (const char c : path.substr(kParameter.size(), rootEnd(path) - kParameter.size())) {
    if (c < '0' || c > '9' || n > 1000) return std::nullopt;
    n = n * 10 + static_cast<std::size_t>(c - '0');
  }
  return n;
}

// A path of the callee in the words of the call.
std::string renamed(const std::string& path, const HostCall& call) {
  const std::size_t end = rootEnd(path);
  const std::string_view root = std::string_view(path).substr(0, end);
  std::string base;
  if (root == "this") base = call.connection;
  else if (root == "return") base = call.made;
  else if (root.starts_with("global ")) base = root;
  else if (const auto i = parameterIndex(path)) {
    if (*i < call.bind_paths.size()) base = call.bind_paths[*i];
    if (base.empty() && *i < call.outputs.size()) base = call.outputs[*i];
  }
  return base.empty() ? std::string() : base + path.substr(end);
}

// The value with the callee's parameters replaced by what the call gives them.
HostValue instantiated(HostValue v, const HostCall& call, int depth = 0) {
  if (v.kind == HostValueKind::Parameter) {
    const auto i = static_cast<std::size_t>(v.index);
    return v.index >= 0 && i < call.binds.size() ? call.binds[i] : HostValue{};
  }
  if (depth > 20) return {};
  for (HostValue& a : v.args) a = instantiated(std::move(a), call, depth + 1);
  return v;
}

// SELECT and the like; SQL that the function does not know (a wrapper's argument) is no statement of it.
bool readsOnly(const Statement& s) {
  if (!s.query.empty()) return s.query[0].kind == QueryKind::Select || s.query[0].kind == QueryKind::Values || s.query[0].kind == QueryKind::SetOperation;
  return s.kind == StatementKind::Unparsed && (s.head.starts_with("SELECT") || s.head.starts_with("SHOW") || s.head.starts_with("SET"));
}

// SELECT of lock calls and nothing else: it does not fail for reasons of data.
bool onlyLocks(const Statement& s) {
  if (s.kind != StatementKind::Query || s.query.size() != 1 || s.query[0].kind != QueryKind::Select || !s.query[0].from.empty()) return false;
  return std::all_of(s.query[0].targets.begin(), s.query[0].targets.end(),
                     [](const Target& t) { return t.expr.kind == ExprKind::Call && findLockFunction(t.expr.name); });
}

}  // namespace

bool isWithin(std::string_view path, std::string_view root) {
  return !root.empty() && path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '.');
}

HostPaths::HostPaths(const Program& program) {
  for (const Routine& r : program.catalogue.routines) {
    if (r.function->kind != FunctionKind::HostFunction || r.function->host.empty()) continue;
    by_name_.try_emplace(r.function->name, &r);
    units_[r.function] = r.unit;
  }
}

const Function* HostPaths::find(const std::string& name) const {
  const auto at = by_name_.find(name);
  return name.empty() || at == by_name_.end() ? nullptr : at->second->function;
}

std::vector<const Function*> HostPaths::targets(const HostCall& call) const {
  std::vector<const Function*> found;
  for (const std::string& name : call.targets)
    if (const Function* f = find(name)) found.push_back(f);
  if (const Function* f = call.targets.empty() ? find(call.name) : nullptr) found.push_back(f);
  return found;
}

int HostPaths::unitOf(const Function& f) const {
  const auto at = units_.find(&f);
  return at == units_.end() ? -1 : at->second;
}

const HostPaths::Targets& HostPaths::targetsOf(const Function& f) {
  const auto [at, fresh] = targets_.try_emplace(&f);
  if (!fresh) return at->second;  // of a cycle: what is known so far
  Targets targets;
  const auto add = [&](const std::string& path, Target target) {
    if (path.empty() || path == target.path || (target.path.empty() && target.value.kind == HostValueKind::Unknown)) return;
    const auto [own, first] = targets.try_emplace(path, target);
    if (!first && (own->second.path != target.path || !(own->second.value == target.value))) own->second.several = true;
  };
  for (const HostAlias& a : f.host[0].aliases) add(a.path, {a.target, a.value, false});
  for (const HostCall& call : f.host[0].calls) {
    if (call.kind != HostCallKind::Function) continue;
    const Function* callee = find(call.name);
    if (callee == nullptr || callee == &f) continue;
    std::vector<std::pair<std::string, Target>> carried;  // the map of the callee may move while others are made
    for (const auto& [path, target] : targetsOf(*callee))
      if (!target.several) carried.emplace_back(path, target);
    std::sort(carried.begin(), carried.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [path, target] : carried) {
      const std::string here = renamed(path, call);
      if (here.empty() || here.starts_with("global ")) continue;
      add(here, {renamed(canonical(*callee, target.path), call), instantiated(std::move(target.value), call), false});
    }
  }
  return targets_[&f] = std::move(targets);
}

std::string HostPaths::follow(std::string path, const Targets& targets) const {
  for (int i = 0; i < kMostAliases && path.size() < kLongestPath; ++i) {
    std::size_t end = path.size();
    const Target* found = nullptr;
    while (found == nullptr) {
      const auto at = targets.find(path.substr(0, end));
      if (at != targets.end() && !at->second.path.empty() && !at->second.several) found = &at->second;
      else if (end = path.rfind('.', end - 1); end == std::string::npos || end == 0) break;
    }
    if (found == nullptr) break;
    std::string next = found->path + path.substr(end);
    if (isWithin(next, path)) break;  // of itself
    path = std::move(next);
  }
  return path;
}

std::string HostPaths::canonical(const Function& f, std::string path) {
  return path.empty() ? path : follow(std::move(path), targetsOf(f));
}

std::string HostPaths::throughCall(const std::string& path, const Function& caller, std::int32_t call) const {
  return renamed(path, callOf(caller, call));
}

std::string HostPaths::inCaller(const std::string& path, const Function& caller, std::int32_t call) {
  return canonical(caller, renamed(path, callOf(caller, call)));
}

std::vector<std::string> HostPaths::assignedBy(const Function& caller, std::int32_t index) {
  const HostCall& call = callOf(caller, index);
  if (call.kind != HostCallKind::Function) return {};
  std::vector<std::string> assigned;
  if (const Function* callee = find(call.name)) {
    for (const std::string& path : assigns(*callee))
      if (std::string here = renamed(path, call); !here.empty()) assigned.push_back(std::move(here));
    return assigned;
  }
  if (!call.connection.empty()) assigned.push_back(call.connection);
  for (const std::vector<std::string>* paths : {&call.bind_paths, &call.outputs})
    for (const std::string& p : *paths)
      if (!p.empty()) assigned.push_back(p);
  return assigned;
}

const std::vector<std::string>& HostPaths::assigns(const Function& f) {
  const auto [at, fresh] = assigns_.try_emplace(&f);
  if (!fresh) return at->second;
  std::vector<std::string> assigned;
  for (const HostStep& s : f.host[0].steps)
    if (s.kind == HostStepKind::Assign && !isLocalPath(s.target)) assigned.push_back(s.target);
  for (std::size_t i = 0; i < f.host[0].calls.size() && assigned.size() < kMostAssigned; ++i)
    for (std::string& path : assignedBy(f, static_cast<std::int32_t>(i)))
      if (!isLocalPath(path)) assigned.push_back(std::move(path));
  std::sort(assigned.begin(), assigned.end());
  assigned.erase(std::unique(assigned.begin(), assigned.end()), assigned.end());
  return assigns_[&f] = std::move(assigned);
}

const HostValue* HostPaths::fieldValue(const Function& f, const std::string& path) {
  const Targets& targets = targetsOf(f);
  const auto at = targets.find(path);
  return at == targets.end() || at->second.several || at->second.value.kind == HostValueKind::Unknown ? nullptr : &at->second.value;
}

std::string HostPaths::runsOn(const Function& wrapper) {
  for (std::size_t i = 0; i < wrapper.host[0].calls.size(); ++i) {
    const HostCall& c = wrapper.host[0].calls[i];
    if (c.kind != HostCallKind::Execute || c.texts.empty()) continue;
    const bool given = std::any_of(c.holes.begin(), c.holes.end(), [](const HostValue& v) { return v.kind == HostValueKind::Parameter; });
    if (given) return canonical(wrapper, c.connection);
  }
  return {};
}

std::string HostPaths::sessionOf(const Function& f, std::int32_t index) {
  const HostCall& call = callOf(f, index);
  const std::string object = canonical(f, call.connection);
  if (call.kind != HostCallKind::Execute) return object;
  std::string session;
  for (const Function* wrapper : targets(call)) {
    const std::string inside = runsOn(*wrapper);
    if (inside.empty()) continue;
    std::string here = isLocalPath(inside) ? fmt::format("made {}:{}", call.range.line, call.range.column) : inCaller(inside, f, index);
    if (here.empty()) continue;
    if (!session.empty() && session != here) return object;  // overriders of different kinds
    session = std::move(here);
  }
  return session.empty() ? object : session;
}

bool HostPaths::sendsWork(const Function& f) {
  const auto [at, fresh] = works_.try_emplace(&f, false);
  if (!fresh) return at->second;
  bool works = false;
  for (const Block& b : f.blocks)
    for (const Event& e : b.events) {
      works |= e.kind == EventKind::HostCall && callOf(f, e.host_call).kind == HostCallKind::Execute;
      for (const Statement& s : e.statement) {
        if (s.host_call < 0) continue;
        if (s.kind == StatementKind::HostCall)
          for (const Function* callee : targets(callOf(f, s.host_call))) works |= sendsWork(*callee);
        else works |= !readsOnly(s);
      }
    }
  return works_[&f] = works;
}

bool HostPaths::mayThrow(const Function& f, std::int32_t index) {
  const HostCall& c = callOf(f, index);
  if (!c.throws || c.kind != HostCallKind::Function || c.name.empty()) return c.throws;
  if (const std::vector<const Function*> callees = targets(c); !callees.empty())
    return std::any_of(callees.begin(), callees.end(), [&](const Function* callee) { return mayThrow(*callee); });
  return !c.connection.empty() || std::any_of(c.bind_paths.begin(), c.bind_paths.end(), [](const std::string& p) { return !p.empty(); });
}

bool HostPaths::mayThrow(const Function& f) {
  const auto [at, fresh] = throws_.try_emplace(&f, false);
  if (!fresh) return at->second;
  bool throws = false;
  for (const Block& b : f.blocks) {
    if (b.unwind >= 0) continue;
    for (const Event& e : b.events) {
      throws |= !e.exit.empty() && e.exit[0].kind == ExitKind::Raise;
      for (const Statement& s : e.statement) throws |= s.host_call >= 0 && !onlyLocks(s) && mayThrow(f, s.host_call);
      const bool text = e.kind == EventKind::HostCall && callOf(f, e.host_call).kind == HostCallKind::Execute;
      throws |= (text || (e.ddl >= 0 && e.host_call >= 0)) && mayThrow(f, e.host_call);
    }
  }
  return throws_[&f] = throws;
}

}  // namespace pglocklint

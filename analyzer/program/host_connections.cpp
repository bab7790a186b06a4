#include "program/host_connections.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace pglocklint {
namespace {

constexpr std::size_t kMostPlaces = 200;  // functions looked at for one session

}  // namespace

HostConnections::HostConnections(const Program& program, HostPaths& paths) : paths_(paths) {
  for (const Routine& r : program.catalogue.routines) {
    if (r.function->kind != FunctionKind::HostFunction || r.function->host.empty()) continue;
    if (std::string scope = hostScope(r.function->name); !scope.empty()) of_class_[scope].push_back(r.function);
    const std::vector<HostCall>& calls = r.function->host[0].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Place place{r.function, static_cast<std::int32_t>(i)};
      if (calls[i].kind == HostCallKind::Connect) connects_[r.function].push_back(place);
      if (calls[i].kind == HostCallKind::Function && !calls[i].name.empty()) callers_[calls[i].name].push_back(place);
    }
  }
}

std::vector<HostConnection> HostConnections::of(const Function& function, const std::string& session) {
  std::vector<HostConnection> found;
  struct Look {
    const Function* function = nullptr;
    std::string path;
    bool inside = false;  // of a method of one object: not at what other objects of its class are given
  };
  std::vector<Look> work;
  std::set<std::tuple<const Function*, std::string, bool>> seen;
  const auto look = [&](const Function* f, std::string path, bool inside = false) {
    if (!path.empty() && seen.size() < kMostPlaces && seen.emplace(f, path, inside).second) work.push_back({f, std::move(path), inside});
  };
  const auto addOpened = [&](const std::vector<Place>& connects, const std::string& path) {
    for (const Place& p : connects) {
      const HostCall& c = p.function->host[0].calls[static_cast<std::size_t>(p.call)];
      if (sameSession(paths_.canonical(*p.function, c.connection), path)) found.push_back({paths_.unitOf(*p.function), &c});
    }
  };
  const auto addOpenedIn = [&](const Function* f, const std::string& path) {
    if (const auto connects = connects_.find(f); connects != connects_.end()) addOpened(connects->second, path);
  };
  look(&function, session);
  while (!work.empty()) {
    const auto [f, path, inside] = std::move(work.back());
    work.pop_back();
    if (path.starts_with("global ")) {
      for (const auto& [function, connects] : connects_) addOpened(connects, path);
      continue;
    }
    addOpenedIn(f, path);
    for (const HostCall& c : f->host[0].calls) {
      if (c.kind != HostCallKind::Function) continue;
      const Function* callee = paths_.find(c.name);
      if (callee == nullptr) continue;
      // A function that opens it and gives it back; a constructor or method of the object that it is in.
      if (isWithin(path, c.made)) look(callee, paths_.canonical(*callee, "return" + path.substr(c.made.size())));
      if (isLocalPath(c.connection) && isWithin(path, c.connection) && path != c.connection) look(callee, "this" + path.substr(c.connection.size()), true);
    }
    if (isLocalPath(path) || inside) continue;
    if (isWithin(path, "this"))  // its class's other methods: a constructor may have opened it, or got it from its caller
      if (const auto methods = of_class_.find(hostScope(f->name)); methods != of_class_.end())
        for (const Function* m : methods->second) {
          addOpenedIn(m, path);
          if (std::string from = paths_.canonical(*m, path); from != path) look(m, std::move(from));
        }
    if (const auto callers = callers_.find(f->name); callers != callers_.end())
      for (const Place& p : callers->second) look(p.function, paths_.inCaller(path, *p.function, p.call));
  }
  std::sort(found.begin(), found.end(), [](const HostConnection& a, const HostConnection& b) {
    return std::pair(a.unit, a.call->range.begin) < std::pair(b.unit, b.call->range.begin);
  });
  found.erase(std::unique(found.begin(), found.end(), [](const HostConnection& a, const HostConnection& b) { return a.call == b.call; }),
              found.end());
  return found;
}

std::string HostConnections::textOf(const HostCall& connect) {
  if (connect.texts.empty()) return {};
  std::string text;
  for (const HostPiece& p : connect.texts[0].pieces) text += p.hole >= 0 ? "${" + std::to_string(p.hole) + "}" : p.text;
  return text;
}

}  // namespace pglocklint

// Objects of host functions over the call graph: which object a path leads to, and on which session a call runs its statements.
//
// A constructor that keeps its argument (conn_(c)) makes two paths of one object, and a call carries this over to its caller: after
// Guard g(db, 7), "local g.conn_" is what "parameter 0" was, and its destructor runs on that session. Aliases are flow-insensitive: a
// member that is bound to different objects at different times has no single target, and then none is followed.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/program.h"

namespace pglocklint {

// Grammar of paths: see model/host.h. Whether `path` is `root` or a field of it.
bool isWithin(std::string_view path, std::string_view root);
// One is the other or a field of it: a wrapper and its handle are one session.
inline bool sameSession(std::string_view a, std::string_view b) { return isWithin(a, b) || isWithin(b, a); }
// It is made in the function itself, and nobody else has it.
inline bool isLocalPath(std::string_view path) { return path.starts_with("local ") || path.starts_with("made "); }

// "ns::Class" of "ns::Class::lock(PGconn *, int)"; empty for what has no scope.
inline std::string hostScope(const std::string& name) {
  const std::string display = hostDisplayName(name);
  const std::size_t at = display.rfind("::");
  return at == std::string::npos ? std::string() : display.substr(0, at);
}

// A special member function of a class of the host program.
inline bool isHostConstructor(const Function& f) { return f.kind == FunctionKind::HostFunction && hostDisplayName(f.name).ends_with(std::string("::") + kHostConstructor); }
inline bool isHostDestructor(const Function& f) { return f.kind == FunctionKind::HostFunction && hostDisplayName(f.name).ends_with(std::string("::") + kHostDestructor); }

class HostPaths {
 public:
  explicit HostPaths(const Program& program);

  // The definition of a host function by its name with signature, or null.
  const Function* find(const std::string& name) const;
  // What a call may run, as far as that is seen: one function, or the overriders of a virtual one that are not told apart.
  std::vector<const Function*> targets(const HostCall& call) const;
  int unitOf(const Function& f) const;

  // `path` of `f` with aliases followed to where they come from.
  std::string canonical(const Function& f, std::string path);
  // The session that a call of `f` runs on, canonical; "" if not known. Where a function of the program takes a session for itself (a
  // pool's checkout) and runs the text that it is given, each call has a session of its own: "made L:C".
  std::string sessionOf(const Function& f, std::int32_t call);
  // A path of the callee in the words of the caller of this call; "" for what only the callee has. inCaller: canonical.
  std::string throughCall(const std::string& path, const Function& caller, std::int32_t call) const;
  std::string inCaller(const std::string& path, const Function& caller, std::int32_t call);
  // Booleans, optionals and handles that a call may assign, in the words of the caller: what the callee's steps name, or all that an
  // unknown callee gets.
  std::vector<std::string> assignedBy(const Function& caller, std::int32_t call);
  // What a field was set to, as far as one value is known: "local g 5:9.id_"; null otherwise.
  const HostValue* fieldValue(const Function& f, const std::string& path);
  // A call can raise an exception, as far as its target is known: database calls that throw, functions of the program that let an
  // exception out, targets that are not known and get a session or code to run. What else is declared elsewhere does not, by decision;
  // nor does a function that only takes or releases locks.
  bool mayThrow(const Function& f, std::int32_t call);
  // It sends something else than lock calls, itself or through its callees.
  bool sendsWork(const Function& f);
  // An exception can leave the function.
  bool mayThrow(const Function& f);

 private:
  struct Target {
    std::string path;
    HostValue value;
    bool several = false;
  };
  using Targets = std::unordered_map<std::string, Target>;

  const HostCall& callOf(const Function& f, std::int32_t call) const { return f.host[0].calls[static_cast<std::size_t>(call)]; }
  const Targets& targetsOf(const Function& f);
  std::string follow(std::string path, const Targets& targets) const;
  // Of the text that a wrapper runs: its own session in its own words, "" if it runs none.
  std::string runsOn(const Function& wrapper);

  std::unordered_map<std::string_view, const Routine*> by_name_;
  std::unordered_map<const Function*, int> units_;
  std::unordered_map<const Function*, Targets> targets_;
  const std::vector<std::string>& assigns(const Function& f);

  std::unordered_map<const Function*, bool> throws_, works_;
  std::unordered_map<const Function*, std::vector<std::string>> assigns_;
};

}  // namespace pglocklint

// Where the sessions of host functions come from: the calls that open them, through constructors, members and callers.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/host_paths.h"

namespace pglocklint {

struct HostConnection {
  int unit = -1;
  const HostCall* call = nullptr;  // of kind Connect
};

class HostConnections {
 public:
  HostConnections(const Program& program, HostPaths& paths);

  // The calls that may have opened a session of `f`, in order of unit and place; empty if none is seen.
  std::vector<HostConnection> of(const Function& f, const std::string& session);

  // The connection string of a Connect call, as far as it is written: what is not a constant stands as "${…}". Empty: none is given.
  static std::string textOf(const HostCall& connect);

 private:
  struct Place {  // a call in a function
    const Function* function = nullptr;
    std::int32_t call = -1;
  };

  HostPaths& paths_;
  std::unordered_map<std::string, std::vector<Place>> callers_;                // by the callee's name
  std::unordered_map<std::string, std::vector<const Function*>> of_class_;     // methods, by the class's qualified name
  std::unordered_map<const Function*, std::vector<Place>> connects_;
};

}  // namespace pglocklint

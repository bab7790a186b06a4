#include "sql/extern_constants.h"

#include <algorithm>
#include <map>
#include <string>

namespace pglocklint::sql {
namespace {

const std::string kGlobal = "global ";

struct Definition {
  const Unit* unit = nullptr;
  const HostValue* value = nullptr;
  bool several = false;
};

class Constants {
 public:
  explicit Constants(const std::vector<Unit>& units) {
    for (const Unit& u : units)
      for (const Function& f : u.functions)
        for (const HostCode& h : f.host)
          for (const HostAlias& a : h.aliases) {
            if (!a.path.starts_with(kGlobal) || a.value.constant.empty() || a.path != kGlobal + a.value.constant) continue;
            Definition& d = found_.try_emplace(a.path, Definition{&u, &a.value, false}).first->second;
            d.several |= d.value->text != a.value.text || d.unit->files[d.value->defined.file] != u.files[a.value.defined.file];
          }
  }
  bool empty() const { return found_.empty(); }

  void replace(HostValue& v, Unit& unit) const {
    for (HostValue& a : v.args) replace(a, unit);
    if (v.kind != HostValueKind::Global || v.constant.empty()) return;
    const auto at = found_.find(kGlobal + v.name);
    if (at == found_.end() || at->second.several) return;
    HostValue constant = *at->second.value;
    constant.range = v.range, constant.args.clear();
    constant.defined.file = fileOf(at->second.unit->files[constant.defined.file], unit);
    v = std::move(constant);
  }

 private:
  static std::uint32_t fileOf(const std::string& path, Unit& unit) {
    const auto at = std::ranges::find(unit.files, path);
    const auto index = static_cast<std::uint32_t>(at - unit.files.begin());
    if (at == unit.files.end()) unit.files.push_back(path);
    return index;
  }

  std::map<std::string, Definition> found_;
};

}  // namespace

void linkConstants(std::vector<Unit>& units) {
  const Constants constants(units);
  if (constants.empty()) return;
  for (Unit& u : units)
    for (Function& f : u.functions)
      for (HostCode& h : f.host) {
        for (HostCall& c : h.calls) {
          for (HostValue& v : c.binds) constants.replace(v, u);
          for (HostValue& v : c.holes) constants.replace(v, u);
        }
        for (HostAlias& a : h.aliases) constants.replace(a.value, u);
      }
}

}  // namespace pglocklint::sql

#include "sql/host_instances.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace pglocklint::sql {
namespace {

constexpr std::size_t kMostInstances = 2000;

using Decided = std::map<std::int32_t, std::int64_t>;  // parameters and what they are

const HostValue* argument(const HostCall& c, std::int32_t parameter) {
  const auto i = static_cast<std::size_t>(parameter);
  return parameter >= 0 && i < c.binds.size() ? &unconverted(c.binds[i]) : nullptr;
}

std::optional<std::int64_t> number(const HostValue* v, const Decided& decided) {
  if (!v) return std::nullopt;
  if (const auto n = integerOf(*v)) return n;
  const auto known = v->kind == HostValueKind::Parameter ? decided.find(v->index) : decided.end();
  return known == decided.end() ? std::nullopt : std::optional(known->second);
}

class Instances {
 public:
  explicit Instances(std::vector<Unit>& units) : units_(units) {
    for (std::size_t u = 0; u < units.size(); ++u)
      for (std::size_t f = 0; f < units[u].functions.size(); ++f) {
        const Function& function = units[u].functions[f];
        if (!function.host.empty()) at_.try_emplace(function.name, Place{u, f});
      }
  }

  void run() {
    findDeciding();
    if (deciding_.empty()) return;
    for (Unit& u : units_) {
      const std::size_t written = u.functions.size();
      for (std::size_t f = 0; f < written; ++f)
        for (HostCode& code : u.functions[f].host) redirect(code, {});
    }
    for (auto& [unit, function] : made_) units_[unit].functions.push_back(std::move(function));
    for (Unit& u : units_)
      for (Function& f : u.functions)
        for (HostCode& code : f.host)
          for (HostCall& c : code.calls) dropUndecided(u, f, c);
  }

 private:
  struct Place {
    std::size_t unit = 0, function = 0;
  };

  // The parameters that decide: those that a text names, and those that are handed on to one.
  void findDeciding() {
    const auto eachCall = [&](const auto& f) {
      for (const auto& [name, place] : at_)
        for (const HostCode& code : units_[place.unit].functions[place.function].host)
          for (const HostCall& c : code.calls) f(name, c);
    };
    eachCall([&](const std::string& name, const HostCall& c) {
      for (const HostText& t : c.texts)
        for (const HostWhen& w : t.when) deciding_[name].insert(w.parameter);
    });
    if (deciding_.empty()) return;
    for (bool grown = true; grown;) {
      grown = false;
      eachCall([&](const std::string& name, const HostCall& c) {
        const auto theirs = c.kind == HostCallKind::Function ? deciding_.find(c.name) : deciding_.end();
        if (theirs == deciding_.end()) return;
        for (const std::int32_t parameter : std::set<std::int32_t>(theirs->second))
          if (const HostValue* v = argument(c, parameter); v && v->kind == HostValueKind::Parameter) grown |= deciding_[name].insert(v->index).second;
      });
    }
  }

  // Calls of such functions become calls of their instances; texts that are not sent are taken out.
  void redirect(HostCode& code, const Decided& decided) {
    for (HostCall& c : code.calls) {
      std::erase_if(c.texts, [&](HostText& t) {
        bool never = false;
        std::erase_if(t.when, [&](const HostWhen& w) {
          const auto known = decided.find(w.parameter);
          if (known == decided.end()) return false;
          never |= std::ranges::find(w.values, known->second) == w.values.end();
          return true;
        });
        return never;
      });
      if (c.kind != HostCallKind::Function) continue;
      const auto theirs = deciding_.find(c.name);
      if (theirs == deciding_.end()) continue;
      Decided given;
      for (const std::int32_t parameter : theirs->second)
        if (const auto n = number(argument(c, parameter), decided)) given[parameter] = *n;
      if (!given.empty()) c.name = instance(c.name, given);
    }
  }

  std::string instance(const std::string& name, const Decided& given) {
    std::string id = name + " with";
    for (const auto& [parameter, value] : given) id += " " + std::to_string(parameter) + " = " + std::to_string(value);
    if (names_.contains(id)) return id;
    if (names_.size() == kMostInstances) return name;
    names_.insert(id);
    called_.insert(name);
    const Place& place = at_.at(name);
    Function copy = units_[place.unit].functions[place.function];
    copy.name = id;
    for (HostCode& code : copy.host) redirect(code, given);
    made_.emplace_back(place.unit, std::move(copy));
    return id;
  }

  void dropUndecided(Unit& u, const Function& f, HostCall& c) const {
    const bool undecided = std::ranges::any_of(c.texts, [](const HostText& t) { return !t.when.empty(); });
    if (!undecided) return;
    c.texts.clear();
    if (!called_.contains(f.name)) u.not_understood.push_back({c.range, "C++: which kind of lock this is, is said by callers that are not followed", true});
  }

  std::vector<Unit>& units_;
  std::map<std::string, Place> at_;
  std::map<std::string, std::set<std::int32_t>> deciding_;
  std::set<std::string> names_, called_;
  std::vector<std::pair<std::size_t, Function>> made_;
};

}  // namespace

void instantiate(std::vector<Unit>& units) { Instances(units).run(); }

}  // namespace pglocklint::sql

#include "program/catalogue.h"

namespace pglocklint {

namespace {

// Unqualified names live on the search path, whose usual head is "public".
bool sameSchema(std::string_view a, std::string_view b) {
  if (a == "public") a = "";
  if (b == "public") b = "";
  return a == b;
}

std::size_t requiredArguments(const Function& f) {
  std::size_t n = 0;
  for (const Parameter& p : f.parameters)
    if ((p.mode == ParameterMode::In || p.mode == ParameterMode::InOut) && p.default_value.empty()) ++n;
  return n;
}

// How many arguments a call may have.
struct Arity {
  std::size_t least = 0, most = 0;
  bool variadic = false;  // or any number more
  bool accepts(std::size_t args) const { return least <= args && (variadic || args <= most); }
};

Arity arityOf(const Function& f) {
  Arity a;
  a.least = requiredArguments(f);
  for (const Parameter& p : f.parameters) {
    if (p.mode == ParameterMode::Variadic) a.variadic = true;
    if (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut) ++a.most;
  }
  return a;
}

// Overloads of one arity: which one is meant depends on types; alike in all that matters they may stand for each other.
bool alike(const Routine& a, const Routine& b) { return a.volatility == b.volatility && a.locks == b.locks && a.strict == b.strict; }

// Beyond that many overloads of one name a call is looked up instead of trying each.
constexpr std::size_t kManyOverloads = 8;
constexpr std::size_t kMostArguments = 100;  // FUNC_MAX_ARGS: PostgreSQL takes no more
constexpr std::string_view kAnySchema = "*";  // in the index: the call names none

}  // namespace

const Relation* Catalogue::relation(std::string_view schema, std::string_view name) const {
  const Relation* found = nullptr;
  for (auto it = std::lower_bound(by_name_relations.begin(), by_name_relations.end(), name,
                                  [&](std::uint32_t i, std::string_view n) { return relations[i].name < n; });
       it != by_name_relations.end() && relations[*it].name == name; ++it) {
    const Relation& r = relations[*it];
    if (sameSchema(r.schema, schema)) return &r;
    if (!schema.empty()) continue;
    if (found) return nullptr;  // in several schemas: cannot tell
    found = &r;
  }
  return found;
}

const Routine* Catalogue::routine(std::string_view schema, std::string_view name, std::size_t args) const {
  if (!widest_.empty()) {
    if (const auto many = widest_.find(name); many != widest_.end()) {
      const std::string_view in = schema.empty() ? kAnySchema : schema == "public" ? "" : schema;
      const auto meant = meant_.find({name, std::min(args, many->second + 1), in});
      return meant == meant_.end() || meant->second < 0 ? nullptr : &routines[static_cast<std::size_t>(meant->second)];
    }
  }
  const Routine* found = nullptr;
  for (auto it = std::lower_bound(by_name_routines.begin(), by_name_routines.end(), name,
                                  [&](std::uint32_t i, std::string_view n) { return routines[i].function->name < n; });
       it != by_name_routines.end() && routines[*it].function->name == name; ++it) {
    const Routine& r = routines[*it];
    if (!schema.empty() && !sameSchema(r.function->schema, schema)) continue;
    if (!arityOf(*r.function).accepts(args)) continue;
    if (found && !alike(*found, r)) return nullptr;
    if (!found || sameSchema(r.function->schema, schema)) found = &r;
  }
  return found;
}

void Catalogue::index() {
  const auto fill = [](std::vector<std::uint32_t>& order, std::size_t n, auto name) {
    order.resize(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return name(a) < name(b); });
  };
  fill(by_name_relations, relations.size(), [this](std::uint32_t i) -> std::string_view { return relations[i].name; });
  fill(by_name_routines, routines.size(), [this](std::uint32_t i) -> std::string_view { return routines[i].function->name; });
  indexOverloads();
}

void Catalogue::indexOverloads() {
  widest_.clear(), meant_.clear();
  for (std::size_t first = 0, last = 0; first < by_name_routines.size(); first = last) {
    const std::string_view name = routines[by_name_routines[first]].function->name;
    while (last < by_name_routines.size() && routines[by_name_routines[last]].function->name == name) ++last;
    if (last - first <= kManyOverloads) continue;
    std::size_t& widest = widest_[name];
    for (std::size_t i = first; i < last; ++i) widest = std::max(widest, arityOf(*routines[by_name_routines[i]].function).most);
    widest = std::min(widest, kMostArguments);
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t number = by_name_routines[i];
      const Routine& r = routines[number];
      const std::string_view own = sameSchema(r.function->schema, "") ? "" : std::string_view(r.function->schema);
      const Arity arity = arityOf(*r.function);
      for (std::size_t args = arity.least; args <= (arity.variadic ? widest + 1 : std::min(arity.most, widest)); ++args)
        for (const std::string_view schema : {kAnySchema, own}) {
          const auto [at, fresh] = meant_.try_emplace({name, args, schema}, number);
          if (fresh || at->second < 0) continue;
          if (!alike(routines[static_cast<std::size_t>(at->second)], r)) at->second = -1;
          else if (schema != kAnySchema || own.empty()) at->second = number;
        }
    }
  }
}

}  // namespace pglocklint

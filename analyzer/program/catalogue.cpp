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

bool accepts(const Function& f, std::size_t args) {
  std::size_t most = 0;
  for (const Parameter& p : f.parameters) {
    if (p.mode == ParameterMode::Variadic) return args >= requiredArguments(f);
    if (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut) ++most;
  }
  return requiredArguments(f) <= args && args <= most;
}

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
  const Routine* found = nullptr;
  for (auto it = std::lower_bound(by_name_routines.begin(), by_name_routines.end(), name,
                                  [&](std::uint32_t i, std::string_view n) { return routines[i].function->name < n; });
       it != by_name_routines.end() && routines[*it].function->name == name; ++it) {
    const Routine& r = routines[*it];
    if (!schema.empty() && !sameSchema(r.function->schema, schema)) continue;
    if (!accepts(*r.function, args)) continue;
    // Overloads of one arity: which one is meant depends on types; alike in all that matters they may stand for each other.
    if (found && (found->volatility != r.volatility || found->locks != r.locks || found->strict != r.strict)) return nullptr;
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
}

}  // namespace pglocklint

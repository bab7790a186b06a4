// Migrations are history: what counts is what stands at the end. Each history is replayed statement by statement into a table of
// objects; then the tables of all histories together make the catalogue. Two histories that define the same name
// (a migration and the same function in a hand-kept file) both stay: no order between them is known.
#include "program/live.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

namespace pglocklint {

namespace {

std::string schemaKey(const std::string& schema) { return schema == "public" ? "" : schema; }

using NameKey = std::pair<std::string, std::string>;  // schema, name
NameKey nameKey(const std::string& schema, const std::string& name) { return {schemaKey(schema), name}; }

std::vector<std::string> signature(const Function& f) {
  std::vector<std::string> types;
  for (const Parameter& p : f.parameters)
    if (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Variadic) types.push_back(p.type);
  return types;
}

struct LiveRoutine {
  int unit = -1;
  const Ddl* ddl = nullptr;  // null: replaced or dropped since
  Routine routine;
  NameKey key;
  std::vector<std::string> types;  // of its input parameters
};

struct LiveRelation {
  Relation relation;
  const Ddl* ddl = nullptr;
  bool row_security = false;
};

// Where \i and \ir stand (unit, offset) and which unit they bring in.
using Includes = std::map<std::pair<int, std::uint32_t>, int>;

bool isSerial(const std::string& type) { return type.find("serial") != std::string::npos; }

std::string storedType(const std::string& type) {
  if (type == "bigserial" || type == "serial8") return "bigint";
  if (type == "serial" || type == "serial4") return "integer";
  if (type == "smallserial" || type == "serial2") return "smallint";
  return type;
}

Column columnOf(const ColumnDefinition& d) {
  return {d.name, storedType(d.type), d.not_null || d.primary_key || d.identity || isSerial(d.type)};
}

// One history's objects while its statements are replayed.
class History {
 public:
  History(const std::deque<Unit>& units, const Includes& includes) : units_(units), includes_(includes) {}

  // The definitions of a unit in file order; a file that it includes comes in where the \i stands.
  void replay(int unit_index) {
    const Unit& unit = units_[static_cast<std::size_t>(unit_index)];
    if (unit.runner.down || !replayed.insert(unit_index).second) return;
    auto include = includes_.lower_bound({unit_index, 0});
    const auto includesBefore = [&](std::uint32_t offset) {
      for (; include != includes_.end() && include->first.first == unit_index && include->first.second < offset; ++include)
        replay(include->second);
    };
    for (const Ddl& d : unit.ddl) {
      includesBefore(d.range.begin);
      if (!d.down) apply(d, unit_index);
    }
    includesBefore(UINT32_MAX);
    finished[unit_index] = static_cast<int>(finished.size());
  }

  std::vector<LiveRoutine> routines;  // in order of definition, the dead among them
  std::map<std::string, double, std::less<>> builtin_costs;
  std::map<NameKey, LiveRelation> relations;
  std::map<std::pair<NameKey, std::string>, SchemaObject> triggers, policies, rules;
  std::map<const Ddl*, int> trigger_position;  // how many units had come to their end when it was created
  std::set<const Ddl*> disabled_triggers;
  std::map<int, int> finished;       // units, numbered as they come to their end
  std::vector<SchemaObject> others;  // indexes, domains, further ALTER TABLE checks; without a definition: dropped since
  std::uint64_t superseded = 0;
  std::set<int> replayed;            // units

 private:
  void apply(const Ddl& d, int unit) {
    switch (d.kind) {
      case DdlKind::CreateFunction: createFunction(d, unit); break;
      case DdlKind::AlterFunction: alterFunction(d); break;
      case DdlKind::DropFunction: dropFunction(d); break;
      case DdlKind::RenameFunction: renameFunction(d); break;
      case DdlKind::CreateTable: createTable(d, unit); break;
      case DdlKind::AlterTable: alterTable(d, unit); break;
      case DdlKind::CreateView: createView(d, unit); break;
      case DdlKind::CreateIndex: createIndex(d, unit); break;
      case DdlKind::CreateTrigger:
        replaceObject(triggers, d, unit);
        trigger_position[&d] = static_cast<int>(finished.size());
        break;
      case DdlKind::CreatePolicy: replaceObject(policies, d, unit); break;
      case DdlKind::AlterPolicy:
        if (!d.exprs.empty()) replaceObject(policies, d, unit);
        break;
      case DdlKind::DropTrigger: superseded += triggers.erase({nameKey(d.relation_schema, d.relation), d.name}); break;
      case DdlKind::DropPolicy: superseded += policies.erase({nameKey(d.relation_schema, d.relation), d.name}); break;
      case DdlKind::DropRelation: dropRelation(d); break;
      case DdlKind::RenameRelation: renameRelation(d); break;
      case DdlKind::CreateDomain: others.push_back({unit, &d}); break;
      case DdlKind::CreateRule: replaceObject(rules, d, unit); break;
      case DdlKind::Other:
        if (!d.exprs.empty()) others.push_back({unit, &d});  // a check of ALTER DOMAIN, extended statistics
        if (!d.options.empty() && d.options[0] == "drop rule") superseded += rules.erase({nameKey(d.relation_schema, d.relation), d.name});
        break;
      case DdlKind::SetSearchPath: break;
    }
  }

  void createFunction(const Ddl& d, int unit) {
    if (d.function < 0) return;
    const Function& f = units_[static_cast<std::size_t>(unit)].functions[static_cast<std::size_t>(d.function)];
    const NameKey key = nameKey(f.schema, f.name);
    std::vector<std::string> types = signature(f);
    eraseRoutines(f.name, [&](const LiveRoutine& r) { return r.key == key && r.types == types; });
    LiveRoutine r;
    r.unit = unit, r.ddl = &d, r.key = key, r.types = std::move(types);
    r.routine.function = &f, r.routine.unit = unit;
    r.routine.volatility = f.volatility, r.routine.strict = f.strict, r.routine.returns_set = f.returns_set;
    r.routine.language = f.language;
    r.routine.cost = f.cost >= 0 ? f.cost : (f.language == "c" || f.language == "internal") ? 1 : 100;
    r.routine.body_known = !f.blocks.empty() && f.body_understood;
    r.routine.inline_body = singleSelect(f);
    routines_named_[f.name].push_back(routines.size());
    routines.push_back(std::move(r));
  }

  // Of the live routines with this name, those that `dead` holds for are no more.
  template <class Predicate>
  void eraseRoutines(const std::string& name, Predicate dead) {
    const auto named = routines_named_.find(name);
    if (named == routines_named_.end()) return;
    superseded += std::erase_if(named->second, [&](std::size_t i) {
      const bool gone = dead(routines[i]);
      if (gone) routines[i].ddl = nullptr;
      return gone;
    });
  }

  // LANGUAGE sql with just one statement, a SELECT: PostgreSQL may inline it.
  static const Query* singleSelect(const Function& f) {
    if (f.language != "sql" || f.kind != FunctionKind::Routine || f.blocks.size() != 1) return nullptr;
    const auto& events = f.blocks.front().events;
    if (events.size() != 1 || events.front().kind != EventKind::Statement) return nullptr;
    const Statement& s = events.front().statement.front();
    return s.kind == StatementKind::Query && s.query.size() == 1 && s.query.front().kind == QueryKind::Select ? &s.query.front()
                                                                                                            : nullptr;
  }

  bool matches(const LiveRoutine& r, const Ddl& d) const {
    if (r.key != nameKey(d.schema, d.name) && !(d.schema.empty() && r.key.second == d.name)) return false;
    return !d.has_argument_types || std::ranges::equal(r.types, d.argument_types);
  }

  void alterFunction(const Ddl& d) {
    for (const std::size_t i : routines_named_[d.name]) {
      LiveRoutine& r = routines[i];
      if (!matches(r, d)) continue;
      for (const std::string& o : d.options) {
        if (o == "volatile") r.routine.volatility = Volatility::Volatile;
        if (o == "stable") r.routine.volatility = Volatility::Stable;
        if (o == "immutable") r.routine.volatility = Volatility::Immutable;
        if (o == "strict") r.routine.strict = true;
        if (o == "called on null input") r.routine.strict = false;
        if (o.rfind("cost ", 0) == 0) r.routine.cost = std::strtod(o.c_str() + 5, nullptr);
        if (o.rfind("parallel ", 0) == 0) r.routine.altered_parallel = o.substr(9);
      }
    }
    if (d.schema == "pg_catalog")
      for (const std::string& o : d.options)
        if (o.rfind("cost ", 0) == 0) builtin_costs[d.name] = std::strtod(o.c_str() + 5, nullptr);
  }

  void dropFunction(const Ddl& d) {
    eraseRoutines(d.name, [&](const LiveRoutine& r) { return matches(r, d); });
  }

  void renameFunction(const Ddl& d) {
    if (d.new_name == d.name) return;
    auto& named = routines_named_[d.name];
    auto& renamed = routines_named_[d.new_name];
    std::erase_if(named, [&](std::size_t i) {
      const bool moves = matches(routines[i], d);
      if (moves) routines[i].key.second = d.new_name, renamed.push_back(i);
      return moves;
    });
  }

  void createTable(const Ddl& d, int unit) {
    const NameKey key = nameKey(d.schema, d.name);
    if (d.if_not_exists && relations.count(key)) return;
    LiveRelation r;
    r.ddl = &d;
    r.relation.schema = d.schema, r.relation.name = d.name, r.relation.unit = unit, r.relation.range = d.range;
    r.relation.columns_known = !d.columns.empty();
    r.relation.partitioned = std::find(d.options.begin(), d.options.end(), "partitioned") != d.options.end();
    for (const ColumnDefinition& c : d.columns) {
      r.relation.columns.push_back(columnOf(c));
      if (c.primary_key) r.relation.unique_keys.insert(r.relation.unique_keys.begin(), {c.name});
      if (c.unique) r.relation.unique_keys.push_back({c.name});
    }
    for (const auto& k : d.primary_keys) addKey(r.relation, k, true);
    for (const auto& k : d.unique_keys) addKey(r.relation, k, false);
    relations[key] = std::move(r);
  }

  static void addKey(Relation& r, const List<std::string>& columns, bool primary) {
    if (columns.empty()) return;
    r.unique_keys.insert(primary ? r.unique_keys.begin() : r.unique_keys.end(), columns);
    if (!primary) return;
    for (Column& c : r.columns)
      if (std::find(columns.begin(), columns.end(), c.name) != columns.end()) c.not_null = true;
  }

  LiveRelation* find(const std::string& schema, const std::string& name) {
    const auto it = relations.find(nameKey(schema, name));
    return it == relations.end() ? nullptr : &it->second;
  }

  void alterTable(const Ddl& d, int unit) {
    bool checks = false;
    for (const AlterAction& a : d.actions) checks |= !a.checks.empty() || !a.column.default_value.empty() || !a.column.checks.empty();
    if (checks) addOther(d, unit, nameKey(d.schema, d.name));
    for (const AlterAction& a : d.actions) switchTriggers(nameKey(d.schema, d.name), a);
    LiveRelation* r = find(d.schema, d.name);
    if (!r) return;
    for (const AlterAction& a : d.actions) alter(*r, a);
  }

  void switchTriggers(const NameKey& relation, const AlterAction& a) {
    if (a.kind != AlterActionKind::DisableTrigger && a.kind != AlterActionKind::EnableTrigger) return;
    for (auto at = triggers.lower_bound({relation, ""}); at != triggers.end() && at->first.first == relation; ++at) {
      if (!a.column.name.empty() && at->first.second != a.column.name) continue;
      if (a.kind == AlterActionKind::DisableTrigger) disabled_triggers.insert(at->second.ddl);
      else disabled_triggers.erase(at->second.ddl);
    }
  }

  static void alter(LiveRelation& live, const AlterAction& a) {
    Relation& r = live.relation;
    const auto column = std::find_if(r.columns.begin(), r.columns.end(), [&](const Column& c) { return c.name == a.column.name; });
    const bool known = column != r.columns.end();
    switch (a.kind) {
      case AlterActionKind::AddColumn:
        if (!known) r.columns.push_back(columnOf(a.column));
        if (a.column.primary_key) addKey(r, {a.column.name}, true);
        if (a.column.unique) addKey(r, {a.column.name}, false);
        break;
      case AlterActionKind::DropColumn:
        if (known) r.columns.erase(column);
        std::erase_if(r.unique_keys, [&](const auto& k) { return std::find(k.begin(), k.end(), a.column.name) != k.end(); });
        break;
      case AlterActionKind::SetType:
        if (known) column->type = storedType(a.column.type);
        break;
      case AlterActionKind::SetNotNull:
        if (known) column->not_null = true;
        break;
      case AlterActionKind::DropNotNull:
        if (known) column->not_null = false;
        break;
      case AlterActionKind::AddConstraint:
        if (a.primary_key || a.unique) addKey(r, a.key_columns, a.primary_key);
        break;
      case AlterActionKind::RenameColumn:
        if (known) column->name = a.new_name;
        for (auto& k : r.unique_keys) std::replace(k.begin(), k.end(), a.column.name, a.new_name.str());
        break;
      case AlterActionKind::EnableRowSecurity: live.row_security = true; break;
      case AlterActionKind::SetDefault:
      case AlterActionKind::DropDefault:
      case AlterActionKind::DisableTrigger:
      case AlterActionKind::EnableTrigger:
      case AlterActionKind::Other: break;
    }
  }

  void createView(const Ddl& d, int unit) {
    const NameKey key = nameKey(d.schema, d.name);
    if (d.if_not_exists && relations.count(key)) return;
    superseded += relations.erase(key);
    LiveRelation r;
    r.ddl = &d;
    r.relation.kind = d.materialized ? RelationKind::MaterializedView : RelationKind::View;
    r.relation.schema = d.schema, r.relation.name = d.name, r.relation.unit = unit, r.relation.range = d.range;
    r.relation.view = d.query.empty() ? nullptr : &d.query.front();
    r.relation.view_columns = d.column_aliases;
    r.relation.security_barrier = std::find(d.options.begin(), d.options.end(), "security_barrier") != d.options.end();
    relations[key] = std::move(r);
  }

  void createIndex(const Ddl& d, int unit) {
    if (LiveRelation* r = find(d.relation_schema, d.relation)) {
      // A partial unique index (exprs hold its predicate) proves nothing about the other rows.
      const bool plain = d.exprs.empty() && std::find(d.key_columns.begin(), d.key_columns.end(), "") == d.key_columns.end();
      if (d.unique && plain) addKey(r->relation, d.key_columns, false);
      List<std::string> leading;
      for (const std::string& c : d.key_columns) {
        if (c.empty()) break;
        leading.push_back(c);
      }
      if (!leading.empty()) r->relation.indexes.push_back(leading);
    }
    if (!d.exprs.empty()) addOther(d, unit, nameKey(d.relation_schema, d.relation));
  }

  void addOther(const Ddl& d, int unit, const NameKey& relation) {
    others_of_[relation].push_back(others.size());
    others.push_back({unit, &d});
  }

  void replaceObject(std::map<std::pair<NameKey, std::string>, SchemaObject>& objects, const Ddl& d, int unit) {
    SchemaObject& o = objects[{nameKey(d.relation_schema, d.relation), d.name}];
    superseded += o.ddl != nullptr;
    o = {unit, &d};
  }

  void dropRelation(const Ddl& d) {
    const NameKey key = nameKey(d.schema, d.name);
    if (const auto it = relations.find(key); it != relations.end()) {
      superseded += it->second.relation.view != nullptr;
      relations.erase(it);
    }
    for (auto* objects : {&triggers, &policies, &rules})
      for (auto on_it = objects->lower_bound({key, ""}); on_it != objects->end() && on_it->first.first == key; ++superseded)
        on_it = objects->erase(on_it);
    if (const auto found = others_of_.find(key); found != others_of_.end()) {
      for (const std::size_t i : found->second) others[i].ddl = nullptr;
      others_of_.erase(found);
    }
  }

  void renameRelation(const Ddl& d) {
    auto node = relations.extract(nameKey(d.schema, d.name));
    if (node.empty()) return;
    const NameKey from = nameKey(d.schema, d.name), to = nameKey(d.schema, d.new_name);
    for (auto at = triggers.lower_bound({from, ""}); at != triggers.end() && at->first.first == from; at = triggers.lower_bound({from, ""})) {
      auto trigger = triggers.extract(at);
      trigger.key().first = to;
      triggers.insert(std::move(trigger));
    }
    node.key() = to;
    node.mapped().relation.name = d.new_name;
    relations.insert(std::move(node));
  }

  const std::deque<Unit>& units_;
  const Includes& includes_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> routines_named_;  // the live ones, indexes into `routines`
  std::map<NameKey, std::vector<std::size_t>> others_of_;                        // by relation, indexes into `others`
};

// "a/b/../c" → "a/c"; leading ".." stay.
std::string normalPath(const std::string& path) { return std::filesystem::path(path).lexically_normal().generic_string(); }

Includes findIncludes(const std::deque<Unit>& units) {
  std::map<std::string, int> by_path;
  for (std::size_t i = 0; i < units.size(); ++i) by_path[units[i].path()] = static_cast<int>(i);
  Includes includes;
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const Function& f : units[i].functions)
      for (const Block& b : f.blocks)
        for (const Event& e : b.events)
          for (const SessionOp& op : e.session) {
            if (op.verb != SessionVerb::Include) continue;
            const std::string folder = std::filesystem::path(units[i].path()).parent_path().generic_string();
            // \ir is relative to the file, \i to the folder psql runs in: the project's root, or the file's folder.
            const std::string beside = normalPath(folder.empty() ? op.text : folder + "/" + op.text);
            auto it = by_path.find(op.relative ? beside : normalPath(op.text));
            if (it == by_path.end()) it = by_path.find(beside);
            if (it != by_path.end()) includes[{static_cast<int>(i), op.range.begin}] = it->second;
          }
  }
  return includes;
}

// Indexes of the units of each history, in the order in which they are applied.
// A file that another includes belongs to that one's history.
std::vector<std::vector<int>> histories(const std::deque<Unit>& units, const Includes& includes) {
  std::set<int> included;
  for (const auto& [place, target] : includes)
    if (target != place.first) included.insert(target);
  std::map<std::string, std::vector<int>> groups;
  std::vector<std::vector<int>> all;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const RunnerFacts& r = units[i].runner;
    if (r.group.empty() && included.count(static_cast<int>(i))) continue;
    if (r.group.empty()) all.push_back({static_cast<int>(i)});
    else groups[r.group].push_back(static_cast<int>(i));
  }
  for (auto& [group, members] : groups) {
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
      const RunnerFacts& x = units[static_cast<std::size_t>(a)].runner;
      const RunnerFacts& y = units[static_cast<std::size_t>(b)].runner;
      return std::tie(x.repeatable, x.order_key) < std::tie(y.repeatable, y.order_key);
    });
    all.push_back(std::move(members));
  }
  return all;
}

void addHistory(const std::deque<Unit>& units, const Includes& includes, const std::vector<int>& members, std::set<int>& replayed,
                LiveDefinitions& live, int number) {
  History h(units, includes);
  for (const int unit : members) h.replay(unit);
  replayed.insert(h.replayed.begin(), h.replayed.end());
  for (auto& [key, r] : h.relations) {
    for (auto on_it = h.policies.lower_bound({key, ""}); r.row_security && on_it != h.policies.end() && on_it->first.first == key; ++on_it)
      if (!on_it->second.ddl->exprs.empty()) r.relation.policies.push_back(&on_it->second.ddl->exprs.front());
    live.objects.push_back({r.relation.unit, r.ddl});
    for (const auto& k : r.relation.unique_keys) r.relation.indexes.push_back(k);
    live.catalogue.relations.push_back(std::move(r.relation));
  }
  for (const auto& [key, o] : h.triggers)
    live.catalogue.triggers.push_back({o.ddl->function_schema, o.ddl->function_name, key.first.first, key.first.second, o.unit, o.ddl,
                                       !h.disabled_triggers.contains(o.ddl), number, h.trigger_position.at(o.ddl)});
  for (const auto& [unit, place] : h.finished)
    if (!h.triggers.empty()) live.catalogue.replayed[{number, unit}] = place;
  for (const auto* objects : {&h.triggers, &h.policies, &h.rules})
    for (const auto& [key, o] : *objects) live.objects.push_back(o);
  for (const SchemaObject& o : h.others)
    if (o.ddl) live.objects.push_back(o);
  for (LiveRoutine& r : h.routines) {
    if (!r.ddl) continue;
    live.routines.insert(r.routine.function);
    live.catalogue.routines.push_back(std::move(r.routine));
  }
  live.catalogue.builtin_costs.merge(h.builtin_costs);
  live.superseded += h.superseded;
}

// Functions of the host program: called by those of their own language only, so the names (with signatures) cannot meet SQL's.
void addHostFunctions(const std::deque<Unit>& units, Catalogue& catalogue) {
  for (std::size_t i = 0; i < units.size(); ++i)
    for (const Function& f : units[i].functions) {
      if (f.kind != FunctionKind::HostFunction) continue;
      Routine r;
      r.function = &f, r.unit = static_cast<int>(i), r.language = f.language;
      catalogue.routines.push_back(std::move(r));
    }
}

}  // namespace

LiveDefinitions liveDefinitions(const std::deque<Unit>& units) {
  LiveDefinitions live;
  const Includes includes = findIncludes(units);
  for (const auto& [place, target] : includes)
    if (target != place.first && units[static_cast<std::size_t>(place.first)].language == "sql") live.included.insert(target);
  std::set<int> replayed;
  int number = 0;
  for (const std::vector<int>& members : histories(units, includes)) addHistory(units, includes, members, replayed, live, number++);
  // Files that include each other in a ring have no first one: each begins a history of its own.
  for (std::size_t i = 0; i < units.size(); ++i)
    if (!units[i].runner.down && replayed.count(static_cast<int>(i)) == 0)
      addHistory(units, includes, {static_cast<int>(i)}, replayed, live, number++);
  addHostFunctions(units, live.catalogue);
  live.catalogue.index();
  return live;
}

}  // namespace pglocklint

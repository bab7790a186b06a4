#include "program/triggers.h"

#include <algorithm>

#include "program/walk.h"

namespace pglocklint {
namespace {

constexpr int kViewsDeep = 8;

bool hasOption(const Ddl& d, std::string_view option) { return std::find(d.options.begin(), d.options.end(), option) != d.options.end(); }

bool sets(const List<Target>& assigned, const Ddl& trigger) {
  return trigger.key_columns.empty() || std::any_of(assigned.begin(), assigned.end(), [&](const Target& t) {
           return std::find(trigger.key_columns.begin(), trigger.key_columns.end(), t.name) != trigger.key_columns.end();
         });
}

// A part of a statement that may fire triggers: INSERT … ON CONFLICT DO UPDATE and MERGE have several.
struct Part {
  std::string_view event;
  const List<Target>* assigned = nullptr;  // update
};

std::vector<Part> partsOf(const Query& q) {
  std::vector<Part> parts;
  switch (q.kind) {
    case QueryKind::Insert:
      parts.push_back({"insert"});
      if (!q.conflict_sets.empty()) parts.push_back({"update", &q.conflict_sets});
      break;
    case QueryKind::Update: parts.push_back({"update", &q.sets}); break;
    case QueryKind::Delete: parts.push_back({"delete"}); break;
    case QueryKind::Merge:
      for (const MergeWhen& w : q.merge)
        if (w.action != "nothing") parts.push_back({w.action, &w.sets});
      break;
    default: break;
  }
  return parts;
}

bool insertsOneRow(const Query& q) {
  return q.kind == QueryKind::Insert && (q.source.empty() || (q.source[0].kind == QueryKind::Values && q.source[0].rows.size() == 1));
}

// BEFORE STATEMENT, then what is done for each row, then AFTER STATEMENT.
int phase(const Ddl& t) {
  if (t.timing == "before") return t.each_row ? 1 : 0;
  return t.timing == "instead of" ? 1 : t.each_row ? 2 : 3;
}

// The one relation that an automatically updatable view shows, or null.
const FromItem* shownBy(const Query& q) {
  const bool plain = q.kind == QueryKind::Select && q.from.size() == 1 && q.from[0].kind == FromKind::Relation && q.ctes.empty() && q.group_by.empty() &&
                     !q.grouping_sets && q.having.empty() && q.distinct == DistinctKind::None && q.limit.empty() && q.offset.empty();
  return plain ? &q.from[0] : nullptr;
}

}  // namespace

Triggers::Triggers(const Program& program) : program_(program) {
  for (const TriggerUse& t : program.catalogue.triggers)
    if (t.enabled && t.ddl != nullptr) on_.emplace(t.relation, &t);
}

bool Triggers::isOn(const TriggerUse& t, const FromItem& target) const {
  const Relation* a = program_.catalogue.relation(t.relation_schema, t.relation);
  const Relation* b = program_.catalogue.relation(target.schema.str(), target.name);
  if (a != nullptr || b != nullptr) return a == b;
  return t.relation_schema == target.schema.str() || t.relation_schema.empty() || target.schema.empty();
}

bool Triggers::isThere(const TriggerUse& t, const Statement& statement, const Function& function, int unit) const {
  if (function.kind != FunctionKind::Script && function.kind != FunctionKind::DoBlock) return true;
  if (t.unit == unit) return t.ddl->range.begin < statement.range.begin;
  const auto at = program_.catalogue.replayed.find({t.history, unit});
  return at == program_.catalogue.replayed.end() || at->second >= t.position;
}

void Triggers::addLevel(const Query& q, const Statement& statement, const Function& function, int unit, std::vector<FiredTrigger>& out) const {
  const std::vector<Part> parts = partsOf(q);
  if (parts.empty() || q.target->name.empty()) return;
  const FromItem* target = &*q.target;
  for (int depth = 0; target != nullptr && depth < kViewsDeep; ++depth) {
    const auto [begin, end] = on_.equal_range(target->name);
    bool instead = false;
    std::vector<FiredTrigger> here;
    for (auto at = begin; at != end; ++at) {
      const TriggerUse& t = *at->second;
      if (!isOn(t, *target) || !isThere(t, statement, function, unit)) continue;
      const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) {
        return hasOption(*t.ddl, p.event) && (p.event != "update" || p.assigned == nullptr || sets(*p.assigned, *t.ddl));
      });
      if (part == parts.end()) continue;
      instead |= t.ddl->timing == "instead of";
      const Routine* r = program_.catalogue.routine(t.function_schema, t.function, 0);
      if (r == nullptr) continue;
      const bool always = part == parts.begin() && q.kind != QueryKind::Merge && t.ddl->exprs.empty();
      const bool despite_conflict = q.conflict == ConflictAction::None || t.ddl->timing == "before";
      here.push_back({&t, r, &q, always && (!t.ddl->each_row || (insertsOneRow(q) && despite_conflict)), phase(*t.ddl) == 0});
    }
    std::sort(here.begin(), here.end(), [](const FiredTrigger& a, const FiredTrigger& b) {
      return std::pair(phase(*a.use->ddl), a.use->ddl->name) < std::pair(phase(*b.use->ddl), b.use->ddl->name);
    });
    out.insert(out.end(), here.begin(), here.end());
    const Relation* r = program_.catalogue.relation(target->schema.str(), target->name);
    target = r != nullptr && r->kind == RelationKind::View && r->view != nullptr && !instead ? shownBy(*r->view) : nullptr;
  }
}

std::vector<FiredTrigger> Triggers::firedBy(const Statement& statement, const Function& function, int unit) const {
  std::vector<FiredTrigger> fired;
  if (on_.empty() || statement.query.empty()) return fired;
  struct V {
    const Triggers& triggers;
    const Statement& statement;
    const Function& function;
    int unit;
    std::vector<FiredTrigger>& fired;
    void onLevel(const Query& q, const QueryLevels&) { triggers.addLevel(q, statement, function, unit, fired); }
  } v{*this, statement, function, unit, fired};
  QueryWalker<V>(v).statement(statement);
  std::stable_partition(fired.begin(), fired.end(), [](const FiredTrigger& f) { return f.before_rows; });
  return fired;
}

}  // namespace pglocklint

#include "report/statement_index.h"

#include <algorithm>

namespace pglocklint {
namespace {

bool isScript(const Function& f) {
  return f.kind == FunctionKind::Script || f.kind == FunctionKind::DownScript || f.kind == FunctionKind::NamedQuery;
}

template <class Visit>
void forEachStatement(const Unit& unit, Visit visit) {
  for (const Ddl& d : unit.ddl) visit(d.range, nameOf(d.kind));
  for (const Function& f : unit.functions) {
    if (!isScript(f)) visit(f.range, f.kind == FunctionKind::DoBlock ? "DO" : "CREATE FUNCTION");
    for (const Variable& v : f.variables) visit(v.range, "");
    for (const Block& b : f.blocks)
      for (const Event& e : b.events) {
        for (const Statement& s : e.statement) visit(s.range, s.head);
        for (const TransactionOp& t : e.transaction) visit(t.range, nameOf(t.verb));
        for (const Setting& s : e.setting) visit(s.range, "SET");
        for (const SessionOp& s : e.session) visit(s.range, nameOf(s.verb));
        for (const Exit& x : e.exit) visit(x.range, nameOf(x.kind));
      }
  }
}

}  // namespace

void StatementIndex::finish() {
  std::ranges::stable_sort(entries_, [](const Entry& a, const Entry& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  std::vector<std::int32_t> open;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& e = entries_[i];
    while (!open.empty() && entries_[static_cast<std::size_t>(open.back())].end < e.end) open.pop_back();
    e.parent = open.empty() ? -1 : open.back();
    open.push_back(static_cast<std::int32_t>(i));
  }
}

std::vector<const StatementIndex::Entry*> StatementIndex::around(std::uint32_t begin, std::uint32_t end) const {
  const auto after = std::ranges::upper_bound(entries_, begin, {}, &Entry::begin);
  std::vector<const Entry*> found;
  for (auto i = static_cast<std::int32_t>(after - entries_.begin()) - 1; i >= 0; i = entries_[static_cast<std::size_t>(i)].parent) {
    const Entry& e = entries_[static_cast<std::size_t>(i)];
    if (e.end >= end) found.push_back(&e);
  }
  return found;
}

std::int64_t StatementIndex::beginBefore(const Entry& entry) const {
  const auto first = std::ranges::lower_bound(entries_, entry.begin, {}, &Entry::begin);
  return first == entries_.begin() ? -1 : static_cast<std::int64_t>(std::prev(first)->begin);
}

StatementIndexes::StatementIndexes(const Program& program) {
  for (const Unit& unit : program.units)
    for (std::uint32_t i = 0; i < unit.files.size(); ++i) parts_[unit.files[i]].push_back({&unit, i});
}

const StatementIndex& StatementIndexes::file(const std::string& name) {
  if (const auto known = indexes_.find(name); known != indexes_.end()) return known->second;
  StatementIndex& index = indexes_[name];
  for (const Part& part : parts_[name])
    forEachStatement(*part.unit, [&](const SourceRange& r, std::string_view head) {
      if (r.known() && r.file == part.file) index.add(r.begin, r.end, head);
    });
  index.finish();
  return index;
}

}  // namespace pglocklint

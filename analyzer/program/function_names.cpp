#include "program/function_names.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "program/walk.h"

namespace pglocklint {
namespace {

// "r.id", "outer_block.v", "a[1]": each name in it that may be the variable written.
std::vector<std::string> writtenNames(const std::string& target) {
  const std::string base = target.substr(0, target.find('['));
  std::vector<std::string> names{base.substr(0, base.find('.'))};
  if (const auto dot = base.find('.'); dot != std::string::npos) {
    const auto next = base.find('.', dot + 1);
    names.push_back(base.substr(dot + 1, next == std::string::npos ? next : next - dot - 1));
  }
  return names;
}

template <class Map>
const typename Map::mapped_type& entryOrNone(const Map& map, std::string_view name) {
  static const typename Map::mapped_type none;
  const auto found = map.find(name);
  return found == map.end() ? none : found->second;
}

}  // namespace

FunctionNames::FunctionNames(const Function& function) {
  readPositions(function);
  for (const Variable& v : function.variables) declarations_[v.name].push_back(&v);
  forEachStatement(function, [&](const Statement& s) {
    if (s.context != PlContext::Default) {  // there the variable's own `initial` says it
      for (const std::string& target : s.into)
        for (const std::string& n : writtenNames(target)) writes_[n].push_back(&s);
      // CALL p(v) may write to v: a parameter of the procedure can be INOUT.
      if (s.kind == StatementKind::Call && !s.exprs.empty())
        for (const Expr& a : s.exprs[0].args)
          if (a.is(ExprKind::Column)) writes_[a.qualifier.empty() ? a.name : a.qualifier.str()].push_back(&s);
    }
    forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
      // parent IS NOT DISTINCT FROM p_parent in a query: NULL is a value like others there.
      const bool distinct = e.is(ExprKind::Distinct) && (s.context == PlContext::Condition || std::ranges::any_of(e.args, &Expr::isNull));
      if (e.is(ExprKind::NullTest) || e.is(ExprKind::Coalesce) || distinct)
        for (const Expr& a : e.args)
          if (a.is(ExprKind::Column)) null_checked_.insert(a.name), null_checked_.insert(a.qualifier);
      asks_found_ |= e.is(ExprKind::Column) && e.name == "found" && s.context == PlContext::Condition;
    });
  });
}

void FunctionNames::readPositions(const Function& function) {
  for (std::size_t block = 0; block < function.blocks.size(); ++block)
    for (std::size_t event = 0; event < function.blocks[block].events.size(); ++event)
      for (const Statement& s : function.blocks[block].events[event].statement) {
        const Position at{block, event};
        extents_.push_back({s.range.begin, s.range.end, s.range.file, 0, at});
        for (const std::string& target : s.into)
          for (const std::string& n : writtenNames(target)) into_[n].push_back({at, &s});
        if (s.kind == StatementKind::Call) calls_.push_back(at);
      }
  std::ranges::stable_sort(extents_, {}, [](const Extent& e) { return std::tuple(e.file, e.begin); });
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const bool follows = i > 0 && extents_[i - 1].file == extents_[i].file;
    extents_[i].furthest = std::max(extents_[i].end, follows ? extents_[i - 1].furthest : 0);
  }
}

// The first statement, in the order of blocks and events, that `place` lies in.
const FunctionNames::Extent* FunctionNames::around(const SourceRange& place) const {
  const Extent* first = nullptr;
  auto after = std::ranges::upper_bound(extents_, std::tuple(place.file, place.begin), {}, [](const Extent& e) { return std::tuple(e.file, e.begin); });
  while (after != extents_.begin()) {
    const Extent& e = *--after;
    if (e.file != place.file || e.furthest < place.end) break;
    if (e.end >= place.end && (first == nullptr || e.at < first->at)) first = &e;
  }
  return first;
}

const Statement* FunctionNames::reachingWrite(std::string_view name, const SourceRange& place) const {
  const auto written = into_.find(name);
  const Extent* const use = around(place);
  if (written == into_.end() || use == nullptr) return nullptr;
  auto write = std::ranges::lower_bound(written->second, use->at, {}, &Write::at);
  if (write == written->second.begin() || (--write)->at.block != use->at.block) return nullptr;
  const auto call = std::ranges::lower_bound(calls_, use->at);
  return call != calls_.begin() && *std::prev(call) > write->at ? nullptr : write->statement;
}

const std::vector<const Statement*>& FunctionNames::writes(std::string_view name) const { return entryOrNone(writes_, name); }

const std::vector<const Variable*>& FunctionNames::declarations(std::string_view name) const { return entryOrNone(declarations_, name); }

}  // namespace pglocklint

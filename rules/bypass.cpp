#include "bypass.h"

#include <algorithm>
#include <set>

#include "program/walk.h"
#include "routines.h"

namespace pglocklint {
namespace {

bool contains(const Expr& e, const Expr& call) {
  bool found = false;
  struct V {
    bool& found;
    const Expr* call;
    void onExpr(const Expr& x, const QueryLevels&) { found |= &x == call; }
  } v{found, &call};
  QueryWalker<V>(v).expr(e);
  return found;
}

std::optional<bool> constant(const Expr& e) {
  if (e.kind != ExprKind::Const || e.literal != LiteralKind::Boolean) return std::nullopt;
  return e.text == "true" || e.text == "t";
}

// Reads a condition: can it come out as wanted although the call was skipped?
class Condition {
 public:
  Condition(const LockSite& site, const Program& program) : site_(site), catalogue_(program.catalogue) {
    // A script has no variables; and it may have a hundred thousand statements, which are not to be read for each of its calls.
    if (!site.function || site.function->kind == FunctionKind::Script || site.function->kind == FunctionKind::DownScript) return;
    forEachStatement(*site.function, [&](const Statement& s) {
      bool locks = false;
      forEachExpr(
          s, [&](const Expr& e, const QueryLevels&) { locks |= e.kind == ExprKind::Call && isLockCall(e, catalogue_); });
      if (locks) holders_.insert(s.into.begin(), s.into.end());
    });
  }

  std::optional<Bypass> without(const Expr& e, bool wanted) const {
    if (&e == site_.call) return std::nullopt;
    switch (e.kind) {
      case ExprKind::Not: return inside(e, !wanted);
      case ExprKind::BoolTest: return inside(e, wanted == ((e.text != "false") != e.negated));
      case ExprKind::Cast:
      case ExprKind::NullTest: return inside(e, wanted);
      case ExprKind::SubSelect: return subSelect(e, wanted);
      case ExprKind::And:
      case ExprKind::Or: return shortCircuit(e, wanted);
      case ExprKind::Coalesce: return coalesce(e, wanted);
      case ExprKind::Case: return caseOf(e, wanted);
      default: return std::nullopt;
    }
  }

 private:
  // An operand that has nothing to do with locks, not even through a variable that says whether one is held.
  bool ordinary(const Expr& e) const {
    if (concernsLocks(e, catalogue_)) return false;
    return !site_.function || std::none_of(holders_.begin(), holders_.end(),
                                           [&](const std::string& v) { return mentions(e, *site_.function, v); });
  }

  std::size_t operandOf(const Expr& e) const {
    const auto it = std::find_if(e.args.begin(), e.args.end(), [&](const Expr& a) { return contains(a, *site_.call); });
    return static_cast<std::size_t>(it - e.args.begin());
  }

  std::optional<Bypass> inside(const Expr& e, bool wanted) const {
    const std::size_t i = operandOf(e);
    return i < e.args.size() ? without(e.args[i], wanted) : std::nullopt;
  }

  std::optional<Bypass> subSelect(const Expr& e, bool wanted) const {
    if (e.sublink != SubLink::Scalar || e.query.empty() || e.query[0].targets.size() != 1 || !e.query[0].from.empty())
      return std::nullopt;
    return without(e.query[0].targets[0].expr, wanted);
  }

  std::optional<Bypass> shortCircuit(const Expr& e, bool wanted) const {
    const std::size_t at = operandOf(e);
    if (at >= e.args.size()) return std::nullopt;
    if (wanted == (e.kind == ExprKind::Or))  // one operand alone decides
      for (std::size_t i = 0; i < at; ++i)
        if (ordinary(e.args[i]) && constant(e.args[i]) != !wanted)
          return Bypass{&e.args[i], e.kind == ExprKind::Or ? "OR" : "AND", {}};
    return without(e.args[at], wanted);
  }

  std::optional<Bypass> coalesce(const Expr& e, bool wanted) const {
    const std::size_t at = operandOf(e);
    if (at >= e.args.size()) return std::nullopt;
    for (std::size_t i = 0; i < at; ++i)
      if (ordinary(e.args[i]) && !e.args[i].isNull() && constant(e.args[i]) != !wanted)
        return Bypass{&e.args[i], "COALESCE", {}};
    return without(e.args[at], wanted);
  }

  // CASE WHEN c THEN true ELSE try(…) END: another branch that yields the wanted constant.
  std::optional<Bypass> caseOf(const Expr& e, bool wanted) const {
    const std::size_t at = operandOf(e), first = e.has_operand ? 1 : 0;
    if (at < first || at >= e.args.size()) return std::nullopt;
    const std::size_t pairs = (e.args.size() - first) / 2;
    const bool in_else = e.has_else && at + 1 == e.args.size();
    if (!in_else && (at - first) % 2 == 0) return std::nullopt;  // in a WHEN
    for (std::size_t p = 0; p < pairs; ++p) {
      const Expr &when = e.args[first + 2 * p], &then = e.args[first + 2 * p + 1];
      if (&then != &e.args[at] && constant(then) == wanted && ordinary(when)) return Bypass{&when, "CASE", {}};
    }
    if (!in_else && e.has_else && constant(e.args.back()) == wanted) {
      const Expr& when = e.args[at - 1];
      if (ordinary(when)) return Bypass{&when, "CASE", {}};
    }
    return without(e.args[at], wanted);
  }

  const LockSite& site_;
  const Catalogue& catalogue_;
  std::set<std::string> holders_;
};

// --- the work behind a condition
// ---------------------------------------------------------------------------------------------

bool isWork(const Event& event, const Catalogue& catalogue) {
  if (event.kind == EventKind::Ddl) return true;
  for (const Statement& s : event.statement) {
    switch (s.kind) {
      case StatementKind::Call:
      case StatementKind::Execute:
      case StatementKind::CreateTableAs:
      case StatementKind::Copy:
      case StatementKind::Utility:
      case StatementKind::Unparsed:
      case StatementKind::NotUnderstood: return true;
      case StatementKind::Query: break;
      default: continue;
    }
    if (s.query.empty() || s.context == PlContext::Sql || s.context == PlContext::None) return true;
    if (s.query[0].kind != QueryKind::Select && s.query[0].kind != QueryKind::Values) return true;
    if (s.context != PlContext::Perform) continue;
    bool locks = false;
    forEachExpr(s,
                [&](const Expr& e, const QueryLevels&) { locks |= e.kind == ExprKind::Call && isLockCall(e, catalogue); });
    if (!locks) return true;
  }
  return false;
}

std::set<std::int32_t> reachable(const Function& f, std::int32_t from, std::int32_t barrier) {
  std::set<std::int32_t> seen;
  std::vector<std::int32_t> work{from};
  while (!work.empty()) {
    const std::int32_t b = work.back();
    work.pop_back();
    if (b < 0 || b == barrier || static_cast<std::size_t>(b) >= f.blocks.size() || !seen.insert(b).second) continue;
    for (const Edge& e : f.blocks[static_cast<std::size_t>(b)].successors) work.push_back(e.target);
  }
  return seen;
}

// The first work that is done only when the condition at the end of `block` comes out as `value`.
std::optional<SourceRange> workBehind(const Function& f, std::int32_t block, bool value, const Catalogue& catalogue) {
  std::int32_t taken = -1, other = -1;
  for (const Edge& e : f.blocks[static_cast<std::size_t>(block)].successors)
    (e.kind == (value ? EdgeKind::True : EdgeKind::False) ? taken : other) = e.target;
  if (taken < 0) return std::nullopt;
  const std::set<std::int32_t> elsewhere = reachable(f, other, block);
  for (const std::int32_t b : reachable(f, taken, block)) {
    if (elsewhere.count(b)) continue;
    for (const Event& e : f.blocks[static_cast<std::size_t>(b)].events)
      if (isWork(e, catalogue)) return e.statement.empty() ? SourceRange{} : e.statement[0].range;
  }
  return std::nullopt;
}

const Expr* condition(const Statement& s) {
  return s.query.empty() || s.query[0].targets.size() != 1 || !s.query[0].from.empty() ? nullptr
                                                                                       : &s.query[0].targets[0].expr;
}

// Block that ends with that statement.
std::int32_t blockOf(const Function& f, const Statement& s) {
  for (std::size_t b = 0; b < f.blocks.size(); ++b)
    for (const Event& e : f.blocks[b].events)
      for (const Statement& x : e.statement)
        if (&x == &s) return static_cast<std::int32_t>(b);
  return -1;
}

std::optional<Bypass> behindCondition(const Condition& reader, const LockSite& site, const Program& program) {
  const Expr* root = condition(*site.statement);
  const std::int32_t block = blockOf(*site.function, *site.statement);
  if (!root || block < 0) return std::nullopt;
  for (const bool value : {true, false}) {
    std::optional<Bypass> bypass = reader.without(*root, value);
    if (!bypass) continue;
    if (const auto work = workBehind(*site.function, block, value, program.catalogue)) {
      bypass->work = *work;
      return bypass;
    }
  }
  return std::nullopt;
}

// b := force OR try(…); … IF b THEN work / IF NOT b THEN RETURN.
std::optional<Bypass> behindVariable(const Condition& reader, const LockSite& site, const Program& program) {
  const Expr* root = condition(*site.statement);
  if (!root || site.statement->into.size() != 1) return std::nullopt;
  std::optional<Bypass> bypass = reader.without(*root, true), found;
  if (!bypass) return std::nullopt;
  forEachStatement(*site.function, [&](const Statement& s) {
    if (found || s.context != PlContext::Condition) return;
    const Expr* test = condition(s);
    bool value = true;
    while (test && test->kind == ExprKind::Not && !test->args.empty()) test = &test->args[0], value = !value;
    if (!test || test->kind != ExprKind::Column || test->name != site.statement->into[0]) return;
    const std::int32_t block = blockOf(*site.function, s);
    if (block < 0) return;
    if (const auto work = workBehind(*site.function, block, value, program.catalogue)) bypass->work = *work, found = bypass;
  });
  return found;
}

// The same for every row: parameters, variables and constants alone.
bool rowIndependent(const Expr& e, const Function* function) {
  bool independent = true;
  struct V {
    bool& independent;
    const Function* function;
    void onExpr(const Expr& x, const QueryLevels&) {
      if (x.kind == ExprKind::SubSelect || x.kind == ExprKind::Star) independent = false;
      if (x.kind == ExprKind::Column && !(function && isVariable(*function, x.qualifier.empty() ? x.name : x.qualifier)))
        independent = false;
    }
  } v{independent, function};
  QueryWalker<V>(v).expr(e);
  return independent;
}

std::optional<Bypass> inWhere(const Condition& reader, const LockSite& site) {
  if (!site.level || site.level->where.empty() || !contains(site.level->where[0], *site.call)) return std::nullopt;
  std::optional<Bypass> bypass = reader.without(site.level->where[0], true);
  if (!bypass || !rowIndependent(*bypass->decider, site.function)) return std::nullopt;
  return bypass;
}

}  // namespace

std::optional<Bypass> findBypass(const LockSite& site, const Program& program) {
  if (!site.function || !site.statement || !site.call) return std::nullopt;
  const Condition reader(site, program);
  switch (site.statement->context) {
    case PlContext::Condition: return behindCondition(reader, site, program);
    case PlContext::Assign: return behindVariable(reader, site, program);
    case PlContext::None:
    case PlContext::Sql:
    case PlContext::Perform:
    case PlContext::SelectInto:
    case PlContext::ForQuery:
    case PlContext::ReturnQuery: return inWhere(reader, site);
    default: return std::nullopt;
  }
}

}  // namespace pglocklint

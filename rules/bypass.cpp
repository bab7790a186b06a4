#include "bypass.h"

#include <algorithm>

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
  Condition(const LockSite& site, const FunctionIndex& index, const Catalogue& catalogue)
      : site_(site), index_(index), catalogue_(catalogue) {}

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
  bool ordinary(const Expr& e) const { return !concernsLocks(e, catalogue_) && !index_.tellsOfLock(e); }

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
  const FunctionIndex& index_;
  const Catalogue& catalogue_;
};

const Expr* condition(const Statement& s) {
  return s.query.empty() || s.query[0].targets.size() != 1 || !s.query[0].from.empty() ? nullptr
                                                                                       : &s.query[0].targets[0].expr;
}

std::optional<Bypass> behindCondition(const Condition& reader, const LockSite& site, const FunctionIndex& index) {
  const Expr* root = condition(*site.statement);
  if (!root) return std::nullopt;
  const std::int32_t block = index.blockOf(*site.statement);
  for (const bool value : {true, false}) {
    std::optional<Bypass> bypass = reader.without(*root, value);
    if (!bypass) continue;
    if (const auto work = index.workBehind(block, value)) {
      bypass->work = *work;
      return bypass;
    }
  }
  return std::nullopt;
}

// b := force OR try(…); … IF b THEN work / IF NOT b THEN RETURN.
std::optional<Bypass> behindVariable(const Condition& reader, const LockSite& site, const FunctionIndex& index) {
  const Expr* root = condition(*site.statement);
  if (!root || site.statement->into.size() != 1) return std::nullopt;
  std::optional<Bypass> bypass = reader.without(*root, true);
  if (!bypass) return std::nullopt;
  for (const TestedVariable& test : index.tests(site.statement->into[0]))
    if (const auto work = index.workBehind(test.block, test.value)) {
      bypass->work = *work;
      return bypass;
    }
  return std::nullopt;
}

// The same for every row: parameters, variables and constants alone.
bool rowIndependent(const Expr& e, const FunctionIndex& index) {
  bool independent = true;
  struct V {
    bool& independent;
    const FunctionIndex& index;
    void onExpr(const Expr& x, const QueryLevels&) {
      if (x.kind == ExprKind::SubSelect || x.kind == ExprKind::Star) independent = false;
      if (x.kind == ExprKind::Column && !index.isVariable(x.qualifier.empty() ? x.name : x.qualifier)) independent = false;
    }
  } v{independent, index};
  QueryWalker<V>(v).expr(e);
  return independent;
}

std::optional<Bypass> inWhere(const Condition& reader, const LockSite& site, const FunctionIndex& index) {
  if (!site.level || site.level->where.empty() || !contains(site.level->where[0], *site.call)) return std::nullopt;
  std::optional<Bypass> bypass = reader.without(site.level->where[0], true);
  if (!bypass || !rowIndependent(*bypass->decider, index)) return std::nullopt;
  return bypass;
}

}  // namespace

std::optional<Bypass> findBypass(const LockSite& site, const FunctionIndex& index, const Catalogue& catalogue) {
  if (!site.statement || !site.call) return std::nullopt;
  const Condition reader(site, index, catalogue);
  switch (site.statement->context) {
    case PlContext::Condition: return behindCondition(reader, site, index);
    case PlContext::Assign: return behindVariable(reader, site, index);
    case PlContext::None:
    case PlContext::Sql:
    case PlContext::Perform:
    case PlContext::SelectInto:
    case PlContext::ForQuery:
    case PlContext::ReturnQuery: return inWhere(reader, site, index);
    default: return std::nullopt;
  }
}

}  // namespace pglocklint

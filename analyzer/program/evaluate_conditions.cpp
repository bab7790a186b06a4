// Conditions: what they cost, in which order PostgreSQL evaluates those of one scan, and what they say about a row.
//
// The planner sorts the conditions of a scan by (cost, everything else before equalities, written order). A cost is counted in
// operators: a function of C code counts as one, as an operator does. Where a type is not known a hidden cast may add one, so
// costs are intervals, and an order that depends on the type is "unknown".
#include <algorithm>
#include <array>
#include <string_view>

#include "program/evaluate_tree.h"

namespace pglocklint::evaluation {

namespace {

constexpr double kCorrelatedPlain = 4, kCorrelatedScan = 100, kUnbounded = 1e9;

Cost operator+(Cost a, Cost b) { return {a.low + b.low, a.high + b.high}; }

Cost costOfAll(const std::vector<Term>& terms, const Tree& tree) {
  Cost sum;
  for (const Term& t : terms) sum = sum + costOf(t, tree);
  return sum;
}

// The cast that a lock function's argument needs to become bigint (one argument) or integer (two).
Cost keyCast(const Term& argument, bool pair) {
  if (isConstantTerm(argument)) return {0, 0};
  const std::string wanted = pair ? "integer" : "bigint";
  std::string type = argument.type;
  if (argument.is(ExprKind::Call) && !argument.callee.routine)
    if (const Builtin* b = findBuiltin(argument.name)) type = std::string(b->result);
  if (argument.is(ExprKind::Call) && argument.callee.routine && argument.callee.routine->function)
    type = argument.callee.routine->function->returns;
  if (type == "bigserial" || type == "serial8") type = "bigint";
  if (type == "serial" || type == "serial4") type = "integer";
  if (type == wanted) return {0, 0};
  if (type == "smallint" || type == "integer" || type == "smallserial" || type == "serial2") return {1, 1};
  return {0, 1};
}

// Elements of an array that is written as a literal: '{3,1,2}' or ARRAY[3,1,2]; -1 if it is not.
int elementsOf(const Term& array) {
  if (array.is(ExprKind::Cast) && !array.args.empty()) return elementsOf(array.args[0]);
  if (array.is(ExprKind::Array)) return static_cast<int>(array.args.size());
  if (array.is(ExprKind::Const) && array.literal == LiteralKind::String)
    return 1 + static_cast<int>(std::count(array.text.begin(), array.text.end(), ','));
  return -1;
}

Cost listCost(int elements, bool constant) {
  // Half an operator for each element; a constant list of nine or more is hashed (14 and later).
  if (constant && elements >= 9) return {1, elements / 2.0};
  return {elements / 2.0, elements / 2.0};
}

Cost subSelectCost(const Term& t) {
  if (t.query.empty()) return {0, kUnbounded};
  const Level& l = t.query[0];
  if (!correlated(l)) return t.sublink == SubLink::Any || t.sublink == SubLink::All ? Cost{1, kUnbounded} : Cost{0, 0};
  return {l.from.empty() && l.arms.empty() ? kCorrelatedPlain : kCorrelatedScan, kUnbounded};
}

}  // namespace

Cost costOf(const Term& t, const Tree& tree) {
  const Cost args = costOfAll(t.args, tree);
  switch (t.kind) {
    case ExprKind::Const:
    case ExprKind::Param:
    case ExprKind::Column:
    case ExprKind::Star:
    case ExprKind::Default: return {0, 0};
    case ExprKind::And:
    case ExprKind::Or:
    case ExprKind::Not:
    case ExprKind::NullTest:
    case ExprKind::BoolTest:
    case ExprKind::Coalesce:
    case ExprKind::Array:
    case ExprKind::Row: return args;
    case ExprKind::Case: {
      const bool operand = t.source && t.source->is(ExprKind::Case) && t.source->has_operand;
      return operand ? args + Cost{static_cast<double>(t.args.size()) / 2, static_cast<double>(t.args.size()) / 2} : args;
    }
    case ExprKind::MinMax:
    case ExprKind::NullIf:
    case ExprKind::Distinct:
    case ExprKind::Like: return args + Cost{1, 1};
    case ExprKind::Between: return args + Cost{2, 2};
    case ExprKind::Op: {
      const double n = t.args.size() > 1 ? static_cast<double>(t.args.size()) - 1 : 1;
      if (!t.args.empty() && t.args[0].is(ExprKind::Row) && n == 1) {
        const double columns = std::max<double>(1, static_cast<double>(t.args[0].args.size()));
        return args + Cost{columns, columns};
      }
      return args + Cost{n, n};
    }
    case ExprKind::InList: {
      const bool columns = std::any_of(t.args.begin() + (t.args.empty() ? 0 : 1), t.args.end(),
                                       [](const Term& a) { return !leavesOf(a).empty(); });
      const int n = static_cast<int>(t.args.size()) - 1;
      const bool constant = std::all_of(t.args.begin() + (t.args.empty() ? 0 : 1), t.args.end(), isConstantTerm);
      return args + (columns ? Cost{static_cast<double>(n), static_cast<double>(n)} : listCost(n, constant));
    }
    case ExprKind::AnyAll: {
      const int n = t.args.size() > 1 ? elementsOf(t.args[1]) : -1;
      return args + (n < 0 ? Cost{1, 5} : listCost(n, isConstantTerm(t.args[1])));
    }
    case ExprKind::Cast: {
      if (isConstantTerm(t)) return {0, 0};
      const std::string from = t.args.empty() ? "" : t.args[0].type;
      const auto isInteger = [](const std::string& s) { return s == "bigint" || s == "integer" || s == "smallint"; };
      const auto isText = [](const std::string& s) { return s == "text" || s.rfind("character varying", 0) == 0; };
      if (!from.empty() && from == t.type) return args;
      if (isText(from) && isText(t.type)) return args;
      if (isInteger(from) && isInteger(t.type)) return args + Cost{1, 1};
      return args + Cost{0, 2};
    }
    case ExprKind::Call: {
      Cost c = args + costOfAll(t.filter, tree);
      const bool known = t.callee.known;
      c = c + (known ? Cost{t.callee.cost, t.callee.cost} : Cost{1, 100});
      if (!t.sites.empty() && findLockFunction(t.name) && !t.callee.routine)
        for (const Term& a : t.args) c = c + keyCast(a, t.args.size() == 2);
      return c;
    }
    case ExprKind::SubSelect: return args + subSelectCost(t);
    case ExprKind::Subscript: return args + Cost{0, 1};
    case ExprKind::Other: break;
  }
  return {args.low, args.high + 10};
}

bool isEquivalence(const Term& t) {
  return t.is(ExprKind::Op) && t.name == "=" && t.args.size() == 2 && !volatileDirect(t) && !t.args[0].is(ExprKind::Row);
}

Rank rankOf(const Term& t, const Tree& tree) { return {costOf(t, tree), isEquivalence(t)}; }

Before runsBefore(const Rank& p, std::size_t i, const Rank& q, std::size_t j) {
  const Cost a = p.cost, b = q.cost;
  const bool tie_first = p.equality != q.equality ? q.equality : i < j;
  if (a.high < b.low || (a.high == b.low && tie_first)) return Before::Yes;
  if (a.low > b.high || (a.low == b.high && !tie_first)) return Before::No;
  return Before::Unknown;
}

bool indexable(const Term& c, const Tree& tree) {
  constexpr std::array<std::string_view, 5> kIndexed{"=", "<", ">", "<=", ">="};
  const auto hasIndex = [&](const Term& t) {
    if (!t.is(ExprKind::Column)) return false;
    if (t.leaf == kSomeLeaf) return true;
    if (t.leaf < 0) return false;
    const LeafInfo& info = tree.info(t.leaf);
    if (!info.relation) return !info.columns_known;  // not known: there may be one
    return std::any_of(info.relation->indexes.begin(), info.relation->indexes.end(),
                       [&](const auto& columns) { return std::find(columns.begin(), columns.end(), t.name) != columns.end(); }) ||
           std::any_of(info.relation->unique_keys.begin(), info.relation->unique_keys.end(),
                       [&](const auto& columns) { return std::find(columns.begin(), columns.end(), t.name) != columns.end(); });
  };
  switch (c.kind) {
    case ExprKind::Op:
      if (std::find(kIndexed.begin(), kIndexed.end(), c.name) == kIndexed.end()) return false;
      [[fallthrough]];
    case ExprKind::InList:
    case ExprKind::Between:
    case ExprKind::Like:
    case ExprKind::AnyAll:
    case ExprKind::NullTest:
      return !c.negated && !c.args.empty() && std::any_of(c.args.begin(), c.args.end(), hasIndex);
    case ExprKind::Column: return hasIndex(c);
    case ExprKind::Not:
    case ExprKind::BoolTest: return !c.args.empty() && hasIndex(c.args[0]);
    case ExprKind::Or: return std::all_of(c.args.begin(), c.args.end(), [&](const Term& t) { return indexable(t, tree); });
    case ExprKind::And: return std::any_of(c.args.begin(), c.args.end(), [&](const Term& t) { return indexable(t, tree); });
    default: return false;
  }
}

bool keepsLockedRows(const Term& t) {
  if (!containsLock(t)) return true;
  switch (t.kind) {
    case ExprKind::Call: return !t.sites.empty() && (t.callee.boolean || !t.callee.known);
    case ExprKind::Or: return std::all_of(t.args.begin(), t.args.end(), keepsLockedRows);
    case ExprKind::Op:
      if (t.args.size() != 2) return false;
      if (t.name == "=")
        return (t.args[1].isTrue() && keepsLockedRows(t.args[0])) || (t.args[0].isTrue() && keepsLockedRows(t.args[1]));
      if (t.name == "<>")
        return (t.args[1].isFalse() && keepsLockedRows(t.args[0])) || (t.args[0].isFalse() && keepsLockedRows(t.args[1]));
      return false;
    case ExprKind::NullTest: return t.negated && !t.args.empty() && (t.args[0].is(ExprKind::Call) || keepsLockedRows(t.args[0]));
    case ExprKind::BoolTest: {
      const bool is_true = t.text == "true" && !t.negated, not_false = t.text == "false" && t.negated;
      const bool known = t.text == "unknown" && t.negated;
      return !t.args.empty() && (is_true || not_false || known) && keepsLockedRows(t.args[0]);
    }
    case ExprKind::Case: {
      // Conditions without a lock choose a branch; a lock in a condition must lead to a branch that is true.
      const bool operand = t.source && t.source->is(ExprKind::Case) && t.source->has_operand;
      for (std::size_t i = operand ? 1 : 0; i + 1 < t.args.size(); i += 2) {
        if (containsLock(t.args[i]) && (!keepsLockedRows(t.args[i]) || !t.args[i + 1].isTrue())) return false;
        if (!keepsLockedRows(t.args[i + 1])) return false;
      }
      const bool has_else = (t.args.size() - (operand ? 1 : 0)) % 2 == 1;
      return !has_else || keepsLockedRows(t.args.back());
    }
    case ExprKind::Coalesce: return std::all_of(t.args.begin(), t.args.end(), keepsLockedRows);
    case ExprKind::SubSelect: {
      if (t.query.empty()) return false;
      const Level& l = t.query[0];
      if (t.sublink == SubLink::Exists)
        return std::all_of(l.where.begin(), l.where.end(), [&](const Term& c) { return keepsLockedRows(c); });
      return t.sublink == SubLink::Scalar && l.targets.size() == 1 && keepsLockedRows(l.targets[0].term);
    }
    default: return false;
  }
}

bool bindsUniqueKey(int leaf, const std::vector<Term>& conditions, const Tree& tree, const std::set<int>& forbidden,
                    bool* constant) {
  const LeafInfo& info = tree.info(leaf);
  if (!info.relation) return false;
  const auto bound = [&](const std::string& column) {
    for (const Term& c : conditions) {
      if (!isEquivalence(c)) continue;
      for (int side = 0; side < 2; ++side) {
        const Term& mine = c.args[static_cast<std::size_t>(side)];
        const Term& other = c.args[static_cast<std::size_t>(1 - side)];
        if (!mine.is(ExprKind::Column) || mine.leaf != leaf || mine.name != column || namesUnknownLeaf(other)) continue;
        const std::set<int> names = leavesOf(other);
        if (names.count(leaf) || std::any_of(names.begin(), names.end(), [&](int l) { return forbidden.count(l) > 0; })) continue;
        if (constant && names.empty()) *constant = true;
        return true;
      }
    }
    return false;
  };
  return std::any_of(info.relation->unique_keys.begin(), info.relation->unique_keys.end(), [&](const auto& key) {
    return !key.empty() && std::all_of(key.begin(), key.end(), bound);
  });
}

namespace {

// Is the value NULL whenever all columns of these leaves are?
bool nullWith(const Term& t, const std::set<int>& leaves) {
  const auto any = [&](const std::vector<Term>& terms) {
    return std::any_of(terms.begin(), terms.end(), [&](const Term& a) { return nullWith(a, leaves); });
  };
  switch (t.kind) {
    case ExprKind::Column: return leaves.count(t.leaf) > 0;
    case ExprKind::Call: return t.callee.known && t.callee.strict && !t.callee.aggregate && !t.callee.window && any(t.args);
    case ExprKind::Op:
    case ExprKind::Like: return any(t.args);
    case ExprKind::InList:
    case ExprKind::AnyAll:
    case ExprKind::Between: return !t.args.empty() && nullWith(t.args[0], leaves);
    case ExprKind::Cast:
    case ExprKind::Not: return !t.args.empty() && nullWith(t.args[0], leaves);
    default: return false;
  }
}

}  // namespace

bool rejectsNull(const Term& t, const std::set<int>& leaves) {
  switch (t.kind) {
    case ExprKind::And: return std::any_of(t.args.begin(), t.args.end(), [&](const Term& a) { return rejectsNull(a, leaves); });
    case ExprKind::Or:
      return !t.args.empty() && std::all_of(t.args.begin(), t.args.end(), [&](const Term& a) { return rejectsNull(a, leaves); });
    case ExprKind::NullTest: return t.negated && !t.args.empty() && nullWith(t.args[0], leaves);
    case ExprKind::BoolTest:
      return !t.args.empty() && ((!t.negated && t.text != "unknown") || (t.negated && t.text == "unknown")) &&
             nullWith(t.args[0], leaves);
    default: return nullWith(t, leaves);
  }
}

}  // namespace pglocklint::evaluation

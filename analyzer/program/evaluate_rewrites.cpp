// The rewrites R0 to R6: what PostgreSQL always does to a query before it looks at costs. Each needs no statistics, so what they
// decide is certain. Numbers in brackets are the manual's or the planner's reasons that a reader will look for.
#include <algorithm>
#include <cstdlib>

#include "program/evaluate_level.h"

namespace pglocklint::evaluation {

namespace {

Term constant(LiteralKind literal, std::string text, const Expr* source) {
  Term t;
  t.kind = ExprKind::Const, t.literal = literal, t.text = std::move(text), t.source = source;
  return t;
}
Term boolean(bool value, const Expr* source) { return constant(LiteralKind::Boolean, value ? "true" : "false", source); }

// --- R3: constants --------------------------------------------------------------------------------------------------

void become(Term& t, Term by) {
  const Expr* source = t.source;
  by.source = by.source ? by.source : source;
  t = std::move(by);
}

std::optional<int> compareConstants(const Term& a, const Term& b) {
  if (!a.is(ExprKind::Const) || !b.is(ExprKind::Const) || a.literal != b.literal) return std::nullopt;
  if (a.literal == LiteralKind::Integer && a.text.size() < 18 && b.text.size() < 18) {
    const long long x = std::strtoll(a.text.c_str(), nullptr, 10), y = std::strtoll(b.text.c_str(), nullptr, 10);
    return x < y ? -1 : x > y;
  }
  if ((a.literal == LiteralKind::String || a.literal == LiteralKind::Boolean) && a.text == b.text) return 0;
  return std::nullopt;
}

// Arithmetic of integer constants that overflows nothing.
std::optional<long long> computed(const Term& t) {
  constexpr long long kMost = 2'147'483'647;  // every integer type holds it
  const auto value = [](const Term& x) -> std::optional<long long> {
    if (!x.is(ExprKind::Const) || x.literal != LiteralKind::Integer || x.text.size() > 10) return std::nullopt;
    return std::strtoll(x.text.c_str(), nullptr, 10);
  };
  const auto a = value(t.args[0]), b = value(t.args[1]);
  if (!a || !b) return std::nullopt;
  std::optional<long long> result;
  if (t.name == "+") result = *a + *b;
  if (t.name == "-") result = *a - *b;
  if (t.name == "*") result = *a * *b;
  if (t.name == "/" && *b != 0) result = *a / *b;
  if (t.name == "%" && *b != 0) result = *a % *b;
  if (!result || *result > kMost || *result < -kMost) return std::nullopt;
  return result;
}

void foldOperator(Term& t, Tree& tree) {
  for (const Term& a : t.args)
    if (a.isNull()) {  // every built-in operator is strict
      for (const Term& b : t.args) recordFolded(b, Cause::NullKey, a.range(), tree);
      return become(t, constant(LiteralKind::Null, "", t.source));
    }
  if (t.args.size() != 2) return;
  if (const auto number = computed(t)) return become(t, constant(LiteralKind::Integer, std::to_string(*number), t.source));
  if (const auto order = compareConstants(t.args[0], t.args[1])) {
    const int c = *order;
    if (t.name == "=") return become(t, boolean(c == 0, t.source));
    if (t.name == "<>" || t.name == "!=") return become(t, boolean(c != 0, t.source));
    if (t.args[0].literal != LiteralKind::Integer) return;
    if (t.name == "<") return become(t, boolean(c < 0, t.source));
    if (t.name == ">") return become(t, boolean(c > 0, t.source));
    if (t.name == "<=") return become(t, boolean(c <= 0, t.source));
    if (t.name == ">=") return become(t, boolean(c >= 0, t.source));
    return;
  }
  // x = true is x, x = false is NOT x.
  const bool equal = t.name == "=";
  if (!equal && t.name != "<>") return;
  for (std::size_t i = 0; i < 2; ++i) {
    const Term& c = t.args[i];
    if (!c.isTrue() && !c.isFalse()) continue;
    Term other = t.args[1 - i];
    const Expr* source = t.source;
    if (c.isTrue() == equal) {
      other.source = other.is(ExprKind::Call) ? other.source : source;
      t = std::move(other);
    } else {
      Term negation;
      negation.kind = ExprKind::Not, negation.source = source;
      negation.args.push_back(std::move(other));
      t = std::move(negation);
    }
    return;
  }
}

// AND with a false operand is false, whatever stands before it; OR with a true one is true.
void foldJunction(Term& t, Tree& tree) {
  const bool is_and = t.is(ExprKind::And);
  for (std::size_t i = 0; i < t.args.size(); ++i)
    if (is_and ? t.args[i].isFalse() : t.args[i].isTrue()) {
      const Term decider = t.args[i];
      for (std::size_t k = 0; k < t.args.size(); ++k)
        if (k < i) recordFolded(t.args[k], is_and ? Cause::ConstantFalse : Cause::ShortCircuit, decider.range(), tree);
        else if (k > i) recordNever(t.args[k], is_and ? Cause::ConstantFalse : Cause::ShortCircuit, decider.range(), tree);
      return become(t, boolean(!is_and, decider.source));
    }
  std::vector<Term> kept;
  for (Term& a : t.args)
    if (!(is_and ? a.isTrue() : a.isFalse())) kept.push_back(std::move(a));
  if (kept.empty()) return become(t, boolean(is_and, t.source));
  if (kept.size() == 1) {
    Term only = std::move(kept[0]);
    t = std::move(only);
    return;
  }
  t.args = std::move(kept);
}

void foldCase(Term& t, Tree& tree) {
  const bool operand = t.source && t.source->is(ExprKind::Case) && t.source->has_operand;
  std::vector<Term> kept;
  std::size_t i = 0;
  if (operand) {
    fold(t.args[0], tree);
    kept.push_back(t.args[0]);
    i = 1;
  }
  bool decided = false;
  for (; i + 1 < t.args.size(); i += 2) {
    Term& when = t.args[i];
    if (decided) {
      recordNever(when, Cause::DeadBranch, kept.back().range(), tree);
      recordNever(t.args[i + 1], Cause::DeadBranch, kept.back().range(), tree);
      continue;
    }
    fold(when, tree);
    Term test = when;
    if (operand) {
      const auto order = compareConstants(t.args[0], when);
      if (order) test = boolean(*order == 0, when.source);
      else if (!when.isNull()) test = Term{};
    }
    if (test.isFalse() || test.isNull()) {
      recordNever(t.args[i + 1], Cause::DeadBranch, when.range(), tree);
      continue;
    }
    fold(t.args[i + 1], tree);
    if (test.isTrue() && kept.size() == (operand ? 1u : 0u)) {  // the first live branch is always taken
      for (std::size_t k = i + 2; k < t.args.size(); ++k) recordNever(t.args[k], Cause::DeadBranch, when.range(), tree);
      Term chosen = std::move(t.args[i + 1]);
      t = std::move(chosen);
      return;
    }
    kept.push_back(when);
    kept.push_back(t.args[i + 1]);
    decided = test.isTrue();
  }
  if (i < t.args.size()) {
    if (decided) {
      recordNever(t.args[i], Cause::DeadBranch, t.range(), tree);
    } else {
      fold(t.args[i], tree);
      if (kept.size() == (operand ? 1u : 0u)) {
        Term chosen = std::move(t.args[i]);
        t = std::move(chosen);
        return;
      }
      kept.push_back(t.args[i]);
    }
  }
  t.args = std::move(kept);
}

void foldCoalesce(Term& t, Tree& tree) {
  std::vector<Term> kept;
  for (std::size_t i = 0; i < t.args.size(); ++i) {
    if (t.args[i].isNull()) continue;
    kept.push_back(t.args[i]);
    if (!t.args[i].is(ExprKind::Const)) continue;
    for (std::size_t k = i + 1; k < t.args.size(); ++k) recordNever(t.args[k], Cause::Coalesce, t.args[i].range(), tree);
    break;
  }
  if (kept.empty()) return become(t, constant(LiteralKind::Null, "", t.source));
  if (kept.size() == 1) {
    Term only = std::move(kept[0]);
    t = std::move(only);
    return;
  }
  t.args = std::move(kept);
}

// With a NULL on either side it is its first operand, and the second is not looked at.
void foldNullIf(Term& t, Tree& tree) {
  if (t.args.size() != 2 || (!t.args[0].isNull() && !t.args[1].isNull())) return;
  const SourceRange null = t.args[t.args[0].isNull() ? 0 : 1].range();
  recordFolded(t.args[1], Cause::NullKey, null, tree);
  Term first = std::move(t.args[0]);
  t = std::move(first);
}

// --- R0: SQL functions of one SELECT expression are replaced by it (inline_function) -----------------------------------

int usesOfParameter(const Query& body, const Function& f, std::size_t index) {
  int uses = 0;
  std::string name;
  for (std::size_t i = 0, n = 0; i < f.parameters.size(); ++i) {
    const Parameter& p = f.parameters[i];
    if (p.mode == ParameterMode::Out || p.mode == ParameterMode::Table) continue;
    if (n++ == index) name = p.name;
  }
  const std::string number = std::to_string(index + 1);
  const std::function<void(const Expr&)> count = [&](const Expr& e) {
    if ((e.is(ExprKind::Param) && e.text == number) || (e.is(ExprKind::Column) && !name.empty() && e.name == name)) ++uses;
    for (const Expr& a : e.args) count(a);
  };
  for (const Target& t : body.targets) count(t.expr);
  return uses;
}

bool isPlainSelect(const Query& q) {
  return q.kind == QueryKind::Select && q.ctes.empty() && q.from.empty() && q.where.empty() && q.group_by.empty() &&
         q.having.empty() && q.distinct == DistinctKind::None && q.order_by.empty() && q.limit.empty() && q.offset.empty() &&
         q.locking.empty() && q.targets.size() == 1;
}

int inlinedVia(const Term& call, Tree& tree) {
  const int via = call.sites.empty() ? -1 : tree.sites[static_cast<std::size_t>(call.sites[0])].via;
  if (via >= 0) return via;
  tree.vias.push_back({call.name, call.range()});
  return static_cast<int>(tree.vias.size()) - 1;
}

// The body of the SQL function that is called, in the place of the call.
Level inlinedBody(const Term& call, Tree& tree) {
  const Routine& r = *call.callee.routine;
  const int site = call.sites.empty() ? -1 : call.sites[0];
  return buildBody(*r.inline_body, *r.function, call.args, inlinedVia(call, tree), site, tree);
}

// Every lock call in an inlined body also answers for the call that was written.
void addSites(Term& term, const std::vector<int>& sites) {
  if (term.callee.locks) term.sites.insert(term.sites.end(), sites.begin(), sites.end());
  for (Term& a : term.args) addSites(a, sites);
  for (Term& a : term.filter) addSites(a, sites);
  for (Level& l : term.query) {
    for (Output& o : l.targets) addSites(o.term, sites);
    for (Term& w : l.where) addSites(w, sites);
  }
}

bool inlineScalar(Term& t, Tree& tree) {
  const Routine* r = t.callee.routine;
  if (!r || r->language != "sql" || r->returns_set || !r->inline_body || !r->function || !isPlainSelect(*r->inline_body))
    return false;
  const Function& f = *r->function;
  if (f.security_definer || !f.settings.empty() || f.returns == "record" || tree.depth > 40 || !tree.spend(20)) return false;
  std::size_t inputs = 0;
  for (const Parameter& p : f.parameters)
    if (p.mode == ParameterMode::In || p.mode == ParameterMode::InOut) ++inputs;
  if (inputs != t.args.size()) return false;
  // Whether it may be inlined is asked of the body alone; the copy for that question leaves no trace.
  const std::size_t sites_before = tree.sites.size();
  const Level bare = buildBody(*r->inline_body, f, std::vector<Term>(t.args.size()), -1, -1, tree);
  tree.sites.resize(sites_before);
  if (bare.targets.size() != 1) return false;
  const Term& body = bare.targets[0].term;
  if (containsAggregate(body) || containsWindow(body) || containsSetReturning(body)) return false;
  const auto calls = [&](Volatility v) {
    bool found = false;
    forEachTerm(body, true, [&](const Term& x) { found = found || (x.is(ExprKind::Call) && x.callee.volatility == v); });
    return found;
  };
  // A body more volatile than declared stays a call; so does a void function whose expression gives something else.
  if (r->volatility != Volatility::Volatile && calls(Volatility::Volatile)) return false;
  if (r->volatility == Volatility::Immutable && calls(Volatility::Stable)) return false;
  if (f.returns == "void" && (!body.is(ExprKind::Call) || body.callee.boolean)) return false;
  if (r->strict && !(body.is(ExprKind::Call) && body.callee.strict) && !body.is(ExprKind::Op)) return false;
  for (std::size_t i = 0; i < t.args.size(); ++i) {
    const int uses = usesOfParameter(*r->inline_body, f, i);
    if (uses == 0 && r->strict) return false;
    if (uses != 1 && (volatileDeep(t.args[i]) || costOf(t.args[i], tree).high > 10 || containsSubSelect(t.args[i]))) return false;
  }
  Level level = inlinedBody(t, tree);
  Term inner = std::move(level.targets[0].term);
  addSites(inner, t.sites);
  t = std::move(inner);
  return true;
}

void foldCall(Term& t, Tree& tree) {
  if (t.callee.known && t.callee.strict && !t.callee.aggregate && !t.callee.window && !t.callee.returns_set)
    for (const Term& a : t.args)
      if (a.isNull()) {
        recordFolded(t, Cause::NullKey, a.range(), tree);  // itself is no constant call: it has no result to be folded to
        return become(t, constant(LiteralKind::Null, "", t.source));
      }
  if (inlineScalar(t, tree)) {
    ++tree.depth;
    fold(t, tree);
    --tree.depth;
  }
}

}  // namespace

void fold(Term& t, Tree& tree) {
  if (t.is(ExprKind::Case)) return foldCase(t, tree);
  for (Term& a : t.args) {
    fold(a, tree);
    // COALESCE and the junctions decide from the left, and what they skip is never folded; recording it again does no harm.
  }
  for (Term& a : t.filter) fold(a, tree);
  for (Term& a : t.order) fold(a, tree);
  for (Term& a : t.window) fold(a, tree);
  switch (t.kind) {
    case ExprKind::And:
    case ExprKind::Or: return foldJunction(t, tree);
    case ExprKind::Not:
      if (t.args.size() == 1 && t.args[0].isTrue()) return become(t, boolean(false, t.source));
      if (t.args.size() == 1 && t.args[0].isFalse()) return become(t, boolean(true, t.source));
      if (t.args.size() == 1 && t.args[0].isNull()) return become(t, t.args[0]);
      return;
    case ExprKind::Coalesce: return foldCoalesce(t, tree);
    case ExprKind::NullIf: return foldNullIf(t, tree);
    case ExprKind::Op: return foldOperator(t, tree);
    case ExprKind::Call: return foldCall(t, tree);
    case ExprKind::NullTest:
      if (t.args.size() == 1 && t.args[0].is(ExprKind::Const))
        return become(t, boolean(t.args[0].isNull() != t.negated, t.source));
      return;
    case ExprKind::BoolTest:
      if (t.args.size() == 1 && t.args[0].is(ExprKind::Const)) {
        const Term& a = t.args[0];
        const bool is = a.isNull() ? t.text == "unknown" : a.isTrue() ? t.text == "true" : t.text == "false";
        if (a.isNull() || a.isTrue() || a.isFalse()) return become(t, boolean(is != t.negated, t.source));
      }
      return;
    case ExprKind::Cast:
      if (t.args.size() == 1 && t.args[0].isNull()) return become(t, constant(LiteralKind::Null, "", t.source));
      if (t.args.size() == 1 && t.type == "boolean" && t.args[0].is(ExprKind::Const)) {
        const std::string& v = t.args[0].text;
        if (v == "true" || v == "t" || v == "false" || v == "f") return become(t, boolean(v[0] == 't', t.source));
      }
      return;
    default: return;
  }
}

namespace {

// Folds a list of conjuncts; returns the one that is false or NULL, if any (the others are then never run).
std::vector<Term> foldConjuncts(std::vector<Term>& list, Tree& tree) {
  std::vector<Term> out, killer;
  for (Term& c : list) {
    fold(c, tree);
    splitConjuncts(std::move(c), out);
  }
  list.clear();
  for (Term& c : out) {
    if (c.isTrue()) continue;
    if ((c.isFalse() || c.isNull()) && killer.empty()) killer.push_back(c);
    list.push_back(std::move(c));
  }
  return killer;
}

void foldNode(FromNode& node, Tree& tree) {
  for (FromNode& side : node.sides) foldNode(side, tree);
  foldConjuncts(node.on, tree);
  for (Term& f : node.leaf.functions) fold(f, tree);
}

}  // namespace

void foldLevel(Level& level, Tree& tree) {
  for (FromNode& n : level.from) foldNode(n, tree);
  std::vector<Term> killer = foldConjuncts(level.where, tree);
  if (!killer.empty()) {  // it is all that is left of this WHERE; what a merged sub-select asks is a list of its own
    for (const Term& c : level.where)
      if (!c.isFalse() && !c.isNull()) recordFolded(c, Cause::ConstantFalse, killer[0].range(), tree);
    level.where = killer;
    level.killed_by = std::move(killer);
  }
  std::vector<Term> having = foldConjuncts(level.having, tree);
  if (!having.empty()) level.having = having;  // false: decides for each group after all
  const auto all = [&](auto& list) {
    for (auto& o : list) fold(o.term, tree);
  };
  all(level.targets), all(level.sets), all(level.returning), all(level.conflict_sets), all(level.order_by);
  for (auto* list : {&level.group_by, &level.distinct_on, &level.limit, &level.offset, &level.conflict_where})
    for (Term& t : *list) fold(t, tree);
  for (auto& row : level.rows)
    for (Term& t : row) fold(t, tree);
  for (Branch& b : level.merge) {
    foldConjuncts(b.condition, tree);
    all(b.sets);
  }
}

// --- R1: common table expressions -----------------------------------------------------------------------------------

namespace {

// FOR UPDATE and its like, of the level or an arm of it.
bool locksOwnRows(const Level& level) {
  return (level.source && !level.source->locking.empty()) || std::any_of(level.arms.begin(), level.arms.end(), locksOwnRows);
}

// At any depth (contain_dml).
bool locksRows(const Level& level) {
  const auto any = [](const std::vector<Level>& levels) { return std::any_of(levels.begin(), levels.end(), locksOwnRows); };
  bool found = locksOwnRows(level);
  forEachLeaf(level, [&](const Leaf& leaf) { found = found || any(leaf.query); });
  forEachTerm(level, [&](const Term& t) { found = found || any(t.query); });
  return found;
}

}  // namespace

void decideCtes(Tree& tree) {
  for (CteDef& c : tree.ctes) {
    if (c.level.empty() || c.recursive || !c.source) continue;
    const Level& l = c.level[0];
    const bool wanted =
        c.source->materialize == Materialize::Never || (c.source->materialize == Materialize::Default && c.references == 1);
    c.inlined = wanted && c.references > 0 && !l.isDml() && !locksRows(l) && !volatileDeep(l) && !tree.gaveUp();
  }
}

// --- R2 -----------------------------------------------------------------------------------------------------------

bool existsDropsTargets(const Level& l) {
  if (l.kind != QueryKind::Select || levelAggregates(l) || levelHasWindow(l) || levelReturnsSets(l) || !l.having.empty() ||
      l.grouping_sets || !l.offset.empty() || (l.source && !l.source->locking.empty()))
    return false;
  if (l.limit.empty() || l.limit[0].isNull()) return true;
  return l.limit[0].is(ExprKind::Const) && l.limit[0].literal == LiteralKind::Integer && std::atoi(l.limit[0].text.c_str()) > 0;
}

// --- R4: a simple sub-select in FROM becomes part of the level (is_simple_subquery) -------------------------------------

namespace {

bool isSimple(const Level& l) {
  if (l.kind != QueryKind::Select || l.has_ctes || l.grouped || levelAggregates(l) || !l.having.empty() || levelHasWindow(l) ||
      levelReturnsSets(l) || l.distinct != DistinctKind::None || !l.order_by.empty() || !l.limit.empty() || !l.offset.empty() ||
      (l.source && !l.source->locking.empty()))
    return false;
  return std::none_of(l.targets.begin(), l.targets.end(), [](const Output& o) { return volatileDeep(o.term); });
}

// Which output of a sub-select a column of its leaf is; -1 if that cannot be told.
int outputIndex(const std::string& name, int leaf, const Level& l, const Tree& tree) {
  const auto& columns = tree.info(leaf).columns;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name && i < l.targets.size()) return static_cast<int>(i);
  return -1;
}

void pullUp(FromNode& node, Level& level, bool nullable, Tree& tree);

void pinJoins(FromNode& node) {
  node.pinned = true;
  for (FromNode& side : node.sides) pinJoins(side);
}

// `nullable`: on a side of an outer join that may be filled up with NULLs. What is no plain column there, or below grouping sets, is
// computed at its place and carried up as a value that all of the sub-select's leaves belong to.
void merge(FromNode& node, Level& level, bool nullable, Tree& tree) {
  const int id = node.leaf.id;
  const bool carries = nullable || level.grouping_sets;
  Level child = std::move(node.leaf.query[0]);
  const FromItem* source = node.source;
  node = FromNode{};
  node.is_leaf = false, node.source = source;
  node.sides = std::move(child.from);
  node.on = std::move(child.where);
  std::vector<bool> used(child.targets.size(), false);
  int star = kNoLeaf;
  for (const Output& o : child.targets)
    if (o.name == "*" && o.term.is(ExprKind::Column)) star = o.term.leaf;
  const Replacement replace = [&](const Term& column) {
    const int i = outputIndex(column.name, id, child, tree);
    if (i >= 0 && child.targets[static_cast<std::size_t>(i)].name != "*") {
      used[static_cast<std::size_t>(i)] = true;
      const Term& target = child.targets[static_cast<std::size_t>(i)].term;
      if (!carries || !target.is(ExprKind::Const)) return target;
      Term carried;  // NULL where its side is filled up or its group is of a set without it: no constant to reckon with
      carried.kind = ExprKind::Other, carried.source = target.source, carried.args.push_back(target);
      return carried;
    }
    Term t;
    if (column.name == "*" && star == kNoLeaf) {
      t.kind = ExprKind::Row, t.source = column.source;
      for (std::size_t k = 0; k < child.targets.size(); ++k) used[k] = true, t.args.push_back(child.targets[k].term);
      return t;
    }
    t.kind = ExprKind::Column, t.source = column.source, t.name = column.name;
    t.leaf = star != kNoLeaf ? star : kSomeLeaf;
    return t;
  };
  substitute(level, id, replace, tree);
  for (std::size_t i = 0; i < child.targets.size(); ++i) {
    const Term& target = child.targets[i].term;
    if (!used[i]) recordNever(target, Cause::PrunedTarget, target.range(), tree, CallPosition::SelectList);
    else if (carries && !target.is(ExprKind::Column)) pinJoins(node);
  }
  // What was merged may hold sub-selects of its own, at every depth.
  for (FromNode& side : node.sides) pullUp(side, level, nullable, tree);
}

// A set-returning SQL function in FROM that is not VOLATILE is the sub-select it stands for (inline_set_returning_function).
void inlineRows(Leaf& leaf, Tree& tree) {
  if (leaf.functions.size() != 1 || (leaf.source && leaf.source->ordinality)) return;
  const Term& call = leaf.functions[0];
  const Routine* r = call.callee.routine;
  if (!r || r->language != "sql" || !r->returns_set || r->volatility == Volatility::Volatile || r->strict || !r->inline_body ||
      !r->function || r->function->security_definer || !r->function->settings.empty() || tree.depth > 40 || !tree.spend(20))
    return;
  for (const Term& a : call.args)
    if (volatileDeep(a) || containsSubSelect(a)) return;
  const Term written = call;
  tree.depth += 10;
  Level body = inlinedBody(written, tree);
  tree.depth -= 10;
  if (body.isDml()) return;
  for (Output& o : body.targets) addSites(o.term, written.sites);
  for (Term& w : body.where) addSites(w, written.sites);
  std::vector<Column> names = tree.info(leaf.id).columns;
  bool known = false;
  std::vector<Column> columns = columnsOf(body, known);
  if (columns.size() == 1 && names.size() == 1) columns[0].name = names[0].name;
  tree.info(leaf.id).columns = std::move(columns), tree.info(leaf.id).columns_known = known;
  leaf.kind = LeafKind::SubQuery;
  leaf.functions.clear();
  leaf.query.push_back(std::move(body));
}

void pullUp(FromNode& node, Level& level, bool nullable, Tree& tree) {
  for (std::size_t i = 0; i < node.sides.size(); ++i) {
    const bool filled = node.join == JoinType::Full || (node.join == JoinType::Left && i == 1) || (node.join == JoinType::Right && i == 0);
    pullUp(node.sides[i], level, nullable || filled, tree);
  }
  if (!node.is_leaf) return;
  Leaf& leaf = node.leaf;
  if (leaf.kind == LeafKind::Cte && !leaf.self_reference && leaf.cte >= 0) {
    const CteDef& def = tree.ctes[static_cast<std::size_t>(leaf.cte)];
    if (def.inlined && !tree.gaveUp()) {
      Level copy = def.level[0];
      refresh(copy, tree);
      leaf.kind = LeafKind::SubQuery;
      leaf.query.push_back(std::move(copy));
    }
  }
  if (leaf.kind == LeafKind::Function) inlineRows(leaf, tree);
  if (leaf.kind == LeafKind::SubQuery && leaf.query.size() == 1 && !tree.gaveUp() && isSimple(leaf.query[0]) &&
      !tree.info(leaf.id).barrier)
    merge(node, level, nullable, tree);
}

// --- R5: outer joins ------------------------------------------------------------------------------------------------

// The preserved side of a LEFT JOIN takes part: what its inner joins ask is asked of every row that comes out.
void liftConditions(FromNode& node, std::vector<Term>& conditions) {
  if (node.is_leaf || node.sides.empty()) return;
  if (node.join == JoinType::Left) return liftConditions(node.sides[0], conditions);
  if (node.join != JoinType::Inner) return;
  for (FromNode& side : node.sides) liftConditions(side, conditions);
  for (Term& c : node.on) conditions.push_back(std::move(c));
  node.on.clear();
  if (node.sides.size() == 1) {
    FromNode only = std::move(node.sides[0]);
    node = std::move(only);
  }
}

// Inner joins at the top are one list, their conditions WHERE conditions, in the order of deconstruct_jointree: depth first.
void hoistInto(FromNode& node, std::vector<FromNode>& items, std::vector<Term>& conditions) {
  if (node.is_leaf || node.join != JoinType::Inner) {
    if (!node.is_leaf && node.join == JoinType::Right && node.sides.size() == 2) {
      std::swap(node.sides[0], node.sides[1]);
      node.join = JoinType::Left;
    }
    if (!node.is_leaf && node.join == JoinType::Left && node.sides.size() == 2) liftConditions(node.sides[0], conditions);
    items.push_back(std::move(node));
    return;
  }
  for (FromNode& side : node.sides) hoistInto(side, items, conditions);
  for (Term& c : node.on) conditions.push_back(std::move(c));
}

void hoist(Level& level) {
  std::vector<FromNode> items;
  std::vector<Term> conditions;
  for (FromNode& n : level.from) hoistInto(n, items, conditions);
  level.from = std::move(items);
  for (Term& c : level.where) conditions.push_back(std::move(c));
  level.where = std::move(conditions);
}

// A condition that is not true for NULLs makes the nullable side an inner one.
bool reduce(FromNode& node, const std::vector<Term>& where) {
  if (node.is_leaf) return false;
  bool changed = false;
  const auto rejects = [&](const FromNode& side) {
    const std::set<int> leaves = leavesOf(side);
    return std::any_of(where.begin(), where.end(), [&](const Term& c) { return rejectsNull(c, leaves); });
  };
  if (node.join == JoinType::Full && node.sides.size() == 2) {
    const bool left = rejects(node.sides[0]), right = rejects(node.sides[1]);
    if (left && right) node.join = JoinType::Inner;
    else if (left) node.join = JoinType::Left;   // the left side's row must be there
    else if (right) node.join = JoinType::Right;
    changed = left || right;
  }
  if (node.join == JoinType::Right && node.sides.size() == 2)
    std::swap(node.sides[0], node.sides[1]), node.join = JoinType::Left, changed = true;
  if (node.join == JoinType::Left && node.sides.size() == 2 && rejects(node.sides[1]))
    node.join = JoinType::Inner, changed = true;
  if (node.join == JoinType::Inner)
    for (FromNode& side : node.sides) changed = reduce(side, where) || changed;
  else if (node.join == JoinType::Left && !node.sides.empty())
    changed = reduce(node.sides[0], where) || changed;
  return changed;
}

// At most one row for each row of the left side?
enum class Unique { No, Yes, ByConstant };

// Does a condition set a column equal to something that is the same for all rows of the level? Then the planner puts that in the place
// of the column on the other side of joins too.
bool bindsColumn(const Term& c, const std::set<int>& here) {
  const auto fixed = [&](const Term& t) {
    const std::set<int> named = leavesOf(t);
    return std::none_of(named.begin(), named.end(), [&](int l) { return here.count(l) > 0; });
  };
  return isEquivalence(c) && fixed(c.args[0]) != fixed(c.args[1]);
}

Unique uniqueSide(const FromNode& right, const std::vector<Term>& on, const Level& level, const Tree& tree) {
  const Leaf& leaf = right.leaf;
  bool constant = level.bound;
  if (leaf.kind == LeafKind::Table) {
    if (!bindsUniqueKey(leaf.id, on, tree, {leaf.id}, &constant)) return Unique::No;
    return Unique::Yes;
  }
  if (leaf.kind != LeafKind::SubQuery || leaf.query.empty()) return Unique::No;
  const Level& l = leaf.query[0];
  const auto bound = [&](const Term& key) {  // an output that is equated with something of the other side
    for (const Term& c : on) {
      if (!isEquivalence(c)) continue;
      for (std::size_t side = 0; side < 2; ++side) {
        const Term& mine = c.args[side];
        if (!mine.is(ExprKind::Column) || mine.leaf != leaf.id || leavesOf(c.args[1 - side]).count(leaf.id)) continue;
        const int i = outputIndex(mine.name, leaf.id, l, tree);
        if (i < 0 || !sameTerm(l.targets[static_cast<std::size_t>(i)].term, key)) continue;
        if (leavesOf(c.args[1 - side]).empty()) constant = true;
        return true;
      }
    }
    return false;
  };
  if (l.kind == QueryKind::SetOperation) return Unique::No;
  if (levelReturnsSets(l) || l.grouping_sets) return Unique::No;
  bool unique = false;
  if (l.distinct == DistinctKind::On) unique = std::all_of(l.distinct_on.begin(), l.distinct_on.end(), bound);
  if (l.distinct == DistinctKind::All)
    unique = std::all_of(l.targets.begin(), l.targets.end(), [&](const Output& o) { return bound(o.term); });
  if (!unique && l.grouped) unique = std::all_of(l.group_by.begin(), l.group_by.end(), bound);
  if (!unique && !l.grouped && levelAggregates(l)) unique = true;
  if (!unique) return Unique::No;
  const std::set<int> here = leavesOf(level.from);
  for (const Term& c : level.where) constant = constant || bindsColumn(c, here);
  return constant ? Unique::ByConstant : Unique::Yes;
}

bool usedOutside(const Level& level, const FromNode& join, const std::set<int>& leaves) {
  int total = 0, inside = 0;
  const auto counts = [&](const Term& t) { return t.is(ExprKind::Column) && (t.leaf == kSomeLeaf || leaves.count(t.leaf)); };
  forEachTerm(level, [&](const Term& t) { total += counts(t); });
  Level own;
  for (const Term& c : join.on) own.where.push_back(c);
  if (join.sides.size() == 2) own.from.push_back(join.sides[1]);
  forEachTerm(own, [&](const Term& t) { inside += counts(t); });
  return total > inside;
}

// Removes LEFT JOINs that change nothing: nobody uses the right side, and it has at most one partner for each row
// (join_is_removable).
bool removeJoin(FromNode& node, const Level& level, Tree& tree) {
  if (node.is_leaf) return false;
  if (node.join == JoinType::Left && node.sides.size() == 2 && node.sides[1].is_leaf && !node.pinned) {
    const FromNode& right = node.sides[1];
    const std::set<int> leaves = leavesOf(right);
    if (!leaves.empty() && !usedOutside(level, node, leaves)) {
      const Unique unique = uniqueSide(right, node.on, level, tree);
      // A condition without columns stops the removal on some versions, a key bound to a constant on others.
      const auto column_free = [](const Term& c) { return leavesOf(c).empty(); };
      const bool odd = std::any_of(node.on.begin(), node.on.end(), column_free) ||
                       std::any_of(level.where.begin(), level.where.end(), column_free);
      if (unique == Unique::Yes && !odd) {
        const SourceRange range = node.source ? node.source->range : SourceRange{};
        for (const Term& c : node.on) recordFolded(c, Cause::RemovedJoin, range, tree, CallPosition::On);
        Level gone;
        gone.from.push_back(right);
        recordNever(gone, Cause::RemovedJoin, range, tree);
        FromNode left = std::move(node.sides[0]);
        node = std::move(left);
        return true;
      }
    }
  }
  bool changed = false;
  for (FromNode& side : node.sides) changed = removeJoin(side, level, tree) || changed;
  return changed;
}

// --- R6: conditions go down into the sub-select they are about (subquery_is_pushdown_safe, qual_is_pushdown_safe) ---------

std::vector<std::string> columnsNamed(const Term& c, int leaf) {
  std::vector<std::string> out;
  forEachTerm(c, true, [&](const Term& t) {
    if (t.is(ExprKind::Column) && t.leaf == leaf) out.push_back(t.name);
  });
  return out;
}

bool hasSubPlan(const Term& c) {
  bool found = false;
  forEachTerm(c, false, [&](const Term& t) {
    if (t.is(ExprKind::SubSelect))
      found = found || t.sublink == SubLink::Any || t.sublink == SubLink::All || (!t.query.empty() && correlated(t.query[0]));
  });
  return found;
}

bool hasExcept(const Level& l) {
  return l.kind == QueryKind::SetOperation &&
         (l.set_operator == SetOperator::Except || std::any_of(l.arms.begin(), l.arms.end(), hasExcept));
}

// Position-wise names: arms of a set operation are known by the columns of the first.
bool mayEnter(const Term& c, const std::vector<int>& outputs, const Level& l) {
  if (!l.limit.empty() || !l.offset.empty() || l.grouping_sets || hasExcept(l)) return false;
  if (l.kind == QueryKind::SetOperation)
    return !l.arms.empty() && std::all_of(l.arms.begin(), l.arms.end(), [&](const Level& a) { return mayEnter(c, outputs, a); });
  if (l.kind != QueryKind::Select) return false;
  const bool window = levelHasWindow(l), rows = levelReturnsSets(l);
  if (volatileDeep(c) && (l.distinct != DistinctKind::None || window || rows)) return false;
  for (const int i : outputs) {
    if (i < 0 || static_cast<std::size_t>(i) >= l.targets.size()) return false;
    const Output& o = l.targets[static_cast<std::size_t>(i)];
    if (o.name == "*" || volatileDeep(o.term) || containsSetReturning(o.term)) return false;
    if (l.distinct == DistinctKind::On && !o.distinct_key) return false;
    if (window) {
      bool partition_key = true;
      for (const Output& w : l.targets)
        forEachTerm(w.term, false, [&](const Term& t) {
          if (!t.is(ExprKind::Call) || !t.callee.window) return;
          const std::size_t keys = t.source ? t.source->window_partition.size() : 0;
          bool found = false;
          for (std::size_t k = 0; k < keys && k < t.window.size(); ++k) found = found || sameTerm(t.window[k], o.term);
          partition_key = partition_key && found;
        });
      if (!partition_key) return false;
    }
  }
  return true;
}

void enter(Term c, int leaf, const std::vector<Column>& names, Level& l, Tree& tree);

void markFolded(Term& t) {
  t.folded = t.is(ExprKind::Call);
  for (auto* list : {&t.args, &t.filter, &t.order, &t.window})
    for (Term& a : *list) markFolded(a);
}

// An arm of UNION ALL that cannot take a condition gets it on top.
void wrapArm(Term c, int leaf, const std::vector<Column>& names, Level& arm, Tree& tree) {
  LeafInfo info;
  info.columns = names, info.columns_known = true;
  info.barrier = true;  // it stays a query of its own
  tree.leaves.push_back(std::move(info));
  const int id = static_cast<int>(tree.leaves.size()) - 1;
  Level outer;
  outer.source = arm.source;
  FromNode node;
  node.leaf.kind = LeafKind::SubQuery, node.leaf.id = id;
  for (const Column& n : names) {
    Output o;
    o.name = n.name;
    o.term.kind = ExprKind::Column, o.term.leaf = id, o.term.name = n.name, o.term.type = n.type;
    outer.targets.push_back(std::move(o));
  }
  substitute(c, leaf, [&](const Term& column) {
    Term t = column;
    t.leaf = id;
    return t;
  }, tree);
  outer.where.push_back(std::move(c));
  node.leaf.query.push_back(std::move(arm));
  outer.from.push_back(std::move(node));
  arm = std::move(outer);
}

void enter(Term c, int leaf, const std::vector<Column>& names, Level& l, Tree& tree) {
  const auto indexOf = [&](const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].name == name) return static_cast<int>(i);
    return -1;
  };
  if (l.kind == QueryKind::SetOperation) {
    std::vector<int> outputs;
    for (const std::string& n : columnsNamed(c, leaf)) outputs.push_back(indexOf(n));
    for (Level& arm : l.arms) {
      Term copy = c;
      refresh(copy, tree);
      // An arm with one item in FROM is merged and gets it beside its own (is_safe_append_member); one that stays a query of its own takes no sub-plan.
      const bool merged = isSimple(arm) && arm.from.size() == 1 && arm.from[0].is_leaf && arm.from[0].leaf.kind != LeafKind::SubQuery;
      if (mayEnter(copy, outputs, arm) && (merged || !hasSubPlan(copy))) enter(std::move(copy), leaf, names, arm, tree);
      else wrapArm(std::move(copy), leaf, names, arm, tree);
    }
    return;
  }
  substitute(c, leaf, [&](const Term& column) {
    const int i = indexOf(column.name);
    return i >= 0 && static_cast<std::size_t>(i) < l.targets.size() ? l.targets[static_cast<std::size_t>(i)].term : column;
  }, tree);
  if (l.grouped || levelAggregates(l)) l.having.push_back(std::move(c));
  else l.where.push_back(std::move(c));
}

// UNION ALL in FROM is taken apart: each arm gets every condition, on top if it cannot go in.
bool isUnionAll(const Level& l) {
  return l.kind == QueryKind::SetOperation && l.set_operator == SetOperator::Union && l.set_all && l.order_by.empty() &&
         l.limit.empty() && l.offset.empty() && !l.has_ctes;
}

// Comparisons of columns and constants, as far as they are known to be leakproof.
bool leaksNothing(const Term& c) {
  if (leavesOf(c).empty()) return true;  // contain_leaked_vars: no column, no leak
  static const std::set<std::string> comparisons{"=", "<>", "!=", "<", ">", "<=", ">="};
  const auto plain = [](const Term& t) { return t.is(ExprKind::Column) || t.is(ExprKind::Param) || isConstantTerm(t); };
  switch (c.kind) {
    case ExprKind::Op: return c.args.size() == 2 && comparisons.count(c.name) && plain(c.args[0]) && plain(c.args[1]);
    case ExprKind::InList: return std::all_of(c.args.begin(), c.args.end(), plain);
    case ExprKind::And:
    case ExprKind::Or:
    case ExprKind::Not:
    case ExprKind::NullTest:
    case ExprKind::BoolTest: return std::all_of(c.args.begin(), c.args.end(), [&](const Term& a) { return plain(a) || leaksNothing(a); });
    default: return plain(c);
  }
}

void pushInto(Leaf& leaf, std::vector<Term>& conditions, const std::set<int>& level_leaves, Tree& tree) {
  if (leaf.kind != LeafKind::SubQuery || leaf.query.empty() || leaf.query[0].isDml()) return;
  Level& child = leaf.query[0];
  const std::vector<Column>& names = tree.info(leaf.id).columns;
  std::vector<Term> kept;
  for (Term& c : conditions) {
    std::set<int> named;
    for (const int l : leavesOf(c))
      if (level_leaves.count(l)) named.insert(l);
    const bool about = named == std::set<int>{leaf.id} || (named.empty() && level_leaves.size() == 1 && volatileDirect(c));
    std::vector<int> outputs;
    for (const std::string& n : columnsNamed(c, leaf.id)) {
      int index = -1;
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i].name == n) index = static_cast<int>(i);
      outputs.push_back(index);
    }
    const bool known = std::all_of(outputs.begin(), outputs.end(), [](int i) { return i >= 0; });
    const bool may = about && known && (!tree.info(leaf.id).barrier || leaksNothing(c)) && !namesUnknownLeaf(c) && !tree.gaveUp() &&
                     ((isUnionAll(child) && !isSemiJoin(c)) || (!hasSubPlan(c) && mayEnter(c, outputs, child)));
    if (may) markFolded(c), enter(std::move(c), leaf.id, names, child, tree);
    else kept.push_back(std::move(c));
  }
  conditions = std::move(kept);
}

void pushDown(FromNode& node, std::vector<Term>& conditions, const std::set<int>& level_leaves, Tree& tree) {
  if (node.is_leaf) return pushInto(node.leaf, conditions, level_leaves, tree);
  if (node.join == JoinType::Left && node.sides.size() == 2) {
    pushDown(node.sides[0], conditions, level_leaves, tree);
    if (node.sides[1].is_leaf) pushInto(node.sides[1].leaf, node.on, level_leaves, tree);
  }
}

void markBound(Level& l) {
  l.bound = true;
  for (Level& arm : l.arms) markBound(arm);
}

// A constant goes from column to column through equalities, also into the sub-selects (generate_implied_equalities_for_column); which
// of their columns it reaches is not followed.
void passConstants(Level& level) {
  const std::set<int> here = leavesOf(level.from);
  const auto binds = [&](const Term& c) { return bindsColumn(c, here) || (c.is(ExprKind::InList) && !c.negated && c.args.size() == 2); };
  if (!level.bound && std::none_of(level.where.begin(), level.where.end(), binds)) return;
  forEachLeafHere(level.from, [](Leaf& leaf) { std::ranges::for_each(leaf.query, markBound); });
  for (Term& c : level.where)
    if (isSemiJoin(c))
      for (Level& l : c.query) markBound(l);
}

// HAVING terms that neither aggregate nor call anything volatile are WHERE terms.
void lowerHaving(Level& level) {
  if (!level.grouped || level.grouping_sets) return;
  std::vector<Term> kept;
  for (Term& c : level.having) {
    if (!containsAggregate(c) && !volatileDeep(c) && !hasSubPlan(c)) level.where.push_back(std::move(c));
    else kept.push_back(std::move(c));
  }
  level.having = std::move(kept);
}

}  // namespace

void rewriteLevel(Level& level, bool row_marks, Tree& tree) {
  for (FromNode& n : level.from) pullUp(n, level, false, tree);
  foldLevel(level, tree);
  lowerHaving(level);
  hoist(level);
  for (int round = 0; round < 20; ++round) {
    bool changed = false;
    for (FromNode& n : level.from) changed = reduce(n, level.where) || changed;
    hoist(level);
    if (!changed) break;
  }
  // Where rows may have to be looked at again (row marks), those of all sides are needed.
  if (!level.isDml() && !row_marks && (!level.source || level.source->locking.empty())) {
    // Asked of the level as it is; each removal may free the next.
    for (int round = 0; round < 20; ++round) {
      bool changed = false;
      for (std::size_t i = 0; i < level.from.size() && !changed; ++i) {
        if (level.from[i].is_leaf) continue;
        FromNode node = level.from[i];
        if (removeJoin(node, level, tree)) level.from[i] = std::move(node), changed = true;
      }
      if (!changed) break;
      hoist(level);
    }
  }
  const std::set<int> leaves = leavesOf(level.from);
  if (level.kind != QueryKind::Insert)
    for (FromNode& n : level.from) pushDown(n, level.where, leaves, tree);
  passConstants(level);
}

}  // namespace pglocklint::evaluation

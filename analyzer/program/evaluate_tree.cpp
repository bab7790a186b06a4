// Building the working copy of a statement: names are resolved, views expanded, select-list entries tied to the ORDER BY, GROUP
// BY and DISTINCT entries that mean them. And the questions that all rewrites ask of a term or a level.
#include "program/evaluate_tree.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "program/evaluate.h"

namespace pglocklint::evaluation {

namespace {

// Deeper nesting is not looked into: its calls get no evaluation, and rules stay silent about them.
constexpr int kMaxDepth = 300;

// SQL's functions without parentheses and other built-in syntax that is no row of pg_proc by that name.
constexpr std::array<std::string_view, 12> kStableWords{"current_catalog", "current_date", "current_role", "current_schema",
                                                        "current_time",    "current_timestamp", "current_user", "localtime",
                                                        "localtimestamp",  "session_user", "system_user", "user"};
constexpr std::array<std::string_view, 6> kImmutableWords{"extract", "grouping", "overlay", "position", "substring", "trim"};

template <std::size_t N>
bool oneOf(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What names mean at one place: the leaves of each enclosing level and the CTEs in sight.
struct Scope {
  const Scope* parent = nullptr;
  std::vector<int> leaves;
  std::vector<std::pair<std::string, int>> ctes;
};

struct Arguments {  // of the SQL function whose body is built
  const Function* function = nullptr;
  const std::vector<Term>* terms = nullptr;
};

class Builder {
 public:
  Builder(Tree& tree, int via, Arguments arguments, int inlined_for = -1)
      : tree_(tree), via_(via), inlined_for_(inlined_for), arguments_(arguments) {}

  Level level(const Query& q, const Scope* parent);
  Term term(const Expr& e, const Scope& scope);

 private:
  void ctes(const Query& q, Scope& scope, Level& level);
  FromNode from(const FromItem& item, Scope& scope);
  FromNode join(const FromItem& item, Scope& scope);
  Leaf relation(const FromItem& item, const Scope& scope);
  Leaf view(const FromItem& item, const Relation& relation);
  int addLeaf(LeafInfo info);
  void rename(LeafInfo& info, const FromItem& item);
  void select(const Query& q, Scope& scope, Level& level);
  void modify(const Query& q, Scope& scope, Level& level);
  std::vector<Output> outputs(const List<Target>& targets, const Scope& scope);
  void addStar(const Expr& star, const Scope& scope, std::vector<Output>& out);
  Term reference(const Expr& e, const Scope& scope, Level& level, bool group, bool distinct);
  Term column(const Expr& e, const Scope& scope);
  int site(const Expr& call);
  Term call(const Expr& e, const Scope& scope);
  Callee callee(const Expr& e);
  std::vector<Term> terms(const List<Expr>& list, const Scope& scope);
  std::vector<Term> conjuncts(const List<Expr>& list, const Scope& scope);
  Term columnTerm(int leaf, const std::string& name, const Expr* source);
  Term equality(Term left, Term right, const FromItem& item);

  // What is written is built in full; what views and bodies bring in has its limit.
  bool mayBuild() { return via_ < 0 || tree_.spend(); }

  Tree& tree_;
  int via_, inlined_for_;
  Arguments arguments_;
};

int Builder::addLeaf(LeafInfo info) {
  tree_.leaves.push_back(std::move(info));
  return static_cast<int>(tree_.leaves.size()) - 1;
}

// The alias and column aliases that FROM gives a leaf.
void Builder::rename(LeafInfo& info, const FromItem& item) {
  info.alias = item.alias.empty() ? item.name : item.alias;
  for (std::size_t i = 0; i < item.column_aliases.size(); ++i) {
    if (i < info.columns.size())
      info.columns[i].name = item.column_aliases[i];
    else
      info.columns.push_back({item.column_aliases[i], "", false});
  }
}

Term Builder::columnTerm(int leaf, const std::string& name, const Expr* source) {
  Term t;
  t.kind = ExprKind::Column, t.leaf = leaf, t.name = name, t.source = source;
  if (leaf >= 0)
    for (const Column& c : tree_.info(leaf).columns)
      if (c.name == name) t.type = c.type;
  return t;
}

Term Builder::equality(Term left, Term right, const FromItem& item) {
  Expr written;  // USING and NATURAL are no expressions: blame the join
  written.kind = ExprKind::Op, written.name = "=", written.range = item.range;
  tree_.synthesized.push_back(std::move(written));
  Term t;
  t.kind = ExprKind::Op, t.name = "=", t.source = &tree_.synthesized.back();
  t.args.push_back(std::move(left)), t.args.push_back(std::move(right));
  return t;
}

Level Builder::level(const Query& q, const Scope* parent) {
  Level level;
  level.kind = q.kind, level.source = &q;
  if (++tree_.depth > kMaxDepth || !mayBuild()) {
    --tree_.depth;
    return level;
  }
  Scope scope{parent, {}, {}};
  ctes(q, scope, level);
  level.has_ctes = !q.ctes.empty();
  if (level.isDml())
    modify(q, scope, level);
  else if (q.kind == QueryKind::SetOperation)
    for (const Query& arm : q.arms) level.arms.push_back(this->level(arm, &scope));
  else if (q.kind == QueryKind::Values)
    for (const auto& row : q.rows) level.rows.push_back(terms(row, scope));
  select(q, scope, level);
  --tree_.depth;
  return level;
}

void Builder::ctes(const Query& q, Scope& scope, Level& level) {
  level.has_ctes = !q.ctes.empty();
  const auto define = [&](const Cte& c) {
    tree_.ctes.emplace_back();
    const int id = static_cast<int>(tree_.ctes.size()) - 1;
    tree_.ctes.back().source = &c;
    return id;
  };
  // WITH RECURSIVE lets every CTE of the list see all others; otherwise each sees those before it.
  for (const Cte& c : q.ctes) {
    const int id = define(c);
    if (c.recursive) scope.ctes.emplace_back(c.name, id);
    if (c.recursive && !c.query.empty()) {
      // The columns of a recursive CTE are those of its first arm, which cannot read it; built apart, only for its names.
      CteDef& def = tree_.ctes[static_cast<std::size_t>(id)];
      const Query& first = c.query[0].arms.empty() ? c.query[0] : c.query[0].arms[0];
      for (const Target& t : first.targets) def.columns.push_back({t.name, "", false});
      def.columns_known = !def.columns.empty() && std::none_of(first.targets.begin(), first.targets.end(), [](const Target& t) {
        return t.expr.is(ExprKind::Star) || t.name == "*" || (t.expr.is(ExprKind::Subscript) && t.expr.name == "*");
      });
      for (std::size_t i = 0; i < c.column_aliases.size(); ++i)
        if (i < def.columns.size()) def.columns[i].name = c.column_aliases[i];
        else def.columns.push_back({c.column_aliases[i], "", false});
    }
    if (!c.query.empty()) {
      Level body = this->level(c.query[0], &scope);
      CteDef& def = tree_.ctes[static_cast<std::size_t>(id)];
      if (!c.recursive) {
        def.columns = columnsOf(body, def.columns_known);
        for (std::size_t i = 0; i < c.column_aliases.size() && i < def.columns.size(); ++i)
          def.columns[i].name = c.column_aliases[i];
      }
      forEachLeaf(body, [&](const Leaf& leaf) {
        if (leaf.kind == LeafKind::Cte && leaf.cte == id) def.recursive = true;
      });
      def.level.push_back(std::move(body));
    }
    if (!c.recursive) scope.ctes.emplace_back(c.name, id);
  }
}

FromNode Builder::from(const FromItem& item, Scope& scope) {
  FromNode node;
  node.source = &item;
  if (++tree_.depth > kMaxDepth || !mayBuild()) {
    --tree_.depth;
    return node;
  }
  Leaf& leaf = node.leaf;
  leaf.source = &item, leaf.lateral = item.lateral;
  LeafInfo info;
  switch (item.kind) {
    case FromKind::Join:
      node = join(item, scope);
      --tree_.depth;
      return node;
    case FromKind::Relation: leaf = relation(item, scope); break;
    case FromKind::SubQuery:
    case FromKind::Values: {
      // Without LATERAL the sub-select does not see its neighbours, but what it names can then only be outer: the same scope will
      // do.
      leaf.kind = LeafKind::SubQuery;
      Scope outer{scope.parent, {}, scope.ctes};
      if (!item.query.empty()) leaf.query.push_back(level(item.query[0], item.lateral ? &scope : &outer));
      if (!leaf.query.empty()) info.columns = columnsOf(leaf.query[0], info.columns_known);
      rename(info, item);
      leaf.id = addLeaf(std::move(info));
      break;
    }
    case FromKind::Function: {
      leaf.kind = LeafKind::Function, leaf.lateral = true;
      for (const Expr& f : item.functions) leaf.functions.push_back(term(f, scope));
      const std::string& name = item.alias.empty() && !item.functions.empty() ? item.functions[0].name : item.alias;
      if (leaf.functions.size() == 1) {
        const Term& f = leaf.functions[0];
        const Builtin* b = f.callee.routine ? nullptr : findBuiltin(f.name);
        std::string type = b ? std::string(b->result) : f.callee.routine ? f.callee.routine->function->returns : "";
        if (f.name == "generate_series" && !f.args.empty())
          type = f.args[0].literal == LiteralKind::Integer ? "integer" : f.args[0].type;
        info.columns.push_back({name, type, false});
        info.columns_known = b != nullptr;  // a routine may return a row of several columns
      }
      if (item.ordinality) info.columns.push_back({"ordinality", "bigint", false});
      rename(info, item);
      info.alias = name;
      leaf.id = addLeaf(std::move(info));
      break;
    }
    case FromKind::Other:
      rename(info, item);
      leaf.id = addLeaf(std::move(info));
      break;
  }
  scope.leaves.push_back(leaf.id);
  --tree_.depth;
  return node;
}

FromNode Builder::join(const FromItem& item, Scope& scope) {
  FromNode node;
  node.is_leaf = false, node.source = &item;
  node.join = item.join == JoinType::Cross ? JoinType::Inner : item.join;
  std::vector<std::vector<int>> sides;
  for (const FromItem& side : item.sides) {
    const std::size_t before = scope.leaves.size();
    node.sides.push_back(from(side, scope));
    sides.emplace_back(scope.leaves.begin() + static_cast<std::ptrdiff_t>(before), scope.leaves.end());
  }
  const auto sideOf = [&](const std::vector<int>& leaves, const std::string& name) {
    for (const int l : leaves)
      for (const Column& c : tree_.info(l).columns)
        if (c.name == name) return l;
    for (const int l : leaves)
      if (!tree_.info(l).columns_known) return l;
    return leaves.size() == 1 ? leaves[0] : kSomeLeaf;
  };
  List<std::string> shared = item.using_columns;
  if (item.natural && sides.size() == 2)
    for (const int l : sides[0])
      for (const Column& c : tree_.info(l).columns)
        for (const int r : sides[1])
          for (const Column& d : tree_.info(r).columns)
            if (c.name == d.name) shared.push_back(c.name);
  if (sides.size() == 2)
    for (const std::string& name : shared)
      node.on.push_back(
          equality(columnTerm(sideOf(sides[0], name), name, nullptr), columnTerm(sideOf(sides[1], name), name, nullptr), item));
  // ON sees the leaves of this join alone; for names a wider scope does no harm.
  for (Term& t : conjuncts(item.on, scope)) node.on.push_back(std::move(t));
  return node;
}

Leaf Builder::relation(const FromItem& item, const Scope& scope) {
  Leaf leaf;
  leaf.source = &item;
  LeafInfo info;
  if (item.schema.empty())
    for (const Scope* s = &scope; s; s = s->parent)
      for (auto c = s->ctes.rbegin(); c != s->ctes.rend(); ++c) {
        if (c->first != item.name) continue;
        CteDef& def = tree_.ctes[static_cast<std::size_t>(c->second)];
        leaf.kind = LeafKind::Cte, leaf.cte = c->second;
        leaf.self_reference = def.level.empty();
        ++def.references;
        info.columns = def.columns, info.columns_known = def.columns_known;
        rename(info, item);
        leaf.id = addLeaf(std::move(info));
        return leaf;
      }
  const Relation* found = tree_.catalogue->relation(item.schema, item.name);
  if (found && found->kind == RelationKind::View && found->view && tree_.depth < kMaxDepth * 3 / 4 && tree_.spend(10))
    return view(item, *found);
  leaf.kind = found ? LeafKind::Table : LeafKind::Unknown;
  if (found) {
    info.relation = found;
    info.columns = found->columns, info.columns_known = found->columns_known;
  }
  rename(info, item);
  leaf.id = addLeaf(std::move(info));
  if (found && !found->policies.empty()) {
    const int via = via_ >= 0 ? via_ : static_cast<int>(tree_.vias.size());
    if (via_ < 0) tree_.vias.push_back({found->name, item.range});
    Builder builder(tree_, via, {});
    const Scope rows{nullptr, {leaf.id}, {}};
    std::vector<Term> policies;
    for (const Expr* p : found->policies) policies.push_back(builder.term(*p, rows));
    tree_.info(leaf.id).policies = std::move(policies);
  }
  return leaf;
}

// R0: a view is the sub-select it stands for. What is found in it is reported by the place in the statement that leads there.
Leaf Builder::view(const FromItem& item, const Relation& relation) {
  Leaf leaf;
  leaf.kind = LeafKind::SubQuery, leaf.source = &item;
  const int via = via_ >= 0 ? via_ : static_cast<int>(tree_.vias.size());
  if (via_ < 0) tree_.vias.push_back({relation.name, item.range});
  tree_.depth += 12;  // a view that reads itself through others ends soon
  leaf.query.push_back(Builder(tree_, via, {}).level(*relation.view, nullptr));
  tree_.depth -= 12;
  LeafInfo info;
  info.columns = columnsOf(leaf.query[0], info.columns_known);
  info.barrier = relation.security_barrier;
  for (std::size_t i = 0; i < relation.view_columns.size() && i < info.columns.size(); ++i)
    info.columns[i].name = relation.view_columns[i];
  rename(info, item);
  leaf.id = addLeaf(std::move(info));
  return leaf;
}

void Builder::select(const Query& q, Scope& scope, Level& level) {
  if (!level.isDml()) {
    for (const FromItem& f : q.from) level.from.push_back(from(f, scope));
    level.where = conjuncts(q.where, scope);
  }
  if (q.kind == QueryKind::Select) level.targets = outputs(q.targets, scope);
  level.distinct = q.distinct, level.set_operator = q.set_operator, level.set_all = q.set_all;
  level.grouping_sets = q.grouping_sets, level.with_ties = q.with_ties;
  for (const Expr& g : q.group_by) level.group_by.push_back(reference(g, scope, level, true, false));
  for (const Expr& d : q.distinct_on) level.distinct_on.push_back(reference(d, scope, level, false, true));
  if (q.distinct == DistinctKind::All)
    for (Output& o : level.targets) o.distinct_key = true;
  level.having = conjuncts(q.having, scope);
  for (const OrderItem& o : q.order_by) {
    SortKey key;
    key.descending = o.descending;
    key.term = reference(o.expr, scope, level, false, false);
    for (std::size_t i = 0; i < level.targets.size(); ++i)
      if (sameTerm(level.targets[i].term, key.term)) {
        key.target = static_cast<int>(i), level.targets[i].order_key = true;
        break;
      }
    level.order_by.push_back(std::move(key));
  }
  level.limit = terms(q.limit, scope), level.offset = terms(q.offset, scope);
  level.grouped = !q.group_by.empty() || q.grouping_sets;
}

void Builder::modify(const Query& q, Scope& scope, Level& level) {
  Scope target_scope{scope.parent, {}, {}};  // the table written to is never a CTE
  FromNode target = from(q.target, target_scope);
  level.target_leaf = target.leaf.id;
  if (target.leaf.kind == LeafKind::SubQuery)
    target.leaf.kind = LeafKind::Unknown;  // an updatable view: what is below is not ours
  if (q.kind == QueryKind::Insert) {
    for (const Query& s : q.source) level.arms.push_back(this->level(s, &scope));
    scope.leaves.push_back(level.target_leaf);
    level.from.push_back(std::move(target));
  } else {
    scope.leaves.push_back(level.target_leaf);
    if (q.kind == QueryKind::Merge && q.from.size() == 1) {
      FromNode join;
      join.is_leaf = false, join.source = q.from.data();
      join.sides.push_back(std::move(target));
      join.sides.push_back(from(q.from[0], scope));
      const bool all_matched = std::all_of(q.merge.begin(), q.merge.end(), [](const MergeWhen& w) { return w.matched; });
      join.join = all_matched ? JoinType::Inner : JoinType::Right;
      join.on = conjuncts(q.where, scope);
      level.from.push_back(std::move(join));
    } else {
      level.from.push_back(std::move(target));
      for (const FromItem& f : q.from) level.from.push_back(from(f, scope));
      level.where = conjuncts(q.where, scope);
    }
  }
  Scope with_excluded = scope;
  if (q.conflict == ConflictAction::Update) {
    LeafInfo excluded = tree_.info(level.target_leaf);
    excluded.alias = "excluded";
    with_excluded.leaves.push_back(addLeaf(std::move(excluded)));
  }
  level.sets = outputs(q.sets, scope);
  level.returning = outputs(q.returning, scope);
  level.conflict_sets = outputs(q.conflict_sets, with_excluded);
  level.conflict_where = conjuncts(q.conflict_where, with_excluded);
  for (const MergeWhen& w : q.merge) level.merge.push_back({conjuncts(w.condition, scope), outputs(w.sets, scope)});
}

std::vector<Output> Builder::outputs(const List<Target>& targets, const Scope& scope) {
  std::vector<Output> out;
  for (const Target& t : targets) {
    if (t.expr.is(ExprKind::Star)) {
      addStar(t.expr, scope, out);
      continue;
    }
    Output o;
    o.term = term(t.expr, scope), o.name = t.name;
    out.push_back(std::move(o));
  }
  return out;
}

// * and q.*: the columns where they are known, else one entry that stands for all of a leaf.
void Builder::addStar(const Expr& star, const Scope& scope, std::vector<Output>& out) {
  const auto expand = [&](int leaf) {
    const LeafInfo& info = tree_.info(leaf);
    if (!info.columns_known || (via_ >= 0 && !tree_.spend(static_cast<int>(info.columns.size())))) {
      Output o;
      o.term = columnTerm(leaf, "*", &star), o.name = "*";
      out.push_back(std::move(o));
      return;
    }
    for (const Column& c : info.columns) {
      Output o;
      o.term = columnTerm(leaf, c.name, &star), o.name = c.name;
      out.push_back(std::move(o));
    }
  };
  for (const Scope* s = &scope; s; s = s->parent) {
    bool found = false;
    for (const int leaf : s->leaves)
      if (star.qualifier.empty() || tree_.info(leaf).alias == star.qualifier) expand(leaf), found = true;
    if (found || star.qualifier.empty()) return;
  }
  Output o;
  o.term.kind = ExprKind::Other, o.term.source = &star, o.name = "*";
  out.push_back(std::move(o));
}

void adoptSites(Term& term, const Term& same) {
  term.sites.insert(term.sites.end(), same.sites.begin(), same.sites.end());
  for (std::size_t i = 0; i < term.args.size() && i < same.args.size(); ++i) adoptSites(term.args[i], same.args[i]);
  for (std::size_t i = 0; i < term.filter.size() && i < same.filter.size(); ++i) adoptSites(term.filter[i], same.filter[i]);
}

// An entry of ORDER BY, GROUP BY or DISTINCT ON: a number or an output name means a select-list entry.
Term Builder::reference(const Expr& e, const Scope& scope, Level& level, bool group, bool distinct) {
  const auto mark = [&](Output& o) {
    if (group) o.group_key = true;
    if (distinct) o.distinct_key = true;
    return o.term;
  };
  if (e.is(ExprKind::Const) && e.literal == LiteralKind::Integer && e.text.size() < 5) {
    const std::size_t n = static_cast<std::size_t>(std::strtoul(e.text.c_str(), nullptr, 10));
    if (n >= 1 && n <= level.targets.size()) return mark(level.targets[n - 1]);
  }
  if (e.is(ExprKind::Column) && e.qualifier.empty()) {
    // GROUP BY takes an input column before an output name; the others the other way round.
    const bool input = group && std::any_of(scope.leaves.begin(), scope.leaves.end(), [&](int l) {
      const auto& columns = tree_.info(l).columns;
      return std::any_of(columns.begin(), columns.end(), [&](const Column& c) { return c.name == e.name; });
    });
    if (!input)
      for (Output& o : level.targets)
        if (o.name == e.name) return mark(o);
    if (level.targets.empty() && level.kind != QueryKind::Select) {  // set operations and VALUES: output names only
      Term t;
      t.kind = ExprKind::Column, t.name = e.name, t.source = &e;
      return t;
    }
  }
  Term t = term(e, scope);
  for (Output& o : level.targets)
    if (sameTerm(o.term, t)) {  // one evaluation for both: the calls written here are those
      adoptSites(o.term, t);
      return mark(o);
    }
  return t;
}

std::vector<Term> Builder::terms(const List<Expr>& list, const Scope& scope) {
  std::vector<Term> out;
  out.reserve(list.size());
  for (const Expr& e : list) out.push_back(term(e, scope));
  return out;
}

std::vector<Term> Builder::conjuncts(const List<Expr>& list, const Scope& scope) {
  std::vector<Term> out;
  for (const Expr& e : list) splitConjuncts(term(e, scope), out);
  return out;
}

Term Builder::term(const Expr& e, const Scope& scope) {
  Term t;
  if (++tree_.depth > kMaxDepth || !mayBuild()) {
    --tree_.depth;
    t.source = &e;
    return t;
  }
  if (e.is(ExprKind::Column)) {
    t = column(e, scope);
  } else if (e.is(ExprKind::Param) && arguments_.terms) {
    const std::size_t n = static_cast<std::size_t>(std::strtoul(e.text.c_str(), nullptr, 10));
    if (n >= 1 && n <= arguments_.terms->size()) {
      t = (*arguments_.terms)[n - 1];
      refresh(t, tree_);
    } else {
      t.kind = e.kind, t.source = &e;
    }
  } else if (e.is(ExprKind::Call)) {
    t = call(e, scope);
  } else {
    t.kind = e.kind, t.source = &e, t.name = e.name, t.text = e.text, t.type = e.type, t.literal = e.literal;
    t.sublink = e.sublink, t.negated = e.negated;
    t.args = terms(e.args, scope);
    for (const Query& q : e.query) t.query.push_back(level(q, &scope));
  }
  --tree_.depth;
  return t;
}

Term Builder::column(const Expr& e, const Scope& scope) {
  const auto argument = [&](std::string_view name) -> const Term* {
    if (!arguments_.function) return nullptr;
    for (std::size_t i = 0, n = 0; i < arguments_.function->parameters.size(); ++i) {
      const Parameter& p = arguments_.function->parameters[i];
      if (p.mode == ParameterMode::Out || p.mode == ParameterMode::Table) continue;
      if (p.name == name && n < arguments_.terms->size()) return &(*arguments_.terms)[n];
      ++n;
    }
    return nullptr;
  };
  const auto take = [&](const Term& value) {
    Term t = value;
    refresh(t, tree_);
    return t;
  };
  const auto parameter = [&] {
    Term t;
    t.kind = ExprKind::Param, t.source = &e, t.name = e.name;
    return t;
  };
  if (!e.qualifier.empty()) {
    for (const Scope* s = &scope; s; s = s->parent)
      for (const int leaf : s->leaves)
        if (tree_.info(leaf).alias == e.qualifier) return columnTerm(leaf, e.name, &e);
    if (arguments_.function && arguments_.function->name == e.qualifier)
      if (const Term* a = argument(e.name)) return take(*a);
    return parameter();  // a record variable, NEW, OLD, the function's own name
  }
  const auto isVariable = [&] {
    if (!tree_.function || via_ >= 0) return false;
    const auto named = [&](const auto& v) { return v.name == e.name; };
    return std::any_of(tree_.function->parameters.begin(), tree_.function->parameters.end(), named) ||
           std::any_of(tree_.function->variables.begin(), tree_.function->variables.end(), named);
  };
  for (const Scope* s = &scope; s; s = s->parent) {
    for (const int leaf : s->leaves)
      for (const Column& c : tree_.info(leaf).columns)
        if (c.name == e.name) return columnTerm(leaf, e.name, &e);
    std::vector<int> open;  // relations that we do not know: the name may be theirs
    for (const int leaf : s->leaves) {
      if (tree_.info(leaf).alias == e.name) return columnTerm(leaf, "*", &e);
      if (!tree_.info(leaf).columns_known) open.push_back(leaf);
    }
    if (const Term* a = argument(e.name)) return take(*a);
    if (!open.empty() && !isVariable()) return columnTerm(open.size() == 1 ? open[0] : kSomeLeaf, e.name, &e);
  }
  if (const Term* a = argument(e.name)) return take(*a);
  return parameter();
}

Callee Builder::callee(const Expr& e) {
  Callee c;
  const bool catalog = e.qualifier.empty() || e.qualifier == "pg_catalog";
  if (const LockFunction* lock = catalog ? findLockFunction(e.name) : nullptr) {
    c.known = true, c.strict = true, c.locks = true, c.boolean = lock->returns_boolean;
    // ALTER FUNCTION pg_catalog.… COST, where the program does that.
    if (const auto cost = tree_.catalogue->builtin_costs.find(e.name); cost != tree_.catalogue->builtin_costs.end())
      c.cost = cost->second;
    return c;
  }
  if (const Builtin* b = catalog ? findBuiltin(e.name) : nullptr;
      b && (e.qualifier == "pg_catalog" || !tree_.catalogue->routine("", e.name, e.args.size()))) {
    c.known = true, c.volatility = b->volatility, c.strict = b->strict, c.boolean = b->result == "boolean";
    c.returns_set = b->kind == BuiltinKind::SetReturning;
    c.aggregate = b->kind == BuiltinKind::Aggregate && !e.call_window;
    c.window = e.call_window;
    return c;
  }
  if (const Routine* r = tree_.catalogue->routine(e.qualifier, e.name, e.args.size())) {
    c.known = true, c.routine = r, c.volatility = r->volatility, c.strict = r->strict, c.returns_set = r->returns_set;
    c.cost = r->cost, c.locks = r->locks, c.boolean = r->function && r->function->returns == "boolean";
    return c;
  }
  if (catalog && oneOf(kStableWords, e.name)) c.known = true, c.volatility = Volatility::Stable;
  if (catalog && oneOf(kImmutableWords, e.name)) c.known = true, c.volatility = Volatility::Immutable, c.strict = true;
  c.window = e.call_window;
  c.aggregate = !c.known && !c.window && (e.call_star || e.call_distinct || e.has_filter || !e.call_order.empty());
  return c;
}

int Builder::site(const Expr& call) {
  const int next = static_cast<int>(tree_.sites.size());
  if (inlined_for_ >= 0)
    if (const auto [known, added] = tree_.inlined.try_emplace({&call, inlined_for_}, next); !added) return known->second;
  Site site;
  site.call = &call, site.via = via_;
  site.evaluation.rows = Rows::PlanDependent, site.evaluation.sureness = Sureness::Unknown;  // until it is seen to run
  tree_.sites.push_back(std::move(site));
  return next;
}

Term Builder::call(const Expr& e, const Scope& scope) {
  Term t;
  t.kind = ExprKind::Call, t.source = &e, t.name = e.name, t.callee = callee(e);
  if (isLockCall(e, *tree_.catalogue)) {
    t.callee.locks = true;
    t.sites.push_back(site(e));
  }
  t.args = terms(e.args, scope);
  t.filter = terms(e.call_filter, scope);
  for (const OrderItem& o : e.call_order) t.order.push_back(term(o.expr, scope));
  t.window = terms(e.window_partition, scope);
  for (const OrderItem& o : e.window_order) t.window.push_back(term(o.expr, scope));
  return t;
}

}  // namespace

Level buildLevel(const Query& query, Tree& tree) {
  const Scope none;
  return Builder(tree, -1, {}).level(query, &none);
}

Term buildTerm(const Expr& expr, Tree& tree) {
  const Scope none;
  return Builder(tree, -1, {}).term(expr, none);
}

Level buildBody(const Query& body, const Function& function, const std::vector<Term>& arguments, int via, int site, Tree& tree) {
  const Scope none;
  return Builder(tree, via, {&function, &arguments}, site).level(body, &none);
}

// --- walking --------------------------------------------------------------------------------------------------------

namespace {

// Everything an expression of a level consists of, in one place: f(term) for each root term, g(level) for each level directly
// below.
template <class L, class F, class G, class H>
void eachPart(L& level, F&& f, G&& g, H&& node) {
  for (auto& n : level.from) node(n);
  for (auto& t : level.where) f(t);
  for (auto& o : level.targets) f(o.term);
  for (auto& t : level.group_by) f(t);
  for (auto& t : level.having) f(t);
  for (auto& t : level.distinct_on) f(t);
  for (auto& o : level.order_by) f(o.term);
  for (auto& t : level.limit) f(t);
  for (auto& t : level.offset) f(t);
  for (auto& row : level.rows)
    for (auto& t : row) f(t);
  for (auto& o : level.sets) f(o.term);
  for (auto& o : level.returning) f(o.term);
  for (auto& o : level.conflict_sets) f(o.term);
  for (auto& t : level.conflict_where) f(t);
  for (auto& b : level.merge) {
    for (auto& t : b.condition) f(t);
    for (auto& o : b.sets) f(o.term);
  }
  for (auto& a : level.arms) g(a);
}

template <class N, class F, class G>
void eachPartOfNode(N& node, F&& f, G&& g) {
  if (node.is_leaf) {
    for (auto& t : node.leaf.functions) f(t);
    for (auto& q : node.leaf.query) g(q);
  }
  for (auto& side : node.sides) eachPartOfNode(side, f, g);
  for (auto& t : node.on) f(t);
}

template <class T, class F>
void eachChild(T& term, F&& f) {
  for (auto& t : term.args) f(t);
  for (auto& t : term.filter) f(t);
  for (auto& t : term.order) f(t);
  for (auto& t : term.window) f(t);
}

bool anyTerm(const Term& term, bool deep, const std::function<bool(const Term&)>& is) {
  bool found = false;
  forEachTerm(term, deep, [&](const Term& t) { found = found || is(t); });
  return found;
}

void collectLeaves(const FromNode& node, std::set<int>& out) {
  if (node.is_leaf && node.leaf.id >= 0) out.insert(node.leaf.id);
  for (const FromNode& side : node.sides) collectLeaves(side, out);
}

}  // namespace

void forEachTerm(const Term& term, bool deep, const TermVisitor& visit) {
  visit(term);
  eachChild(term, [&](const Term& t) { forEachTerm(t, deep, visit); });
  if (deep)
    for (const Level& l : term.query) forEachTerm(l, visit);
}

void forEachTerm(const Level& level, const TermVisitor& visit) {
  const auto term = [&](const Term& t) { forEachTerm(t, true, visit); };
  const auto below = [&](const Level& l) { forEachTerm(l, visit); };
  eachPart(level, term, below, [&](const FromNode& n) { eachPartOfNode(n, term, below); });
}

void forEachLeaf(const Level& level, const std::function<void(const Leaf&)>& visit) {
  const auto term = [&](const Term& root) {
    forEachTerm(root, false, [&](const Term& t) {
      for (const Level& l : t.query) forEachLeaf(l, visit);
    });
  };
  const auto below = [&](const Level& l) { forEachLeaf(l, visit); };
  eachPart(level, term, below, [&](const FromNode& n) {
    const std::function<void(const FromNode&)> leaves = [&](const FromNode& m) {
      if (m.is_leaf) visit(m.leaf);
      for (const FromNode& side : m.sides) leaves(side);
    };
    leaves(n);
    eachPartOfNode(n, term, below);
  });
}

void forEachLeafHere(const std::vector<FromNode>& from, const std::function<void(const Leaf&)>& visit) {
  for (const FromNode& n : from) {
    if (n.is_leaf) visit(n.leaf);
    forEachLeafHere(n.sides, visit);
  }
}

void forEachLeafHere(std::vector<FromNode>& from, const std::function<void(Leaf&)>& visit) {
  for (FromNode& n : from) {
    if (n.is_leaf) visit(n.leaf);
    forEachLeafHere(n.sides, visit);
  }
}

std::set<int> leavesOf(const Term& term) {
  std::set<int> out;
  forEachTerm(term, true, [&](const Term& t) {
    if (t.is(ExprKind::Column) && t.leaf >= 0) out.insert(t.leaf);
  });
  return out;
}

std::set<int> leavesOf(const FromNode& node) {
  std::set<int> out;
  collectLeaves(node, out);
  return out;
}

std::set<int> leavesOf(const std::vector<FromNode>& from) {
  std::set<int> out;
  for (const FromNode& n : from) collectLeaves(n, out);
  return out;
}

bool namesUnknownLeaf(const Term& term) {
  return anyTerm(term, true, [](const Term& t) { return t.is(ExprKind::Column) && t.leaf == kSomeLeaf; });
}

namespace {
bool isVolatileCall(const Term& t) {
  return t.is(ExprKind::Call) && t.callee.volatility == Volatility::Volatile && !t.callee.aggregate;
}
}  // namespace

bool volatileDeep(const Term& term) { return anyTerm(term, true, isVolatileCall); }

bool volatileDeep(const Level& level) {
  bool found = false;
  forEachTerm(level, [&](const Term& t) { found = found || isVolatileCall(t); });
  return found;
}

bool volatileDirect(const Term& term) { return anyTerm(term, false, isVolatileCall); }

bool containsSetReturning(const Term& term) {
  return anyTerm(term, false, [](const Term& t) { return t.is(ExprKind::Call) && t.callee.returns_set; });
}
bool containsAggregate(const Term& term) {
  return anyTerm(term, false, [](const Term& t) { return t.is(ExprKind::Call) && t.callee.aggregate; });
}
bool containsWindow(const Term& term) {
  return anyTerm(term, false, [](const Term& t) { return t.is(ExprKind::Call) && t.callee.window; });
}
bool containsSubSelect(const Term& term) {
  return anyTerm(term, false, [](const Term& t) { return t.is(ExprKind::SubSelect); });
}

bool containsLock(const Term& term) {
  if (anyTerm(term, true, [](const Term& t) { return t.callee.locks; })) return true;
  bool reads = false;
  forEachTerm(term, false, [&](const Term& t) {
    for (const Level& l : t.query)
      forEachLeaf(l, [&](const Leaf& leaf) { reads = reads || leaf.kind == LeafKind::Cte; });
  });
  return reads;
}

bool containsLock(const Level& level) {
  bool found = false;
  forEachTerm(level, [&](const Term& t) { found = found || t.callee.locks; });
  if (!found) forEachLeaf(level, [&](const Leaf& leaf) { found = found || leaf.kind == LeafKind::Cte; });
  return found;
}

namespace {
template <class Is>
bool anyOutput(const Level& level, Is&& is) {
  return std::any_of(level.targets.begin(), level.targets.end(), [&](const Output& o) { return is(o.term); }) ||
         std::any_of(level.order_by.begin(), level.order_by.end(), [&](const SortKey& k) { return is(k.term); });
}
}  // namespace

bool levelAggregates(const Level& level) {
  return anyOutput(level, containsAggregate) || std::any_of(level.having.begin(), level.having.end(), containsAggregate) ||
         (!level.having.empty() && !level.grouped);
}
bool levelHasWindow(const Level& level) { return anyOutput(level, containsWindow); }
bool levelReturnsSets(const Level& level) { return anyOutput(level, containsSetReturning); }

bool sameTerm(const Term& a, const Term& b) {
  const auto same = [](const std::vector<Term>& x, const std::vector<Term>& y) {
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), sameTerm);
  };
  if (a.kind != b.kind || a.name != b.name || a.leaf != b.leaf || a.text != b.text || a.literal != b.literal ||
      a.type != b.type || a.negated != b.negated || !a.query.empty() || !b.query.empty())
    return false;
  if (a.is(ExprKind::Param) && (!a.source || !b.source || a.source->text != b.source->text || a.source->name != b.source->name))
    return false;
  return same(a.args, b.args) && same(a.filter, b.filter) && same(a.order, b.order) && same(a.window, b.window);
}

bool isConstantTerm(const Term& term) {
  switch (term.kind) {
    case ExprKind::Const: return true;
    case ExprKind::Cast:
    case ExprKind::Array:
    case ExprKind::Row:
    case ExprKind::Op: return std::all_of(term.args.begin(), term.args.end(), isConstantTerm);
    default: return false;
  }
}

bool correlated(const Level& level) {
  std::set<int> inside;
  forEachLeaf(level, [&](const Leaf& leaf) { inside.insert(leaf.id); });
  bool outside = false;
  forEachTerm(level, [&](const Term& t) {
    if (t.is(ExprKind::Column) && (t.leaf == kSomeLeaf || (t.leaf >= 0 && !inside.count(t.leaf)))) outside = true;
  });
  return outside;
}

std::vector<Column> columnsOf(const Level& level, bool& known) {
  std::vector<Column> out;
  known = true;
  if (level.kind == QueryKind::SetOperation) return level.arms.empty() ? (known = false, out) : columnsOf(level.arms[0], known);
  if (level.kind == QueryKind::Values) {
    for (std::size_t i = 0; !level.rows.empty() && i < level.rows[0].size(); ++i) {
      const Term& first = level.rows[0][i];
      std::string type = first.type;
      if (first.literal == LiteralKind::Integer) type = "integer";
      out.push_back({"column" + std::to_string(i + 1), type, false});
    }
    return out;
  }
  for (const Output& o : level.isDml() ? level.returning : level.targets) {
    if (o.name == "*") known = false;
    out.push_back(
        {o.name, o.term.is(ExprKind::Const) && o.term.literal == LiteralKind::Integer ? "integer" : o.term.type, false});
  }
  return out;
}

// --- copying --------------------------------------------------------------------------------------------------------

namespace {

using Renumbering = std::map<int, int>;

void renumber(Level& level, Renumbering& numbers, Tree& tree);

void applyNumbers(Term& term, Renumbering& numbers, Tree& tree) {
  if (term.is(ExprKind::Column))
    if (const auto n = numbers.find(term.leaf); n != numbers.end()) term.leaf = n->second;
  eachChild(term, [&](Term& t) { applyNumbers(t, numbers, tree); });
  for (Level& l : term.query) renumber(l, numbers, tree);
}

void renumber(Level& level, Renumbering& numbers, Tree& tree) {
  forEachLeafHere(level.from, [&](Leaf& leaf) {
    if (leaf.id < 0) return;
    tree.spend(20);  // leaves cost more than terms: each is asked about each other
    LeafInfo copy = tree.info(leaf.id);
    tree.leaves.push_back(std::move(copy));
    const int fresh = static_cast<int>(tree.leaves.size()) - 1;
    numbers[leaf.id] = fresh;
    for (Term& p : tree.info(fresh).policies) {
      Renumbering own{{leaf.id, fresh}};
      applyNumbers(p, own, tree);
    }
    leaf.id = fresh;
  });
  if (const auto n = numbers.find(level.target_leaf); n != numbers.end()) level.target_leaf = n->second;
  const auto term = [&](Term& t) { applyNumbers(t, numbers, tree); };
  const auto below = [&](Level& l) { renumber(l, numbers, tree); };
  eachPart(level, term, below, [&](FromNode& n) { eachPartOfNode(n, term, below); });
}

}  // namespace

void refresh(Term& term, Tree& tree) {
  int size = 0;
  forEachTerm(term, true, [&](const Term&) { ++size; });
  tree.spend(size);
  if (term.query.empty() && !containsSubSelect(term)) return;
  Renumbering numbers;
  applyNumbers(term, numbers, tree);
}

void refresh(Level& level, Tree& tree) {
  int size = 0;
  forEachTerm(level, [&](const Term&) { ++size; });
  tree.spend(size);
  Renumbering numbers;
  renumber(level, numbers, tree);
}

void substitute(Term& term, int leaf, const Replacement& replace, Tree& tree) {
  --tree.work;
  if (term.is(ExprKind::Column) && term.leaf == leaf) {
    Term by = replace(term);
    refresh(by, tree);
    term = std::move(by);
    return;
  }
  eachChild(term, [&](Term& t) { substitute(t, leaf, replace, tree); });
  for (Level& l : term.query) substitute(l, leaf, replace, tree);
}

void substitute(Level& level, int leaf, const Replacement& replace, Tree& tree) {
  const auto term = [&](Term& t) { substitute(t, leaf, replace, tree); };
  const auto below = [&](Level& l) { substitute(l, leaf, replace, tree); };
  eachPart(level, term, below, [&](FromNode& n) { eachPartOfNode(n, term, below); });
}

void splitConjuncts(Term term, std::vector<Term>& out) {
  if (term.is(ExprKind::And)) {
    for (Term& t : term.args) splitConjuncts(std::move(t), out);
    return;
  }
  if (term.is(ExprKind::Between) && !term.negated && term.args.size() == 3 && !volatileDeep(term.args[0]) &&
      !containsSubSelect(term)) {
    // x BETWEEN a AND b is x >= a AND x <= b.
    for (int i = 1; i <= 2; ++i) {
      Term half;
      half.kind = ExprKind::Op, half.name = i == 1 ? ">=" : "<=", half.source = term.source;
      half.args.push_back(term.args[0]), half.args.push_back(term.args[static_cast<std::size_t>(i)]);
      out.push_back(std::move(half));
    }
    return;
  }
  const auto isRow = [](const Term& t) { return t.is(ExprKind::Row); };
  if (term.is(ExprKind::Op) && term.name == "=" && term.args.size() == 2 && isRow(term.args[0]) && isRow(term.args[1]) &&
      term.args[0].args.size() == term.args[1].args.size()) {
    for (std::size_t i = 0; i < term.args[0].args.size(); ++i) {
      Term part;
      part.kind = ExprKind::Op, part.name = "=", part.source = term.source;
      part.args.push_back(term.args[0].args[i]), part.args.push_back(term.args[1].args[i]);
      out.push_back(std::move(part));
    }
    return;
  }
  if (term.is(ExprKind::InList) && !term.negated && term.args.size() == 2) term.kind = ExprKind::Op, term.name = "=";
  out.push_back(std::move(term));
}

}  // namespace pglocklint::evaluation

// # When an answer decides nothing
//
// Two questions. Inside the statement: which conditions, columns and sub-selects see the call's result (Carrier). Outside: the variable
// that holds it, followed through the function's blocks to whatever reads it first (Readers). A result that is only printed, compared in
// an IF whose branches both go on to the same work, asked in a loop that gives up and goes on to that work, copied into a variable of that kind, or overwritten, decides nothing. In doubt it
// decides: an expression that may raise an error, call something or write data is no mere display.
#include "answer_use.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "program/walk.h"
#include "work.h"

namespace pglocklint {
namespace {

// --- inside the statement ---------------------------------------------------------------------------------------------

class Carrier {
 public:
  explicit Carrier(const Expr& call) : call_(call) {}

  CarriedAnswer read(const Query& q) {
    CarriedAnswer out = query(q, {});
    out.decides |= decides_;
    return out;
  }

 private:
  static constexpr int kDeepest = 16;

  struct Source {  // an item of FROM, or a CTE, with columns that show the answer
    std::string name;
    std::set<std::string> columns;
  };
  using Sources = std::vector<Source>;

  bool contains(const Expr& e) const {
    return &e == &call_ || std::ranges::any_of(e.args, [&](const Expr& a) { return contains(a); }) ||
           std::ranges::any_of(e.call_filter, [&](const Expr& a) { return contains(a); }) ||
           std::ranges::any_of(e.query, [&](const Query& q) { return containsDeep(q); });
  }
  bool containsDeep(const Query& q) const {
    bool found = false;
    struct V {
      const Expr& call;
      bool& found;
      void onExpr(const Expr& e, const QueryLevels&) { found |= &e == &call; }
    } v{call_, found};
    QueryWalker<V>(v).query(q);
    return found;
  }

  static Source named(const std::string& name, const CarriedAnswer& from, const List<std::string>& aliases) {
    Source s{name, {}};
    for (const auto& [at, column] : from.outputs)
      s.columns.insert(at >= 0 && static_cast<std::size_t>(at) < aliases.size() ? aliases[static_cast<std::size_t>(at)] : column);
    return s;
  }

  CarriedAnswer query(const Query& q, Sources ctes) {
    CarriedAnswer out;
    if (++depth_ > kDeepest) decides_ = true;
    if (!decides_) {
      for (const Cte& c : q.ctes)
        if (!c.query.empty()) ctes.push_back(named(c.name, query(c.query[0], ctes), c.column_aliases));
      if (q.kind == QueryKind::Select) select(q, ctes, out);
      else if (q.kind == QueryKind::SetOperation) arms(q, ctes, out);
      else if (q.kind == QueryKind::Values) values(q, ctes, out);
      else modify(q, ctes);
    }
    --depth_;
    return out;
  }

  void select(const Query& q, const Sources& ctes, CarriedAnswer& out) {
    Sources sources;
    for (const FromItem& f : q.from) from(f, ctes, sources);
    for (const auto* list : {&q.where, &q.having, &q.group_by, &q.distinct_on, &q.limit, &q.offset})
      for (const Expr& e : *list) decides_ |= carries(e, sources, ctes);
    for (const OrderItem& o : q.order_by) decides_ |= carries(o.expr, sources, ctes);
    for (std::size_t i = 0; i < q.targets.size(); ++i) {
      const Target& t = q.targets[i];
      if (t.expr.kind == ExprKind::Star) {
        for (const Source& s : sources)
          if (t.expr.qualifier.empty() || t.expr.qualifier == s.name)
            for (const std::string& c : s.columns) out.outputs.emplace_back(-1, c);
      } else if (carries(t.expr, sources, ctes)) {
        decides_ |= !shows(t.expr);
        out.outputs.emplace_back(static_cast<int>(i), t.name);
      }
    }
    decides_ |= q.distinct != DistinctKind::None && !out.outputs.empty();
  }

  void arms(const Query& q, const Sources& ctes, CarriedAnswer& out) {
    for (const Query& arm : q.arms) {
      CarriedAnswer a = query(arm, ctes);
      out.outputs.insert(out.outputs.end(), a.outputs.begin(), a.outputs.end());
    }
    decides_ |= !q.set_all && !out.outputs.empty();
  }

  void values(const Query& q, const Sources& ctes, CarriedAnswer& out) {
    for (const auto& row : q.rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        if (carries(row[i], {}, ctes)) {
          decides_ |= !shows(row[i]);
          out.outputs.emplace_back(static_cast<int>(i), fmt::format("column{}", i + 1));
        }
  }

  // What INSERT, UPDATE, DELETE and MERGE see of it is written, or chooses rows.
  void modify(const Query& q, const Sources& ctes) {
    Sources sources;
    for (const FromItem& f : q.from) from(f, ctes, sources);
    for (const Expr& e : q.where) decides_ |= carries(e, sources, ctes);
    for (const auto* list : {&q.sets, &q.returning})
      for (const Target& t : *list) decides_ |= carries(t.expr, sources, ctes) || (t.expr.kind == ExprKind::Star && !sources.empty());
    decides_ |= q.kind == QueryKind::Merge && !sources.empty();
    struct V {
      const Carrier& self;
      const Sources& ctes;
      bool& found;
      void onExpr(const Expr& e, const QueryLevels&) { found |= &e == &self.call_; }
      void onFrom(const FromItem& f, const QueryLevels&) {
        found |= f.kind == FromKind::Relation && std::ranges::any_of(ctes, [&](const Source& s) { return s.name == f.name && !s.columns.empty(); });
      }
    } v{*this, ctes, decides_};
    QueryWalker<V> walker(v);
    for (const Query& s : q.source) walker.query(s);
    for (const auto* list : {&q.where, &q.conflict_where})
      for (const Expr& e : *list) walker.expr(e);
    for (const auto* list : {&q.sets, &q.returning, &q.conflict_sets})
      for (const Target& t : *list) walker.expr(t.expr);
    for (const auto& row : q.rows)
      for (const Expr& e : row) walker.expr(e);
    for (const MergeWhen& w : q.merge) {
      for (const Expr& e : w.condition) walker.expr(e);
      for (const Target& t : w.sets) walker.expr(t.expr);
    }
  }

  void from(const FromItem& f, const Sources& ctes, Sources& sources) {
    const std::string& name = f.alias.empty() ? f.name : f.alias;
    switch (f.kind) {
      case FromKind::Relation:
        if (!f.schema.empty()) return;
        for (auto c = ctes.rbegin(); c != ctes.rend(); ++c)
          if (c->name == f.name) {
            if (!c->columns.empty()) sources.push_back({name, c->columns});
            return;
          }
        return;
      case FromKind::SubQuery:
      case FromKind::Values:
        if (f.query.empty()) return;
        if (Source s = named(name, query(f.query[0], ctes), f.column_aliases); !s.columns.empty()) sources.push_back(std::move(s));
        return;
      case FromKind::Function:
        for (const Expr& e : f.functions) {
          if (!contains(e)) continue;
          decides_ |= &e != &call_;
          const std::string& call_name = f.alias.empty() ? e.name : f.alias;
          sources.push_back({call_name, {f.column_aliases.empty() ? call_name : f.column_aliases[0]}});
        }
        return;
      case FromKind::Join: {
        Sources inside;
        for (const FromItem& side : f.sides) from(side, ctes, inside);
        for (const Expr& e : f.on) decides_ |= carries(e, inside, ctes);
        decides_ |= (f.natural || !f.using_columns.empty()) && !inside.empty();
        sources.insert(sources.end(), inside.begin(), inside.end());
        return;
      }
      case FromKind::Other: decides_ |= std::ranges::any_of(f.functions, [&](const Expr& e) { return contains(e); }); return;
    }
  }

  bool matches(const Expr& e, const Sources& sources) const {
    return e.kind == ExprKind::Column && std::ranges::any_of(sources, [&](const Source& s) {
      const bool column = s.columns.count(e.name) > 0 && (e.qualifier.empty() || e.qualifier == s.name);
      return column || (e.qualifier.empty() && e.name == s.name);
    });
  }

  // Does the expression's value depend on the answer?
  bool carries(const Expr& e, const Sources& sources, const Sources& ctes) {
    if (&e == &call_ || matches(e, sources)) return true;
    if (e.kind == ExprKind::SubSelect && !e.query.empty()) return subSelect(e, sources, ctes);
    bool found = false;
    for (const auto* list : {&e.args, &e.call_filter, &e.window_partition})
      for (const Expr& a : *list) found |= carries(a, sources, ctes);
    for (const auto* list : {&e.call_order, &e.window_order})
      for (const OrderItem& o : *list) found |= carries(o.expr, sources, ctes);
    return found;
  }

  bool subSelect(const Expr& e, const Sources& sources, const Sources& ctes) {
    bool outer = false;
    struct V {
      const Carrier& self;
      const Sources& sources;
      bool& found;
      void onExpr(const Expr& x, const QueryLevels&) { found |= self.matches(x, sources); }
    } v{*this, sources, outer};
    QueryWalker<V>(v).query(e.query[0]);
    decides_ |= outer && !sources.empty();
    for (const Expr& a : e.args) decides_ |= carries(a, sources, ctes);
    const CarriedAnswer inner = query(e.query[0], ctes);
    if (e.sublink == SubLink::Exists || inner.outputs.empty()) return false;
    decides_ |= e.sublink != SubLink::Scalar && e.sublink != SubLink::Array;
    return true;
  }

  // The expression only displays the answer: it cannot fail, and nothing in it does anything.
  bool shows(const Expr& e) const {
    if (&e == &call_) return true;
    const auto all = [&] { return std::ranges::all_of(e.args, [&](const Expr& a) { return shows(a); }); };
    switch (e.kind) {
      case ExprKind::Const:
      case ExprKind::Column:
      case ExprKind::Param:
      case ExprKind::SubSelect: return true;
      case ExprKind::Case:
      case ExprKind::Coalesce:
      case ExprKind::Not:
      case ExprKind::And:
      case ExprKind::Or:
      case ExprKind::BoolTest:
      case ExprKind::NullTest: return all();
      case ExprKind::Cast:  // CASE WHEN … ELSE 'busy'::int END is made to fail
        return (e.type == "text" || e.type == "boolean" || e.type.starts_with("character varying") ||
                (!e.args.empty() && &e.args[0] == &call_)) && all();
      case ExprKind::Op: return (e.name == "||" || e.name == "=" || e.name == "<>") && all();
      case ExprKind::Call: {
        static const std::set<std::string_view> kDisplay{
            "format", "concat", "concat_ws", "now", "clock_timestamp", "to_char", "count", "bool_and", "bool_or", "every", "array_agg",
            "json_build_object", "jsonb_build_object", "to_json", "to_jsonb", "row_to_json", "string_agg", "upper", "lower"};
        return (e.qualifier.empty() || e.qualifier == "pg_catalog") && kDisplay.count(e.name) > 0 && all();
      }
      default: return false;
    }
  }

  const Expr& call_;
  bool decides_ = false;
  int depth_ = 0;
};

// --- outside: blocks --------------------------------------------------------------------------------------------------

bool endsWithError(const Block& b, std::size_t event) {
  return event + 1 < b.events.size() && b.events[event + 1].kind == EventKind::Exit && b.events[event + 1].exit[0].kind == ExitKind::Raise;
}

bool onlyPrints(const Block& b) {
  for (std::size_t i = 0; i < b.events.size(); ++i) {
    if (b.events[i].kind != EventKind::Statement || b.events[i].statement[0].context != PlContext::Raise) return false;
    if (endsWithError(b, i)) return false;
  }
  return true;
}

// From here on through blocks that only print; the last one may do more.
std::vector<std::int32_t> printingChain(const Function& f, std::int32_t start) {
  std::vector<std::int32_t> chain;
  for (std::int32_t at = start; at >= 0 && static_cast<std::size_t>(at) < f.blocks.size() && chain.size() < 50;) {
    if (std::ranges::find(chain, at) != chain.end()) break;
    chain.push_back(at);
    const Block& b = f.blocks[static_cast<std::size_t>(at)];
    if (!onlyPrints(b) || b.successors.size() != 1) break;
    at = b.successors[0].target;
  }
  return chain;
}

bool workReachable(const Function& f, std::int32_t start, const Catalogue& catalogue) {
  std::set<std::int32_t> seen;
  std::vector<std::int32_t> queue{start};
  while (!queue.empty() && seen.size() < 2000) {
    const std::int32_t at = queue.back();
    queue.pop_back();
    if (at < 0 || static_cast<std::size_t>(at) >= f.blocks.size() || !seen.insert(at).second) continue;
    const Block& b = f.blocks[static_cast<std::size_t>(at)];
    if (std::ranges::any_of(b.events, [&](const Event& e) { return isWork(e, catalogue); })) return true;
    for (const Edge& e : b.successors) queue.push_back(e.target);
  }
  return false;
}

// The condition that ends the block: both ways come together again, with nothing but messages between, before work is done.
bool leadsNowhere(const Function& f, std::int32_t block, const Catalogue& catalogue) {
  if (block < 0) return false;
  const Block& b = f.blocks[static_cast<std::size_t>(block)];
  if (b.successors.size() != 2 || b.successors[0].kind == EdgeKind::Next || b.successors[1].kind == EdgeKind::Next) return false;
  const std::vector<std::int32_t> left = printingChain(f, b.successors[0].target), right = printingChain(f, b.successors[1].target);
  for (const std::int32_t at : left)
    if (std::ranges::find(right, at) != right.end()) return workReachable(f, at, catalogue);
  return false;
}

// pg_sleep between two tries, a counter, a message.
bool onlyPasses(const Block& b) {
  for (std::size_t i = 0; i < b.events.size(); ++i) {
    if (b.events[i].kind != EventKind::Statement || endsWithError(b, i)) return false;
    const Statement& s = b.events[i].statement[0];
    if (s.context == PlContext::Raise || s.context == PlContext::Assign) continue;
    if (s.context != PlContext::Perform || s.query.size() != 1 || s.query[0].targets.size() != 1) return false;
    const Expr& call = s.query[0].targets[0].expr;
    if (call.kind != ExprKind::Call || !call.name.starts_with("pg_sleep")) return false;
  }
  return true;
}

// The first thing that is done from here on, beside messages, is work: no condition and no lock call stands before it.
bool beginsWithWork(const Function& f, const std::vector<std::int32_t>& chain, std::size_t from, const Catalogue& catalogue) {
  for (std::size_t i = from; i < chain.size(); ++i)
    for (const Event& e : f.blocks[static_cast<std::size_t>(chain[i])].events) {
      if (e.kind == EventKind::Statement && e.statement[0].context == PlContext::Raise) continue;
      bool locks = false;
      for (const Statement& s : e.statement)
        forEachExpr(s, [&](const Expr& x, const QueryLevels&) {
          locks |= x.kind == ExprKind::Call && (findLockFunction(x.name) || catalogue.routine(x.qualifier, x.name, x.args.size()));
        });
      return !locks && isWork(e, catalogue);
    }
  return false;
}

// EXIT WHEN the lock is obtained, in a loop that ends by itself: behind it the same work is done in either case.
bool givesUp(const Function& f, std::int32_t block, const Catalogue& catalogue) {
  if (block < 0) return false;
  const Block& test = f.blocks[static_cast<std::size_t>(block)];
  if (test.successors.size() != 2) return false;
  for (const std::size_t side : {0U, 1U}) {
    const std::int32_t left = test.successors[side].target;  // out of the loop
    std::int32_t head = test.successors[1 - side].target;
    for (int i = 0; i < 20 && head >= 0 && static_cast<std::size_t>(head) < f.blocks.size(); ++i) {
      const Block& b = f.blocks[static_cast<std::size_t>(head)];
      if (head < block && b.successors.size() == 2) break;  // the loop's own decision to go on
      if (!onlyPasses(b) || b.successors.size() != 1) return false;
      head = b.successors[0].target;
    }
    if (head < 0 || head >= block) continue;
    for (const Edge& end : f.blocks[static_cast<std::size_t>(head)].successors) {
      const std::vector<std::int32_t> obtained = printingChain(f, left), ended = printingChain(f, end.target);
      const auto meet = std::ranges::find_if(obtained, [&](std::int32_t at) { return std::ranges::find(ended, at) != ended.end(); });
      if (meet != obtained.end() && *meet != head && beginsWithWork(f, obtained, static_cast<std::size_t>(meet - obtained.begin()), catalogue)) return true;
    }
  }
  return false;
}

// --- outside: variables -----------------------------------------------------------------------------------------------

class Readers {
 public:
  Readers(const Function& f, const FunctionIndex& index, const Catalogue& catalogue) : f_(f), index_(index), catalogue_(catalogue) {}

  // Does anything depend on the value that `from` gives to the variable (or to a field of that record)?
  bool decide(const std::string& variable, const std::string& field, const Statement& from) {
    if (++depth_ > 4 || !isFollowed(variable)) return --depth_, true;
    const bool result = follow(variable, field, from);
    --depth_;
    return result;
  }

  bool printed() const { return printed_; }
  bool tested() const { return tested_; }
  bool overwritten() const { return overwritten_; }

 private:
  bool isFollowed(const std::string& variable) const {
    if (!index_.isVariable(variable)) return false;
    for (const Parameter& p : f_.parameters)
      if (p.name == variable && p.mode != ParameterMode::In && p.mode != ParameterMode::Variadic) return false;
    return std::ranges::count(f_.variables, variable, &Variable::name) <= 1;  // a block inside has its own: not told apart
  }

  enum class Read { No, Field, Whole };
  Read reads(const Statement& s, const std::string& variable, const std::string& field) const {
    Read read = Read::No;
    forEachExpr(s, [&](const Expr& e, const QueryLevels&) {
      if (e.kind != ExprKind::Column && e.kind != ExprKind::Star) return;
      if (e.qualifier == variable) {
        if (field.empty() || e.kind == ExprKind::Star) read = Read::Whole;
        else if (e.name == field) read = std::max(read, Read::Field);
      } else if (e.kind == ExprKind::Column && e.name == variable) {
        read = field.empty() ? std::max(read, Read::Field) : Read::Whole;
      }
    });
    return read;
  }

  bool follow(const std::string& variable, const std::string& field, const Statement& from) {
    std::set<std::int32_t> seen;
    std::vector<std::pair<std::int32_t, std::size_t>> queue;
    const std::int32_t start = index_.blockOf(from);
    if (start < 0) return true;
    const Block& first = f_.blocks[static_cast<std::size_t>(start)];
    const auto at = std::ranges::find_if(first.events, [&](const Event& e) { return !e.statement.empty() && &e.statement[0] == &from; });
    if (at == first.events.end()) return true;
    queue.emplace_back(start, static_cast<std::size_t>(at - first.events.begin()) + 1);
    while (!queue.empty()) {
      const auto [block, event] = queue.back();
      queue.pop_back();
      if (seen.size() > 5000) return true;
      switch (pass(block, event, variable, field)) {
        case Pass::Decides: return true;
        case Pass::Stops: break;
        case Pass::GoesOn: {
          const Block& b = f_.blocks[static_cast<std::size_t>(block)];
          for (const Edge& e : b.successors)
            if (e.target >= 0 && seen.insert(e.target).second) queue.emplace_back(e.target, 0);
        }
      }
      // An error anywhere in the block leads to its handlers.
      for (std::int32_t s = f_.blocks[static_cast<std::size_t>(block)].scope; s >= 0; s = f_.exception_scopes[static_cast<std::size_t>(s)].parent)
        for (const ExceptionHandler& h : f_.exception_scopes[static_cast<std::size_t>(s)].handlers)
          if (h.block >= 0 && seen.insert(h.block).second) queue.emplace_back(h.block, 0);
    }
    return false;
  }

  enum class Pass { Decides, Stops, GoesOn };
  Pass pass(std::int32_t block, std::size_t event, const std::string& variable, const std::string& field) {
    const Block& b = f_.blocks[static_cast<std::size_t>(block)];
    for (; event < b.events.size(); ++event) {
      const Event& e = b.events[event];
      if (e.kind == EventKind::Exit) return Pass::Stops;
      if (e.statement.empty()) continue;
      const Statement& s = e.statement[0];
      if (const Read read = reads(s, variable, field); read == Read::Whole || (read == Read::Field && decidesIn(s, block))) return Pass::Decides;
      const bool writes = s.context == PlContext::Assign || (s.context == PlContext::SelectInto && s.into_strict) ||
                          (s.context == PlContext::SelectInto && !s.query.empty());
      if (writes && std::ranges::find(s.into, variable) != s.into.end()) return overwritten_ = true, Pass::Stops;
    }
    return Pass::GoesOn;
  }

  // A statement that reads the variable: does anything come of it?
  bool decidesIn(const Statement& s, std::int32_t block) {
    if (s.context == PlContext::Raise) return printed_ = true, false;
    if (s.context == PlContext::Condition && leadsNowhere(f_, block, catalogue_)) return tested_ = true, false;
    if (s.context != PlContext::Assign || s.into.size() != 1 || s.query.size() != 1) return true;
    const Query& q = s.query[0];
    const bool copies = q.from.empty() && q.targets.size() == 1 && displays(q.targets[0].expr);
    const std::string& to = s.into[0];
    return !copies || to.find_first_of(".[") != std::string::npos || decide(to, "", s);
  }

  // Copies and texts made of the variable; a call or a sub-select may do more.
  static bool displays(const Expr& e) {
    switch (e.kind) {
      case ExprKind::Const:
      case ExprKind::Column: return true;
      case ExprKind::Not:
      case ExprKind::And:
      case ExprKind::Or:
      case ExprKind::Coalesce:
      case ExprKind::Case:
      case ExprKind::BoolTest:
      case ExprKind::NullTest: break;
      case ExprKind::Cast:
        if (e.type != "text" && e.type != "boolean" && !e.type.starts_with("character varying")) return false;
        break;
      case ExprKind::Op:
        if (e.name != "||" && e.name != "=" && e.name != "<>") return false;
        break;
      case ExprKind::Call:
        if (e.name != "format" && e.name != "concat" && e.name != "concat_ws") return false;
        break;
      default: return false;
    }
    return std::ranges::all_of(e.args, displays);
  }

  const Function& f_;
  const FunctionIndex& index_;
  const Catalogue& catalogue_;
  int depth_ = 0;
  bool printed_ = false, tested_ = false, overwritten_ = false;
};

std::string inWords(const Readers& readers, const std::string& name) {
  if (readers.tested()) return fmt::format("the IF that tests {} goes on to the same work either way", name);
  if (readers.printed()) return fmt::format("{} is only printed", name);
  if (readers.overwritten()) return fmt::format("{} is overwritten before anything reads it", name);
  return fmt::format("{} is never read", name);
}

// INTO, :=, DECLARE, FOR: the variables or fields that hold the answer.
std::optional<std::string> whyStored(const LockSite& site, const CarriedAnswer& carried, const FunctionIndex& index, const Catalogue& catalogue) {
  const Statement& s = *site.statement;
  if (s.into.empty()) return std::nullopt;
  const bool work = workReachable(*site.function, index.blockOf(s), catalogue);
  if (carried.outputs.empty()) return work ? std::optional<std::string>("no column that is read shows the answer") : std::nullopt;
  Readers readers(*site.function, index, catalogue);
  std::string shown;
  for (const auto& [at, name] : carried.outputs) {
    const auto declared = std::ranges::find(site.function->variables, s.into[0], &Variable::name);
    const bool known = declared != site.function->variables.end();
    std::string variable, field;
    if (s.into.size() == 1 && known && declared->type == "record" && s.context != PlContext::Assign) {
      variable = s.into[0], field = name;
    } else if (s.into.size() == 1 && known && (declared->type.ends_with("%rowtype") || (site.statement->query[0].targets.size() > 1 && at != 0))) {
      return std::nullopt;  // by position, into the fields of a row
    } else if (at >= 0 && static_cast<std::size_t>(at) < s.into.size()) {
      variable = s.into[static_cast<std::size_t>(at)];
      if (const auto dot = variable.find('.'); dot != std::string::npos) field = variable.substr(dot + 1), variable.resize(dot);
    } else {
      return std::nullopt;
    }
    if (variable.find('[') != std::string::npos || field.find_first_of(".[") != std::string::npos) return std::nullopt;
    if (readers.decide(variable, field, s)) return std::nullopt;
    shown = field.empty() ? variable : variable + "." + field;
  }
  if (readers.printed() && !work) return std::nullopt;  // a report, and nothing that it is for
  return inWords(readers, shown);
}

}  // namespace

CarriedAnswer carryAnswer(const Query& query, const Expr& call) { return Carrier(call).read(query); }

std::optional<std::string> whyIgnored(const LockSite& site, const FunctionIndex& index, const Catalogue& catalogue) {
  const Statement& s = *site.statement;
  if (s.query.size() != 1 || !site.function->body_understood || index.unreadable()) return std::nullopt;
  bool handed_in = false;  // EXECUTE … USING
  struct V {
    const Expr* call;
    bool& found;
    void onExpr(const Expr& e, const QueryLevels&) { found |= &e == call; }
  } v{site.call, handed_in};
  for (const Expr& e : s.using_args) QueryWalker<V>(v).expr(e);
  if (handed_in) return std::nullopt;
  const CarriedAnswer carried = carryAnswer(s.query[0], *site.call);
  if (carried.decides && s.context != PlContext::Condition) return std::nullopt;
  switch (s.context) {
    case PlContext::Perform: return fmt::format("{} throws the answer away", s.dynamic ? "EXECUTE without INTO" : "PERFORM");
    case PlContext::SelectInto:
    case PlContext::Assign:
    case PlContext::Default:
    case PlContext::ForQuery: return whyStored(site, carried, index, catalogue);
    case PlContext::Raise: {
      const Block& b = site.function->blocks[static_cast<std::size_t>(std::max(index.blockOf(s), 0))];
      const auto at = std::ranges::find_if(b.events, [&](const Event& e) { return !e.statement.empty() && &e.statement[0] == &s; });
      if (at == b.events.end() || endsWithError(b, static_cast<std::size_t>(at - b.events.begin()))) return std::nullopt;
      if (!workReachable(*site.function, index.blockOf(s), catalogue)) return std::nullopt;
      return "RAISE only prints the answer";
    }
    case PlContext::Condition:
      if (!carried.decides && !carried.outputs.empty() && leadsNowhere(*site.function, index.blockOf(s), catalogue))
        return "the IF that tests it goes on to the same work either way";
      if (!carried.decides && !carried.outputs.empty() && givesUp(*site.function, index.blockOf(s), catalogue))
        return "the loop that tests it ends by itself, and goes on to the same work as with the lock";
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace pglocklint

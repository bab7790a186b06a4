#include "lower_show.h"

#include <fmt/format.h>

namespace pglocklint::sql::show {
namespace {

std::string all(const List<Expr>& list) {
  std::string s;
  for (const Expr& e : list) s += " " + expr(e);
  return s;
}

std::string order(const List<OrderItem>& list) {
  std::string s;
  for (const OrderItem& o : list) {
    s += " " + expr(o.expr);
    if (o.descending) s += " desc";
    if (o.nulls != NullsOrder::Default) s += " nulls-" + std::string(nameOf(o.nulls));
  }
  return s;
}

std::string names(const List<std::string>& list) {
  std::string s;
  for (const auto& n : list) s += (s.empty() ? "" : ",") + n;
  return s;
}

std::string part(std::string_view label, const std::string& content) {
  return content.empty() ? "" : fmt::format(" ({}{})", label, content);
}

std::string targets(const List<Target>& list, bool always_named) {
  std::string s;
  for (const Target& t : list) s += " " + (always_named || t.has_alias ? t.name + ":" : "") + expr(t.expr);
  return s;
}

std::string call(const Expr& e) {
  std::string s = "(" + (e.qualifier.empty() ? "" : e.qualifier + ".") + e.name;
  if (e.call_star) s += " *";
  if (e.call_distinct) s += " distinct";
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    const bool named = i < e.arg_names.size() && !e.arg_names[i].empty();
    s += (e.variadic && i + 1 == e.args.size() ? " variadic " : " ") + (named ? e.arg_names[i] + "=>" : "") + expr(e.args[i]);
  }
  s += part("order", order(e.call_order));
  s += part("filter", all(e.call_filter));
  if (e.call_window) s += " over";
  s += part("partition", all(e.window_partition));
  s += part("window-order", order(e.window_order));
  return s + ")";
}

}  // namespace

std::string expr(const Expr& e) {
  const std::string kind(nameOf(e.kind));
  const std::string negated = e.negated ? "not-" : "";
  switch (e.kind) {
    case ExprKind::Const:
      if (e.literal == LiteralKind::Null) return "null";
      return e.literal == LiteralKind::String      ? "'" + e.text + "'"
             : e.literal == LiteralKind::BitString ? "bits:" + e.text
                                                   : e.text;
    case ExprKind::Param: return "$" + e.text;
    case ExprKind::Column: return (e.qualifier.empty() ? "" : e.qualifier + ".") + e.name;
    case ExprKind::Star: return (e.qualifier.empty() ? "" : e.qualifier + ".") + "*";
    case ExprKind::Call: return call(e);
    case ExprKind::Op: return "(" + e.name + all(e.args) + ")";
    case ExprKind::Cast: return "(cast " + e.type + all(e.args) + ")";
    case ExprKind::MinMax: return "(" + e.name + all(e.args) + ")";
    case ExprKind::BoolTest: return "(is-" + negated + e.text + all(e.args) + ")";
    case ExprKind::NullTest: return "(is-" + negated + "null" + all(e.args) + ")";
    case ExprKind::AnyAll: return "(" + e.text + " " + e.name + all(e.args) + ")";
    case ExprKind::Like: return "(" + negated + "like " + e.name + all(e.args) + ")";
    case ExprKind::Case:
      return std::string("(case") + (e.has_operand ? " operand" : "") + all(e.args) + (e.has_else ? " else)" : ")");
    case ExprKind::SubSelect:
      return "(" + std::string(nameOf(e.sublink)) + (e.name.empty() ? "" : " " + e.name) + all(e.args) + " " +
             query(e.query.at(0)) + ")";
    case ExprKind::Subscript: return "(" + (e.name.empty() ? std::string("at") : "." + e.name) + all(e.args) + ")";
    case ExprKind::Other: return "(other:" + e.text + all(e.args) + ")";
    case ExprKind::Default: return "default";
    default: return "(" + negated + kind + all(e.args) + ")";
  }
}

std::string from(const FromItem& f) {
  std::string s;
  switch (f.kind) {
    case FromKind::Relation: s = (f.schema.empty() ? "" : f.schema + ".") + f.name; break;
    case FromKind::Join:
      s = "(" + std::string(f.natural ? "natural-" : "") + std::string(nameOf(f.join)) + " " + from(f.sides.at(0)) + " " +
          from(f.sides.at(1));
      s += part("on", all(f.on));
      if (!f.using_columns.empty()) s += " (using " + names(f.using_columns) + ")";
      s += ")";
      break;
    case FromKind::SubQuery:
    case FromKind::Values: s = "{" + query(f.query.at(0)) + "}"; break;
    case FromKind::Function: s = "(function" + all(f.functions) + ")"; break;
    case FromKind::Other: s = "(other" + all(f.functions) + ")"; break;
  }
  if (f.only) s = "only " + s;
  if (f.lateral) s = "lateral " + s;
  if (f.sampled) s += " sampled";
  if (f.ordinality) s += " ordinality";
  if (!f.alias.empty()) s += " " + f.alias;
  if (!f.column_aliases.empty()) s += "(" + names(f.column_aliases) + ")";
  return s;
}

std::string query(const Query& q) {
  std::string s = "(" + std::string(nameOf(q.kind));
  for (const Cte& c : q.ctes) {
    s += std::string(" (with ") + (c.recursive ? "recursive " : "") + c.name;
    if (!c.column_aliases.empty()) s += "(" + names(c.column_aliases) + ")";
    if (c.materialize != Materialize::Default) s += " materialized-" + std::string(nameOf(c.materialize));
    s += " " + query(c.query.at(0)) + ")";
  }
  if (q.kind == QueryKind::SetOperation) {
    s += " " + std::string(nameOf(q.set_operator)) + (q.set_all ? "-all" : "");
    for (const Query& a : q.arms) s += " " + query(a);
  }
  if (!q.target->name.empty()) s += " " + from(q.target);
  if (!q.columns.empty()) s += "(" + names(q.columns) + ")";
  if (q.distinct == DistinctKind::All) s += " distinct";
  s += part("distinct-on", all(q.distinct_on));
  s += targets(q.targets, false);
  s += part("set", targets(q.sets, true));
  for (const Query& inner : q.source) s += " " + query(inner);
  for (const auto& row : q.rows) s += " (row" + all(row) + ")";
  std::string items;
  for (const FromItem& f : q.from) items += " " + from(f);
  s += part("from", items) + part("where", all(q.where)) + part(q.grouping_sets ? "grouping-sets" : "group", all(q.group_by));
  s += part("having", all(q.having)) + part("order", order(q.order_by)) + part("limit", all(q.limit)) +
       part("offset", all(q.offset));
  if (q.with_ties) s += " with-ties";
  for (const LockingClause& l : q.locking) {
    s += " (for " + std::string(nameOf(l.strength));
    if (l.wait != WaitPolicy::Block) s += " " + std::string(nameOf(l.wait));
    if (!l.relations.empty()) s += " of " + names(l.relations);
    s += ")";
  }
  for (const MergeWhen& w : q.merge)
    s += std::string(" (when ") + (w.matched ? "matched" : "not-matched") + part("if", all(w.condition)) + " " + w.action +
         targets(w.sets, true) + ")";
  if (q.conflict != ConflictAction::None)
    s += " (conflict " + std::string(nameOf(q.conflict)) + targets(q.conflict_sets, true) + part("where", all(q.conflict_where)) +
         ")";
  s += part("returning", targets(q.returning, false));
  return s + ")";
}

std::string event(const ParsedStatement& p, std::size_t i) {
  const Event& e = p.events.at(i);
  switch (e.kind) {
    case EventKind::Statement: {
      const Statement& s = e.statement.at(0);
      std::string line(nameOf(s.kind));
      if (!s.name.empty()) line += " " + s.name;
      if (s.hold) line += " hold";
      if (s.kind == StatementKind::Fetch || s.kind == StatementKind::Move)
        line += fmt::format(" {}{}", s.fetch_count, s.fetch_backward ? " backward" : "");
      if (s.no_data) line += " no-data";
      if (s.kind == StatementKind::Utility) line += " [" + s.head + "]";
      line += all(s.exprs);
      for (const Query& q : s.query) line += " " + query(q);
      return line;
    }
    case EventKind::Transaction: {
      const TransactionOp& t = e.transaction.at(0);
      return std::string(nameOf(t.verb)) + (t.name.empty() ? "" : " " + t.name) + (t.isolation.empty() ? "" : " " + t.isolation) +
             (t.chain ? " chain" : "");
    }
    case EventKind::Setting: {
      const Setting& s = e.setting.at(0);
      return std::string(nameOf(s.scope)) + " " + s.name + "=" + s.value;
    }
    case EventKind::Session: return std::string(nameOf(e.session.at(0).verb));
    case EventKind::Ddl: return "ddl " + std::string(nameOf(p.ddl.at(static_cast<std::size_t>(e.ddl)).kind));
    case EventKind::Exit: return std::string(nameOf(e.exit.at(0).kind));
    case EventKind::HostCall:
    case EventKind::HostStep: break;  // of C++ only
  }
  return "?";
}

std::string value(std::string_view sql) {
  const Sample s("SELECT " + std::string(sql));
  return s.parsed.error.empty() ? expr(s.target()) : s.parsed.error;
}

std::string place(std::string_view sql) {
  const Sample s("SELECT " + std::string(sql));
  return s.parsed.error.empty() ? s.at(s.target().range) : s.parsed.error;
}

std::string shape(std::string_view sql) {
  const Sample s{std::string(sql)};
  return s.parsed.error.empty() ? query(s.query()) : s.parsed.error;
}

}  // namespace pglocklint::sql::show

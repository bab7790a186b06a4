#include "wording.h"

#include <fmt/format.h>

namespace pglocklint {
namespace {

constexpr std::size_t kLongest = 70;  // a key expression longer than this tells a reader nothing in one line
constexpr int kDeepest = 12;

std::string text(const Expr& e, int depth);

std::string list(const List<Expr>& exprs, int depth, std::string_view separator = ", ") {
  std::string out;
  for (const Expr& e : exprs) {
    if (!out.empty()) out += separator;
    if (out.size() > kLongest) return out + "…";
    out += text(e, depth);
  }
  return out;
}

std::string literal(const Expr& e) {
  switch (e.literal) {
    case LiteralKind::Null: return "NULL";
    case LiteralKind::String: return "'" + e.text + "'";
    default: return e.text;
  }
}

std::string text(const Expr& e, int depth) {
  if (depth > kDeepest) return "…";
  const int d = depth + 1;
  switch (e.kind) {
    case ExprKind::Const: return literal(e);
    case ExprKind::Param:
      if (!e.name.empty()) return e.name;  // what the host program puts there
      return e.text.empty() || e.text[0] < '0' || e.text[0] > '9' ? e.text : "$" + e.text;
    case ExprKind::Column: return e.qualifier.empty() ? e.name : e.qualifier + "." + e.name;
    case ExprKind::Star: return e.qualifier.empty() ? "*" : e.qualifier + ".*";
    case ExprKind::Call: return (e.qualifier == kHostSchema ? hostDisplayName(e.name) : e.name) + "(" + (e.call_star ? "*" : list(e.args, d)) + ")";
    case ExprKind::And: return list(e.args, d, " AND ");
    case ExprKind::Or: return list(e.args, d, " OR ");
    case ExprKind::Not: return e.args.empty() ? "NOT …" : "NOT " + text(e.args[0], d);
    case ExprKind::Cast: return e.args.empty() ? "…" : text(e.args[0], d) + (e.type == "unknown" ? "" : "::" + e.type);  // of dynamic SQL
    case ExprKind::Op:
      if (e.args.size() == 1) return e.name + text(e.args[0], d);
      return list(e.args, d, " " + e.name + " ");
    case ExprKind::Coalesce: return "COALESCE(" + list(e.args, d) + ")";
    case ExprKind::Subscript: return (e.args.empty() ? "" : text(e.args[0], d)) + (e.name.empty() ? "[…]" : "." + e.name);
    case ExprKind::Case: return "CASE … END";
    case ExprKind::SubSelect: return "(SELECT …)";
    default: return "…";
  }
}

}  // namespace

std::string exprText(const Expr& expr) {
  std::string out = text(expr, 0);
  if (out.size() <= kLongest) return out;
  std::size_t cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) --cut;  // not inside a UTF-8 character
  return out.substr(0, cut) + "…";
}

std::string callText(const LockSite& site) {
  if (!site.call) return site.lock ? std::string(site.lock->name) : "the lock call";
  std::string out = exprText(*site.call);
  if (site.routine && site.lock) out += fmt::format(" (which calls {})", site.lock->name);
  return out;
}

std::string keyClassText(const LockKey& key) {
  const std::string& text = key.class_text;
  return key.form == KeyForm::Bigint && text.size() > 2 ? text.substr(1, text.size() - 2) : text;
}

std::string_view heldUntil(const LockSite& site) {
  return site.lock && site.lock->scope == LockScope::Transaction ? "until the transaction ends"
                                                                 : "until it is unlocked or the session ends";
}

std::string_view clauseName(Cause cause) {
  switch (cause) {
    case Cause::Limit: return "LIMIT";
    case Cause::Offset: return "OFFSET";
    case Cause::WithTies: return "FETCH … WITH TIES";
    case Cause::SkipLocked: return "SKIP LOCKED";
    case Cause::OrderByCall: return "ORDER BY the lock call";
    case Cause::Distinct: return "DISTINCT";
    case Cause::GroupingKey: return "GROUP BY";
    case Cause::OtherCondition: return "another condition";
    case Cause::OwnCondition: return "the test of the call's own result";
    case Cause::Having: return "HAVING";
    case Cause::Join: return "the join";
    case Cause::SemiJoin: return "the IN or EXISTS condition";
    case Cause::SetOperation: return "the set operation";
    case Cause::OuterCondition: return "a condition";
    case Cause::MoveCursor: return "MOVE";
    case Cause::LoopPrefetch: return "the FOR loop";
    case Cause::StoredFunction: return "the set-returning function";
    default: return "a later clause";
  }
}

void relateCall(Report& report, Finding& finding, const LockSite& site) {
  if (!site.call) return;
  RelatedPlace place = report.place(site.unit, site.call->range, fmt::format("the lock call: {}", callText(site)));
  if (place.where.file != finding.where.file || place.where.begin != finding.where.begin)
    finding.related.push_back(std::move(place));
}

}  // namespace pglocklint

// Expressions to values; see values.h.
#include "program/values.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/types.h"
#include "program/values_fold.h"

namespace pglocklint {
namespace {

constexpr int kMaxSteps = 3000;            // of one Resolver
constexpr std::size_t kMaxFollowed = 100;  // names and operands followed into one another

Value node(ValueKind kind, std::string name, std::string type, List<Value> args) {
  Value v;
  v.kind = kind, v.name = std::move(name), v.type = std::move(type), v.args = std::move(args);
  v.from_argument = std::ranges::any_of(v.args, &Value::from_argument);
  return v;
}

bool isOidTarget(std::string_view type) {
  return familyOf(type) == TypeFamily::Oid || type == "integer" || type == "bigint";
}

// 'Public.Jobs' names what PostgreSQL makes of it: folded outside quotes, quotes dropped.
std::string foldIdentifier(std::string_view written) {
  std::string out;
  bool quoted = false;
  for (const char c : written) {
    if (c == '"') quoted = !quoted;
    else out += !quoted && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

}  // namespace

Value placed(Value v, const SourceRange& range, int unit) {
  v.range = range, v.unit = unit;
  return v;
}

void propagateNull(Value& result, const List<Value>& args) {
  for (const Value& a : args)
    if (a.may_be_null && !result.may_be_null) result.may_be_null = true, result.null_evidence = a.null_evidence;
}

Value computed(Value tree, const std::optional<Value>& folded) {
  if (!folded) return tree;
  const bool literals = std::ranges::all_of(tree.args, &Value::isConstant);
  if (!literals && !isError(*folded)) {
    tree.text = folded->text;
    if (!folded->type.empty()) tree.type = folded->type;
    return tree;
  }
  Value v = *folded;
  v.range = tree.range, v.unit = tree.unit, v.from_argument = tree.from_argument;
  return v;
}

Value concatenation(List<Value> pieces, const SourceRange& range, int unit) {
  List<Value> merged;
  for (Value& p : pieces) {
    if (isError(p)) return p;
    if (p.isConstant() && p.kind != ValueKind::Null)
      if (const auto text = foldCast(p, "text"); text && !isError(*text)) p.kind = ValueKind::Text, p.text = text->text, p.type = "text";
    if (!merged.empty() && p.kind == ValueKind::Text && merged.back().kind == ValueKind::Text && p.type == "text") {
      merged.back().text += p.text;
      merged.back().constant_name.clear();
      merged.back().from_argument |= p.from_argument;
      continue;
    }
    if (p.kind == ValueKind::Text && p.text.empty() && pieces.size() > 1) continue;
    // PostgreSQL casts what stands beside text: 'job:' || id.
    const TypeFamily family = familyOf(p.type);
    if (!p.type.empty() && family != TypeFamily::Text && family != TypeFamily::Untyped && p.kind != ValueKind::Null)
      p = Resolver::convert(std::move(p), "text", true, p.range, unit);
    else if (family == TypeFamily::Untyped)
      p.type = "text";
    merged.push_back(std::move(p));
  }
  if (merged.size() == 1 && merged[0].kind == ValueKind::Text) return placed(std::move(merged[0]), range, unit);
  if (merged.empty()) return placed(constantOf(ValueKind::Text, "", "text"), range, unit);
  Value v = placed(node(ValueKind::Concat, "||", "text", std::move(merged)), range, unit);
  propagateNull(v, v.args);
  std::string text;
  for (const Value& p : v.args) {
    const auto t = foldCast(p, "text");
    if (!t || isError(*t)) return v;
    text += t->text;
  }
  v.text = text;
  return v;
}

Value Resolver::convert(Value v, const std::string& type, bool implicit, const SourceRange& range, int unit) {
  if (type.empty() || isError(v) || v.type == type) return v;
  if (isSent(v)) return received(std::move(v.args[0]), type);
  if (v.kind == ValueKind::Null) {
    v.type = type;
    return v;
  }
  const TypeFamily from = familyOf(v.type), to = familyOf(type);
  const bool undecided = from == TypeFamily::Untyped;
  if (v.kind == ValueKind::Text && (undecided || from == TypeFamily::Text) && to == TypeFamily::Oid) {
    Value oid = placed(node(ValueKind::Oid, foldIdentifier(v.text), type, {}), v.range, v.unit);
    oid.from_argument = v.from_argument, oid.constant_name = v.constant_name;
    return oid;
  }
  if (v.kind == ValueKind::Oid && isOidTarget(type)) {
    v.type = type;
    return v;
  }
  if (undecided && !v.isConstant() && v.args.empty()) {  // a parameter takes the type that is wanted
    v.type = type;
    return v;
  }
  // PostgreSQL's varchar is text with a label: no function runs between them.
  if (implicit && from == TypeFamily::Text && type == "text" && v.kind != ValueKind::Text && baseType(v.type) == "character varying") return v;
  const auto folded = foldCast(v, type);
  if (folded && v.isConstant()) {
    Value c = *folded;
    c.range = v.range, c.unit = v.unit, c.constant_name = v.constant_name, c.from_argument = v.from_argument;
    if (isError(c)) c.range = range, c.unit = unit;
    return c;
  }
  Value c = placed(node(ValueKind::Cast, "", type, {std::move(v)}), range, unit);
  c.implicit = implicit;
  propagateNull(c, c.args);
  c.constant_name = c.args[0].constant_name;
  return computed(std::move(c), folded);
}

Value Resolver::resolve(const Expr& e, const ValueScope& scope) {
  if (++steps_ > kMaxSteps || active_.size() > kMaxFollowed) return placed(unknownValue("too large to follow"), e.range, scope.unit);
  active_.push_back(&e);
  Value v = expression(e, scope);
  active_.pop_back();
  if (!v.range.known() && v.unit < 0) v.range = e.range, v.unit = scope.unit;
  return v;
}

Value Resolver::expression(const Expr& e, const ValueScope& scope) {
  switch (e.kind) {
    case ExprKind::Const: return e.args.empty() ? literal(e) : templateText(e, scope);
    case ExprKind::Param: return placeholder(e, scope);
    case ExprKind::Column: return columnOrVariable(e, scope);
    case ExprKind::Call: return call(e, scope);
    case ExprKind::Cast: return cast(e, scope);
    case ExprKind::Op: return e.args.size() == 1 ? prefix(e, scope) : operation(e, scope);
    case ExprKind::Case:
    case ExprKind::Coalesce:
    case ExprKind::MinMax:
    case ExprKind::NullIf: return choice(e, scope);
    case ExprKind::SubSelect: return subSelect(e, scope);
    case ExprKind::Subscript: return subscript(e, scope);
    case ExprKind::Array: {
      List<Value> elements = operands(e, scope);
      std::vector<std::string> types;
      for (const Value& v : elements) types.push_back(v.type);
      const std::string type = elements.empty() ? "" : commonType(types);
      return node(ValueKind::Call, "array", type.empty() ? "" : type + "[]", std::move(elements));
    }
    case ExprKind::Row: return node(ValueKind::Call, "row", "record", operands(e, scope));
    case ExprKind::And:
    case ExprKind::Or:
    case ExprKind::Not:
    case ExprKind::NullTest:
    case ExprKind::BoolTest:
    case ExprKind::InList:
    case ExprKind::Between:
    case ExprKind::Like:
    case ExprKind::AnyAll:
    case ExprKind::Distinct: return node(ValueKind::Call, std::string(nameOf(e.kind)), "boolean", {});
    case ExprKind::Default: return unknownValue("DEFAULT");
    case ExprKind::Star: return unknownValue("*");
    case ExprKind::Other: break;
  }
  // COLLATE changes nothing about the bytes.
  if (e.args.size() == 1 && foldIdentifier(e.text) == "collate") return resolve(e.args[0], scope);
  Expr named = e;  // current_date and its kin have no parentheses
  named.args.clear(), named.name = foldIdentifier(e.text);
  if (e.args.empty())
    if (auto v = source(named.name, named, {})) return *v;
  return unknownValue(e.text);
}

List<Value> Resolver::operands(const Expr& e, const ValueScope& scope) {
  List<Value> values;
  for (const Expr& a : e.args) values.push_back(resolve(a, scope));
  return values;
}

Value Resolver::literal(const Expr& e) {
  switch (e.literal) {
    case LiteralKind::Null: {
      Value v = constantOf(ValueKind::Null, "", "unknown");
      v.may_be_null = true, v.null_evidence = "NULL is written here";
      return v;
    }
    case LiteralKind::Boolean: return constantOf(ValueKind::Boolean, e.text.starts_with('t') || e.text.starts_with('T') ? "true" : "false", "boolean");
    case LiteralKind::Integer:
    case LiteralKind::Numeric: return numericLiteral(e.text.starts_with('-') ? e.text.substr(1) : e.text, e.text.starts_with('-'));
    case LiteralKind::BitString: return bitLiteral(e.text);
    case LiteralKind::String: return constantOf(ValueKind::Text, e.text, "unknown");
    case LiteralKind::None: break;
  }
  return unknownValue("literal");
}

// A literal with placeholders in it: text put together before PostgreSQL sees it, of no type yet.
Value Resolver::templateText(const Expr& e, const ValueScope& scope) {
  List<Value> pieces = operands(e, scope);
  if (pieces.size() == 1) return std::move(pieces[0]);
  for (Value& p : pieces)
    if (p.kind == ValueKind::Text) p.type = "text";
  return node(ValueKind::Concat, "||", "", std::move(pieces));
}

Value Resolver::cast(const Expr& e, const ValueScope& scope) {
  if (e.args.empty()) return unknownValue("cast");
  Value v = resolve(e.args[0], scope);
  const std::string type = canonicalType(typeName(e.type, scope));
  if (v.kind == ValueKind::Unknown) return v;
  if (v.type == type && v.kind != ValueKind::Null) return v;
  // A cast to a type of the project (a domain, an enum) tells nothing about the value.
  if (familyOf(type) == TypeFamily::NotKnown) {
    Value c = placed(node(ValueKind::Cast, "", type, {std::move(v)}), e.range, scope.unit);
    propagateNull(c, c.args);
    return c;
  }
  return convert(std::move(v), type, false, e.range, scope.unit);
}

Value Resolver::prefix(const Expr& e, const ValueScope& scope) {
  const Expr& operand = e.args[0];
  const bool number = operand.kind == ExprKind::Const && (operand.literal == LiteralKind::Integer || operand.literal == LiteralKind::Numeric);
  // The grammar negates a number before it decides its type: -9223372036854775808 is a bigint.
  if (e.name == "-" && number) return placed(numericLiteral(operand.text, true), e.range, scope.unit);
  Value v = resolve(operand, scope);
  if (e.name == "+" && number) return v;
  if (isError(v)) return v;
  const OperatorType type = operatorType(e.name, std::nullopt, v.type);
  if (!type.error.empty()) return placed(errorValue(type.error), e.range, scope.unit);
  const auto folded = foldOperator(e.name, nullptr, v, type.type);
  Value tree = placed(node(ValueKind::Arithmetic, e.name, type.type, {std::move(v)}), e.range, scope.unit);
  propagateNull(tree, tree.args);
  return computed(std::move(tree), folded);
}

Value Resolver::operation(const Expr& e, const ValueScope& scope) {
  List<Value> args = operands(e, scope);
  if (args.empty()) return unknownValue(e.name);
  if (e.name == "||") {
    std::string left = args[0].type;
    for (std::size_t i = 1; i < args.size() && !left.empty(); ++i) {
      OperatorType type = operatorType("||", left, args[i].type);
      if (!type.error.empty()) return placed(errorValue(std::move(type.error)), e.range, scope.unit);
      left = std::move(type.type);
    }
    const bool text = std::ranges::all_of(args, [&](const Value& v) {
      const TypeFamily f = familyOf(v.type);
      return f != TypeFamily::Array && f != TypeFamily::Json && f != TypeFamily::Bits && v.type != "bytea";
    });
    if (text) return concatenation(std::move(args), e.range, scope.unit);
  }
  if (e.name == "->>" || e.name == "#>>" || e.name == "->" || e.name == "#>") {
    const std::string type = operatorType(e.name, args[0].type, args.back().type).type;
    Value v = node(ValueKind::Call, e.name, type, std::move(args));
    v.may_be_null = true;
    v.null_evidence = fmt::format("{} gives NULL when the key is missing", e.name);
    return v;
  }
  Value left = std::move(args[0]);
  for (std::size_t i = 1; i < args.size(); ++i) left = arithmetic(e.name, std::move(left), std::move(args[i]), e.range, scope.unit);
  return left;
}

Value Resolver::arithmetic(const std::string& name, Value left, Value right, const SourceRange& range, int unit) {
  if (isError(left)) return left;
  if (isError(right)) return right;
  const OperatorType type = operatorType(name, left.type, right.type);
  if (!type.error.empty()) return placed(errorValue(type.error), range, unit);
  const bool shift = name == "<<" || name == ">>";
  if (left.type == "unknown" && right.type != "unknown" && !shift) left = convert(std::move(left), baseType(right.type), true, range, unit);
  else if (right.type == "unknown" && left.type != "unknown") right = convert(std::move(right), shift ? "integer" : baseType(left.type), true, range, unit);
  if (isError(left)) return left;
  if (isError(right)) return right;
  const auto folded = foldOperator(name, &left, right, type.type);
  const bool boolean = type.type == "boolean";
  Value tree = node(boolean ? ValueKind::Call : ValueKind::Arithmetic, name, type.type, {});
  tree.args.push_back(std::move(left)), tree.args.push_back(std::move(right));
  tree.from_argument = tree.args[0].from_argument || tree.args[1].from_argument;
  propagateNull(tree, tree.args);
  if (!boolean && std::ranges::all_of(tree.args, [](const Value& a) { return a.kind == ValueKind::Null; })) tree = tree.args[0];
  return computed(placed(std::move(tree), range, unit), folded);
}

// CASE, COALESCE, GREATEST, LEAST, NULLIF: which value it is, only the data tell; the possible ones are the arguments.
Value Resolver::choice(const Expr& e, const ValueScope& scope) {
  std::vector<const Expr*> results;
  if (e.kind == ExprKind::Case) {
    for (std::size_t i = e.has_operand ? 2 : 1; i < e.args.size(); i += 2) results.push_back(&e.args[i]);
    if (e.has_else && !e.args.empty()) results.push_back(&e.args.back());
  } else {
    for (const Expr& a : e.args) results.push_back(&a);
  }
  Value v = node(ValueKind::Choice, e.kind == ExprKind::MinMax ? foldIdentifier(e.name) : std::string(nameOf(e.kind)), "", {});
  std::vector<std::string> types;
  for (const Expr* r : results) {
    v.args.push_back(resolve(*r, scope));
    types.push_back(v.args.back().type);
  }
  if (v.args.empty()) return unknownValue("CASE");
  v.type = e.kind == ExprKind::NullIf ? (types[0] == "unknown" ? "text" : types[0]) : commonType(types);
  v.from_argument = std::ranges::any_of(v.args, &Value::from_argument);
  for (Value& a : v.args) a = convert(std::move(a), v.type, true, a.range, a.unit);
  if (e.kind == ExprKind::NullIf) {
    v.may_be_null = true, v.null_evidence = "NULLIF gives NULL when its arguments are equal";
  } else if (e.kind != ExprKind::Case && std::ranges::all_of(v.args, &Value::may_be_null)) {
    propagateNull(v, v.args);
  }
  if (e.kind == ExprKind::Coalesce) {  // the first literal ends it, and alone it is the value
    const auto first = std::ranges::find_if(v.args, [](const Value& a) { return a.kind != ValueKind::Null; });
    if (first != v.args.end() && first->isConstant() && std::ranges::none_of(v.args, isError)) return *first;
  }
  return v;
}

namespace {

// Whether a query gives a row whatever the data: no FROM that could be empty, nothing that discards rows.
bool always(const Query& q) {
  return q.kind == QueryKind::Select && q.from.empty() && q.where.empty() && q.having.empty() && q.limit.empty() && q.offset.empty();
}

}  // namespace

Value Resolver::subSelect(const Expr& e, const ValueScope& scope) {
  if (e.sublink == SubLink::Exists || e.sublink == SubLink::Any || e.sublink == SubLink::All) return node(ValueKind::Call, "exists", "boolean", {});
  if (e.query.empty()) return unknownValue("sub-select");
  const Query& q = e.query[0];
  ValueScope inner = scope;
  inner.levels.insert(inner.levels.begin(), &q);
  List<Value> target;
  if (!q.targets.empty() && !q.targets[0].expr.is(ExprKind::Star)) target.push_back(resolve(q.targets[0].expr, inner));
  if (q.kind == QueryKind::Values && q.rows.size() == 1 && q.rows[0].size() == 1) return resolve(q.rows[0][0], inner);
  if (e.sublink == SubLink::Array) {
    const std::string type = target.empty() || target[0].type.empty() ? "" : target[0].type + "[]";
    return node(ValueKind::Call, "array", type, std::move(target));
  }
  if (always(q) && target.size() == 1) return target[0];
  const std::string type = target.empty() ? "" : target[0].type;
  Value v = node(ValueKind::Subquery, "", type, std::move(target));
  const bool one_row = !v.args.empty() && q.group_by.empty() && q.having.empty() &&
                       (v.args[0].kind == ValueKind::Aggregate || (v.args[0].kind == ValueKind::Choice && !v.args[0].may_be_null &&
                                                                   std::ranges::any_of(v.args[0].args, [](const Value& a) {
                                                                     return a.kind == ValueKind::Aggregate;
                                                                   })));
  if (one_row) propagateNull(v, v.args);
  else v.may_be_null = true, v.null_evidence = "the sub-select gives NULL when it finds no row";
  return v;
}

Value Resolver::subscript(const Expr& e, const ValueScope& scope) {
  if (e.args.empty()) return unknownValue("subscript");
  if (!e.name.empty()) {  // (r).id
    if (e.args[0].is(ExprKind::Column) && e.args[0].qualifier.empty()) {
      Expr field = e.args[0];
      field.qualifier = e.args[0].name, field.name = e.name, field.range = e.range;
      return columnOrVariable(field, scope);
    }
    return node(ValueKind::Call, "." + e.name, "", operands(e, scope));
  }
  List<Value> args = operands(e, scope);
  const std::string& array = args[0].type;
  const std::string type = familyOf(array) == TypeFamily::Array ? baseType(array.substr(0, array.size() - 2)) : "";
  if (args.size() == 2 && args[0].name == "array" && args[1].kind == ValueKind::Integer) {
    const auto i = static_cast<std::size_t>(std::strtoll(args[1].text.c_str(), nullptr, 10));
    if (i >= 1 && i <= args[0].args.size()) return convert(args[0].args[i - 1], type, true, e.range, scope.unit);
  }
  return node(ValueKind::Call, "[]", type, std::move(args));
}

}  // namespace pglocklint

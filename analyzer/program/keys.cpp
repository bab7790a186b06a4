// PostgreSQL's choice between (bigint) and (integer, integer), and the canonical text of a key class.
//
// There is one function for each number of arguments, so the choice is only whether the types fit: smallint, integer and bigint go
// where they are not too wide, an untyped literal or parameter takes the type that is wanted, everything else has no implicit
// cast (SEMANTICS S30, S31).
#include "program/keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/types.h"
#include "program/values.h"
#include "program/values_fold.h"

namespace pglocklint {
namespace {

std::string doesNotExist(const std::string& function, const List<Value>& args) {
  std::string types;
  for (const Value& a : args) {
    if (!types.empty()) types += ", ";
    types += a.type.empty() ? "?" : baseType(a.type);
  }
  return fmt::format("function {}({}) does not exist", function, types);
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

constexpr std::string_view kVaries = "*";

bool varies(const std::string& text) { return text == kVaries; }

// Part of a class inside another expression.
std::string operandText(const Value& v) {
  const std::string text = classText(v);
  return v.kind == ValueKind::Arithmetic && text.find(' ') != std::string::npos && !text.ends_with(')') ? "(" + text + ")" : text;
}

std::string arithmeticText(const Value& v) {
  std::vector<std::string> args;
  for (const Value& a : v.args) args.push_back(operandText(a));
  if (std::ranges::all_of(args, varies)) return std::string(kVaries);
  const bool word = !v.name.empty() && v.name[0] >= 'a' && v.name[0] <= 'z';
  if (word) return fmt::format("{}({})", v.name, fmt::join(args, ", "));
  return args.size() == 1 ? v.name + args[0] : fmt::format("{}", fmt::join(args, " " + v.name + " "));
}

std::string hashText(const Value& v) {
  std::vector<std::string> args;
  for (const Value& a : v.args) args.push_back(classText(a));
  if (v.name.ends_with("extended") && args.size() == 2 && args[1] == "0") args.pop_back();  // the seed that everyone writes
  return fmt::format("{}({})", v.name, fmt::join(args, ", "));
}

}  // namespace

std::string classText(const Value& v) {
  if (isKnown(v)) {
    const bool text = v.kind == ValueKind::Text || familyOf(v.type) == TypeFamily::Text;
    return text && v.kind != ValueKind::Integer && v.kind != ValueKind::Numeric ? quoted(v.text) : v.text;
  }
  switch (v.kind) {
    case ValueKind::Null: return "NULL";
    case ValueKind::Hash: return hashText(v);
    case ValueKind::Arithmetic: return arithmeticText(v);
    case ValueKind::Cast: return v.args.empty() ? std::string(kVaries) : classText(v.args[0]);
    case ValueKind::Concat: {
      std::vector<std::string> pieces;
      for (const Value& a : v.args) pieces.push_back(classText(a));
      return fmt::format("{}", fmt::join(pieces, " || "));
    }
    case ValueKind::Oid: return v.name.empty() || v.name == "tableoid" ? std::string(kVaries) : fmt::format("regclass({})", v.name);
    case ValueKind::Subquery: return v.args.size() == 1 ? classText(v.args[0]) : std::string(kVaries);
    case ValueKind::Choice: {  // a class only if every branch gives it
      std::string common;
      for (const Value& a : v.args) {
        const std::string text = a.kind == ValueKind::Null ? common : classText(a);
        if (common.empty()) common = text;
        if (text != common) return std::string(kVaries);
      }
      return common.empty() ? std::string(kVaries) : common;
    }
    default: return std::string(kVaries);
  }
}

Value resolve(const Expr& expr, const ValueScope& scope) { return Resolver().resolve(expr, scope); }

namespace {

bool ofLockTag(const ValueScope& scope) {
  if (!scope.statement || scope.statement->host_call < 0 || !scope.function || scope.function->host.empty()) return false;
  const auto& calls = scope.function->host[0].calls;
  const auto i = static_cast<std::size_t>(scope.statement->host_call);
  return i < calls.size() && calls[i].lock_tag;
}

// The bits of the tag, whatever type they have: (key), (high, low), or with a number of the space (number, key, 0), (number, high, low).
LockKey keyOfTag(List<Value> args, const Expr& call) {
  LockKey key;
  key.form = args.size() == 1 ? KeyForm::Bigint : args.size() == 2 ? KeyForm::Pair : KeyForm::Tag;
  if (key.form == KeyForm::Tag && call.args.back().kind == ExprKind::Const) args.pop_back();
  std::vector<std::string> texts;
  for (Value& a : args) {
    Value part = isSent(a) ? Value(a.args[0]) : std::move(a);
    texts.push_back(classText(part));
    key.parts.push_back(std::move(part));
  }
  key.class_text = fmt::format("({})", fmt::join(texts, ", "));
  key.constant = std::ranges::all_of(key.parts, [](const Value& part) { return constantInteger(part).has_value(); });
  return key;
}

}  // namespace

LockKey resolveKey(const Expr& call, const ValueScope& scope) {
  LockKey key;
  if (call.variadic || call.call_star || std::ranges::any_of(call.arg_names, [](const std::string& n) { return !n.empty(); })) return key;
  List<Value> args;
  for (const Expr& a : call.args) args.push_back(resolve(a, scope));

  const bool all = call.name == "pg_advisory_unlock_all";
  if (all && args.empty()) {
    key.form = KeyForm::None;
    return key;
  }
  if (!args.empty() && ofLockTag(scope)) return keyOfTag(std::move(args), call);
  const std::string wanted = args.size() == 1 ? "bigint" : "integer";
  const bool fits = !all && (args.size() == 1 || args.size() == 2) && std::ranges::none_of(args, [&](const Value& a) {
    return implicitlyConvertible(a.type, wanted) == false;
  });
  if (!fits) {
    key.form = KeyForm::NoOverload;
    key.error = doesNotExist(call.name, args);
    key.parts = std::move(args);
    return key;
  }
  key.form = args.size() == 1 ? KeyForm::Bigint : KeyForm::Pair;
  for (Value& a : args) {
    const bool typed = familyOf(a.type) != TypeFamily::NotKnown;
    key.parts.push_back(typed ? Resolver::convert(std::move(a), wanted, true, a.range, a.unit) : std::move(a));
    if (key.error.empty() && isError(key.parts.back())) key.error = key.parts.back().text;
  }
  std::vector<std::string> texts;
  for (const Value& part : key.parts) texts.push_back(classText(part));
  key.class_text = texts.size() == 1 ? fmt::format("({})", texts[0]) : fmt::format("({}, {})", texts[0], texts[1]);
  key.constant = std::ranges::all_of(key.parts, [](const Value& part) { return constantInteger(part).has_value(); });
  return key;
}

}  // namespace pglocklint

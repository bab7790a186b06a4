// From what a host program (C++) puts into a parameter, or between pieces of SQL text, to a Value.
//
// Such a value travels as text, and PostgreSQL decides its type from where it stands: `sent` marks it, and `received` (through
// Resolver::convert) is what becomes of it there. Types are PostgreSQL's names for the same widths; the conversions that the
// program makes itself are Casts of the relation kHostSchema.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "program/types.h"
#include "program/values.h"
#include "program/values_fold.h"

namespace pglocklint {
namespace {

std::string sqlType(const HostType& t) {
  switch (t.kind) {
    case HostTypeKind::Signed:
      return t.bits <= 16 ? "smallint" : t.bits <= 32 ? "integer" : t.bits <= 64 ? "bigint" : "numeric";
    case HostTypeKind::Unsigned:
      return t.bits <= 16   ? "unsigned 16-bit integer"
             : t.bits <= 32 ? "unsigned 32-bit integer"
             : t.bits <= 64 ? "unsigned 64-bit integer"
                            : "numeric";
    case HostTypeKind::Floating:
      return t.bits <= 32 ? "real" : "double precision";
    case HostTypeKind::Boolean:
      return "boolean";
    case HostTypeKind::Text:
      return "text";
    case HostTypeKind::None:
    case HostTypeKind::Pointer:
    case HostTypeKind::Other:
      break;
  }
  return "";
}

// C++ writes exclusive or as PostgreSQL writes powers.
std::string sqlOperator(const std::string& name) { return name == "^" ? "#" : name; }

constexpr int kDeepest = 60;

class HostReader {
 public:
  explicit HostReader(const ValueScope& scope) : scope_(scope) {}

  Value read(const HostValue& h, int depth = 0) {
    Value v;
    v.unit = scope_.unit, v.range = h.range, v.type = sqlType(h.type), v.relation = kHostSchema;
    if (depth > kDeepest) return unknownValue("too large to follow");
    const auto operands = [&] {
      for (const HostValue& a : h.args) v.args.push_back(read(a, depth + 1));
      v.from_argument = std::ranges::any_of(v.args, &Value::from_argument);
    };
    const auto leaf = [&](ValueKind kind) { v.kind = kind, v.name = h.name; };
    switch (h.kind) {
      case HostValueKind::Integer:
      case HostValueKind::Floating:
      case HostValueKind::Text:
      case HostValueKind::Boolean:
        return constant(h, std::move(v), depth);
      case HostValueKind::Null:
        v = constantOf(ValueKind::Null, "", "unknown");
        v.may_be_null = true, v.null_evidence = "the program passes a null pointer";
        v.unit = scope_.unit, v.range = h.range;
        return v;
      case HostValueKind::Parameter:
        return parameter(h, std::move(v));
      case HostValueKind::Member:
        return member(h, std::move(v), depth);
      case HostValueKind::Variable:
      case HostValueKind::Global:
        leaf(ValueKind::Variable);
        if (h.kind == HostValueKind::Global) v.text = "global " + h.name;
        return v;
      case HostValueKind::Element:
        leaf(ValueKind::Row);
        return v;
      case HostValueKind::Result:
      case HostValueKind::FromText:
        leaf(ValueKind::Call), operands();
        for (Value& a : v.args)  // what comes back is made of what an argument points to, not of where that lies
          if (isPointer(a)) a = pointedTo(a);
        return v;
      case HostValueKind::Environment:
        leaf(ValueKind::Call), operands();
        return v;
      case HostValueKind::Hash:
        leaf(ValueKind::Hash), operands();
        return v;
      case HostValueKind::Clock:
        leaf(ValueKind::Clock);
        return v;
      case HostValueKind::Random:
        leaf(ValueKind::Random);
        return v;
      case HostValueKind::ProcessId:
      case HostValueKind::ThreadId:
        leaf(ValueKind::ProcessId);
        return v;
      case HostValueKind::Address:
        leaf(ValueKind::Address);
        return v;
      case HostValueKind::Concat: {
        std::vector<Value> pieces;
        for (const HostValue& a : h.args) pieces.push_back(read(a, depth + 1));
        return concatenation(std::move(pieces), h.range, scope_.unit);
      }
      case HostValueKind::Arithmetic:
        leaf(ValueKind::Arithmetic), v.name = sqlOperator(h.name), operands();
        return v;
      case HostValueKind::Convert:
      case HostValueKind::ToText:
        v.kind = ValueKind::Cast, v.implicit = h.implicit;
        if (h.kind == HostValueKind::ToText) v.type = "text";
        operands();
        if (v.args.size() != 1) return unknown(h);
        v.constant_name = v.args[0].constant_name;
        return v;
      case HostValueKind::Choice:
      case HostValueKind::Extreme:
        leaf(ValueKind::Choice), operands();
        return v.args.empty() ? unknown(h) : v;
      case HostValueKind::Unknown:
        break;
    }
    return unknown(h);
  }

 private:
  Value unknown(const HostValue& h) const {
    return placed(unknownValue(h.text.empty() ? "not followed" : h.text), h.range, scope_.unit);
  }

  // An address that nobody has made a number of.
  static bool isPointer(const Value& v) { return v.kind == ValueKind::Address && v.type.empty(); }
  static Value pointedTo(const Value& pointer) { return placed(unknownValue("what a pointer points to"), pointer.range, pointer.unit); }

  Value constant(const HostValue& h, Value v, int depth) {
    v.text = h.text;
    v.constant_name = h.constant;
    if (h.defined.known()) v.range = h.defined;
    switch (h.kind) {
      case HostValueKind::Text:
        v.kind = ValueKind::Text, v.type = "text";
        break;
      case HostValueKind::Floating:
        v.kind = ValueKind::Numeric;
        break;
      case HostValueKind::Boolean:
        v.kind = ValueKind::Boolean, v.type = "boolean";
        break;
      default:
        v.kind = ValueKind::Integer;
        break;
    }
    v.relation.clear();
    for (const HostValue& a : h.args) v.args.push_back(read(a, depth + 1));  // the constant it is defined from
    return v;
  }

  // A field: what the function's own constructor sets it to, or the field itself. Its path is `text`.
  Value member(const HostValue& h, Value v, int depth) {
    const std::string path = h.text.empty() ? "this." + h.name : h.text;
    const HostAlias* set = nullptr;
    if (scope_.function != nullptr && !scope_.function->host.empty())
      for (const HostAlias& a : scope_.function->host[0].aliases) {
        if (a.path != path || a.value.kind == HostValueKind::Unknown) continue;
        if (set != nullptr && !(set->value == a.value)) return v.kind = ValueKind::Variable, v.name = h.name, v.text = path, v;
        set = &a;
      }
    if (set != nullptr && !(set->value == h)) return read(set->value, depth + 1);
    v.kind = ValueKind::Variable, v.name = h.name, v.text = path;
    return v;
  }

  Value parameter(const HostValue& h, Value v) const {
    const auto index = static_cast<std::size_t>(h.index);
    if (h.index >= 0 && scope_.arguments != nullptr && index < scope_.arguments->size()) {
      Value argument = (*scope_.arguments)[index];
      if (argument.kind == ValueKind::Unknown && argument.text.empty()) return unknown(h);
      argument.from_argument = true;
      return h.type.kind != HostTypeKind::Pointer && isPointer(argument) ? pointedTo(argument) : argument;  // *p, of a parameter p
    }
    v.kind = ValueKind::Parameter, v.name = h.name;
    return v;
  }

  const ValueScope& scope_;
};

}  // namespace

Value hostValue(const HostValue& value, const ValueScope& scope) { return HostReader(scope).read(value); }

Value hostField(const std::string& path, int unit) {
  Value v;
  v.kind = ValueKind::Variable, v.name = path.substr(path.rfind('.') + 1), v.text = path, v.relation = kHostSchema, v.unit = unit;
  return v;
}

Value sent(Value v) {
  Value out;
  out.kind = ValueKind::Cast, out.name = kSent, out.type = "unknown", out.relation = kHostSchema;
  out.range = v.range, out.unit = v.unit, out.from_argument = v.from_argument, out.constant_name = v.constant_name;
  out.may_be_null = v.may_be_null, out.null_evidence = v.null_evidence;
  out.args.push_back(std::move(v));
  return out;
}

bool isSent(const Value& v) { return v.kind == ValueKind::Cast && v.type == "unknown" && v.name == kSent && v.args.size() == 1; }

Value received(Value v, const std::string& type) {
  // A number that the program writes as text is that number.
  while (v.kind == ValueKind::Cast && v.type == "text" && v.relation == kHostSchema && v.args.size() == 1) {
    Value inner = std::move(v.args[0]);
    v = std::move(inner);
  }
  if (v.kind == ValueKind::Unknown && isError(v)) return v;
  const bool constant = v.isConstant();
  if (v.type == type) return v;
  if (v.kind == ValueKind::Text && familyOf(type) != TypeFamily::Text) v.type = "unknown";
  if (v.kind == ValueKind::Null) {
    v.type = type;
    return v;
  }
  const auto folded = foldCast(v, type);
  if (folded && constant) {
    Value c = *folded;
    c.range = v.range, c.unit = v.unit, c.constant_name = v.constant_name, c.from_argument = v.from_argument,
    c.args = std::move(v.args);
    return c;
  }
  Value c;
  c.kind = ValueKind::Cast, c.name = kSent, c.type = type, c.implicit = true;
  c.range = v.range, c.unit = v.unit, c.from_argument = v.from_argument, c.constant_name = v.constant_name;
  c.may_be_null = v.may_be_null, c.null_evidence = v.null_evidence;
  c.args.push_back(std::move(v));
  return c;
}

// Of pg_type.dat, as far as keys are made of it; empty: another, or not said.
constexpr std::string_view typeOfOid(std::int32_t oid) {
  switch (oid) {
    case 16: return "boolean";
    case 20: return "bigint";
    case 21: return "smallint";
    case 23: return "integer";
    case 25: return "text";
    case 26: return "oid";
    case 700: return "real";
    case 701: return "double precision";
    case 1043: return "character varying";
    case 1700: return "numeric";
    case 2950: return "uuid";
    default: return {};
  }
}

std::optional<Value> Resolver::hostPlaceholder(const Expr& e, const ValueScope& scope) {
  if (scope.statement == nullptr || scope.statement->host_call < 0 || scope.function == nullptr || scope.function->host.empty())
    return std::nullopt;
  const auto& calls = scope.function->host[0].calls;
  if (static_cast<std::size_t>(scope.statement->host_call) >= calls.size()) return std::nullopt;
  const HostCall& call = calls[static_cast<std::size_t>(scope.statement->host_call)];
  const bool hole = e.text.starts_with("%h");
  const std::string digits = hole ? e.text.substr(2) : e.text;
  if (digits.empty() || digits.size() > 5 || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  const auto n = static_cast<std::size_t>(std::stoi(digits));
  const std::vector<HostValue>& values = hole ? call.holes : call.binds;
  const std::size_t at = hole ? n : n - 1;
  if (at >= values.size()) return std::nullopt;
  if (call.binary && !hole) return placed(unknownValue("sent in binary form"), e.range, scope.unit);
  Value v = HostReader(scope).read(values[at]);
  if (!v.range.known()) v.range = e.range, v.unit = scope.unit;
  if (const std::string_view type = !hole && at < call.bind_types.size() ? typeOfOid(call.bind_types[at]) : std::string_view(); !type.empty()) {
    Value c;
    c.kind = ValueKind::Cast, c.type = type;
    c.range = v.range, c.unit = v.unit, c.from_argument = v.from_argument;
    c.args.push_back(std::move(v));
    return c;
  }
  return call.kind == HostCallKind::Function ? v : sent(std::move(v));
}

}  // namespace pglocklint

// Function calls to values: sources that vary (clock, random, settings), hashes, text and number functions, aggregates, and the
// project's own functions whose body is one expression.
#include "program/values.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "program/types.h"
#include "program/values_fold.h"
#include "program/walk.h"

namespace pglocklint {
namespace {

// Values that differ from call to call, session to session or transaction to transaction.
struct Source {
  std::string_view name;
  ValueKind kind;
};
constexpr std::array kSources{
    Source{"now", ValueKind::Clock},
    Source{"clock_timestamp", ValueKind::Clock},
    Source{"statement_timestamp", ValueKind::Clock},
    Source{"transaction_timestamp", ValueKind::Clock},
    Source{"timeofday", ValueKind::Clock},
    Source{"current_timestamp", ValueKind::Clock},
    Source{"current_date", ValueKind::Clock},
    Source{"current_time", ValueKind::Clock},
    Source{"localtime", ValueKind::Clock},
    Source{"localtimestamp", ValueKind::Clock},
    Source{"random", ValueKind::Random},
    Source{"random_normal", ValueKind::Random},
    Source{"gen_random_uuid", ValueKind::Random},
    Source{"gen_random_bytes", ValueKind::Random},
    Source{"uuid_generate_v1", ValueKind::Random},
    Source{"uuid_generate_v1mc", ValueKind::Random},
    Source{"uuid_generate_v4", ValueKind::Random},
    Source{"uuidv4", ValueKind::Random},
    Source{"uuidv7", ValueKind::Random},
    Source{"pg_backend_pid", ValueKind::ProcessId},
    Source{"txid_current", ValueKind::TransactionId},
    Source{"txid_current_if_assigned", ValueKind::TransactionId},
    Source{"pg_current_xact_id", ValueKind::TransactionId},
    Source{"pg_current_xact_id_if_assigned", ValueKind::TransactionId},
};

// What hash functions take, as far as an argument is converted on its way in.
struct HashFunction {
  std::string_view name;
  std::array<std::string_view, 2> parameters;
};
constexpr std::array kHashes{
    HashFunction{"hashtext", {"text", ""}},
    HashFunction{"hashtextextended", {"text", "bigint"}},
    HashFunction{"hashint2", {"smallint", ""}},
    HashFunction{"hashint4", {"integer", ""}},
    HashFunction{"hashint8", {"bigint", ""}},
    HashFunction{"hashint4extended", {"integer", "bigint"}},
    HashFunction{"hashint8extended", {"bigint", "bigint"}},
    HashFunction{"hashoid", {"oid", ""}},
    HashFunction{"md5", {"", ""}},
    HashFunction{"hashbpchar", {"", ""}},
    HashFunction{"hashbpcharextended", {"", "bigint"}},
    HashFunction{"hashname", {"", ""}},
    HashFunction{"hashchar", {"", ""}},
    HashFunction{"hashenum", {"", ""}},
    HashFunction{"hashfloat8", {"", ""}},
    HashFunction{"hashvarlena", {"", ""}},
    HashFunction{"hash_array", {"", ""}},
    HashFunction{"hash_array_extended", {"", "bigint"}},
    HashFunction{"hash_record", {"", ""}},
    HashFunction{"hash_record_extended", {"", "bigint"}},
    HashFunction{"hash_numeric", {"", ""}},
    HashFunction{"timestamp_hash", {"", ""}},
    HashFunction{"uuid_hash", {"uuid", ""}},
    HashFunction{"uuid_hash_extended", {"uuid", "bigint"}},
    HashFunction{"jsonb_hash", {"", ""}},
    HashFunction{"jsonb_hash_extended", {"", "bigint"}},
    HashFunction{"crc32", {"", ""}},
    HashFunction{"crc32c", {"", ""}},
    HashFunction{"sha224", {"", ""}},
    HashFunction{"sha256", {"", ""}},
    HashFunction{"sha384", {"", ""}},
    HashFunction{"sha512", {"", ""}},
    HashFunction{"digest", {"", ""}},
};

constexpr std::array<std::string_view, 14> kNumberFunctions{"abs",   "mod",   "div", "ceil", "ceiling", "floor", "round",
                                                            "trunc", "power", "pow", "sign", "gcd",     "lcm",   "sqrt"};

template <class Table>
auto entry(const Table& table, std::string_view name) {
  return std::ranges::find_if(table, [&](const auto& e) { return e.name == name; });
}

std::vector<std::string> typesOf(const List<Value>& args) {
  std::vector<std::string> types;
  for (const Value& a : args) types.push_back(a.type);
  return types;
}

std::string noFunction(std::string_view name, const List<Value>& args) {
  std::string list;
  for (const Value& a : args) list += (list.empty() ? "" : ", ") + baseType(a.type);
  return fmt::format("function {}({}) does not exist", name, list);
}

Value callNode(ValueKind kind, const std::string& name, const Expr& e, int unit, List<Value> args, std::string type) {
  Value v = placed(Value{}, e.range, unit);
  v.kind = kind, v.name = name, v.type = std::move(type), v.args = std::move(args);
  v.from_argument = std::ranges::any_of(v.args, &Value::from_argument);
  return v;
}

bool isInput(const Parameter& p) { return p.mode == ParameterMode::In || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Variadic; }

const Value* clockIn(const Value& v) {
  if (v.kind == ValueKind::Clock) return &v;
  for (const Value& a : v.args)
    if (const Value* c = clockIn(a)) return c;
  return nullptr;
}

}  // namespace

Value Resolver::call(const Expr& e, const ValueScope& scope) {
  List<Value> args = operands(e, scope);
  const bool catalog = e.qualifier == "pg_catalog" || (e.qualifier.empty() && findBuiltin(e.name) != nullptr);
  if (!catalog && scope.catalogue != nullptr)
    if (const Routine* r = scope.catalogue->routine(e.qualifier, e.name, e.args.size())) return routineCall(*r, std::move(args), e, scope);
  return builtin(e.name, e, std::move(args), scope);
}

Value Resolver::builtin(const std::string& name, const Expr& e, List<Value> args, const ValueScope& scope) {
  if (auto v = source(name, e, args)) return placed(std::move(*v), e.range, scope.unit);
  const Builtin* known = findBuiltin(name);
  if (e.call_window) {
    const std::string type = functionType(name, typesOf(args));
    return callNode(ValueKind::Call, name, e, scope.unit, std::move(args), type);
  }
  if (known != nullptr && known->kind == BuiltinKind::Aggregate) return aggregate(name, std::move(args), e, scope);
  if (entry(kHashes, name) != kHashes.end()) return hash(name, std::move(args), e, scope);
  if (name == "concat" || name == "concat_ws" || name == "format") return concatCall(name, std::move(args), e, scope);
  // array_to_string(ARRAY[a, b], '/') puts together what concat_ws('/', a, b) does.
  if (name == "array_to_string" && args.size() == 2 && args[0].kind == ValueKind::Call && args[0].name == "array" && args[1].kind == ValueKind::Text) {
    std::vector<Value> pieces{args[1]};
    pieces.insert(pieces.end(), args[0].args.begin(), args[0].args.end());
    return concatCall("concat_ws", std::move(pieces), e, scope);
  }
  for (const Value& a : args)
    if (isError(a)) return a;

  const bool number = std::ranges::find(kNumberFunctions, name) != kNumberFunctions.end();
  if (number && args.size() == 2)  // an untyped operand takes the type of the other
    for (std::size_t i = 0; i < 2; ++i)
      if (args[i].type == "unknown") args[i] = convert(std::move(args[i]), baseType(args[1 - i].type), true, e.range, scope.unit);
  std::string type = functionType(name, typesOf(args));
  if (type.empty() && known != nullptr) type = canonicalType(known->result);
  const auto folded = foldFunction(name, args);
  const ValueKind kind = number ? ValueKind::Arithmetic
                         : known != nullptr && known->kind == BuiltinKind::SetReturning ? ValueKind::Row : ValueKind::Call;
  Value v = callNode(kind, name, e, scope.unit, std::move(args), type);
  if (known == nullptr || known->strict) propagateNull(v, v.args);
  if (name == "json_extract_path_text" || name == "jsonb_extract_path_text")
    v.may_be_null = true, v.null_evidence = name + "() gives NULL when the path is missing";
  return computed(std::move(v), folded);
}

std::optional<Value> Resolver::source(const std::string& name, const Expr& e, const List<Value>& args) {
  Value v;
  v.name = name, v.type = functionType(name, typesOf(args)), v.range = e.range;
  if (const auto at = entry(kSources, name); at != kSources.end()) {
    v.kind = at->kind;
    if (v.type.empty() && name.starts_with("uuid")) v.type = "uuid";
    return v;
  }
  if ((name == "extract" || name == "date_part" || name == "date_trunc") && args.size() == 2) {
    const Value* clock = clockIn(args[1]);
    if (clock == nullptr) return std::nullopt;
    const bool bare = clock->name.find('(') != std::string::npos || clock->name.starts_with("current_") || clock->name.starts_with("local");
    v.kind = ValueKind::Clock;
    v.name = fmt::format("{}({} {} {})", name, args[0].text, name == "extract" ? "from" : "of", clock->name + (bare ? "" : "()"));
    return v;
  }
  if (name == "current_setting") {
    v.kind = ValueKind::Setting;
    v.name = args.empty() || args[0].kind != ValueKind::Text ? "" : args[0].text.str();
    if (args.size() == 2 && args[1].text != "false" && args[1].text != "f") {
      v.may_be_null = true;
      v.null_evidence = fmt::format("current_setting('{}', true) is NULL when the setting is missing", v.name);
    }
    return v;
  }
  if (name == "nextval" || name == "currval" || name == "lastval" || name == "setval") {
    v.kind = ValueKind::Sequence;
    v.name = args.empty() ? name : args[0].kind == ValueKind::Text ? args[0].text : args[0].name;
    return v;
  }
  if (name == "to_regclass" && args.size() == 1) {
    v.kind = ValueKind::Oid;
    v.name = args[0].kind == ValueKind::Text ? args[0].text.str() : "";
    v.may_be_null = true, v.null_evidence = "to_regclass() gives NULL when there is no such relation";
    return v;
  }
  if (args.empty() && (name == "current_user" || name == "session_user" || name == "current_role" || name == "user" ||
                       name == "current_schema" || name == "current_catalog")) {
    v.kind = ValueKind::Call;
    return v;
  }
  return std::nullopt;
}

Value Resolver::hash(const std::string& name, List<Value> args, const Expr& e, const ValueScope& scope) {
  const auto f = entry(kHashes, name);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (isError(args[i])) return args[i];
    const std::string_view wanted = i < 2 ? f->parameters[i] : std::string_view();
    if (wanted.empty()) continue;
    if (implicitlyConvertible(args[i].type, wanted) == false) return placed(errorValue(noFunction(name, args)), e.range, scope.unit);
    args[i] = convert(std::move(args[i]), std::string(wanted), true, args[i].range, scope.unit);
    if (isError(args[i])) return args[i];
  }
  std::string type = functionType(name, typesOf(args));
  if (type.empty()) type = name.ends_with("extended") ? "bigint" : "integer";
  const auto folded = foldFunction(name, args);
  Value v = callNode(ValueKind::Hash, name, e, scope.unit, std::move(args), type);
  propagateNull(v, v.args);
  if (folded && isError(*folded)) return placed(*folded, e.range, scope.unit);
  if (folded) v.text = folded->text;  // stays a hash: rules want to know
  return v;
}

// concat(), concat_ws() and format() skip or spell out NULL: it ends there.
Value Resolver::concatCall(const std::string& name, List<Value> args, const Expr& e, const ValueScope& scope) {
  const auto whole = foldFunction(name, args);
  List<Value> pieces;
  const auto literal = [&](const std::string& text) { return placed(constantOf(ValueKind::Text, text, "text"), e.range, scope.unit); };
  bool apart = !e.variadic;
  if (name == "format") {
    const auto format = args.empty() || args[0].kind != ValueKind::Text ? std::nullopt : formatPieces(args[0].text);
    apart &= format.has_value();
    if (apart)
      for (const FormatPiece& p : *format) {
        const auto at = static_cast<std::size_t>(p.argument) + 1;
        if (p.argument < 0) pieces.push_back(literal(p.text));
        else if (at >= args.size()) return placed(errorValue("too few arguments for format()"), e.range, scope.unit);
        else if (p.conversion == 's') pieces.push_back(args[at]);
        else pieces.push_back(callNode(ValueKind::Call, p.conversion == 'L' ? "quote_nullable" : "quote_ident", e, scope.unit, {args[at]}, "text"));
      }
  } else if (name == "concat_ws") {
    apart &= !args.empty();
    for (std::size_t i = 1; i < args.size(); ++i) {
      if (args[i].kind == ValueKind::Null) continue;
      if (!pieces.empty()) pieces.push_back(args[0]);
      pieces.push_back(args[i]);
    }
  } else {
    pieces = args;
  }
  if (!apart) return callNode(ValueKind::Call, name, e, scope.unit, std::move(args), "text");
  erase_if(pieces, [](const Value& p) { return p.kind == ValueKind::Null; });
  Value v = whole && !isError(*whole) && std::ranges::all_of(args, &Value::isConstant) ? placed(*whole, e.range, scope.unit)
                                                                                        : concatenation(std::move(pieces), e.range, scope.unit);
  v.from_argument |= std::ranges::any_of(args, &Value::from_argument);
  v.may_be_null = false, v.null_evidence.clear();
  if (v.kind == ValueKind::Concat) v.name = name;
  return v;
}

Value Resolver::aggregate(const std::string& name, List<Value> args, const Expr& e, const ValueScope& scope) {
  std::string type = functionType(name, typesOf(args));
  if (type.empty())
    if (const Builtin* b = findBuiltin(name)) type = canonicalType(b->result);
  Value v = callNode(ValueKind::Aggregate, name, e, scope.unit, std::move(args), type);
  if (name == "count" || scope.levels.empty()) return v;
  const Query& level = *scope.levels.front();
  if (level.group_by.empty() && level.having.empty() && !level.from.empty())
    v.may_be_null = true, v.null_evidence = fmt::format("{}() gives NULL when there is no row", name);
  return v;
}

namespace {

// The one expression that a function returns, and where it stands; null if there is no such thing.
struct Result {
  const Expr* expr = nullptr;
  const Query* level = nullptr;
  const Statement* statement = nullptr;
};

const Expr* onlyTarget(const Query& q) {
  const bool plain = q.kind == QueryKind::Select && q.from.empty() && q.where.empty() && q.having.empty() && q.limit.empty() && q.offset.empty();
  return plain && q.targets.size() == 1 && !q.targets[0].expr.is(ExprKind::Star) ? &q.targets[0].expr : nullptr;
}

Result onlyResult(const Routine& r) {
  if (r.inline_body != nullptr) return {onlyTarget(*r.inline_body), r.inline_body, nullptr};
  Result result;
  if (r.function->language != "plpgsql") return result;
  int returns = 0;
  forEachStatement(*r.function, [&](const Statement& s) {
    if (s.context != PlContext::Return || s.query.empty()) return;
    ++returns;
    result = {onlyTarget(s.query[0]), &s.query[0], &s};
  });
  return returns == 1 ? result : Result{};
}

}  // namespace

Value Resolver::routineCall(const Routine& r, List<Value> args, const Expr& e, const ValueScope& scope) {
  const Function& f = *r.function;
  const std::string declared = canonicalType(f.returns);
  const std::string type = familyOf(declared) == TypeFamily::NotKnown ? "" : declared;
  Value opaque = callNode(r.returns_set ? ValueKind::Row : ValueKind::Call, e.name, e, scope.unit, args, type);
  if (r.strict) propagateNull(opaque, opaque.args);
  const Result result = onlyResult(r);
  const bool followed = std::ranges::find(active_, static_cast<const void*>(&f)) != active_.end();
  if (r.returns_set || result.expr == nullptr || followed || inlined_ >= 8) return opaque;

  List<Value> values;  // one for each input parameter
  std::size_t position = 0;
  for (const Parameter& p : f.parameters) {
    if (!isInput(p)) continue;
    const auto named = std::ranges::find(e.arg_names, p.name);
    if (p.mode == ParameterMode::Variadic) return opaque;
    if (!p.name.empty() && named != e.arg_names.end()) {
      values.push_back(args[static_cast<std::size_t>(named - e.arg_names.begin())]);
    } else if (position < args.size() && (position >= e.arg_names.size() || e.arg_names[position].empty())) {
      values.push_back(args[position]);
    } else if (!p.default_value.empty()) {
      ValueScope at_definition;
      at_definition.catalogue = scope.catalogue, at_definition.unit = r.unit, at_definition.names = scope.names;
      values.push_back(resolve(p.default_value[0], at_definition));
    } else {
      return opaque;
    }
    ++position;
  }
  // Another overload of that many parameters is meant, one that we may not know.
  std::size_t at = 0;
  for (const Parameter& p : f.parameters)
    if (isInput(p) && implicitlyConvertible(values[at++].type, baseType(canonicalType(p.type))) == false) return opaque;
  ValueScope body;
  body.catalogue = scope.catalogue, body.unit = r.unit, body.function = &f, body.statement = result.statement;
  body.levels = {result.level}, body.arguments = &values, body.names = scope.names;
  active_.push_back(&f), ++inlined_;
  Value v = resolve(*result.expr, body);
  active_.pop_back(), --inlined_;
  if (v.kind == ValueKind::Unknown && !isError(v)) return opaque;
  v = convert(std::move(v), type, true, e.range, scope.unit);
  if (r.strict) propagateNull(v, args);
  if (isKnown(v) && args.empty()) v.constant_name = f.name;
  return v;
}

}  // namespace pglocklint

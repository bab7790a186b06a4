// Parameters of SQL and PL/pgSQL functions, PL/pgSQL variables, and placeholders.
//
// A variable that one expression is assigned to in the whole function (its initial value, one assignment, one SELECT … INTO)
// stands for that expression; with more writes it is a Variable. A record that one query fills gives that query's columns.
#include "program/values.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/types.h"
#include "program/values_fold.h"
#include "program/walk.h"

namespace pglocklint {
namespace {

bool isPlpgsql(const Function& f) { return f.language == "plpgsql" || f.kind == FunctionKind::DoBlock; }
bool isRoutine(const Function& f) { return f.kind == FunctionKind::Routine || f.kind == FunctionKind::Procedure; }

bool isInput(const Parameter& p) { return p.mode == ParameterMode::In || p.mode == ParameterMode::InOut || p.mode == ParameterMode::Variadic; }

// The declaration of `name` that is visible at `place`: the innermost block's.
const Variable* declarationOf(const FunctionNames& f, std::string_view name, const SourceRange& place) {
  const Variable* best = nullptr;
  for (const Variable* v : f.declarations(name)) {
    if (v->visible.known() && place.known() && !v->visible.contains(place)) continue;
    const auto extent = [](const Variable& x) { return x.visible.known() ? x.visible.end - x.visible.begin : ~0u; };
    if (best == nullptr || extent(*v) <= extent(*best)) best = v;
  }
  return best;
}

const Query* queryOf(const Statement& s) { return s.query.empty() ? nullptr : &s.query[0]; }

// Does the statement give a row for certain, so that INTO is never left NULL for want of one?
bool givesRow(const Statement& s) {
  if (s.into_strict || s.context == PlContext::ForQuery) return true;
  const Query* q = queryOf(s);
  if (q == nullptr) return true;
  if (q->kind == QueryKind::Insert && q->conflict != ConflictAction::Nothing) return !q->source.empty() && q->source[0].kind == QueryKind::Values;
  if (q->kind != QueryKind::Select) return false;
  if (q->from.empty() && q->where.empty() && q->having.empty() && q->limit.empty() && q->offset.empty()) return true;
  // An aggregate without GROUP BY gives one row always; whether it is NULL the aggregate itself says.
  if (!q->group_by.empty() || !q->having.empty() || q->targets.empty()) return false;
  const auto aggregate = [](const auto& self, const Expr& e) -> bool {
    if (e.is(ExprKind::Call) && !e.call_window)
      if (const Builtin* b = findBuiltin(e.name); b != nullptr && b->kind == BuiltinKind::Aggregate) return true;
    return std::ranges::any_of(e.args, [&](const Expr& a) { return self(self, a); });
  };
  return aggregate(aggregate, q->targets[0].expr);
}

}  // namespace

std::string Resolver::typeName(const std::string& written, const ValueScope& scope) {
  if (!written.ends_with("%type")) return written;
  const std::string path = written.substr(0, written.size() - 5);
  const auto dot = path.rfind('.');
  if (dot == std::string::npos) {  // of another variable
    if (scope.function != nullptr)
      if (const Variable* v = declarationOf(namesOf(*scope.function, scope), path, {}); v != nullptr && !v->type.ends_with("%type")) return v->type;
    return "";
  }
  const std::string column = path.substr(dot + 1), table = path.substr(0, dot);
  const auto schema = table.find('.');
  const Relation* r = scope.catalogue == nullptr ? nullptr
                      : schema == std::string::npos ? scope.catalogue->relation("", table)
                                                    : scope.catalogue->relation(table.substr(0, schema), table.substr(schema + 1));
  const Column* c = r == nullptr ? nullptr : r->column(column);
  return c == nullptr ? "" : c->type;
}

const FunctionNames& Resolver::namesOf(const Function& function, const ValueScope& scope) {
  return (scope.names ? *scope.names : own_names_).of(function);
}

Value Resolver::parameter(std::size_t input, const Parameter& p, const Expr& e, const ValueScope& scope) {
  const Function& f = *scope.function;
  const std::string type = canonicalType(typeName(p.type, scope));
  const bool written = isPlpgsql(f) && !p.name.empty() && !namesOf(f, scope).writes(p.name).empty();
  Value v = placed(Value{}, e.range, scope.unit);
  v.kind = written ? ValueKind::Variable : ValueKind::Parameter;
  v.name = p.name.empty() ? fmt::format("${}", input + 1) : p.name;
  v.type = familyOf(type) == TypeFamily::NotKnown && type.starts_with("any") ? "" : type;
  if (written) return v;
  if (scope.arguments != nullptr && input < scope.arguments->size()) {
    Value argument = convert((*scope.arguments)[input], familyOf(type) == TypeFamily::NotKnown ? "" : type, true, e.range, scope.unit);
    argument.from_argument |= inlined_ == 0;
    if (argument.may_be_null && (f.strict || namesOf(f, scope).nullChecked(p.name))) argument.may_be_null = false, argument.null_evidence.clear();
    return argument;
  }
  if (!p.default_value.empty() && p.default_value[0].isNull() && !f.strict && !namesOf(f, scope).nullChecked(p.name)) {
    v.may_be_null = true;
    v.null_evidence = fmt::format("parameter {} is NULL when the caller leaves it out (DEFAULT NULL)", v.name);
  }
  return v;
}

namespace {

// A psql variable that the script has set, once, before it is used: :key is its text (we follow numbers), :'key' is a literal.
std::optional<Value> psqlVariable(const Expr& e, const ValueScope& scope, const FunctionNames* names) {
  const std::string& written = e.text;
  if (scope.function == nullptr || scope.function->kind != FunctionKind::Script || written.size() < 2 || written[0] != ':') return std::nullopt;
  const bool literal = written[1] == '\'' && written.back() == '\'' && written.size() > 3;
  const std::string name = literal ? written.substr(2, written.size() - 3) : written.substr(1);
  const auto& declared = names->declarations(":" + name);
  if (declared.empty() || declared[0]->initial.empty() || declared[0]->range.begin > e.range.begin) return std::nullopt;
  const Variable* const v = declared[0];
  const std::string& text = v->initial[0].text;
  const bool negative = text.starts_with('-');
  const std::string digits = text.substr(negative ? 1 : 0);
  const bool number = !digits.empty() && digits.size() <= 19 && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!literal && !number) return std::nullopt;
  Value value = literal ? constantOf(ValueKind::Text, text, "unknown") : numericLiteral(digits, negative);
  value.constant_name = name;
  return value;
}

// Variables of the shell that are another value in each process, as its front end writes them.
std::optional<ValueKind> shellSource(std::string_view placeholder) {
  static constexpr std::pair<std::string_view, ValueKind> kSources[] = {
      {"${$}", ValueKind::ProcessId},         {"${BASHPID}", ValueKind::ProcessId}, {"${PPID}", ValueKind::ProcessId},
      {"${RANDOM}", ValueKind::Random},       {"${SRANDOM}", ValueKind::Random},    {"${EPOCHSECONDS}", ValueKind::Clock},
      {"${EPOCHREALTIME}", ValueKind::Clock},
  };
  for (const auto& [name, kind] : kSources)
    if (placeholder == name) return kind;
  return std::nullopt;
}

}  // namespace

// $1 in a function's body, in EXECUTE … USING, in a prepared statement; a driver's or psql's placeholder.
Value Resolver::placeholder(const Expr& e, const ValueScope& scope) {
  if (auto v = hostPlaceholder(e, scope)) return *v;
  const bool number = !e.text.empty() && std::ranges::all_of(e.text, [](char c) { return c >= '0' && c <= '9'; }) && e.text.size() < 6;
  if (auto known = psqlVariable(e, scope, scope.function ? &namesOf(*scope.function, scope) : nullptr)) return placed(std::move(*known), e.range, scope.unit);
  Value v = placed(Value{}, e.range, scope.unit);
  v.kind = ValueKind::Parameter, v.name = number ? "$" + e.text : e.text;
  if (const auto kind = shellSource(e.text); kind && scope.function != nullptr && scope.function->language == "shell") {
    v.kind = *kind, v.relation = kHostSchema, v.type = "unknown";
    return v;
  }
  if (!number) return v;  // text is put in its place before PostgreSQL sees it, or its driver decides: no type
  v.type = "unknown";
  const std::size_t n = static_cast<std::size_t>(std::stoi(e.text));
  if (n == 0) return v;
  if (scope.statement != nullptr && scope.statement->dynamic) {
    if (n > scope.statement->using_args.size()) return v;
    ValueScope outside = scope;
    outside.levels.clear(), outside.statement = nullptr;
    return resolve(scope.statement->using_args[n - 1], outside);
  }
  if (scope.function == nullptr || !isRoutine(*scope.function)) return v;
  std::size_t input = 0;
  for (const Parameter& p : scope.function->parameters)
    if (isInput(p) && ++input == n) return parameter(input - 1, p, e, scope);
  return v;
}

std::optional<Value> Resolver::variableOrParameter(const Expr& e, const ValueScope& scope) {
  if (scope.function == nullptr) return std::nullopt;
  const Function& f = *scope.function;
  const bool own = !e.qualifier.empty() && e.qualifier == f.name;
  if (isPlpgsql(f)) {
    if (!e.qualifier.empty() && !own) {
      if (auto v = variable(e.qualifier, e.name, e, scope)) return v;
      if (e.qualifier == "new" || e.qualifier == "old") return std::nullopt;
    }
    if (auto v = variable(e.name, "", e, scope)) {
      // block_label.variable; a label we cannot see looks like a relation, so the name alone must be a variable's.
      if (e.qualifier.empty() || own || declarationOf(namesOf(f, scope), e.name, e.range) != nullptr) return v;
    }
  }
  if (!isRoutine(f) && f.parameters.empty()) return std::nullopt;
  std::size_t input = 0;
  for (const Parameter& p : f.parameters) {
    const std::size_t at = isInput(p) ? input++ : input;
    if (p.name.empty()) continue;
    if (p.name == e.name && (e.qualifier.empty() || own)) {
      if (isInput(p)) return parameter(at, p, e, scope);
      Variable out;
      out.name = p.name, out.type = p.type, out.range = p.range;
      return plainVariable(out, &p, e, scope);
    }
    if (p.name == e.qualifier) {  // a field of a composite parameter
      Value v = placed(Value{}, e.range, scope.unit);
      v.kind = ValueKind::Parameter, v.name = p.name + "." + e.name;
      v.type = canonicalType(typeName(p.type + "." + e.name + "%type", scope));
      return v;
    }
  }
  return std::nullopt;
}

std::optional<Value> Resolver::variable(const std::string& name, const std::string& field, const Expr& e, const ValueScope& scope) {
  const Variable* v = declarationOf(namesOf(*scope.function, scope), name, e.range);
  if (v == nullptr) return std::nullopt;
  return field.empty() ? plainVariable(*v, v, e, scope) : recordField(*v, field, e, scope);
}

// What the one writing statement gives to variable `name`.
std::optional<Value> Resolver::writtenValue(const Statement& s, const std::string& name, const ValueScope& scope) {
  const auto at = std::ranges::find(s.into, name);
  if (at == s.into.end()) return std::nullopt;
  const bool query = s.context == PlContext::SelectInto || s.context == PlContext::Sql || s.context == PlContext::ForQuery;
  if (s.context != PlContext::Assign && !query) return std::nullopt;
  std::optional<Value> value = targetOf(s, static_cast<std::size_t>(at - s.into.begin()), "", scope);
  if (value && query && !givesRow(s) && !value->may_be_null) {
    value->may_be_null = true;
    value->null_evidence = fmt::format("INTO leaves {} NULL when no row is found", name);
  }
  return value;
}

// key := a; key := key || b: of several writes the one that reaches this use.
std::optional<Value> Resolver::reachingValue(const Variable& v, const Expr& e, const ValueScope& outside) {
  const Statement* write = namesOf(*outside.function, outside).reachingWrite(v.name, e.range);
  if (write == nullptr || std::ranges::find(active_, static_cast<const void*>(write)) != active_.end()) return std::nullopt;
  active_.push_back(write);
  std::optional<Value> value;
  if (write->context != PlContext::Default) value = writtenValue(*write, v.name, outside);
  else if (!v.initial.empty()) value = resolve(v.initial[0], outside);
  active_.pop_back();
  return value;
}

// `identity`: the declaration, so that v := v + 1 is not followed into itself.
Value Resolver::plainVariable(const Variable& v, const void* identity, const Expr& e, const ValueScope& scope) {
  const Function& f = *scope.function;
  const std::string type = canonicalType(typeName(v.type, scope));
  Value unknown = placed(Value{}, e.range, scope.unit);
  unknown.kind = ValueKind::Variable, unknown.name = v.name, unknown.type = familyOf(type) == TypeFamily::NotKnown ? "" : type;
  if (active_.size() > 60) return unknown;
  const bool within = std::ranges::find(active_, identity) != active_.end();
  const auto& writes = namesOf(f, scope).writes(v.name);
  const bool initial = !v.initial.empty() && !v.initial[0].isNull();
  if (within && writes.size() < 2 && !initial) return unknown;
  std::optional<Value> value;
  active_.push_back(identity);
  ValueScope outside = scope;
  outside.levels.clear(), outside.statement = nullptr;
  if (!within && writes.empty() && initial) value = resolve(v.initial[0], outside);
  if (!within && writes.size() == 1 && !initial && writes[0]->into.size() > 0) value = writtenValue(*writes[0], v.name, outside);
  active_.pop_back();
  if (!value && (writes.size() > 1 || initial)) value = reachingValue(v, e, outside);
  if (!value || value->kind == ValueKind::Unknown) return isError(value.value_or(unknown)) ? *value : unknown;
  if (value->may_be_null && namesOf(f, scope).nullChecked(v.name)) value->may_be_null = false, value->null_evidence.clear();
  Value result = convert(std::move(*value), unknown.type, true, e.range, scope.unit);
  result.constant_name = v.name;
  return result;
}

Value Resolver::recordField(const Variable& v, const std::string& field, const Expr& e, const ValueScope& scope) {
  const Function& f = *scope.function;
  Value unknown = placed(Value{}, e.range, scope.unit);
  unknown.kind = ValueKind::Variable, unknown.name = v.name + "." + field;
  const auto rowtype = v.type.find("%rowtype");
  const std::string relation = v.type.substr(0, rowtype);
  if (relation != "record") unknown.type = canonicalType(typeName(relation + "." + field + "%type", scope));
  if (std::ranges::find(active_, static_cast<const void*>(&v)) != active_.end() || active_.size() > 60) return unknown;
  const auto& writes = namesOf(f, scope).writes(v.name);
  if (writes.size() != 1 || writes[0]->into.size() != 1 || writes[0]->into[0] != v.name) return unknown;
  const Statement& s = *writes[0];
  if (s.context != PlContext::SelectInto && s.context != PlContext::Sql && s.context != PlContext::ForQuery) return unknown;
  active_.push_back(&v);
  ValueScope outside = scope;
  outside.levels.clear(), outside.statement = nullptr;
  std::optional<Value> value = targetOf(s, 0, field, outside);
  active_.pop_back();
  if (!value || value->kind == ValueKind::Unknown) {
    // SELECT * over a relation that we do not know: at least the relation is named.
    const Query* q = queryOf(s);
    if (unknown.type.empty() && q != nullptr && q->from.size() == 1 && q->from[0].kind == FromKind::Relation) {
      unknown.kind = ValueKind::Column, unknown.name = field, unknown.relation = q->from[0].name;
      unknown.constant_name = v.name + "." + field;  // one row at any moment
    }
    return unknown;
  }
  if (!givesRow(s) && !value->may_be_null) {
    value->may_be_null = true;
    value->null_evidence = fmt::format("INTO leaves {} NULL when no row is found", v.name);
  }
  if (value->may_be_null && namesOf(f, scope).nullChecked(v.name)) value->may_be_null = false, value->null_evidence.clear();
  if (value->kind == ValueKind::Column) value->range = e.range;
  if (!isKnown(*value)) value->constant_name = v.name + "." + field;
  return *value;
}

}  // namespace pglocklint

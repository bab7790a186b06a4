// CREATE FUNCTION, CREATE PROCEDURE, DO: everything but the text of the body, which is handed on; SQL-standard bodies
// are part of the tree and are filled in here.
#include <algorithm>
#include <cstdlib>

#include "model/ascii.h"

#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

std::string text(const char* s) { return s ? s : ""; }

double numberOf(const Node* n) {
  if (!contentOf(n)) return -1;
  if (n->node_case == PG_QUERY__NODE__NODE_INTEGER) return n->integer->ival;
  if (n->node_case == PG_QUERY__NODE__NODE_FLOAT) return std::strtod(n->float_->fval, nullptr);
  return -1;
}

bool isTrue(const Node* n) { return contentOf(n) && n->node_case == PG_QUERY__NODE__NODE_BOOLEAN && n->boolean->boolval; }

ParameterMode modeOf(PgQuery__FunctionParameterMode mode) {
  switch (mode) {
    case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_OUT: return ParameterMode::Out;
    case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_INOUT: return ParameterMode::InOut;
    case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_VARIADIC: return ParameterMode::Variadic;
    case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_TABLE: return ParameterMode::Table;
    default: return ParameterMode::In;
  }
}

bool isString(const Token& t) {
  return t.kind == TokenKind::String || t.kind == TokenKind::EscapeString || t.kind == TokenKind::DollarString;
}

}  // namespace

void Lowering::createFunction(const PgQuery__CreateFunctionStmt& s, Span region, ParsedStatement& out) {
  Ddl d = ddl(DdlKind::CreateFunction, region);
  d.or_replace = s.replace;
  d.function = static_cast<std::int32_t>(out.functions.size());
  Function& f = out.functions.emplace_back();
  f.kind = s.is_procedure ? FunctionKind::Procedure : FunctionKind::Routine;
  f.range = d.range;
  // CREATE [OR REPLACE] FUNCTION name: the first FUNCTION or PROCEDURE of the statement.
  Span name;
  for (std::int32_t i = region.first; region.known() && i < region.last && !name.known(); ++i)
    if (tokens_.isWord(i, "function") || tokens_.isWord(i, "procedure")) name = nameSpan(static_cast<int>(tokens_[i + 1].begin));
  const NodeList names = nodes(s.n_funcname, s.funcname);
  if (!names.empty()) f.name = nameAt(name.last, stringOf(names.back()));
  if (names.size() > 1) f.schema = nameAt(name.known() ? name.last - 2 : -1, stringOf(names[names.size() - 2]));
  f.name_range = d.name_range = range(name);
  d.schema = f.schema, d.name = f.name;

  parameters(s, name, f);
  if (s.return_type) f.returns = typeOf(s.return_type), f.returns_set = s.return_type->setof;
  if (std::ranges::any_of(f.parameters, [](const Parameter& p) { return p.mode == ParameterMode::Table; })) f.returns = "table";
  for (const Node* n : nodes(s.n_options, s.options))
    if (n->node_case == PG_QUERY__NODE__NODE_DEF_ELEM) functionOption(*n->def_elem, region, f);

  if (contentOf(s.sql_body)) {
    if (f.language.empty()) f.language = "sql";
    atomicBody(s, region, f);
  }
  const std::int32_t function = d.function;
  for (const Node* n : nodes(s.n_options, s.options)) {
    if (n->node_case != PG_QUERY__NODE__NODE_DEF_ELEM || text(n->def_elem->defname) != "as") continue;
    std::int32_t body = token(n->def_elem->location).first;
    if (body >= 0 && tokens_.isWord(body, "as")) ++body;
    if (body >= 0 && body < tokens_.size() && isString(tokens_[body])) stringBody(body, function, out);
  }
  add(std::move(d), out);
}

// Parameters carry no places; those of the list and those of RETURNS TABLE (…) stand in order, separated by commas.
void Lowering::parameters(const PgQuery__CreateFunctionStmt& s, Span name, Function& f) {
  std::vector<Span> places;
  const auto split = [&](std::int32_t open) {
    const Span inside = tokens_.inside(open);
    if (!inside.known()) return;
    std::int32_t begin = inside.first;
    for (std::int32_t i = inside.first; i <= inside.last + 1; i = tokens_.skip(i))
      if (i > inside.last || tokens_.isText(i, ",")) places.push_back({begin, i - 1}), begin = i + 1;
  };
  if (name.known()) {
    const std::int32_t open = name.last + 1;
    split(open);
    const std::int32_t after = tokens_.match(open) + 1;
    if (after > 0 && tokens_.isWord(after, "returns") && tokens_.isWord(after + 1, "table")) split(after + 2);
  }
  const NodeList list = nodes(s.n_parameters, s.parameters);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i]->node_case != PG_QUERY__NODE__NODE_FUNCTION_PARAMETER) continue;
    const auto& p = *list[i]->function_parameter;
    Parameter& parameter = f.parameters.emplace_back();
    parameter.name = text(p.name), parameter.type = typeOf(p.arg_type), parameter.mode = modeOf(p.mode);
    if (places.size() == list.size()) parameter.range = range(places[i]);
    optionalExpr(p.defexpr, parameter.default_value);
  }
}

void Lowering::functionOption(const PgQuery__DefElem& option, Span region, Function& f) {
  const std::string name = text(option.defname);
  const std::string value(stringOf(option.arg));
  const Span word = token(option.location);
  if (name == "language") {
    f.language = lowered(value);
  } else if (name == "volatility") {
    f.volatility = value == "immutable" ? Volatility::Immutable : value == "stable" ? Volatility::Stable : Volatility::Volatile;
    f.volatility_range = range(word);
  } else if (name == "parallel") {
    const std::string level = lowered(value);
    f.parallel = level == "safe"         ? ParallelSafety::Safe
                 : level == "restricted" ? ParallelSafety::Restricted
                                         : ParallelSafety::Unsafe;
    if (word.known()) f.parallel_range = range({word.first, std::min(word.first + 1, region.last)});
  } else if (name == "strict") {
    f.strict = isTrue(option.arg);
  } else if (name == "security") {
    f.security_definer = isTrue(option.arg);
  } else if (name == "leakproof") {
    f.leakproof = isTrue(option.arg);
  } else if (name == "cost") {
    f.cost = numberOf(option.arg);
  } else if (name == "set" && contentOf(option.arg) && option.arg->node_case == PG_QUERY__NODE__NODE_VARIABLE_SET_STMT) {
    // SET name TO | = value: the value's end is the next option, which nothing marks; the name tells enough.
    const std::int32_t last =
        word.known() ? nameSpan(static_cast<int>(tokens_[std::min(word.last + 1, region.last)].begin)).last : -1;
    f.settings.push_back(settingOf(*option.arg->variable_set_stmt, {word.first, last}));
  }
}

// BEGIN ATOMIC statements END, or RETURN expression: one block.
void Lowering::atomicBody(const PgQuery__CreateFunctionStmt& s, Span region, Function& f) {
  f.atomic_body = true;
  Block& block = f.blocks.emplace_back();
  std::int32_t begin = region.first;
  const bool returns = s.sql_body->node_case == PG_QUERY__NODE__NODE_RETURN_STMT;
  for (; region.known() && begin <= region.last; begin = tokens_.skip(begin))
    if (returns ? tokens_.isClauseWord(begin, "return") : tokens_.isWord(begin, "begin") && tokens_.isWord(begin + 1, "atomic"))
      break;
  if (begin > region.last) begin = region.first;
  f.body_range = range({begin, region.last});
  const auto returned = [&](const PgQuery__ReturnStmt& r, Span place) {
    Statement st = plain(StatementKind::Query, place);
    Query& q = st.query.emplace_back();
    const Span span = expr(r.returnval, q.targets.emplace_back().expr);
    q.targets.back().name = figureColumnName(r.returnval);
    q.range = range(span);
    block.events.emplace_back(std::move(st));
    Exit exit;
    exit.range = range(place);
    block.events.emplace_back(std::move(exit));
  };
  if (returns) {
    returned(*s.sql_body->return_stmt, {begin, region.last});
    return;
  }
  std::vector<Span> parts;  // between the semicolons
  std::int32_t first = begin + 2;
  for (std::int32_t i = first; i <= region.last; i = tokens_.skip(i))
    if (tokens_.isText(i, ";")) {
      if (i > first) parts.push_back({first, i - 1});
      first = i + 1;
    }
  // List of one list of statements.
  std::vector<const Node*> statements;
  if (s.sql_body->node_case == PG_QUERY__NODE__NODE_LIST)
    for (const Node* outer : nodes(s.sql_body->list->n_items, s.sql_body->list->items)) {
      if (!contentOf(outer) || outer->node_case != PG_QUERY__NODE__NODE_LIST) continue;
      for (const Node* n : nodes(outer->list->n_items, outer->list->items))
        if (contentOf(n)) statements.push_back(n);
    }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Span place = parts.size() == statements.size() ? parts[i] : Span{begin, region.last};
    if (statements[i]->node_case == PG_QUERY__NODE__NODE_RETURN_STMT)
      returned(*statements[i]->return_stmt, place);
    else if (auto st = executable(statements[i], place))
      block.events.emplace_back(std::move(*st));
    else
      block.events.emplace_back(plain(StatementKind::Utility, place));
  }
}

void Lowering::stringBody(std::int32_t string_token, std::int32_t function, ParsedStatement& out) {
  const Token& t = tokens_[string_token];
  ParsedStatement::Body body;
  body.function = function;
  Function& f = out.functions[static_cast<std::size_t>(function)];
  body.language = f.language;
  body.text = decodeString(text_.original, t.begin, t.end);
  const std::string_view written = tokens_.text(string_token);
  std::uint32_t open = 1, close = 1;
  if (t.kind == TokenKind::DollarString)
    open = close = static_cast<std::uint32_t>(written.find('$', 1)) + 1;
  else
    open = static_cast<std::uint32_t>(written.find('\'')) + 1;
  f.body_range = bytes(t.begin + open, std::max(t.begin + open, t.end - close));
  out.bodies.push_back(std::move(body));
}

Ddl Lowering::alterFunction(const PgQuery__AlterFunctionStmt& s, Span region) {
  Ddl d = ddl(DdlKind::AlterFunction, region);
  Node object = PG_QUERY__NODE__INIT;
  object.node_case = PG_QUERY__NODE__NODE_OBJECT_WITH_ARGS, object.object_with_args = s.func;
  if (s.func) functionObject(&object, d);
  for (const Node* n : nodes(s.n_actions, s.actions)) {
    if (n->node_case != PG_QUERY__NODE__NODE_DEF_ELEM) continue;
    const std::string name = text(n->def_elem->defname);
    const std::string value = lowered(stringOf(n->def_elem->arg));
    std::string option = name;
    if (name == "volatility") option = value;
    if (name == "parallel") option = "parallel " + value;
    if (name == "strict") option = isTrue(n->def_elem->arg) ? "strict" : "called on null input";
    if (name == "security") option = isTrue(n->def_elem->arg) ? "security definer" : "security invoker";
    if (name == "leakproof") option = isTrue(n->def_elem->arg) ? "leakproof" : "not leakproof";
    if (name == "cost" || name == "rows") {
      std::string number = std::to_string(numberOf(n->def_elem->arg));
      number.erase(number.find_last_not_of('0') + 1);
      if (number.ends_with('.')) number.pop_back();
      option += " " + number;
    }
    if (name == "set" && contentOf(n->def_elem->arg) && n->def_elem->arg->node_case == PG_QUERY__NODE__NODE_VARIABLE_SET_STMT) {
      const Setting setting = settingOf(*n->def_elem->arg->variable_set_stmt, region);
      option = setting.scope == SettingScope::Reset ? "reset " + setting.name : "set " + setting.name + " = " + setting.value;
    }
    d.options.push_back(option);
  }
  return d;
}

void Lowering::doBlock(const PgQuery__DoStmt& s, Span region, ParsedStatement& out) {
  Statement st = plain(StatementKind::Do, region);
  st.function = static_cast<std::int32_t>(out.functions.size());
  Function& f = out.functions.emplace_back();
  f.kind = FunctionKind::DoBlock, f.language = "plpgsql", f.range = st.range;
  for (const Node* n : nodes(s.n_args, s.args))
    if (n->node_case == PG_QUERY__NODE__NODE_DEF_ELEM && text(n->def_elem->defname) == "language")
      f.language = lowered(stringOf(n->def_elem->arg));
  for (const Node* n : nodes(s.n_args, s.args)) {
    if (n->node_case != PG_QUERY__NODE__NODE_DEF_ELEM || text(n->def_elem->defname) != "as") continue;
    const std::int32_t body = token(n->def_elem->location).first;
    if (body >= 0 && isString(tokens_[body])) stringBody(body, st.function, out);
  }
  out.events.emplace_back(std::move(st));
}

}  // namespace pglocklint::sql

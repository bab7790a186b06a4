#include "bound_values.h"

#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <utility>

namespace pglocklint::extract {

using namespace clang;

namespace {


// The variable or member that an expression is, or whose address it is.
const ValueDecl* objectOf(const Expr* e) {
  e = namedObject(e);
  if (const auto* ref = dyn_cast_or_null<DeclRefExpr>(e)) return ref->getDecl();
  if (const auto* member = dyn_cast_or_null<MemberExpr>(e)) return member->getMemberDecl();
  return nullptr;
}

// The value, or what the address is of.
const Expr* pointedAt(const Expr* e) {
  const Expr* inner = stripped(e);
  while (const auto* cast = dyn_cast<CastExpr>(inner)) inner = stripped(cast->getSubExpr());
  const auto* unary = dyn_cast<clang::UnaryOperator>(inner);
  return unary && unary->getOpcode() == UO_AddrOf ? unary->getSubExpr() : e;
}

// The object that a method is called on, also where clang could not find the method; null: none.
const Expr* calledOn(const CallExpr& call) {
  if (const auto* method = dyn_cast<CXXMemberCallExpr>(&call)) return method->getImplicitObjectArgument();
  const Expr* callee = call.getCallee()->IgnoreParenImpCasts();
  if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(callee)) return dependent->isImplicitAccess() ? nullptr : dependent->getBase();
  if (const auto* overloaded = dyn_cast<UnresolvedMemberExpr>(callee)) return overloaded->isImplicitAccess() ? nullptr : overloaded->getBase();
  return nullptr;
}

// The two sides of an assignment; nulls: it is none.
std::pair<const Expr*, const Expr*> assignment(const Stmt& s) {
  if (const auto* two = dyn_cast<clang::BinaryOperator>(&s); two && two->getOpcode() == BO_Assign) return {two->getLHS(), two->getRHS()};
  if (const auto* two = dyn_cast<CXXOperatorCallExpr>(&s); two && two->getOperator() == OO_Equal && two->getNumArgs() == 2) return {two->getArg(0), two->getArg(1)};
  return {};
}

template <class F>
void eachStatement(const Stmt* s, F f, int depth = 0) {
  if (!s || depth > 400) return;
  for (const Stmt* child : s->children()) eachStatement(child, f, depth + 1);
  f(*s);
}

bool nameByte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Names of the placeholders :name of a text, each once, as they come. Literals and casts have colons too.
std::vector<std::string> namedPlaceholders(const std::vector<HostText>& texts) {
  std::string text;
  if (!texts.empty())
    for (const HostPiece& p : texts[0].pieces) text += p.hole >= 0 ? " " : p.text;
  std::vector<std::string> names;
  bool literal = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') literal = !literal;
    if (literal || text[i] != ':') continue;
    std::size_t end = i + 1;
    while (end < text.size() && nameByte(text[end])) ++end;
    const std::string name = text.substr(i + 1, end - i - 1);
    if (end < text.size() && end == i + 1 && text[end] == ':') ++end;  // ::
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    i = end - 1;
    while (i + 1 < text.size() && name.empty() && nameByte(text[i + 1])) ++i;
  }
  return names;
}

// Which of the placeholders a text names, with or without its colon.
std::optional<std::size_t> placeholderNamed(ValueReader& values, const Expr& text, const std::vector<std::string>& names) {
  const Texts written = values.texts(&text);
  if (written.size() != 1 || written[0].size() != 1 || written[0][0].hole) return std::nullopt;
  std::string_view wanted = written[0][0].text;
  if (wanted.starts_with(':')) wanted.remove_prefix(1);
  const auto at = std::ranges::find(names, wanted);
  return at == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - names.begin()));
}

void bind(std::vector<HostValue>& binds, std::size_t at, ValueReader& values, const Expr& value) {
  if (at >= kMostBinds) return;
  if (at >= binds.size()) binds.resize(at + 1);
  binds[at] = values.value(pointedAt(&value));
}

}  // namespace

std::vector<HostValue> laterBinds(ValueReader& values, ASTContext& context, const FunctionDecl& function, const Expr& prepared, const Expr* statement, const std::vector<HostText>& texts) {
  std::vector<HostValue> binds;
  const ValueDecl* of = objectOf(statement);
  if (!of) {  // nanodbc::statement st(connection, "…")
    eachStatement(function.getBody(), [&](const Stmt& s) {
      const auto* decl = dyn_cast<DeclStmt>(&s);
      const auto* v = decl && decl->isSingleDecl() ? dyn_cast<VarDecl>(decl->getSingleDecl()) : nullptr;
      if (v && v->getInit() && stripped(v->getInit()) == &prepared) of = v;
    });
  }
  if (!of) return binds;
  const std::vector<std::string> names = namedPlaceholders(texts);
  const SourceManager& manager = context.getSourceManager();
  bool over = false;
  eachStatement(function.getBody(), [&](const Stmt& s) {
    const auto* call = dyn_cast<CallExpr>(&s);
    const FunctionDecl* callee = call && !over ? call->getDirectCallee() : nullptr;
    if (!callee || !manager.isBeforeInTranslationUnit(prepared.getBeginLoc(), call->getBeginLoc())) return;
    const std::string name = qualifiedName(*callee);
    const auto* method = dyn_cast<CXXMemberCallExpr>(call);
    const auto argument = [&](int i) { return i >= 0 && static_cast<unsigned>(i) < call->getNumArgs() ? call->getArg(static_cast<unsigned>(i)) : nullptr; };
    const auto* id = callee->getIdentifier();
    const CallModel* again = id ? findCallModel(scopeOf(*callee), id->getName()) : nullptr;
    if (again && again->binds == Binds::Later && call != &prepared) {
      const Expr* other = again->first_bind >= 0 ? argument(again->first_bind) : method ? method->getImplicitObjectArgument() : nullptr;
      over |= objectOf(other) == of;
      return;
    }
    const LaterBind* later = findLaterBind(name);
    if (!later || objectOf(later->object >= 0 ? argument(later->object) : method ? method->getImplicitObjectArgument() : nullptr) != of) return;
    const Expr* value = argument(later->value);
    if (!value) return;
    std::size_t at = binds.size();
    if (const Expr* position = argument(later->position)) {
      if (const auto number = integerConstant(position, context)) {
        at = static_cast<std::size_t>(std::clamp<std::int64_t>(*number - later->first, 0, kMostBinds));
      } else {
        const auto named = placeholderNamed(values, *position, names);
        if (!named) return;
        at = *named;
      }
    }
    bind(binds, at, values, *value);
  });
  return binds;
}

std::vector<HostValue> namedBinds(ValueReader& values, ASTContext& context, const FunctionDecl& function, const Expr& made, const Expr* object, const std::vector<HostText>& texts) {
  std::vector<HostValue> binds;
  const std::vector<std::string> names = namedPlaceholders(texts);
  if (names.empty()) return binds;
  // Where the statement stands: in the variable that the call gives its result to, or in the object that it is called on.
  const ValueDecl* of = nullptr;
  const auto holds = [&](const Expr* e) { return e && namedObject(e) == namedObject(&made); };
  eachStatement(function.getBody(), [&](const Stmt& s) {
    if (const auto* decl = dyn_cast<DeclStmt>(&s)) {
      for (const Decl* d : decl->decls())
        if (const auto* v = dyn_cast<VarDecl>(d); v && holds(v->getInit())) of = v;
    } else if (const auto [target, value] = assignment(s); holds(value)) {
      of = objectOf(target);
    }
  });
  if (!of && object) of = objectOf(object);
  if (!of) return binds;
  const SourceManager& manager = context.getSourceManager();
  bool over = false;
  eachStatement(function.getBody(), [&](const Stmt& s) {
    if (over || !manager.isBeforeInTranslationUnit(made.getEndLoc(), s.getEndLoc())) return;
    if (const auto [target, value] = assignment(s); target && objectOf(target) == of && !holds(value)) over = true;
    const auto* call = dyn_cast<CallExpr>(&s);
    if (!call || call->getNumArgs() != 2 || objectOf(calledOn(*call)) != of) return;
    if (const auto at = placeholderNamed(values, *call->getArg(0), names)) bind(binds, *at, values, *call->getArg(1));
  });
  return binds;
}

std::optional<ServerCall> serverFunctionCall(ValueReader& values, const std::vector<const Expr*>& arguments, int first_bind) {
  const auto* called = arguments.empty() ? nullptr : dyn_cast_or_null<FunctionDecl>(objectOf(arguments[0]));
  const std::string_view name = called ? serverFunction(qualifiedName(*called)) : "";
  if (name.empty()) return std::nullopt;
  ServerCall call;
  call.sql = "SELECT " + std::string(name) + "(";
  for (auto i = static_cast<std::size_t>(first_bind); i < arguments.size(); ++i) {
    call.binds.push_back(values.value(arguments[i]));
    call.sql += (call.binds.size() > 1 ? ", $" : "$") + std::to_string(call.binds.size());
  }
  call.sql += ")";
  return call;
}

}  // namespace pglocklint::extract

// The calls of one function that concern us: what they send, on which session, with which values, and what becomes of the answer.
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

#include "bound_values.h"
#include "lock_tags.h"
#include "model/ascii.h"
#include "model/lock_function.h"
#include "reader.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr char kServerSession[] = "global MyProc";
constexpr std::size_t kMostListed = 64;  // statements of a list that a loop sends

// A word that makes a text one about locks.
bool mentionsLock(std::string_view text) {
  const std::string lower = lowered(text);
  return lower.find("pg_locks") != std::string::npos ||
         std::any_of(kLockFunctions.begin(), kLockFunctions.end(),
                     [&](const LockFunction& f) { return lower.find(f.name) != std::string::npos; });
}

// SQL about locks, as far as words tell.
bool isLockSql(const Texts& texts) {
  return std::any_of(texts.begin(), texts.end(), [](const Text& t) {
    const auto first = std::find_if(t.begin(), t.end(), [](const TextPiece& p) {
      return p.hole || p.text.find_first_not_of(" \t\r\n") != std::string::npos;
    });
    return first != t.end() && !first->hole && beginsLikeSql(first->text) &&
           std::any_of(t.begin(), t.end(), [](const TextPiece& p) { return mentionsLock(p.text); });
  });
}

// The highest $n that a text names.
unsigned placeholders(const Texts& texts) {
  unsigned most = 0;
  for (const Text& t : texts)
    for (const TextPiece& p : t)
      for (std::size_t i = p.text.find('$'); i != std::string::npos; i = p.text.find('$', i + 1)) {
        unsigned n = 0;
        for (std::size_t k = i + 1; k < p.text.size() && p.text[k] >= '0' && p.text[k] <= '9' && n < 1000; ++k)
          n = n * 10 + static_cast<unsigned>(p.text[k] - '0');
        most = std::max(most, n);
      }
  return most;
}

void note(HostCall& call, ResultUse use, const pglocklint::SourceRange& range) {
  if (use > call.result || call.result == ResultUse::Unknown) call.result = use, call.result_range = range;
}

HostCallKind kindOf(Role role) {
  switch (role) {
    case Role::Execute:
    case Role::Stream:
    case Role::StreamValues:
    case Role::ServerFunction:
    case Role::LockTag: return HostCallKind::Execute;
    case Role::Prepare: return HostCallKind::Prepare;
    case Role::ExecutePrepared: return HostCallKind::ExecutePrepared;
    case Role::Begin: return HostCallKind::Begin;
    case Role::Autocommit: return HostCallKind::Autocommit;
    case Role::Commit: return HostCallKind::Commit;
    case Role::Rollback: return HostCallKind::Rollback;
    case Role::Savepoint: return HostCallKind::Savepoint;
    case Role::Release: return HostCallKind::Release;
    case Role::RollbackTo: return HostCallKind::RollbackTo;
    case Role::Connect: return HostCallKind::Connect;
    case Role::Disconnect: return HostCallKind::Disconnect;
    case Role::Reset: return HostCallKind::Reset;
    case Role::Wait: return HostCallKind::Wait;
    case Role::Nothing: break;
  }
  return HostCallKind::Function;
}

// pqxx::transaction<pqxx::serializable>: "serializable"; empty for PostgreSQL's own default.
std::string isolationOf(const CXXRecordDecl* record) {
  const auto* instance = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record);
  if (!instance) return "";
  for (const TemplateArgument& a : instance->getTemplateArgs().asArray()) {
    if (a.getKind() != TemplateArgument::Integral) continue;
    const auto* type = a.getIntegralType()->getAs<clang::EnumType>();
    if (!type) continue;
    for (const EnumConstantDecl* e : type->getDecl()->enumerators())
      if (llvm::APSInt::isSameValue(e->getInitVal(), a.getAsIntegral())) {
        if (e->getName() == "serializable") return "serializable";
        if (e->getName() == "repeatable_read") return "repeatable read";
      }
  }
  return "";
}

// Classes that hold something to be called.
bool isCallable(std::string_view of_class) { return of_class == "std::function" || of_class == "std::move_only_function"; }

}  // namespace

// --- the walk

void FunctionReader::walk(const Stmt* s, std::int32_t loop, std::uint32_t depth) {
  if (!s || ++nesting_ > 1000) {
    if (s) --nesting_;
    return;
  }
  struct Leave {
    int& n;
    ~Leave() { --n; }
  } leave{nesting_};
  if (const auto* range = dyn_cast<CXXForRangeStmt>(s)) {
    walk(range->getInit(), loop, depth), walk(range->getRangeInit(), loop, depth);
    const std::int32_t inner = addLoop(*range, loop);
    open_.push_back(s);
    walk(range->getBody(), inner, depth + 1);
    open_.pop_back();
    return;
  }
  if (const auto* lambda = dyn_cast<LambdaExpr>(s)) {
    for (const Expr* init : lambda->capture_inits()) walk(init, loop, depth);
    const std::vector<const FunctionDecl*> bodies = bodiesOf(*lambda);
    if (bodies.empty()) {
      const bool outer = std::exchange(aside_, true);
      walk(lambda->getBody(), loop, depth);
      aside_ = outer;
      return;
    }
    closure(*lambda, bodies);
    if (!isFollowed(*lambda)) handOut(*lambda, bodies, loop, depth);
    return;
  }
  if (const auto* list = dyn_cast<InitListExpr>(s); list && !list->isSemanticForm() && list->getSemanticForm())
    s = list->getSemanticForm();
  if (const auto* standard = dyn_cast<CXXDefaultInitExpr>(s)) return walk(standard->getExpr(), loop, depth);
  const bool is_loop = isa<ForStmt>(s) || isa<WhileStmt>(s) || isa<DoStmt>(s);
  if (is_loop) open_.push_back(s);
  if (const auto* counted = dyn_cast<ForStmt>(s)) loop = addLoop(*counted, loop);
  for (const Stmt* child : s->children()) walk(child, loop, depth + (is_loop ? 1 : 0));
  if (is_loop) open_.pop_back();
  if (const auto* call = dyn_cast<CallExpr>(s))
    readCall(*call, loop, depth);
  else if (const auto* construct = dyn_cast<CXXConstructExpr>(s))
    readConstruct(*construct, loop, depth);
  else if (const auto* lost = dyn_cast<RecoveryExpr>(s); lost && isLostCall(*lost, places_.manager())) {
    const std::vector<const Expr*> arguments(lost->subExpressions().begin(), lost->subExpressions().end());
    if (std::any_of(arguments.begin(), arguments.end(), [&](const Expr* a) { return isLockSql(values_.texts(a)); }))
      guessed(*lost, "a function that is not known", arguments, nullptr, loop, depth, true);
  }
  names(*s);
}

// The place where a closure goes, above what only hands it on.
bool FunctionReader::takesClosure(const Stmt* at) {
  const Stmt* up = parents_.getParent(at);
  const auto handsOn = [&] {
    if (isa<ParenExpr>(up) || isa<FullExpr>(up) || isa<MaterializeTemporaryExpr>(up) || isa<CXXBindTemporaryExpr>(up) ||
        isa<CastExpr>(up))
      return true;
    const auto* construct = dyn_cast<CXXConstructExpr>(up);
    return construct && construct->getConstructor()->getParent()->isLambda();
  };
  while (up && handsOn()) at = up, up = parents_.getParent(up);
  if (!up) return false;
  const auto* value = dyn_cast<Expr>(at);
  const auto* record = value ? value->getType().getNonReferenceType()->getAsCXXRecordDecl() : nullptr;
  const auto same = [&](const FunctionDecl* f, unsigned index) {  // a template that is made for this closure
    return f && index < f->getNumParams() && places_.inProject(f->getLocation()) && record &&
           f->getParamDecl(index)->getType().getNonReferenceType()->getAsCXXRecordDecl() == record;
  };
  if (const auto* construct = dyn_cast<CXXConstructExpr>(up)) {
    for (unsigned i = 0; i < construct->getNumArgs(); ++i)
      if (construct->getArg(i) == at) return same(construct->getConstructor(), i);
    return false;
  }
  if (const auto* call = dyn_cast<CallExpr>(up)) {
    const FunctionDecl* f = call->getDirectCallee();
    if (f && isLambdaBody(*f) && isa<CXXOperatorCallExpr>(call) && call->getArg(0) == at) return true;  // it is called here
    for (unsigned i = 0; i < call->getNumArgs(); ++i)
      if (call->getArg(i) == at) return same(f, i);
    return false;
  }
  const auto* declaration = dyn_cast<DeclStmt>(up);
  const auto* v = declaration && declaration->isSingleDecl() ? dyn_cast<VarDecl>(declaration->getSingleDecl()) : nullptr;
  if (!v || v->getInit() != at || !record || !record->isLambda()) return false;
  std::vector<const Stmt*> work{declaration_.getBody()};
  while (!work.empty()) {
    const Stmt* s = work.back();
    work.pop_back();
    if (!s) continue;
    const auto* ref = dyn_cast<DeclRefExpr>(s);
    if (ref && ref->getDecl() == v && !takesClosure(ref)) return false;
    work.insert(work.end(), s->child_begin(), s->child_end());
  }
  return true;
}

// Whether calls of a lambda are seen wherever it goes.
bool FunctionReader::isFollowed(const LambdaExpr& lambda) { return takesClosure(&lambda); }

// What runs when a closure is called; nothing for a generic lambda of which no instance is seen.
std::vector<const FunctionDecl*> FunctionReader::bodiesOf(const LambdaExpr& lambda) {
  std::vector<const FunctionDecl*> bodies;
  if (const FunctionTemplateDecl* generic = lambda.getDependentCallOperator())
    bodies.assign(generic->spec_begin(), generic->spec_end());
  else if (const CXXMethodDecl* body = lambda.getCallOperator())
    bodies.push_back(body);
  return bodies;
}

// A closure that goes to code that is not seen.
void FunctionReader::handOut(const LambdaExpr& lambda, const std::vector<const FunctionDecl*>& bodies, std::int32_t loop,
                             std::uint32_t depth) {
  for (const FunctionDecl* body : bodies) {
    HostCall call = begin(HostCallKind::Function, lambda, "a closure", loop, depth);
    call.name = functionId(*body, context_, places_);
    call.connection = path(&lambda);
    call.deferred = true;
    add(std::move(call), lambda);
  }
}

// What it captures are fields of the closure.
void FunctionReader::closure(const LambdaExpr& lambda, const std::vector<const FunctionDecl*>& bodies) {
  const std::string made = path(&lambda);
  auto init = lambda.capture_init_begin();
  for (const LambdaCapture& c : lambda.captures()) {
    const Expr* value = *init++;
    if (c.capturesThis()) alias(made + ".this", "this");
    if (!c.capturesVariable() || !value) continue;
    const std::string field = made + "." + c.getCapturedVar()->getNameAsString();
    const QualType type = c.getCapturedVar()->getType().getNonReferenceType();
    if (c.getCaptureKind() == LCK_ByRef || !(type->isIntegralOrEnumerationType() || isTextType(type)))
      alias(field, path(value));
    if ((type->isIntegralOrEnumerationType() || isTextType(type)) && !type->isBooleanType()) alias(field, value);
  }
  unit_.lambdas.insert(unit_.lambdas.end(), bodies.begin(), bodies.end());
}

// Other names of objects that a statement makes, and whether it says something although it calls nothing.
void FunctionReader::names(const Stmt& s) {
  if (const auto* decl = dyn_cast<DeclStmt>(&s)) {
    for (const Decl* d : decl->decls()) {
      const auto* v = dyn_cast<VarDecl>(d);
      if (!v || v->isInvalidDecl()) {
        code_.degraded |= v != nullptr;
        continue;
      }
      matters_ |= unit_.endMatters(v->getType());
      if (!v->hasLocalStorage() || !v->getInit()) continue;
      const bool fields = isa<InitListExpr>(stripped(v->getInit()));
      if ((fields || isPointerLikeType(v->getType()) || !isObject(v->getType())) && isHandle(v->getType()) &&
          path(*v) == localName(*v))
        initialised(localName(*v), v->getType(), v->getInit());
    }
  } else if (const auto* two = dyn_cast<clang::BinaryOperator>(&s); two && two->getOpcode() == BO_Assign) {
    const QualType type = two->getLHS()->getType();
    const bool member = isa<MemberExpr>(stripped(two->getLHS()));
    matters_ |= member && type->isBooleanType();
    if (type->isPointerType() && isHandle(type)) alias(path(two->getLHS()), path(two->getRHS()));
    if (member && isa<CXXConstructorDecl>(declaration_) && !type->isBooleanType() &&
        (type->isIntegralOrEnumerationType() || isTextType(type)))
      alias(path(two->getLHS()), two->getRHS());
  } else if (const auto* op = dyn_cast<CXXOperatorCallExpr>(&s); op && op->getOperator() == OO_Equal && op->getNumArgs() == 2) {
    if (isPointerLikeType(op->getArg(0)->getType())) alias(path(op->getArg(0)), path(op->getArg(1)));
  } else if (const auto* method = dyn_cast<CXXMemberCallExpr>(&s)) {
    const FunctionDecl* f = method->getMethodDecl();
    const Expr* object = method->getImplicitObjectArgument();
    if (!f || !f->getIdentifier() || !isPointerLikeType(object->getType()) || method->getNumArgs() == 0) return;
    const QualType held = pointedTo(object->getType());
    if (f->getName() == "reset") alias(path(object), path(method->getArg(0)));
    if (f->getName() == "emplace" && isTransaction(held))
      if (const Expr* session = sessionArgument({method->getArgs(), method->getNumArgs()})) alias(path(object), path(session));
  } else if (const auto* result = dyn_cast<ReturnStmt>(&s); result && result->getRetValue()) {
    const QualType type = declaration_.getReturnType();
    matters_ |= type->isBooleanType();
    const VarDecl* named = result->getNRVOCandidate();
    if (named && named->isNRVOVariable() && isHandle(type))
      alias("return", path(*named));
    else if (isHandle(type))
      initialised("return", type, result->getRetValue());
  } else if (isa<CXXThrowExpr>(s)) {
    matters_ = true;
  } else if (const auto* e = dyn_cast<Expr>(&s); e && isa<RecoveryExpr>(e)) {
    code_.degraded = true;
  }
}

// Which expressions local variables are given. Looks at every statement once, before anything else is asked.
void FunctionReader::collectSources(const Stmt* s, int nesting) {
  if (!s || nesting > 1000) return;
  const auto variable = [](const Expr* e) -> const VarDecl* {
    const auto* ref = e ? dyn_cast<DeclRefExpr>(stripped(e)) : nullptr;
    return ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  };
  const auto given = [&](const VarDecl* v, const Expr* e) {
    if (v) sources_[v].values.push_back(e);
  };
  const auto changed = [&](const Expr* e) {
    if (const VarDecl* v = variable(e)) sources_[v].other = true;
  };
  const auto counted = [&](const Expr* e) {
    if (const VarDecl* v = variable(e)) sources_[v].other = sources_[v].counted = true;
  };
  const auto bound = [&](QualType to, const Expr* e) {  // to a reference or through a pointer that may write
    const Expr* core = stripped(e);
    if (const auto* address = dyn_cast<clang::UnaryOperator>(core); address && address->getOpcode() == UO_AddrOf) {
      const VarDecl* v = variable(address->getSubExpr());
      if (v && !v->getType()->isRecordType() && !to.isNull() && !(to->isPointerType() && to->getPointeeType().isConstQualified()))
        sources_[v].other = true;
    } else if (!to.isNull() && to->isLValueReferenceType() && !to->getPointeeType().isConstQualified()) {
      const VarDecl* v = variable(core);
      if (v && (!v->getType()->isRecordType() || isPointerLikeType(v->getType()))) sources_[v].other = true;
    } else if (!to.isNull() && to->isRValueReferenceType()) {
      if (const VarDecl* v = variable(core)) sources_[v].moved = true;
    }
  };
  if (const auto* decl = dyn_cast<DeclStmt>(s)) {
    for (const Decl* d : decl->decls())
      if (const auto* v = dyn_cast<VarDecl>(d)) {
        if (v->getInit()) given(v, v->getInit());
        if (v->getInit() && v->getType()->isReferenceType()) bound(v->getType(), v->getInit());
        if (const auto* parts = dyn_cast<DecompositionDecl>(v))
          for (const BindingDecl* b : parts->bindings())
            if (const VarDecl* holder = b->getHoldingVar()) given(holder, holder->getInit());
      }
  } else if (const auto* two = dyn_cast<clang::BinaryOperator>(s); two && two->isAssignmentOp()) {
    if (two->getOpcode() == BO_Assign)
      given(variable(two->getLHS()), two->getRHS());
    else
      counted(two->getLHS());
  } else if (const auto* one = dyn_cast<clang::UnaryOperator>(s); one && one->isIncrementDecrementOp()) {
    counted(one->getSubExpr());
  } else if (const auto* construct = dyn_cast<CXXConstructExpr>(s)) {
    for (unsigned i = 0; i < construct->getNumArgs() && i < construct->getConstructor()->getNumParams(); ++i)
      bound(construct->getConstructor()->getParamDecl(i)->getType(), construct->getArg(i));
  } else if (const auto* call = dyn_cast<CallExpr>(s)) {
    const FunctionDecl* f = call->getDirectCallee();
    const auto* op = dyn_cast<CXXOperatorCallExpr>(s);
    if (op && op->getOperator() == OO_Equal && op->getNumArgs() == 2) given(variable(op->getArg(0)), op->getArg(1));
    const unsigned shift = op && f && isa<CXXMethodDecl>(f) ? 1 : 0;
    const std::string name = f && f->getIdentifier() ? f->getName().str() : "";
    const bool moves = f && isStandard(*f) && (name == "move" || name == "forward" || name == "exchange" || name == "swap");
    for (unsigned i = shift; i < call->getNumArgs(); ++i) {
      if (moves && name != "swap" && name != "exchange") {
        if (const VarDecl* v = variable(call->getArg(i)); v && name == "move") sources_[v].moved = true;
        continue;
      }
      if (moves && i == 0) changed(call->getArg(i));
      bound(f && i - shift < f->getNumParams() ? f->getParamDecl(i - shift)->getType() : QualType(), call->getArg(i));
    }
    if (const auto* method = dyn_cast<CXXMemberCallExpr>(s)) {
      const VarDecl* v = variable(method->getImplicitObjectArgument());
      if (v && isPointerLikeType(v->getType())) {
        if (name == "release" || name == "swap") sources_[v].moved = true;
        if (name == "reset" || name == "emplace") {
          sources_[v].moved = true;
          if (call->getNumArgs() > 0 || name == "emplace") sources_[v].other = true;
        }
      }
    }
  } else if (const auto* range = dyn_cast<CXXForRangeStmt>(s)) {
    ranges_[range->getLoopVariable()] = range->getRangeInit();
    sources_[range->getLoopVariable()].other = true;
  }
  for (const Stmt* child : s->children()) collectSources(child, nesting + 1);
}

// Whether an object among these is declared inside of a loop that is open here: pqxx::work tx(c) in the loop's body.
bool FunctionReader::madeInLoop(const Expr* object, const std::vector<const Expr*>& arguments) const {
  if (open_.empty()) return false;
  const auto inLoop = [&](const Expr* e) {
    const Expr* inner = e ? stripped(e) : nullptr;
    while (const auto* unary = dyn_cast_or_null<clang::UnaryOperator>(inner)) inner = stripped(unary->getSubExpr());
    const auto* ref = dyn_cast_or_null<DeclRefExpr>(inner);
    const auto* v = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
    if (!v || !v->isLocalVarDecl() || loop_of_.contains(v)) return false;
    const QualType type = v->getType().getNonReferenceType();
    if (isTextType(type) || (!type->isRecordType() && !type->isPointerType())) return false;
    const SourceManager& manager = places_.manager();
    const Stmt* outermost = open_.front();
    return !manager.isBeforeInTranslationUnit(v->getLocation(), outermost->getBeginLoc()) &&
           !manager.isBeforeInTranslationUnit(outermost->getEndLoc(), v->getLocation());
  };
  return inLoop(object) || std::any_of(arguments.begin(), arguments.end(), inLoop);
}

// --- loops

std::int32_t FunctionReader::addLoop(const CXXForRangeStmt& s, std::int32_t parent) {
  const VarDecl* variable = s.getLoopVariable();
  HostLoop loop = loopOver(*stripped(s.getRangeInit()), s.getForLoc(), s.getRParenLoc(), parent);
  loop.variable = variable->getNameAsString();
  if (const auto* parts = dyn_cast<DecompositionDecl>(variable)) {
    for (const BindingDecl* b : parts->bindings()) loop.variable += (loop.variable.empty() ? "[" : ", ") + b->getNameAsString();
    loop.variable += "]";
  }
  const auto index = static_cast<std::int32_t>(code_.loops.size());
  code_.loops.push_back(std::move(loop));
  loop_of_[variable] = index;
  return index;
}

// for (i = 0; i < ids.size(); ++i), for (i = 0; i < PQntuples(r); ++i): the container is what the condition asks for its size.
std::int32_t FunctionReader::addLoop(const ForStmt& s, std::int32_t parent) {
  const auto* declared = dyn_cast_or_null<DeclStmt>(s.getInit());
  const auto* counter = declared && declared->isSingleDecl() ? dyn_cast<VarDecl>(declared->getSingleDecl()) : nullptr;
  const auto* compared = dyn_cast_or_null<clang::BinaryOperator>(s.getCond() ? s.getCond()->IgnoreParenImpCasts() : nullptr);
  const auto* step = dyn_cast_or_null<clang::UnaryOperator>(s.getInc());
  if (!counter || !counter->getType()->isIntegerType() || !compared || !compared->isComparisonOp() || !step || !step->isIncrementOp() ||
      namedBy(compared->getLHS()) != counter || namedBy(step->getSubExpr()) != counter)
    return parent;
  const auto* size = dyn_cast_or_null<CallExpr>(throughVariable(compared->getRHS()->IgnoreParenImpCasts()));
  const FunctionDecl* callee = size ? size->getDirectCallee() : nullptr;
  if (!callee || !callee->getIdentifier()) return parent;
  const auto* method = dyn_cast<CXXMemberCallExpr>(size);
  const llvm::StringRef name = callee->getName();
  const Expr* container = method && size->getNumArgs() == 0 && (name == "size" || name == "length" || name == "count") ? method->getImplicitObjectArgument()
                          : name == "PQntuples" && size->getNumArgs() == 1                                             ? size->getArg(0)
                                                                                                                      : nullptr;
  const ValueDecl* named = namedBy(container);
  if (!named) return parent;
  HostLoop loop = loopOver(*stripped(container), s.getForLoc(), s.getRParenLoc(), parent);
  loop.variable = named->getNameAsString() + "[" + counter->getNameAsString() + "]";
  const auto index = static_cast<std::int32_t>(code_.loops.size());
  counters_[counter] = {index, named, loop.variable};
  code_.loops.push_back(std::move(loop));
  return index;
}

HostLoop FunctionReader::loopOver(const Expr& container, SourceLocation begin, SourceLocation end, std::int32_t parent) {
  HostLoop loop;
  loop.range = places_.range(begin, end), loop.parent = parent;
  const ValueDecl* named = namedBy(&container);
  const std::string type = values_.type(container.getType()).name;
  loop.container = named ? named->getNameAsString() + " (" + type + ")" : type;
  loop.order = orderOf(container, begin);
  loop.answer = resultOf(&container);
  return loop;
}

LoopOrder FunctionReader::orderOf(const Expr& container, SourceLocation loop) {
  const auto* record = container.getType().getNonReferenceType()->getAsCXXRecordDecl();
  const std::string type = record ? qualifiedName(*record) : "";
  if (type.find("unordered_") != std::string::npos || type.find("flat_hash_") != std::string::npos ||
      type.find("node_hash_") != std::string::npos || type == "QHash" || type == "QSet" || type.starts_with("pqxx::"))
    return type.starts_with("pqxx::") ? LoopOrder::Unknown : LoopOrder::Unsorted;
  if (type == "std::set" || type == "std::map" || type == "std::multiset" || type == "std::multimap" ||
      type.find("btree_") != std::string::npos || type == "QMap")
    return LoopOrder::Sorted;
  if (const auto* list = dyn_cast<InitListExpr>(&container); list || type == "std::initializer_list")
    return LoopOrder::Sorted;  // as written
  const bool sequence = type == "std::vector" || type == "std::deque" || type == "std::list" || type == "std::array" ||
                        type == "std::span" || type == "QList" || type == "QVector" || container.getType()->isArrayType();
  const auto* ref = dyn_cast<DeclRefExpr>(&container);
  const auto* variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  if (!sequence || !variable || (!isa<ParmVarDecl>(variable) && !variable->isLocalVarDecl())) return LoopOrder::Unknown;
  // A sort anywhere before the loop, or filled from something that we do not see: the order may well be one.
  if (sortedBefore(*variable, loop)) return LoopOrder::Sorted;
  if (isa<ParmVarDecl>(variable)) return LoopOrder::Unsorted;
  return LoopOrder::Unknown;
}

bool FunctionReader::sortedBefore(const VarDecl& variable, SourceLocation loop) {
  struct Finder : RecursiveASTVisitor<Finder> {
    const VarDecl& variable;
    SourceLocation until;
    const SourceManager& manager;
    bool found = false;
    Finder(const VarDecl& v, SourceLocation u, const SourceManager& m) : variable(v), until(u), manager(m) {}
    bool names(const Stmt* s) const {
      if (!s) return false;
      if (const auto* ref = dyn_cast<DeclRefExpr>(s); ref && ref->getDecl() == &variable) return true;
      return std::any_of(s->child_begin(), s->child_end(), [&](const Stmt* c) { return names(c); });
    }
    bool VisitCallExpr(CallExpr* call) {
      const FunctionDecl* f = call->getDirectCallee();
      const std::string name = f ? f->getNameInfo().getName().getAsString() : "";
      if (name.find("sort") != std::string::npos && manager.isBeforeInTranslationUnit(call->getBeginLoc(), until))
        found |= names(call);
      return !found;
    }
  } finder(variable, loop, places_.manager());
  finder.TraverseStmt(const_cast<Stmt*>(declaration_.getBody()));
  return finder.found;
}

// --- calls

HostCall FunctionReader::begin(HostCallKind kind, const Expr& whole, std::string api, std::int32_t loop, std::uint32_t depth) {
  HostCall call;
  call.kind = kind, call.api = std::move(api), call.loop = loop, call.loop_depth = depth;
  call.range = places_.range(whole.getSourceRange());
  return call;
}

void FunctionReader::add(HostCall call, const Expr& whole) {
  if (!unit_.exceptions()) call.throws = call.throws && unit_.raises();
  const auto index = static_cast<std::int32_t>(code_.calls.size());
  calls_at_[&whole].push_back(index);
  if (aside_) aside_calls_.insert(index);
  code_.calls.push_back(std::move(call));
}

void addTexts(HostCall& call, const Texts& texts) {
  for (const Text& t : texts) {
    HostText text;
    for (const TextPiece& p : t) {
      HostPiece piece;
      piece.text = p.text, piece.places = p.places, piece.quoted = p.quoted, piece.range = p.range;
      if (p.hole) {
        const auto same = std::find(call.holes.begin(), call.holes.end(), *p.hole);
        piece.hole = static_cast<std::int32_t>(same - call.holes.begin());
        if (same == call.holes.end()) call.holes.push_back(*p.hole);
      }
      text.pieces.push_back(std::move(piece));
    }
    call.texts.push_back(std::move(text));
  }
}

void FunctionReader::setTexts(HostCall& call, const Texts& texts) {
  addTexts(call, texts);
  for (const Text& t : texts)
    for (const TextPiece& p : t) used_.insert(p.literals.begin(), p.literals.end());
}

void FunctionReader::setArguments(HostCall& call, const std::vector<const Expr*>& arguments, const FunctionDecl* callee) {
  bool objects = false, outputs = false;
  for (const Expr* a : arguments) {
    if (call.binds.size() >= kMostBinds) break;
    call.binds.push_back(values_.value(a));
    const bool object = isHandle(a->getType()) || isa<LambdaExpr>(stripped(a));
    call.bind_paths.push_back(object ? path(a) : "");
    objects |= !call.bind_paths.back().empty();
    const unsigned n = static_cast<unsigned>(call.outputs.size());
    call.outputs.push_back(outputOf(*a, callee && n < callee->getNumParams() ? callee->getParamDecl(n)->getType() : QualType()));
    outputs |= !call.outputs.back().empty();
  }
  if (!objects) call.bind_paths.clear();
  if (!outputs) call.outputs.clear();
}

// The boolean or number that a call may write: &got, or bound to a reference.
std::string FunctionReader::outputOf(const Expr& argument, QualType parameter) {
  const Expr* e = stripped(&argument);
  const auto writes = [](QualType to) { return !to.isNull() && !to.isConstQualified() && (to->isBooleanType() || isTruthNumber(to)); };
  if (const auto* address = dyn_cast<clang::UnaryOperator>(e); address && address->getOpcode() == UO_AddrOf)
    return writes(address->getSubExpr()->getType()) ? path(address->getSubExpr()) : "";
  if (e->getType()->isPointerType() && writes(e->getType()->getPointeeType())) return path(e);  // handed on
  return !parameter.isNull() && parameter->isLValueReferenceType() && writes(parameter->getPointeeType()) ? path(e) : "";
}

// The function behind a pointer or std::function, where one alone is put in there.
const FunctionDecl* FunctionReader::targetOf(const Expr* e) const {
  for (int i = 0; e && i < 8; ++i) {
    e = stripped(e);
    if (const auto* u = dyn_cast<clang::UnaryOperator>(e)) {
      e = u->getSubExpr();
    } else if (const auto* made = dyn_cast<CXXConstructExpr>(e)) {
      if (made->getNumArgs() != 1 || !isCallable(qualifiedName(*made->getConstructor()->getParent()))) return nullptr;
      e = made->getArg(0);
    } else if (const auto* ref = dyn_cast<DeclRefExpr>(e)) {
      if (const auto* f = dyn_cast<FunctionDecl>(ref->getDecl())) return f->isCXXInstanceMember() ? nullptr : f;
      const auto* v = dyn_cast<VarDecl>(ref->getDecl());
      if (!v || isa<ParmVarDecl>(v)) return nullptr;
      e = v->hasLocalStorage() ? onlySource(*v) : v->getType().isConstQualified() ? v->getAnyInitializer() : nullptr;
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

// The class that the object of a virtual call is of, or derived from; empty where it is certain which function runs: then that is `callee`.
std::string FunctionReader::dispatch(const CallExpr& c, const FunctionDecl*& callee) {
  const auto* call = dyn_cast<CXXMemberCallExpr>(&c);
  const CXXMethodDecl* method = call ? call->getMethodDecl() : nullptr;
  const auto* member = dyn_cast<MemberExpr>(c.getCallee()->IgnoreParens());
  if (!method || !method->isVirtual() || !member || !member->performsVirtualDispatch(context_.getLangOpts())) return "";
  const Expr* object = call->getImplicitObjectArgument();
  const CXXMethodDecl* certain = method->getDevirtualizedMethod(object, false);
  const auto* own = dyn_cast<CXXMethodDecl>(&declaration_);
  if (!certain && isa<CXXThisExpr>(object->IgnoreParenBaseCasts()) && (isa<CXXConstructorDecl>(declaration_) || isa<CXXDestructorDecl>(declaration_)))
    certain = const_cast<CXXMethodDecl*>(method)->getCorrespondingMethodInClass(own->getParent(), true);
  if (certain) callee = certain;
  const CXXRecordDecl* record = handledClass(object->IgnoreParenBaseCasts()->getType());
  return certain || !record ? "" : classId(*record, places_);
}

void FunctionReader::readCall(const CallExpr& c, std::int32_t loop, std::uint32_t depth) {
  const FunctionDecl* callee = c.getDirectCallee();
  std::vector<const Expr*> arguments(c.arg_begin(), c.arg_end());
  const std::string of_class = callee ? dispatch(c, callee) : "";
  if (!callee) {
    callee = targetOf(c.getCallee());
    if (!callee) return unresolvedCall(c, loop, depth);
  } else if (isa<CXXOperatorCallExpr>(c) && callee->getOverloadedOperator() == OO_Call && isCallable(scopeOf(*callee))) {
    callee = targetOf(arguments[0]);
    if (!callee) return unresolvedCall(c, loop, depth);
    arguments.erase(arguments.begin());
  }
  const std::string name = qualifiedName(*callee);
  const auto* method = dyn_cast<CXXMemberCallExpr>(&c);
  const Expr* object = method ? method->getImplicitObjectArgument() : nullptr;
  if (callee->isOverloadedOperator() && isa<CXXMethodDecl>(callee) && isa<CXXOperatorCallExpr>(c) && !arguments.empty())
    object = arguments[0], arguments.erase(arguments.begin());
  const auto* id = callee->getIdentifier();
  const CallModel* model = unit_.models.find(name);
  if (callee->getOverloadedOperator() == OO_LessLess)
    if (const CallModel* stream = findCallModel(scopeOf(*callee), "operator<<")) return streamed(*stream, c, name, loop, depth);
  if (!model && id && object) {  // tx.commit() is declared in a base; what it does depends on the object
    const CXXRecordDecl* exact = handledClass(object->IgnoreParenBaseCasts()->getType());
    if (exact) model = findCallModel(qualifiedName(*exact), id->getName());
  }
  if (id && !model) model = findCallModel(scopeOf(*callee), id->getName());
  if (model) return modelled(*model, c, name, arguments, object, loop, depth);
  if (isStandard(*callee)) {
    matters_ |= endingOf(name) != Ending::None;
    if ((name == "std::make_unique" || name == "std::make_shared" || name == "std::make_optional") && !pointedTo(c.getType()).isNull())
      return constructed(c, pointedTo(c.getType()), nullptr, arguments, loop, depth);
    if (object && id && id->getName() == "emplace" && isPointerLikeType(object->getType()))
      return constructed(c, pointedTo(object->getType()), nullptr, arguments, loop, depth);
  }
  const bool project = places_.inProject(callee->getLocation());
  const bool throws = unit_.mayThrow(*callee);
  if (sendsLockText(*callee, name, c.getType(), arguments)) return guessed(c, name, arguments, object, loop, depth, throws, callee, of_class);
  std::string handle;
  if (handsBack(*callee, object, arguments, handle)) {
    HostCall call = begin(HostCallKind::GiveBack, c, name, loop, depth);
    call.connection = handle;
    return add(std::move(call), c);
  }
  const bool obtained = obtains(*callee, c.getType());
  if (!obtained && !project) return;
  if (callee->isOverloadedOperator() && !obtained && callee->getOverloadedOperator() != OO_Equal &&
      callee->getOverloadedOperator() != OO_Call && isa<CXXOperatorCallExpr>(c))
    return;
  HostCall call = begin(obtained ? HostCallKind::Obtain : HostCallKind::Function, c, name, loop, depth);
  call.name = functionId(*callee, context_, places_);
  if (!obtained) call.dispatch = of_class;
  setArguments(call, arguments, callee);
  if (object) call.connection = path(object);
  call.session_in_loop = madeInLoop(object, arguments);
  call.throws = throws;
  if (isHandle(c.getType()) && !c.getType()->isReferenceType()) call.made = accessed(*callee, object, arguments).empty() ? destination(&c) : "";
  if (obtained) {
    if (call.made.empty()) call.made = destination(&c);
    call.connection = call.made;
  }
  add(std::move(call), c);
}

// A call of something that is known only when it runs, or that clang could not resolve for want of a header.
void FunctionReader::unresolvedCall(const CallExpr& c, std::int32_t loop, std::uint32_t depth) {
  const std::vector<const Expr*> arguments(c.arg_begin(), c.arg_end());
  if (std::any_of(arguments.begin(), arguments.end(), [&](const Expr* a) { return isLockSql(values_.texts(a)); })) {
    // Its name may be known, and mean one function.
    const auto* named = dyn_cast<OverloadExpr>(c.getCallee()->IgnoreParenImpCasts());
    const auto* callee = named && named->getNumDecls() == 1 ? dyn_cast<FunctionDecl>((*named->decls_begin())->getUnderlyingDecl()) : nullptr;
    return guessed(c, callee ? qualifiedName(*callee) : "a function that is not known", arguments, nullptr, loop, depth,
                   !callee || unit_.mayThrow(*callee), callee);
  }
  if (c.isTypeDependent() || c.containsErrors()) return;
  HostCall call = begin(HostCallKind::Function, c, "a call through a pointer", loop, depth);
  setArguments(call, arguments, nullptr);
  call.throws = isa<CXXOperatorCallExpr>(c) || !c.getCallee()->getType()->isPointerType();  // by decision: callbacks of C do not
  if (isHandle(c.getType()) && !c.getType()->isReferenceType()) call.made = destination(&c);
  add(std::move(call), c);
}

void FunctionReader::readConstruct(const CXXConstructExpr& c, std::int32_t loop, std::uint32_t depth) {
  constructed(c, c.getType(), c.getConstructor(), std::vector<const Expr*>(c.arg_begin(), c.arg_end()), loop, depth);
}

// An object of class type comes to be. `constructor` is null where the library calls it: std::make_unique<T>(…).
void FunctionReader::constructed(const Expr& whole, QualType type, const CXXConstructorDecl* constructor,
                                 const std::vector<const Expr*>& arguments, std::int32_t loop, std::uint32_t depth) {
  const CXXRecordDecl* record = constructor ? constructor->getParent() : type->getAsCXXRecordDecl();
  if (!record) return;
  const std::string of_class = qualifiedName(*record);
  if (isTextType(type) || handlesTextOnly(of_class + "::")) return;
  const bool copies = constructor ? constructor->isCopyOrMoveConstructor()
                                  : arguments.size() == 1 && arguments[0]->getType()->getAsCXXRecordDecl() == record;
  if (const CallModel* model = findCallModel(of_class, "constructor")) {
    if (!copies) modelled(*model, whole, of_class, arguments, nullptr, loop, depth);
    return;
  }
  if (of_class.starts_with("pqxx::")) return;
  if (!constructor) {
    constructor = matchingConstructor(*record, arguments);
    if (!constructor) return;
  }
  if (copies && constructor->isTrivial()) return;
  if (sendsLockText(*constructor, of_class, type, arguments))
    return guessed(whole, of_class, arguments, nullptr, loop, depth, unit_.mayThrow(*constructor), constructor);
  if (!places_.inProject(constructor->getLocation())) return;
  if (constructor->isImplicit() && (constructor->isTrivial() || !constructor->isDefined())) return;
  if (copies && isElided(whole)) return;
  HostCall call = begin(HostCallKind::Function, whole, of_class, loop, depth);
  call.name = functionId(*constructor, context_, places_);
  setArguments(call, arguments, constructor);
  call.throws = unit_.mayThrow(*constructor);
  call.made = call.connection = whole.getType()->isRecordType() || isa<CallExpr>(whole) ? placeOf(whole) : "";
  if (record->isPolymorphic() && !call.made.empty() && call.made != "this")
    made_class_[static_cast<std::int32_t>(code_.calls.size())] = classId(*record, places_);
  add(std::move(call), whole);
}

// The constructor that as many arguments of these types mean, where only one can be meant.
const CXXConstructorDecl* FunctionReader::matchingConstructor(const CXXRecordDecl& record,
                                                              const std::vector<const Expr*>& arguments) const {
  const CXXConstructorDecl* found = nullptr;
  for (const CXXConstructorDecl* c : record.ctors()) {
    if (c->isDeleted() || c->getMinRequiredArguments() > arguments.size() || c->getNumParams() < arguments.size()) continue;
    const bool takes = std::equal(arguments.begin(), arguments.end(), c->param_begin(), [&](const Expr* a, const ParmVarDecl* p) {
      const QualType want = p->getType().getNonReferenceType().getCanonicalType().getUnqualifiedType();
      const QualType have = a->getType().getNonReferenceType().getCanonicalType().getUnqualifiedType();
      return want == have || (!want->isRecordType() && !have->isRecordType() && want->isScalarType() == have->isScalarType()) ||
             (isTextType(want) && isTextType(have));
    });
    if (!takes) continue;
    if (found) return nullptr;
    found = c;
  }
  return found;
}

// A copy that the language leaves out: the object comes to be where it is to lie.
bool FunctionReader::isElided(const Expr& copy) const {
  const auto* construct = dyn_cast<CXXConstructExpr>(&copy);
  return construct && construct->isElidable() && context_.getLangOpts().ElideConstructors;
}

// Where what a construction makes lies: for std::make_unique<T>() and emplace(), what holds it.
std::string FunctionReader::placeOf(const Expr& whole) {
  if (const auto* method = dyn_cast<CXXMemberCallExpr>(&whole)) return path(method->getImplicitObjectArgument());
  return destination(&whole);
}

// Some function that we know nothing of is given text about locks: it runs it.
bool FunctionReader::sendsLockText(const FunctionDecl& callee, const std::string& name, QualType result,
                   const std::vector<const Expr*>& arguments) {
  if (handlesTextOnly(name) || isTextType(result) || isa<CXXConversionDecl>(callee) || callee.isOverloadedOperator())
    return false;
  return std::any_of(arguments.begin(), arguments.end(), [&](const Expr* a) {
    return (a->getType()->isDependentType() ? a->containsErrors() : isTextType(a->getType())) && isLockSql(values_.texts(a));
  });
}

void FunctionReader::guessed(const Expr& whole, const std::string& name, const std::vector<const Expr*>& arguments,
                             const Expr* object, std::int32_t loop, std::uint32_t depth, bool throws, const FunctionDecl* callee,
                             std::string dispatch) {
  HostCall call = begin(HostCallKind::Execute, whole, name, loop, depth);
  if (callee && places_.inProject(callee->getLocation())) {
    call.name = functionId(*callee, context_, places_), call.dispatch = std::move(dispatch);
    for (const Expr* a : arguments)
      if (call.bind_paths.size() < kMostBinds) call.bind_paths.push_back(isHandle(a->getType()) ? path(a) : "");
  }
  std::size_t at = 0;
  while (at < arguments.size() && !(isTextType(arguments[at]->getType()) && isLockSql(values_.texts(arguments[at])))) ++at;
  if (at == arguments.size())
    for (at = 0; at + 1 < arguments.size() && !isLockSql(values_.texts(arguments[at]));) ++at;
  const Texts texts = values_.texts(arguments[at]);
  setTexts(call, texts);
  // As many values behind the text as it has placeholders, or a list that begins with them: they are its values.
  const unsigned wanted = placeholders(texts);
  std::vector<const Expr*> given(arguments.begin() + static_cast<std::ptrdiff_t>(at) + 1, arguments.end());
  if (const auto list = llvm::find_if(given, [](const Expr* a) { return isTextList(a->getType()); }); list != given.end()) {
    given = values_.elements(*list);
    if (given.size() > wanted) given.resize(wanted);
  }
  if (wanted > 0 && given.size() == wanted)
    for (const Expr* e : given) call.binds.push_back(values_.value(e));
  if (call.binds.empty()) call.binds = namedBinds(values_, context_, declaration_, whole, object, call.texts);
  call.connection = object ? path(object) : at > 0 ? path(arguments[0]) : "";
  call.session_in_loop = madeInLoop(object, arguments);
  call.throws = throws;
  add(std::move(call), whole);
}

void FunctionReader::modelled(const CallModel& m, const Expr& c, const std::string& name, const std::vector<const Expr*>& arguments,
                              const Expr* object, std::int32_t loop, std::uint32_t depth) {
  if (m.role == Role::Nothing) return;
  if (m.role == Role::Wait) return add(begin(HostCallKind::Wait, c, name, loop, depth), c);
  const auto argument = [&](int i) {
    return i >= 0 && static_cast<std::size_t>(i) < arguments.size() ? arguments[static_cast<std::size_t>(i)] : nullptr;
  };
  HostCall call = begin(kindOf(m.role), c, name, loop, depth);
  if (isInsideServer(m)) call.connection = kServerSession;
  if (m.role == Role::ServerFunction || m.role == Role::LockTag) return insideServer(m, c, std::move(call), arguments);
  const Expr* sql = argument(m.sql);
  const Expr* statement = argument(m.statement);
  if (m.sql == kFirstText) {
    const auto text = llvm::find_if(arguments, [](const Expr* a) { return isTextType(a->getType()); });
    if (text == arguments.end()) return;
    sql = *text;
  }
  if (sql && m.role == Role::Execute && isPreparedName(*sql)) call.kind = HostCallKind::ExecutePrepared, statement = std::exchange(sql, nullptr);
  if (sql && m.role == Role::Execute && m.binds == Binds::None)
    if (const std::vector<Texts> list = statementList(*sql); !list.empty()) return listed(list, std::move(call), m, c, arguments, object);
  if (sql) setTexts(call, values_.texts(sql));
  if (statement) {
    const Texts names = values_.texts(statement);
    if (names.size() == 1 && names[0].size() == 1 && !names[0][0].hole) call.name = names[0][0].text;
  }
  if (m.role == Role::Prepare && m.statement == 0 && arguments.size() == 1)
    setTexts(call, values_.texts(arguments[0]));  // the unnamed statement
  if (m.role == Role::Connect && m.binds != Binds::None)
    setTexts(call, connectionText(m, arguments));
  else
    addBinds(m, arguments, c, object, call);
  if (m.role == Role::Begin && isa<CXXConstructExpr>(c)) call.name = isolationOf(c.getType()->getAsCXXRecordDecl());
  const Expr* session = m.connection >= 0 ? argument(m.connection) : object;
  if (m.name == "constructor" && m.connection >= 0) session = sessionArgument(arguments);
  if (m.role == Role::Begin)
    if (std::string place = placeOf(c); isLasting(place)) call.lasting = true, call.made = std::move(place);
  if (m.role == Role::Connect)
    call.connection = call.made = placeOf(c);
  else if (m.connection != kNoConnection && !isInsideServer(m))
    call.connection = session ? path(session) : object ? path(object) : "";
  call.session_in_loop = madeInLoop(object, m.connection >= 0 && session ? std::vector{session} : std::vector<const Expr*>{});
  call.throws = raisesErrors(m) && m.role != Role::Rollback && m.role != Role::RollbackTo && m.role != Role::Disconnect;
  const auto* written = dyn_cast<CallExpr>(&c);
  const bool elsewhere = m.binds == Binds::Chain || m.binds == Binds::Later;  // the answer comes from another call
  if (m.scope == "QSqlQuery" && object) {
    if (!call.texts.empty()) {
      queryUse(*object, call);
      if (const std::string query = path(object); !query.empty()) runs_[query].push_back(static_cast<std::int32_t>(code_.calls.size()));
    }
  } else if (written && !elsewhere && (m.role == Role::Execute || m.role == Role::ExecutePrepared)) {
    resultUse(*written, call);
  }
  add(std::move(call), c);
}

// for (const char* s : kStatements) run(s): one statement after the other, where locks are among them. Empty: no such text.
std::vector<Texts> FunctionReader::statementList(const Expr& sql) {
  const Expr* e = stripped(&sql);
  if (const auto* method = dyn_cast<CXXMemberCallExpr>(e); method && method->getNumArgs() == 0) e = stripped(method->getImplicitObjectArgument());
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e); construct && construct->getNumArgs() >= 1) e = stripped(construct->getArg(0));
  const auto* ref = dyn_cast<DeclRefExpr>(e);
  const auto* v = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  const auto range = v ? ranges_.find(v) : ranges_.end();
  const auto* subscript = dyn_cast<ArraySubscriptExpr>(e);
  const bool any = subscript && !subscript->getIdx()->isValueDependent() && !integerConstant(subscript->getIdx(), context_);
  const Expr* array = range != ranges_.end() ? range->second : any ? subscript->getBase() : nullptr;
  if (!array || !isTextType(e->getType())) return {};
  std::vector<Texts> list;
  for (const Expr* element : values_.elements(array)) list.push_back(values_.texts(element));
  const bool locks = llvm::any_of(list, [](const Texts& t) { return isLockSql(t); });
  return locks && list.size() > 1 && list.size() <= kMostListed ? list : std::vector<Texts>{};
}

void FunctionReader::listed(const std::vector<Texts>& list, HostCall first, const CallModel& m, const Expr& c,
                            const std::vector<const Expr*>& arguments, const Expr* object) {
  const Expr* session = m.connection >= 0 && static_cast<std::size_t>(m.connection) < arguments.size() ? arguments[static_cast<std::size_t>(m.connection)] : object;
  if (session) first.connection = path(session);
  first.throws = raisesErrors(m);
  for (const Texts& texts : list) {
    HostCall call = first;
    setTexts(call, texts);
    add(std::move(call), c);
  }
}

// A transaction in a field ("this.tx_") that lasts as long as the object: nobody else can reach it, and no method of the class, all of
// them seen, does more with it than run statements and make it.
bool FunctionReader::isLasting(const std::string& place) const {
  const auto* method = dyn_cast<CXXMethodDecl>(&declaration_);
  if (!method || !place.starts_with("this.")) return false;
  const CXXRecordDecl* record = method->getParent();
  const auto field = llvm::find_if(record->fields(), [&](const FieldDecl* f) { return "this." + f->getNameAsString() == place; });
  if (field == record->field_end() || field->getAccess() == AS_public || !record->friends().empty()) return false;
  return llvm::all_of(record->methods(), [&](const CXXMethodDecl* m) {
    const FunctionDecl* definition = nullptr;
    if (m->isImplicit() || m->isDeleted() || m->isDefaulted()) return true;
    return m->hasBody(definition) && definition->getBody() && onlyRuns(**field, definition->getBody());
  });
}

// Whether all that a statement does with a field that holds a transaction is to run statements on it, to make it, or to ask whether it is there.
bool FunctionReader::onlyRuns(const FieldDecl& field, const Stmt* body) {
  const ParentMap parents(const_cast<Stmt*>(body));
  std::vector<const Stmt*> work{body};
  while (!work.empty()) {
    const Stmt* s = work.back();
    work.pop_back();
    if (!s) continue;
    work.insert(work.end(), s->child_begin(), s->child_end());
    const auto* member = dyn_cast<MemberExpr>(s);
    if (!member || member->getMemberDecl() != &field) continue;
    const Stmt* up = parents.getParent(member);
    while (const auto* e = dyn_cast_or_null<Expr>(up)) {  // tx_->, *tx_
      const auto* op = dyn_cast<CXXOperatorCallExpr>(e);
      const auto* deref = dyn_cast<clang::UnaryOperator>(e);
      const bool through = isa<ParenExpr>(e) || isa<ImplicitCastExpr>(e) || (op && (op->getOperator() == OO_Arrow || op->getOperator() == OO_Star)) ||
                           (deref && (deref->getOpcode() == UO_Deref || deref->getOpcode() == UO_LNot));
      if (!through) break;
      up = parents.getParent(up);
    }
    if (isa_and_nonnull<IfStmt>(up) || isa_and_nonnull<WhileStmt>(up)) continue;
    const auto* used = dyn_cast_or_null<MemberExpr>(up);
    const auto* f = used ? dyn_cast<CXXMethodDecl>(used->getMemberDecl()) : nullptr;
    if (!f) return false;
    if (isa<CXXConversionDecl>(f)) continue;
    if (!f->getIdentifier()) return false;
    if (isPointerLikeType(used->getBase()->getType()) && f->getName() == "emplace") continue;
    const CallModel* model = findCallModel(classOf(*f), f->getName());
    if (!model || (model->role != Role::Execute && model->role != Role::ExecutePrepared)) return false;
  }
  return true;
}

// "host=db port=5432", of two arrays or of many arguments.
Texts FunctionReader::connectionText(const CallModel& m, const std::vector<const Expr*>& arguments) {
  std::vector<std::pair<std::string, const Expr*>> parts;
  if (m.binds == Binds::PqLogin) {
    constexpr const char* kNames[] = {"host", "port", "options", "", "dbname", "user", "password"};
    for (std::size_t i = 0; i < arguments.size() && i < std::size(kNames); ++i)
      if (*kNames[i]) parts.emplace_back(kNames[i], arguments[i]);
  } else if (arguments.size() >= 2) {
    const std::vector<const Expr*> words = values_.elements(arguments[0]), values = values_.elements(arguments[1]);
    for (std::size_t i = 0; i < words.size() && i < values.size(); ++i)
      if (const auto* word = dyn_cast_or_null<clang::StringLiteral>(stripped(words[i])); word && values[i] && word->getCharByteWidth() == 1)
        parts.emplace_back(word->getString().str(), values[i]);
  }
  Texts result{Text{}};
  for (const auto& [word, value] : parts) {
    if (value->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNull) != Expr::NPCK_NotNull) continue;
    TextPiece name;
    name.text = (result[0].empty() ? "" : " ") + word + "=", name.range = places_.range(value->getSourceRange());
    const Texts values = values_.texts(value);
    Texts longer;
    for (const Text& before : result)
      for (const Text& v : values) {
        if (longer.size() == 16) break;
        Text t = before;
        t.push_back(name);
        t.insert(t.end(), v.begin(), v.end());
        longer.push_back(std::move(t));
      }
    result = std::move(longer);
  }
  return result;
}

// tx.exec(pqxx::prepped{"name"}, …)
bool FunctionReader::isPreparedName(const Expr& e) {
  const auto* record = e.getType().getNonReferenceType()->getAsCXXRecordDecl();
  return record && qualifiedName(*record) == "pqxx::prepped";
}

// A call of the server's own code, as the SQL that would do the same.
void FunctionReader::insideServer(const CallModel& m, const Expr& c, HostCall call, const std::vector<const Expr*>& arguments) {
  if (m.role == Role::LockTag) {
    std::optional<LockTagCall> inside = lockTagCall(values_, declaration_, c, call.api, arguments);
    if (!inside) return;
    if (!inside->lost.empty()) lost_.push_back({call.range, "C++: " + inside->lost, !inside->may_be_other});
    if (inside->texts.empty()) return;
    call.texts = std::move(inside->texts), call.binds = std::move(inside->binds), call.lock_tag = true;
    for (HostText& t : call.texts)
      for (HostPiece& p : t.pieces) p.range = call.range;
  } else {
    const std::optional<ServerCall> inside = serverFunctionCall(values_, arguments, m.first_bind);
    if (!inside) return;
    TextPiece piece;
    piece.text = inside->sql, piece.range = call.range;
    setTexts(call, {Text{piece}});
    call.binds = inside->binds;
  }
  call.throws = true;
  if (const auto* written = dyn_cast<CallExpr>(&c)) {
    if (!call.lock_tag)
      resultUse(*written, call);
    else if (isDiscarded(*written))  // the result is the answer
      call.result = ResultUse::Ignored, call.result_range = call.range;
  }
  add(std::move(call), c);
}

// session << "SELECT …" << x, use(y)
void FunctionReader::streamed(const CallModel& m, const CallExpr& c, const std::string& name, std::int32_t loop, std::uint32_t depth) {
  const auto* outer = dyn_cast_or_null<CXXOperatorCallExpr>(outwards(c));
  if (outer && outer->getOperator() == OO_LessLess && outer->getNumArgs() == 2 && stripped(outer->getArg(1)) != stripped(&c)) return;
  std::vector<const Expr*> parts;
  const Expr* root = &c;
  while (const auto* op = dyn_cast<CXXOperatorCallExpr>(root)) {
    if (op->getOperator() != OO_LessLess || op->getNumArgs() != 2) break;
    parts.insert(parts.begin(), op->getArg(1));
    root = stripped(op->getArg(0));
  }
  if (parts.empty()) return;
  HostCall call = begin(HostCallKind::Execute, c, name, loop, depth);
  if (m.role == Role::Stream) {
    setTexts(call, values_.joined(parts));
  } else {
    setTexts(call, values_.texts(parts[0]));
    for (std::size_t i = 1; i < parts.size() && call.binds.size() < kMostBinds; ++i) call.binds.push_back(values_.value(parts[i]));
  }
  addBinds(m, parts, c, root, call);
  if (m.connection != kNoConnection && isConnection(root->getType())) call.connection = path(root);
  call.session_in_loop = madeInLoop(root, {});
  call.throws = true;
  add(std::move(call), c);
}

// The expression or statement that has this one as an operand, past everything that only passes it on.
const Stmt* FunctionReader::outwards(const Expr& e) const {
  const Stmt* p = parentOf(&e);
  while (const auto* wrapper = dyn_cast_or_null<Expr>(p)) {
    const auto* construct = dyn_cast<CXXConstructExpr>(wrapper);
    const bool copy = construct && construct->getNumArgs() == 1 && construct->getConstructor()->isCopyOrMoveConstructor();
    if (!isa<ImplicitCastExpr>(wrapper) && !copy) break;
    p = parentOf(wrapper);
  }
  return p;
}

// Values that stand behind a call: (a)(b), or , use(a), use(b).
void FunctionReader::bindsBehind(OverloadedOperatorKind kind, const Expr& c, HostCall& call) {
  const Expr* inner = &c;
  while (const auto* op = dyn_cast_or_null<CXXOperatorCallExpr>(outwards(*inner))) {
    if (op->getOperator() != kind || op->getNumArgs() < 2 || stripped(op->getArg(1)) == stripped(inner)) return;
    const auto* wrapper = dyn_cast<CallExpr>(stripped(op->getArg(1)));
    const bool wrapped = wrapper && wrapper->getDirectCallee() && wrapsValue(qualifiedName(*wrapper->getDirectCallee()));
    if ((kind == OO_Call || wrapped) && call.binds.size() < kMostBinds) call.binds.push_back(values_.value(op->getArg(1)));
    inner = op;
  }
}

void FunctionReader::addBinds(const CallModel& m, const std::vector<const Expr*>& arguments, const Expr& c, const Expr* object, HostCall& call) {
  const auto first = static_cast<std::size_t>(std::max(m.first_bind, 0));
  const auto add = [&](const Expr* e) {
    if (call.binds.size() < kMostBinds) call.binds.push_back(values_.value(e));
  };
  switch (m.binds) {
    case Binds::None:
    case Binds::PqKeywords:
    case Binds::PqLogin:
      break;
    case Binds::Pack:
      for (std::size_t i = first; i < arguments.size(); ++i) add(arguments[i]);
      break;
    case Binds::Datums:
      if (first < arguments.size())
        for (const Expr* e : values_.elements(arguments[first])) add(e);
      break;
    case Binds::Comma:
      return bindsBehind(OO_Comma, c, call);
    case Binds::Chain:
      return bindsBehind(OO_Call, c, call);
    case Binds::Later:
      call.binds = laterBinds(values_, context_, declaration_, c, m.first_bind >= 0 && first < arguments.size() ? arguments[first] : object, call.texts);
      return;
    case Binds::PqArrays:
    case Binds::PqArraysUntyped: {
      const std::size_t at = first + (m.binds == Binds::PqArrays ? 2 : 1);
      if (at >= arguments.size()) return;
      for (const Expr* e : values_.elements(arguments[at])) add(e);
      if (m.binds == Binds::PqArrays) call.bind_types = numbersIn(arguments[at - 1]);
      const Expr* formats = at + 2 < arguments.size() ? stripped(arguments[at + 2]) : nullptr;
      call.binary = formats && !formats->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNull) && !allZero(formats);
      return;
    }
  }
  // exec(text, pqxx::params{a, b})
  if (!m.scope.starts_with("pqxx::") || m.sql < 0 || arguments.size() != static_cast<std::size_t>(m.sql) + 2) return;
  if (const auto* construct = dyn_cast<CXXConstructExpr>(stripped(arguments.back()));
      construct && classOf(*construct->getConstructor()) == "pqxx::params") {
    call.binds.clear();
    for (const Expr* a : construct->arguments()) add(a);
  }
}

// A list of constants; nothing if one is none.
std::vector<std::int32_t> FunctionReader::numbersIn(const Expr* array) {
  std::vector<std::int32_t> numbers;
  for (const Expr* e : values_.elements(array)) {
    const auto number = integerConstant(e, context_);
    if (!number) return {};
    numbers.push_back(static_cast<std::int32_t>(*number));
  }
  return numbers;
}

// A list of formats that says text for every value.
bool FunctionReader::allZero(const Expr* formats) {
  const std::vector<std::int32_t> all = numbersIn(formats);
  return !all.empty() && llvm::all_of(all, [](std::int32_t n) { return n == 0; });
}

// --- sessions from elsewhere

// A function that hands out a session, and of which we do not see that it makes one or keeps one: each call may give another.
bool FunctionReader::obtains(const FunctionDecl& callee, QualType result) {
  if (isStandard(callee) || callee.isOverloadedOperator() || isa<CXXConversionDecl>(callee) || !isConnection(result)) return false;
  if (qualifiedName(callee).starts_with("pqxx::") || callee.isExternC()) return false;
  const FunctionDecl* definition = nullptr;
  if (!callee.hasBody(definition) || !definition->getBody()) {
    const auto* method = dyn_cast<CXXMethodDecl>(&callee);
    return !(method && method->isConst() && callee.getNumParams() == 0 && result->isReferenceType());
  }
  return unit_.handsOut(*definition);
}

// pool.give(c): the handle of a session goes back to an object of the class that gave it.
bool FunctionReader::handsBack(const FunctionDecl& callee, const Expr* object, const std::vector<const Expr*>& arguments,
                               std::string& handle) {
  const auto* method = dyn_cast<CXXMethodDecl>(&callee);
  if (!callee.getIdentifier() || !givesBack(callee.getName()) || arguments.empty() || isStandard(callee)) return false;
  const Expr* given = nullptr;
  for (const Expr* a : arguments)
    if (isConnection(a->getType())) given = given ? nullptr : a;
  if (!given || (object && isConnection(object->getType()))) return false;
  if (method && !llvm::any_of(method->getParent()->methods(), [&](const CXXMethodDecl* other) {
        return other != method && obtains(*other, other->getReturnType());
      }))
    return false;
  handle = path(given);
  return !handle.empty();
}

// --- the answer

const Stmt* FunctionReader::parentOf(const Stmt* s) const {
  const Stmt* p = parents_.getParent(s);
  while (p && (isa<ParenExpr>(p) || isa<FullExpr>(p) || isa<MaterializeTemporaryExpr>(p) || isa<CXXBindTemporaryExpr>(p)))
    p = parents_.getParent(p);
  return p;
}

// What one use of the answer looks at. False: it gets out of sight.
bool FunctionReader::lookedAt(const Expr* e, HostCall& call) {
  const Stmt* parent = parentOf(e);
  while (const auto* cast = dyn_cast_or_null<ImplicitCastExpr>(parent)) {
    if (cast->getCastKind() == CK_PointerToBoolean) return true;  // if (result): whether there is an answer
    e = cast, parent = parentOf(e);
  }
  const auto* looking = dyn_cast_or_null<CallExpr>(parent);
  if (const auto* member = dyn_cast_or_null<MemberExpr>(parent)) looking = dyn_cast_or_null<CallExpr>(parentOf(member));
  const FunctionDecl* f = looking ? looking->getDirectCallee() : nullptr;
  if (!f) {
    if (const auto* comparison = dyn_cast_or_null<clang::BinaryOperator>(parent))
      return comparison->isComparisonOp();  // r == nullptr
    if (const auto* unary = dyn_cast_or_null<clang::UnaryOperator>(parent)) return unary->getOpcode() == UO_LNot;
    return false;
  }
  const auto* id = f->getIdentifier();
  const ResultModel* model = id ? findResultModel(classOf(*f), id->getName()) : nullptr;
  if (!model) return false;
  switch (model->look) {
    case Look::Frees:
      return true;
    case Look::Status:
      note(call, ResultUse::StatusOnly, places_.range(looking->getSourceRange()));
      return true;
    case Look::RowCount:
      note(call, ResultUse::RowCountOnly, places_.range(looking->getSourceRange()));
      return true;
    case Look::Value:
      break;
  }
  const Stmt* user = parentOf(looking);
  const auto* cast = dyn_cast_or_null<ImplicitCastExpr>(user);
  while (cast && cast->getCastKind() != CK_PointerToBoolean)
    user = parentOf(user), cast = dyn_cast_or_null<ImplicitCastExpr>(user);
  if (cast) {
    note(call, ResultUse::PointerTested, places_.range(looking->getSourceRange()));
    return true;
  }
  const auto* comparison = dyn_cast_or_null<clang::BinaryOperator>(user);
  if (comparison && comparison->isEqualityOp()) {
    const Expr* other = stripped(comparison->getLHS()) == stripped(looking) ? comparison->getRHS() : comparison->getLHS();
    if (other->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNull) || isa<clang::StringLiteral>(stripped(other))) {
      note(call, ResultUse::PointerTested, places_.range(comparison->getSourceRange()));
      return true;
    }
  }
  note(call, ResultUse::Read, places_.range(looking->getSourceRange()));
  return true;
}

// The expression that takes the value of a call, past what only passes it on, and its parent.
std::pair<const Expr*, const Stmt*> FunctionReader::takerOf(const CallExpr& c) const {
  const Stmt* parent = parentOf(&c);
  const Expr* at = &c;
  while (const auto* e = dyn_cast_or_null<Expr>(parent)) {
    if (isa<ImplicitCastExpr>(e) || (isa<CXXConstructExpr>(e) && cast<CXXConstructExpr>(e)->getNumArgs() == 1))
      at = e, parent = parentOf(e);
    else
      break;
  }
  return {at, parent};
}

bool FunctionReader::isDiscarded(const CallExpr& c) const {
  const auto [at, parent] = takerOf(c);
  if (!parent) return false;
  const bool discarded = isa<CompoundStmt>(parent) || isa<CXXForRangeStmt>(parent) ||
                         (isa<ForStmt>(parent) && cast<ForStmt>(parent)->getCond() != at) ||
                         (isa<WhileStmt>(parent) && cast<WhileStmt>(parent)->getCond() != at) ||
                         (isa<DoStmt>(parent) && cast<DoStmt>(parent)->getCond() != at) ||
                         (isa<IfStmt>(parent) && cast<IfStmt>(parent)->getCond() != at) || isa<SwitchCase>(parent) ||
                         isa<LabelStmt>(parent);
  return discarded || (isa<CStyleCastExpr>(parent) && cast<CStyleCastExpr>(parent)->getType()->isVoidType());
}

void FunctionReader::resultUse(const CallExpr& c, HostCall& call) {
  const auto [at, parent] = takerOf(c);
  if (!parent) return;
  if (isDiscarded(c)) {
    // A function that gives nothing back says nothing about what becomes of the answer.
    if (!c.getType()->isVoidType() && !c.getType()->isIntegerType())
      call.result = ResultUse::Ignored, call.result_range = call.range;
    return;
  }
  if (const auto* decl = dyn_cast<DeclStmt>(parent); decl && decl->isSingleDecl()) {
    if (const auto* v = dyn_cast<VarDecl>(decl->getSingleDecl())) return variableUse(*v, call);
    return;
  }
  HostCall probe = call;
  if (lookedAt(at, probe)) {
    call.result = probe.result, call.result_range = probe.result_range;
    if (call.result == ResultUse::Unknown) call.result = ResultUse::Ignored, call.result_range = call.range;
  }
}

std::vector<const DeclRefExpr*> FunctionReader::usesOf(const VarDecl& v) const {
  struct Uses : RecursiveASTVisitor<Uses> {
    const VarDecl& v;
    std::vector<const DeclRefExpr*> found;
    explicit Uses(const VarDecl& variable) : v(variable) {}
    bool VisitDeclRefExpr(DeclRefExpr* e) {
      if (e->getDecl() == &v) found.push_back(e);
      return true;
    }
  } uses(v);
  uses.TraverseStmt(const_cast<Stmt*>(declaration_.getBody()));
  return std::move(uses.found);
}

// What becomes of the answer that a query object has, up to the next statement that it runs, as written. In loops nothing is known.
void FunctionReader::queryUse(const Expr& object, HostCall& call) {
  const auto* ref = dyn_cast<DeclRefExpr>(stripped(&object));
  const auto* v = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  if (!v || !v->hasLocalStorage() || isa<ParmVarDecl>(v) || call.loop >= 0 || call.loop_depth > 0) return;
  ResultUse use = ResultUse::Ignored;
  for (const DeclRefExpr* e : usesOf(*v)) {
    const auto* member = dyn_cast_or_null<MemberExpr>(parentOf(e));
    const auto* method = member ? dyn_cast<CXXMethodDecl>(member->getMemberDecl()) : nullptr;
    if (!method || !method->getIdentifier()) return;
    if (places_.range(e->getSourceRange()).begin <= call.range.begin) continue;
    const auto* run = dyn_cast_or_null<CallExpr>(parentOf(member));
    const llvm::StringRef name = method->getName();
    if ((name == "exec" || name == "prepare") && run && run->getNumArgs() > 0 && !isa<CXXDefaultArgExpr>(run->getArg(0))) break;
    if (name == "next" || name == "first" || name == "last" || name == "size") use = ResultUse::RowCountOnly;
    else if (name != "exec" && name != "bindValue" && name != "addBindValue" && name != "finish" && name != "lastError") return;
  }
  call.result = use, call.result_range = call.range;
}

// All uses of the variable that holds the answer.
void FunctionReader::variableUse(const VarDecl& v, HostCall& call) {
  HostCall probe = call;
  bool assigned = false;
  for (const DeclRefExpr* e : usesOf(v)) {
    const auto* assignment = dyn_cast_or_null<clang::BinaryOperator>(parentOf(e));
    if (assignment && assignment->isAssignmentOp() && stripped(assignment->getLHS()) == e) {
      assigned = true;  // it holds several answers
      continue;
    }
    if (!lookedAt(e, probe)) return;
  }
  if (assigned) return;
  call.result = probe.result == ResultUse::Unknown ? ResultUse::Ignored : probe.result;
  call.result_range = probe.result_range.known() ? probe.result_range : call.range;
}

}  // namespace pglocklint::extract

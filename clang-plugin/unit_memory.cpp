#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>

#include "reader.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr int kMostAsked = 4000;  // statements looked at to know whether a function may throw

bool declares(ASTContext& context, llvm::StringRef name) {
  return !context.getTranslationUnitDecl()->lookup(&context.Idents.get(name)).empty();
}

// An element of a container: idle_.back(), slots[i].
bool isElement(const Expr* e, int depth = 0) {
  if (!e || depth > 8) return false;
  e = stripped(e);
  if (isa<ArraySubscriptExpr>(e)) return true;
  if (const auto* ref = dyn_cast<DeclRefExpr>(e)) {
    const auto* v = dyn_cast<VarDecl>(ref->getDecl());
    return v && v->hasLocalStorage() && !isa<ParmVarDecl>(v) && isElement(v->getInit(), depth + 1);
  }
  if (const auto* u = dyn_cast<clang::UnaryOperator>(e)) return isElement(u->getSubExpr(), depth + 1);
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e))
    return construct->getNumArgs() >= 1 && isElement(construct->getArg(0), depth + 1);
  if (const auto* list = dyn_cast<InitListExpr>(e)) return list->getNumInits() >= 1 && isElement(list->getInit(0), depth + 1);
  const auto* call = dyn_cast<CallExpr>(e);
  const FunctionDecl* callee = call ? call->getDirectCallee() : nullptr;
  if (!callee || !qualifiedName(*callee).starts_with("std::")) return false;
  const auto* method = dyn_cast<CXXMemberCallExpr>(call);
  const Expr* object = method                             ? method->getImplicitObjectArgument()
                       : isa<CXXOperatorCallExpr>(call) ? call->getArg(0)
                                                          : nullptr;
  if (object && !isPointerLikeType(object->getType())) return true;  // of a container, or its iterator
  const Expr* inner = object ? object : call->getNumArgs() == 1 ? call->getArg(0) : nullptr;
  return inner && isElement(inner, depth + 1);
}

}  // namespace

UnitMemory::UnitMemory(ASTContext& c, Places& p, const ProjectModels& m)
    : context(c),
      places(p),
      models(m),
      exceptions_(c.getLangOpts().CPlusPlus && c.getLangOpts().CXXExceptions),
      raises_(declares(c, "pg_re_throw") || declares(c, "PG_exception_stack")) {}

bool UnitMemory::endMatters(QualType type) {
  type = context.getBaseElementType(type);
  const auto* record = type->getAsCXXRecordDecl();
  record = record ? record->getDefinition() : nullptr;
  if (!record || type->isReferenceType() || record->isDependentContext()) return false;
  const auto [at, fresh] = ends_.try_emplace(record, false);
  if (fresh) {
    const bool matters = recordEndMatters(*record);
    ends_[record] = matters;
    return matters;
  }
  return at->second;
}

bool UnitMemory::mayBeDerived(QualType type) {
  const auto* record = type->getAsCXXRecordDecl();
  record = record ? record->getDefinition() : nullptr;
  const CXXDestructorDecl* destructor = record && !record->isDependentContext() ? record->getDestructor() : nullptr;
  return destructor && destructor->isVirtual() && !record->isEffectivelyFinal() && places.inProject(record->getLocation());
}

bool UnitMemory::recordEndMatters(const CXXRecordDecl& record) {
  const std::string name = qualifiedName(record);
  if (const CallModel* model = findCallModel(name, "destructor")) return model->role != Role::Nothing;
  if (isPointerLike(name)) {
    const auto* instance = dyn_cast<ClassTemplateSpecializationDecl>(&record);
    if (!instance || instance->getTemplateArgs().size() == 0) return false;
    const TemplateArgument& held = instance->getTemplateArgs()[0];
    if (held.getKind() != TemplateArgument::Type) return false;
    if (name == "std::reference_wrapper" || name == "std::weak_ptr") return false;
    if (isConnection(held.getAsType()) || endMatters(held.getAsType()) || mayBeDerived(held.getAsType())) return true;
    if (name != "std::unique_ptr" || instance->getTemplateArgs().size() < 2) return false;
    const QualType deleter = instance->getTemplateArgs()[1].getAsType();
    const auto* functor = deleter->getAsCXXRecordDecl();
    return functor ? places.inProject(functor->getLocation()) : deleter->isPointerType() || deleter->isReferenceType();
  }
  if (record.isLambda() || !places.inProject(record.getLocation())) return false;
  const CXXDestructorDecl* destructor = record.getDestructor();
  if (destructor && destructor->isUserProvided()) {
    const FunctionDecl* definition = nullptr;
    if (!destructor->hasBody(definition) || !definition->getBody()) return true;
    const auto* body = dyn_cast<CompoundStmt>(definition->getBody());
    if (!body || !body->body_empty()) return true;
  }
  for (const CXXBaseSpecifier& b : record.bases())
    if (endMatters(b.getType())) return true;
  for (const FieldDecl* f : record.fields())
    if (!record.isUnion() && endMatters(f->getType())) return true;
  return false;
}

bool UnitMemory::mayThrow(const FunctionDecl& function) {
  if (!exceptions_) return raises_ && places.inProject(function.getLocation());
  const auto* type = function.getType()->getAs<FunctionProtoType>();
  if (type && !isUnresolvedExceptionSpec(type->getExceptionSpecType()) && type->canThrow() == CT_Cannot) return false;
  if (function.isExternC() && !raises_) return false;
  if (!places.inProject(function.getLocation())) return false;
  const FunctionDecl* definition = nullptr;
  const auto* method = dyn_cast<CXXMethodDecl>(&function);
  if (method && method->isVirtual()) return true;
  if (!function.hasBody(definition) || !definition->getBody() || definition->isDependentContext()) return true;
  const auto known = throws_.find(definition);
  if (known != throws_.end()) return known->second;
  if (!asking_.insert(definition).second) return true;
  int budget = kMostAsked;
  bool result = bodyMayThrow(definition->getBody(), budget);
  if (const auto* constructor = dyn_cast<CXXConstructorDecl>(definition))
    for (const CXXCtorInitializer* i : constructor->inits()) result = result || bodyMayThrow(i->getInit(), budget);
  asking_.erase(definition);
  if (!result || asking_.empty()) throws_[definition] = result;
  return result;
}

bool UnitMemory::bodyMayThrow(const Stmt* s, int& budget) {
  if (!s || isa<LambdaExpr>(s)) return false;
  if (--budget < 0 || isa<CXXThrowExpr>(s)) return true;
  if (const auto* standard = dyn_cast<CXXDefaultInitExpr>(s)) return bodyMayThrow(standard->getExpr(), budget);
  const FunctionDecl* callee = nullptr;
  if (const auto* call = dyn_cast<CallExpr>(s)) {
    callee = call->getDirectCallee();
    if (!callee && !call->isTypeDependent()) return true;
  } else if (const auto* construct = dyn_cast<CXXConstructExpr>(s)) {
    callee = construct->getConstructor();
  }
  if (callee) {
    const std::string of_class = classOf(*callee);
    if (of_class.starts_with("pqxx::")) {
      const auto* id = callee->getIdentifier();
      const CallModel* model = findCallModel(of_class, id ? id->getName() : "constructor");
      if (model && model->role != Role::Nothing) return true;
    }
    if (qualifiedName(*callee) == "std::function::operator()" || mayThrow(*callee)) return true;
  }
  return llvm::any_of(s->children(), [&](const Stmt* child) { return bodyMayThrow(child, budget); });
}

bool UnitMemory::handsOut(const FunctionDecl& definition) {
  if (definition.isDependentContext()) return false;
  std::vector<const Stmt*> work{definition.getBody()};
  for (int steps = 0; !work.empty() && steps < 2000; ++steps) {
    const Stmt* s = work.back();
    work.pop_back();
    if (!s || isa<LambdaExpr>(s)) continue;
    if (const auto* result = dyn_cast<ReturnStmt>(s); result && isElement(result->getRetValue())) return true;
    work.insert(work.end(), s->child_begin(), s->child_end());
  }
  return false;
}

}  // namespace pglocklint::extract

// Which object or handle an expression is: see the head of model/host.h.
#include <clang/Basic/SourceManager.h>

#include <algorithm>

#include "reader.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr int kMaxPathDepth = 24;
constexpr std::size_t kMostAccessors = 4;  // looked into, one inside of the other

// The type that a pointer-like class points to or holds: its first template argument.
QualType heldBy(const CXXRecordDecl& record) {
  const auto* instance = dyn_cast<ClassTemplateSpecializationDecl>(&record);
  if (!instance || instance->getTemplateArgs().size() == 0) return {};
  const TemplateArgument& first = instance->getTemplateArgs()[0];
  return first.getKind() == TemplateArgument::Type ? first.getAsType() : QualType();
}

bool named(const FunctionDecl& f, llvm::ArrayRef<llvm::StringRef> names) {
  const IdentifierInfo* id = f.getIdentifier();
  return id && llvm::is_contained(names, id->getName());
}

}  // namespace

std::string className(const RecordDecl* record) { return record ? qualifiedName(*record) : ""; }

bool isPointerLikeType(QualType t) {
  if (t.isNull()) return false;
  const auto* record = t.getNonReferenceType()->getAsCXXRecordDecl();
  return record && isPointerLike(qualifiedName(*record));
}

QualType pointedTo(QualType t) {
  if (t.isNull()) return {};
  t = t.getNonReferenceType();
  if (t->isPointerType()) return t->getPointeeType();
  const auto* record = t->getAsCXXRecordDecl();
  return record && isPointerLike(qualifiedName(*record)) ? heldBy(*record) : QualType();
}

const RecordDecl* handledRecord(QualType t) {
  for (int i = 0; !t.isNull() && i < 4; ++i) {
    t = t.getNonReferenceType();
    if (const QualType inner = pointedTo(t); !inner.isNull()) {
      t = inner;
      continue;
    }
    const auto* type = t->getAs<RecordType>();
    return type ? type->getDecl() : nullptr;
  }
  return nullptr;
}

const CXXRecordDecl* handledClass(QualType t) { return dyn_cast_or_null<CXXRecordDecl>(handledRecord(t)); }

namespace {

bool isOrDerives(const RecordDecl* record, bool (*test)(std::string_view), int depth = 0) {
  if (!record) return false;
  if (test(qualifiedName(*record))) return true;
  const auto* cxx = dyn_cast<CXXRecordDecl>(record);
  cxx = cxx ? cxx->getDefinition() : nullptr;
  return cxx && depth < 8 && llvm::any_of(cxx->bases(), [&](const CXXBaseSpecifier& b) {
           return isOrDerives(b.getType()->getAsCXXRecordDecl(), test, depth + 1);
         });
}

// A class through which a session is reached as through a pointer: operator->, operator*, a conversion or get() give one.
bool wrapsConnection(const RecordDecl* record) {
  const auto* cxx = dyn_cast_or_null<CXXRecordDecl>(record);
  cxx = cxx ? cxx->getDefinition() : nullptr;
  return cxx && llvm::any_of(cxx->methods(), [&](const CXXMethodDecl* m) {
           const bool reaches = m->getOverloadedOperator() == OO_Arrow || m->getOverloadedOperator() == OO_Star ||
                                isa<CXXConversionDecl>(m) || named(*m, {"get"});
           return reaches && m->getNumParams() == 0 && isOrDerives(handledRecord(m->getReturnType()), isConnectionClass);
         });
}

}  // namespace

bool isConnection(QualType t) {
  const RecordDecl* record = handledRecord(t);
  return isOrDerives(record, isConnectionClass) || (record && !isTransactionClass(className(record)) && wrapsConnection(record));
}

bool isTransaction(QualType t) { return isOrDerives(handledRecord(t), isTransactionClass); }

bool isObject(QualType t) {
  if (t.isNull()) return false;
  t = t.getNonReferenceType();
  return t->isRecordType() && !isTextType(t);
}

bool isHandle(QualType t) {
  if (t.isNull() || isTextType(t)) return false;
  const QualType inner = pointedTo(t);
  return isObject(t) || (!inner.isNull() && (inner->isRecordType() || isPointerLikeType(inner)));
}

bool mayBeHandle(QualType t) { return isHandle(t) || (!t.isNull() && t.getNonReferenceType()->isVoidPointerType()); }

bool isLambdaBody(const FunctionDecl& f) {
  const auto* method = dyn_cast<CXXMethodDecl>(&f);
  return method && method->getParent()->isLambda();
}

// A variable of the function around a lambda: in the lambda's body it is a field of the closure.
bool FunctionReader::isCaptured(const VarDecl& v) const {
  return frames_.empty() && isLambdaBody(declaration_) && v.hasLocalStorage() && isEnclosing(v.getDeclContext());
}

bool FunctionReader::isEnclosing(const DeclContext* context) const {
  for (const DeclContext* c = declaration_.getParent(); c; c = c->getParent())
    if (c == context) return true;
  return false;
}

std::string FunctionReader::localName(const VarDecl& v) const {
  const pglocklint::SourceRange at = places_.range(v.getLocation(), v.getLocation());
  return "local " + v.getNameAsString() + " " + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string FunctionReader::globalName(const VarDecl& v) const {
  const auto* function = dyn_cast<FunctionDecl>(v.getDeclContext());
  return "global " + (function ? qualifiedName(*function) + "::" + v.getNameAsString() : qualifiedName(v));
}

const Expr* FunctionReader::onlySource(const VarDecl& v) const {
  const auto at = sources_.find(&v);
  if (at == sources_.end() || at->second.other || at->second.values.size() != 1 || isa<ParmVarDecl>(v)) return nullptr;
  return at->second.values[0];
}

std::string FunctionReader::heldName(std::string path) {
  if (path.find('.') != std::string::npos) path += '?';
  return path;
}

const Expr* FunctionReader::sessionArgument(llvm::ArrayRef<const Expr*> arguments) const {
  for (const Expr* a : arguments)
    if (isConnection(a->getType()) || isTransaction(a->getType())) return a;
  return nullptr;
}

std::string FunctionReader::path(const Expr* e) {
  if (!e || path_depth_ >= kMaxPathDepth || steps_left_-- <= 0) return "";
  ++path_depth_;
  std::string result = pathAt(stripped(e));
  --path_depth_;
  return result;
}

std::string FunctionReader::path(const VarDecl& v) {
  if (const auto* parameter = dyn_cast<ParmVarDecl>(&v)) {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame)
      if (frame->function == parameter->getDeclContext()) {
        const unsigned at = parameter->getFunctionScopeIndex();
        return at < frame->arguments.size() ? frame->arguments[at] : "";
      }
    if (isCaptured(v)) return "this." + v.getNameAsString();
    if (parameter->getDeclContext() == &declaration_) return "parameter " + std::to_string(parameter->getFunctionScopeIndex());
    return localName(v);
  }
  if (!v.hasLocalStorage()) return globalName(v);
  if (isCaptured(v)) return "this." + v.getNameAsString();
  if (!frames_.empty() && v.getDeclContext() == frames_.back().function) return "";  // of an accessor: it has more to it
  const QualType type = v.getType();
  const Expr* source = onlySource(v);
  if (source && (type->isReferenceType() || isTransaction(type) || isHandle(type)) && resolving_.insert(&v).second) {
    const bool own = isObject(type) && !isPointerLikeType(type) && !isTransaction(type) && !type->isReferenceType();
    std::string target = own ? "" : path(source);
    resolving_.erase(&v);
    if (!target.empty() && (isTransaction(type) || !target.starts_with("made "))) return target;
  }
  return localName(v);
}

// What a plain accessor gives: the path of its only return, seen from here.
std::string FunctionReader::accessed(const FunctionDecl& callee, const Expr* object, llvm::ArrayRef<const Expr*> arguments) {
  const FunctionDecl* definition = nullptr;
  if (frames_.size() >= kMostAccessors || !callee.hasBody(definition) || definition->isDependentContext() ||
      definition->getBody() == nullptr || definition == &declaration_)
    return "";
  const auto* method = dyn_cast<CXXMethodDecl>(definition);
  if (method && method->isVirtual() && !method->hasAttr<FinalAttr>() && !method->getParent()->hasAttr<FinalAttr>()) return "";
  const auto* body = dyn_cast<CompoundStmt>(definition->getBody());
  if (!body || body->size() == 0 || body->size() > 3) return "";
  const auto* result = dyn_cast<ReturnStmt>(body->body_back());
  if (!result || !result->getRetValue()) return "";
  for (const Stmt* s : body->body()) {  // before it: statics of the function
    if (s == result) break;
    const auto* d = dyn_cast<DeclStmt>(s);
    const auto* v = d && d->isSingleDecl() ? dyn_cast<VarDecl>(d->getSingleDecl()) : nullptr;
    if (!v || !v->isStaticLocal()) return "";
  }
  PathFrame frame{definition, object ? path(object) : "", {}};
  if (object && frame.object.empty()) return "";
  for (const Expr* a : arguments) frame.arguments.push_back(isHandle(a->getType()) ? path(a) : "");
  frames_.push_back(std::move(frame));
  std::string target = path(result->getRetValue());
  frames_.pop_back();
  return target.starts_with("made ") || target.starts_with("local ") || target == "return" ? "" : target;
}

std::string FunctionReader::pathAt(const Expr* e) {
  if (isa<CXXThisExpr>(e)) {
    if (!frames_.empty() && !frames_.back().object.empty()) return frames_.back().object;
    return isLambdaBody(declaration_) ? "this.this" : "this";  // in a lambda: the captured one
  }
  if (isa<LambdaExpr>(e)) return destination(e);
  if (const auto* ref = dyn_cast<DeclRefExpr>(e)) {
    if (const auto* v = dyn_cast<VarDecl>(ref->getDecl())) return path(*v);
    if (const auto* b = dyn_cast<BindingDecl>(ref->getDecl())) {
      if (const VarDecl* holder = b->getHoldingVar()) return localName(*holder);
      return b->getBinding() ? path(b->getBinding()) : "";
    }
    return "";
  }
  if (const auto* member = dyn_cast<MemberExpr>(e)) {
    if (const auto* v = dyn_cast<VarDecl>(member->getMemberDecl())) return path(*v);
    if (!isa<FieldDecl>(member->getMemberDecl())) return "";
    const std::string base = path(member->getBase());
    if (!member->getMemberDecl()->getIdentifier()) return base;  // an anonymous union or struct
    return base.empty() ? "" : base + "." + member->getMemberDecl()->getNameAsString();
  }
  if (const auto* u = dyn_cast<clang::UnaryOperator>(e))
    return u->getOpcode() == UO_Deref || u->getOpcode() == UO_AddrOf ? path(u->getSubExpr()) : "";
  if (const auto* cast = dyn_cast<CastExpr>(e)) return path(cast->getSubExpr());
  if (const auto* two = dyn_cast<clang::BinaryOperator>(e))
    return two->getOpcode() == BO_Assign ? path(two->getLHS()) : two->isCommaOp() ? path(two->getRHS()) : "";
  if (const auto* choice = dyn_cast<AbstractConditionalOperator>(e)) {
    std::string one = path(choice->getTrueExpr());
    return one == path(choice->getFalseExpr()) ? one : "";
  }
  if (const auto* fresh = dyn_cast<CXXNewExpr>(e)) {
    const auto* construct = dyn_cast_or_null<CXXConstructExpr>(fresh->getInitializer());
    if (construct && isTransaction(fresh->getAllocatedType())) return path(construct);
    return destination(e);
  }
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e)) {
    const llvm::SmallVector<const Expr*, 4> arguments(construct->arg_begin(), construct->arg_end());
    const QualType type = construct->getType();
    if (isTransaction(type) && !isPointerLikeType(type)) {
      const Expr* session = sessionArgument(arguments);
      return session ? path(session) : destination(e);
    }
    if (isPointerLikeType(type)) {
      for (const Expr* a : arguments) {
        const auto* record = a->getType()->getAsCXXRecordDecl();
        if (isHandle(a->getType()) && className(record) != "std::in_place_t") return path(a);
      }
      return "";
    }
    const bool closure = construct->getConstructor()->getParent()->isLambda();
    if (construct->getConstructor()->isCopyOrMoveConstructor() && arguments.size() == 1 && (closure || arguments[0]->isPRValue()))
      return path(arguments[0]);
    return destination(e);
  }
  if (const auto* list = dyn_cast<InitListExpr>(e)) {
    if (list->getNumInits() == 1 && !list->getType()->isRecordType()) return path(list->getInit(0));
    return list->getType()->isRecordType() ? destination(e) : "";
  }
  const auto* c = dyn_cast<CallExpr>(e);
  if (!c) return "";
  const FunctionDecl* callee = c->getDirectCallee();
  if (const auto* o = dyn_cast<CXXOperatorCallExpr>(e)) {
    const OverloadedOperatorKind kind = o->getOperator();
    if ((kind == OO_Star || kind == OO_Arrow) && o->getNumArgs() == 1) {
      if (callee && !isPointerLikeType(o->getArg(0)->getType()))
        if (std::string target = accessed(*callee, o->getArg(0), {}); !target.empty()) return target;
      return path(o->getArg(0));
    }
    if (kind == OO_Equal && o->getNumArgs() == 2) return path(o->getArg(0));
    return kind == OO_Call && isHandle(c->getType()) ? destination(e) : "";
  }
  if (!callee) return isHandle(c->getType()) ? destination(e) : "";
  const std::string name = qualifiedName(*callee);
  if (const auto* method = dyn_cast<CXXMemberCallExpr>(e)) {
    const Expr* object = method->getImplicitObjectArgument();
    if (isPointerLikeType(object->getType()) &&
        named(*callee, {"get", "value", "lock", "release", "operator->", "operator*", "data", "ref"}))
      return path(object);
    if (isPointerLikeType(object->getType()) && isa<CXXConversionDecl>(callee)) return path(object);
    if (isTransaction(object->getType()) && named(*callee, {"conn"})) return path(object);
    if (!isHandle(c->getType())) return "";
    const llvm::SmallVector<const Expr*, 4> arguments(c->arg_begin(), c->arg_end());
    if (std::string target = accessed(*callee, object, arguments); !target.empty()) return target;
    if (isa<CXXConversionDecl>(callee)) return path(object);
    return destination(e);
  }
  if (c->getNumArgs() >= 1 && (name == "std::move" || name == "std::forward" || name == "std::ref" || name == "std::cref" ||
                               name == "std::addressof" || name == "std::__addressof" || name == "std::as_const" ||
                               name == "std::get" || name == "std::exchange" || name.ends_with("_pointer_cast")))
    return path(c->getArg(0));
  if ((name == "std::make_unique" || name == "std::make_shared" || name == "std::make_optional") &&
      isTransaction(c->getType())) {
    const Expr* session = sessionArgument(llvm::SmallVector<const Expr*, 4>(c->arg_begin(), c->arg_end()));
    if (session) return path(session);
  }
  if (!isHandle(c->getType())) return "";
  const llvm::SmallVector<const Expr*, 4> arguments(c->arg_begin(), c->arg_end());
  if (std::string target = accessed(*callee, nullptr, arguments); !target.empty()) return target;
  return destination(e);
}

std::string FunctionReader::destination(const Expr* made) {
  const Expr* core = stripped(made);
  const auto unnamed = [&] {
    const pglocklint::SourceRange at = places_.range(core->getExprLoc(), core->getExprLoc());
    return at.known() ? "made " + std::to_string(at.line) + ":" + std::to_string(at.column) : std::string();
  };
  if (!frames_.empty()) return unnamed();
  const Stmt* at = core;
  for (int i = 0; i < 40; ++i) {
    const Stmt* up = parents_.getParent(at);
    if (!up) {  // of a member's initialiser, or the whole body
      for (const CXXCtorInitializer* init : initialisers_)
        if (init->getInit() == at) {
          const FieldDecl* f = init->getAnyMember();
          return f ? "this." + f->getNameAsString() : "this";
        }
      return unnamed();
    }
    if (isa<ReturnStmt>(up)) return "return";
    if (const auto* d = dyn_cast<DeclStmt>(up)) {
      for (const Decl* one : d->decls())
        if (const auto* v = dyn_cast<VarDecl>(one); v && v->getInit() == at)
          return v->hasLocalStorage() ? localName(*v) : globalName(*v);
      return unnamed();
    }
    if (isa<ParenExpr>(up) || isa<FullExpr>(up) || isa<MaterializeTemporaryExpr>(up) || isa<CXXBindTemporaryExpr>(up) ||
        isa<CastExpr>(up) || isa<CXXNewExpr>(up) || isa<CXXDefaultInitExpr>(up)) {
      at = up;
      continue;
    }
    if (const auto* choice = dyn_cast<AbstractConditionalOperator>(up); choice && choice->getCond() != at) {
      at = up;
      continue;
    }
    if (const auto* construct = dyn_cast<CXXConstructExpr>(up)) {
      const bool same = construct->getNumArgs() == 1 && construct->getConstructor()->isCopyOrMoveConstructor();
      if ((same && core->isPRValue()) || (isPointerLikeType(construct->getType()) && construct->getNumArgs() >= 1 &&
                                          construct->getArg(0) == at)) {
        at = up;
        continue;
      }
      return unnamed();
    }
    if (const auto* list = dyn_cast<InitListExpr>(up)) {
      if (list->getNumInits() == 1 && !list->getType()->isRecordType()) {
        at = up;
        continue;
      }
      const auto* record = list->getType()->getAsRecordDecl();
      if (!record || !list->isSemanticForm()) return unnamed();
      const auto* cxx = dyn_cast<CXXRecordDecl>(record);
      unsigned n = cxx ? cxx->getNumBases() : 0;
      const std::string outer = destination(list);
      for (const FieldDecl* f : record->fields()) {
        if (n < list->getNumInits() && list->getInit(n) == at) return outer.empty() ? "" : outer + "." + f->getNameAsString();
        ++n;
      }
      return unnamed();
    }
    if (const auto* two = dyn_cast<clang::BinaryOperator>(up); two && two->getOpcode() == BO_Assign && two->getRHS() == at) {
      std::string left = path(two->getLHS());
      return left.empty() ? unnamed() : left;
    }
    if (const auto* op = dyn_cast<CXXOperatorCallExpr>(up);
        op && op->getOperator() == OO_Equal && op->getNumArgs() == 2 && op->getArg(1) == at &&
        isPointerLikeType(op->getArg(0)->getType())) {
      std::string left = path(op->getArg(0));
      return left.empty() ? unnamed() : left;
    }
    if (const auto* method = dyn_cast<CXXMemberCallExpr>(up);
        method && method->getNumArgs() >= 1 && method->getArg(0) == at && method->getMethodDecl() &&
        isPointerLikeType(method->getImplicitObjectArgument()->getType()) && named(*method->getMethodDecl(), {"reset"})) {
      std::string left = path(method->getImplicitObjectArgument());
      return left.empty() ? unnamed() : left;
    }
    return unnamed();
  }
  return unnamed();
}

void FunctionReader::alias(std::string path, std::string target) {
  if (path.empty() || target.empty() || path == target) return;
  HostAlias a;
  a.path = std::move(path), a.target = std::move(target);
  if (std::find(code_.aliases.begin(), code_.aliases.end(), a) == code_.aliases.end()) code_.aliases.push_back(std::move(a));
}

void FunctionReader::alias(std::string path, const Expr* value) {
  if (path.empty()) return;
  HostAlias a;
  a.path = std::move(path), a.value = values_.value(value);
  if (a.value.kind == HostValueKind::Unknown) return;
  if (std::find(code_.aliases.begin(), code_.aliases.end(), a) == code_.aliases.end()) code_.aliases.push_back(std::move(a));
}

// What an object or a field gets when it comes to be: another name of an object, or a value.
void FunctionReader::initialised(const std::string& path, QualType type, const Expr* init) {
  if (!init || path.empty() || type->isDependentType()) return;
  const Expr* core = stripped(init);
  if (isHandle(type) || type->isReferenceType()) {
    if (const auto* list = dyn_cast<InitListExpr>(core); list && list->getType()->isRecordType()) {
      const InitListExpr& fields = list->isSemanticForm() || !list->getSemanticForm() ? *list : *list->getSemanticForm();
      const auto* record = fields.getType()->getAsRecordDecl();
      const auto* cxx = dyn_cast_or_null<CXXRecordDecl>(record);
      unsigned n = cxx ? cxx->getNumBases() : 0;
      if (record && !record->isUnion())
        for (const FieldDecl* f : record->fields()) {
          if (n < fields.getNumInits() && f->getIdentifier())
            initialised(path + "." + f->getNameAsString(), f->getType(), fields.getInit(n));
          ++n;
        }
      return;
    }
    return alias(path, this->path(init));
  }
  if (type->isBooleanType() || !(type->isIntegralOrEnumerationType() || isTextType(type))) return;
  const auto* member = dyn_cast<MemberExpr>(core);
  if (member && isa<FieldDecl>(member->getMemberDecl()) && !isa<CXXThisExpr>(stripped(member->getBase())))
    if (const std::string other = this->path(member); !other.empty()) return alias(path, other);  // key_(other.key_)
  alias(path, init);
}

}  // namespace pglocklint::extract

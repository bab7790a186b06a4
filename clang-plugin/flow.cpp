// One function as blocks: calls in the order of control, what happens between them, the ends of objects, and where exceptions go.
// Normal flow is clang's; exceptional exits are ours (cleanups.h).
#include <clang/AST/ExprCXX.h>
#include <clang/Analysis/CFG.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

#include "reader.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

bool derivesFrom(const CXXRecordDecl* derived, const CXXRecordDecl* base) {
  return derived && base && derived->hasDefinition() &&
         (derived->getCanonicalDecl() == base->getCanonicalDecl() || derived->isDerivedFrom(base));
}

bool isStandardException(const CXXRecordDecl* record) {
  record = record ? record->getDefinition() : nullptr;
  if (!record) return false;
  if (qualifiedName(*record) == "std::exception") return true;
  return llvm::any_of(record->bases(),
                      [](const CXXBaseSpecifier& b) { return isStandardException(b.getType()->getAsCXXRecordDecl()); });
}

enum class Takes { No, Maybe, Yes };

// An exception: of a type that is written, or what a call may throw. By decision what is unknown derives from std::exception.
struct Thrown {
  QualType type;           // null: not known
  bool library = false;    // of libpqxx: derives from std::exception for certain
  bool jump = false;       // longjmp: no destructor runs, no handler takes it
  const void* key() const {
    return type.isNull() ? reinterpret_cast<const void*>(std::uintptr_t{1} + (library ? 2U : 0U) + (jump ? 4U : 0U))
                         : type.getCanonicalType().getTypePtr();
  }
};

Takes takes(const CXXCatchStmt& handler, const Thrown& thrown) {
  if (!handler.getExceptionDecl()) return Takes::Yes;
  const QualType caught = handler.getCaughtType().getNonReferenceType().getCanonicalType().getUnqualifiedType();
  const auto* record = caught->getAsCXXRecordDecl();
  if (thrown.type.isNull()) {
    if (record && qualifiedName(*record) == "std::exception") return Takes::Yes;
    return thrown.library && !isStandardException(record) ? Takes::No : Takes::Maybe;
  }
  const QualType type = thrown.type.getNonReferenceType().getCanonicalType().getUnqualifiedType();
  if (type == caught) return Takes::Yes;
  if (type->isPointerType() && caught->isPointerType()) return Takes::Maybe;
  return derivesFrom(type->getAsCXXRecordDecl(), record) ? Takes::Yes : Takes::No;
}

}  // namespace

FunctionReader::FunctionReader(UnitMemory& unit, const FunctionDecl& function)
    : unit_(unit),
      context_(unit.context),
      places_(unit.places),
      declaration_(function),
      values_(unit.context, unit.places, &function),
      parents_(function.getBody()) {
  values_.setLoops(&loop_of_, &counters_);
  if (const auto* constructor = dyn_cast<CXXConstructorDecl>(&function))
    for (const CXXCtorInitializer* i : constructor->inits()) {
      if (!i->getInit()) continue;
      initialisers_.push_back(i);
      const auto* standard = dyn_cast<CXXDefaultInitExpr>(i->getInit());
      parents_.addStmt(const_cast<Expr*>(standard ? standard->getExpr() : i->getInit()));
    }
}

std::optional<Function> FunctionReader::read() {
  for (const CXXCtorInitializer* i : initialisers_) collectSources(i->getInit(), 0);
  collectSources(declaration_.getBody(), 0);
  for (const CXXCtorInitializer* i : initialisers_) {
    walk(i->getInit(), -1, 0);
    if (const FieldDecl* field = i->getAnyMember())
      initialised("this." + field->getNameAsString(), field->getType(), i->getInit());
    else if (i->isBaseInitializer())
      initialised("this", QualType(i->getBaseClass(), 0), i->getInit());
  }
  walk(declaration_.getBody(), -1, 0);
  const auto* method = dyn_cast<CXXMethodDecl>(&declaration_);
  const bool ends = isa<CXXDestructorDecl>(declaration_) && unit_.endMatters(context_.getRecordType(method->getParent()));
  if (code_.calls.empty() && code_.aliases.empty() && !matters_ && !ends) return std::nullopt;
  Function f;
  f.kind = FunctionKind::HostFunction, f.schema = kHostSchema, f.language = "cpp";
  blocks(f);
  if (!concernsUs()) return std::nullopt;
  f.name = functionId(declaration_, context_, places_);
  f.range = places_.range(declaration_.getSourceRange());
  f.name_range = places_.range(declaration_.getLocation(), declaration_.getLocation());
  f.body_range = places_.range(declaration_.getBody()->getSourceRange());
  for (const ParmVarDecl* p : declaration_.parameters()) {
    Parameter parameter;
    parameter.name = p->getNameAsString(), parameter.type = values_.type(p->getType()).name;
    parameter.range = places_.range(p->getSourceRange());
    f.parameters.push_back(std::move(parameter));
  }
  f.returns = values_.type(declaration_.getReturnType()).name;
  code_.degraded |= declaration_.isInvalidDecl();
  if (method && method->getParent()->isPolymorphic()) code_.method.push_back(methodOf(*method));
  f.host.push_back(std::move(code_));
  return f;
}

HostMethod FunctionReader::methodOf(const CXXMethodDecl& method) {
  const CXXRecordDecl& record = *method.getParent();
  HostMethod m;
  m.of_class = classId(record, places_), m.is_virtual = method.isVirtual(), m.abstract = record.isAbstract();
  std::set<std::string> bases, overrides;
  record.forallBases([&](const CXXRecordDecl* base) { return bases.insert(classId(*base, places_)), true; });
  std::vector<const CXXMethodDecl*> work{method.begin_overridden_methods(), method.end_overridden_methods()};
  while (!work.empty()) {
    const CXXMethodDecl* overridden = work.back();
    work.pop_back();
    overrides.insert(functionId(*overridden, context_, places_));
    work.insert(work.end(), overridden->begin_overridden_methods(), overridden->end_overridden_methods());
  }
  m.bases.assign(bases.begin(), bases.end()), m.overrides.assign(overrides.begin(), overrides.end());
  return m;
}

// Whether somebody could ask for it: there is a call, an object that is passed on, or an answer.
bool FunctionReader::concernsUs() const {
  if (!code_.calls.empty() || !code_.aliases.empty()) return true;
  return std::any_of(code_.steps.begin(), code_.steps.end(), [](const HostStep& s) {
    switch (s.kind) {
      case HostStepKind::Assign: return !s.target.starts_with("local ");
      case HostStepKind::Return: return s.truth.kind != HostTruthKind::Unknown;
      case HostStepKind::Condition: return false;
      case HostStepKind::Throw: return true;
      case HostStepKind::Exit: return true;
    }
    return false;
  });
}

// --- steps

Event FunctionReader::addStep(HostStepKind kind, const pglocklint::SourceRange& range, std::string target, HostTruth truth) {
  HostStep s;
  s.kind = kind, s.range = range, s.target = std::move(target), s.truth = std::move(truth);
  Event e;
  e.kind = EventKind::HostStep, e.host_call = static_cast<std::int32_t>(code_.steps.size());
  code_.steps.push_back(std::move(s));
  return e;
}

Event FunctionReader::addCall(HostCall call) {
  Event e;
  e.kind = EventKind::HostCall, e.host_call = static_cast<std::int32_t>(code_.calls.size());
  code_.calls.push_back(std::move(call));
  return e;
}

void FunctionReader::assigned(const std::string& path, QualType type, const Expr* value, const pglocklint::SourceRange& range,
                              std::vector<Event>& out) {
  if (path.empty()) return;
  if (type->isBooleanType())
    out.push_back(addStep(HostStepKind::Assign, range, path, value ? truth(value) : HostTruth{}));
  else if (isTruthNumber(type))
    numberAssigned(path, value, range, out);
  else if (isPointerLikeType(type) || type->isPointerType()) {
    out.push_back(addStep(HostStepKind::Assign, range, heldName(path), engaged(value)));
    if (std::string made = madeClass(value); !made.empty()) out.push_back(addStep(HostStepKind::Assign, range, hostClass(path, made), constantTruth(true)));
  }
}

// The class with virtual functions that an object is made of here: new T(…), std::make_unique<T>(…).
std::string FunctionReader::madeClass(const Expr* value) {
  const Expr* e = value ? stripped(value) : nullptr;
  for (int i = 0; e && i < 8; ++i) {
    const auto* handle = dyn_cast<CXXConstructExpr>(e);
    if (!handle || !isPointerLikeType(handle->getType()) || handle->getNumArgs() == 0) break;
    e = stripped(handle->getArg(0));
  }
  if (const auto* fresh = dyn_cast_or_null<CXXNewExpr>(e)) e = fresh->getInitializer();
  const auto calls = calls_at_.find(e);
  if (!e || calls == calls_at_.end()) return "";
  for (const std::int32_t call : calls->second)
    if (const auto made = made_class_.find(call); made != made_class_.end()) return made->second;
  return "";
}

// Booleans and handles of an aggregate: Guard{c, true}.
void FunctionReader::assignedFields(const std::string& path, const Expr* init, std::vector<Event>& out) {
  const auto* list = init ? dyn_cast<InitListExpr>(stripped(init)) : nullptr;
  if (!list || !list->getType()->isRecordType() || path.empty()) return;
  if (!list->isSemanticForm() && list->getSemanticForm()) list = list->getSemanticForm();
  const RecordDecl* record = list->getType()->getAsRecordDecl();
  const auto* cxx = dyn_cast_or_null<CXXRecordDecl>(record);
  if (!record || record->isUnion()) return;
  unsigned n = cxx ? cxx->getNumBases() : 0;
  for (const FieldDecl* f : record->fields()) {
    if (n >= list->getNumInits()) break;
    const Expr* value = list->getInit(n++);
    assigned(path + "." + f->getNameAsString(), f->getType(), value, places_.range(value->getSourceRange()), out);
  }
}

void FunctionReader::declared(const VarDecl& v, std::vector<Event>& out) {
  if (!v.hasLocalStorage() || v.getType()->isReferenceType()) return;
  const pglocklint::SourceRange range = places_.range(v.getSourceRange());
  if (v.getType()->isBooleanType()) {
    if (v.getInit() && !expanded(v)) assigned(localName(v), v.getType(), v.getInit(), range, out);
  } else if (isTruthNumber(v.getType())) {
    if (v.getInit() && !onlySource(v) && isStatus(v)) assigned(localName(v), v.getType(), v.getInit(), range, out);
  } else if (isPointerLikeType(v.getType()) || v.getType()->isPointerType()) {
    if (isHandle(v.getType()) && path(v) == localName(v) && !isResultHandle(v.getType()))
      assigned(localName(v), v.getType(), v.getInit(), range, out);
  } else {
    assignedFields(localName(v), v.getInit(), out);
  }
}

// Handles of answers, not of sessions or objects of the program: whether one is there is no question of locks.
bool FunctionReader::isResultHandle(QualType t) {
  const std::string name = className(handledRecord(t));
  return name == "pg_result" || name == "pqxx::result" || name == "pqxx::row" || name == "pqxx::field";
}

// What a statement changes, as far as conditions elsewhere can depend on it.
std::vector<Event> FunctionReader::stepsOf(const Stmt& s) {
  std::vector<Event> out;
  const auto range = [&] { return places_.range(s.getSourceRange()); };
  if (const auto* decl = dyn_cast<DeclStmt>(&s)) {
    for (const Decl* d : decl->decls())
      if (const auto* v = dyn_cast<VarDecl>(d)) declared(*v, out);
    return out;
  }
  if (const auto* two = dyn_cast<clang::BinaryOperator>(&s); two && two->isAssignmentOp()) {
    const QualType type = two->getLHS()->getType();
    const auto* ref = dyn_cast<DeclRefExpr>(stripped(two->getLHS()));
    const auto* v = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
    if ((v && (expanded(*v) || !v->getType()->isReferenceType()) && v->hasLocalStorage() && onlySource(*v)) || isResultHandle(type))
      return out;
    if (isTruthNumber(type)) {
      const std::string target = numberPath(stripped(two->getLHS()));
      if (!target.empty()) numberAssigned(target, two->getOpcode() == BO_Assign ? two->getRHS() : nullptr, range(), out);
      return out;
    }
    if (!type->isBooleanType() && !(type->isPointerType() && mayBeHandle(type))) return out;
    const std::string target = path(two->getLHS());
    if (two->getOpcode() == BO_Assign) {
      assigned(target, type, two->getRHS(), range(), out);
    } else if (!target.empty() && type->isBooleanType()) {
      HostTruth t, right = truth(two->getRHS());
      if ((two->getOpcode() == BO_AndAssign || two->getOpcode() == BO_OrAssign) && right.kind != HostTruthKind::Unknown) {
        t.kind = two->getOpcode() == BO_AndAssign ? HostTruthKind::And : HostTruthKind::Or;
        t.args.push_back(variableNamed(target)), t.args.push_back(std::move(right));
      }
      out.push_back(addStep(HostStepKind::Assign, range(), target, std::move(t)));
    }
    return out;
  }
  if (const auto* one = dyn_cast<clang::UnaryOperator>(&s); one && one->isIncrementDecrementOp() && isTruthNumber(one->getType())) {
    const std::string target = numberPath(stripped(one->getSubExpr()));
    if (!target.empty()) numberAssigned(target, nullptr, range(), out);
    return out;
  }
  const auto* call = dyn_cast<CallExpr>(&s);
  const FunctionDecl* callee = call ? call->getDirectCallee() : nullptr;
  if (!callee) return out;
  const std::string name = callee->getIdentifier() ? callee->getName().str() : "";
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(&s); op && op->getOperator() == OO_Equal && op->getNumArgs() == 2) {
    const QualType type = op->getArg(0)->getType();
    if (isPointerLikeType(type) && !isResultHandle(type)) assigned(path(op->getArg(0)), type, op->getArg(1), range(), out);
    return out;
  }
  if (const auto* method = dyn_cast<CXXMemberCallExpr>(&s)) {
    const Expr* object = method->getImplicitObjectArgument();
    if (isPointerLikeType(object->getType()) && !isResultHandle(object->getType())) {
      const std::string target = heldName(path(object));
      if (target.empty()) return out;
      if (name == "emplace") out.push_back(addStep(HostStepKind::Assign, range(), target, constantTruth(true)));
      if (name == "release") out.push_back(addStep(HostStepKind::Assign, range(), target, constantTruth(false)));
      if (name == "reset")
        out.push_back(addStep(HostStepKind::Assign, range(), target,
                              call->getNumArgs() == 0 || isa<CXXDefaultArgExpr>(call->getArg(0)) ? constantTruth(false)
                                                                                               : engaged(call->getArg(0))));
    }
    if (name == "to" && call->getNumArgs() >= 1 && stripped(call->getArg(0))->getType()->isBooleanType()) {  // field.to(b)
      const std::int32_t field = firstField(object);
      HostTruth t;
      if (field >= 0) t.kind = HostTruthKind::Answer, t.call = field;
      if (const std::string target = path(call->getArg(0)); !target.empty())
        out.push_back(addStep(HostStepKind::Assign, range(), target, std::move(t)));
    }
    return out;
  }
  const std::string qualified = qualifiedName(*callee);
  if (qualified == "std::move" && call->getNumArgs() == 1) {
    const QualType type = call->getArg(0)->getType();
    const auto* ref = dyn_cast<DeclRefExpr>(stripped(call->getArg(0)));
    if (isPointerLikeType(type) && !isResultHandle(type) && !mayShare(className(type->getAsCXXRecordDecl())) && ref)
      emptied_.push_back(heldName(path(call->getArg(0))));  // once the statement is through with it
    return out;
  }
  if (qualified == "std::exchange" && call->getNumArgs() == 2) {
    const QualType type = call->getArg(0)->getType();
    const std::string target = path(call->getArg(0));
    if ((type->isBooleanType() || type->isPointerType() || isPointerLikeType(type)) && !target.empty()) {
      const pglocklint::SourceRange at = places_.range(call->getExprLoc(), call->getExprLoc());
      const std::string held = "made " + std::to_string(at.line) + ":" + std::to_string(at.column);
      out.push_back(addStep(HostStepKind::Assign, range(), held, variableNamed(type->isBooleanType() ? target : heldName(target))));
      assigned(target, type, call->getArg(1), range(), out);
      exchanged_[call] = held;
    }
  }
  return out;
}

// --- the ends of objects

// What runs when an object ends, in order. `maker` is what it was made with, where that is known.
std::vector<FunctionReader::ObjectEnd> FunctionReader::endOf(QualType type, const std::string& path,
                                                          const pglocklint::SourceRange& at, const Expr* maker, bool conditional,
                                                          bool pointee) {
  std::vector<ObjectEnd> out;
  type = context_.getBaseElementType(type.getNonReferenceType());
  const auto* record = type->getAsCXXRecordDecl();
  record = record ? record->getDefinition() : nullptr;
  const bool derived = pointee && unit_.mayBeDerived(type);
  if (!record || (!derived && !unit_.endMatters(type))) return out;
  const std::string name = qualifiedName(*record);
  const auto call = [&](HostCallKind kind, std::string api, std::string function, std::string connection, std::string argument) {
    const auto key = std::make_pair(static_cast<const void*>(record), function + "|" + path + "|" + std::to_string(at.begin));
    const auto [known, fresh] = ends_made_.try_emplace(key, -1);
    if (fresh) {
      HostCall c;
      c.kind = kind, c.api = std::move(api), c.name = std::move(function), c.range = at, c.connection = std::move(connection);
      if (derived && kind == HostCallKind::Function) c.dispatch = classId(*record, places_);
      if (!argument.empty()) {
        c.binds.emplace_back().kind = HostValueKind::Address;
        c.bind_paths.push_back(std::move(argument));
      }
      known->second = addCall(std::move(c)).host_call;
    }
    Event e;
    e.kind = EventKind::HostCall, e.host_call = known->second;
    out.push_back({conditional ? heldName(path) : "", e});
  };
  if (const CallModel* model = findCallModel(name, "destructor")) {
    const HostCallKind kind = model->role == Role::Rollback     ? HostCallKind::Rollback
                              : model->role == Role::RollbackTo ? HostCallKind::RollbackTo
                                                                : HostCallKind::Disconnect;
    call(kind, name + "'s destructor", "", path, "");
    return out;
  }
  const bool obtained = std::any_of(code_.calls.begin(), code_.calls.end(), [&](const HostCall& c) {
    return c.kind == HostCallKind::Obtain && !c.made.empty() && c.made == path;
  });
  if (isPointerLike(name)) {
    const QualType held = pointedTo(type);
    if (held.isNull()) return out;
    if (name == "std::optional" || name == "boost::optional") return endOf(held, path, at, nullptr, conditional);
    if (mayShare(name)) {
      if (obtained) call(HostCallKind::GiveBack, name + "'s destructor", "", path, "");
      const FunctionDecl* made_by = nullptr;
      if (const auto* c = maker ? dyn_cast<CallExpr>(stripped(maker)) : nullptr) made_by = c->getDirectCallee();
      const bool sole = made_by && (qualifiedName(*made_by) == "std::make_shared");
      return sole && !obtained ? endOf(held, path, at, nullptr, conditional, true) : out;
    }
    const auto* instance = dyn_cast<ClassTemplateSpecializationDecl>(record);
    const QualType deleter = name == "std::unique_ptr" && instance && instance->getTemplateArgs().size() >= 2
                                 ? instance->getTemplateArgs()[1].getAsType()
                                 : QualType();
    const auto* functor = deleter.isNull() ? nullptr : deleter->getAsCXXRecordDecl();
    if (deleter.isNull() || (functor && qualifiedName(*functor) == "std::default_delete"))
      return endOf(held, path, at, nullptr, conditional, true);
    const FunctionDecl* function = nullptr;
    if (functor) {
      for (const CXXMethodDecl* m : functor->methods())
        if (m->getOverloadedOperator() == OO_Call) function = m;
      if (functor->isLambda()) function = functor->getLambdaCallOperator();
    } else if (const auto* made = maker ? dyn_cast<CXXConstructExpr>(stripped(maker)) : nullptr; made && made->getNumArgs() >= 2) {
      const Expr* second = stripped(made->getArg(1));
      if (const auto* u = dyn_cast<clang::UnaryOperator>(second)) second = stripped(u->getSubExpr());
      if (const auto* ref = dyn_cast<DeclRefExpr>(second)) function = dyn_cast<FunctionDecl>(ref->getDecl());
    }
    const auto* id = function ? function->getIdentifier() : nullptr;
    const CallModel* model = id ? findCallModel(classOf(*function), id->getName()) : nullptr;
    if (!model && !function && deleter->isPointerType() && isConnection(held)) model = findCallModel("", "PQfinish");
    if (model && model->role == Role::Disconnect)
      call(HostCallKind::Disconnect, model->name.data(), "", path, "");
    else if (function && places_.inProject(function->getLocation()))
      call(HostCallKind::Function, qualifiedName(*function), functionId(*function, context_, places_), "", path);
    return out;
  }
  const CXXDestructorDecl* destructor = record->getDestructor();
  if (!destructor) return out;
  const FunctionDecl* definition = nullptr;
  if (obtained && (!destructor->hasBody(definition) || !definition->getBody()) && isConnection(type)) {
    call(HostCallKind::GiveBack, name + "'s destructor", "", path, "");
    return out;
  }
  call(HostCallKind::Function, name + "'s destructor", functionId(*destructor, context_, places_), path, "");
  return out;
}

std::vector<FunctionReader::ObjectEnd> FunctionReader::endOf(const VarDecl& v) {
  QualType type = v.getType();
  if (type->isReferenceType()) {  // of a temporary that it keeps alive
    const Expr* init = v.getInit();
    if (!init) return {};
    init = init->IgnoreParenImpCasts();
    if (const auto* full = dyn_cast<ExprWithCleanups>(init)) init = full->getSubExpr()->IgnoreParenImpCasts();
    if (!isa<MaterializeTemporaryExpr>(init)) return {};
    type = init->getType();
  }
  if (!unit_.endMatters(type)) return {};
  const auto at = sources_.find(&v);
  const Expr* maker = v.getInit();
  bool conditional = false;
  if (isPointerLikeType(type)) {
    const bool one = at != sources_.end() && at->second.values.size() == 1 && !at->second.other && !at->second.moved;
    conditional = !one || engaged(v.getInit()) == constantTruth(false);
    if (at != sources_.end() && at->second.moved && mayShare(className(type->getAsCXXRecordDecl()))) return {};
  }
  if (at != sources_.end() && at->second.moved && !isTransaction(type) && !isPointerLikeType(type))
    for (const DeclRefExpr* use : usesOf(v))
      if (const auto* move = dyn_cast_or_null<CallExpr>(parentOf(use)); move && move->getNumArgs() == 1 && isMovedIntoOther(*move)) return {};
  return endOf(type, isTransaction(type) ? path(v) : localOrGlobal(v), places_.range(v.getLocation(), v.getLocation()), maker,
               conditional);
}

// g.reset(); g = nullptr; g = std::nullopt: what the handle or optional held ends.
std::vector<FunctionReader::ObjectEnd> FunctionReader::endOfHeld(const Stmt& s) {
  const Expr* handle = nullptr;
  if (const auto* method = dyn_cast<CXXMemberCallExpr>(&s)) {
    const FunctionDecl* f = method->getMethodDecl();
    const bool empties = f && f->getIdentifier() && f->getName() == "reset" &&
                         (method->getNumArgs() == 0 || engaged(method->getArg(0)) == constantTruth(false));
    if (empties) handle = method->getImplicitObjectArgument();
  } else if (const auto* op = dyn_cast<CXXOperatorCallExpr>(&s);
             op && op->getOperator() == OO_Equal && op->getNumArgs() == 2 && engaged(op->getArg(1)) == constantTruth(false)) {
    handle = op->getArg(0);
  }
  if (!handle || !isPointerLikeType(handle->getType()) || isResultHandle(handle->getType())) return {};
  const std::string object = path(handle);
  if (object.empty()) return {};
  return endOf(handle->getType(), object, places_.range(s.getSourceRange()), nullptr, !isTransaction(handle->getType()));
}

std::string FunctionReader::localOrGlobal(const VarDecl& v) {
  if (isPointerLikeType(v.getType()) || v.getType()->isReferenceType()) return path(v);
  return v.hasLocalStorage() ? localName(v) : globalName(v);
}

// A temporary, or what std::move() gives, of which another object is made, or that a function of the library gets: Result<Guard>(Guard(c)),
// std::variant<Guard, Error>, held.push_back(std::move(guard)). That has what it had, wherever it keeps it.
bool FunctionReader::isMovedIntoOther(const Expr& object) const {
  const Expr* given = &object;
  const Stmt* outer = parentOf(given);
  for (; outer && isa<CastExpr>(outer); outer = parentOf(given)) given = cast<CastExpr>(outer);  // Guard(c) is written as a cast
  const auto isGiven = [&](auto arguments, const FunctionDecl& callee) {
    for (const auto& [argument, parameter] : llvm::zip(arguments, callee.parameters()))
      if (stripped(argument) == stripped(given)) return parameter->getType()->isRValueReferenceType();
    return false;
  };
  if (const auto* construct = dyn_cast_or_null<CXXConstructExpr>(outer))
    return construct->getType()->getAsCXXRecordDecl() != object.getType()->getAsCXXRecordDecl() &&
           isGiven(construct->arguments(), *construct->getConstructor());
  const auto* call = dyn_cast_or_null<CallExpr>(outer);
  const FunctionDecl* callee = call && !isa<CXXOperatorCallExpr>(call) ? call->getDirectCallee() : nullptr;
  return callee && isStandard(*callee) && qualifiedName(*callee) != "std::move" && isGiven(call->arguments(), *callee);
}

std::vector<FunctionReader::ObjectEnd> FunctionReader::endOfTemporary(const Expr* e) {
  if (!unit_.endMatters(e->getType())) return {};
  const Expr* core = stripped(e);
  if (const auto* construct = dyn_cast<CXXConstructExpr>(core);
      construct && isPointerLikeType(construct->getType()) && construct->getNumArgs() == 1 &&
      construct->getConstructor()->isCopyOrMoveConstructor())
    return {};  // an argument that was moved into, or shares: who is called has it
  const CXXRecordDecl* record = core->getType()->getAsCXXRecordDecl();
  const bool moves = isPointerLikeType(core->getType()) || (record && record->hasDefinition() && record->hasMoveConstructor());
  if (moves && !path(core).starts_with("made ")) return {};  // c_ = std::make_unique<T>(), return Guard(c) as an optional: that has it
  if (moves && isMovedIntoOther(*e)) return {};
  return endOf(e->getType(), path(core), places_.range(core->getExprLoc(), core->getExprLoc()), core, false);
}

// A part of an object that never becomes whole: Pair{Guard(c), fails()}.
std::vector<FunctionReader::ObjectEnd> FunctionReader::endOfPart(QualType type, const Expr* init) {
  const Expr* core = stripped(init);
  const std::string object = path(core);
  if (object.empty()) return {};
  return endOf(type, object, places_.range(core->getExprLoc(), core->getExprLoc()), core, false);
}

// --- blocks

class FunctionReader::Blocks {
 public:
  Blocks(FunctionReader& reader, Function& f)
      : reader_(reader), function_(f), cleanups_(reader.context_, reader.declaration_), code_(reader.code_) {}

  void build() {
    CFG::BuildOptions options;
    options.setAllAlwaysAdd();
    options.PruneTriviallyFalseEdges = false;
    options.AddImplicitDtors = options.AddTemporaryDtors = options.AddInitializers = true;
    options.AddCXXNewAllocator = options.AddCXXDefaultInitExprInCtors = options.AddCXXDefaultInitExprInAggregates = true;
    Stmt* body = const_cast<Stmt*>(reader_.declaration_.getBody());
    if (const auto* coroutine = dyn_cast<CoroutineBodyStmt>(body)) body = coroutine->getBody();
    cfg_ = CFG::buildCFG(&reader_.declaration_, body, &reader_.context_, options);
    if (cfg_) number();
    if (cfg_)
      for (std::size_t i = 0; i < order_.size(); ++i) fill(*order_[i]);
    if (function_.blocks.empty()) function_.blocks.emplace_back();
    leftOver();
  }

 private:
  // Blocks of clang's graph that control reaches, and handlers, which it only reaches by exceptions.
  void number() {
    const auto reach = [&](const CFGBlock* from) {
      if (!number_.try_emplace(from, static_cast<std::int32_t>(order_.size())).second) return;
      std::size_t next = order_.size();
      for (order_.push_back(from); next < order_.size(); ++next)
        for (const CFGBlock::AdjacentBlock& successor : order_[next]->succs())
          if (const CFGBlock* b = successor.getReachableBlock();
              b && number_.try_emplace(b, static_cast<std::int32_t>(order_.size())).second)
            order_.push_back(b);
    };
    reach(&cfg_->getEntry());
    const std::size_t normal = order_.size();
    for (const CFGBlock* b : *cfg_) {
      if (const auto* handler = dyn_cast_or_null<CXXCatchStmt>(b->getLabel())) {
        handler_[handler] = b;
        reach(b);
      }
      if (const auto* branch = dyn_cast_or_null<IfStmt>(b->getTerminatorStmt())) branch_[branch] = b;
      for (const CFGElement& e : *b)
        if ((e.getAs<CFGMemberDtor>() || e.getAs<CFGBaseDtor>()) && !parts_) parts_ = firstOfParts(b);
    }
    for (std::size_t i = normal; i < order_.size(); ++i) in_handler_.insert(order_[i]);
    function_.blocks.resize(order_.size());
  }

  // In a destructor clang lets `return` skip the members' destructors.
  static const CFGBlock* firstOfParts(const CFGBlock* b) { return b; }

  // --- one block of clang's
  void fill(const CFGBlock& b) {
    current_ = number_[&b];
    ended_ = false;
    std::optional<HostStep> result;
    const VarDecl* returned = nullptr;
    for (const CFGElement& element : b) {
      if (ended_) break;
      if (const auto statement = element.getAs<CFGStmt>()) {
        const Stmt* s = statement->getStmt();
        if (const auto* back = dyn_cast<ReturnStmt>(s)) {
          result = returnOf(*back);
          const VarDecl* named = back->getNRVOCandidate();
          if (named && named->isNRVOVariable()) returned = named;
        } else {
          statementOf(*s);
        }
      } else if (const auto object = element.getAs<CFGAutomaticObjDtor>()) {
        if (object->getVarDecl() != returned) end(reader_.endOf(*object->getVarDecl()));
      } else if (const auto temporary = element.getAs<CFGTemporaryDtor>()) {
        end(reader_.endOfTemporary(temporary->getBindTemporaryExpr()));
      } else if (const auto member = element.getAs<CFGMemberDtor>()) {
        end(endOfField(*member->getFieldDecl()));
      } else if (const auto base = element.getAs<CFGBaseDtor>()) {
        end(endOfBase(*base->getBaseSpecifier()));
      } else if (const auto freed = element.getAs<CFGDeleteDtor>()) {
        const CXXDeleteExpr* e = freed->getDeleteExpr();
        end(reader_.endOf(e->getDestroyedType(), reader_.path(e->getArgument()), reader_.places_.range(e->getSourceRange()),
                          nullptr, false, true));
      } else if (const auto cleanup = element.getAs<CFGCleanupFunction>()) {
        put(cleanupCall(*cleanup->getVarDecl(), *cleanup->getFunctionDecl()));
      } else if (const auto init = element.getAs<CFGInitializer>()) {
        initialise(*init->getInitializer());
      }
      flushEmptied();
    }
    if (ended_) return;
    if (b.hasNoReturnElement()) return leave(reader_.addStep(HostStepKind::Exit, lastRange(b), "", {}));
    follow(b, result);
  }

  void statementOf(const Stmt& s) {
    const auto* e = dyn_cast<Expr>(&s);
    end(reader_.endOfHeld(s));
    for (const Event& step : reader_.stepsOf(s)) put(step);
    if (const auto at = reader_.calls_at_.find(&s); at != reader_.calls_at_.end())
      for (const std::int32_t index : at->second)
        if (placed_.insert(index).second && cleanups_.runs(&s)) call(index, s);
    if (!e) return;
    if (const auto* thrown = dyn_cast<CXXThrowExpr>(e)) {
      Thrown what;
      std::string name;
      if (const Expr* operand = thrown->getSubExpr()) {
        what.type = operand->getType().getUnqualifiedType();
        name = reader_.values_.type(what.type).name;
      }
      return raise(s, what, std::move(name));
    }
    const auto* callee_of = dyn_cast<CallExpr>(e);
    const FunctionDecl* callee = callee_of ? callee_of->getDirectCallee() : nullptr;
    if (!callee || !callee->getIdentifier()) return;
    switch (endingOf(qualifiedName(*callee))) {
      case Ending::None:
        break;
      case Ending::Process:
        return leave(reader_.addStep(HostStepKind::Exit, reader_.places_.range(s.getSourceRange()), "", {}));
      case Ending::Jump: {
        Thrown what;
        what.jump = true;
        return raise(s, what, "");
      }
    }
    if (callee->getName() == "__builtin_unreachable" && raisesError(s)) {  // the end of ereport(ERROR, …)
      Thrown what;
      what.jump = true;
      raise(s, what, "error");
    }
  }

  // Within PostgreSQL's own macros that raise an error.
  bool raisesError(const Stmt& s) const {
    const SourceManager& manager = reader_.places_.manager();
    SourceLocation at = s.getBeginLoc();
    for (int i = 0; at.isMacroID() && i < 8; ++i) {
      const StringRef macro = Lexer::getImmediateMacroName(at, manager, reader_.context_.getLangOpts());
      if (macro == "ereport" || macro == "elog" || macro == "ereport_domain") return true;
      at = manager.getImmediateMacroCallerLoc(at);
    }
    return false;
  }

  void call(std::int32_t index, const Stmt& s) {
    Event e;
    e.kind = EventKind::HostCall, e.host_call = index;
    const HostCall& c = code_.calls[static_cast<std::size_t>(index)];
    if (c.throws) {
      Thrown what;
      what.jump = !reader_.unit_.exceptions();
      what.library = c.kind != HostCallKind::Function && c.api.starts_with("pqxx::");
      put(e, unwind(cleanups_.at(&s), what));
    } else {
      put(e);
    }
    const auto made = reader_.made_class_.find(index);
    if (made == reader_.made_class_.end()) return;
    const HostCall& constructor = code_.calls[static_cast<std::size_t>(index)];
    put(reader_.addStep(HostStepKind::Assign, constructor.range, hostClass(constructor.made, made->second), constantTruth(true)));
  }

  void raise(const Stmt& s, const Thrown& what, std::string name) {
    const Event e = reader_.addStep(HostStepKind::Throw, reader_.places_.range(s.getSourceRange()), std::move(name), {});
    put(e, unwind(cleanups_.at(&s), what));
    ended_ = true;
  }

  void leave(const Event& e) {
    put(e);
    ended_ = true;
  }

  HostStep returnOf(const ReturnStmt& s) {
    HostStep step;
    step.kind = HostStepKind::Return, step.range = reader_.places_.range(s.getSourceRange());
    const Expr* value = s.getRetValue();
    const QualType type = reader_.declaration_.getReturnType();
    if (!value || type->isDependentType()) return step;
    if (type->isBooleanType())
      step.truth = reader_.truth(value);
    else if (isTruthNumber(type) && !value->isValueDependent())
      step.truth = number("return", value, step.range);
    else if ((isPointerLikeType(type) || type->isPointerType()) && isHandle(type) && !reader_.isResultHandle(type))
      put(reader_.addStep(HostStepKind::Assign, step.range, "return", reader_.engaged(value)));
    else if (type->isRecordType())
      fields("return", value);
    return step;
  }

  HostTruth number(const std::string& path, const Expr* value, const pglocklint::SourceRange& range) {
    std::vector<Event> out;
    reader_.numbersAssigned(path, value, range, out);
    for (const Event& e : out) put(e);
    return reader_.numberGiven(value);
  }

  void fields(const std::string& path, const Expr* init) {
    std::vector<Event> out;
    reader_.assignedFields(path, init, out);
    for (const Event& e : out) put(e);
  }

  void initialise(const CXXCtorInitializer& init) {
    const FieldDecl* field = init.getAnyMember();
    if (!field || !init.getInit()) return;
    std::vector<Event> out;
    const std::string path = "this." + field->getNameAsString();
    if (!reader_.isResultHandle(field->getType()) && (field->getType()->isBooleanType() || mayBeHandle(field->getType())))
      reader_.assigned(path, field->getType(), init.getInit(), reader_.places_.range(init.getSourceRange()), out);
    reader_.assignedFields(path, init.getInit(), out);
    for (const Event& e : out) put(e);
  }

  void flushEmptied() {
    if (reader_.emptied_.empty()) return;
    pending_emptied_.insert(pending_emptied_.end(), reader_.emptied_.begin(), reader_.emptied_.end());
    reader_.emptied_.clear();
  }

  std::vector<ObjectEnd> endOfField(const FieldDecl& f) {
    const std::string name = className(f.getType()->getAsCXXRecordDecl());
    const bool optional = name == "std::optional" || name == "boost::optional";
    return reader_.endOf(f.getType(), "this." + f.getNameAsString(), reader_.places_.range(f.getLocation(), f.getLocation()),
                         nullptr, optional);
  }
  std::vector<ObjectEnd> endOfBase(const CXXBaseSpecifier& b) {
    return reader_.endOf(b.getType(), "this", reader_.places_.range(b.getSourceRange()), nullptr, false);
  }

  Event cleanupCall(const VarDecl& v, const FunctionDecl& f) {
    const auto [known, fresh] = cleanup_calls_.try_emplace(&v, -1);
    if (fresh) {
      HostCall c;
      c.kind = HostCallKind::Function, c.api = qualifiedName(f), c.name = functionId(f, reader_.context_, reader_.places_);
      c.range = reader_.places_.range(v.getLocation(), v.getLocation());
      c.binds.emplace_back().kind = HostValueKind::Address;
      c.bind_paths.push_back(reader_.localName(v));
      known->second = reader_.addCall(std::move(c)).host_call;
    }
    Event e;
    e.kind = EventKind::HostCall, e.host_call = known->second;
    return e;
  }

  // --- edges
  void follow(const CFGBlock& b, const std::optional<HostStep>& result) {
    for (const std::string& path : pending_emptied_)
      put(reader_.addStep(HostStepKind::Assign, {}, path, constantTruth(false)));
    pending_emptied_.clear();
    const bool destroys = isa<CXXDestructorDecl>(reader_.declaration_) && parts_;
    const bool to_exit = llvm::any_of(b.succs(), [&](const CFGBlock::AdjacentBlock& s) {
      return s.getReachableBlock() == &cfg_->getExit();
    });
    if (to_exit && in_handler_.contains(&b) && isa<CXXTryStmt>(reader_.declaration_.getBody()) &&
        (isa<CXXConstructorDecl>(reader_.declaration_) || isa<CXXDestructorDecl>(reader_.declaration_)))
      return leave(reader_.addStep(HostStepKind::Throw, {}, "", {}));  // such a handler ends with throw;
    if (result && to_exit && !destroys) {
      HostStep step = *result;
      return leave(reader_.addStep(step.kind, step.range, "", std::move(step.truth)));
    }
    if (result && to_exit && destroys && parts_ != &b) {
      next(number_[parts_], EdgeKind::Next);
      return;
    }
    const CFGTerminator terminator = b.getTerminator();
    if (const auto* choice = dyn_cast_or_null<SwitchStmt>(terminator.getStmt()); choice && terminator.isStmtBranch() && chosen(b, *choice)) return;
    const Expr* condition = conditionOf(b);
    const bool of_temporary = terminator.getStmt() && terminator.isTemporaryDtorsBranch();
    if ((condition || of_temporary) && b.succ_size() == 2) {
      HostTruth t = of_temporary ? made(terminator.getStmt()) : reader_.truth(condition);
      bool value = false;  // if (false), while (true), a macro that compares its constant argument
      if (t.kind == HostTruthKind::Unknown && condition && !condition->isValueDependent() && !condition->containsErrors() &&
          condition->EvaluateAsBooleanCondition(value, reader_.context_))
        t = constantTruth(value);
      const CFGBlock *yes = b.succ_begin()->getReachableBlock(), *no = (b.succ_begin() + 1)->getReachableBlock();
      if (t.kind == HostTruthKind::Constant) {
        if (const CFGBlock* only = t.value ? yes : no) next(number_[only], EdgeKind::Next);
        return;
      }
      if (t.kind != HostTruthKind::Unknown && yes && no && yes != no) {
        put(reader_.addStep(HostStepKind::Condition,
                            condition ? reader_.places_.range(condition->getSourceRange()) : pglocklint::SourceRange(), "",
                            std::move(t)));
        next(number_[yes], EdgeKind::True), next(number_[no], EdgeKind::False);
        return;
      }
    }
    for (const CFGBlock::AdjacentBlock& successor : b.succs())
      if (const CFGBlock* s = successor.getReachableBlock()) next(number_[s], EdgeKind::Next);
  }

  // A switch over what a call answered: one condition after the other, as far as they say something. False: they say nothing.
  bool chosen(const CFGBlock& b, const SwitchStmt& s) {
    std::vector<std::pair<HostTruth, const CFGBlock*>> cases;
    const CFGBlock* other = nullptr;
    for (const CFGBlock::AdjacentBlock& successor : b.succs()) {
      const CFGBlock* target = successor.getReachableBlock();
      const auto* label = target ? dyn_cast_or_null<CaseStmt>(target->getLabel()) : nullptr;
      if (!target) continue;
      if (!label) other = target;
      else cases.emplace_back(label->getRHS() ? HostTruth{} : reader_.compared(s.getCond(), label->getLHS(), true), target);
    }
    if (cases.empty() || llvm::all_of(cases, [](const auto& c) { return c.first.kind == HostTruthKind::Unknown; })) return false;
    if (!other) other = cases.back().second, cases.pop_back();  // one for each value
    for (auto& [truth, target] : cases) {
      const bool known = truth.kind != HostTruthKind::Unknown;
      if (known) put(reader_.addStep(HostStepKind::Condition, reader_.places_.range(s.getCond()->getSourceRange()), "", std::move(truth)));
      next(number_[target], known ? EdgeKind::True : EdgeKind::Next);
      const std::int32_t more = fresh();
      at(current_).successors.push_back({more, known ? EdgeKind::False : EdgeKind::Next});
      current_ = more;
    }
    next(number_[other], EdgeKind::Next);
    return true;
  }

  // The expression that decides which of its two successors a block goes to.
  static const Expr* conditionOf(const CFGBlock& b) {
    const CFGTerminator terminator = b.getTerminator();
    const Stmt* s = terminator.getStmt();
    if (!s || !terminator.isStmtBranch() || isa<SwitchStmt>(s) || isa<CXXTryStmt>(s) || isa<CXXForRangeStmt>(s)) return nullptr;
    if (const Expr* last = b.getLastCondition()) return last;
    return dyn_cast_or_null<Expr>(b.getTerminatorCondition());
  }

  // Whether a temporary was made: the operands of &&, || and ?: around it were evaluated.
  HostTruth made(const Stmt* temporary) {
    HostTruth all;
    all.kind = HostTruthKind::Constant, all.value = true;
    const auto also = [&](HostTruth t, bool wanted) {
      if (!wanted) t = t.kind == HostTruthKind::Not ? HostTruth(t.args[0]) : without(std::move(t));
      if (all.kind == HostTruthKind::Constant) {
        all = std::move(t);
        return;
      }
      HostTruth both;
      both.kind = HostTruthKind::And;
      both.args.push_back(std::move(t)), both.args.push_back(std::move(all));
      all = std::move(both);
    };
    const Stmt* child = temporary;
    for (const Stmt* up = reader_.parents_.getParent(child); up && !isa<FullExpr>(up);
         child = up, up = reader_.parents_.getParent(up)) {
      if (const auto* two = dyn_cast<clang::BinaryOperator>(up); two && two->isLogicalOp() && two->getRHS() == child)
        also(reader_.truth(two->getLHS()), two->getOpcode() == BO_LAnd);
      if (const auto* choice = dyn_cast<ConditionalOperator>(up); choice && choice->getCond() != child)
        also(reader_.truth(choice->getCond()), choice->getTrueExpr() == child);
    }
    return all;
  }
  static HostTruth without(HostTruth t) {
    if (t.kind == HostTruthKind::Unknown) return t;
    HostTruth no;
    no.kind = HostTruthKind::Not;
    no.args.push_back(std::move(t));
    return no;
  }

  void next(std::int32_t target, EdgeKind kind) {
    Edge e{target, kind};
    List<Edge>& edges = at(current_).successors;
    if (std::find(edges.begin(), edges.end(), e) == edges.end()) edges.push_back(e);
  }

  pglocklint::SourceRange lastRange(const CFGBlock& b) {
    for (auto e = b.rbegin(); e != b.rend(); ++e)
      if (const auto s = e->getAs<CFGStmt>()) return reader_.places_.range(s->getStmt()->getSourceRange());
    return {};
  }

  // --- events
  Block& at(std::int32_t index) { return function_.blocks[static_cast<std::size_t>(index)]; }
  std::int32_t fresh() {
    function_.blocks.emplace_back();
    return static_cast<std::int32_t>(function_.blocks.size()) - 1;
  }

  void put(const Event& e) { at(current_).events.push_back(e); }

  // An event whose exceptions go to a block; -1: out of the function. A block has one such place.
  void put(const Event& e, std::int32_t unwind) {
    if (at(current_).unwind != unwind && throwing_.contains(current_)) {
      const std::int32_t more = fresh();
      at(current_).successors.push_back({more, EdgeKind::Next});
      current_ = more;
    }
    throwing_.insert(current_);
    at(current_).unwind = unwind;
    put(e);
  }

  void end(const std::vector<ObjectEnd>& endings) {
    for (const ObjectEnd& e : endings) {
      if (e.engaged.empty()) {
        put(e.event);
        continue;
      }
      put(reader_.addStep(HostStepKind::Condition, {}, "", variableNamed(e.engaged)));
      const std::int32_t runs = fresh(), after = fresh();
      at(current_).successors.push_back({runs, EdgeKind::True});
      at(current_).successors.push_back({after, EdgeKind::False});
      at(runs).events.push_back(e.event);
      at(runs).successors.push_back({after, EdgeKind::Next});
      current_ = after;
    }
  }

  // --- exceptions
  std::vector<ObjectEnd> endingsOf(const Cleanup& c) {
    if (c.variable) return reader_.endOf(*c.variable);
    if (c.partial) return c.temporary ? reader_.endOfPart(c.type, c.temporary) : std::vector<ObjectEnd>{};
    if (c.temporary) return reader_.endOfTemporary(c.temporary);
    if (c.field) return endOfField(*c.field);
    if (c.base) return endOfBase(*c.base);
    return reader_.endOf(c.type, "this", {}, nullptr, false);
  }

  // Whether it goes to std::terminate before anything can take it.
  static bool terminates(const Cleanup* c, const Thrown& what) {
    for (; c && !what.jump; c = c->outer) {
      if (c->kind == CleanupKind::Terminate) return true;
      if (c->kind == CleanupKind::Try)
        for (unsigned i = 0; i < c->handlers->getNumHandlers(); ++i)
          if (takes(*c->handlers->getHandler(i), what) != Takes::No) return false;
    }
    return false;
  }

  // The block where an exception goes that meets `c` first; -1: nothing is in its way out of the function.
  std::int32_t unwind(const Cleanup* c, const Thrown& what) {
    if (terminates(c, what)) {
      if (terminate_ < 0) {
        terminate_ = fresh();
        at(terminate_).events.push_back(reader_.addStep(HostStepKind::Exit, {}, "", {}));
      }
      return terminate_;
    }
    for (; c; c = c->outer) {
      const auto known = unwinds_.find({c, what.key()});
      if (known != unwinds_.end()) return known->second;
      const std::int32_t block = what.jump ? jumped(*c) : unwound(*c, what);
      if (block >= 0) return unwinds_[{c, what.key()}] = block;
    }
    return -1;
  }

  std::int32_t outward(const Cleanup* c, const Thrown& what) {
    const std::int32_t outer = unwind(c, what);
    if (outer >= 0) return outer;
    if (exit_ < 0) {
      exit_ = fresh();
      at(exit_).events.push_back(reader_.addStep(HostStepKind::Throw, {}, "", {}));
    }
    return exit_;
  }

  std::int32_t jumped(const Cleanup& c) {
    const auto branch = c.kind == CleanupKind::Jump ? branch_.find(c.branch) : branch_.end();
    if (branch == branch_.end() || branch->second->succ_size() != 2) return -1;
    const CFGBlock* first = branch->second->succ_begin()->getReachableBlock();
    const CFGBlock* second = (branch->second->succ_begin() + 1)->getReachableBlock();
    const CFGBlock* taken = c.first_arm ? second : first;
    const auto known = taken ? number_.find(taken) : number_.end();
    return known == number_.end() ? -1 : known->second;
  }

  std::int32_t unwound(const Cleanup& c, const Thrown& what) {
    if (c.kind == CleanupKind::Try) return handled(c, what);
    std::vector<ObjectEnd> endings;
    if (c.kind == CleanupKind::Destructor) endings = endingsOf(c);
    if (c.kind == CleanupKind::CleanupFunction)
      if (const auto* attribute = c.variable->getAttr<CleanupAttr>())
        endings.push_back({"", cleanupCall(*c.variable, *attribute->getFunctionDecl())});
    if (endings.empty()) return -1;
    const std::int32_t outer = outward(c.outer, what);
    std::int32_t first = outer;
    for (auto e = endings.rbegin(); e != endings.rend(); ++e) {
      const std::int32_t runs = fresh();
      at(runs).events.push_back(e->event);
      at(runs).successors.push_back({first, EdgeKind::Next});
      std::int32_t entry = runs;
      if (!e->engaged.empty()) {
        entry = fresh();
        at(entry).events.push_back(reader_.addStep(HostStepKind::Condition, {}, "", variableNamed(e->engaged)));
        at(entry).successors.push_back({runs, EdgeKind::True});
        at(entry).successors.push_back({first, EdgeKind::False});
      }
      first = entry;
    }
    if (!c.maybe) return first;
    const std::int32_t either = fresh();
    at(either).successors.push_back({first, EdgeKind::Next});
    at(either).successors.push_back({outer, EdgeKind::Next});
    return either;
  }

  std::int32_t handled(const Cleanup& c, const Thrown& what) {
    std::vector<std::int32_t> targets;
    bool surely = false;
    for (unsigned i = 0; i < c.handlers->getNumHandlers() && !surely; ++i) {
      const CXXCatchStmt* handler = c.handlers->getHandler(i);
      const Takes takes_it = takes(*handler, what);
      const auto block = handler_.find(handler);
      if (takes_it == Takes::No || block == handler_.end()) continue;
      targets.push_back(number_[block->second]);
      surely = takes_it == Takes::Yes;
    }
    if (targets.empty()) return -1;
    if (surely && targets.size() == 1) return targets[0];
    const std::int32_t either = fresh();
    for (const std::int32_t t : targets) at(either).successors.push_back({t, EdgeKind::Next});
    if (!surely) {
      const std::int32_t outer = outward(c.outer, what);
      at(either).successors.push_back({outer, EdgeKind::Next});
    }
    return either;
  }

  // Code that clang's graph leaves out: each call may run, or not. Where there is no graph, and in bodies that never run here, nobody knows
  // what comes after what: their calls are not reached.
  void leftOver() {
    for (std::size_t i = 0; i < code_.calls.size(); ++i) {
      if (placed_.contains(static_cast<std::int32_t>(i)) || isEnd(static_cast<std::int32_t>(i))) continue;
      Event e;
      e.kind = EventKind::HostCall, e.host_call = static_cast<std::int32_t>(i);
      const std::int32_t block = fresh();
      if (cfg_ && !reader_.aside_calls_.contains(static_cast<std::int32_t>(i))) at(0).successors.push_back({block, EdgeKind::Next});
      at(block).events.push_back(e);
    }
  }
  bool isEnd(std::int32_t call) const {
    return llvm::any_of(reader_.ends_made_, [&](const auto& e) { return e.second == call; }) ||
           llvm::any_of(cleanup_calls_, [&](const auto& e) { return e.second == call; });
  }

  FunctionReader& reader_;
  Function& function_;
  Cleanups cleanups_;
  HostCode& code_;
  std::unique_ptr<CFG> cfg_;
  std::vector<const CFGBlock*> order_;
  std::map<const CFGBlock*, std::int32_t> number_;
  std::map<const CXXCatchStmt*, const CFGBlock*> handler_;
  std::map<const IfStmt*, const CFGBlock*> branch_;
  std::set<const CFGBlock*> in_handler_;
  const CFGBlock* parts_ = nullptr;  // of a destructor: where the members end
  std::set<std::int32_t> placed_, throwing_;
  std::map<std::pair<const Cleanup*, const void*>, std::int32_t> unwinds_;
  std::map<const VarDecl*, std::int32_t> cleanup_calls_;
  std::vector<std::string> pending_emptied_;
  std::int32_t current_ = 0, exit_ = -1, terminate_ = -1;
  bool ended_ = false;
};

void FunctionReader::blocks(Function& f) { Blocks(*this, f).build(); }

}  // namespace pglocklint::extract

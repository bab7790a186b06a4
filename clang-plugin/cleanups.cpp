#include "cleanups.h"

#include <clang/AST/Attr.h>

#include "call_models.h"
#include "tree.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

bool hasDestructor(QualType t) { return !t.isNull() && t.isDestructedType() == QualType::DK_cxx_destructor; }

// Whether a tree contains setjmp(), and whether it is compared so that the condition holds on the way in.
struct JumpTest {
  bool found = false, first_arm = false;
};
JumpTest jumpTest(const Expr* condition) {
  const Expr* e = condition->IgnoreParenImpCasts();
  bool negated = false;
  for (int i = 0; i < 8; ++i) {
    if (const auto* no = dyn_cast<UnaryOperator>(e); no && no->getOpcode() == UO_LNot) {
      negated = !negated, e = no->getSubExpr()->IgnoreParenImpCasts();
      continue;
    }
    if (const auto* two = dyn_cast<BinaryOperator>(e)) {
      if (two->isAssignmentOp()) {
        e = two->getRHS()->IgnoreParenImpCasts();
        continue;
      }
      if (two->isEqualityOp()) {
        negated ^= two->getOpcode() == BO_EQ;
        e = (isa<IntegerLiteral>(two->getLHS()->IgnoreParenImpCasts()) ? two->getRHS() : two->getLHS())->IgnoreParenImpCasts();
        continue;
      }
    }
    break;
  }
  const auto* call = dyn_cast<CallExpr>(e);
  const FunctionDecl* callee = call ? call->getDirectCallee() : nullptr;
  if (!callee || !callee->getIdentifier() || !catchesJumps(callee->getName())) return {};
  return {true, negated};
}

}  // namespace

class CleanupWalk {
 public:
  CleanupWalk(ASTContext& context, Cleanups& out) : context_(context), out_(out) {}

  void function(const FunctionDecl& f) {
    const auto* type = f.getType()->getAs<FunctionProtoType>();
    if (context_.getLangOpts().CXXExceptions && type && !isUnresolvedExceptionSpec(type->getExceptionSpecType()) &&
        type->canThrow() == CT_Cannot)
      push({.kind = CleanupKind::Terminate});
    const Stmt* body = f.getBody();
    const auto* whole = dyn_cast<CXXTryStmt>(body);
    const Cleanup* outside = top_;
    if (whole) push({.kind = CleanupKind::Try, .handlers = whole}), out_.tries_.push_back(whole);
    if (const auto* constructor = dyn_cast<CXXConstructorDecl>(&f))
      initialisers(*constructor);
    else if (const auto* destructor = dyn_cast<CXXDestructorDecl>(&f))
      parts(*destructor->getParent());
    if (!whole) return stmt(body);
    stmt(whole->getTryBlock());
    top_ = outside;
    handlers(*whole);
  }

 private:
  const Cleanup* push(Cleanup c) {
    c.outer = top_;
    out_.entries_.push_back(c);
    return top_ = &out_.entries_.back();
  }
  void pushObject(QualType type, Cleanup c) {
    if (!hasDestructor(type)) return;
    c.kind = CleanupKind::Destructor, c.type = type;
    push(c);
  }
  void site(const Stmt* s) {
    out_.at_.try_emplace(s, top_);
    out_.sites_.push_back({s, caller_, top_});
  }

  // The entries above `base` once more, as `change` leaves them; false: gone.
  template <typename Change>
  void redo(const Cleanup* base, Change change) {
    std::vector<const Cleanup*> above;
    for (const Cleanup* c = top_; c && c != base; c = c->outer) above.push_back(c);
    top_ = base;
    for (auto c = above.rbegin(); c != above.rend(); ++c) {
      Cleanup copy = **c;
      if (change(copy, *c)) push(copy);
    }
  }

  // --- statements
  void scope(const Stmt* s) {
    const Cleanup* base = top_;
    stmt(s);
    top_ = base;
  }

  void stmt(const Stmt* s) {
    if (!s || nesting_ > 800) return;
    struct Leave {
      int& n;
      ~Leave() { --n; }
    } leave{++nesting_};
    if (const auto* e = dyn_cast<Expr>(s)) return expr(e, false);
    const Cleanup* base = top_;
    switch (s->getStmtClass()) {
      case Stmt::CompoundStmtClass:
        for (const Stmt* child : s->children()) stmt(child);
        break;
      case Stmt::DeclStmtClass:
        for (const Decl* d : cast<DeclStmt>(s)->decls())
          if (const auto* v = dyn_cast<VarDecl>(d)) variable(*v);
        return;
      case Stmt::IfStmtClass:
        return branch(*cast<IfStmt>(s));
      case Stmt::WhileStmtClass: {
        const auto* loop = cast<WhileStmt>(s);
        stmt(loop->getConditionVariableDeclStmt()), stmt(loop->getCond()), scope(loop->getBody());
        break;
      }
      case Stmt::DoStmtClass:
        scope(cast<DoStmt>(s)->getBody()), stmt(cast<DoStmt>(s)->getCond());
        break;
      case Stmt::ForStmtClass: {
        const auto* loop = cast<ForStmt>(s);
        stmt(loop->getInit()), stmt(loop->getConditionVariableDeclStmt()), stmt(loop->getCond());
        scope(loop->getBody()), stmt(loop->getInc());
        break;
      }
      case Stmt::CXXForRangeStmtClass: {
        const auto* loop = cast<CXXForRangeStmt>(s);
        stmt(loop->getInit()), stmt(loop->getRangeStmt()), stmt(loop->getBeginStmt()), stmt(loop->getEndStmt());
        stmt(loop->getCond());
        const Cleanup* round = top_;
        stmt(loop->getLoopVarStmt()), scope(loop->getBody());
        top_ = round;
        stmt(loop->getInc());
        break;
      }
      case Stmt::SwitchStmtClass: {
        const auto* choice = cast<SwitchStmt>(s);
        stmt(choice->getInit()), stmt(choice->getConditionVariableDeclStmt()), stmt(choice->getCond()), stmt(choice->getBody());
        break;
      }
      case Stmt::CXXTryStmtClass: {
        const auto* attempt = cast<CXXTryStmt>(s);
        push({.kind = CleanupKind::Try, .handlers = attempt});
        out_.tries_.push_back(attempt);
        stmt(attempt->getTryBlock());
        top_ = base;
        handlers(*attempt);
        break;
      }
      case Stmt::ReturnStmtClass: {
        const auto* result = cast<ReturnStmt>(s);
        const VarDecl* named = result->getNRVOCandidate();
        if (named && named->isNRVOVariable() && context_.getLangOpts().ElideConstructors) return;
        if (result->getRetValue()) expr(result->getRetValue(), true);
        break;
      }
      case Stmt::CoroutineBodyStmtClass:
        return coroutine(*cast<CoroutineBodyStmt>(s));
      case Stmt::CoreturnStmtClass:
        stmt(cast<CoreturnStmt>(s)->getPromiseCall());
        break;
      case Stmt::CaseStmtClass:
        return stmt(cast<CaseStmt>(s)->getSubStmt());  // what it declares lives on
      case Stmt::DefaultStmtClass:
        return stmt(cast<DefaultStmt>(s)->getSubStmt());
      case Stmt::LabelStmtClass:
        return stmt(cast<LabelStmt>(s)->getSubStmt());
      case Stmt::AttributedStmtClass:
        return stmt(cast<AttributedStmt>(s)->getSubStmt());
      default:
        for (const Stmt* child : s->children()) stmt(child);
        break;
    }
    top_ = base;
  }

  void branch(const IfStmt& s) {
    const Cleanup* base = top_;
    stmt(s.getInit()), stmt(s.getConditionVariableDeclStmt());
    const JumpTest jump = s.getCond() && !s.isConsteval() ? jumpTest(s.getCond()) : JumpTest{};
    stmt(s.getCond());
    const Cleanup* arms = top_;
    const auto caught = [&] { push({.kind = CleanupKind::Jump, .branch = &s, .first_arm = jump.first_arm}); };
    if (jump.found && jump.first_arm) caught();
    scope(s.getThen());
    top_ = arms;
    if (jump.found && !jump.first_arm) caught();
    if (s.getElse()) scope(s.getElse());
    top_ = base;
    if (jump.found && !jump.first_arm) caught();  // if (setjmp(b)) { … return; } and all that follows
  }

  void handlers(const CXXTryStmt& s) {
    const Cleanup* base = top_;
    for (unsigned i = 0; i < s.getNumHandlers(); ++i) {
      const CXXCatchStmt* handler = s.getHandler(i);
      push({.kind = CleanupKind::EndCatch});
      if (const VarDecl* v = handler->getExceptionDecl()) pushObject(v->getType(), {.variable = v});
      stmt(handler->getHandlerBlock());
      top_ = base;
    }
  }

  void variable(const VarDecl& v) {
    if (v.hasExternalStorage() || v.isInvalidDecl()) return;
    const Expr* init = v.getInit();
    if (v.isStaticLocal()) {
      const Cleanup* base = top_;
      const bool runs = init && !v.hasConstantInitialization();
      const Cleanup* guard = runs && !v.getTLSKind() ? push({.kind = CleanupKind::AbortGuard}) : nullptr;
      if (runs) expr(init, true);
      redo(base, [&](const Cleanup&, const Cleanup* was) { return was != guard; });
      return;
    }
    if (init) expr(init, true);
    if (v.needsDestruction(context_) == QualType::DK_cxx_destructor) pushObject(v.getType(), {.variable = &v});
    if (v.hasAttr<CleanupAttr>()) push({.kind = CleanupKind::CleanupFunction, .variable = &v});
    if (const auto* parts = dyn_cast<DecompositionDecl>(&v))
      for (const BindingDecl* b : parts->bindings())
        if (const VarDecl* holder = b->getHoldingVar()) variable(*holder);
  }

  // --- construction
  void initialisers(const CXXConstructorDecl& c) {
    for (const CXXCtorInitializer* i : c.inits()) {
      if (i->getInit()) expr(i->getInit(), true);
      if (i->isDelegatingInitializer()) {
        pushObject(context_.getRecordType(c.getParent()), {});
      } else if (i->isBaseInitializer()) {
        const auto* base = i->getBaseClass()->getAsCXXRecordDecl();
        const CXXRecordDecl& made = *c.getParent();
        for (const CXXBaseSpecifier& b : i->isBaseVirtual() ? made.vbases() : made.bases())
          if (b.getType()->getAsCXXRecordDecl() == base) pushObject(b.getType(), {.base = &b});
      } else if (const FieldDecl* f = i->getAnyMember()) {
        pushObject(f->getType(), {.field = f});
      }
    }
  }

  void parts(const CXXRecordDecl& record) {
    for (const CXXBaseSpecifier& b : record.bases())
      if (!b.isVirtual()) pushObject(b.getType(), {.base = &b});
    if (record.isUnion()) return;
    for (const FieldDecl* f : record.fields()) pushObject(f->getType(), {.field = f});
  }

  void coroutine(const CoroutineBodyStmt& s) {
    const Cleanup* base = top_;
    for (const Stmt* move : s.getParamMoves()) stmt(move);
    stmt(s.getPromiseDeclStmt());
    stmt(s.getReturnValueInit());
    stmt(s.getInitSuspendStmt());
    const Cleanup* outside = top_;
    push({.kind = CleanupKind::Coroutine});
    stmt(s.getBody());
    stmt(s.getFallthroughHandler());
    top_ = outside;
    stmt(s.getExceptionHandler());
    top_ = base;
  }

  // --- expressions
  // `owned`: the object that it makes belongs to something that destroys it.
  void expr(const Expr* e, bool owned) {
    if (!e || nesting_ > 800) return;
    struct Leave {
      int& n;
      ~Leave() { --n; }
    } leave{++nesting_};
    const Cleanup* base = top_;
    switch (e->getStmtClass()) {
      case Stmt::ParenExprClass:
        return expr(cast<ParenExpr>(e)->getSubExpr(), owned);
      case Stmt::ExprWithCleanupsClass:
        expr(cast<ExprWithCleanups>(e)->getSubExpr(), owned);
        return redo(base, [](Cleanup& c, const Cleanup*) { return std::exchange(c.extended, false); });
      case Stmt::ConstantExprClass:
        if (cast<ConstantExpr>(e)->hasAPValueResult()) return;
        return expr(cast<ConstantExpr>(e)->getSubExpr(), owned);
      case Stmt::MaterializeTemporaryExprClass: {
        const auto* temporary = cast<MaterializeTemporaryExpr>(e);
        const Expr* inner = temporary->getSubExpr();
        expr(inner, true);
        llvm::SmallVector<const Expr*, 2> commas;
        llvm::SmallVector<SubobjectAdjustment, 2> adjustments;
        const Expr* object = inner->skipRValueSubobjectAdjustments(commas, adjustments);
        if (temporary->getStorageDuration() == SD_FullExpression)
          pushObject(object->getType(), {.temporary = object});
        else if (temporary->getStorageDuration() == SD_Automatic)
          pushObject(object->getType(), {.temporary = object, .extended = true});
        return;
      }
      case Stmt::CXXBindTemporaryExprClass:
        expr(cast<CXXBindTemporaryExpr>(e)->getSubExpr(), true);
        if (!owned) pushObject(e->getType(), {.temporary = e});
        return;
      case Stmt::ImplicitCastExprClass:
      case Stmt::CStyleCastExprClass:
      case Stmt::CXXFunctionalCastExprClass:
      case Stmt::CXXStaticCastExprClass:
      case Stmt::CXXConstCastExprClass:
      case Stmt::CXXReinterpretCastExprClass:
        return expr(cast<CastExpr>(e)->getSubExpr(), owned);
      case Stmt::CXXDynamicCastExprClass:
        expr(cast<CastExpr>(e)->getSubExpr(), owned);
        if (e->isGLValue()) site(e);
        return;
      case Stmt::CXXTemporaryObjectExprClass:
      case Stmt::CXXConstructExprClass:
        return construct(*cast<CXXConstructExpr>(e));
      case Stmt::CXXInheritedCtorInitExprClass:
        return site(e);
      case Stmt::CXXNewExprClass:
        return allocation(*cast<CXXNewExpr>(e));
      case Stmt::CXXDeleteExprClass:
        expr(cast<CXXDeleteExpr>(e)->getArgument(), false);
        return site(e);
      case Stmt::CXXThrowExprClass: {
        const auto* thrown = cast<CXXThrowExpr>(e);
        if (thrown->getSubExpr()) {
          const Cleanup* memory = push({.kind = CleanupKind::FreeException});
          expr(thrown->getSubExpr(), true);
          redo(base, [&](const Cleanup&, const Cleanup* was) { return was != memory; });
        }
        return site(e);
      }
      case Stmt::LambdaExprClass: {
        const auto* lambda = cast<LambdaExpr>(e);
        auto field = lambda->getLambdaClass()->field_begin();
        for (const Expr* init : lambda->capture_inits()) {
          if (init) expr(init, true);
          pushObject(field->getType(), {.temporary = init, .field = *field, .partial = true});
          ++field;
        }
        return complete(base);
      }
      case Stmt::InitListExprClass:
        return list(*cast<InitListExpr>(e), owned);
      case Stmt::CXXParenListInitExprClass: {
        const auto* parens = cast<CXXParenListInitExpr>(e);
        return elements(parens->getType(), parens->getInitExprs());
      }
      case Stmt::ArrayInitLoopExprClass: {
        const auto* loop = cast<ArrayInitLoopExpr>(e);
        if (const Expr* source = loop->getCommonExpr()->getSourceExpr()) expr(source, false);
        pushObject(e->getType(), {.temporary = e, .partial = true});
        expr(loop->getSubExpr(), true);
        return complete(base);
      }
      case Stmt::CXXDefaultArgExprClass:
        return expr(cast<CXXDefaultArgExpr>(e)->getExpr(), owned);
      case Stmt::CXXDefaultInitExprClass:
        return expr(cast<CXXDefaultInitExpr>(e)->getExpr(), owned);
      case Stmt::ConditionalOperatorClass: {
        const auto* choice = cast<ConditionalOperator>(e);
        expr(choice->getCond(), false);
        return arms(choice->getTrueExpr(), choice->getFalseExpr(), owned);
      }
      case Stmt::BinaryConditionalOperatorClass: {
        const auto* choice = cast<BinaryConditionalOperator>(e);
        expr(choice->getCommon(), false);
        expr(choice->getCond(), false);
        return arms(nullptr, choice->getFalseExpr(), owned);
      }
      case Stmt::BinaryOperatorClass:
      case Stmt::CompoundAssignOperatorClass: {
        const auto* two = cast<BinaryOperator>(e);
        if (two->isLogicalOp()) {
          expr(two->getLHS(), false);
          return arms(two->getRHS(), nullptr, false);
        }
        if (two->isAssignmentOp()) {
          expr(two->getRHS(), false);
          return expr(two->getLHS(), false);
        }
        expr(two->getLHS(), false);
        return expr(two->getRHS(), owned && two->isCommaOp());
      }
      case Stmt::CXXRewrittenBinaryOperatorClass:
        return expr(cast<CXXRewrittenBinaryOperator>(e)->getSemanticForm(), owned);
      case Stmt::CXXOperatorCallExprClass:
      case Stmt::CXXMemberCallExprClass:
      case Stmt::UserDefinedLiteralClass:
      case Stmt::CallExprClass:
        return call(*cast<CallExpr>(e));
      case Stmt::StmtExprClass:
        return scope(cast<StmtExpr>(e)->getSubStmt());
      case Stmt::OpaqueValueExprClass:
      case Stmt::UnaryExprOrTypeTraitExprClass:
      case Stmt::CXXNoexceptExprClass:
      case Stmt::RequiresExprClass:
      case Stmt::ConceptSpecializationExprClass:
      case Stmt::BlockExprClass:
        return;  // not evaluated here
      case Stmt::CXXTypeidExprClass:
        if (!cast<CXXTypeidExpr>(e)->isPotentiallyEvaluated()) return;
        return expr(cast<CXXTypeidExpr>(e)->getExprOperand(), false);
      case Stmt::GenericSelectionExprClass:
        return expr(cast<GenericSelectionExpr>(e)->getResultExpr(), owned);
      case Stmt::ChooseExprClass:
        return expr(cast<ChooseExpr>(e)->getChosenSubExpr(), owned);
      case Stmt::SubstNonTypeTemplateParmExprClass:
        return expr(cast<SubstNonTypeTemplateParmExpr>(e)->getReplacement(), owned);
      case Stmt::CoawaitExprClass:
      case Stmt::CoyieldExprClass: {
        const auto* suspension = cast<CoroutineSuspendExpr>(e);
        expr(suspension->getCommonExpr(), false);
        expr(suspension->getReadyExpr(), false), expr(suspension->getSuspendExpr(), false);
        return expr(suspension->getResumeExpr(), owned);
      }
      default:
        for (const Stmt* child : e->children())
          if (const auto* inner = dyn_cast_or_null<Expr>(child))
            expr(inner, false);
          else
            stmt(child);
        return;
    }
  }

  // One of two operands runs: what it made is certain in it, absent in the other, and afterwards there or not.
  void arms(const Expr* first, const Expr* second, bool owned) {
    const Cleanup* base = top_;
    const auto run = [&](const Expr* arm) {
      const Cleanup* before = top_ = base;
      if (arm) expr(arm, owned);
      std::vector<Cleanup> made;
      for (const Cleanup* c = top_; c && c != before; c = c->outer) made.insert(made.begin(), *c);
      return made;
    };
    const std::vector<Cleanup> left = run(first), right = run(second);
    top_ = base;
    for (const std::vector<Cleanup>* made : {&left, &right})
      for (Cleanup c : *made) c.maybe = true, push(c);
  }

  void complete(const Cleanup* base) {
    redo(base, [](const Cleanup& c, const Cleanup*) { return !c.partial; });
  }

  void list(const InitListExpr& written, bool owned) {
    const InitListExpr& e = written.isSemanticForm() || !written.getSemanticForm() ? written : *written.getSemanticForm();
    if (e.isTransparent()) return expr(e.getInit(0), owned);
    elements(e.getType(), e.inits());
  }

  void elements(QualType type, llvm::ArrayRef<Expr*> inits) {
    const Cleanup* base = top_;
    const auto* record = type->getAsCXXRecordDecl();
    if (!record) {  // as many of an array's elements as are there
      pushObject(type, {.partial = true});
      for (const Expr* i : inits) expr(i, true);
      return complete(base);
    }
    auto bases = record->bases_begin();
    auto field = record->field_begin();
    for (const Expr* i : inits) {
      expr(i, true);
      if (bases != record->bases_end()) {
        pushObject(bases->getType(), {.temporary = i, .base = &*bases, .partial = true});
        ++bases;
        continue;
      }
      while (field != record->field_end() && field->isUnnamedBitField()) ++field;
      if (record->isUnion() || field == record->field_end()) continue;
      pushObject(field->getType(), {.temporary = i, .field = *field, .partial = true});
      ++field;
    }
    complete(base);
  }

  void construct(const CXXConstructExpr& e) {
    if (e.isElidable() && context_.getLangOpts().ElideConstructors && e.getNumArgs() > 0) {
      const Expr* source = e.getArg(0);
      for (;;) {
        if (const auto* temporary = dyn_cast<MaterializeTemporaryExpr>(source))
          source = temporary->getSubExpr();
        else if (const auto* cast = dyn_cast<ImplicitCastExpr>(source); cast && cast->getCastKind() == CK_NoOp)
          source = cast->getSubExpr();
        else
          break;
      }
      return expr(source, true);
    }
    arguments(e.arguments(), e);
    if (e.getConstructor()->isTrivial()) return;
    const Cleanup* base = top_;
    if (e.getType()->isArrayType()) pushObject(e.getType(), {.partial = true});
    site(&e);
    complete(base);
  }

  template <typename Range>
  void arguments(Range&& range, const Stmt& whole) {
    for (const Expr* a : range) {
      const Stmt* outside = caller_;
      if (isa<CXXDefaultArgExpr>(a)) caller_ = &whole;
      expr(a, false);
      caller_ = outside;
    }
  }

  void call(const CallExpr& c) {
    const FunctionDecl* callee = c.getDirectCallee();
    if (isa<CXXPseudoDestructorExpr>(c.getCallee()->IgnoreParens())) return expr(c.getCallee(), false);
    if (const auto* op = dyn_cast<CXXOperatorCallExpr>(&c)) {
      const auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
      if (method && op->isAssignmentOp() && c.getNumArgs() == 2) {
        expr(c.getArg(1), false), expr(c.getArg(0), false);
        if (!method->isTrivial()) site(&c);
        return;
      }
      if (!method) expr(c.getCallee(), false);
    } else {
      expr(c.getCallee(), false);
    }
    arguments(c.arguments(), c);
    site(&c);
  }

  void allocation(const CXXNewExpr& e) {
    if (const auto size = e.getArraySize(); size && *size) expr(*size, false);
    arguments(e.placement_arguments(), e);
    site(&e);
    const Cleanup* base = top_;
    const Cleanup* memory = e.getInitializer() && e.getOperatorDelete() && !e.getOperatorNew()->isReservedGlobalPlacementOperator()
                                ? push({.kind = CleanupKind::FreeMemory})
                                : nullptr;
    if (e.getInitializer()) expr(e.getInitializer(), true);
    redo(base, [&](const Cleanup&, const Cleanup* was) { return was != memory; });
  }

  ASTContext& context_;
  Cleanups& out_;
  const Cleanup* top_ = nullptr;
  const Stmt* caller_ = nullptr;
  int nesting_ = 0;
};

Cleanups::Cleanups(ASTContext& context, const FunctionDecl& function) { CleanupWalk(context, *this).function(function); }

}  // namespace pglocklint::extract

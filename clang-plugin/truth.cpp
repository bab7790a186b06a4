// What conditions and booleans depend on: the answer of a call, whether it went well, a variable.
#include <algorithm>

#include "reader.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr int kMaxTruthDepth = 40;

bool isZero(const Expr* index, const ASTContext& context) {
  return index->getType()->isIntegerType() && integerConstant(index, context) == 0;
}

HostTruth ofRows(std::int32_t call, const char* comparison) {
  HostTruth t;
  t.kind = HostTruthKind::Rows, t.call = call, t.name = comparison;
  return t;
}

HostTruth ofCall(HostTruthKind kind, std::int32_t call) {
  HostTruth t;
  if (call >= 0) t.kind = kind, t.call = call;
  return t;
}

bool named(const FunctionDecl* f, llvm::ArrayRef<llvm::StringRef> names) {
  const IdentifierInfo* id = f ? f->getIdentifier() : nullptr;
  return id && llvm::is_contained(names, id->getName());
}

const FunctionDecl* calleeOf(const Expr* e) {
  const auto* c = dyn_cast_or_null<CallExpr>(e);
  return c ? c->getDirectCallee() : nullptr;
}

const Expr* objectOf(const Expr* e) {
  if (const auto* method = dyn_cast<CXXMemberCallExpr>(e)) return method->getImplicitObjectArgument();
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(e)) return op->getNumArgs() >= 1 ? op->getArg(0) : nullptr;
  return nullptr;
}

bool isClass(const Expr* e, llvm::StringRef name) {
  const auto* record = e && !e->getType().isNull() ? e->getType().getNonReferenceType()->getAsCXXRecordDecl() : nullptr;
  return record && qualifiedName(*record) == name;
}

bool isBoolean(QualType t) {
  t = t.getNonReferenceType();
  if (t->isBooleanType()) return true;
  const auto* record = t->getAsCXXRecordDecl();
  return record && qualifiedName(*record) == "std::optional" && !pointedTo(t).isNull() && pointedTo(t)->isBooleanType();
}

// An object that runs statements and has the answer of the last: Qt's.
bool isQuery(const Expr* e) { return isClass(e, "QSqlQuery"); }

bool isNullConstant(const Expr* e, ASTContext& context) {
  return e && !e->isValueDependent() && e->isNullPointerConstant(context, Expr::NPC_NeverValueDependent) != Expr::NPCK_NotNull;
}

}  // namespace

HostTruth constantTruth(bool value) {
  HostTruth t;
  t.kind = HostTruthKind::Constant, t.value = value;
  return t;
}

HostTruth variableNamed(std::string path) {
  HostTruth t;
  if (!path.empty()) t.kind = HostTruthKind::Variable, t.name = std::move(path);
  return t;
}

HostTruth negated(HostTruth t) {
  if (t.kind == HostTruthKind::Unknown) return t;
  if (t.kind == HostTruthKind::Constant) return constantTruth(!t.value);
  if (t.kind == HostTruthKind::Not) return HostTruth(t.args[0]);
  HostTruth result;
  result.kind = HostTruthKind::Not;
  result.args.push_back(std::move(t));
  return result;
}

HostTruth joined(HostTruthKind kind, HostTruth a, HostTruth b) {
  const bool absorbs = kind == HostTruthKind::Or;  // true or x
  for (HostTruth* t : {&a, &b})
    if (t->kind == HostTruthKind::Constant) return t->value == absorbs ? std::move(*t) : std::move(t == &a ? b : a);
  HostTruth result;
  if (a.kind == HostTruthKind::Unknown && b.kind == HostTruthKind::Unknown) return result;
  result.kind = kind;
  result.args.push_back(std::move(a)), result.args.push_back(std::move(b));
  return result;
}

// A local variable that is given one thing only, replaced by that.
const Expr* FunctionReader::throughVariable(const Expr* e) {
  for (int i = 0; e && i < 8; ++i) {
    e = stripped(e);
    const auto* ref = dyn_cast<DeclRefExpr>(e);
    if (!ref) return e;
    const VarDecl* v = dyn_cast<VarDecl>(ref->getDecl());
    if (const auto* b = dyn_cast<BindingDecl>(ref->getDecl())) v = b->getHoldingVar();
    if (!v || isa<ParmVarDecl>(v) || !v->hasLocalStorage()) return e;
    if (const auto loop = loop_of_.find(v); loop != loop_of_.end()) return e;
    const Expr* source = onlySource(*v);
    if (!source && steps_left_ > 0) {
      steps_left_ -= 50;
      source = values_.reachingOne(*v, ref);
    }
    if (!source || source == e) return e;
    e = source;
  }
  return e;
}

std::int32_t FunctionReader::resultOf(const Expr* written) {
  const Expr* e = throughVariable(written);
  for (int i = 0; e && i < 12; ++i) {
    e = throughVariable(e);
    if (const auto at = calls_at_.find(e); at != calls_at_.end()) {
      for (const std::int32_t index : at->second) {
        const HostCallKind kind = code_.calls[static_cast<std::size_t>(index)].kind;
        if (kind == HostCallKind::Execute || kind == HostCallKind::ExecutePrepared) return index;
      }
      return -1;
    }
    if (const auto* construct = dyn_cast<CXXConstructExpr>(e); construct && construct->getNumArgs() >= 1) {
      e = construct->getArg(0);
      continue;
    }
    if (const auto* list = dyn_cast<InitListExpr>(e); list && list->getNumInits() >= 1) {
      e = list->getInit(0);
      continue;
    }
    const FunctionDecl* callee = calleeOf(e);
    if (!callee) return -1;
    if (named(callee, {"get", "operator*", "release"}) || callee->getOverloadedOperator() == OO_Star ||
        callee->getOverloadedOperator() == OO_Arrow || isa<CXXConversionDecl>(callee)) {
      e = objectOf(e);
      continue;
    }
    if (named(callee, {"move", "forward", "as_const"}) && cast<CallExpr>(e)->getNumArgs() == 1) {
      e = cast<CallExpr>(e)->getArg(0);
      continue;
    }
    return -1;
  }
  return -1;
}

std::int32_t FunctionReader::firstRow(const Expr* written) {
  const Expr* e = throughVariable(written);
  if (!e || ++truth_depth_ > kMaxTruthDepth) return --truth_depth_, -1;
  struct Leave {
    int& n;
    ~Leave() { --n; }
  } leave{truth_depth_};
  if (const auto* ref = dyn_cast<DeclRefExpr>(e))  // for (auto row : result)
    if (const auto* v = dyn_cast<VarDecl>(ref->getDecl()))
      if (const auto at = ranges_.find(v); at != ranges_.end()) return resultOf(at->second);
  if (isClass(e, "pqxx::row") && calls_at_.contains(e)) return resultOf(e);
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e); construct && construct->getNumArgs() == 1)
    return firstRow(construct->getArg(0));
  const FunctionDecl* callee = calleeOf(e);
  const Expr* object = callee ? objectOf(e) : nullptr;
  if (!object) return -1;
  if (callee->getOverloadedOperator() == OO_Subscript || named(callee, {"at"})) {
    const auto* c = cast<CallExpr>(e);
    return isZero(c->getArg(c->getNumArgs() - 1), context_) ? resultOf(object) : -1;
  }
  if (named(callee, {"front", "one_row", "begin", "back"})) return resultOf(object);
  if (callee->getOverloadedOperator() == OO_Star || callee->getOverloadedOperator() == OO_Arrow) {
    const Expr* inner = throughVariable(object);
    return named(calleeOf(inner), {"begin", "cbegin"}) ? resultOf(objectOf(inner)) : firstRow(inner);
  }
  return -1;
}

std::int32_t FunctionReader::firstField(const Expr* written) {
  const Expr* e = throughVariable(written);
  if (!e || ++truth_depth_ > kMaxTruthDepth) return --truth_depth_, -1;
  struct Leave {
    int& n;
    ~Leave() { --n; }
  } leave{truth_depth_};
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e); construct && construct->getNumArgs() >= 1)
    return firstField(construct->getArg(0));
  if (const auto* cast = dyn_cast<CastExpr>(e)) return firstField(cast->getSubExpr());
  const FunctionDecl* callee = calleeOf(e);
  if (!callee) return -1;
  const auto* c = cast<CallExpr>(e);
  if (named(callee, {"PQgetvalue"}) && c->getNumArgs() == 3)
    return isZero(c->getArg(1), context_) && isZero(c->getArg(2), context_) ? resultOf(c->getArg(0)) : -1;
  if (named(callee, {"query_value"})) return resultOf(e);
  if (named(callee, {"get"}) && !isa<CXXMemberCallExpr>(e) && c->getNumArgs() == 1) {  // std::get<0>(tuple)
    const auto* arguments = callee->getTemplateSpecializationArgs();
    if (!arguments || arguments->size() == 0 || arguments->get(0).getKind() != TemplateArgument::Integral ||
        arguments->get(0).getAsIntegral() != 0)
      return -1;
    const Expr* tuple = throughVariable(c->getArg(0));
    if (const FunctionDecl* maker = calleeOf(tuple)) {
      if (named(maker, {"query1", "query01"})) return resultOf(tuple);
      if (named(maker, {"as"}) && objectOf(tuple)) return firstRow(objectOf(tuple));
    }
    return -1;
  }
  if (named(callee, {"move", "forward"}) && c->getNumArgs() == 1) return firstField(c->getArg(0));
  const Expr* object = objectOf(e);
  if (!object) return -1;
  if (named(callee, {"toBool", "toInt", "toString"})) return firstField(object);
  if (named(callee, {"value"}) && isQuery(object))
    return c->getNumArgs() == 1 && (isTextType(c->getArg(0)->getType()) || isZero(c->getArg(0), context_)) ? ranOn(object, *e) : -1;
  if (named(callee, {"as", "get", "c_str", "view", "value", "value_or", "data", "str"}) || isa<CXXConversionDecl>(callee) ||
      callee->getOverloadedOperator() == OO_Star)
    return firstField(object);
  if (named(callee, {"one_field"})) return resultOf(object);
  if (isClass(object, "pqxx::row")) {
    if (named(callee, {"front"})) return firstRow(object);
    if (callee->getOverloadedOperator() == OO_Subscript || named(callee, {"at"})) {
      const Expr* index = c->getArg(c->getNumArgs() - 1);
      // A column by its name: the only one of a lock call, as people write them.
      return isTextType(index->getType()) || isZero(index, context_) ? firstRow(object) : -1;
    }
  }
  return -1;
}

// The call of the lock manager whose result a number is: LOCKACQUIRE_NOT_AVAIL, which is 0, or one of those that mean that it has the lock.
std::int32_t FunctionReader::lockResult(const Expr* written) {
  const Expr* e = written->IgnoreParenImpCasts();
  if (!e->getType()->isIntegralOrEnumerationType()) return -1;
  e = throughVariable(e);
  const auto at = e ? calls_at_.find(e->IgnoreParenImpCasts()) : calls_at_.end();
  if (at == calls_at_.end()) return -1;
  for (const std::int32_t index : at->second)
    if (code_.calls[static_cast<std::size_t>(index)].lock_tag) return index;
  return -1;
}

std::int32_t FunctionReader::statusOf(const Expr* written) {
  const Expr* e = throughVariable(written->IgnoreParenImpCasts());
  e = e ? e->IgnoreParenImpCasts() : e;
  const FunctionDecl* callee = calleeOf(e);
  return named(callee, {"PQresultStatus"}) && cast<CallExpr>(e)->getNumArgs() == 1 ? resultOf(cast<CallExpr>(e)->getArg(0)) : -1;
}

// The statement that a query object has run last, as written, where `at` stands; -1: none that is known.
std::int32_t FunctionReader::ranOn(const Expr* query, const Expr& at) {
  const auto ran = runs_.find(path(query));
  if (ran == runs_.end()) return -1;
  const pglocklint::SourceRange here = places_.range(at.getSourceRange());
  std::int32_t last = -1;
  for (const std::int32_t index : ran->second)
    if (code_.calls[static_cast<std::size_t>(index)].range.begin < here.end) last = index;
  return last;
}

// The call whose rows an expression counts, or says whether there are any; -1: none.
std::int32_t FunctionReader::rowsOf(const Expr* e) {
  const FunctionDecl* callee = calleeOf(e);
  if (named(callee, {"PQntuples"}) && cast<CallExpr>(e)->getNumArgs() == 1) return resultOf(cast<CallExpr>(e)->getArg(0));
  const Expr* object = callee ? objectOf(e) : nullptr;
  return object && isClass(object, "pqxx::result") && named(callee, {"size", "empty"}) ? resultOf(object) : -1;
}

HostTruth FunctionReader::textTruth(const Expr* text, llvm::StringRef literal) {
  const bool yes = literal == "t" || literal == "true" || literal == "1", no = literal == "f" || literal == "false" || literal == "0";
  if (!yes && !no) return {};
  HostTruth answer = ofCall(HostTruthKind::Answer, firstField(text));
  return yes ? answer : negated(std::move(answer));
}

HostTruth FunctionReader::compared(const Expr* left, const Expr* right, bool equal) {
  const auto signedBy = [&](HostTruth t) { return equal ? t : negated(std::move(t)); };
  for (int turn = 0; turn < 2; ++turn, std::swap(left, right)) {
    const Expr* constant = right->IgnoreParenImpCasts();
    if (const auto* ref = dyn_cast<DeclRefExpr>(constant))
      if (const auto* status = dyn_cast<EnumConstantDecl>(ref->getDecl()); status && status->getName().starts_with("PGRES_")) {
        const bool well = status->getName() == "PGRES_TUPLES_OK" || status->getName() == "PGRES_COMMAND_OK" ||
                          status->getName() == "PGRES_SINGLE_TUPLE";
        const bool badly = status->getName() == "PGRES_FATAL_ERROR";
        if (!well && !badly) return {};
        HostTruth success = ofCall(HostTruthKind::Success, statusOf(left));
        return signedBy(well ? success : negated(success));
      }
    const Expr* core = stripped(right);
    if (const auto* literal = dyn_cast<clang::StringLiteral>(core); literal && literal->getCharByteWidth() == 1 &&
                                                                    !left->getType()->isPointerType())
      return signedBy(textTruth(left, literal->getString()));
    if (const auto* literal = dyn_cast<CharacterLiteral>(constant)) {
      const Expr* of = left->IgnoreParenImpCasts();
      const char c = static_cast<char>(literal->getValue());
      const Expr* text = nullptr;
      if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(of)) {
        if (isZero(subscript->getIdx(), context_)) text = subscript->getBase();
      } else if (const auto* deref = dyn_cast<clang::UnaryOperator>(of); deref && deref->getOpcode() == UO_Deref) {
        text = deref->getSubExpr();
      } else if (const FunctionDecl* callee = calleeOf(of);
                 callee && (callee->getOverloadedOperator() == OO_Subscript || named(callee, {"front", "at"})) && objectOf(of) &&
                 isTextType(objectOf(of)->getType())) {
        text = objectOf(of);
      } else if (const Expr* value = throughVariable(left); value && value != stripped(left)) {
        return compared(value, right, equal);
      }
      return text ? signedBy(textTruth(text, llvm::StringRef(&c, 1))) : HostTruth{};
    }
    const bool numbers = left->getType()->isIntegerType();
    if ((!numbers && isNullConstant(right, context_)) || isClass(right, "std::nullopt_t"))
      return negated(signedBy(variableNamed(mayBeHandle(left->getType()) || isPointerLikeType(left->getType()) ? heldName(path(left)) : "")));
    if (const auto n = integerConstant(right, context_)) {
      const bool zero = *n == 0;
      const Expr* of = left->IgnoreParenImpCasts();
      if (const std::int32_t lock = lockResult(of); lock >= 0) {
        HostTruth got = ofCall(HostTruthKind::Answer, lock);
        // LOCKACQUIRE_OK is what it is on any first call; others that mean that it has the lock are rare, and say no more.
        return signedBy(zero ? negated(std::move(got)) : *n == 1 ? std::move(got) : joined(HostTruthKind::And, std::move(got), {}));
      }
      if (const FunctionDecl* callee = calleeOf(of)) {
        const auto* c = cast<CallExpr>(of);
        const bool compares = named(callee, {"strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp"}) && c->getNumArgs() >= 2;
        if (compares && zero)
          for (unsigned i = 0; i < 2; ++i)
            if (const auto* literal = dyn_cast<clang::StringLiteral>(stripped(c->getArg(i))))
              return signedBy(textTruth(c->getArg(1 - i), literal->getString()));
        if (named(callee, {"compare"}) && zero && c->getNumArgs() == 1 && objectOf(of))
          if (const auto* literal = dyn_cast<clang::StringLiteral>(stripped(c->getArg(0))))
            return signedBy(textTruth(objectOf(of), literal->getString()));
        if (compares) return {};
      }
      if (isTruthNumber(of->getType())) return signedBy(comparedNumber(of, {"=", *n}));
      if (isBoolean(left->IgnoreParenImpCasts()->getType()) && (zero || *n == 1)) {
        HostTruth t = truth(left->IgnoreParenImpCasts());
        return signedBy(zero ? negated(std::move(t)) : std::move(t));
      }
    }
  }
  return {};
}

bool FunctionReader::expanded(const VarDecl& v) const {
  return v.hasLocalStorage() && !isa<ParmVarDecl>(v) && v.getType()->isBooleanType() && onlySource(v);
}

HostTruth FunctionReader::variableTruth(const Expr* e) {
  const auto* ref = dyn_cast<DeclRefExpr>(e);
  const auto* v = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  if (const auto* b = ref ? dyn_cast<BindingDecl>(ref->getDecl()) : nullptr) v = b->getHoldingVar();
  if (v) {
    if (const Expr* source = onlySource(*v); source && v->hasLocalStorage() && resolving_.insert(v).second) {
      HostTruth t = v->getType()->isBooleanType() || v->getType()->isReferenceType() ? truth(source) : HostTruth{};
      resolving_.erase(v);
      if (expanded(*v) || t.kind != HostTruthKind::Unknown) return t;
    }
    if (!ref || isa<BindingDecl>(ref->getDecl())) return {};
  }
  return variableNamed(isBoolean(e->getType()) ? path(e) : heldName(path(e)));
}

HostTruth FunctionReader::truth(const Expr* e) {
  if (!e || steps_left_-- <= 0 || ++truth_depth_ > kMaxTruthDepth) {
    if (truth_depth_ > kMaxTruthDepth) --truth_depth_;
    return {};
  }
  HostTruth t = truthAt(e);
  --truth_depth_;
  return t;
}

HostTruth FunctionReader::truthAt(const Expr* written) {
  const Expr* e = stripped(written);
  if (e->isValueDependent() || e->isTypeDependent()) return {};
  if (const auto* literal = dyn_cast<CXXBoolLiteralExpr>(e)) return constantTruth(literal->getValue());
  if (isTruthNumber(e->getType()))
    if (const auto n = integerConstant(e, context_)) return constantTruth(*n != 0);
  if (const auto at = exchanged_.find(e); at != exchanged_.end()) return variableNamed(at->second);
  if (const std::int32_t lock = lockResult(e); lock >= 0) return ofCall(HostTruthKind::Answer, lock);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(e))
    return unary->getOpcode() == UO_LNot ? negated(truth(unary->getSubExpr()))
           : unary->getOpcode() == UO_Deref ? variableTruth(e)
                                            : HostTruth{};
  if (const auto* two = dyn_cast<clang::BinaryOperator>(e)) {
    switch (two->getOpcode()) {
      case BO_LAnd:
        return joined(HostTruthKind::And, truth(two->getLHS()), truth(two->getRHS()));
      case BO_LOr:
        return joined(HostTruthKind::Or, truth(two->getLHS()), truth(two->getRHS()));
      case BO_EQ:
      case BO_NE:
        return compared(two->getLHS(), two->getRHS(), two->getOpcode() == BO_EQ);
      case BO_LT:
      case BO_GT:
      case BO_LE:
      case BO_GE: return comparedNumbers(*two);
      case BO_And:
      case BO_Or:
        if (!isBoolean(two->getLHS()->IgnoreParenImpCasts()->getType())) return {};
        return joined(two->getOpcode() == BO_And ? HostTruthKind::And : HostTruthKind::Or, truth(two->getLHS()),
                      truth(two->getRHS()));
      case BO_Assign:
        if (isTruthNumber(e->getType())) return negated(comparedNumber(e, {"=", 0}));
        return e->getType()->isBooleanType() ? truth(two->getRHS()) : variableNamed(heldName(path(two->getLHS())));
      case BO_Comma:
        return truth(two->getRHS());
      default:
        return {};
    }
  }
  if (const auto* again = dyn_cast<CXXRewrittenBinaryOperator>(e)) return truth(again->getSemanticForm());
  if (const auto* choice = dyn_cast<ConditionalOperator>(e)) {
    const HostTruth condition = truth(choice->getCond());
    return joined(HostTruthKind::Or, joined(HostTruthKind::And, condition, truth(choice->getTrueExpr())),
                  joined(HostTruthKind::And, negated(condition), truth(choice->getFalseExpr())));
  }
  if (const auto* cast = dyn_cast<CastExpr>(e)) {
    const Expr* inner = cast->getSubExpr();
    switch (cast->getCastKind()) {
      case CK_PointerToBoolean:
        return firstField(inner) >= 0 || resultOf(inner) >= 0 ? HostTruth{} : variableNamed(heldName(path(inner)));
      case CK_IntegralToBoolean: {
        const Expr* number = inner->IgnoreParenImpCasts();
        if (const FunctionDecl* callee = calleeOf(number); named(callee, {"strcmp", "strncmp", "strcasecmp", "memcmp"})) {
          const auto* c = cast_or_null<CallExpr>(number);
          for (unsigned i = 0; i < 2 && c->getNumArgs() >= 2; ++i)
            if (const auto* literal = dyn_cast<clang::StringLiteral>(stripped(c->getArg(i))))
              return negated(textTruth(c->getArg(1 - i), literal->getString()));
          return {};
        }
        return inner->getType()->isIntegerType() ? truth(inner) : HostTruth{};
      }
      default:
        return truth(inner);
    }
  }
  if (const auto* list = dyn_cast<InitListExpr>(e)) {
    if (list->getNumInits() == 0) return constantTruth(false);
    return list->getNumInits() == 1 && !list->getType()->isRecordType() ? truth(list->getInit(0)) : HostTruth{};
  }
  if (isa<ImplicitValueInitExpr>(e) || isa<CXXScalarValueInitExpr>(e)) return constantTruth(false);
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e))
    return isBoolean(e->getType()) && construct->getNumArgs() == 1 ? truth(construct->getArg(0)) : HostTruth{};
  if (isa<DeclRefExpr>(e) || isa<MemberExpr>(e)) {
    if (const auto* ref = dyn_cast<DeclRefExpr>(e))
      if (const auto* v = dyn_cast<VarDecl>(ref->getDecl()); v && v->getType().isConstQualified() && !v->hasLocalStorage()) {
        Expr::EvalResult n;
        if (e->EvaluateAsRValue(n, context_) && n.Val.isInt()) return constantTruth(n.Val.getInt() != 0);
      }
    if (isTruthNumber(e->getType())) return numberTruth(e);
    return isBoolean(e->getType()) || (mayBeHandle(e->getType()) && !isResultHandle(e->getType())) ? variableTruth(e) : HostTruth{};
  }
  const auto* c = dyn_cast<CallExpr>(e);
  if (!c) return {};
  const FunctionDecl* callee = c->getDirectCallee();
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(e)) {
    if ((op->getOperator() == OO_EqualEqual || op->getOperator() == OO_ExclaimEqual) && op->getNumArgs() == 2 &&
        !calls_at_.contains(e))
      return compared(op->getArg(0), op->getArg(1), op->getOperator() == OO_EqualEqual);
    if (op->getOperator() == OO_Exclaim && op->getNumArgs() == 1 && !calls_at_.contains(e)) return negated(truth(op->getArg(0)));
  }
  if (const Expr* object = objectOf(e); object && callee && isPointerLikeType(object->getType())) {
    if (isa<CXXConversionDecl>(callee) || named(callee, {"has_value"})) return variableNamed(heldName(path(object)));
    if (isBoolean(object->getType()) &&
        (named(callee, {"value", "value_or"}) || callee->getOverloadedOperator() == OO_Star)) {
      const std::int32_t field = firstField(object);
      return field >= 0 ? ofCall(HostTruthKind::Answer, field) : truth(object);
    }
  }
  if (const Expr* object = objectOf(e); object && isQuery(object) && named(callee, {"exec", "next", "first", "last", "seek"}))
    return ofCall(HostTruthKind::Success, ranOn(object, *e));
  if (const std::int32_t rows = rowsOf(e); rows >= 0) return ofRows(rows, named(callee, {"empty"}) ? "=0" : ">0");
  const bool number = isTruthNumber(c->getType());
  if (!number && !isBoolean(c->getType()))
    return isHandle(c->getType()) && callee && !isResultHandle(c->getType()) ? variableNamed(heldName(path(c))) : HostTruth{};
  if (const std::int32_t field = number ? -1 : firstField(e); field >= 0) return ofCall(HostTruthKind::Answer, field);
  return ofCall(HostTruthKind::Answer, ownAnswer(e));
}

// The call of a function of the program that an expression is; -1: none.
std::int32_t FunctionReader::ownAnswer(const Expr* e) const {
  const auto at = calls_at_.find(e);
  if (at == calls_at_.end()) return -1;
  for (const std::int32_t index : at->second) {
    const HostCall& call = code_.calls[static_cast<std::size_t>(index)];
    if (call.kind == HostCallKind::Function || (call.kind == HostCallKind::Execute && !call.name.empty())) return index;
  }
  return -1;
}

HostTruth FunctionReader::engaged(const Expr* written) {
  if (!written) return constantTruth(false);
  const Expr* e = stripped(written);
  if (const auto at = exchanged_.find(e); at != exchanged_.end()) return variableNamed(at->second);
  if (isNullConstant(e, context_) || isClass(e, "std::nullopt_t")) return constantTruth(false);
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e)) {
    if (!isPointerLikeType(construct->getType())) return constantTruth(true);
    return construct->getNumArgs() == 0 || isa<CXXDefaultArgExpr>(construct->getArg(0)) ? constantTruth(false)
                                                                                        : engaged(construct->getArg(0));
  }
  if (const auto* cast = dyn_cast<CastExpr>(e)) return engaged(cast->getSubExpr());
  if (const auto* list = dyn_cast<InitListExpr>(e))
    return list->getNumInits() == 0 ? constantTruth(false) : list->getNumInits() == 1 ? engaged(list->getInit(0)) : constantTruth(true);
  if (isa<CXXNewExpr>(e) || isa<CXXThisExpr>(e)) return constantTruth(true);
  if (const auto* u = dyn_cast<clang::UnaryOperator>(e); u && u->getOpcode() == UO_AddrOf) return constantTruth(true);
  if (const FunctionDecl* callee = calleeOf(e)) {
    if (named(callee, {"make_unique", "make_shared", "make_optional"})) return constantTruth(true);
    if (named(callee, {"move", "forward"}) && cast<CallExpr>(e)->getNumArgs() == 1) return engaged(cast<CallExpr>(e)->getArg(0));
    if (objectOf(e) && isPointerLikeType(objectOf(e)->getType()) && named(callee, {"get", "release"}))
      return variableNamed(heldName(path(objectOf(e))));
    if (const auto at = calls_at_.find(e); at != calls_at_.end())
      for (const std::int32_t index : at->second)  // as the function leaves it
        if (const HostCall& call = code_.calls[static_cast<std::size_t>(index)]; call.kind == HostCallKind::Function && !call.made.empty())
          return variableNamed(heldName(call.made));
    return {};
  }
  if (isa<DeclRefExpr>(e) || isa<MemberExpr>(e)) {
    if (isObject(e->getType()) && !isPointerLikeType(e->getType())) return constantTruth(true);
    return variableNamed(heldName(path(e)));
  }
  return {};
}

}  // namespace pglocklint::extract

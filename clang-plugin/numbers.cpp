// Numbers that stand for what happened: C's booleans, status codes, enums.
#include <algorithm>

#include "model/host_number.h"
#include "reader.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

// Without conversions from number to number, as between C's enums and int.
const Expr* unconverted(const Expr* written) {
  const Expr* e = stripped(written);
  while (const auto* cast = dyn_cast<CastExpr>(e)) {
    if (cast->getCastKind() != CK_IntegralCast && cast->getCastKind() != CK_NoOp && cast->getCastKind() != CK_LValueToRValue) break;
    e = stripped(cast->getSubExpr());
  }
  return e;
}

}  // namespace

bool isTruthNumber(QualType t) { return t->isIntegralOrEnumerationType() && !t->isBooleanType() && !t->isAnyCharacterType(); }

// A local number that is given constants, conditions and answers of calls only, and is never counted with.
bool FunctionReader::isStatus(const VarDecl& v) {
  if (!v.hasLocalStorage() || isa<ParmVarDecl>(v) || !isTruthNumber(v.getType())) return false;
  const auto known = status_.find(&v);
  if (known != status_.end()) return known->second;
  status_[&v] = true;  // of itself
  const auto at = sources_.find(&v);
  return status_[&v] = at != sources_.end() && !at->second.counted && !loop_of_.contains(&v) &&
                       llvm::all_of(at->second.values, [&](const Expr* e) { return tellsNumber(e); });
}

bool FunctionReader::tellsNumber(const Expr* written) {
  const Expr* e = unconverted(written);
  if (const auto* choice = dyn_cast<ConditionalOperator>(e)) return tellsNumber(choice->getTrueExpr()) && tellsNumber(choice->getFalseExpr());
  if (const auto* two = dyn_cast<clang::BinaryOperator>(e); two && two->getOpcode() == BO_Assign) return tellsNumber(two->getRHS());
  if (const auto* ref = dyn_cast<DeclRefExpr>(e))
    if (const auto* v = dyn_cast<VarDecl>(ref->getDecl()); v && isStatus(*v)) return true;
  return integerConstant(e, context_) || e->isKnownToHaveBooleanValue() || isa<CallExpr>(e);
}

// The path that what is known of a number is kept by; empty: nothing is.
std::string FunctionReader::numberPath(const Expr* e) {
  if (const auto* ref = dyn_cast<DeclRefExpr>(e)) {
    const auto* v = dyn_cast<VarDecl>(ref->getDecl());
    if (!v || !isTruthNumber(v->getType().getNonReferenceType())) return "";
    return isa<ParmVarDecl>(v) || !v->hasLocalStorage() || isStatus(*v) ? path(e) : "";
  }
  const auto* u = dyn_cast<clang::UnaryOperator>(e);
  return isa<MemberExpr>(e) || (u && u->getOpcode() == UO_Deref) ? path(e) : "";
}

// What a variable was given, where that is one thing and tells more than the variable; null otherwise.
const Expr* FunctionReader::numberSource(const Expr* e) {
  const auto* ref = dyn_cast<DeclRefExpr>(e);
  const auto* v = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  if (!v || !v->hasLocalStorage() || isa<ParmVarDecl>(v)) return nullptr;
  const Expr* source = onlySource(*v);
  if (!source && !isStatus(*v) && steps_left_ > 0) {
    steps_left_ -= 50;
    source = values_.reachingOne(*v, ref);
  }
  return source && tellsNumber(source) ? source : nullptr;
}

HostTruth FunctionReader::numberTruth(const Expr* e) {
  if (const auto n = integerConstant(e, context_)) return constantTruth(*n != 0);
  if (const Expr* source = numberSource(e)) {
    if (!resolving_.insert(source).second) return {};
    HostTruth t = truth(source);
    resolving_.erase(source);
    return t;
  }
  return variableNamed(numberPath(e));
}

HostTruth FunctionReader::comparedNumber(const Expr* written, const HostComparison& c) {
  const Expr* e = written ? unconverted(written) : nullptr;
  if (!e || e->isValueDependent() || e->isTypeDependent() || steps_left_-- <= 0) return {};
  if (const auto n = integerConstant(e, context_)) return constantTruth(holds(*n, c));
  if (e->isKnownToHaveBooleanValue()) {
    const bool one = holds(1, c), zero = holds(0, c);
    if (one == zero) return constantTruth(one);
    return one ? truth(e) : negated(truth(e));
  }
  if (!isTruthNumber(e->getType())) return {};
  if (c.relation == "=" && c.number == 0 && rowsOf(e) < 0) return negated(truth(e));
  if (const auto* choice = dyn_cast<ConditionalOperator>(e)) {
    const HostTruth condition = truth(choice->getCond());
    if (condition.kind == HostTruthKind::Unknown) return {};
    return joined(HostTruthKind::Or, joined(HostTruthKind::And, condition, comparedNumber(choice->getTrueExpr(), c)),
                  joined(HostTruthKind::And, negated(condition), comparedNumber(choice->getFalseExpr(), c)));
  }
  if (const auto* two = dyn_cast<clang::BinaryOperator>(e)) {
    if (two->getOpcode() == BO_Comma) return comparedNumber(two->getRHS(), c);
    if (two->getOpcode() != BO_Assign) return {};
    const Expr* left = unconverted(two->getLHS());
    if (numberSource(left)) return comparedNumber(two->getRHS(), c);
    const std::string path = numberPath(left);
    return variableNamed(path.empty() ? "" : hostNumber(path, c.relation, c.number));
  }
  if (const Expr* source = numberSource(e)) {
    if (!resolving_.insert(source).second) return {};
    HostTruth t = comparedNumber(source, c);
    resolving_.erase(source);
    return t;
  }
  const std::int32_t rows = rowsOf(e), index = rows >= 0 ? rows : ownAnswer(e);
  if (index >= 0) {
    HostTruth t;
    t.kind = rows >= 0 ? HostTruthKind::Rows : HostTruthKind::Answer, t.call = index, t.name = comparisonText(c.relation, c.number);
    return t;
  }
  const std::string path = numberPath(e);
  return variableNamed(path.empty() ? "" : hostNumber(path, c.relation, c.number));
}

HostTruth FunctionReader::comparedNumbers(const clang::BinaryOperator& two) {
  std::string relation = two.getOpcodeStr().str();
  const Expr *left = two.getLHS(), *right = two.getRHS();
  auto n = integerConstant(right, context_);
  if (!n) {
    n = integerConstant(left, context_);
    std::swap(left, right);
    relation = relation[0] == '<' ? ">" + relation.substr(1) : "<" + relation.substr(1);
  }
  return n ? comparedNumber(left, {relation, *n}) : HostTruth{};
}

// The numbers that it may be, as far as they are known, each with when it is.
std::vector<std::pair<std::int64_t, HostTruth>> FunctionReader::numbersOf(const Expr* written) {
  const Expr* e = unconverted(written);
  std::vector<std::pair<std::int64_t, HostTruth>> found;
  if (e->isValueDependent() || e->isTypeDependent()) return found;
  if (const auto n = integerConstant(e, context_)) {
    found.emplace_back(*n, constantTruth(true));
  } else if (e->isKnownToHaveBooleanValue()) {
    if (HostTruth t = truth(e); t.kind != HostTruthKind::Unknown) found.emplace_back(1, std::move(t));
  } else if (const auto* choice = dyn_cast<ConditionalOperator>(e)) {
    const HostTruth condition = truth(choice->getCond());
    if (condition.kind == HostTruthKind::Unknown) return found;
    for (auto& [n, t] : numbersOf(choice->getTrueExpr())) found.emplace_back(n, joined(HostTruthKind::And, condition, std::move(t)));
    for (auto& [n, t] : numbersOf(choice->getFalseExpr())) found.emplace_back(n, joined(HostTruthKind::And, negated(condition), std::move(t)));
  } else if (const Expr* source = numberSource(e); source && resolving_.insert(source).second) {
    found = numbersOf(source);
    resolving_.erase(source);
  }
  return found;
}

HostTruth FunctionReader::numberGiven(const Expr* value) {
  if (!value || value->isValueDependent() || value->isTypeDependent()) return {};
  return tellsNumber(value) || isa<DeclRefExpr, MemberExpr>(unconverted(value)) ? truth(value) : HostTruth{};
}

// `target` becomes this number; null: one that nothing is known of.
void FunctionReader::numberAssigned(const std::string& target, const Expr* value, const pglocklint::SourceRange& range, std::vector<Event>& out) {
  out.push_back(addStep(HostStepKind::Assign, range, target, numberGiven(value)));
  if (value) numbersAssigned(target, value, range, out);
}

void FunctionReader::numbersAssigned(const std::string& target, const Expr* value, const pglocklint::SourceRange& range, std::vector<Event>& out) {
  std::map<std::int64_t, HostTruth> when;
  for (auto& [n, t] : numbersOf(value)) {
    const auto [at, fresh] = when.try_emplace(n, t);
    if (!fresh) at->second = joined(HostTruthKind::Or, std::move(at->second), std::move(t));
  }
  for (auto& [n, t] : when) out.push_back(addStep(HostStepKind::Assign, range, hostNumber(target, "=", n), std::move(t)));
}

}  // namespace pglocklint::extract

// One pass over the functions of a translation unit: their database calls, their calls of each other, their loops, their blocks.
#include "extract.h"

#include <clang/AST/ParentMap.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Analysis/CFG.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

#include "call_models.h"
#include "model/lock_function.h"
#include "tree.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr std::size_t kMostBinds = 64;

// A word that makes a text one about locks.
bool mentionsLock(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
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

class FunctionReader {
 public:
  FunctionReader(ASTContext& context, Places& places, const FunctionDecl& function)
      : context_(context),
        places_(places),
        declaration_(function),
        values_(context, places, &function),
        parents_(function.getBody()) {
    values_.setLoops(&loop_of_);
  }

  // nullopt: nothing in it concerns us.
  std::optional<Function> read() {
    walk(declaration_.getBody(), -1, 0);
    if (const auto* constructor = dyn_cast<CXXConstructorDecl>(&declaration_))
      for (const CXXCtorInitializer* i : constructor->inits()) walk(i->getInit(), -1, 0);
    if (code_.calls.empty()) return std::nullopt;
    Function f;
    f.kind = FunctionKind::HostFunction, f.schema = kHostSchema, f.language = "cpp";
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
    blocks(f);
    f.host.push_back(std::move(code_));
    return f;
  }
  const std::set<std::pair<std::uint32_t, std::uint32_t>>& usedLiterals() const { return values_.usedLiterals(); }

 private:
  void walk(const Stmt* s, std::int32_t loop, std::uint32_t depth) {
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
      return walk(lambda->getBody(), loop, depth);
    }
    const bool is_loop = isa<ForStmt>(s) || isa<WhileStmt>(s) || isa<DoStmt>(s);
    if (is_loop) open_.push_back(s);
    for (const Stmt* child : s->children()) walk(child, loop, depth + (is_loop ? 1 : 0));
    if (is_loop) open_.pop_back();
    if (const auto* call = dyn_cast<CallExpr>(s))
      readCall(*call, loop, depth);
    else if (const auto* construct = dyn_cast<CXXConstructExpr>(s))
      readConstruct(*construct, loop, depth);
  }

  // Whether an object among these is declared inside of a loop that is open here: pqxx::work tx(c) in the loop's body.
  bool madeInLoop(const Expr* object, const std::vector<const Expr*>& arguments) const {
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
  std::int32_t addLoop(const CXXForRangeStmt& s, std::int32_t parent) {
    HostLoop loop;
    const VarDecl* variable = s.getLoopVariable();
    loop.range = places_.range(s.getForLoc(), s.getRParenLoc());
    loop.variable = variable->getNameAsString();
    if (const auto* parts = dyn_cast<DecompositionDecl>(variable)) {
      for (const BindingDecl* b : parts->bindings()) loop.variable += (loop.variable.empty() ? "[" : ", ") + b->getNameAsString();
      loop.variable += "]";
    }
    loop.parent = parent;
    const Expr* container = stripped(s.getRangeInit());
    const auto* ref = dyn_cast<DeclRefExpr>(container);
    const auto* member = dyn_cast<MemberExpr>(container);
    const std::string name = ref ? ref->getDecl()->getNameAsString() : member ? member->getMemberNameInfo().getAsString() : "";
    loop.container =
        name.empty() ? values_.type(container->getType()).name : name + " (" + values_.type(container->getType()).name + ")";
    loop.order = orderOf(*container, s);
    const auto index = static_cast<std::int32_t>(code_.loops.size());
    code_.loops.push_back(std::move(loop));
    loop_of_[variable] = index;
    return index;
  }

  LoopOrder orderOf(const Expr& container, const CXXForRangeStmt& loop) {
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

  bool sortedBefore(const VarDecl& variable, const CXXForRangeStmt& loop) {
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
    } finder(variable, loop.getForLoc(), places_.manager());
    finder.TraverseStmt(const_cast<Stmt*>(declaration_.getBody()));
    return finder.found;
  }

  // --- calls
  HostCall begin(HostCallKind kind, const Expr& whole, std::string api, std::int32_t loop, std::uint32_t depth) {
    HostCall call;
    call.kind = kind, call.api = std::move(api), call.loop = loop, call.loop_depth = depth;
    call.range = places_.range(whole.getSourceRange());
    return call;
  }

  void add(HostCall call, const Expr& whole) {
    index_of_[&whole] = static_cast<std::int32_t>(code_.calls.size());
    code_.calls.push_back(std::move(call));
  }

  void setTexts(HostCall& call, const Texts& texts) {
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

  void readCall(const CallExpr& c, std::int32_t loop, std::uint32_t depth) {
    const FunctionDecl* callee = c.getDirectCallee();
    if (!callee) return unresolvedCall(c, loop, depth);
    const std::string name = qualifiedName(*callee), of_class = classOf(*callee);
    std::vector<const Expr*> arguments(c.arg_begin(), c.arg_end());
    const auto* method = dyn_cast<CXXMemberCallExpr>(&c);
    const Expr* object = method ? method->getImplicitObjectArgument() : nullptr;
    if (isa<CXXOperatorCallExpr>(c) && isa<CXXMethodDecl>(callee) && !arguments.empty())
      object = arguments[0], arguments.erase(arguments.begin());
    const auto* id = callee->getIdentifier();
    if (const CallModel* model = id ? findCallModel(of_class, id->getName()) : nullptr)
      return modelled(*model, c, name, arguments, object, loop, depth);
    const bool project = places_.inProject(callee->getLocation());
    if (sendsLockText(*callee, name, c.getType(), arguments)) return guessed(c, name, arguments, object, loop, depth);
    if (project && !isa<CXXOperatorCallExpr>(c)) {
      HostCall call = begin(HostCallKind::Function, c, name, loop, depth);
      call.name = functionId(*callee, context_, places_);
      for (const Expr* a : arguments)
        if (call.binds.size() < kMostBinds) call.binds.push_back(values_.value(a));
      if (object) call.connection = values_.path(object);
      call.session_in_loop = madeInLoop(object, arguments);
      add(std::move(call), c);
    }
  }

  // A call of something that clang could not resolve, for want of a header.
  void unresolvedCall(const CallExpr& c, std::int32_t loop, std::uint32_t depth) {
    const std::vector<const Expr*> arguments(c.arg_begin(), c.arg_end());
    for (const Expr* a : arguments)
      if (const auto* s = dyn_cast<clang::StringLiteral>(stripped(a));
          s && s->getCharByteWidth() == 1 && mentionsLock(s->getString().str()) && beginsLikeSql(s->getString().str()))
        return guessed(c, "a function that is not known", arguments, nullptr, loop, depth);
  }

  void readConstruct(const CXXConstructExpr& c, std::int32_t loop, std::uint32_t depth) {
    const CXXConstructorDecl* constructor = c.getConstructor();
    const std::string of_class = classOf(*constructor);
    if (isTextType(c.getType()) || handlesTextOnly(of_class + "::") || of_class.starts_with("pqxx::")) return;
    const std::vector<const Expr*> arguments(c.arg_begin(), c.arg_end());
    if (sendsLockText(*constructor, of_class, c.getType(), arguments))
      return guessed(c, of_class, arguments, nullptr, loop, depth);
    if (!places_.inProject(constructor->getLocation())) return;
    HostCall call = begin(HostCallKind::Function, c, of_class, loop, depth);
    call.name = functionId(*constructor, context_, places_);
    for (const Expr* a : arguments)
      if (call.binds.size() < kMostBinds) call.binds.push_back(values_.value(a));
    add(std::move(call), c);
  }

  // Some function that we know nothing of is given text about locks: it runs it.
  bool sendsLockText(const FunctionDecl& callee, const std::string& name, QualType result,
                     const std::vector<const Expr*>& arguments) {
    if (handlesTextOnly(name) || isTextType(result) || isa<CXXConversionDecl>(callee) || callee.isOverloadedOperator())
      return false;
    return std::any_of(arguments.begin(), arguments.end(), [&](const Expr* a) {
      return a->getType()->isDependentType() ? false : isTextType(a->getType()) && isLockSql(values_.texts(a));
    });
  }

  void guessed(const Expr& whole, const std::string& name, const std::vector<const Expr*>& arguments, const Expr* object,
               std::int32_t loop, std::uint32_t depth) {
    HostCall call = begin(HostCallKind::Execute, whole, name, loop, depth);
    std::size_t at = 0;
    while (at < arguments.size() && !(isTextType(arguments[at]->getType()) && isLockSql(values_.texts(arguments[at])))) ++at;
    if (at == arguments.size())
      for (at = 0; at + 1 < arguments.size() && !isLockSql(values_.texts(arguments[at]));) ++at;
    const Texts texts = values_.texts(arguments[at]);
    setTexts(call, texts);
    // As many values behind the text as it has placeholders: they are its values.
    const unsigned wanted = placeholders(texts);
    if (wanted > 0 && arguments.size() - at - 1 == wanted)
      for (std::size_t i = at + 1; i < arguments.size(); ++i) call.binds.push_back(values_.value(arguments[i]));
    call.connection = object ? values_.path(object) : at > 0 ? values_.path(arguments[0]) : "";
    call.session_in_loop = madeInLoop(object, arguments);
    add(std::move(call), whole);
  }

  void modelled(const CallModel& m, const CallExpr& c, const std::string& name, const std::vector<const Expr*>& arguments,
                const Expr* object, std::int32_t loop, std::uint32_t depth) {
    const auto argument = [&](int i) {
      return i >= 0 && static_cast<std::size_t>(i) < arguments.size() ? arguments[static_cast<std::size_t>(i)] : nullptr;
    };
    HostCall call = begin(m.role == Role::Execute   ? HostCallKind::Execute
                          : m.role == Role::Prepare ? HostCallKind::Prepare
                                                    : HostCallKind::ExecutePrepared,
                          c, name, loop, depth);
    if (const Expr* sql = argument(m.sql)) setTexts(call, values_.texts(sql));
    if (const Expr* statement = argument(m.statement)) {
      const Texts names = values_.texts(statement);
      if (names.size() == 1 && names[0].size() == 1 && !names[0][0].hole) call.name = names[0][0].text;
    }
    if (m.role == Role::Prepare && m.statement == 0 && arguments.size() == 1)
      setTexts(call, values_.texts(arguments[0]));  // the unnamed statement
    addBinds(m, arguments, call);
    call.connection = m.connection >= 0 && argument(m.connection) ? values_.path(argument(m.connection))
                      : object                                    ? values_.path(object)
                                                                  : "";
    call.session_in_loop = madeInLoop(
        object, m.connection >= 0 && argument(m.connection) ? std::vector{argument(m.connection)} : std::vector<const Expr*>{});
    if (m.role != Role::Prepare) resultUse(c, call);
    add(std::move(call), c);
  }

  void addBinds(const CallModel& m, const std::vector<const Expr*>& arguments, HostCall& call) {
    const auto first = static_cast<std::size_t>(std::max(m.first_bind, 0));
    if (m.binds == Binds::Pack) {
      for (std::size_t i = first; i < arguments.size() && call.binds.size() < kMostBinds; ++i)
        call.binds.push_back(values_.value(arguments[i]));
      // exec(text, pqxx::params{a, b})
      if (arguments.size() == first + 1)
        if (const auto* construct = dyn_cast<CXXConstructExpr>(stripped(arguments[first]));
            construct && classOf(*construct->getConstructor()) == "pqxx::params") {
          call.binds.clear();
          for (const Expr* a : construct->arguments()) call.binds.push_back(values_.value(a));
        }
    }
    if (m.binds == Binds::None && m.scope == "pqxx::" && m.role == Role::Execute &&
        arguments.size() == static_cast<std::size_t>(m.sql) + 2) {
      if (const auto* construct = dyn_cast<CXXConstructExpr>(stripped(arguments.back()));
          construct && classOf(*construct->getConstructor()) == "pqxx::params")
        for (const Expr* a : construct->arguments()) call.binds.push_back(values_.value(a));
    }
    if (m.binds == Binds::PqArrays || m.binds == Binds::PqArraysUntyped) {
      const std::size_t at = first + (m.binds == Binds::PqArrays ? 2 : 1);
      if (at >= arguments.size()) return;
      for (const Expr* e : values_.elements(arguments[at]))
        if (call.binds.size() < kMostBinds) call.binds.push_back(values_.value(e));
      const Expr* formats = at + 2 < arguments.size() ? stripped(arguments[at + 2]) : nullptr;
      call.binary = formats && !formats->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNull);
    }
  }

  // --- the answer
  const Stmt* parentOf(const Stmt* s) const {
    const Stmt* p = parents_.getParent(s);
    while (p && (isa<ParenExpr>(p) || isa<FullExpr>(p) || isa<MaterializeTemporaryExpr>(p) || isa<CXXBindTemporaryExpr>(p)))
      p = parents_.getParent(p);
    return p;
  }

  static void note(HostCall& call, ResultUse use, const pglocklint::SourceRange& range) {
    if (use > call.result || call.result == ResultUse::Unknown) call.result = use, call.result_range = range;
  }

  // What one use of the answer looks at. False: it gets out of sight.
  bool lookedAt(const Expr* e, HostCall& call) {
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

  void resultUse(const CallExpr& c, HostCall& call) {
    const Stmt* parent = parentOf(&c);
    const Expr* at = &c;
    while (const auto* e = dyn_cast_or_null<Expr>(parent)) {
      if (isa<ImplicitCastExpr>(e) || (isa<CXXConstructExpr>(e) && cast<CXXConstructExpr>(e)->getNumArgs() == 1))
        at = e, parent = parentOf(e);
      else
        break;
    }
    if (!parent) return;
    const bool discarded = isa<CompoundStmt>(parent) || isa<ForStmt>(parent) || isa<CXXForRangeStmt>(parent) ||
                           isa<WhileStmt>(parent) || isa<DoStmt>(parent) ||
                           (isa<IfStmt>(parent) && cast<IfStmt>(parent)->getCond() != at) || isa<SwitchCase>(parent) ||
                           isa<LabelStmt>(parent);
    const bool to_void = isa<CStyleCastExpr>(parent) && cast<CStyleCastExpr>(parent)->getType()->isVoidType();
    if (discarded || to_void) {
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

  // All uses of the variable that holds the answer.
  void variableUse(const VarDecl& v, HostCall& call) {
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
    HostCall probe = call;
    bool assigned = false;
    for (const DeclRefExpr* e : uses.found) {
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

  // --- blocks
  void blocks(Function& f) {
    CFG::BuildOptions options;
    options.setAllAlwaysAdd();
    options.PruneTriviallyFalseEdges = false;
    const std::unique_ptr<CFG> cfg = CFG::buildCFG(&declaration_, const_cast<Stmt*>(declaration_.getBody()), &context_, options);
    std::vector<bool> placed(code_.calls.size());
    const auto event = [](std::int32_t index) {
      Event e;
      e.kind = EventKind::HostCall, e.host_call = index;
      return e;
    };
    if (cfg) {
      std::map<const CFGBlock*, std::int32_t> number;
      std::vector<const CFGBlock*> order{&cfg->getEntry()};
      number[order[0]] = 0;
      for (std::size_t i = 0; i < order.size(); ++i)
        for (const CFGBlock::AdjacentBlock& next : order[i]->succs())
          if (const CFGBlock* b = next.getReachableBlock();
              b && number.try_emplace(b, static_cast<std::int32_t>(order.size())).second)
            order.push_back(b);
      f.blocks.resize(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        for (const CFGElement& element : *order[i]) {
          const auto statement = element.getAs<CFGStmt>();
          const auto* e = statement ? dyn_cast<Expr>(statement->getStmt()) : nullptr;
          const auto at = e ? index_of_.find(e) : index_of_.end();
          if (at == index_of_.end() || placed[static_cast<std::size_t>(at->second)]) continue;
          placed[static_cast<std::size_t>(at->second)] = true;
          f.blocks[i].events.push_back(event(at->second));
        }
        for (const CFGBlock::AdjacentBlock& next : order[i]->succs())
          if (const CFGBlock* b = next.getReachableBlock()) f.blocks[i].successors.push_back({number[b], EdgeKind::Next});
      }
    }
    if (f.blocks.empty()) f.blocks.emplace_back();
    // In lambdas, handlers and code that clang's graph leaves out: each may run, or not.
    for (std::size_t i = 0; i < placed.size(); ++i) {
      if (placed[i]) continue;
      const auto block = static_cast<std::int32_t>(f.blocks.size());
      f.blocks[0].successors.push_back({block, EdgeKind::Next});
      f.blocks.emplace_back().events.push_back(event(static_cast<std::int32_t>(i)));
    }
  }

  ASTContext& context_;
  Places& places_;
  const FunctionDecl& declaration_;
  std::map<const VarDecl*, std::int32_t> loop_of_;
  ValueReader values_;
  ParentMap parents_;
  HostCode code_;
  std::map<const Expr*, std::int32_t> index_of_;
  std::vector<const Stmt*> open_;  // loops around
  int nesting_ = 0;
};

class UnitReader : public RecursiveASTVisitor<UnitReader> {
 public:
  UnitReader(ASTContext& context, Places& places, Unit& unit) : context_(context), places_(places), unit_(unit) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool shouldWalkTypesOfTypeLocs() const { return false; }

  bool TraverseDecl(Decl* d) {
    // What lies in system headers is opaque.
    if (d && !isa<TranslationUnitDecl>(d) && d->getLocation().isValid() && isa<TranslationUnitDecl>(d->getLexicalDeclContext()) &&
        !places_.inProject(d->getLocation()))
      return true;
    return RecursiveASTVisitor::TraverseDecl(d);
  }

  bool VisitFunctionDecl(FunctionDecl* f) {
    if (!f->doesThisDeclarationHaveABody() || f->isDependentContext() || !f->getBody() || !places_.inProject(f->getLocation()))
      return true;
    if (const auto* method = dyn_cast<CXXMethodDecl>(f); method && method->getParent()->isLambda()) return true;
    FunctionReader reader(context_, places_, *f);
    if (std::optional<Function> read = reader.read()) unit_.functions.push_back(std::move(*read));
    used_.insert(reader.usedLiterals().begin(), reader.usedLiterals().end());
    return true;
  }

  const std::set<std::pair<std::uint32_t, std::uint32_t>>& used() const { return used_; }

 private:
  ASTContext& context_;
  Places& places_;
  Unit& unit_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> used_;
};

// Literals with lock SQL that no call was seen to use, and comments that allow findings: a pass over the tokens as they are
// written.
class RawPass {
 public:
  RawPass(ASTContext& context, Places& places, Unit& unit) : context_(context), places_(places), unit_(unit) {}

  void run(const std::set<std::pair<std::uint32_t, std::uint32_t>>& used) {
    const SourceManager& manager = context_.getSourceManager();
    const FileID id = manager.getMainFileID();
    const llvm::MemoryBufferRef buffer = manager.getBufferOrFake(id);
    Lexer lexer(id, buffer, manager, context_.getLangOpts());
    Token token;
    for (bool end = false; !end;) {
      end = lexer.LexFromRawLexer(token);
      if (token.is(tok::eof)) break;
      if (!tok::isStringLiteral(token.getKind())) continue;
      const std::string text(buffer.getBuffer().substr(manager.getFileOffset(token.getLocation()), token.getLength()));
      if (!callsLock(text)) continue;
      const auto at = places_.byte(token.getLocation());
      if (!at || used.contains(*at)) continue;
      unit_.not_understood.push_back(
          {places_.range(token.getLocation(), token.getLocation()), "C++: where this text is sent is not followed", true});
    }
  }

 private:
  // The name of a lock function with its bracket: SQL, not a message about it.
  static bool callsLock(const std::string& text) {
    std::string lower = text;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return std::any_of(kLockFunctions.begin(), kLockFunctions.end(),
                       [&](const LockFunction& f) { return lower.find(std::string(f.name) + "(") != std::string::npos; });
  }

  ASTContext& context_;
  Places& places_;
  Unit& unit_;
};

}  // namespace

Unit extractUnit(ASTContext& context, const ExtractOptions& options) {
  Unit unit;
  unit.language = "cpp";
  Places places(context, options.root, options.file);
  const SourceManager& manager = context.getSourceManager();
  Function top;
  top.language = "cpp";
  top.range =
      places.range(manager.getLocForStartOfFile(manager.getMainFileID()), manager.getLocForEndOfFile(manager.getMainFileID()));
  top.body_range = top.range;
  top.blocks.emplace_back();
  unit.functions.push_back(std::move(top));
  UnitReader reader(context, places, unit);
  reader.TraverseAST(context);
  RawPass(context, places, unit).run(reader.used());
  std::sort(unit.not_understood.begin(), unit.not_understood.end());
  unit.files = places.files();
  return unit;
}

}  // namespace pglocklint::extract

// One pass over the functions of a translation unit.
#include "extract.h"

#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

#include "model/ascii.h"
#include "model/lock_function.h"
#include "reader.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr std::size_t kMostConstants = 5000;  // of one unit

class UnitReader : public RecursiveASTVisitor<UnitReader> {
 public:
  UnitReader(ASTContext& context, Places& places, const ProjectModels& models, Unit& unit)
      : memory_(context, places, models), places_(places), unit_(unit) {}
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
    if (!f->isImplicit()) read(*f);
    return true;
  }

  // A constant that other units may declare and use.
  bool VisitVarDecl(VarDecl* v) {
    const bool shared = v->hasGlobalStorage() && !v->isStaticLocal() && v->isExternallyVisible() && !v->isInline() && v->getType().isConstQualified();
    if (!shared || v->isThisDeclarationADefinition() != VarDecl::Definition || !v->getInit() || v->isInvalidDecl() ||
        v->getDeclContext()->isDependentContext() || v->getInit()->isValueDependent() || constants_.size() >= kMostConstants || !places_.inProject(v->getLocation()))
      return true;
    ValueReader values(memory_.context, places_, nullptr);
    HostAlias constant;
    constant.value = values.value(v->getInit());
    if (constant.value.kind != HostValueKind::Integer && constant.value.kind != HostValueKind::Text) return true;
    const std::string name = qualifiedName(*v);
    constant.path = "global " + name, constant.value.type = values.type(v->getType());
    constant.value.constant = name, constant.value.defined = places_.range(v->getLocation(), v->getLocation());
    constants_.push_back(std::move(constant));
    return true;
  }

  // Functions that the compiler writes: they call what members and bases do.
  bool VisitCXXRecordDecl(CXXRecordDecl* record) {
    if (!record->isThisDeclarationADefinition() || record->isDependentContext() || !places_.inProject(record->getLocation()))
      return true;
    for (CXXMethodDecl* m : record->methods())
      if (m->isImplicit()) read(*m);
    opensByItself(*record);
    return true;
  }

  const std::set<std::pair<std::uint32_t, std::uint32_t>>& used() const { return used_; }

  // The constants as a function of their own, which nobody calls.
  void addConstants() {
    if (constants_.empty()) return;
    const pglocklint::SourceRange range = constants_.front().value.defined;
    Function f;
    f.kind = FunctionKind::HostFunction, f.schema = kHostSchema, f.language = "cpp";
    f.name = "constants() in " + places_.files()[range.file];
    f.range = f.name_range = f.body_range = range;
    f.blocks.emplace_back();
    f.host.emplace_back().aliases = std::move(constants_);
    unit_.functions.push_back(std::move(f));
  }

 private:
  void read(const FunctionDecl& f) {
    if (!f.doesThisDeclarationHaveABody() || f.isDependentContext() || !f.getBody() || !places_.inProject(f.getLocation())) return;
    if (isLambdaBody(f)) return;  // read with the function around it
    readOne(f);
    while (!memory_.lambdas.empty()) {
      const FunctionDecl* body = memory_.lambdas.back();
      memory_.lambdas.pop_back();
      if (body->doesThisDeclarationHaveABody() && !body->isDependentContext() && lambdas_read_.insert(body).second) readOne(*body);
    }
  }

  // A class whose constructor nobody wrote, nor this unit needs: what its fields open by themselves (connection c_{"dbname=app"}).
  void opensByItself(const CXXRecordDecl& record) {
    if (llvm::any_of(record.ctors(), [](const CXXConstructorDecl* c) { return c->hasBody() || (c->isUserProvided() && !c->isImplicit()); })) return;
    HostCode code;
    Block block;
    for (const FieldDecl* field : record.fields()) {
      if (!field->hasInClassInitializer() || !field->getInClassInitializer()) continue;
      std::optional<HostCall> call = opening(*field);
      if (!call) continue;
      Event e;
      e.kind = EventKind::HostCall, e.host_call = static_cast<std::int32_t>(code.calls.size());
      block.events.push_back(std::move(e));
      code.calls.push_back(std::move(*call));
    }
    if (code.calls.empty()) return;
    Function f;
    f.kind = FunctionKind::HostFunction, f.schema = kHostSchema, f.language = "cpp";
    f.name = qualifiedName(record) + "::" + kHostConstructor + "()";
    f.range = f.name_range = f.body_range = places_.range(record.getLocation(), record.getLocation());
    f.blocks.push_back(std::move(block));
    f.host.push_back(std::move(code));
    unit_.functions.push_back(std::move(f));
  }

  std::optional<HostCall> opening(const FieldDecl& field) {
    const Expr* init = stripped(field.getInClassInitializer());
    if (const auto* list = dyn_cast<InitListExpr>(init); list && list->getNumInits() == 1) init = stripped(list->getInit(0));
    const auto* construct = dyn_cast<CXXConstructExpr>(init);
    const auto* written = dyn_cast<CallExpr>(init);
    const FunctionDecl* callee = written ? written->getDirectCallee() : nullptr;
    const CallModel* model = nullptr;
    llvm::ArrayRef<const Expr*> arguments;
    if (construct) {
      model = findCallModel(classOf(*construct->getConstructor()), kHostConstructor);
      arguments = {construct->getArgs(), construct->getNumArgs()};
    } else if (callee && callee->getIdentifier()) {
      const QualType held = callee->getName().starts_with("make_") ? pointedTo(written->getType()) : QualType();
      const auto* made = held.isNull() ? nullptr : held->getAsCXXRecordDecl();
      model = made ? findCallModel(qualifiedName(*made), kHostConstructor) : findCallModel(scopeOf(*callee), callee->getName());
      arguments = {written->getArgs(), written->getNumArgs()};
    }
    if (!model || model->role != Role::Connect) return std::nullopt;
    HostCall call;
    call.kind = HostCallKind::Connect, call.api = construct ? classOf(*construct->getConstructor()) : qualifiedName(*callee);
    call.range = places_.range(field.getSourceRange());
    call.connection = call.made = "this." + field.getNameAsString();
    if (model->sql < 0 || static_cast<std::size_t>(model->sql) >= arguments.size()) return call;
    ValueReader values(memory_.context, places_, nullptr);
    addTexts(call, values.texts(arguments[static_cast<std::size_t>(model->sql)]));
    return call;
  }

  void readOne(const FunctionDecl& f) {
    FunctionReader reader(memory_, f);
    if (std::optional<Function> function = reader.read()) unit_.functions.push_back(std::move(*function));
    used_.insert(reader.usedLiterals().begin(), reader.usedLiterals().end());
    for (const NotUnderstood& n : reader.lost())
      if (std::ranges::find(unit_.not_understood, n) == unit_.not_understood.end()) unit_.not_understood.push_back(n);
  }

  UnitMemory memory_;
  std::set<const FunctionDecl*> lambdas_read_;
  std::vector<HostAlias> constants_;
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
      if (!at || at->first != 0 || used.contains(*at)) continue;
      unit_.not_understood.push_back(
          {places_.range(token.getLocation(), token.getLocation()), "C++: where this text is sent is not followed", true});
    }
  }

 private:
  // The name of a lock function with its bracket: SQL, not a message about it.
  static bool callsLock(const std::string& text) {
    const std::string lower = lowered(text);
    return std::any_of(kLockFunctions.begin(), kLockFunctions.end(),
                       [&](const LockFunction& f) { return lower.find(std::string(f.name) + "(") != std::string::npos; });
  }

  ASTContext& context_;
  Places& places_;
  Unit& unit_;
};

}  // namespace

MadeUnit extractUnit(ASTContext& context, const ExtractOptions& options) {
  Unit unit;
  unit.language = "cpp";
  Places places(context, options.root, options.file, options.preprocessed);
  const SourceManager& manager = context.getSourceManager();
  Function top;
  top.language = "cpp";
  top.range =
      places.range(manager.getLocForStartOfFile(manager.getMainFileID()), manager.getLocForEndOfFile(manager.getMainFileID()));
  top.body_range = top.range;
  top.blocks.emplace_back();
  unit.functions.push_back(std::move(top));
  const ProjectModels models(options.models);
  UnitReader reader(context, places, models, unit);
  reader.TraverseAST(context);
  reader.addConstants();
  RawPass(context, places, unit).run(reader.used());
  std::sort(unit.not_understood.begin(), unit.not_understood.end());
  unit.files = places.files();
  return {std::move(unit), options.preprocessed ? std::vector<std::string>{} : places.digests()};
}

}  // namespace pglocklint::extract

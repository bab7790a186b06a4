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

  // Functions that the compiler writes: they call what members and bases do.
  bool VisitCXXRecordDecl(CXXRecordDecl* record) {
    if (!record->isThisDeclarationADefinition() || record->isDependentContext() || !places_.inProject(record->getLocation()))
      return true;
    for (CXXMethodDecl* m : record->methods())
      if (m->isImplicit()) read(*m);
    return true;
  }

  const std::set<std::pair<std::uint32_t, std::uint32_t>>& used() const { return used_; }

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

  void readOne(const FunctionDecl& f) {
    FunctionReader reader(memory_, f);
    if (std::optional<Function> function = reader.read()) unit_.functions.push_back(std::move(*function));
    used_.insert(reader.usedLiterals().begin(), reader.usedLiterals().end());
  }

  UnitMemory memory_;
  std::set<const FunctionDecl*> lambdas_read_;
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
  RawPass(context, places, unit).run(reader.used());
  std::sort(unit.not_understood.begin(), unit.not_understood.end());
  unit.files = places.files();
  return {std::move(unit), options.preprocessed ? std::vector<std::string>{} : places.digests()};
}

}  // namespace pglocklint::extract

// The extractor as a plugin: facts are made while the project compiles, and travel in the object file.
//
//   clang++-19 -fplugin=…/pglocklint-clang-plugin.so [-fplugin-arg-pglocklint-root=FOLDER] -c a.cpp -o a.o
//
// A file beside the object would be lost when a compiler cache answers; a section of the object is not, and no build system needs to know of it.
// The section is not loaded, and its records are strings that linkers merge (model/facts_section.h).
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include "compiler_version.h"
#include "extract.h"
#include "model/facts_section.h"

namespace {

using namespace clang;
namespace extract = pglocklint::extract;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

// Runs before anything of ours that derives from clang's classes: a compiler with other classes would crash on them.
__attribute__((constructor(101))) void checkCompiler() {
  using FullVersion = std::string (*)();
  const auto full = reinterpret_cast<FullVersion>(dlsym(RTLD_DEFAULT, "_ZN5clang19getClangFullVersionB5cxx11Ev"));
  const std::string wrong = extract::wrongCompiler(full ? full() : std::string(), LLVM_VERSION_MAJOR);
  if (wrong.empty()) return;
  std::fprintf(stderr, "error: %s\n", wrong.c_str());
  std::fflush(stderr);
  _exit(1);
}

std::string real(llvm::StringRef name) {
  llvm::SmallString<256> found;
  if (!fs::real_path(name, found)) return found.str().str();
  found = name;
  fs::make_absolute(found);
  path::remove_dots(found, /*remove_dot_dot=*/true);
  return found.str().str();
}

bool inside(llvm::StringRef file, llvm::StringRef folder) {
  return file.starts_with(folder) && (folder.ends_with("/") || file.substr(folder.size()).starts_with("/"));
}

// The nearest folder above the file that looks like the root of a project; else the working folder, if the file is in it; else empty.
std::string rootOf(const std::string& file) {
  for (llvm::StringRef folder = path::parent_path(file); !folder.empty(); folder = path::parent_path(folder)) {
    for (const char* mark : {"pglocklint.json", ".git"}) {
      llvm::SmallString<256> marked(folder);
      path::append(marked, mark);
      if (fs::exists(marked)) return folder.str();
    }
    if (folder == "/") break;
  }
  const std::string working = real(".");
  return inside(file, working) ? working : "";
}

// What a preprocessor has put out begins with the line marker of its main file.
bool isPreprocessed(CompilerInstance& compiler) {
  const auto& inputs = compiler.getFrontendOpts().Inputs;
  if (!inputs.empty() && inputs[0].getKind().isPreprocessed()) return true;
  const SourceManager& manager = compiler.getSourceManager();
  const llvm::StringRef text = manager.getBufferOrFake(manager.getMainFileID()).getBuffer();
  return text.starts_with("# ") && text.size() > 2 && llvm::isDigit(text[2]);
}

// The name of the file that the text was made of.
std::string presumedMainFile(const SourceManager& manager) {
  const FileID id = manager.getMainFileID();
  const std::size_t line = manager.getBufferOrFake(id).getBuffer().find('\n');
  const unsigned second = line == llvm::StringRef::npos ? 0 : static_cast<unsigned>(line) + 1;
  const PresumedLoc presumed = manager.getPresumedLoc(manager.getLocForStartOfFile(id).getLocWithOffset(static_cast<int>(second)));
  return presumed.isValid() ? presumed.getFilename() : "";
}

class Consumer : public ASTConsumer {
 public:
  Consumer(CompilerInstance& compiler, std::string root) : compiler_(compiler), root_(std::move(root)) {}

  void HandleTranslationUnit(ASTContext& context) override {
    if (compiler_.getDiagnostics().hasErrorOccurred()) return;
    extract::ExtractOptions options;
    options.preprocessed = isPreprocessed(compiler_);
    const SourceManager& manager = compiler_.getSourceManager();
    std::string name;
    if (options.preprocessed)
      name = presumedMainFile(manager);
    else if (const auto entry = manager.getFileEntryRefForID(manager.getMainFileID()))
      name = entry->getName().str();
    if (name.empty() || name == "-" || name == "<stdin>") return;
    if (!place(name, options)) return;
    if (const auto config = llvm::MemoryBuffer::getFile(options.root + "/pglocklint.json"))
      options.models = pglocklint::hostModelsOfConfig((*config)->getBuffer());
    write(context, pglocklint::sectionRecords(extract::extractUnit(context, options)));
  }

 private:
  // The root and the file's name below it.
  bool place(const std::string& name, extract::ExtractOptions& options) {
    const bool elsewhere = options.preprocessed && !fs::exists(name);  // on the machine that has the sources
    std::string file = elsewhere ? name : real(name);
    options.root = !root_.empty() ? (elsewhere ? root_ : real(root_)) : elsewhere ? "" : rootOf(file);
    if (elsewhere && !path::is_absolute(file)) {
      options.root = options.root.empty() ? real(".") : options.root;
      options.file = file;
      return true;
    }
    if (options.root.empty()) {
      DiagnosticsEngine& diagnostics = compiler_.getDiagnostics();
      diagnostics.Report(diagnostics.getCustomDiagID(
          DiagnosticsEngine::Warning,
          "pglocklint makes no facts of %0: which folder is the project's root cannot be seen here; "
          "-fplugin-arg-pglocklint-root=FOLDER says it"))
          << file;
      return false;
    }
    if (!inside(file, options.root)) return false;  // generated, or of another project
    options.file = llvm::StringRef(file).substr(options.root.size()).ltrim('/').str();
    return true;
  }

  void write(ASTContext& context, const std::vector<std::string>& records) {
    std::string code = "\t.pushsection " + std::string(pglocklint::kFactsSection) + ",\"MS\",@progbits,1\n";
    for (const std::string& record : records) {
      code += "\t.ascii \"";
      for (const char c : record) {
        if (c == '"' || c == '\\') code += '\\';
        if (c == '\n')
          code += "\\n";
        else if (c == '\0')
          code += "\\000";
        else
          code += c;
      }
      code += "\"\n";
    }
    code += "\t.popsection\n";
    const QualType type = context.getStringLiteralArrayType(context.CharTy, static_cast<unsigned>(code.size()));
    auto* text = clang::StringLiteral::Create(context, code, StringLiteralKind::Ordinary, false, type, SourceLocation());
    auto* assembly = FileScopeAsmDecl::Create(context, context.getTranslationUnitDecl(), text, SourceLocation(), SourceLocation());
    compiler_.getASTConsumer().HandleTopLevelDecl(DeclGroupRef(assembly));
  }

  CompilerInstance& compiler_;
  std::string root_;
};

// What has an object file in the end.
bool makesObject(const CompilerInstance& compiler) {
  switch (compiler.getFrontendOpts().ProgramAction) {
    case frontend::EmitAssembly:
    case frontend::EmitBC:
    case frontend::EmitLLVM:
    case frontend::EmitLLVMOnly:
    case frontend::EmitCodeGenOnly:
    case frontend::EmitObj:
      break;
    default:
      return false;
  }
  return compiler.getTarget().getTriple().isOSBinFormatELF() && !compiler.getLangOpts().CUDAIsDevice && !compiler.getLangOpts().OpenMPIsTargetDevice;
}

class Action : public PluginASTAction {
 protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, llvm::StringRef) override {
    if (!makesObject(compiler)) return std::make_unique<ASTConsumer>();
    return std::make_unique<Consumer>(compiler, root_);
  }
  bool ParseArgs(const CompilerInstance& compiler, const std::vector<std::string>& arguments) override {
    for (const std::string& argument : arguments) {
      if (llvm::StringRef(argument).starts_with("root=")) {
        root_ = argument.substr(5);
        continue;
      }
      DiagnosticsEngine& diagnostics = compiler.getDiagnostics();
      diagnostics.Report(diagnostics.getCustomDiagID(DiagnosticsEngine::Error, "the pglocklint plugin knows root=FOLDER, and not '%0'")) << argument;
      return false;
    }
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }

 private:
  std::string root_;
};

const FrontendPluginRegistry::Add<Action> kRegistered("pglocklint", "writes facts about advisory locks into the object file");

}  // namespace

// pglocklint-clang: facts of one translation unit, as JSON on standard output.
//
//   pglocklint-clang --root FOLDER --file RELATIVE [--folder WORKING] [--models JSON] [-- FLAGS…]     the file's text comes on standard input
//
// `pglocklint check` runs one for each unit, so that a crash or an endless loop costs that unit alone. FLAGS are compiler flags
// that the caller has chosen from a list of harmless ones; nothing is written, loaded or run.
#include <clang/AST/ASTConsumer.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/Version.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "extract.h"
#include "model/facts_json.h"
#include "stubs.h"

namespace {

using namespace clang;
namespace extract = pglocklint::extract;

struct Outcome {
  pglocklint::Unit unit;
  bool parsed = false;
  unsigned errors = 0;
  std::string first_error;
};

// Counts what goes wrong and keeps the first of it.
class Errors : public DiagnosticConsumer {
 public:
  explicit Errors(Outcome& outcome) : outcome_(outcome) {}
  void HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic& info) override {
    if (level < DiagnosticsEngine::Error) return;
    if (outcome_.errors++ > 0) return;
    llvm::SmallString<128> text;
    info.FormatDiagnostic(text);
    const bool placed = info.hasSourceManager() && info.getLocation().isValid();
    outcome_.first_error =
        (placed ? "line " + std::to_string(info.getSourceManager().getExpansionLineNumber(info.getLocation())) + ": " : "") +
        text.str().str();
  }

 private:
  Outcome& outcome_;
};

class Consumer : public ASTConsumer {
 public:
  Consumer(const extract::ExtractOptions& options, Outcome& outcome) : options_(options), outcome_(outcome) {}
  void HandleTranslationUnit(ASTContext& context) override {
    outcome_.unit = extract::extractUnit(context, options_).unit;
    outcome_.parsed = true;
  }
  bool shouldSkipFunctionBody(Decl* d) override {
    return d->getASTContext().getSourceManager().isInSystemHeader(d->getLocation());
  }

 private:
  const extract::ExtractOptions& options_;
  Outcome& outcome_;
};

class Action : public ASTFrontendAction {
 public:
  Action(const extract::ExtractOptions& options, Outcome& outcome) : options_(options), outcome_(outcome) {}

 protected:
  bool BeginInvocation(CompilerInstance& compiler) override {
    compiler.getFrontendOpts().SkipFunctionBodies = true;  // those that the consumer names
    return true;
  }
  bool BeginSourceFileAction(CompilerInstance& compiler) override {
    compiler.getDiagnostics().setFatalsAsError(true);  // a missing header must not end the parse
    return true;
  }
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance&, StringRef) override {
    return std::make_unique<Consumer>(options_, outcome_);
  }

 private:
  const extract::ExtractOptions& options_;
  Outcome& outcome_;
};

// A file that makes clang run for ever or eat all memory costs this process. Whoever runs it may set a lower limit on its time.
void limit() {
  [[maybe_unused]] const rlimit memory{std::uint64_t{12} << 30, std::uint64_t{12} << 30};
  const rlimit seconds{60, 65}, none{0, 0};
  (void)setrlimit(RLIMIT_CPU, &seconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory is larger than any memory
  (void)setrlimit(RLIMIT_AS, &memory);
#endif
  (void)setrlimit(RLIMIT_CORE, &none);
}

}  // namespace

int main(int argc, char** argv) {
  limit();
  extract::ExtractOptions options;
  std::string folder;
  std::vector<std::string> flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--version") {
      std::printf("pglocklint-clang, facts %d, %s\n", pglocklint::kFactsVersion, getClangFullVersion().c_str());
      return 0;
    }
    if (arg == "--") {
      flags.assign(argv + i + 1, argv + argc);
      break;
    }
    if (i + 1 >= argc) break;
    if (arg == "--root")
      options.root = argv[++i];
    else if (arg == "--file")
      options.file = argv[++i];
    else if (arg == "--folder")
      folder = argv[++i];
    else if (arg == "--models") {
      std::string wrong;
      options.models = pglocklint::hostModelsFromJson(argv[++i], wrong);
      if (!wrong.empty()) {
        std::fprintf(stderr, "pglocklint-clang: --models: %s\n", wrong.c_str());
        return 2;
      }
    }
  }
  if (options.root.empty() || options.file.empty()) {
    std::fprintf(stderr, "usage: pglocklint-clang --root FOLDER --file RELATIVE [--folder WORKING] [--models JSON] [-- FLAGS...] < TEXT\n");
    return 2;
  }
  auto text = llvm::MemoryBuffer::getSTDIN();
  if (!text) {
    std::fprintf(stderr, "pglocklint-clang: cannot read standard input: %s\n", text.getError().message().c_str());
    return 2;
  }

  const std::string path = options.root + "/" + options.file;
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  memory->addFile(path, 0, std::move(*text));
  for (const extract::StubHeader& stub : extract::stubHeaders())
    memory->addFile(std::string(extract::kStubFolder) + "/" + stub.name, 0, llvm::MemoryBuffer::getMemBufferCopy(stub.text));
  overlay->pushOverlay(memory);
  if (!folder.empty()) (void)overlay->setCurrentWorkingDirectory(folder);

  std::vector<std::string> command{"pglocklint-clang", "-fsyntax-only",   "-w",
                                   "-Wno-everything",  "-ferror-limit=0", "-Qunused-arguments"};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-idirafter", extract::kStubFolder, path});

  Outcome outcome;
  Errors errors(outcome);
  auto files = llvm::makeIntrusiveRefCnt<FileManager>(FileSystemOptions{folder}, overlay);
  tooling::ToolInvocation invocation(command, std::make_unique<Action>(options, outcome), files.get());
  invocation.setDiagnosticConsumer(&errors);
  (void)invocation.run();
  if (!outcome.parsed) {
    std::fprintf(stderr, "%s\n", outcome.first_error.empty() ? "clang could not parse the file" : outcome.first_error.c_str());
    return 1;
  }
  if (outcome.errors > 0)
    outcome.unit.status = "parsed with " + std::to_string(outcome.errors) +
                          (outcome.errors == 1 ? " error: " : " errors, the first: ") + outcome.first_error;
  std::fputs(pglocklint::factsToJson(outcome.unit, -1).c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

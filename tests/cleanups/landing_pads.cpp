#include "landing_pads.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/Mangle.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/Builtins.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "cleanups.h"

namespace pglocklint::test {
namespace {

using namespace clang;
using extract::Cleanup;
using extract::CleanupKind;
using extract::Cleanups;

using Sites = std::map<std::string, std::vector<CallSite>>;  // by the function's linkage name

// --- the tree

class Names {
 public:
  explicit Names(ASTContext& context) : mangle_(ItaniumMangleContext::create(context, context.getDiagnostics())) {}

  // Of the code that a constructor or destructor has in a class with or without virtual bases.
  std::string linkage(const FunctionDecl& f) {
    const auto global = [&]() -> GlobalDecl {
      if (const auto* c = dyn_cast<CXXConstructorDecl>(&f)) return {c, c->getParent()->getNumVBases() ? Ctor_Complete : Ctor_Base};
      if (const auto* d = dyn_cast<CXXDestructorDecl>(&f)) return {d, Dtor_Base};
      return &f;
    }();
    if (!mangle_->shouldMangleDeclName(&f)) return f.getNameAsString();
    std::string out;
    llvm::raw_string_ostream stream(out);
    mangle_->mangleName(global, stream);
    return out;
  }
  std::string readable(const FunctionDecl& f) { return llvm::demangle(linkage(f)); }
  std::string typeInfo(QualType t) {
    std::string out;
    llvm::raw_string_ostream stream(out);
    mangle_->mangleCXXRTTI(t, stream);
    return llvm::demangle(out);
  }

 private:
  std::unique_ptr<ItaniumMangleContext> mangle_;
};

class TreeReader : public RecursiveASTVisitor<TreeReader> {
 public:
  TreeReader(ASTContext& context, Sites& out) : context_(context), names_(context), out_(out) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool shouldVisitImplicitCode() const { return true; }

  bool VisitFunctionDecl(FunctionDecl* f) {
    if (!f->doesThisDeclarationHaveABody() || f->isDependentContext() || !f->getBody() || f->isInvalidDecl() || f->isConsteval()) return true;
    const Cleanups cleanups(context_, *f);
    std::vector<CallSite>& sites = out_[names_.linkage(*f)];
    if (!sites.empty()) return true;
    for (const Cleanups::Site& s : cleanups.sites()) {
      CallSite site;
      if (!callee(*s.at, site)) continue;
      site.steps = steps(s.innermost);
      sites.push_back(std::move(site));
    }
    return true;
  }

 private:
  bool callee(const Stmt& s, CallSite& site) {
    const FunctionDecl* f = nullptr;
    SourceLocation at = cast<Expr>(s).getExprLoc();
    if (const auto* call = dyn_cast<CallExpr>(&s)) {
      f = call->getDirectCallee();
      if (f && f->getBuiltinID() == Builtin::BI__builtin_operator_new) site.callee = "operator new(unsigned long)";
      const auto* method = dyn_cast_or_null<CXXMethodDecl>(f);
      site.looked_up = method && method->isVirtual();
    } else if (const auto* construct = dyn_cast<CXXConstructExpr>(&s)) {
      f = construct->getConstructor();
    } else if (const auto* inherited = dyn_cast<CXXInheritedCtorInitExpr>(&s)) {
      f = inherited->getConstructor();
    } else if (const auto* made = dyn_cast<CXXNewExpr>(&s)) {
      f = made->getOperatorNew();
    } else if (const auto* thrown = dyn_cast<CXXThrowExpr>(&s)) {
      site.callee = thrown->getSubExpr() ? "__cxa_throw" : "__cxa_rethrow";
    } else if (isa<CXXDynamicCastExpr>(&s)) {
      site.callee = "__cxa_bad_cast";
    } else {
      return false;
    }
    if (site.callee.empty()) site.callee = f ? names_.readable(*f) : "?";
    const PresumedLoc place = context_.getSourceManager().getPresumedLoc(at);
    if (place.isValid()) site.line = place.getLine(), site.column = place.getColumn();
    return true;
  }

  std::vector<Step> steps(const Cleanup* c) {
    std::vector<Step> out;
    std::size_t since_try = 0;  // what terminate() leaves out
    for (; c; c = c->outer) {
      switch (c->kind) {
        case CleanupKind::Destructor: {
          const auto* record = context_.getBaseElementType(c->type)->getAsCXXRecordDecl();
          const CXXDestructorDecl* d = record ? record->getDestructor() : nullptr;
          out.push_back({d ? names_.readable(*d) : "no destructor", c->variable ? c->variable->getNameAsString() : "", c->maybe});
          break;
        }
        case CleanupKind::CleanupFunction: {
          const auto* attribute = c->variable->getAttr<CleanupAttr>();
          out.push_back({names_.readable(*attribute->getFunctionDecl()), c->variable->getNameAsString(), c->maybe});
          break;
        }
        case CleanupKind::Try:
          for (unsigned i = 0; i < c->handlers->getNumHandlers(); ++i) {
            const CXXCatchStmt* handler = c->handlers->getHandler(i);
            if (!handler->getExceptionDecl()) {
              out.push_back({"catch ...", "", false});
              return out;
            }
            out.push_back({names_.typeInfo(context_.getUnqualifiedArrayType(handler->getCaughtType().getNonReferenceType()).getUnqualifiedType()), "", false});
          }
          since_try = out.size();
          break;
        case CleanupKind::Terminate:
          out.resize(since_try);
          out.push_back({"terminate", "", false});
          return out;
        case CleanupKind::Coroutine:
          out.push_back({"catch ...", "", false});
          return out;
        case CleanupKind::EndCatch:
          out.push_back({"__cxa_end_catch", "", c->maybe});
          break;
        case CleanupKind::FreeMemory:
          out.push_back({"operator delete", "", c->maybe});
          break;
        case CleanupKind::FreeException:
          out.push_back({"__cxa_free_exception", "", c->maybe});
          break;
        case CleanupKind::AbortGuard:
          out.push_back({"__cxa_guard_abort", "", c->maybe});
          break;
        case CleanupKind::Jump:
          break;
      }
    }
    return out;
  }

  ASTContext& context_;
  Names names_;
  Sites& out_;
};

// --- the code

// What the flags of conditional cleanups hold before each instruction: bit 0, may be false; bit 1, may be true.
class Flags {
 public:
  using State = std::map<const llvm::AllocaInst*, unsigned>;
  explicit Flags(const llvm::Function& f) {
    std::vector<const llvm::BasicBlock*> work{&f.getEntryBlock()};
    before_[work[0]];
    while (!work.empty()) {
      const llvm::BasicBlock* block = work.back();
      work.pop_back();
      State state = before_[block];
      for (const llvm::Instruction& i : *block) apply(i, state);
      for (const llvm::BasicBlock* next : llvm::successors(block)) {
        const auto [at, fresh] = before_.try_emplace(next);
        bool changed = fresh;
        for (const auto& [flag, mask] : state) {
          unsigned& known = at->second[flag];
          changed |= (known | mask) != known;
          known |= mask;
        }
        if (changed) work.push_back(next);
      }
    }
  }
  State at(const llvm::Instruction& i) const {
    const auto known = before_.find(i.getParent());
    State state = known == before_.end() ? State{} : known->second;
    for (const llvm::Instruction& before : *i.getParent()) {
      if (&before == &i) break;
      apply(before, state);
    }
    return state;
  }

 private:
  static void apply(const llvm::Instruction& i, State& state) {
    const auto* store = dyn_cast<llvm::StoreInst>(&i);
    const auto* flag = store ? dyn_cast<llvm::AllocaInst>(store->getPointerOperand()) : nullptr;
    const auto* value = store ? dyn_cast<llvm::ConstantInt>(store->getValueOperand()) : nullptr;
    if (flag && value && value->getType()->isIntegerTy(1)) state[flag] = value->isZero() ? 1 : 2;
  }
  std::map<const llvm::BasicBlock*, State> before_;
};

std::string calledName(const llvm::CallBase& call) {
  const auto* called = dyn_cast<llvm::GlobalValue>(call.getCalledOperand());  // a function, or an alias of one
  return called ? called->getName().str() : "";
}

std::string objectName(const llvm::CallBase& call) {
  if (call.arg_size() == 0) return "";
  const llvm::Value* object = call.getArgOperand(0);
  if (!isa<llvm::AllocaInst>(object) && !isa<llvm::Argument>(object)) return "";
  return object->getName().str();
}

class PadReader {
 public:
  PadReader(const llvm::LandingPadInst& pad, Flags::State flags) : flags_(std::move(flags)) { follow(pad.getParent(), nullptr, false); }
  std::vector<Step> steps;

 private:
  // Walks until the exception leaves or `stop` is met.
  void follow(const llvm::BasicBlock* block, const llvm::BasicBlock* stop, bool maybe) {
    for (int n = 0; block && block != stop && !ended_ && n < 4000; ++n) {
      visited_.insert(block);
      const llvm::BasicBlock* next = nullptr;
      for (const llvm::Instruction& i : *block) {
        if (const auto* call = dyn_cast<llvm::CallBase>(&i)) step(*call, maybe);
        if (ended_) return;
      }
      const llvm::Instruction* last = block->getTerminator();
      if (const auto* invoke = dyn_cast<llvm::InvokeInst>(last)) {
        next = invoke->getNormalDest();
      } else if (const auto* branch = dyn_cast<llvm::BranchInst>(last)) {
        next = branch->isConditional() ? decided(*branch) : branch->getSuccessor(0);
      } else {
        ended_ = true;
      }
      block = next;
    }
  }

  const llvm::BasicBlock* decided(const llvm::BranchInst& branch) {
    const llvm::Value* condition = branch.getCondition();
    const llvm::BasicBlock *yes = branch.getSuccessor(0), *no = branch.getSuccessor(1);
    if (const auto* load = dyn_cast<llvm::LoadInst>(condition)) {
      const auto flag = flags_.find(dyn_cast<llvm::AllocaInst>(load->getPointerOperand()));
      const unsigned mask = flag == flags_.end() ? 3 : flag->second;
      if (mask == 1) return no;
      if (mask == 3) {
        follow(yes, no, true);
        return no;
      }
      return yes;
    }
    const auto* compared = dyn_cast<llvm::ICmpInst>(condition);
    if (!compared) return yes;
    for (const llvm::Value* side : compared->operands())
      if (const auto* id = dyn_cast<llvm::CallBase>(side); id && calledName(*id).starts_with("llvm.eh.typeid.for")) {
        steps.push_back({llvm::demangle(id->getArgOperand(0)->stripPointerCasts()->getName().str()), "", false});
        return no;
      }
    // The elements of an array end in a loop, which is gone through once.
    if (visited_.contains(yes)) return no;
    return no->getName().starts_with("arraydestroy.body") && !visited_.contains(no) ? no : yes;
  }

  void step(const llvm::CallBase& call, bool maybe) {
    const std::string name = calledName(call);
    if (name.starts_with("llvm.")) return;
    if (name == "__cxa_begin_catch" || name == "__cxa_get_exception_ptr") {
      steps.push_back({"catch ...", "", false});
      ended_ = true;
    } else if (name == "__clang_call_terminate" || name == "_ZSt9terminatev") {
      steps.push_back({"terminate", "", false});
      ended_ = true;
    } else {
      const std::string readable = name.empty() ? "?" : llvm::demangle(name);
      const bool freed = readable.starts_with("operator delete");
      steps.push_back({freed ? "operator delete" : readable, objectName(call), maybe});
    }
  }

  Flags::State flags_;
  std::set<const llvm::BasicBlock*> visited_;
  bool ended_ = false;
};

std::vector<CallSite> sitesOf(const llvm::Function& f) {
  std::vector<CallSite> out;
  std::optional<Flags> flags;
  for (const llvm::BasicBlock& block : f)
    for (const llvm::Instruction& i : block) {
      const auto* call = dyn_cast<llvm::CallBase>(&i);
      if (!call || call->doesNotThrow() || isa<llvm::IntrinsicInst>(call) || call->isInlineAsm()) continue;
      CallSite site;
      const std::string name = calledName(*call);
      site.callee = name.empty() ? "?" : llvm::demangle(name);
      if (const llvm::DILocation* at = call->getDebugLoc()) site.line = at->getLine(), site.column = at->getColumn();
      if (const auto* invoke = dyn_cast<llvm::InvokeInst>(call)) {
        if (!flags) flags.emplace(f);
        site.steps = PadReader(*invoke->getLandingPadInst(), flags->at(*invoke)).steps;
      }
      out.push_back(std::move(site));
    }
  return out;
}

// --- both

class Consumer : public ASTConsumer {
 public:
  explicit Consumer(Sites& out) : out_(out) {}
  void HandleTranslationUnit(ASTContext& context) override { TreeReader(context, out_).TraverseAST(context); }

 private:
  Sites& out_;
};

class Action : public EmitLLVMOnlyAction {
 public:
  Action(llvm::LLVMContext& context, Sites& tree, std::unique_ptr<llvm::Module>& module) : EmitLLVMOnlyAction(&context), tree_(tree), module_(module) {}

 protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, llvm::StringRef file) override {
    std::vector<std::unique_ptr<ASTConsumer>> both;
    both.push_back(std::make_unique<Consumer>(tree_));
    both.push_back(EmitLLVMOnlyAction::CreateASTConsumer(compiler, file));
    return std::make_unique<MultiplexConsumer>(std::move(both));
  }
  void EndSourceFileAction() override {
    EmitLLVMOnlyAction::EndSourceFileAction();
    module_ = takeModule();
  }

 private:
  Sites& tree_;
  std::unique_ptr<llvm::Module>& module_;
};

std::string print(const std::vector<Step>& steps) {
  std::string out;
  for (const Step& s : steps) out += (out.empty() ? "" : ", ") + std::string(s.maybe ? "maybe " : "") + s.what + (s.object.empty() ? "" : " " + s.object);
  return out.empty() ? "nothing" : out;
}

// Objects without names of their own have what names the compiler likes.
bool sameObject(const std::string& tree, const std::string& code) {
  if (tree.empty() || code.empty() || code == "agg.result" || code == "retval") return true;
  return code.starts_with(tree) && code.find_first_not_of("0123456789", tree.size()) == std::string::npos;
}

bool same(const std::vector<Step>& tree, const std::vector<Step>& code) {
  return std::ranges::equal(tree, code, [](const Step& a, const Step& b) { return a.what == b.what && a.maybe == b.maybe && sameObject(a.object, b.object); });
}

bool sameCall(const CallSite& tree, const CallSite& code, bool placed) {
  if (code.callee != tree.callee && !(tree.looked_up && code.callee == "?")) return false;
  return !placed || (code.line == tree.line && code.column == tree.column);
}

}  // namespace

Comparison compareLandingPads(const std::string& file, const std::vector<std::string>& flags, std::string& error) {
  Comparison result;
  Sites tree;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;  // ends before its context
  std::vector<std::string> command{"clang++", "-c", "-O0", "-gline-tables-only", "-femit-all-decls", "-fno-discard-value-names", "-Xclang", "-disable-llvm-passes", "-w"};
  command.insert(command.end(), flags.begin(), flags.end());
  command.push_back(file);
  llvm::raw_string_ostream messages(error);
  const auto options = llvm::makeIntrusiveRefCnt<DiagnosticOptions>();
  TextDiagnosticPrinter printer(messages, options.get());
  const auto files = llvm::makeIntrusiveRefCnt<FileManager>(FileSystemOptions{});
  tooling::ToolInvocation invocation(command, std::make_unique<Action>(context, tree, module), files.get());
  invocation.setDiagnosticConsumer(&printer);
  if (!invocation.run() || !module) {
    if (error.empty()) error = "no code was generated for " + file;
    return result;
  }
  for (const llvm::Function& f : *module) {
    const auto known = f.isDeclaration() ? tree.end() : tree.find(f.getName().str());
    if (known == tree.end()) continue;
    const std::string name = llvm::demangle(f.getName().str());
    std::vector<CallSite> code = sitesOf(f);
    std::vector<bool> taken(code.size());
    std::vector<bool> met(known->second.size());
    for (const bool placed : {true, false})  // first those at the very place; macros and default arguments have several
      for (std::size_t n = 0; n < met.size(); ++n) {
        const CallSite& site = known->second[n];
        std::size_t at = 0;
        while (at < code.size() && (taken[at] || !sameCall(site, code[at], placed))) ++at;
        if (met[n] || at == code.size()) continue;
        met[n] = taken[at] = true;
        if (same(site.steps, code[at].steps)) ++result.equal;
        else result.different.push_back({name, site.callee, code[at].line, print(site.steps), print(code[at].steps)});
      }
    for (std::size_t i = 0; i < code.size(); ++i)
      if (!taken[i]) result.unseen.push_back({name, code[i].callee, code[i].line, "", print(code[i].steps)});
  }
  return result;
}

}  // namespace pglocklint::test

// Where an exception goes from each place of a function: the objects that are destroyed on its way, innermost first, and the handlers.
//
// An explicit stack is kept while the tree is walked in the order in which clang generates code, for the exception edges of clang's own
// control-flow graph skip destructors. Entries are shared: each knows the one outside of it.
#pragma once
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <llvm/ADT/DenseMap.h>

#include <deque>
#include <vector>

namespace pglocklint::extract {

enum class CleanupKind {
  Destructor,       // of `variable`, `temporary`, `field` or `base`; of *this when there is none of them
  CleanupFunction,  // __attribute__((cleanup)) of `variable`
  Try,              // handlers
  Jump,             // setjmp: what it catches goes to the other arm of `branch`
  Terminate,        // noexcept: the process ends
  Coroutine,        // unhandled_exception() takes it
  EndCatch, FreeMemory, FreeException, AbortGuard,  // what the compiler does, of no interest but for comparison
};

struct Cleanup {
  CleanupKind kind = CleanupKind::Destructor;
  const Cleanup* outer = nullptr;
  clang::QualType type;                          // Destructor
  const clang::VarDecl* variable = nullptr;
  const clang::Expr* temporary = nullptr;        // or, of a part, what it is made with
  const clang::FieldDecl* field = nullptr;
  const clang::CXXBaseSpecifier* base = nullptr;
  const clang::CXXTryStmt* handlers = nullptr;
  const clang::IfStmt* branch = nullptr;
  bool first_arm = false;  // Jump: the arm of `branch` that runs when a jump arrives is the second
  bool maybe = false;    // only if the operand that made it was evaluated
  bool partial = false;   // of an object under construction, gone when it is complete
  bool extended = false;  // a temporary that outlives its full expression
};

class Cleanups {
 public:
  struct Site {  // of a call, construction, new, throw
    const clang::Stmt* at;
    const clang::Stmt* caller;  // of a default argument: the call it belongs to
    const Cleanup* innermost;
  };
  Cleanups(clang::ASTContext& context, const clang::FunctionDecl& function);

  // The innermost entry when this call, construction or throw runs; null: none, or not a place that was seen.
  const Cleanup* at(const clang::Stmt* s) const { return at_.lookup(s); }
  // Whether it runs at all: what is left out (a copy that is elided) is no place.
  bool runs(const clang::Stmt* s) const { return at_.count(s) > 0; }
  const std::vector<Site>& sites() const { return sites_; }
  // Handlers, in order of writing.
  const std::vector<const clang::CXXTryStmt*>& tries() const { return tries_; }

 private:
  friend class CleanupWalk;
  std::deque<Cleanup> entries_;
  llvm::DenseMap<const clang::Stmt*, const Cleanup*> at_;
  std::vector<Site> sites_;
  std::vector<const clang::CXXTryStmt*> tries_;
};

}  // namespace pglocklint::extract

// Reads one function into facts. Split by theme: calls.cpp (which calls matter, and what they send), paths.cpp (which object an expression
// is), truth.cpp (what a condition depends on), numbers.cpp (status codes, flags, enums), flow.cpp (blocks, steps, destructors), cleanups.h
// (where exceptions go).
#pragma once
#include <clang/AST/Attr.h>
#include <clang/AST/ParentMap.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleanups.h"
#include "model/host_number.h"
#include "tree.h"

namespace pglocklint::extract {

// What is asked of many functions of one unit, and answered once.
class UnitMemory {
 public:
  UnitMemory(clang::ASTContext& context, Places& places, const ProjectModels& models);

  // Whether the end of an object of this type does something that matters: runs a destructor of the program, ends a transaction.
  bool endMatters(clang::QualType type);
  // Whether an exception may leave a call of it, as far as this unit shows. Functions of system headers do not throw, by decision.
  bool mayThrow(const clang::FunctionDecl& function);
  // Who destroys an object of this type through a pointer may run the destructor of a class derived from it.
  bool mayBeDerived(clang::QualType type);
  // A session of a container that the function keeps: a pool.
  bool handsOut(const clang::FunctionDecl& definition);
  // An exception is a way out at all: neither C nor -fno-exceptions.
  bool exceptions() const { return exceptions_; }
  // C code of a PostgreSQL server: what it calls may raise an error (ereport), which jumps.
  bool raises() const { return raises_; }

  clang::ASTContext& context;
  Places& places;
  std::vector<const clang::FunctionDecl*> lambdas;  // bodies that are functions of their own, yet to be read
  const ProjectModels& models;

 private:
  bool bodyMayThrow(const clang::Stmt* body, int& budget);
  bool recordEndMatters(const clang::CXXRecordDecl& record);

  bool exceptions_, raises_;
  std::map<const clang::CXXRecordDecl*, bool> ends_;
  std::map<const clang::FunctionDecl*, bool> throws_;
  std::set<const clang::FunctionDecl*> asking_;
};

// What a local variable or parameter is given in its function: a single expression in the simple case.
struct Sources {
  llvm::SmallVector<const Expr*, 2> values;
  bool other = false;  // changed in some way that is no plain assignment
  bool counted = false;  // of those: ++, +=
  bool moved = false;  // emptied: std::move, reset(), release()
};

// Appends the alternatives of a text to a call; equal holes are one.
void addTexts(HostCall& call, const Texts& texts);

class FunctionReader {
 public:
  FunctionReader(UnitMemory& unit, const clang::FunctionDecl& function);

  // nullopt: nothing in it concerns us.
  std::optional<Function> read();
  // Files and offsets of the string literals that have become texts of calls.
  const std::set<std::pair<std::uint32_t, std::uint32_t>>& usedLiterals() const { return used_; }
  // Lock calls that are not followed, or not in full.
  const std::vector<NotUnderstood>& lost() const { return lost_; }

 private:
  // --- extract of calls (calls.cpp)
  void walk(const clang::Stmt* s, std::int32_t loop, std::uint32_t depth);
  void names(const clang::Stmt& s);
  void closure(const clang::LambdaExpr& lambda, const std::vector<const clang::FunctionDecl*>& bodies);
  void handOut(const clang::LambdaExpr& lambda, const std::vector<const clang::FunctionDecl*>& bodies, std::int32_t loop,
               std::uint32_t depth);
  static std::vector<const clang::FunctionDecl*> bodiesOf(const clang::LambdaExpr& lambda);
  bool isFollowed(const clang::LambdaExpr& lambda);
  bool takesClosure(const clang::Stmt* at);
  void collectSources(const clang::Stmt* s, int nesting);
  bool madeInLoop(const Expr* object, const std::vector<const Expr*>& arguments) const;
  std::int32_t addLoop(const clang::CXXForRangeStmt& s, std::int32_t parent);
  std::int32_t addLoop(const clang::ForStmt& s, std::int32_t parent);
  HostLoop loopOver(const Expr& container, clang::SourceLocation begin, clang::SourceLocation end, std::int32_t parent);
  LoopOrder orderOf(const Expr& container, clang::SourceLocation loop);
  bool sortedBefore(const clang::VarDecl& variable, clang::SourceLocation loop);
  HostCall begin(HostCallKind kind, const Expr& whole, std::string api, std::int32_t loop, std::uint32_t depth);
  void add(HostCall call, const Expr& whole);
  void setTexts(HostCall& call, const Texts& texts);
  void setArguments(HostCall& call, const std::vector<const Expr*>& arguments, const clang::FunctionDecl* callee);
  std::string outputOf(const Expr& argument, clang::QualType parameter);
  void readCall(const clang::CallExpr& c, std::int32_t loop, std::uint32_t depth);
  const clang::FunctionDecl* targetOf(const Expr* e) const;
  std::string dispatch(const clang::CallExpr& c, const clang::FunctionDecl*& callee);
  void unresolvedCall(const clang::CallExpr& c, std::int32_t loop, std::uint32_t depth);
  void readConstruct(const clang::CXXConstructExpr& c, std::int32_t loop, std::uint32_t depth);
  void constructed(const Expr& whole, clang::QualType type, const clang::CXXConstructorDecl* constructor,
                   const std::vector<const Expr*>& arguments, std::int32_t loop, std::uint32_t depth);
  const clang::CXXConstructorDecl* matchingConstructor(const clang::CXXRecordDecl& record,
                                                       const std::vector<const Expr*>& arguments) const;
  bool isElided(const Expr& copy) const;
  std::string placeOf(const Expr& whole);
  bool sendsLockText(const clang::FunctionDecl& callee, const std::string& name, clang::QualType result,
                     const std::vector<const Expr*>& arguments);
  void guessed(const Expr& whole, const std::string& name, const std::vector<const Expr*>& arguments, const Expr* object,
               std::int32_t loop, std::uint32_t depth, bool throws,
               const clang::FunctionDecl* callee = nullptr, std::string dispatch = {});
  void modelled(const CallModel& m, const Expr& c, const std::string& name, const std::vector<const Expr*>& arguments,
                const Expr* object, std::int32_t loop, std::uint32_t depth);
  std::vector<Texts> statementList(const Expr& sql);
  void listed(const std::vector<Texts>& list, HostCall first, const CallModel& m, const Expr& c,
              const std::vector<const Expr*>& arguments, const Expr* object);
  bool isLasting(const std::string& place) const;
  static bool onlyRuns(const clang::FieldDecl& field, const clang::Stmt* body);
  void streamed(const CallModel& m, const clang::CallExpr& c, const std::string& name, std::int32_t loop, std::uint32_t depth);
  void insideServer(const CallModel& m, const Expr& c, HostCall call, const std::vector<const Expr*>& arguments);
  static bool isPreparedName(const Expr& e);
  const clang::Stmt* outwards(const Expr& e) const;
  void bindsBehind(clang::OverloadedOperatorKind kind, const Expr& c, HostCall& call);
  void addBinds(const CallModel& m, const std::vector<const Expr*>& arguments, const Expr& c, const Expr* object, HostCall& call);
  bool allZero(const Expr* formats);
  std::vector<std::int32_t> numbersIn(const Expr* array);
  Texts connectionText(const CallModel& m, const std::vector<const Expr*>& arguments);
  bool obtains(const clang::FunctionDecl& callee, clang::QualType result);
  bool handsBack(const clang::FunctionDecl& callee, const Expr* object, const std::vector<const Expr*>& arguments,
                 std::string& handle);
  const clang::Stmt* parentOf(const clang::Stmt* s) const;
  bool lookedAt(const Expr* e, HostCall& call);
  std::pair<const Expr*, const clang::Stmt*> takerOf(const clang::CallExpr& c) const;
  bool isDiscarded(const clang::CallExpr& c) const;
  void resultUse(const clang::CallExpr& c, HostCall& call);
  void variableUse(const clang::VarDecl& v, HostCall& call);
  void queryUse(const Expr& object, HostCall& call);
  std::vector<const clang::DeclRefExpr*> usesOf(const clang::VarDecl& v) const;

  // --- objects (paths.cpp)
  struct PathFrame {  // of an accessor that is looked into
    const clang::FunctionDecl* function;
    std::string object;
    std::vector<std::string> arguments;
  };
  std::string path(const Expr* e);
  std::string pathAt(const Expr* e);
  std::string path(const clang::VarDecl& v);
  std::string accessed(const clang::FunctionDecl& callee, const Expr* object, llvm::ArrayRef<const Expr*> arguments);
  bool isCaptured(const clang::VarDecl& v) const;
  bool isEnclosing(const clang::DeclContext* context) const;
  std::string localName(const clang::VarDecl& v) const;
  std::string globalName(const clang::VarDecl& v) const;
  // Where the object or handle that an expression makes comes to lie: "local g 3:7", "this.tx_", "return", "made 3:7".
  std::string destination(const Expr* e);
  // The variable that says whether a handle holds something: its path; of a field with ? behind it, for the path of the field is that of
  // what it points to.
  static std::string heldName(std::string path);
  const Expr* sessionArgument(llvm::ArrayRef<const Expr*> arguments) const;
  void alias(std::string path, std::string target);
  void alias(std::string path, const Expr* value);
  void initialised(const std::string& path, clang::QualType type, const Expr* init);
  const Expr* onlySource(const clang::VarDecl& v) const;

  // --- conditions (truth.cpp)
  HostTruth truth(const Expr* e);
  HostTruth truthAt(const Expr* e);
  HostTruth variableTruth(const Expr* e);
  HostTruth compared(const Expr* left, const Expr* right, bool equal);
  // The call whose first row's first column an expression is, as text, field or boolean; -1: none.
  std::int32_t firstField(const Expr* e);
  std::int32_t firstRow(const Expr* e);
  std::int32_t resultOf(const Expr* e);
  std::int32_t statusOf(const Expr* e);
  std::int32_t lockResult(const Expr* e);
  const Expr* throughVariable(const Expr* e);
  // The truth that this text is 't', or nothing is known.
  HostTruth textTruth(const Expr* text, llvm::StringRef literal);
  std::int32_t ownAnswer(const Expr* e) const;
  std::int32_t rowsOf(const Expr* e);
  std::int32_t ranOn(const Expr* query, const Expr& at);
  // Whether an optional or a pointer that is given this value holds something.
  HostTruth engaged(const Expr* e);
  bool expanded(const clang::VarDecl& v) const;

  // --- numbers that stand for what happened (numbers.cpp)
  HostTruth numberTruth(const Expr* e);  // true where it is not 0
  HostTruth numberGiven(const Expr* value);
  HostTruth comparedNumber(const Expr* e, const HostComparison& c);
  HostTruth comparedNumbers(const clang::BinaryOperator& two);
  void numberAssigned(const std::string& target, const Expr* value, const pglocklint::SourceRange& range, std::vector<Event>& out);
  void numbersAssigned(const std::string& target, const Expr* value, const pglocklint::SourceRange& range, std::vector<Event>& out);
  std::vector<std::pair<std::int64_t, HostTruth>> numbersOf(const Expr* e);
  std::string numberPath(const Expr* e);
  const Expr* numberSource(const Expr* e);
  bool isStatus(const clang::VarDecl& v);
  bool tellsNumber(const Expr* e);

  // --- blocks (flow.cpp)
  struct ObjectEnd {  // something that runs when an object ends
    std::string engaged;  // only if this optional or pointer holds something; empty: always
    Event event;
  };
  class Blocks;
  void blocks(Function& f);
  std::vector<Event> stepsOf(const clang::Stmt& s);
  std::vector<ObjectEnd> endOf(clang::QualType type, const std::string& path, const pglocklint::SourceRange& at, const Expr* maker,
                            bool conditional, bool pointee = false);
  std::vector<ObjectEnd> endOf(const clang::VarDecl& v);
  bool isMovedIntoOther(const Expr& object) const;
  std::vector<ObjectEnd> endOfTemporary(const Expr* e);
  std::vector<ObjectEnd> endOfPart(clang::QualType type, const Expr* init);
  std::vector<ObjectEnd> endOfHeld(const clang::Stmt& s);
  std::string localOrGlobal(const clang::VarDecl& v);
  Event addStep(HostStepKind kind, const pglocklint::SourceRange& range, std::string target, HostTruth truth);
  Event addCall(HostCall call);
  void declared(const clang::VarDecl& v, std::vector<Event>& out);
  void assigned(const std::string& path, clang::QualType type, const Expr* value, const pglocklint::SourceRange& range,
                std::vector<Event>& out);
  std::string madeClass(const Expr* value);
  void assignedFields(const std::string& path, const Expr* init, std::vector<Event>& out);
  static bool isResultHandle(clang::QualType t);
  bool concernsUs() const;
  HostMethod methodOf(const clang::CXXMethodDecl& method);

  UnitMemory& unit_;
  clang::ASTContext& context_;
  Places& places_;
  const clang::FunctionDecl& declaration_;
  std::map<const clang::VarDecl*, std::int32_t> loop_of_;
  ValueReader::Counters counters_;
  ValueReader values_;
  clang::ParentMap parents_;
  HostCode code_;
  std::map<const clang::Stmt*, std::vector<std::int32_t>> calls_at_;  // in order
  llvm::DenseMap<const clang::VarDecl*, Sources> sources_;
  llvm::DenseMap<const clang::VarDecl*, bool> status_;  // see isStatus()
  std::vector<const clang::CXXCtorInitializer*> initialisers_;
  std::vector<PathFrame> frames_;
  std::vector<const clang::Stmt*> open_;  // loops around
  std::set<const void*> resolving_;
  std::map<const clang::VarDecl*, const Expr*> ranges_;      // variables of loops over containers: these
  std::map<const Expr*, std::string> exchanged_;  // what std::exchange gave, by the path that holds it
  std::map<std::pair<const void*, std::string>, std::int32_t> ends_made_;
  std::vector<std::string> emptied_;  // handles that the statement at hand moves from
  std::set<std::pair<std::uint32_t, std::uint32_t>> used_;
  std::vector<NotUnderstood> lost_;
  bool aside_ = false;                // in a body that never runs here: of a generic lambda without an instance
  std::set<std::int32_t> aside_calls_;
  std::map<std::string, std::vector<std::int32_t>> runs_;  // statements that query objects run, by path
  std::map<std::int32_t, std::string> made_class_;  // constructors of classes with virtual functions, by their calls
  bool matters_ = false;              // something but calls: a throw, a boolean result, an object that ends
  int nesting_ = 0, path_depth_ = 0, truth_depth_ = 0, steps_left_ = 20000;
};

HostTruth constantTruth(bool value);
HostTruth variableNamed(std::string path);  // unknown if that is empty
HostTruth negated(HostTruth t);
HostTruth joined(HostTruthKind kind, HostTruth a, HostTruth b);  // And, Or

// The class that a handle is one of, through pointers, references and what is pointer-like; null if there is none.
const clang::CXXRecordDecl* handledClass(clang::QualType t);
const clang::RecordDecl* handledRecord(clang::QualType t);
bool isPointerLikeType(clang::QualType t);       // std::unique_ptr<T>, std::optional<T>
bool isHandle(clang::QualType t);                // also a raw pointer or reference to an object
bool isTruthNumber(clang::QualType t);           // a number that may be taken for a truth, as in C
bool mayBeHandle(clang::QualType t);             // also a void *, as headers hide PGconn
bool isConnection(clang::QualType t);            // a session, or a handle of one
bool isTransaction(clang::QualType t);
bool isObject(clang::QualType t);                // of a class that is no text
clang::QualType pointedTo(clang::QualType t);    // T of T*, std::unique_ptr<T>; null
std::string className(const clang::RecordDecl* record);
bool isLambdaBody(const clang::FunctionDecl& f);

}  // namespace pglocklint::extract

// What the parts of the extractor share. Included only by the files that see clang's tree.
#pragma once
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "call_models.h"
#include "model/unit.h"

namespace pglocklint::extract {

using clang::Expr;  // not the one of SQL

// Files of the project by number, and places in them. In preprocessed text the files are those that its line markers name, and places
// are lines and columns (model/facts_section.h).
class Places {
 public:
  Places(const clang::ASTContext& context, std::string root, std::string main_file, bool preprocessed);

  // Of the text as it stands in a file of the project: where a macro is used, not where it is defined. Unknown outside of the
  // project.
  SourceRange range(clang::SourceRange written);
  SourceRange range(clang::SourceLocation first, clang::SourceLocation last) { return range(clang::SourceRange(first, last)); }
  // File and offset of one byte; nullopt outside of the project's files.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> byte(clang::SourceLocation location);
  bool inProject(clang::SourceLocation location) { return byte(location).has_value(); }

  const std::vector<std::string>& files() const { return files_; }
  // Of the files, as they were read; none for preprocessed text.
  std::vector<std::string> digests() const;
  const clang::SourceManager& manager() const { return manager_; }

 private:
  std::int32_t fileIndex(clang::FileID id);
  std::int32_t indexOf(llvm::StringRef path);
  std::int32_t presumedIndex(llvm::StringRef name);

  const clang::SourceManager& manager_;
  const clang::LangOptions& language_;
  std::string root_;
  std::vector<std::string> files_;
  std::map<clang::FileID, std::int32_t> known_;
  bool preprocessed_;
  std::map<std::string, std::int32_t> presumed_;
};

// Of a type, without paths of this machine.
std::string typeName(clang::QualType t, const clang::ASTContext& context);

// "std::hash::operator()": without template arguments and inline namespaces.
std::string qualifiedName(const clang::NamedDecl& declaration);
// Of the standard library, by its name.
bool isStandard(const clang::FunctionDecl& function);
// Of the class that a method belongs to; empty for a free function.
std::string classOf(const clang::FunctionDecl& function);
// As call models name it: the class of a method, "ns::" for a function of a namespace, or empty.
std::string scopeOf(const clang::FunctionDecl& function);
// "ns::Class::lock(PGconn *, int)".
std::string functionId(const clang::FunctionDecl& function, const clang::ASTContext& context, Places& places);

// "ns::Class", with its file if it cannot be named in other units.
std::string classId(const clang::CXXRecordDecl& record, Places& places);

struct TextPiece {
  std::string text;
  std::vector<HostPlace> places;
  std::optional<HostValue> hole;
  bool quoted = false;
  SourceRange range;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> literals;  // files and offsets of the string literals that it comes from
};
using Text = std::vector<TextPiece>;
using Texts = std::vector<Text>;

// Reads values and texts of expressions in one function.
class ValueReader {
 public:
  ValueReader(clang::ASTContext& context, Places& places, const clang::FunctionDecl* function);

  struct Frame {  // parameters of a function that is being looked into
    const clang::FunctionDecl* function = nullptr;
    std::vector<const Expr*> arguments;
    bool operator==(const Frame&) const = default;
  };
  using Frames = std::vector<Frame>;

  HostValue value(const Expr* e);
  // … of an expression that stands inside of these functions, each called by the one before it.
  HostValue valueIn(const Frames& functions, const Expr* e);
  // What a text can be: at most 16 alternatives, in source order; never empty.
  Texts texts(const Expr* e);
  HostType type(clang::QualType t) const;

  // The one expression that a local variable holds where it is used, if it is one.
  const Expr* reachingOne(const clang::VarDecl& v, const Expr* use);

  // A variable that counts through a container or the rows of an answer: for (i = 0; i < ids.size(); ++i).
  struct Counter {
    std::int32_t loop = -1;
    const clang::ValueDecl* container = nullptr;
    std::string element;  // "ids[i]"
  };
  using Counters = std::map<const clang::VarDecl*, Counter>;
  void setLoops(const std::map<const clang::VarDecl*, std::int32_t>* loops, const Counters* counters) { loops_ = loops, counters_ = counters; }
  // Texts of expressions one after the other; a null one is not followed.
  Texts joined(const std::vector<const Expr*>& parts);
  // Element expressions of an array variable that holds a list of values: {a.c_str(), "7"}.
  std::vector<const Expr*> elements(const Expr* array);

 private:
  void assignedElements(const clang::VarDecl& v, const Expr* use, std::vector<const Expr*>& elements) const;
  HostValue valueAt(const Expr* e);
  HostValue constantOr(HostValue v, const Expr* e);
  std::optional<HostValue> constant(const Expr* e);
  HostValue variable(const clang::VarDecl& v, const Expr* use);
  HostValue call(const clang::CallExpr& c);
  std::optional<HostValue> element(const Expr* e, int depth = 0);
  HostValue fromDatum(const Expr* whole, const Expr* datum, std::string how);
  HostValue converted(const Expr* whole, const Expr* sub, bool implicit);
  HostValue plain(HostValueKind kind, const Expr* e, std::string name = {}) const;
  HostValue unknown(const Expr* e, std::string why) const;
  std::vector<const Expr*> results(const clang::FunctionDecl& f) const;

  Texts textsAt(const Expr* e);
  Texts literal(const clang::StringLiteral& s);
  Texts hole(const Expr* e, bool quoted = false);
  Texts variableTexts(const clang::VarDecl& v, const Expr* use);
  Texts callTexts(const clang::CallExpr& c);
  // A format and its arguments: the pieces of the format with the arguments' texts between them; nullopt if it cannot be read so.
  std::optional<Texts> filled(const Texts& formats, const std::vector<const Expr*>& arguments, FormatStyle style);
  std::optional<Texts> qtArguments(const Texts& formats, const std::vector<const Expr*>& arguments);
  static Texts product(const Texts& left, const Texts& right);
  static void addAll(Texts& into, Texts more);

  // The expressions whose texts, one after the other, a local variable holds where it is used; a null part: something not
  // followed.
  using Parts = std::vector<const Expr*>;
  std::vector<Parts> reaching(const clang::VarDecl& v, const Expr* use);
  friend class Reaching;

  clang::ASTContext& context_;
  Places& places_;
  const clang::FunctionDecl* function_;
  const std::map<const clang::VarDecl*, std::int32_t>* loops_ = nullptr;
  const Counters* counters_ = nullptr;
  Frames frames_;
  std::set<const void*> active_;
  std::map<const clang::VarDecl*, unsigned> reading_;  // variables whose texts are being read, and how often
  int steps_ = 0, depth_ = 0;
};

// The variable or field that an expression names; null: none.
const clang::ValueDecl* namedBy(const Expr* e);
// Below parentheses, casts that change nothing, temporaries and the like.
const Expr* stripped(const Expr* e);
// … also below all casts, & and *: what names the object, whether it is handed on itself or by its address.
const Expr* namedObject(const Expr* e);
// The integer that an expression is, evaluated without side effects; nullopt: it is no constant, or one that 64 bits with a sign do not hold.
std::optional<std::int64_t> integerConstant(const Expr* e, const clang::ASTContext& context);
// Characters, or an object of a string class: a known one, or one of the project's own.
bool isTextType(clang::QualType t);
// const char* const*, std::vector<std::string>, std::array<const char*, 2>: a list of texts.
bool isTextList(clang::QualType t);
// Of what clang could not resolve for want of a header: a call, by the bracket that it ends with; else an operator.
bool isLostCall(const clang::RecoveryExpr& e, const clang::SourceManager& manager);
// Whether an overloaded operator with this result puts texts behind one another: + and, of a project's own classes, ^.
bool joinsTexts(clang::OverloadedOperatorKind kind, clang::QualType result);

}  // namespace pglocklint::extract

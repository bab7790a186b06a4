// From C++ expressions to symbolic values and SQL texts. See tree.h.
#include <clang/AST/CXXInheritance.h>
#include <clang/AST/DeclFriend.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ParentMap.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MD5.h>
#include <llvm/Support/Path.h>

#include <algorithm>

#include "model/facts_section.h"
#include "tree.h"

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr int kMaxSteps = 20000;  // of one function
constexpr int kMaxDepth = 120;    // of expressions followed into one another
constexpr unsigned kMostNested = 4;  // texts of one variable in one another
constexpr std::size_t kMostTexts = 16;
constexpr std::size_t kMostFrames = 6;  // functions looked into
constexpr std::size_t kMostPieces = 4000;

constexpr const char* kWholeText[] = {"c_str",     "data",     "str", "view",  "toStdString", "toUtf8",
                                      "constData", "toLatin1", "get", "value", "string",      "native"};

bool namedOneOf(const NamedDecl* d, llvm::ArrayRef<const char*> names) {
  const auto* id = d ? d->getIdentifier() : nullptr;
  return id && llvm::any_of(names, [&](const char* n) { return id->getName() == n; });
}

// Lifts the depth for the length of a scope.
class Nest {
 public:
  explicit Nest(int& depth) : depth_(depth) { ++depth_; }
  ~Nest() { --depth_; }
  Nest(const Nest&) = delete;
  Nest& operator=(const Nest&) = delete;

 private:
  int& depth_;
};

}  // namespace

// --- places -------------------------------------------------------------------------------------------------------------

Places::Places(const ASTContext& context, std::string root, std::string main_file, bool preprocessed)
    : manager_(context.getSourceManager()),
      language_(context.getLangOpts()),
      root_(std::move(root)),
      files_{std::move(main_file)},
      preprocessed_(preprocessed) {
  if (!root_.ends_with('/')) root_ += '/';
  known_[manager_.getMainFileID()] = 0;
}

std::int32_t Places::fileIndex(FileID id) {
  const auto [at, fresh] = known_.try_emplace(id, -1);
  if (!fresh) return at->second;
  const auto entry = manager_.getFileEntryRefForID(id);
  if (!entry || SrcMgr::isSystem(manager_.getFileCharacteristic(manager_.getLocForStartOfFile(id)))) return -1;
  llvm::SmallString<256> path(entry->getFileEntry().tryGetRealPathName());
  if (path.empty()) path = entry->getName();
  return known_[id] = indexOf(path);
}

std::int32_t Places::indexOf(StringRef path) {
  if (!path.starts_with(root_)) return -1;
  const std::string relative = path.substr(root_.size()).str();
  const auto index = static_cast<std::size_t>(std::find(files_.begin(), files_.end(), relative) - files_.begin());
  if (index == files_.size()) files_.push_back(relative);
  return static_cast<std::int32_t>(index);
}

// The machine that compiles preprocessed text need not have the files: a relative name is one below the root.
std::int32_t Places::presumedIndex(StringRef name) {
  const auto [at, fresh] = presumed_.try_emplace(name.str(), -1);
  if (!fresh) return at->second;
  llvm::SmallString<256> path;
  if (llvm::sys::fs::real_path(name, path)) {
    path = llvm::sys::path::is_absolute(name) ? "" : root_;
    path += name;
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  }
  return at->second = indexOf(path);
}

std::vector<std::string> Places::digests() const {
  std::vector<std::string> result(files_.size());
  for (const auto& [id, index] : known_) {
    if (index < 0 || preprocessed_) continue;
    const auto digest = llvm::MD5::hash(llvm::arrayRefFromStringRef(manager_.getBufferOrFake(id).getBuffer()));
    result[static_cast<std::size_t>(index)] = digest.digest().str();
  }
  return result;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> Places::byte(SourceLocation location) {
  if (location.isInvalid()) return std::nullopt;
  if (preprocessed_) {
    const SourceLocation at = manager_.getFileLoc(location);
    const PresumedLoc presumed = manager_.getPresumedLoc(at);
    if (presumed.isInvalid() || manager_.isInSystemHeader(at)) return std::nullopt;
    const std::int32_t file = presumedIndex(presumed.getFilename());
    if (file < 0) return std::nullopt;
    return std::pair(static_cast<std::uint32_t>(file), offsetByLine(presumed.getLine(), presumed.getColumn()));
  }
  const auto [id, offset] = manager_.getDecomposedLoc(manager_.getFileLoc(location));
  const std::int32_t file = fileIndex(id);
  if (file < 0) return std::nullopt;
  return std::pair(static_cast<std::uint32_t>(file), static_cast<std::uint32_t>(offset));
}

pglocklint::SourceRange Places::range(clang::SourceRange written) {
  pglocklint::SourceRange r;
  const auto first = byte(written.getBegin());
  if (!first) return r;
  const SourceLocation begin = manager_.getFileLoc(written.getBegin());
  SourceLocation last = written.getEnd().isValid() ? manager_.getFileLoc(written.getEnd()) : begin;
  const auto end_place = byte(last);
  if (!end_place || end_place->first != first->first || end_place->second < first->second) last = begin;
  if (preprocessed_) {
    const PresumedLoc from = manager_.getPresumedLoc(begin), to = manager_.getPresumedLoc(last);
    r.file = first->first, r.begin = first->second, r.line = from.getLine(), r.column = from.getColumn();
    r.end_line = to.getLine(), r.end_column = to.getColumn() + Lexer::MeasureTokenLength(last, manager_, language_);
    r.end = std::max(offsetByLine(r.end_line, r.end_column), r.begin);
    return r;
  }
  const std::uint32_t end =
      static_cast<std::uint32_t>(manager_.getFileOffset(last)) + Lexer::MeasureTokenLength(last, manager_, language_);
  const FileID id = manager_.getFileID(begin);
  r.file = first->first, r.begin = first->second, r.end = std::max(end, r.begin);
  r.line = manager_.getLineNumber(id, r.begin), r.column = manager_.getColumnNumber(id, r.begin);
  r.end_line = manager_.getLineNumber(id, r.end), r.end_column = manager_.getColumnNumber(id, r.end);
  return r;
}

// --- names --------------------------------------------------------------------------------------------------------------

bool isStandard(const FunctionDecl& f) { return qualifiedName(f).starts_with("std::"); }

std::string qualifiedName(const NamedDecl& declaration) {
  std::vector<std::string> parts;
  if (const auto* function = dyn_cast<FunctionDecl>(&declaration)) {
    if (isa<CXXConstructorDecl>(function))
      parts.push_back("constructor");
    else if (isa<CXXDestructorDecl>(function))
      parts.push_back("destructor");
    else
      parts.push_back(function->getNameInfo().getName().getAsString());
  } else {
    parts.push_back(declaration.getNameAsString());
  }
  for (const DeclContext* c = declaration.getDeclContext(); c; c = c->getParent()) {
    if (const auto* ns = dyn_cast<NamespaceDecl>(c)) {
      if (!ns->isInline() && !ns->isAnonymousNamespace()) parts.push_back(ns->getNameAsString());
    } else if (const auto* record = dyn_cast<RecordDecl>(c)) {
      parts.push_back(record->getNameAsString());
    }
  }
  std::string out;
  for (auto p = parts.rbegin(); p != parts.rend(); ++p) out += (out.empty() ? "" : "::") + *p;
  return out;
}

std::string classOf(const FunctionDecl& function) {
  const auto* method = dyn_cast<CXXMethodDecl>(&function);
  return method ? qualifiedName(*method->getParent()) : "";
}

std::string scopeOf(const FunctionDecl& function) {
  if (isa<CXXMethodDecl>(function)) return classOf(function);
  const std::string name = qualifiedName(function);
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? "" : name.substr(0, colons + 2);
}

std::string typeName(QualType t, const ASTContext& context) {
  // Types without a name are printed with their place: the file's name alone is the same on every machine.
  struct FileNames : PrintingCallbacks {
    std::string remapPath(StringRef path) const override { return llvm::sys::path::filename(path).str(); }
  };
  static const FileNames names;
  PrintingPolicy policy(context.getPrintingPolicy());
  policy.Callbacks = &names;
  return t.getAsString(policy);
}

std::string functionId(const FunctionDecl& function, const ASTContext& context, Places& places) {
  const auto lambdaAt = [&](const CXXRecordDecl& lambda) {
    const pglocklint::SourceRange at = places.range(lambda.getLocation(), lambda.getLocation());
    return "(lambda " + std::to_string(at.line) + ":" + std::to_string(at.column) + ")";
  };
  const auto* method = dyn_cast<CXXMethodDecl>(&function);
  std::string id = method && method->getParent()->isLambda() ? lambdaAt(*method->getParent()) + "::operator()(" : qualifiedName(function) + "(";
  // Canonical types: a declaration may say PGconn where the definition says struct pg_conn. C has no overloads.
  PrintingPolicy policy(context.getLangOpts());
  policy.AnonymousTagLocations = false;  // these name files by their absolute paths
  if (!function.isExternC())
    for (const ParmVarDecl* p : function.parameters())
      id += (p == function.parameters().front() ? "" : ", ") + p->getType().getCanonicalType().getAsString(policy);
  id += ")";
  if (method && method->isConst()) id += " const";
  // Instances of a template for different lambdas do different things.
  const auto lambdasOf = [&](const TemplateArgumentList* arguments) {
    if (!arguments) return;
    for (const TemplateArgument& a : arguments->asArray())
      if (const auto* record = a.getKind() == TemplateArgument::Type ? a.getAsType().getNonReferenceType()->getAsCXXRecordDecl() : nullptr;
          record && record->isLambda())
        id += " with " + lambdaAt(*record);
  };
  lambdasOf(function.getTemplateSpecializationArgs());
  if (const auto* instance = method ? dyn_cast<ClassTemplateSpecializationDecl>(method->getParent()) : nullptr)
    lambdasOf(&instance->getTemplateArgs());
  if (!function.isExternallyVisible())
    if (const auto at = places.byte(function.getCanonicalDecl()->getLocation())) id += " in " + places.files()[at->first];
  return id;
}

std::string classId(const CXXRecordDecl& record, Places& places) {
  std::string id = qualifiedName(record);
  if (!record.isExternallyVisible())
    if (const auto at = places.byte(record.getLocation())) id += " in " + places.files()[at->first];
  return id;
}

// --- expressions ----------------------------------------------------------------------------------------------------------

bool isLostCall(const RecoveryExpr& e, const SourceManager& manager) {
  const clang::SourceLocation end = manager.getSpellingLoc(e.getEndLoc());
  return end.isValid() && *manager.getCharacterData(end) == ')';
}

const ValueDecl* namedBy(const Expr* e) {
  if (!e) return nullptr;
  e = stripped(e);
  if (const auto* ref = dyn_cast<DeclRefExpr>(e)) return ref->getDecl();
  const auto* member = dyn_cast<MemberExpr>(e);
  return member && isa<CXXThisExpr>(stripped(member->getBase())) ? member->getMemberDecl() : nullptr;
}

const Expr* stripped(const Expr* e) {
  for (;;) {
    if (!e) return e;
    const Expr* inner = e->IgnoreParens();
    if (const auto* x = dyn_cast<FullExpr>(inner))
      inner = x->getSubExpr();
    else if (const auto* x = dyn_cast<MaterializeTemporaryExpr>(inner))
      inner = x->getSubExpr();
    else if (const auto* x = dyn_cast<CXXBindTemporaryExpr>(inner))
      inner = x->getSubExpr();
    else if (const auto* x = dyn_cast<SubstNonTypeTemplateParmExpr>(inner))
      inner = x->getReplacement();
    else if (const auto* x = dyn_cast<CXXDefaultArgExpr>(inner))
      inner = x->getExpr();
    else if (const auto* x = dyn_cast<CXXDefaultInitExpr>(inner))
      inner = x->getExpr();
    else if (const auto* x = dyn_cast<OpaqueValueExpr>(inner); x && x->getSourceExpr())
      inner = x->getSourceExpr();
    else if (const auto* x = dyn_cast<ImplicitCastExpr>(inner)) {
      switch (x->getCastKind()) {
        case CK_LValueToRValue:
        case CK_NoOp:
        case CK_ArrayToPointerDecay:
        case CK_UserDefinedConversion:
        case CK_ConstructorConversion:
        case CK_DerivedToBase:
        case CK_UncheckedDerivedToBase:
        case CK_BitCast:
        case CK_FunctionToPointerDecay:
          inner = x->getSubExpr();
          break;
        default:
          break;
      }
    }
    if (inner == e) return e;
    e = inner;
  }
}

const Expr* namedObject(const Expr* e) {
  for (e = stripped(e); e;) {
    const auto* cast = dyn_cast<CastExpr>(e);
    const auto* unary = dyn_cast<clang::UnaryOperator>(e);
    if (!cast && !(unary && (unary->getOpcode() == UO_AddrOf || unary->getOpcode() == UO_Deref))) break;
    e = stripped(cast ? cast->getSubExpr() : unary->getSubExpr());
  }
  return e;
}

std::optional<std::int64_t> integerConstant(const Expr* e, const ASTContext& context) {
  Expr::EvalResult n;
  if (!e || e->isValueDependent() || e->isTypeDependent() || !e->getType()->isIntegralOrEnumerationType() ||
      !e->EvaluateAsInt(n, context, Expr::SE_NoSideEffects))
    return std::nullopt;
  return n.Val.getInt().isRepresentableByInt64() ? std::optional(n.Val.getInt().getExtValue()) : std::nullopt;
}

namespace {

bool isKnownTextClass(const CXXRecordDecl& record) {
  const std::string name = qualifiedName(record);
  return name == "std::basic_string" || name == "std::basic_string_view" || name == "pqxx::zview" || name == "QString" ||
         name == "QByteArray" || name == "absl::string_view" || name == "fmt::basic_string_view" ||
         name == "boost::string_view" || name == "Poco::UTF8String" || name == "QLatin1String" || name == "QStringLiteral" ||
         name == "std::basic_ostringstream" || name == "std::basic_stringstream" || name == "boost::basic_format" ||
         name == "fmt::basic_format_string" || name == "fmt::fstring" || name == "std::basic_format_string" ||
         name == "absl::AlphaNum";
}

bool isPlainText(QualType t) {
  t = t.getNonReferenceType().getCanonicalType();
  if (const auto* pointer = t->getAs<clang::PointerType>()) return pointer->getPointeeType()->isAnyCharacterType();
  if (const auto* array = dyn_cast<clang::ArrayType>(t.getTypePtr())) return array->getElementType()->isAnyCharacterType();
  const auto* record = t->getAsCXXRecordDecl();
  return record && isKnownTextClass(*record);
}

bool isJoining(OverloadedOperatorKind kind) {
  return kind == OO_Plus || kind == OO_Caret || kind == OO_PlusEqual || kind == OO_CaretEqual;
}

// Whether objects of a class, or of one of its bases, are joined with an operator.
bool isJoined(const CXXRecordDecl& record, int depth) {
  const auto joins = [](const Decl* d) {
    if (const auto* t = dyn_cast<FunctionTemplateDecl>(d)) d = t->getTemplatedDecl();
    const auto* f = dyn_cast<FunctionDecl>(d);
    return f && isJoining(f->getOverloadedOperator());
  };
  for (const Decl* d : record.decls()) {
    const auto* befriended = dyn_cast<FriendDecl>(d);
    if (joins(befriended && befriended->getFriendDecl() ? befriended->getFriendDecl() : d)) return true;
  }
  // Operators beside the class, that take one of it.
  ASTContext& context = record.getASTContext();
  const auto* around = record.getDeclContext()->getRedeclContext();
  for (const OverloadedOperatorKind kind : {OO_Plus, OO_Caret})
    for (const NamedDecl* d : around->lookup(context.DeclarationNames.getCXXOperatorName(kind))) {
      const auto* f = dyn_cast<FunctionDecl>(d);
      if (f && llvm::any_of(f->parameters(), [&](const ParmVarDecl* p) {
            const auto* taken = p->getType().getNonReferenceType()->getAsCXXRecordDecl();
            return taken && taken->getCanonicalDecl() == record.getCanonicalDecl();
          }))
        return true;
    }
  if (depth < 4)
    for (const CXXBaseSpecifier& base : record.bases())
      if (const auto* b = base.getType()->getAsCXXRecordDecl(); b && b->hasDefinition() && isJoined(*b->getDefinition(), depth + 1))
        return true;
  return false;
}

// A string class of the project's own: it is made of a text, and its objects are joined or become text again.
bool isTextClass(const CXXRecordDecl& declared) {
  const CXXRecordDecl* record = declared.getDefinition();
  if (!record || record->isLambda() || record->isDependentContext()) return false;
  const bool of_text = llvm::any_of(record->ctors(), [](const CXXConstructorDecl* c) {
    return c->getNumParams() > 0 && c->getMinRequiredArguments() <= 1 && isPlainText(c->getParamDecl(0)->getType());
  });
  if (!of_text) return false;
  const auto conversions = const_cast<CXXRecordDecl*>(record)->getVisibleConversionFunctions();
  return llvm::any_of(conversions, [](const NamedDecl* d) {
           const auto* c = dyn_cast<CXXConversionDecl>(d->getUnderlyingDecl());
           return c && isPlainText(c->getConversionType());
         }) || isJoined(*record, 0);
}

}  // namespace

bool isTextType(QualType t) {
  if (isPlainText(t)) return true;
  const auto* record = t.getNonReferenceType().getCanonicalType()->getAsCXXRecordDecl();
  return record && isTextClass(*record);
}

bool isTextList(QualType t) {
  if (t.isNull()) return false;
  t = t.getNonReferenceType().getCanonicalType();
  if (t->isPointerType()) return isPlainText(t->getPointeeType());
  if (const auto* array = t->getAsArrayTypeUnsafe()) return isPlainText(array->getElementType());
  const auto* record = dyn_cast_or_null<ClassTemplateSpecializationDecl>(t->getAsCXXRecordDecl());
  if (!record || record->getTemplateArgs().size() == 0 || isTextClass(*record)) return false;
  const TemplateArgument& element = record->getTemplateArgs()[0];
  return element.getKind() == TemplateArgument::Type && isTextType(element.getAsType());
}

bool joinsTexts(OverloadedOperatorKind kind, QualType result) {
  return kind == OO_Plus ? isTextType(result) : kind == OO_Caret && !isPlainText(result) && isTextType(result);
}

ValueReader::ValueReader(ASTContext& context, Places& places, const FunctionDecl* function)
    : context_(context), places_(places), function_(function) {}

HostType ValueReader::type(QualType t) const {
  HostType result;
  if (t.isNull()) return result;
  t = t.getNonReferenceType().getUnqualifiedType();
  if (t->isDependentType()) return result;
  result.name = typeName(t, context_);
  QualType c = t.getCanonicalType();
  if (const auto* e = c->getAs<clang::EnumType>()) {
    if (!e->getDecl()->isComplete()) return result;
    c = e->getDecl()->getIntegerType().getCanonicalType();
    if (c.isNull()) return result;
  }
  if (c->isBooleanType())
    result.kind = HostTypeKind::Boolean;
  else if (c->isSignedIntegerType())
    result.kind = HostTypeKind::Signed;
  else if (c->isUnsignedIntegerType())
    result.kind = HostTypeKind::Unsigned;
  else if (c->isRealFloatingType())
    result.kind = HostTypeKind::Floating;
  else if (isTextType(c))
    result.kind = HostTypeKind::Text;
  else if (c->isPointerType())
    result.kind = HostTypeKind::Pointer;
  else
    result.kind = HostTypeKind::Other;
  if (c->isIntegerType() || c->isRealFloatingType()) result.bits = static_cast<std::uint32_t>(context_.getTypeSize(c));
  return result;
}

HostValue ValueReader::plain(HostValueKind kind, const Expr* e, std::string name) const {
  HostValue v;
  v.kind = kind, v.name = std::move(name);
  v.type = type(e->getType());
  v.range = places_.range(e->getSourceRange());
  return v;
}

HostValue ValueReader::unknown(const Expr* e, std::string why) const {
  HostValue v = plain(HostValueKind::Unknown, e);
  v.text = std::move(why);
  return v;
}

HostValue ValueReader::value(const Expr* e) {
  if (!e) return {};
  if (e->getType().isNull()) return unknown(e, "of a type that is not known");  // Unknown x(a, b): clang keeps the arguments, with no type
  if (depth_ > kMaxDepth || ++steps_ > kMaxSteps) return unknown(e, "too large to follow");
  const Nest nest(depth_);
  return valueAt(e);
}

HostValue ValueReader::valueIn(const Frames& functions, const Expr* e) {
  Frames kept = std::exchange(frames_, functions);
  HostValue v = value(e);
  frames_ = std::move(kept);
  return v;
}

namespace {

// The declaration of the constant that an expression names, through casts.
const ValueDecl* namedConstant(const Expr* e) {
  for (e = stripped(e); e; e = stripped(e)) {
    if (const auto* cast = dyn_cast<CastExpr>(e))
      e = cast->getSubExpr();
    else
      break;
  }
  if (const auto* ref = dyn_cast_or_null<DeclRefExpr>(e)) return ref->getDecl();
  if (const auto* member = dyn_cast_or_null<MemberExpr>(e)) return member->getMemberDecl();
  return nullptr;
}

// The server's word for any value of SQL: an integer as wide as a pointer.
bool isDatum(QualType t) {
  for (const auto* name = t->getAs<TypedefType>(); name; name = name->desugar()->getAs<TypedefType>())
    if (name->getDecl()->getName() == "Datum") return true;
  return false;
}

}  // namespace

std::optional<HostValue> ValueReader::constant(const Expr* e) {
  if (e->isValueDependent() || e->getType()->isDependentType() || e->containsErrors()) return std::nullopt;
  if (!e->getType()->isIntegralOrEnumerationType()) return std::nullopt;
  Expr::EvalResult result;
  if (!e->EvaluateAsInt(result, context_, Expr::SE_NoSideEffects)) return std::nullopt;
  HostValue v = plain(e->getType()->isBooleanType() ? HostValueKind::Boolean : HostValueKind::Integer, e);
  v.text =
      v.kind == HostValueKind::Boolean ? (result.Val.getInt() != 0 ? "true" : "false") : llvm::toString(result.Val.getInt(), 10);
  const ValueDecl* named = namedConstant(e);
  if (!named) {
    // constants inside of an expression: kBase + 1
    return v;
  }
  if (isa<EnumConstantDecl>(named) || isa<VarDecl>(named) || isa<FieldDecl>(named)) {
    v.constant = qualifiedName(*named);
    v.defined = places_.range(named->getLocation(), named->getLocation());
    const auto* var = dyn_cast<VarDecl>(named);
    const Expr* init = var ? var->getAnyInitializer() : nullptr;
    if (init && namedConstant(init) && active_.insert(named).second) {  // a constant defined from another has both names
      v.args.push_back(value(init));
      active_.erase(named);
    }
  }
  return v;
}

HostValue ValueReader::converted(const Expr* whole, const Expr* sub, bool implicit) {
  HostValue inner = value(sub);
  const HostType to = type(whole->getType());
  if (to.kind == inner.type.kind && to.bits == inner.type.bits && to.kind != HostTypeKind::Other) return inner;
  HostValue v = plain(HostValueKind::Convert, whole);
  v.implicit = implicit;
  v.args.push_back(std::move(inner));
  return v;
}

// What the server keeps in a Datum has the type that is asked for: nothing is cut.
HostValue ValueReader::fromDatum(const Expr* whole, const Expr* datum, std::string how) {
  HostValue inner = value(datum);
  if (inner.kind == HostValueKind::Integer) return inner;
  HostValue v = plain(HostValueKind::Result, whole, std::move(how));
  v.args.push_back(std::move(inner));
  return v;
}

HostValue ValueReader::valueAt(const Expr* written) {
  const Expr* e = stripped(written);
  if (const auto* literal = dyn_cast<clang::StringLiteral>(e)) {
    HostValue v = plain(HostValueKind::Text, e);
    if (literal->getCharByteWidth() == 1) v.text = literal->getString().str();
    return v;
  }
  if (auto v = constant(e)) return *v;
  if (isa<CXXNullPtrLiteralExpr>(e) || isa<GNUNullExpr>(e)) return plain(HostValueKind::Null, e);
  if (const auto* f = dyn_cast<FloatingLiteral>(e)) {
    HostValue v = plain(HostValueKind::Floating, e);
    llvm::SmallString<32> text;
    f->getValue().toString(text);
    v.text = text.str().str();
    return v;
  }
  if (const auto* cast = dyn_cast<ExplicitCastExpr>(e)) {
    if (cast->getCastKind() == CK_PointerToIntegral) {
      HostValue v = plain(HostValueKind::Address, e);
      return v;
    }
    if (isDatum(cast->getType())) return value(cast->getSubExprAsWritten());  // Int32GetDatum(x), which is a macro up to PostgreSQL 15
    if (isDatum(cast->getSubExprAsWritten()->getType())) return fromDatum(e, cast->getSubExprAsWritten(), "a Datum");
    return converted(e, cast->getSubExprAsWritten(), false);
  }
  if (const auto* cast = dyn_cast<ImplicitCastExpr>(e)) {
    if (cast->getCastKind() == CK_PointerToIntegral) return plain(HostValueKind::Address, e);
    if (cast->getCastKind() == CK_NullToPointer) return plain(HostValueKind::Null, e);
    return converted(e, cast->getSubExpr(), true);
  }
  if (const auto* ref = dyn_cast<DeclRefExpr>(e)) {
    if (const auto* v = dyn_cast<VarDecl>(ref->getDecl())) return variable(*v, e);
    if (const auto* b = dyn_cast<BindingDecl>(ref->getDecl())) {
      const auto* holder = dyn_cast_or_null<VarDecl>(b->getDecomposedDecl());
      if (holder && loops_)
        if (const auto at = loops_->find(holder); at != loops_->end()) {
          HostValue v = plain(HostValueKind::Element, e, b->getNameAsString());
          v.index = at->second;
          return v;
        }
      return plain(HostValueKind::Variable, e, b->getNameAsString());
    }
    return unknown(e, "a name");
  }
  if (const auto* member = dyn_cast<MemberExpr>(e)) {
    if (const auto* v = dyn_cast<VarDecl>(member->getMemberDecl())) return variable(*v, e);
    // A field of a loop's element varies with it.
    const HostValue object = isa<CXXThisExpr>(stripped(member->getBase())) ? HostValue{} : value(member->getBase());
    HostValue v = plain(object.kind == HostValueKind::Element ? HostValueKind::Element : HostValueKind::Member, e,
                        member->getMemberNameInfo().getAsString());
    if (v.kind == HostValueKind::Element) v.index = object.index, v.name = object.name + "." + v.name;
    if (object.kind == HostValueKind::Parameter) v.name = object.name + "." + v.name;
    return v;
  }
  if (isa<CXXThisExpr>(e)) return plain(HostValueKind::Address, e, "this");
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(e)) {
    switch (unary->getOpcode()) {
      case UO_AddrOf:
        return plain(HostValueKind::Address, e);
      case UO_Deref: {
        HostValue v = value(unary->getSubExpr());
        v.type = type(e->getType());
        if (v.kind == HostValueKind::Address) return unknown(e, "what a pointer points to");
        return v;
      }
      case UO_Minus:
      case UO_Not: {
        HostValue v = plain(HostValueKind::Arithmetic, e, clang::UnaryOperator::getOpcodeStr(unary->getOpcode()).str());
        v.args.push_back(value(unary->getSubExpr()));
        return v;
      }
      case UO_Plus:
        return value(unary->getSubExpr());
      default:
        return unknown(e, "an operator with a side effect");
    }
  }
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(e)) {
    if (binary->isCommaOp()) return value(binary->getRHS());
    if (binary->isAssignmentOp()) return value(binary->getRHS());
    HostValue v = plain(HostValueKind::Arithmetic, e, binary->getOpcodeStr().str());
    v.args.push_back(value(binary->getLHS()));
    v.args.push_back(value(binary->getRHS()));
    return v;
  }
  if (const auto* choice = dyn_cast<AbstractConditionalOperator>(e)) {
    HostValue v = plain(HostValueKind::Choice, e);
    v.args.push_back(value(choice->getTrueExpr()));
    v.args.push_back(value(choice->getFalseExpr()));
    return v;
  }
  if (const auto* literal = dyn_cast<UserDefinedLiteral>(e)) {
    if (literal->getLiteralOperatorKind() == UserDefinedLiteral::LOK_String && literal->getNumArgs() > 0)
      return value(literal->getArg(0));
    return unknown(e, "a user-defined literal");
  }
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e)) {
    if (construct->getNumArgs() >= 1) {
      HostValue v = value(construct->getArg(0));
      if (isTextType(construct->getType()) || construct->getNumArgs() == 1) return v;
    }
    return unknown(e, "an object");
  }
  if (const auto* list = dyn_cast<InitListExpr>(e)) {
    if (list->getNumInits() == 1) return value(list->getInit(0));
    return unknown(e, "a list");
  }
  if (const auto* list = dyn_cast<CXXParenListInitExpr>(e); list && list->getInitExprs().size() == 1)
    return value(list->getInitExprs()[0]);
  if (const auto* c = dyn_cast<CallExpr>(e)) return call(*c);
  if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(e)) {
    if (std::optional<HostValue> one = element(subscript)) return *one;
    return unknown(e, "an element of an array");
  }
  return unknown(e, "an expression");
}

HostValue ValueReader::variable(const VarDecl& v, const Expr* use) {
  if (const auto* parameter = dyn_cast<ParmVarDecl>(&v)) {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      if (frame->function != parameter->getDeclContext()) continue;
      const unsigned at = parameter->getFunctionScopeIndex();
      if (at >= frame->arguments.size()) break;
      // The argument is an expression of the caller: its names are the caller's.
      const std::vector<Frame> outer(frames_.begin(), (frame + 1).base());
      std::vector<Frame> kept = std::exchange(frames_, outer);
      HostValue result = value(frames_.size() <= kept.size() ? kept[outer.size()].arguments[at] : nullptr);
      frames_ = std::move(kept);
      return result;
    }
    if (parameter->getDeclContext() == function_) {
      const std::vector<Parts> parts = reaching(v, use);
      const bool written = parts.size() != 1 || !parts[0].empty();
      HostValue p = plain(written ? HostValueKind::Variable : HostValueKind::Parameter, use, v.getNameAsString());
      if (!written) p.index = static_cast<std::int32_t>(parameter->getFunctionScopeIndex());
      return p;
    }
    const auto* body = dyn_cast_or_null<CXXMethodDecl>(function_);  // of a lambda that captures it: a field
    return plain(body && body->getParent()->isLambda() ? HostValueKind::Member : HostValueKind::Variable, use, v.getNameAsString());
  }
  if (loops_)
    if (const auto at = loops_->find(&v); at != loops_->end()) {
      HostValue element = plain(HostValueKind::Element, use, v.getNameAsString());
      element.index = at->second;
      return element;
    }
  if (!active_.insert(&v).second) return plain(HostValueKind::Variable, use, v.getNameAsString());
  struct Leave {
    std::set<const void*>& active;
    const VarDecl* v;
    ~Leave() { active.erase(v); }
  } leave{active_, &v};
  if (v.isLocalVarDecl() && !v.isStaticLocal()) {
    const std::vector<Parts> parts = reaching(v, use);
    HostValue choice = plain(HostValueKind::Choice, use);
    for (const Parts& p : parts) {
      if (p.size() != 1 || !p[0]) return plain(HostValueKind::Variable, use, v.getNameAsString());
      choice.args.push_back(value(p[0]));
    }
    if (choice.args.empty()) return plain(HostValueKind::Variable, use, v.getNameAsString());
    HostValue result = choice.args.size() == 1 ? choice.args[0] : choice;
    if (result.kind == HostValueKind::Unknown && result.text == "an object")
      return plain(HostValueKind::Variable, use, v.getNameAsString());
    if ((result.kind == HostValueKind::Text || result.kind == HostValueKind::Integer) && result.constant.empty() &&
        v.getType().isConstQualified())
      result.constant = v.getNameAsString(), result.defined = places_.range(v.getLocation(), v.getLocation());
    return result;
  }
  const Expr* init = v.getAnyInitializer();
  if (init && (v.getType().isConstQualified() || v.isConstexpr())) {
    HostValue result = value(init);
    if (result.constant.empty())
      result.constant = qualifiedName(v), result.defined = places_.range(v.getLocation(), v.getLocation());
    return result;
  }
  HostValue global = plain(HostValueKind::Global, use, qualifiedName(v));
  if (!init && v.getType().isConstQualified()) global.constant = global.name;  // another unit defines it
  return global;
}

// What the function may return: the expressions of all its return statements, in written order; none if that is too many.
std::vector<const Expr*> ValueReader::results(const FunctionDecl& f) const {
  const FunctionDecl* definition = nullptr;
  if (!f.hasBody(definition) || !definition || definition->isDependentContext()) return {};
  if (places_.manager().isInSystemHeader(definition->getLocation())) return {};  // opaque, whether or not its body was parsed
  std::vector<const Expr*> found;
  std::vector<const Stmt*> work{definition->getBody()};
  for (int steps = 0; !work.empty(); ++steps) {
    const Stmt* s = work.back();
    work.pop_back();
    if (!s || isa<LambdaExpr>(s)) continue;
    if (steps > 2000) return {};
    if (const auto* result = dyn_cast<ReturnStmt>(s)) {
      if (result->getRetValue()) found.push_back(result->getRetValue());
      continue;
    }
    const std::vector<const Stmt*> children(s->child_begin(), s->child_end());
    work.insert(work.end(), children.rbegin(), children.rend());
  }
  if (found.size() > kMostTexts) found.clear();
  return found;
}

namespace {

// The name that a call is known by. A method may be inherited from a base that only its library knows, as is operator() of std::hash<std::string> in
// GCC 14: then the table of sources may know one of the classes from the object's own up to that base.
std::string knownName(const FunctionDecl& callee, const Expr* object) {
  const std::string name = qualifiedName(callee);
  const auto* method = dyn_cast<CXXMethodDecl>(&callee);
  if (!method || !object || sourceOf(name) != Source::None) return name;
  QualType type = object->IgnoreParenBaseCasts()->getType();
  if (type->isPointerType()) type = type->getPointeeType();
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  CXXBasePaths paths;
  if (!record || !record->hasDefinition() || !record->isDerivedFrom(method->getParent(), paths)) return name;
  for (const CXXBasePathElement& step : paths.front())
    if (std::string inherited = qualifiedName(*step.Class) + name.substr(qualifiedName(*method->getParent()).size()); sourceOf(inherited) != Source::None) return inherited;
  return name;
}

// A value that says more than the call it came from: nothing in it is local to the function.
bool tellsMore(const HostValue& v) {
  if (v.kind == HostValueKind::Unknown || v.kind == HostValueKind::Variable) return false;
  return std::all_of(v.args.begin(), v.args.end(), tellsMore);
}

}  // namespace

HostValue ValueReader::call(const CallExpr& c) {
  const FunctionDecl* callee = c.getDirectCallee();
  if (!callee) return unknown(&c, "a call");
  const auto* method = dyn_cast<CXXMemberCallExpr>(&c);
  const bool is_operator = isa<CXXOperatorCallExpr>(c);
  const std::string name = knownName(*callee, method ? method->getImplicitObjectArgument() : is_operator ? c.getArg(0) : nullptr);
  std::vector<const Expr*> arguments(c.arg_begin(), c.arg_end());
  if (is_operator && isa<CXXMethodDecl>(callee) && !arguments.empty() && callee->getOverloadedOperator() == OO_Call)
    arguments.erase(arguments.begin());
  const auto with = [&](HostValueKind kind, std::string n) {
    HostValue v = plain(kind, &c, std::move(n));
    for (const Expr* a : arguments) v.args.push_back(value(a));
    return v;
  };
  switch (sourceOf(name)) {
    case Source::Hash:
      return with(HostValueKind::Hash, name.starts_with("std::hash") || name.starts_with("std::_Hash") ? "std::hash" : name);
    case Source::Clock:
      return plain(HostValueKind::Clock, &c, name);
    case Source::Random:
      return plain(HostValueKind::Random, &c, name);
    case Source::ProcessId:
      return plain(HostValueKind::ProcessId, &c, name);
    case Source::ThreadId:
      return plain(HostValueKind::ThreadId, &c, name);
    case Source::Environment:
      return with(HostValueKind::Environment, name);
    case Source::ToText:
      return with(HostValueKind::ToText, name);
    case Source::FromText: {
      HostValue v = plain(HostValueKind::FromText, &c, name);
      if (!arguments.empty()) v.args.push_back(value(arguments[0]));
      return v;
    }
    case Source::Minimum:
    case Source::Maximum:
      return with(HostValueKind::Extreme, sourceOf(name) == Source::Minimum ? "min" : "max");
    case Source::Quote:
    case Source::None:
      break;
  }
  if (joinsTexts(callee->getOverloadedOperator(), c.getType()) && c.getNumArgs() == 2) return with(HostValueKind::Concat, "+");
  if (isa<CXXConversionDecl>(callee) && method) return value(method->getImplicitObjectArgument());
  if (method && namedOneOf(callee, kWholeText) && callee->getNumParams() == 0) return value(method->getImplicitObjectArgument());
  if (callee->getOverloadedOperator() == OO_Star && !arguments.empty()) return value(arguments[0]);
  if (wrapsValue(name) && !arguments.empty()) return value(arguments[0]);
  if (name.starts_with("DatumGet") && arguments.size() == 1) return fromDatum(&c, arguments[0], name);
  if ((name == "std::move" || name == "std::forward" || name == "std::as_const") && !arguments.empty())
    return value(arguments[0]);
  // What is computed from a clock, a random number or a hash by the library is one still.
  if (name.starts_with("std::") && places_.manager().isInSystemHeader(callee->getLocation())) {
    std::vector<const Expr*> all = arguments;
    if (method) all.push_back(method->getImplicitObjectArgument());
    for (const Expr* a : all) {
      HostValue v = value(a);
      if (v.kind == HostValueKind::Clock || v.kind == HostValueKind::Random || v.kind == HostValueKind::ThreadId) {
        v.type = type(c.getType());
        return v;
      }
    }
  }
  if (frames_.size() < kMostFrames && !is_operator && active_.insert(callee).second) {
    HostValue choice = plain(HostValueKind::Choice, &c);
    const FunctionDecl* definition = nullptr;
    (void)callee->hasBody(definition);
    for (const Expr* result : results(*callee)) {
      frames_.push_back({definition, arguments});
      choice.args.push_back(value(result));
      frames_.pop_back();
    }
    active_.erase(callee);
    if (!choice.args.empty() && tellsMore(choice)) return choice.args.size() == 1 ? choice.args[0] : choice;
  }
  if (std::optional<HostValue> of = element(&c)) {
    if (is_operator && c.getNumArgs() == 2 && namedBy(c.getArg(0))) return *of;
    HostValue part = plain(HostValueKind::Result, &c, name);
    part.args.push_back(std::move(*of));
    return part;
  }
  HostValue v = plain(HostValueKind::Result, &c, name);
  for (const Expr* a : arguments) v.args.push_back(value(a));
  return v;
}

// What a loop goes over, one by one, or a part of it: ids[i], row["id"], r.at(i).at(0), PQgetvalue(r, i, 0).
std::optional<HostValue> ValueReader::element(const Expr* e, int depth) {
  if (!e || depth > 8 || !loops_ || !counters_) return std::nullopt;
  e = stripped(e);
  if (const auto* v = dyn_cast_or_null<VarDecl>(namedBy(e))) {
    if (loops_->contains(v)) return variable(*v, e);
    return std::nullopt;
  }
  const Expr *container = nullptr, *index = nullptr;
  if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(e)) {
    container = subscript->getBase(), index = subscript->getIdx();
  } else if (const auto* op = dyn_cast<CXXOperatorCallExpr>(e)) {
    if (op->getOperator() != OO_Subscript || op->getNumArgs() != 2) return std::nullopt;
    container = op->getArg(0), index = op->getArg(1);
  } else if (const auto* method = dyn_cast<CXXMemberCallExpr>(e)) {
    container = method->getImplicitObjectArgument();
    if (method->getNumArgs() == 1) index = method->getArg(0);
  } else if (const auto* call = dyn_cast<CallExpr>(e)) {
    const FunctionDecl* f = call->getDirectCallee();
    if (!f || !f->getIdentifier() || f->getName() != "PQgetvalue" || call->getNumArgs() != 3) return std::nullopt;
    container = call->getArg(0), index = call->getArg(1);
  }
  if (!container) return std::nullopt;
  const auto* counter = dyn_cast_or_null<VarDecl>(index ? namedBy(index->IgnoreParenImpCasts()) : nullptr);
  const auto counted = counter ? counters_->find(counter) : counters_->end();
  if (counted == counters_->end() || counted->second.container != namedBy(container)) return element(container, depth + 1);
  HostValue v = plain(HostValueKind::Element, e, counted->second.element);
  v.index = counted->second.loop;
  return v;
}

std::vector<const Expr*> ValueReader::elements(const Expr* array) {
  const Expr* e = stripped(array);
  if (const auto* method = dyn_cast_or_null<CXXMemberCallExpr>(e))
    e = stripped(method->getImplicitObjectArgument());  // values.data()
  const auto* ref = dyn_cast_or_null<DeclRefExpr>(e);
  const auto* member = dyn_cast_or_null<MemberExpr>(e);
  const auto* v = ref ? dyn_cast<VarDecl>(ref->getDecl()) : member ? dyn_cast<VarDecl>(member->getMemberDecl()) : nullptr;
  const Expr* init = v && !isa<ParmVarDecl>(v) ? v->getAnyInitializer() : nullptr;
  if (!v && e && (isa<CXXStdInitializerListExpr>(e) || isa<InitListExpr>(e) || isa<CXXConstructExpr>(e))) init = e;  // written in place
  init = init ? stripped(init) : nullptr;
  for (int i = 0; init && i < 4; ++i) {  // vector<const char*> v{a, b}; std::array<…>{{a, b}}
    if (const auto* construct = dyn_cast<CXXConstructExpr>(init); construct && construct->getNumArgs() >= 1)
      init = stripped(construct->getArg(0));
    else if (const auto* list = dyn_cast<CXXStdInitializerListExpr>(init))
      init = stripped(list->getSubExpr());
    else if (const auto* inner = dyn_cast<InitListExpr>(init);
             inner && inner->getNumInits() == 1 && isa<InitListExpr>(stripped(inner->getInit(0))))
      init = stripped(inner->getInit(0));
    else
      break;
  }
  const auto* list = dyn_cast_or_null<InitListExpr>(init);
  std::vector<const Expr*> result;
  if (list)
    for (const Expr* i : list->inits()) result.push_back(i);
  if (v && v->isLocalVarDecl() && v->getType()->isArrayType()) assignedElements(*v, ref, result);
  return result;
}

namespace {

// Where statements lie in a function: in which order they are written, and in what.
class Order {
 public:
  explicit Order(const Stmt* body) { walk(body, nullptr, 0); }

  bool complete() const { return steps_ < kMaxSteps; }
  const std::vector<const Stmt*>& all() const { return all_; }
  // Nothing but what is written between them can run between them, and none of `other` runs: the assignment is a statement of a block
  // that holds the use, no label lets anybody in behind it, and no loop around the use alone brings it back from one of the others.
  bool reaches(const Stmt* assignment, const Stmt* use, const std::vector<const Stmt*>& others) const {
    const Place &from = places_.at(assignment), &to = places_.at(use);
    if (from.at > to.at || !isa_and_nonnull<CompoundStmt>(from.parent) || !isIn(to, places_.at(from.parent))) return false;
    for (std::size_t i = from.at; i < to.at; ++i)
      if (isa<LabelStmt, clang::SwitchCase>(all_[i])) return false;
    for (const Stmt* other : others) {
      const Place& o = places_.at(other);
      if (o.at > from.at && o.at < to.at) return false;
      for (const Stmt* around = to.parent; around && around != from.parent; around = places_.at(around).parent)
        if (isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(around) && isIn(o, places_.at(around))) return false;
    }
    return true;
  }
  bool knows(const Stmt* s) const { return places_.contains(s); }

 private:
  struct Place {
    const Stmt* parent = nullptr;
    std::size_t at = 0, end = 0;
  };
  static bool isIn(const Place& inner, const Place& outer) { return inner.at >= outer.at && inner.at < outer.end; }

  void walk(const Stmt* s, const Stmt* parent, int depth) {
    if (!s || depth > 400 || ++steps_ >= kMaxSteps) return;
    const auto [place, fresh] = places_.try_emplace(s, Place{parent, all_.size(), 0});
    if (!fresh) return;
    all_.push_back(s);
    for (const Stmt* child : s->children()) walk(child, s, depth + 1);
    places_.at(s).end = all_.size();
  }

  std::map<const Stmt*, Place> places_;
  std::vector<const Stmt*> all_;
  int steps_ = 0;
};

}  // namespace

// params[0] = "7"; params[1] = buffer: what elements of a local array are given one by one, before it is used; a null one may hold several things.
void ValueReader::assignedElements(const VarDecl& v, const Expr* use, std::vector<const Expr*>& elements) const {
  const auto* size = context_.getAsConstantArrayType(v.getType());
  if (!size || size->getSize().ugt(64) || !function_ || !function_->getBody()) return;
  const Order order(function_->getBody());
  std::map<std::size_t, std::vector<const Stmt*>> assignments;
  for (const Stmt* s : order.all()) {
    const auto* assign = dyn_cast<clang::BinaryOperator>(s);
    const auto* element = assign && assign->isAssignmentOp() ? dyn_cast<ArraySubscriptExpr>(stripped(assign->getLHS())) : nullptr;
    const auto* ref = element ? dyn_cast<DeclRefExpr>(stripped(element->getBase())) : nullptr;
    if (!ref || ref->getDecl() != &v) continue;
    const auto index = integerConstant(element->getIdx(), context_);
    if (!index) {
      std::fill(elements.begin(), elements.end(), nullptr);
      return;
    }
    const auto at = static_cast<std::size_t>(*index);  // a negative one is beyond all
    if (at < size->getSize().getLimitedValue()) assignments[at].push_back(s);
  }
  for (const auto& [at, all] : assignments) {
    if (elements.size() <= at) elements.resize(at + 1, nullptr);
    const Stmt* holds = all.size() == 1 && (!elements[at] || isa<ImplicitValueInitExpr>(elements[at])) ? all[0] : nullptr;
    if (!holds && order.complete() && use && order.knows(use))
      for (const Stmt* s : all) {
        std::vector<const Stmt*> others;
        llvm::copy_if(all, std::back_inserter(others), [&](const Stmt* o) { return o != s; });
        if (order.reaches(s, use, others)) holds = s;
      }
    const auto* assign = dyn_cast_or_null<clang::BinaryOperator>(holds);
    elements[at] = assign && assign->getOpcode() == clang::BO_Assign ? assign->getRHS() : nullptr;
  }
}

// --- what a local variable holds ------------------------------------------------------------------------------------------

// Follows one local variable through the statements of its function up to one use of it: assignments replace what it holds, +=
// and append() add to it, branches give alternatives. What we cannot follow is a null part.
class Reaching {
 public:
  using Parts = std::vector<const Expr*>;
  Reaching(const VarDecl& v, const Expr* use) : v_(v), use_(use) {}

  std::vector<Parts> run(const Stmt* body, bool parameter) {
    if (parameter) state_ = {Parts{}};
    walk(body);
    return found_ ? at_use_ : state_;
  }

 private:
  bool isVariable(const Expr* e) const {
    const auto* ref = e ? dyn_cast<DeclRefExpr>(stripped(e)) : nullptr;
    return ref && ref->getDecl() == &v_;
  }
  static bool isAppend(const CXXMemberCallExpr& call) { return call.getNumArgs() == 1 && namedOneOf(call.getMethodDecl(), {"append"}); }
  void set(const Expr* e) { state_ = {Parts{e}}; }
  void append(const Expr* e) {
    if (state_.empty()) state_.push_back({nullptr});
    for (Parts& p : state_)
      if (p.size() < kMostPieces) p.push_back(e);
  }
  void merge(std::vector<Parts> other) {
    for (Parts& p : other)
      if (std::find(state_.begin(), state_.end(), p) == state_.end()) {
        if (state_.size() < kMostTexts)
          state_.push_back(std::move(p));
        else
          state_.back() = {nullptr};
      }
  }

  void walk(const Stmt* s) {
    if (!s || found_ || ++steps_ > 200000 || depth_ > 400) return;
    const Nest nest(depth_);
    if (s == use_) {
      found_ = true, at_use_ = state_;
      return;
    }
    if (const auto* decl = dyn_cast<DeclStmt>(s)) {
      for (const Decl* d : decl->decls())
        if (const auto* v = dyn_cast<VarDecl>(d)) {
          walk(v->getInit());
          if (v == &v_ && !found_) v->getInit() ? set(v->getInit()) : void(state_ = {Parts{}});
        }
      return;
    }
    if (const auto* branch = dyn_cast<IfStmt>(s)) {
      walk(branch->getInit()), walk(branch->getConditionVariableDeclStmt()), walk(branch->getCond());
      if (found_) return;
      std::vector<Parts> before = state_;
      walk(branch->getThen());
      if (found_) return;
      std::vector<Parts> then = std::exchange(state_, std::move(before));
      const bool leaves = alwaysLeaves(branch->getThen());
      walk(branch->getElse());
      if (found_) return;
      const bool else_leaves = branch->getElse() && alwaysLeaves(branch->getElse());
      if (else_leaves)
        state_ = std::move(then);
      else if (!leaves) {
        std::vector<Parts> otherwise = std::exchange(state_, std::move(then));
        merge(std::move(otherwise));
      }
      return;
    }
    if (const auto* choice = dyn_cast<SwitchStmt>(s)) return walkSwitch(*choice);
    if (isa<ForStmt>(s) || isa<WhileStmt>(s) || isa<DoStmt>(s) || isa<CXXForRangeStmt>(s)) return walkLoop(s);
    if (const auto* assign = dyn_cast<clang::BinaryOperator>(s);
        assign && assign->isAssignmentOp() && isVariable(assign->getLHS())) {
      walk(assign->getRHS());
      if (!found_) assign->getOpcode() == BO_Assign ? set(assign->getRHS()) : append(nullptr);
      return;
    }
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(s); unary && isVariable(unary->getSubExpr())) {
      walk(unary->getSubExpr());
      if (!found_ && (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf)) append(nullptr);
      return;
    }
    if (const auto* op = dyn_cast<CXXOperatorCallExpr>(s); op && op->getNumArgs() == 2) {
      const OverloadedOperatorKind kind = op->getOperator();
      const bool adds = kind == OO_PlusEqual || (kind == OO_CaretEqual && isTextType(v_.getType()));
      if (isVariable(op->getArg(0)) && (kind == OO_Equal || adds)) {
        walk(op->getArg(1));
        if (!found_) kind == OO_Equal ? set(op->getArg(1)) : append(op->getArg(1));
        return;
      }
      if (kind == OO_LessLess) {  // stream << a << b
        const Expr* left = stripped(op->getArg(0));
        walk(left), walk(op->getArg(1));
        const Expr* root = left;
        while (const auto* inner = dyn_cast<CXXOperatorCallExpr>(root)) {
          if (inner->getOperator() != OO_LessLess || inner->getNumArgs() != 2) break;
          root = stripped(inner->getArg(0));
        }
        if (!found_ && isVariable(root)) append(op->getArg(1));
        return;
      }
    }
    if (const auto* method = dyn_cast<CXXMemberCallExpr>(s); method && isAppend(*method)) {  // v.append(a).append(b)
      const auto* before = dyn_cast<CXXMemberCallExpr>(stripped(method->getImplicitObjectArgument()));
      const Expr* root = before;
      while (const auto* inner = dyn_cast_or_null<CXXMemberCallExpr>(root)) {
        if (!isAppend(*inner)) break;
        root = stripped(inner->getImplicitObjectArgument());
      }
      if (before && isVariable(root)) {
        walk(before), walk(method->getArg(0));
        if (!found_) append(method->getArg(0));
        return;
      }
    }
    if (const auto* method = dyn_cast<CXXMemberCallExpr>(s); method && isVariable(method->getImplicitObjectArgument())) {
      for (const Expr* a : method->arguments()) walk(a);
      if (found_) return;
      walk(method->getImplicitObjectArgument());
      if (found_) return;
      const auto* f = method->getMethodDecl();
      if (f && namedOneOf(f, {"append", "push_back"}) && method->getNumArgs() == 1) return append(method->getArg(0));
      if (f && namedOneOf(f, {"assign"}) && method->getNumArgs() == 1) return set(method->getArg(0));
      if (f && !f->isConst() &&
          !namedOneOf(f, {"reserve", "c_str", "data", "begin", "end", "size", "shrink_to_fit", "get", "operator[]"}))
        append(nullptr);
      return;
    }
    if (const auto* call = dyn_cast<CallExpr>(s)) {
      if (appendsTo(*call)) return;
      for (const Stmt* child : s->children()) walk(child);
      if (found_) return;
      passedOn(*call);
      return;
    }
    for (const Stmt* child : s->children()) walk(child);
  }

  // absl::StrAppend(&v, a, b)
  bool appendsTo(const CallExpr& call) {
    const FunctionDecl* f = call.getDirectCallee();
    const auto* to = f && call.getNumArgs() > 1 && qualifiedName(*f) == "absl::StrAppend" ? dyn_cast<clang::UnaryOperator>(stripped(call.getArg(0))) : nullptr;
    if (!to || to->getOpcode() != UO_AddrOf || !isVariable(to->getSubExpr())) return false;
    for (unsigned i = 1; i < call.getNumArgs(); ++i) walk(call.getArg(i));
    for (unsigned i = 1; i < call.getNumArgs() && !found_; ++i) append(call.getArg(i));
    return true;
  }

  // A parameter that takes whatever it is given and hands it on (Args&&...): what is passed so is read, not written.
  static bool forwards(const FunctionDecl& f, unsigned i) {
    const FunctionDecl* pattern = f.getTemplateInstantiationPattern();
    if (!pattern || pattern->getNumParams() == 0) return false;
    QualType type = pattern->getParamDecl(std::min(i, pattern->getNumParams() - 1))->getType();
    if (const auto* pack = type->getAs<clang::PackExpansionType>()) type = pack->getPattern();
    return type->isRValueReferenceType() && type.getNonReferenceType()->isTemplateTypeParmType();
  }

  // The variable as an argument that the callee may write to.
  void passedOn(const CallExpr& call) {
    const FunctionDecl* f = call.getDirectCallee();
    const unsigned shift = isa<CXXOperatorCallExpr>(call) && f && isa<CXXMethodDecl>(f) ? 1 : 0;
    for (unsigned i = shift; i < call.getNumArgs(); ++i) {
      const Expr* a = call.getArg(i);
      const Expr* inner = stripped(a);
      if (const auto* address = dyn_cast<clang::UnaryOperator>(inner);
          address && address->getOpcode() == UO_AddrOf && isVariable(address->getSubExpr())) {
        append(nullptr);
        continue;
      }
      if (!isVariable(inner)) continue;
      const bool array = v_.getType()->isArrayType() && !v_.getType().isConstQualified();
      QualType p = f && i - shift < f->getNumParams() ? f->getParamDecl(i - shift)->getType() : QualType();
      const bool by_reference =
          !p.isNull() && p->isLValueReferenceType() && !p->getPointeeType().isConstQualified() && !forwards(*f, i - shift);
      const bool to_buffer = array && !p.isNull() && p->isPointerType() && !p->getPointeeType().isConstQualified();
      if (to_buffer && f && namedOneOf(f, {"snprintf", "sprintf", "pg_snprintf"}))
        set(&call);
      else if (by_reference || to_buffer)
        append(nullptr);
    }
  }

  void walkSwitch(const SwitchStmt& s) {
    walk(s.getInit()), walk(s.getCond());
    if (found_) return;
    const std::vector<Parts> before = state_;
    std::vector<Parts> ends;
    bool has_default = false;
    const auto* body = dyn_cast<CompoundStmt>(s.getBody());
    if (!body) return walk(s.getBody());
    state_.clear();
    bool entered = false;
    for (const Stmt* child : body->body()) {
      const Stmt* inner = child;
      while (const auto* label = dyn_cast<SwitchCase>(inner)) {
        has_default |= isa<DefaultStmt>(label);
        merge(before);
        entered = true;
        inner = label->getSubStmt();
      }
      if (!entered) continue;
      if (isa<BreakStmt>(inner)) {
        for (Parts& p : state_)
          if (ends.size() < kMostTexts) ends.push_back(std::move(p));
        state_.clear();
        continue;
      }
      walk(inner);
      if (found_) return;
      if (alwaysLeaves(inner)) state_.clear();
    }
    merge(std::move(ends));
    if (!has_default) merge(before);
  }

  // What a loop writes is not followed; outside of it the variable keeps what it had, and that.
  void walkLoop(const Stmt* s) {
    const std::vector<Parts> before = state_;
    const bool writes = writesIn(s);
    if (writes)
      for (Parts& p : state_) p.push_back(nullptr);
    // A variable that is declared in the loop starts anew in each round.
    for (const Stmt* child : s->children()) walk(child);
    if (const auto* range = dyn_cast<CXXForRangeStmt>(s); range && !found_) walk(range->getBody());
    if (!found_) merge(before);
  }

  bool writesIn(const Stmt* s) {
    Reaching inner(v_, nullptr);
    inner.state_ = {Parts{}};
    for (const Stmt* child : s->children()) inner.walk(child);
    return inner.state_ != std::vector<Parts>{Parts{}} && !declaredIn(s);
  }
  bool declaredIn(const Stmt* s) const {
    const auto& manager = v_.getASTContext().getSourceManager();
    const clang::SourceRange r = s->getSourceRange();
    return !manager.isBeforeInTranslationUnit(v_.getLocation(), r.getBegin()) &&
           !manager.isBeforeInTranslationUnit(r.getEnd(), v_.getLocation());
  }

  static bool alwaysLeaves(const Stmt* s) {
    if (!s) return false;
    if (isa<ReturnStmt>(s) || isa<BreakStmt>(s) || isa<ContinueStmt>(s) || isa<GotoStmt>(s)) return true;
    if (const auto* e = dyn_cast<Expr>(s)) {
      e = stripped(e);
      if (isa<CXXThrowExpr>(e)) return true;
      const auto* call = dyn_cast<CallExpr>(e);
      return call && call->getDirectCallee() && call->getDirectCallee()->isNoReturn();
    }
    if (const auto* block = dyn_cast<CompoundStmt>(s)) return block->body_back() && alwaysLeaves(block->body_back());
    return false;
  }

  const VarDecl& v_;
  const Expr* use_;
  std::vector<Parts> state_, at_use_;
  bool found_ = false;
  int steps_ = 0, depth_ = 0;
};

std::vector<ValueReader::Parts> ValueReader::reaching(const VarDecl& v, const Expr* use) {
  const auto* owner = dyn_cast_or_null<FunctionDecl>(v.getDeclContext());
  const Stmt* body = owner ? owner->getBody() : nullptr;
  if (!body) return {Parts{nullptr}};
  return Reaching(v, use).run(body, isa<ParmVarDecl>(v));
}

const Expr* ValueReader::reachingOne(const VarDecl& v, const Expr* use) {
  const std::vector<Parts> parts = reaching(v, use);
  return parts.size() == 1 && parts[0].size() == 1 ? parts[0][0] : nullptr;
}

// --- texts ----------------------------------------------------------------------------------------------------------------

Texts ValueReader::texts(const Expr* e) {
  if (!e) return {Text{}};
  if (depth_ > kMaxDepth || ++steps_ > kMaxSteps) return hole(e);
  const Nest nest(depth_);
  return textsAt(e);
}

Texts ValueReader::hole(const Expr* e, bool quoted) {
  TextPiece p;
  p.hole = value(e), p.quoted = quoted, p.range = places_.range(e->getSourceRange());
  return {Text{std::move(p)}};
}

Texts ValueReader::product(const Texts& left, const Texts& right) {
  Texts result;
  for (const Text& a : left)
    for (const Text& b : right) {
      if (result.size() == kMostTexts) return result;
      Text t = a;
      if (t.size() + b.size() <= kMostPieces) t.insert(t.end(), b.begin(), b.end());
      result.push_back(std::move(t));
    }
  return result;
}

void ValueReader::addAll(Texts& into, Texts more) {
  for (Text& t : more)
    if (into.size() < kMostTexts) into.push_back(std::move(t));
}

Texts ValueReader::joined(const std::vector<const Expr*>& parts) {
  Texts result{Text{}};
  for (const Expr* e : parts) {
    if (e) {
      result = product(result, texts(e));
      continue;
    }
    TextPiece p;
    p.hole.emplace();
    p.hole->text = "not followed";
    result = product(result, {Text{p}});
  }
  return result;
}

// The text with the place of each byte. Escapes make text and file run out of step; so do the ends of adjacent literals.
Texts ValueReader::literal(const clang::StringLiteral& s) {
  TextPiece p;
  if (s.getCharByteWidth() != 1) return {Text{p}};
  p.text = s.getString().str();
  p.range = places_.range(s.getSourceRange());
  const SourceManager& manager = places_.manager();
  for (unsigned i = 0; i < s.getNumConcatenated(); ++i) {
    const SourceLocation token = s.getStrTokenLoc(i);
    if (const auto at =
            places_.byte(manager.isWrittenInScratchSpace(manager.getSpellingLoc(token)) ? token : manager.getSpellingLoc(token)))
      p.literals.push_back(*at);
  }
  unsigned token = 0, token_offset = 0;
  for (unsigned i = 0; i < p.text.size(); ++i) {
    const SourceLocation raw =
        s.getLocationOfByte(i, manager, context_.getLangOpts(), context_.getTargetInfo(), &token, &token_offset);
    const SourceLocation spelled = manager.getSpellingLoc(raw);
    auto at = manager.isWrittenInScratchSpace(spelled) ? places_.byte(raw) : places_.byte(spelled);
    if (!at) at = places_.byte(raw);
    if (!at) continue;
    const HostPlace next{i, at->first, at->second};
    if (!p.places.empty()) {
      const HostPlace& last = p.places.back();
      if (last.file == next.file && last.at + (i - last.offset) == next.at) continue;
    }
    p.places.push_back(next);
  }
  return {Text{std::move(p)}};
}

Texts ValueReader::textsAt(const Expr* written) {
  const Expr* e = stripped(written);
  if (const auto* s = dyn_cast<clang::StringLiteral>(e)) return literal(*s);
  if (const auto* c = dyn_cast<CharacterLiteral>(e); c && c->getValue() < 128) {
    TextPiece p;
    p.text = std::string(1, static_cast<char>(c->getValue())), p.range = places_.range(e->getSourceRange());
    if (p.range.known()) p.places.push_back({0, p.range.file, p.range.begin + 1});
    return {Text{std::move(p)}};
  }
  if (const auto* cast = dyn_cast<CastExpr>(e); cast && isTextType(cast->getType()) && isTextType(cast->getSubExpr()->getType()))
    return texts(cast->getSubExpr());
  if (const auto* choice = dyn_cast<AbstractConditionalOperator>(e); choice && isTextType(e->getType())) {
    Texts result = texts(choice->getTrueExpr());
    addAll(result, texts(choice->getFalseExpr()));
    return result;
  }
  if (const auto* literal = dyn_cast<UserDefinedLiteral>(e);
      literal && literal->getNumArgs() > 0 && isTextType(literal->getArg(0)->getType()))
    return texts(literal->getArg(0));
  if (const auto* construct = dyn_cast<CXXConstructExpr>(e)) {
    if (construct->getNumArgs() == 0) return {Text{}};
    const bool text =
        isTextType(construct->getArg(0)->getType()) && (isTextType(construct->getType()) || construct->getNumArgs() == 1);
    if (text) return texts(construct->getArg(0));
  }
  if (const auto* list = dyn_cast<InitListExpr>(e)) {
    if (list->getNumInits() == 1 && isTextType(list->getInit(0)->getType())) return texts(list->getInit(0));
    if (list->getNumInits() == 0) return {Text{}};
  }
  // For want of a header clang does not know what is added here: text and something else make text.
  if (const auto* sum = dyn_cast<clang::BinaryOperator>(e); sum && sum->getOpcode() == BO_Add && sum->isTypeDependent())
    return product(texts(sum->getLHS()), texts(sum->getRHS()));
  if (const auto* sum = dyn_cast<CXXOperatorCallExpr>(e);
      sum && sum->getOperator() == OO_Plus && sum->getNumArgs() == 2 && sum->isTypeDependent())
    return product(texts(sum->getArg(0)), texts(sum->getArg(1)));
  if (const auto* lost = dyn_cast<RecoveryExpr>(e); lost && lost->subExpressions().size() == 2 && !isLostCall(*lost, places_.manager()))
    return product(texts(lost->subExpressions()[0]), texts(lost->subExpressions()[1]));
  if (const auto* ref = dyn_cast<DeclRefExpr>(e))
    if (const auto* v = dyn_cast<VarDecl>(ref->getDecl()); v && isTextType(v->getType())) return variableTexts(*v, e);
  if (const auto* member = dyn_cast<MemberExpr>(e)) {
    if (const auto* v = dyn_cast<VarDecl>(member->getMemberDecl()); v && isTextType(v->getType())) return variableTexts(*v, e);
    const auto* field = dyn_cast<FieldDecl>(member->getMemberDecl());
    if (field && field->hasInClassInitializer() && field->getType().isConstQualified() && isTextType(field->getType()) &&
        field->getInClassInitializer())
      return texts(field->getInClassInitializer());
  }
  if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(e); subscript && isTextType(e->getType())) {
    const std::vector<const Expr*> all = elements(subscript->getBase());
    const auto index = all.empty() ? std::nullopt : integerConstant(subscript->getIdx(), context_);
    if (index && *index >= 0 && static_cast<std::size_t>(*index) < all.size()) return texts(all[static_cast<std::size_t>(*index)]);
    Texts result;
    for (const Expr* x : all) addAll(result, texts(x));
    if (!result.empty()) return result;
  }
  if (const auto* c = dyn_cast<CallExpr>(e)) return callTexts(*c);
  return hole(e);
}

Texts ValueReader::variableTexts(const VarDecl& v, const Expr* use) {
  if (const auto* parameter = dyn_cast<ParmVarDecl>(&v)) {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      if (frame->function != parameter->getDeclContext() || parameter->getFunctionScopeIndex() >= frame->arguments.size())
        continue;
      const Expr* argument = frame->arguments[parameter->getFunctionScopeIndex()];
      std::vector<Frame> kept = frames_;
      frames_.resize(static_cast<std::size_t>(frames_.rend() - frame) - 1);
      Texts result = texts(argument);
      frames_ = std::move(kept);
      return result;
    }
    return hole(use);
  }
  // What it held before may be part of what it holds: sql = "BEGIN; " + sql.
  unsigned& nested = reading_[&v];
  if (nested >= kMostNested || !active_.insert(use).second) return hole(use);
  ++nested;
  Texts result;
  if (v.isLocalVarDecl() && !v.isStaticLocal()) {
    for (const Parts& p : reaching(v, use)) addAll(result, joined(p));
  } else if (const Expr* init = v.getAnyInitializer();
             init && (v.getType().isConstQualified() || v.isConstexpr() || v.getType()->isPointerType())) {
    result = texts(init);
  }
  active_.erase(use);
  --nested;
  return result.empty() ? hole(use) : result;
}

namespace {

// The arguments of QString::arg that are put into the text: the first, and with it others that are text; a width, a base and a fill are not.
std::vector<const Expr*> replacedByQt(const CallExpr& c) {
  std::vector<const Expr*> result;
  for (const Expr* a : c.arguments())
    if (result.empty() || (!isa<CXXDefaultArgExpr>(a) && isTextType(a->getType()))) result.push_back(a);
  return result;
}

}  // namespace

Texts ValueReader::callTexts(const CallExpr& c) {
  const FunctionDecl* callee = c.getDirectCallee();
  if (!callee) return hole(&c);
  const auto* method = dyn_cast<CXXMemberCallExpr>(&c);
  const std::string name = qualifiedName(*callee);
  if (joinsTexts(callee->getOverloadedOperator(), c.getType()) && c.getNumArgs() == 2)
    return product(texts(c.getArg(0)), texts(c.getArg(1)));
  if (method && isa<CXXConversionDecl>(callee)) return texts(method->getImplicitObjectArgument());
  if (method && callee->getNumParams() == 0 && namedOneOf(callee, kWholeText) &&
      isTextType(method->getImplicitObjectArgument()->getType()))
    return texts(method->getImplicitObjectArgument());
  if ((name == "std::move" || name == "std::forward" || name == "QString::fromLatin1" || name == "QString::fromUtf8" ||
       name == "QString::fromStdString") &&
      c.getNumArgs() >= 1)
    return texts(c.getArg(0));
  if (sourceOf(name) == Source::Quote && c.getNumArgs() >= 2) return hole(c.getArg(1), true);
  if (method && name.starts_with("pqxx::") && namedOneOf(callee, {"quote"}) && c.getNumArgs() == 1)
    return hole(c.getArg(0), true);
  if (method && name.starts_with("pqxx::") && namedOneOf(callee, {"esc"}) && c.getNumArgs() == 1) return hole(c.getArg(0));
  if (const FormatModel* format = findFormatModel(name); format && format->format < c.getNumArgs()) {
    const std::vector<const Expr*> arguments(c.arg_begin() + std::min(format->first, c.getNumArgs()), c.arg_end());
    return filled(texts(c.getArg(format->format)), arguments, format->style).value_or(hole(&c));
  }
  if (name == "absl::StrCat") return joined(std::vector<const Expr*>(c.arg_begin(), c.arg_end()));
  if (method && name == "QString::arg")
    return qtArguments(texts(method->getImplicitObjectArgument()), replacedByQt(c)).value_or(hole(&c));
  if (name == "boost::str" && c.getNumArgs() == 1) return texts(c.getArg(0));
  if (callee->getOverloadedOperator() == OO_Percent && c.getNumArgs() == 2) {  // boost::format(f) % a % b
    std::vector<const Expr*> arguments;
    const Expr* root = &c;
    while (const auto* op = dyn_cast<CXXOperatorCallExpr>(stripped(root))) {
      if (op->getOperator() != OO_Percent || op->getNumArgs() != 2) break;
      arguments.insert(arguments.begin(), op->getArg(1));
      root = op->getArg(0);
    }
    return filled(texts(root), arguments, FormatStyle::Boost).value_or(hole(&c));
  }
  const bool lookup = callee->getOverloadedOperator() == OO_Subscript || namedOneOf(callee, {"at", "value"});
  if (lookup && isTextType(c.getType())) {  // of a table of statements
    const Expr* table = method ? method->getImplicitObjectArgument() : c.getArg(0);
    Texts result;
    for (const Expr* element : elements(table)) {
      const Expr* e = stripped(element);
      const auto* pair = dyn_cast_or_null<CXXConstructExpr>(e);
      const auto* list = dyn_cast_or_null<InitListExpr>(e);
      if (pair && pair->getNumArgs() == 2)
        addAll(result, texts(pair->getArg(1)));
      else if (list && list->getNumInits() == 2)
        addAll(result, texts(list->getInit(1)));
      else
        addAll(result, texts(e));
    }
    return result.empty() ? hole(&c) : result;
  }
  if (isTextType(c.getType()) && frames_.size() < kMostFrames && !isa<CXXOperatorCallExpr>(c) && active_.insert(callee).second) {
    Texts t;
    const FunctionDecl* definition = nullptr;
    (void)callee->hasBody(definition);
    for (const Expr* result : results(*callee)) {
      frames_.push_back({definition, std::vector<const Expr*>(c.arg_begin(), c.arg_end())});
      addAll(t, texts(result));
      frames_.pop_back();
    }
    active_.erase(callee);
    if (!t.empty()) return t;
  }
  return hole(&c);
}

namespace {

TextPiece slice(const TextPiece& p, std::size_t begin, std::size_t end) {
  TextPiece out;
  out.range = p.range, out.text = p.text.substr(begin, end - begin), out.literals = p.literals;
  for (std::size_t i = 0; i < p.places.size(); ++i) {
    const std::size_t from = p.places[i].offset, to = i + 1 < p.places.size() ? p.places[i + 1].offset : p.text.size();
    if (to <= begin || from >= end) continue;
    HostPlace at = p.places[i];
    if (from < begin)
      at.at += static_cast<std::uint32_t>(begin - from), at.offset = 0;
    else
      at.offset = static_cast<std::uint32_t>(from - begin);
    out.places.push_back(at);
  }
  return out;
}

}  // namespace

namespace {

// A place in a format where an argument goes, or (argument < 0) where one character stands for itself.
struct Slot {
  std::size_t begin = std::string::npos, end = 0;
  int argument = -1;
  bool text = true;  // the argument's text; false: a number, written out
  bool found() const { return begin != std::string::npos; }
};

bool digit(char c) { return c >= '0' && c <= '9'; }

// {} {0} {:x}; {{ is a brace.
std::optional<Slot> braceSlot(std::string_view s, std::size_t from, int& next) {
  const std::size_t i = s.find_first_of("{}", from);
  if (i == s.npos) return Slot{};
  if (i + 1 < s.size() && s[i + 1] == s[i]) return Slot{i, i + 2, -1};
  const std::size_t close = s.find('}', i);
  if (s[i] == '}' || close == s.npos) return std::nullopt;
  const bool numbered = i + 1 < close && digit(s[i + 1]);
  return Slot{i, close + 1, numbered ? s[i + 1] - '0' : next++};
}

// %d %-5ld %s; %% is a percent sign. A width that is an argument is not followed.
std::optional<Slot> printfSlot(std::string_view s, std::size_t from, int& next) {
  const std::size_t i = s.find('%', from);
  if (i == s.npos) return Slot{};
  if (i + 1 < s.size() && s[i + 1] == '%') return Slot{i, i + 2, -1};
  const std::size_t end = s.find_first_not_of("-+ #0123456789.lhzjtqL'", i + 1);
  if (end == s.npos || s[end] == '*') return std::nullopt;
  return Slot{i, end + 1, next++, s[end] == 's'};
}

// $0; $$ is a dollar sign.
std::optional<Slot> dollarSlot(std::string_view s, std::size_t from, int&) {
  const std::size_t i = s.find('$', from);
  if (i == s.npos) return Slot{};
  if (i + 1 >= s.size()) return std::nullopt;
  if (s[i + 1] == '$') return Slot{i, i + 2, -1};
  if (!digit(s[i + 1])) return std::nullopt;
  return Slot{i, i + 2, s[i + 1] - '0'};
}

// %1% and the forms of printf.
std::optional<Slot> boostSlot(std::string_view s, std::size_t from, int& next) {
  const std::size_t i = s.find('%', from);
  if (i != s.npos && i + 2 < s.size() && digit(s[i + 1]) && s[i + 2] == '%') return Slot{i, i + 3, s[i + 1] - '1'};
  return printfSlot(s, from, next);
}

std::optional<Slot> slotOf(FormatStyle style, std::string_view s, std::size_t from, int& next) {
  switch (style) {
    case FormatStyle::Braces:
      return braceSlot(s, from, next);
    case FormatStyle::Printf:
      return printfSlot(s, from, next);
    case FormatStyle::Dollar:
      return dollarSlot(s, from, next);
    case FormatStyle::Boost:
      return boostSlot(s, from, next);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Texts> ValueReader::filled(const Texts& formats, const std::vector<const Expr*>& arguments, FormatStyle style) {
  Texts result;
  for (const Text& f : formats) {
    Texts built{Text{}};
    int next = 0;
    for (const TextPiece& p : f) {
      if (p.hole) {
        built = product(built, {Text{p}});
        continue;
      }
      for (std::size_t from = 0; from < p.text.size();) {
        const std::optional<Slot> slot = slotOf(style, p.text, from, next);
        if (!slot) return std::nullopt;
        const std::size_t upto = slot->found() ? slot->begin + (slot->argument < 0 ? 1 : 0) : p.text.size();
        if (upto > from) built = product(built, {Text{slice(p, from, upto)}});
        if (!slot->found()) break;
        from = slot->end;
        if (slot->argument < 0) continue;
        if (static_cast<std::size_t>(slot->argument) >= arguments.size()) return std::nullopt;
        const Expr* argument = arguments[static_cast<std::size_t>(slot->argument)];
        built = product(built, slot->text ? texts(argument) : hole(argument));
      }
    }
    addAll(result, std::move(built));
  }
  if (result.empty()) return std::nullopt;
  return result;
}

// Each argument replaces the lowest %n that is left.
std::optional<Texts> ValueReader::qtArguments(const Texts& formats, const std::vector<const Expr*>& arguments) {
  Texts current = formats;
  for (const Expr* argument : arguments) {
    const Texts fill = texts(argument);
    Texts result;
    for (const Text& t : current) {
      int lowest = 100;
      for (const TextPiece& p : t)
        for (std::size_t i = p.text.find('%'); i != std::string::npos; i = p.text.find('%', i + 1))
          if (i + 1 < p.text.size() && digit(p.text[i + 1]) && p.text[i + 1] != '0')
            lowest = std::min(lowest, p.text[i + 1] - '0');
      if (lowest == 100) return std::nullopt;
      const std::string mark = "%" + std::to_string(lowest);
      Texts built{Text{}};
      for (const TextPiece& p : t) {
        if (p.hole) {
          built = product(built, {Text{p}});
          continue;
        }
        std::size_t from = 0;
        for (std::size_t i = p.text.find(mark); i != std::string::npos; i = p.text.find(mark, from)) {
          if (i > from) built = product(built, {Text{slice(p, from, i)}});
          built = product(built, fill);
          from = i + mark.size();
        }
        if (from < p.text.size()) built = product(built, {Text{slice(p, from, p.text.size())}});
      }
      addAll(result, std::move(built));
    }
    current = std::move(result);
  }
  return current;
}

}  // namespace pglocklint::extract

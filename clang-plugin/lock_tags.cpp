// What a LOCKTAG holds where it is used. A function is gone through as it runs, with the alternatives that its branches make; helpers that
// fill a tag, by its address or as their result, are gone through in its place.
#include "lock_tags.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pglocklint::extract {

using namespace clang;

namespace {

constexpr std::array<llvm::StringLiteral, 4> kFields{"locktag_field2", "locktag_field3", "locktag_field4", "locktag_type"};
constexpr std::size_t kMostTags = 8;     // alternatives
constexpr std::size_t kMostHelpers = 3;  // in one another
constexpr int kMostSteps = 20000;
constexpr std::int64_t kAdvisoryType = 10;  // LOCKTAG_ADVISORY

// An expression, and the calls of helpers around it whose parameters it may name.
struct Given {
  const Expr* value = nullptr;
  ValueReader::Frames helpers;
  bool operator==(const Given&) const = default;
};
using Tag = std::array<Given, kFields.size()>;
using Tags = std::vector<Tag>;

// A variable, a field of one, or what a pointer points to.
struct Place {
  const ValueDecl* base = nullptr;
  const ValueDecl* field = nullptr;
  bool operator==(const Place&) const = default;
};

Place placeOf(const Expr* e) {
  e = namedObject(e);
  if (const auto* ref = dyn_cast_or_null<DeclRefExpr>(e)) {
    const auto* v = dyn_cast<VarDecl>(ref->getDecl());
    // LOCKTAG *tag = &local;
    const Expr* init = v && !isa<ParmVarDecl>(v) && v->getType()->isPointerType() ? v->getInit() : nullptr;
    if (const Place target = init && init != e ? placeOf(init) : Place{}; target.base && target.base != v) return target;
    return {ref->getDecl(), nullptr};
  }
  if (const auto* member = dyn_cast_or_null<MemberExpr>(e)) {
    const Expr* object = stripped(member->getBase());
    if (isa<CXXThisExpr>(object)) return {member->getMemberDecl(), member->getMemberDecl()};
    if (const Place outer = placeOf(object); outer.base && !outer.field) return {outer.base, member->getMemberDecl()};
  }
  return {};
}

class TagReader {
 public:
  TagReader(const Place& tag, const Expr* until, ValueReader::Frames helpers = {}) : tag_(tag), until_(until), helpers_(std::move(helpers)) {}

  // What the tag may hold at `until`.
  Tags atCall(const Stmt* body) {
    run(body, {Tag{}});
    return found_;
  }
  // … when the function comes to its end, and what it returns where that is a tag of its own.
  Tags atEnd(const Stmt* body, Tags before) {
    const Tags end = run(body, std::move(before));
    merge(found_, end);
    return found_;
  }

  // The tag that the function's results are: one local variable; null if they are something else.
  static const VarDecl* returned(const Stmt* s, int depth = 0) {
    if (!s || depth > 200) return nullptr;
    if (const auto* r = dyn_cast<ReturnStmt>(s)) {
      const Expr* value = r->getRetValue() ? stripped(r->getRetValue()) : nullptr;
      if (const auto* copy = dyn_cast_or_null<CXXConstructExpr>(value); copy && copy->getNumArgs() == 1) value = copy->getArg(0);
      const Place p = placeOf(value);
      const auto* v = dyn_cast_or_null<VarDecl>(p.base);
      return v && !p.field && v->getType()->isRecordType() ? v : nullptr;
    }
    for (const Stmt* child : s->children())
      if (const VarDecl* v = returned(child, depth + 1)) return v;
    return nullptr;
  }

  // {0, high, low, 1, LOCKTAG_ADVISORY, …}
  static Tags ofList(const Expr* e, const ValueReader::Frames& helpers) {
    e = e ? stripped(e) : nullptr;
    if (const auto* literal = dyn_cast_or_null<CompoundLiteralExpr>(e)) e = stripped(literal->getInitializer());
    const auto* list = dyn_cast_or_null<InitListExpr>(e);
    const auto* record = list ? list->getType()->getAsRecordDecl() : nullptr;
    if (!record) return {Tag{}};
    if (list->isSyntacticForm() && list->getSemanticForm()) list = list->getSemanticForm();
    Tag tag;
    for (const FieldDecl* field : record->fields())
      if (Given* given = fieldOf(tag, field); given && field->getFieldIndex() < list->getNumInits()) *given = {list->getInit(field->getFieldIndex()), helpers};
    return {tag};
  }

 private:
  static Given* fieldOf(Tag& tag, const ValueDecl* field) {
    for (std::size_t i = 0; i < kFields.size(); ++i)
      if (field->getIdentifier() && field->getName() == kFields[i]) return &tag[i];
    return nullptr;
  }

  static void merge(Tags& into, const Tags& more) {
    for (const Tag& t : more) {
      if (std::ranges::find(into, t) != into.end()) continue;
      if (into.size() == kMostTags) into.front() = Tag{};  // too many: not known
      else into.push_back(t);
    }
  }

  // The state behind a statement; empty if nothing goes on there.
  Tags run(const Stmt* s, Tags in) {
    if (!s || in.empty()) return in;
    if (++steps_ > kMostSteps) return {Tag{}};
    if (isa<LambdaExpr>(s)) return in;
    if (const auto* compound = dyn_cast<CompoundStmt>(s)) {
      for (const Stmt* child : compound->body()) in = run(child, std::move(in));
      return in;
    }
    if (const auto* branch = dyn_cast<IfStmt>(s)) {
      in = run(branch->getInit(), std::move(in));
      in = run(branch->getConditionVariableDeclStmt(), std::move(in));
      in = run(branch->getCond(), std::move(in));
      Tags out = run(branch->getThen(), in);
      merge(out, run(branch->getElse(), std::move(in)));
      return out;
    }
    if (const auto* choice = dyn_cast<AbstractConditionalOperator>(s)) {
      in = run(choice->getCond(), std::move(in));
      Tags out = run(choice->getTrueExpr(), in);
      merge(out, run(choice->getFalseExpr(), std::move(in)));
      return out;
    }
    if (const auto* choice = dyn_cast<SwitchStmt>(s)) return runSwitch(*choice, std::move(in));
    if (isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(s)) {
      Tags left = in;
      std::swap(left, left_);
      Tags out;
      for (const Stmt* child : s->children()) in = run(child, std::move(in));
      std::swap(left, left_);
      out = std::move(left);  // also what was before, where it does not run at all
      merge(out, in);
      return out;
    }
    if (isa<BreakStmt, ContinueStmt>(s)) {
      merge(left_, in);
      return {};
    }
    if (const auto* result = dyn_cast<ReturnStmt>(s)) {
      merge(found_if_end(), run(result->getRetValue(), std::move(in)));
      return {};
    }
    if (isa<GotoStmt, IndirectGotoStmt>(s)) return {};
    if (isa<LabelStmt>(s)) merge(in, {Tag{}});  // from anywhere
    for (const Stmt* child : s->children()) in = run(child, std::move(in));
    return effect(*s, std::move(in));
  }

  Tags& found_if_end() { return until_ ? ignored_ : found_; }

  Tags runSwitch(const SwitchStmt& s, Tags in) {
    in = run(s.getInit(), std::move(in));
    in = run(s.getCond(), std::move(in));
    Tags left;
    std::swap(left, left_);
    Tags at;
    bool other = false;
    const auto* body = dyn_cast<CompoundStmt>(s.getBody());
    for (const Stmt* child : body ? body->body() : llvm::ArrayRef<Stmt*>()) {
      while (const auto* label = dyn_cast<SwitchCase>(child)) {
        other |= isa<DefaultStmt>(label);
        merge(at, in);
        child = label->getSubStmt();
      }
      at = run(child, std::move(at));
    }
    std::swap(left, left_);
    merge(left, at);
    if (!other) merge(left, in);
    return left;
  }

  Tags effect(const Stmt& s, Tags in) {
    if (const auto* declaration = dyn_cast<DeclStmt>(&s)) {
      for (const Decl* d : declaration->decls())
        if (const auto* v = dyn_cast<VarDecl>(d); v && v == tag_.base && !tag_.field && v->getType()->isRecordType())
          return v->getInit() ? whole(v->getInit(), in) : Tags{Tag{}};
      return in;
    }
    if (const auto* assignment = dyn_cast<clang::BinaryOperator>(&s); assignment && assignment->isAssignmentOp()) {
      if (placeOf(assignment->getLHS()) == tag_ && assignment->getLHS()->getType()->isRecordType()) return whole(assignment->getRHS(), in);
      const auto* member = dyn_cast<MemberExpr>(stripped(assignment->getLHS()));
      if (!member || !(placeOf(member->getBase()) == tag_)) return in;
      for (Tag& t : in)
        if (Given* given = fieldOf(t, member->getMemberDecl()))
          *given = assignment->getOpcode() == BO_Assign ? Given{assignment->getRHS(), helpers_} : Given{};
      return in;
    }
    const auto* call = dyn_cast<CallExpr>(&s);
    if (!call) return in;
    if (call == until_) {
      merge(found_, in);
      return in;
    }
    for (unsigned i = 0; i < call->getNumArgs(); ++i) {
      const QualType type = call->getArg(i)->getType();
      if (!type->isPointerType() && !call->getArg(i)->isLValue()) continue;
      const Place given = placeOf(call->getArg(i));
      const bool around = tag_.field && given == Place{tag_.base, nullptr};  // what the tag is a field of
      if (!(given == tag_) && !around) continue;
      const FunctionDecl* callee = call->getDirectCallee();
      const FunctionDecl* definition = nullptr;
      if (callee && i < callee->getNumParams()) {
        const QualType taken = callee->getParamDecl(i)->getType();
        if (taken->isRecordType() || ((taken->isPointerType() || taken->isReferenceType()) && taken->getPointeeType().isConstQualified())) continue;
        (void)callee->hasBody(definition);
      }
      if (!definition || helpers_.size() == kMostHelpers) return {Tag{}};
      return TagReader({definition->getParamDecl(i), around ? tag_.field : nullptr}, nullptr, inside(*definition, *call)).atEnd(definition->getBody(), std::move(in));
    }
    return in;
  }

  // The tag as a whole becomes this.
  Tags whole(const Expr* value, const Tags& in) {
    const Expr* e = stripped(value);
    if (const auto* copy = dyn_cast<CXXConstructExpr>(e); copy && copy->getNumArgs() == 1) e = stripped(copy->getArg(0));
    if (placeOf(e) == tag_) return in;
    const auto* call = dyn_cast<CallExpr>(e);
    const FunctionDecl* definition = nullptr;
    if (call && call->getDirectCallee()) (void)call->getDirectCallee()->hasBody(definition);
    const VarDecl* result = definition && helpers_.size() < kMostHelpers ? returned(definition->getBody()) : nullptr;
    if (result) return TagReader({result, nullptr}, nullptr, inside(*definition, *call)).atEnd(definition->getBody(), {Tag{}});
    return ofList(e, helpers_);
  }

  ValueReader::Frames inside(const FunctionDecl& definition, const CallExpr& call) const {
    ValueReader::Frames frames = helpers_;
    frames.push_back({&definition, std::vector<const Expr*>(call.arg_begin(), call.arg_end())});
    return frames;
  }

  const Place tag_;
  const Expr* until_;
  const ValueReader::Frames helpers_;
  Tags found_, left_, ignored_;
  int steps_ = 0;
};

bool same(const HostValue& a, const HostValue& b) {
  return a.kind == b.kind && a.type == b.type && a.name == b.name && a.text == b.text && a.index == b.index &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), same);
}

HostValue integer(std::string text, const HostValue& like) {
  HostValue v;
  v.kind = HostValueKind::Integer, v.text = std::move(text), v.range = like.range;
  v.type = {HostTypeKind::Signed, 64, "int64"};
  return v;
}

// The value whose halves these are: (key >> 32) and key; null if they are not.
const HostValue* halved(const HostValue& high, const HostValue& low) {
  const HostValue& shifted = unconverted(high);
  const bool is = shifted.kind == HostValueKind::Arithmetic && shifted.name == ">>" && shifted.args.size() == 2 && shifted.args[1].text == "32" &&
                  same(unconverted(shifted.args[0]), unconverted(low));
  return is ? &unconverted(low) : nullptr;
}

// A field of 32 bits as the integer of a pair, which has the same bits.
HostValue asInteger(HostValue v) {
  const auto n = integerOf(v);
  if (!n) return v;
  HostValue plain = unconverted(v);
  plain.text = std::to_string(static_cast<std::int32_t>(*n));
  plain.type = {HostTypeKind::Signed, 32, "int32"};
  return plain;
}

// One 64-bit key of the two halves that a tag has.
HostValue joinedKey(const HostValue& high, const HostValue& low) {
  if (high.kind == HostValueKind::Integer && low.kind == HostValueKind::Integer) {
    const auto hi = static_cast<std::uint64_t>(std::strtoll(high.text.c_str(), nullptr, 10));
    const auto lo = static_cast<std::uint64_t>(std::strtoll(low.text.c_str(), nullptr, 10));
    HostValue v = integer(std::to_string(static_cast<std::int64_t>(hi << 32 | (lo & 0xFFFFFFFFu))), low);
    if (hi == 0) v.constant = low.constant, v.defined = low.defined;
    return v;
  }
  if (const HostValue* whole = halved(high, low)) return *whole;
  if (integerOf(high) == 0) return low;
  const auto arithmetic = [&](const char* op, HostValue a, HostValue b) {
    HostValue v;
    v.kind = HostValueKind::Arithmetic, v.name = op, v.type = {HostTypeKind::Signed, 64, "int64"}, v.range = low.range;
    v.args = {std::move(a), std::move(b)};
    return v;
  };
  return arithmetic("|", arithmetic("<<", high, integer("32", high)), low);
}

// One thing that an argument of the call may be, and when.
struct Option {
  bool set = false;         // shared; of the session; without waiting
  HostWhen when;            // of the function's own parameter; no values: always
};

// By decision two modes: those that conflict with themselves, and those that do not. RowShareLock and AccessShareLock conflict with too little
// to be either.
const std::vector<std::int64_t> kExclusiveModes{4, 6, 7, 8}, kSharedModes{3, 5};

std::vector<Option> options(const HostValue& v, const std::vector<std::int64_t>& clear, const std::vector<std::int64_t>& set) {
  if (const auto n = integerOf(v)) {
    const bool is_set = std::ranges::find(set, *n) != set.end();
    if (!is_set && std::ranges::find(clear, *n) == clear.end()) return {};
    return {{is_set, {}}};
  }
  const HostValue& plain = unconverted(v);
  if (plain.kind == HostValueKind::Parameter) return {{false, {plain.index, clear}}, {true, {plain.index, set}}};
  std::vector<Option> result;
  if (plain.kind != HostValueKind::Choice) return result;
  for (const HostValue& a : plain.args) {
    const auto n = integerOf(a);
    if (!n || options(a, clear, set).empty()) return {};
    if (const bool is_set = std::ranges::find(set, *n) != set.end(); std::ranges::none_of(result, [&](const Option& o) { return o.set == is_set; }))
      result.push_back({is_set, {}});
  }
  return result;
}

}  // namespace

std::optional<LockTagCall> lockTagCall(ValueReader& values, const FunctionDecl& function, const Expr& call,
                                       const std::string& name, const std::vector<const Expr*>& arguments) {
  if (arguments.size() < 3) return std::nullopt;
  const bool release = name == "LockRelease";
  const Place place = placeOf(arguments[0]);
  Tags tags;
  if (place.base)
    tags = TagReader(place, &call).atCall(function.getBody());
  else if (const auto* address = dyn_cast<clang::UnaryOperator>(stripped(arguments[0])); address && address->getOpcode() == UO_AddrOf)
    tags = TagReader::ofList(address->getSubExpr(), {});
  if (tags.empty()) tags.emplace_back();

  const std::vector<Option> modes = options(values.value(arguments[1]), kExclusiveModes, kSharedModes);
  const std::vector<Option> sessions = options(values.value(arguments[2]), {0}, {1});
  const std::vector<Option> tries = release || arguments.size() < 4 ? std::vector<Option>(1) : options(values.value(arguments[3]), {0}, {1});
  LockTagCall result;
  bool advisory = false;
  for (const Tag& tag : tags) {
    const auto given = [&](std::size_t i) { return tag[i].value ? values.valueIn(tag[i].helpers, tag[i].value) : HostValue{}; };
    const HostValue type = given(3);
    const auto type_number = integerOf(type);
    if (type_number && unconverted(type).constant != "LOCKTAG_ADVISORY" && (!unconverted(type).constant.empty() || *type_number != kAdvisoryType))
      continue;  // of a relation, an object, …
    advisory = true;
    const auto space = integerOf(given(2));
    if (!type_number || !space || !tag[0].value || !tag[1].value) {
      result.lost = "which lock this tag means is not followed";
      result.may_be_other = !type_number;
      continue;
    }
    HostValue high = given(0), low = given(1);
    std::vector<HostValue> key;
    if (*space == 1)
      key = {joinedKey(high, low)};
    else if (*space == 2)
      key = {asInteger(std::move(high)), asInteger(std::move(low))};
    else if (const HostValue* whole = halved(high, low))
      key = {given(2), *whole};
    else
      key = {given(2), std::move(high), std::move(low)};
    if (modes.empty() || sessions.empty() || tries.empty()) {
      result.lost = "which kind of lock this is, is not followed";
      continue;
    }
    std::string places;
    for (HostValue& part : key) {
      result.binds.push_back(std::move(part));
      places += (places.empty() ? "$" : ", $") + std::to_string(result.binds.size());
    }
    if (*space != 1 && *space != 2 && key.size() == 2) places += ", 0";
    for (const Option& session : sessions) {
      if (release && !session.set) continue;  // SQL cannot give back a lock of the transaction
      for (const Option& no_wait : tries)
        for (const Option& mode : modes) {
          HostText& text = result.texts.emplace_back();
          HostPiece& piece = text.pieces.emplace_back();
          piece.text = "SELECT pg_";
          piece.text += release ? "advisory_unlock" : std::string(no_wait.set ? "try_" : "") + "advisory_" + (session.set ? "" : "xact_") + "lock";
          piece.text += (mode.set ? "_shared(" : "(") + places + ")";
          for (const Option* o : {&mode, &session, &no_wait})
            if (!o->when.values.empty()) text.when.push_back(o->when);
        }
    }
  }
  if (!advisory || (result.texts.empty() && result.lost.empty())) return std::nullopt;
  return result;
}

}  // namespace pglocklint::extract

#include "model/facts_json.h"

#include <vector>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace pglocklint {
namespace {

using Json = nlohmann::ordered_json;

struct AnyVisitor {
  template <class T>
  void operator()(const char*, T&) {}
};
template <class T>
concept Described = requires(T& t, AnyVisitor& v) { T::describe(t, v); };

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<List<T>> : std::true_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

constexpr std::string_view kSchemaPrefix = "pglocklint/facts/";
// Deeper nesting than any front end makes: expression chains are flattened.
constexpr int kDepthLimit = 20000;

bool isUtf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto lead = static_cast<unsigned char>(s[i]);
    const int more = lead < 0x80 ? 0 : lead >= 0xC2 && lead < 0xE0 ? 1 : lead >= 0xE0 && lead < 0xF0 ? 2 : lead >= 0xF0 && lead < 0xF5 ? 3 : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= s.size()) return false;
    for (int k = 1; k <= more; ++k) {
      const auto c = static_cast<unsigned char>(s[i + static_cast<std::size_t>(k)]);
      if ((c & 0xC0) != 0x80) return false;
      // overlong forms, surrogates and code points past U+10FFFF
      if (k == 1 && ((lead == 0xE0 && c < 0xA0) || (lead == 0xED && c > 0x9F) || (lead == 0xF0 && c < 0x90) || (lead == 0xF4 && c > 0x8F)))
        return false;
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

std::string hexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) hex += kDigits[static_cast<unsigned char>(c) >> 4], hex += kDigits[static_cast<unsigned char>(c) & 15];
  return hex;
}

std::optional<std::string> bytesOf(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return bytes;
}

// --- writing ---------------------------------------------------------------------------------------------------------

template <class T>
Json toJson(const T& value);

// The members of a default-constructed T, in the order in which describe() visits them.
struct MemberAddresses {
  std::vector<const void*> members;
  template <class M>
  void operator()(const char*, const M& member) { members.push_back(&member); }
};
template <class T>
const std::vector<const void*>& defaultMembers() {
  static const T value{};
  static const std::vector<const void*> members = [] {
    MemberAddresses v;
    T::describe(value, v);
    return v.members;
  }();
  return members;
}

struct MemberWriter {
  Json& object;
  const std::vector<const void*>& defaults;
  std::size_t next = 0;
  template <class M>
  void operator()(const char* name, const M& member) {
    const M& usual = *static_cast<const M*>(defaults[next++]);
    if (!(member == usual)) object[name] = toJson(member);
  }
};

Json rangeToJson(const SourceRange& r) {
  Json range = Json::array({r.line, r.column, r.end_line, r.end_column, r.begin, r.end});
  if (r.file != 0) range.push_back(r.file);
  return range;
}

template <class T>
Json toJson(const T& value) {
  if constexpr (std::is_same_v<T, SourceRange>) {
    return rangeToJson(value);
  } else if constexpr (IsRare<T>::value) {
    return toJson(*value);
  } else if constexpr (std::is_same_v<T, RareText>) {
    return toJson(value.str());
  } else if constexpr (std::is_same_v<T, std::string>) {
    return isUtf8(value) ? Json(value) : Json{{"hex", hexOf(value)}};
  } else if constexpr (std::is_enum_v<T>) {
    return Json(nameOf(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(value) ? Json(value) : Json(value > 0 ? "inf" : "-inf");
  } else if constexpr (std::is_arithmetic_v<T>) {
    return Json(value);
  } else if constexpr (IsList<T>::value) {
    Json array = Json::array();
    for (const auto& element : value) array.push_back(toJson(element));
    return array;
  } else {
    static_assert(Described<const T>);
    Json object = Json::object();
    MemberWriter writer{object, defaultMembers<T>()};
    T::describe(value, writer);
    return object;
  }
}

// Columns that `value` takes on one line, or `budget` if it takes more: looking no further keeps printing linear.
std::size_t width(const Json& value, std::size_t budget) {
  if (!value.is_structured()) return std::min(value.dump().size(), budget);
  std::size_t used = 1;
  for (const auto& [key, member] : value.items()) {
    used += value.is_object() ? key.size() + 4 : 1;
    if (used >= budget) return budget;
    used += width(member, budget - used);
  }
  return std::min(used + 1, budget);
}

constexpr std::size_t kLineWidth = 110;

void print(const Json& value, int indent, std::size_t depth, std::string& out) {
  const std::size_t margin = depth * static_cast<std::size_t>(indent);
  if (!value.is_structured() || value.empty() || margin + width(value, kLineWidth) < kLineWidth) {
    out += value.dump();
    return;
  }
  const bool object = value.is_object();
  out += object ? '{' : '[';
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    if (!first) out += ',';
    first = false;
    out += '\n';
    out.append(margin + static_cast<std::size_t>(indent), ' ');
    if (object) out += Json(key).dump() + ": ";
    print(member, indent, depth + 1, out);
  }
  out += '\n';
  out.append(margin, ' ');
  out += object ? '}' : ']';
}

// --- reading ---------------------------------------------------------------------------------------------------------

// Where the reader is, as a JSON pointer, and the first thing that went wrong.
struct ReadState {
  std::string place;
  std::string error;
  int depth = 0;
  void fail(std::string_view what) {
    if (error.empty()) error = (place.empty() ? "/" : place) + ": " + std::string(what);
  }
  bool ok() const { return error.empty(); }
};

template <class T>
void fromJson(const Json& json, T& value, ReadState& state);

template <class T>
void fromMember(const Json& json, std::string_view name, T& value, ReadState& state) {
  const std::size_t before = state.place.size();
  state.place.append("/").append(name);
  if (++state.depth > kDepthLimit) state.fail("nested too deeply");
  if (state.ok()) fromJson(json, value, state);
  --state.depth;
  state.place.resize(before);
}

struct MemberReader {
  const Json& object;
  ReadState& state;
  std::size_t found = 0;
  template <class M>
  void operator()(const char* name, M& member) {
    if (!state.ok()) return;
    const auto at = object.find(name);
    if (at == object.end()) return;
    ++found;
    fromMember(*at, name, member, state);
  }
};

struct MemberNames {
  std::vector<std::string_view> names;
  template <class M>
  void operator()(const char* name, const M&) { names.push_back(name); }
};

// Names the member of `object` that T does not have.
template <class T>
void failOnUnknownMember(const Json& object, ReadState& state, std::string_view also_known) {
  MemberNames known;
  const T sample{};
  T::describe(sample, known);
  for (const auto& [key, member] : object.items())
    if (key != also_known && std::find(known.names.begin(), known.names.end(), key) == known.names.end())
      return state.fail("unknown member \"" + key + "\"");
}

template <class T>
void objectFromJson(const Json& json, T& value, ReadState& state, std::string_view also_known = "") {
  if (!json.is_object()) return state.fail("an object is expected here");
  MemberReader reader{json, state};
  T::describe(value, reader);
  const std::size_t others = !also_known.empty() && json.contains(also_known) ? 1 : 0;
  if (state.ok() && reader.found + others != json.size()) failOnUnknownMember<T>(json, state, also_known);
}

template <class T>
void numberFromJson(const Json& json, T& value, ReadState& state) {
  if (!json.is_number_integer()) return state.fail("an integer is expected here");
  bool fits = false;
  if (json.is_number_unsigned())
    fits = std::in_range<T>(json.get<std::uint64_t>());
  else
    fits = std::in_range<T>(json.get<std::int64_t>());
  if (!fits) return state.fail("the number is out of range");
  value = json.get<T>();
}

void rangeFromJson(const Json& json, SourceRange& r, ReadState& state) {
  if (!json.is_array() || json.size() < 6 || json.size() > 7) return state.fail("a range of 6 or 7 numbers is expected here");
  std::uint32_t* const members[] = {&r.line, &r.column, &r.end_line, &r.end_column, &r.begin, &r.end, &r.file};
  for (std::size_t i = 0; i < json.size(); ++i) fromMember(json[i], std::to_string(i), *members[i], state);
}

void stringFromJson(const Json& json, std::string& value, ReadState& state) {
  if (json.is_string()) {
    value = json.get<std::string>();
    return;
  }
  if (json.is_object() && json.size() == 1 && json.contains("hex") && json["hex"].is_string())
    if (auto bytes = bytesOf(json["hex"].get_ref<const std::string&>())) {
      value = std::move(*bytes);
      return;
    }
  state.fail("a string is expected here");
}

template <class E>
void enumFromJson(const Json& json, E& value, ReadState& state) {
  if (!json.is_string()) return state.fail("a name is expected here");
  const auto names = enumNames(EnumTag<E>{});
  const auto at = std::find(names.begin(), names.end(), json.get_ref<const std::string&>());
  if (at == names.end()) return state.fail("unknown name " + json.dump());
  value = static_cast<E>(at - names.begin());
}

template <class T>
void fromJson(const Json& json, T& value, ReadState& state) {
  if constexpr (std::is_same_v<T, SourceRange>) {
    rangeFromJson(json, value, state);
  } else if constexpr (IsRare<T>::value) {
    fromJson(json, value.edit(), state);
  } else if constexpr (std::is_same_v<T, RareText>) {
    std::string text;
    stringFromJson(json, text, state);
    value = std::move(text);
  } else if constexpr (std::is_same_v<T, std::string>) {
    stringFromJson(json, value, state);
  } else if constexpr (std::is_enum_v<T>) {
    enumFromJson(json, value, state);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return state.fail("true or false is expected here");
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (json.is_number())
      value = json.get<double>();
    else if (json == "inf" || json == "-inf")
      value = json == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    else
      state.fail("a number is expected here");
  } else if constexpr (std::is_arithmetic_v<T>) {
    numberFromJson(json, value, state);
  } else if constexpr (IsList<T>::value) {
    if (!json.is_array()) return state.fail("an array is expected here");
    value.clear();
    value.reserve(json.size());
    for (std::size_t i = 0; i < json.size() && state.ok(); ++i) {
      value.emplace_back();
      fromMember(json[i], std::to_string(i), value.back(), state);
    }
  } else {
    static_assert(Described<T>);
    objectFromJson(json, value, state);
  }
}

// "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error …" without the library's own tag.
std::string parseErrorText(const std::exception& e) {
  const std::string_view what = e.what();
  const auto end_of_tag = what.find("] ");
  return std::string(end_of_tag == std::string_view::npos ? what : what.substr(end_of_tag + 2));
}

// --- consistency -----------------------------------------------------------------------------------------------------

bool isIndex(std::int32_t index, std::size_t size, bool may_be_none) {
  return (may_be_none && index == -1) || (index >= 0 && static_cast<std::size_t>(index) < size);
}

// Walks all of a unit. Each struct that makes promises beyond its types has an overload of check().
class ConsistencyCheck {
 public:
  explicit ConsistencyCheck(const Unit& unit) : unit_(unit) {}

  template <class M>
  void operator()(const char* name, const M& member) { walk(name, member); }

  std::string run() {
    if (unit_.files.empty()) return "/files: a unit has at least its own file";
    if (unit_.functions.empty() && unit_.status.empty()) return "/functions: a unit has at least its top level";
    Unit::describe(unit_, *this);
    return error_;
  }

 private:
  template <class M>
  void walk(std::string_view name, const M& member) {
    if constexpr (IsRare<M>::value) {
      walk(name, *member);
    } else if constexpr (std::is_same_v<M, SourceRange> || IsList<M>::value || Described<const M>) {
      if (!error_.empty()) return;
      const std::size_t before = place_.size();
      place_.append("/").append(name);
      if constexpr (IsList<M>::value) {
        using Element = typename M::value_type;
        if constexpr (IsList<Element>::value || Described<const Element>)
          for (std::size_t i = 0; i < member.size(); ++i) walk(std::to_string(i), member[i]);
      } else if constexpr (std::is_same_v<M, SourceRange>) {
        check(member);
      } else {
        check(member);
        M::describe(member, *this);
      }
      place_.resize(before);
    }
  }

  void expect(bool holds, std::string_view what) {
    if (!holds && error_.empty()) error_ = place_ + ": " + std::string(what);
  }

  template <class T>
  void check(const T&) {}
  void check(const SourceRange& r) {
    expect(r.file < unit_.files.size(), "the range is in a file that the unit does not name");
    expect(r.begin <= r.end, "the range ends before it begins");
  }
  void check(const Expr& e) {
    expect((e.kind == ExprKind::SubSelect) == (e.query.size() == 1) && e.query.size() <= 1, "one query belongs to a sub-select");
    expect(e.arg_names.empty() || e.arg_names.size() == e.args.size(), "arg_names runs parallel to args");
    expect(e.has_filter == !e.call_filter.empty(), "has_filter and call_filter disagree");
    const std::size_t least = leastArgs(e);
    expect(e.args.size() >= least, "operands are missing");
  }
  static std::size_t leastArgs(const Expr& e) {
    switch (e.kind) {
      case ExprKind::Not: case ExprKind::NullTest: case ExprKind::BoolTest: case ExprKind::Cast: case ExprKind::Op:
      case ExprKind::InList: case ExprKind::Subscript: return 1;
      case ExprKind::NullIf: case ExprKind::Like: case ExprKind::AnyAll: case ExprKind::Distinct: return 2;
      case ExprKind::Between: return 3;
      case ExprKind::Case: return (e.has_operand ? 1u : 0u) + (e.has_else ? 1u : 0u);
      default: return 0;
    }
  }
  void check(const FromItem& f) {
    if (f.kind == FromKind::Join) expect(f.sides.size() == 2, "a join has two sides");
    if (f.kind == FromKind::SubQuery || f.kind == FromKind::Values) expect(f.query.size() == 1, "the query is missing");
    if (f.kind == FromKind::Function) expect(!f.functions.empty(), "the function is missing");
  }
  void check(const Cte& c) { expect(c.query.size() == 1, "a CTE has one query"); }
  void check(const Query& q) {
    if (q.kind == QueryKind::SetOperation) expect(q.arms.size() >= 2, "a set operation has two arms");
    expect(q.where.size() <= 1 && q.having.size() <= 1 && q.limit.size() <= 1 && q.offset.size() <= 1 && q.source.size() <= 1,
           "a clause is written twice");
  }
  void check(const Statement& s) {
    expect(isIndex(s.function, unit_.functions.size(), true), "no such function");
    expect(s.query.size() <= 1, "a statement has one query");
    if (s.kind == StatementKind::Call) expect(!s.exprs.empty(), "CALL without its call");
  }
  void check(const Event& e) {
    const auto has = [&](EventKind kind, std::size_t size) { expect(size == (e.kind == kind ? 1u : 0u), "an event is of one kind"); };
    has(EventKind::Statement, e.statement.size()), has(EventKind::Transaction, e.transaction.size());
    has(EventKind::Setting, e.setting.size()), has(EventKind::Session, e.session.size()), has(EventKind::Exit, e.exit.size());
    expect(isIndex(e.ddl, unit_.ddl.size(), e.kind != EventKind::Ddl), "no such definition");
    if (e.kind == EventKind::HostCall || e.kind == EventKind::HostStep) expect(e.host_call >= 0, "an event is of one kind");
  }
  void check(const HostTruth& t, const HostCode& h) {
    const bool of_call = t.kind == HostTruthKind::Answer || t.kind == HostTruthKind::Success || t.kind == HostTruthKind::Rows;
    expect(isIndex(t.call, h.calls.size(), !of_call), "a condition on a call that does not exist");
    if (t.kind == HostTruthKind::Not) expect(t.args.size() == 1, "NOT has one operand");
    for (const HostTruth& a : t.args) check(a, h);
  }
  void check(const HostPlace& p) { expect(p.file < unit_.files.size(), "the place is in a file that the unit does not name"); }
  void check(const HostCode& h) {
    for (const HostCall& c : h.calls) {
      expect(isIndex(c.loop, h.loops.size(), true), "a call is in a loop that does not exist");
      for (const HostText& t : c.texts)
        for (const HostPiece& p : t.pieces) expect(isIndex(p.hole, c.holes.size(), true), "a text has a hole that is not there");
    }
    for (const HostStep& step : h.steps) check(step.truth, h);
    for (std::size_t i = 0; i < h.loops.size(); ++i)
      expect(h.loops[i].parent >= -1 && h.loops[i].parent < static_cast<std::int32_t>(i), "a loop has a parent that does not precede it");
  }
  void check(const Function& f) {
    expect(f.host.size() == (f.kind == FunctionKind::HostFunction ? 1u : 0u), "host code belongs to a function of the host program");
    const std::size_t host_calls = f.host.empty() ? 0 : f.host[0].calls.size();
    const std::size_t host_steps = f.host.empty() ? 0 : f.host[0].steps.size();
    for (const Block& b : f.blocks)
      for (const Event& e : b.events) {
        expect(isIndex(e.host_call, e.kind == EventKind::HostStep ? host_steps : host_calls, true), "no such call of the host program");
        for (const Statement& s : e.statement) expect(isIndex(s.host_call, host_calls, true), "no such call of the host program");
      }
    for (const Block& b : f.blocks) {
      expect(isIndex(b.scope, f.exception_scopes.size(), true), "a block is in an exception scope that does not exist");
      expect(isIndex(b.unwind, f.blocks.size(), true), "an exception leads to no block");
      for (const Edge& e : b.successors) expect(isIndex(e.target, f.blocks.size(), false), "an edge leads to no block");
    }
    for (std::size_t i = 0; i < f.exception_scopes.size(); ++i) {
      const ExceptionScope& scope = f.exception_scopes[i];
      // Parents come first, so that walking outwards ends.
      expect(scope.parent >= -1 && scope.parent < static_cast<std::int32_t>(i), "an exception scope has a parent that does not precede it");
      for (const ExceptionHandler& h : scope.handlers) expect(isIndex(h.block, f.blocks.size(), false), "a handler leads to no block");
    }
  }
  void check(const Ddl& d) { expect(isIndex(d.function, unit_.functions.size(), d.kind != DdlKind::CreateFunction), "no such function"); }

  const Unit& unit_;
  std::string place_, error_;
};

}  // namespace

std::string factsToJson(const Unit& unit, int indent) {
  Json json = Json::object();
  json["schema"] = std::string(kSchemaPrefix) + std::to_string(kFactsVersion);
  MemberWriter writer{json, defaultMembers<Unit>()};
  Unit::describe(unit, writer);
  if (indent < 0) return json.dump();
  std::string out;
  print(json, indent, 0, out);
  return out;
}

std::optional<Unit> factsFromJson(std::string_view text, std::string& error) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const std::exception& e) {
    error = parseErrorText(e);
    return std::nullopt;
  }
  ReadState state;
  const std::string schema = std::string(kSchemaPrefix) + std::to_string(kFactsVersion);
  if (!json.is_object() || !json.contains("schema") || json["schema"] != schema) {
    error = "/schema: \"" + schema + "\" is expected here";
    return std::nullopt;
  }
  Unit unit;
  objectFromJson(json, unit, state, "schema");
  if (!state.ok()) {
    error = state.error;
    return std::nullopt;
  }
  return unit;
}

std::string inconsistencyOf(const Unit& unit) { return ConsistencyCheck(unit).run(); }

}  // namespace pglocklint

// What rules ask of values: ranges, hashes, two forms of one key, parts that run into each other, lost bits.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "program/keys.h"
#include "program/types.h"
#include "program/values_fold.h"

namespace pglocklint {
namespace {

__extension__ typedef __int128 Wide;

struct WideRange {
  Wide low, high;
};

WideRange unsignedRange(int bits) { return {0, (static_cast<Wide>(1) << bits) - 1}; }

WideRange typeRange(int bits) { return {-(static_cast<Wide>(1) << (bits - 1)), (static_cast<Wide>(1) << (bits - 1)) - 1}; }

constexpr int kDoubleBits = 53;  // of integers that a double precision can tell apart

int bitLength(Wide v) {
  int bits = 0;
  for (; v > 0; v >>= 1) ++bits;
  return bits;
}

std::optional<WideRange> rangeOf(const Value& v);

// Of the operands, before the result has to fit its type.
std::optional<WideRange> operatorRange(const Value& v) {
  if (v.args.empty()) return std::nullopt;
  const auto a = rangeOf(v.args[0]);
  if (v.args.size() == 1) {
    if (!a) return std::nullopt;
    if (v.name == "-") return WideRange{-a->high, -a->low};
    if (v.name == "abs" || v.name == "@") return WideRange{a->low > 0 ? a->low : 0, std::max(a->high, -a->low)};
    return std::nullopt;
  }
  const auto b = rangeOf(v.args[1]);
  if (v.name == "&") {  // a mask bounds it whatever the other side is
    const auto bound = [](const std::optional<WideRange>& r) { return r && r->low >= 0; };
    if (bound(a) && bound(b)) return WideRange{0, std::min(a->high, b->high)};
    if (bound(a)) return WideRange{0, a->high};
    if (bound(b)) return WideRange{0, b->high};
    return std::nullopt;
  }
  if ((v.name == "%" || v.name == "mod") && b && b->low == b->high && b->low != 0) {
    const Wide most = (b->low < 0 ? -b->low : b->low) - 1;
    return WideRange{a && a->low >= 0 ? 0 : -most, most};
  }
  if (!a || !b) return std::nullopt;
  if (v.name == "+") return WideRange{a->low + b->low, a->high + b->high};
  if (v.name == "-") return WideRange{a->low - b->high, a->high - b->low};
  if (v.name == "*") {
    const std::array<Wide, 4> corners{a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high};
    return WideRange{*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
  }
  if ((v.name == "|" || v.name == "#") && a->low >= 0 && b->low >= 0)
    return WideRange{0, (static_cast<Wide>(1) << bitLength(std::max(a->high, b->high))) - 1};
  const bool count = b->low == b->high && b->low >= 0 && b->low < 63;
  if (v.name == "<<" && count) return WideRange{a->low << static_cast<int>(b->low), a->high << static_cast<int>(b->low)};
  if (v.name == ">>" && count) return WideRange{a->low >> static_cast<int>(b->low), a->high >> static_cast<int>(b->low)};
  if (v.name == "/" && b->low == b->high && b->low > 0) return WideRange{a->low / b->low, a->high / b->low};
  return std::nullopt;
}

std::optional<WideRange> rangeOf(const Value& v) {
  if (const auto c = constantInteger(v)) return WideRange{*c, *c};
  if (v.kind == ValueKind::Oid || v.type == "oid") {
    if (isInteger(v.type) && v.type == "integer") return typeRange(32);
    return WideRange{0, 4294967295LL};
  }
  const int bits = integerBits(v.type);
  if (bits == 0) return std::nullopt;
  const WideRange whole = isUnsigned(v.type) ? unsignedRange(bits) : typeRange(bits);
  std::optional<WideRange> inner;
  if (v.kind == ValueKind::Arithmetic) inner = operatorRange(v);
  if (v.kind == ValueKind::Aggregate && v.name == "count") inner = WideRange{0, whole.high};
  if ((v.kind == ValueKind::Cast || v.kind == ValueKind::Subquery) && v.args.size() == 1) {
    const Value& from = v.args[0];
    const auto length = typeLength(from.type);
    if (familyOf(from.type) == TypeFamily::Bits && length && *length > 0 && *length < bits)
      inner = WideRange{0, (static_cast<Wide>(1) << *length) - 1};
    else
      inner = rangeOf(from);
  }
  if (v.kind == ValueKind::Choice && !v.args.empty()) {
    for (const Value& a : v.args) {
      if (a.kind == ValueKind::Null) continue;
      const auto r = rangeOf(a);
      if (!r) return whole;
      inner = inner ? WideRange{std::min(inner->low, r->low), std::max(inner->high, r->high)} : *r;
    }
  }
  if (inner && inner->low >= whole.low && inner->high <= whole.high) return inner;
  return whole;
}

bool isInput(const Value& v) {
  return v.kind == ValueKind::Column || v.kind == ValueKind::Parameter || v.kind == ValueKind::Variable || v.kind == ValueKind::Row ||
         v.kind == ValueKind::Sequence;
}

bool hasInput(const Value& v) { return contains(v, isInput); }

}  // namespace

const Value& stripCasts(const Value& v) {
  const Value* at = &v;
  while (at->kind == ValueKind::Cast && at->args.size() == 1) at = &at->args[0];
  return *at;
}

const Value* findValue(const Value& v, const std::function<bool(const Value&)>& holds) {
  if (holds(v)) return &v;
  for (const Value& a : v.args)
    if (const Value* found = findValue(a, holds)) return found;
  return nullptr;
}

bool contains(const Value& v, const std::function<bool(const Value&)>& holds) { return findValue(v, holds) != nullptr; }

std::optional<long long> constantInteger(const Value& v) {
  if (!isKnown(v) || (v.kind != ValueKind::Integer && !isInteger(v.type))) return std::nullopt;
  long long n = 0;
  const auto [end, error] = std::from_chars(v.text.data(), v.text.data() + v.text.size(), n);
  return error == std::errc() && end == v.text.data() + v.text.size() ? std::optional(n) : std::nullopt;
}

std::optional<std::string> constantText(const Value& v) {
  const TypeFamily f = familyOf(v.type);
  if (!isKnown(v) || (v.kind != ValueKind::Text && f != TypeFamily::Text)) return std::nullopt;
  return f == TypeFamily::Text || f == TypeFamily::Untyped || f == TypeFamily::NotKnown ? std::optional(v.text) : std::nullopt;
}

std::optional<IntegerRange> integerRange(const Value& v) {
  const auto r = rangeOf(v);
  if (!r || r->high > typeRange(64).high) return std::nullopt;
  return IntegerRange{static_cast<long long>(r->low), static_cast<long long>(r->high)};
}

std::optional<int> significantBits(const Value& v) {
  const auto r = rangeOf(v);
  if (!r) return std::nullopt;
  return r->low >= 0 ? bitLength(r->high) : std::max(bitLength(r->high), bitLength(-r->low - 1)) + 1;
}

// --- hashes and sources -------------------------------------------------------------------------------------------

bool isHash32(const Value& v) {
  const Value& inner = stripCasts(v);
  if (inner.kind == ValueKind::Hash && inner.type == "integer") return true;
  // md5 and hashtextextended cut down: what remains fits 32 bits, and nothing but a hash varies in it.
  const Value* hash = findValue(v, [](const Value& x) { return x.kind == ValueKind::Hash; });
  if (hash == nullptr || !isInteger(v.type)) return false;
  const auto bits = significantBits(v);
  if (!bits || *bits > 32) return false;
  const auto others = [&](const auto& self, const Value& x) -> bool {  // something else varies beside a hash
    if (x.kind == ValueKind::Hash) return false;
    return isInput(x) || std::ranges::any_of(x.args, [&](const Value& a) { return self(self, a); });
  };
  return !others(others, v);
}

const Value* undocumentedHash(const Value& v) {
  return findValue(v, [](const Value& x) {
    return x.kind == ValueKind::Hash && x.type == "integer" && x.name != "md5" && x.relation != kHostSchema;
  });
}

const Value* unstablePart(const Value& v) {
  return findValue(v, [](const Value& x) {
    return x.kind == ValueKind::Clock || x.kind == ValueKind::Random || x.kind == ValueKind::ProcessId ||
           x.kind == ValueKind::TransactionId || x.kind == ValueKind::Address;
  });
}

// --- one key in two forms -----------------------------------------------------------------------------------------

bool sameValue(const Value& left, const Value& right) {
  const Value& a = stripCasts(left);
  const Value& b = stripCasts(right);
  if (a.kind != b.kind || a.name != b.name || a.relation != b.relation || a.text != b.text || a.args.size() != b.args.size()) return false;
  for (std::size_t i = 0; i < a.args.size(); ++i)
    if (!sameValue(a.args[i], b.args[i])) return false;
  return a.kind != ValueKind::Unknown;
}

bool sameNamedConstant(const Value& left, const Value& right) {
  const Value& a = stripCasts(left);
  const Value& b = stripCasts(right);
  return !a.constant_name.empty() && a.constant_name == b.constant_name && isKnown(a) && isKnown(b) && a.text == b.text;
}

namespace {

// The text that a key hashes as a whole, as a class with something constant in it; empty if there is none.
std::string hashedText(const Value& v) {
  const Value* hash = findValue(v, [](const Value& x) { return x.kind == ValueKind::Hash && !x.args.empty(); });
  if (hash == nullptr) return "";
  const Value& input = stripCasts(hash->args[0]);
  const bool named = contains(input, [](const Value& x) { return x.kind == ValueKind::Text && !x.text.empty(); });
  return named ? classText(input) : "";
}

}  // namespace

MixedForms mixedForms(const LockKey& bigint, const LockKey& pair) {
  if (bigint.form != KeyForm::Bigint || pair.form != KeyForm::Pair || bigint.parts.size() != 1 || pair.parts.size() != 2)
    return MixedForms::None;
  const Value& whole = bigint.parts[0];
  const auto high = constantInteger(pair.parts[0]), low = constantInteger(pair.parts[1]);
  if (const auto n = constantInteger(whole); n && high && low) {
    const auto bits = static_cast<std::uint64_t>(*high) << 32 | (static_cast<std::uint64_t>(*low) & 0xffffffffu);
    // (0, n) has the bits of n: small numbers meet by accident, so that alone is no evidence.
    if (static_cast<std::uint64_t>(*n) == bits && *high != 0) return MixedForms::SameBits;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Value& part = pair.parts[i];
    if (!constantInteger(pair.parts[1 - i])) continue;
    if (sameNamedConstant(whole, part)) return MixedForms::SameConstant;
    if (const std::string text = hashedText(whole); !text.empty() && text == hashedText(part)) return MixedForms::SameText;
    const Value& a = stripCasts(whole);
    if (a.kind == ValueKind::Column && !a.relation.empty() && sameValue(a, part)) return MixedForms::SameColumn;
  }
  return MixedForms::None;
}

// --- parts that run into each other -------------------------------------------------------------------------------

namespace {

// to_char() with nothing but digits of fixed number and punctuation: YYYYMMDD, HH24:MI.
bool fixedPattern(std::string_view pattern) {
  constexpr std::array<std::string_view, 11> kFields{"YYYY", "YY", "MM", "DDD", "DD", "HH24", "HH12", "HH", "MI", "SS", "IW"};
  while (!pattern.empty()) {
    const auto field = std::ranges::find_if(kFields, [&](std::string_view f) { return pattern.starts_with(f); });
    if (field != kFields.end()) pattern.remove_prefix(field->size());
    else if (std::string_view("-/.: _").find(pattern[0]) != std::string_view::npos) pattern.remove_prefix(1);
    else return false;
  }
  return true;
}

// A text piece that ends where its width or its own quotes say.
bool selfDelimiting(const Value& piece) {
  const Value& v = stripCasts(piece);
  if (v.type == "uuid" || v.type == "date" || v.type == "\"char\"" || familyOf(v.type) == TypeFamily::Bits) return true;
  if (v.kind == ValueKind::Hash) return v.name == "md5" || v.name.starts_with("sha");
  if (v.kind == ValueKind::Random) return v.type == "uuid";
  if (v.kind == ValueKind::Clock) return v.type == "date";
  if (v.kind != ValueKind::Call) return false;
  if (v.name == "quote_literal" || v.name == "quote_nullable") return true;
  if (v.name == "lpad" || v.name == "rpad") return v.args.size() >= 2 && isKnown(v.args[1]);
  if (v.name == "to_char" && v.args.size() == 2) {
    const auto pattern = constantText(v.args[1]);
    return pattern && fixedPattern(*pattern);
  }
  if (v.name == "encode") return !v.args.empty() && stripCasts(v.args[0]).kind == ValueKind::Hash;
  return false;
}

// A piece to show to people: its name.
std::string display(const Value& value) {
  const Value& v = stripCasts(value);
  if (isInput(v)) return v.relation.empty() || v.relation == kHostSchema ? v.name : v.relation + "." + v.name;
  if (v.kind == ValueKind::Hash || v.kind == ValueKind::Call || v.kind == ValueKind::Aggregate) return v.name + "(…)";
  if (isKnown(v)) return v.text;
  return std::string(nameOf(v.kind));
}

// ${schema}, {{ table }}: what a template puts into the text is one setting of the deployment, hardly a part that varies.
bool isTemplate(const Value& piece) {
  const Value& v = stripCasts(piece);
  return v.kind == ValueKind::Parameter && (v.name.starts_with("${") || v.name.starts_with("{{"));
}

// The piece at an end of text that was put together before: key := a || '/'; key := key || b ends with '/' where b follows.
const Value& edgePiece(const Value& piece, bool last) {
  const Value* v = &stripCasts(piece);
  while (v->kind == ValueKind::Concat && !v->args.empty()) v = &stripCasts(last ? v->args.back() : v->args.front());
  return *v;
}

std::optional<Ambiguity> noSeparator(const Value& v) {
  for (std::size_t i = 0; i + 1 < v.args.size(); ++i) {
    const Value& a = edgePiece(v.args[i], true);
    const Value& b = edgePiece(v.args[i + 1], false);
    if (isKnown(a) || isKnown(b) || selfDelimiting(a) || selfDelimiting(b) || sameValue(a, b)) continue;
    if (isTemplate(a) && isTemplate(b)) continue;
    if (a.kind == ValueKind::Unknown || b.kind == ValueKind::Unknown || a.kind == ValueKind::Null || b.kind == ValueKind::Null) continue;
    return Ambiguity{AmbiguityKind::NoSeparator, &v, &a, &b,
                     fmt::format("{} and {} are joined without a separator: ('ab', 'c') and ('a', 'bc') give the same text", display(a), display(b))};
  }
  return std::nullopt;
}

// string_agg(name, ''), array_to_string(names, ''): as many parts as there are, with nothing between them.
std::optional<Ambiguity> joinedParts(const Value& v) {
  const bool rows = v.kind == ValueKind::Aggregate && v.name == "string_agg";
  const bool elements = v.kind == ValueKind::Call && v.name == "array_to_string";
  if ((!rows && !elements) || v.args.size() < 2 || isKnown(v)) return std::nullopt;
  const auto separator = constantText(v.args[1]);
  const Value& part = v.args[0];
  if (!separator || !separator->empty() || isKnown(part) || selfDelimiting(part) || part.kind == ValueKind::Unknown) return std::nullopt;
  return Ambiguity{AmbiguityKind::NoSeparator, &v, &part, &part,
                   fmt::format("{} joins its parts with '' between them: ('ab', 'c') and ('a', 'bc') give the same text", v.name + "()")};
}

// multiplier · value in a sum of such terms
struct Term {
  Wide multiplier;
  const Value* value;
  std::string_view joined_by;
};

void collectTerms(const Value& value, Wide multiplier, std::string_view joined_by, std::vector<Term>& terms) {
  const Value& v = stripCasts(value);
  if (isKnown(v) || terms.size() > 50) return;
  if (v.kind == ValueKind::Arithmetic && v.args.size() == 2) {
    if (v.name == "+" || v.name == "|" || v.name == "#" || v.name == "-") {
      collectTerms(v.args[0], multiplier, joined_by, terms);
      collectTerms(v.args[1], multiplier, v.name, terms);
      // The first part is joined by this operator too.
      if (!terms.empty() && joined_by.empty() && terms.front().joined_by.empty()) terms.front().joined_by = v.name;
      return;
    }
    const auto left = constantInteger(v.args[0]), right = constantInteger(v.args[1]);
    if (v.name == "*" && (left || right) && multiplier < (static_cast<Wide>(1) << 62)) {
      const Wide factor = left ? *left : *right;
      if (factor != 0) return collectTerms(left ? v.args[1] : v.args[0], multiplier * (factor < 0 ? -factor : factor), joined_by, terms);
    }
    if (v.name == "<<" && right && *right >= 0 && *right < 64 && multiplier == 1)
      return collectTerms(v.args[0], static_cast<Wide>(1) << static_cast<int>(*right), joined_by, terms);
  }
  terms.push_back({multiplier, &value, joined_by});
}

std::optional<Ambiguity> packed(const Value& v) {
  std::vector<Term> terms;
  collectTerms(v, 1, "", terms);
  if (terms.size() < 2) return std::nullopt;
  std::ranges::stable_sort(terms, std::ranges::greater(), &Term::multiplier);
  for (std::size_t i = 0; i + 1 < terms.size(); ++i) {
    const Term& high = terms[i];
    const Term& low = terms[i + 1];
    if (sameValue(*high.value, *low.value) || !(hasInput(*high.value) || contains(*high.value, [](const Value& x) { return x.kind == ValueKind::Oid; })) ||
        !hasInput(*low.value))
      continue;
    // id # (id >> 32) mixes one input with itself.
    const Value* input = findValue(*high.value, isInput);
    if (input != nullptr && high.multiplier == low.multiplier && contains(*low.value, [&](const Value& x) { return sameValue(x, *input); })) continue;
    const Wide room = low.multiplier == 0 ? 0 : high.multiplier / low.multiplier;
    if (room <= 1)
      return Ambiguity{AmbiguityKind::Packed, &v, high.value, low.value,
                       fmt::format("{} and {} are added or mixed: exchanging or shifting values between them gives the same key",
                                   display(*high.value), display(*low.value))};
    const auto range = rangeOf(*low.value);
    if (!range) continue;
    const bool overwrite = low.joined_by == "|" && range->low < 0;  // OR with a negative number sets all upper bits
    const bool wide = range->high - range->low >= room || (low.joined_by == "|" && range->high >= room);
    if (!overwrite && !wide) continue;
    if (low.joined_by == "#") continue;
    const bool hash = isHash32(*low.value);
    const bool likely = overwrite && hash ? true : wide && room < (static_cast<Wide>(1) << 31);
    const std::string shown = room > 0 && room < (static_cast<Wide>(1) << 62) ? std::to_string(static_cast<long long>(room)) : "its room";
    return Ambiguity{likely ? AmbiguityKind::Packed : AmbiguityKind::BeyondWidth, &v, high.value, low.value,
                     overwrite && hash
                         ? fmt::format("{} can be negative, and OR with a negative number sets all upper bits: the part from {} is lost",
                                       display(*low.value), display(*high.value))
                     : likely ? fmt::format("{} can reach {}, and then runs into the part from {}", display(*low.value), shown, display(*high.value))
                              : fmt::format("{} can be negative or need more than its bits, and then runs into the part from {}",
                                            display(*low.value), display(*high.value))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Ambiguity> ambiguousComposition(const Value& v) {
  if (isKnown(v)) return std::nullopt;
  if (v.kind == ValueKind::Concat)
    if (auto a = noSeparator(v)) return a;
  if (auto a = joinedParts(v)) return a;
  const bool sum = v.kind == ValueKind::Arithmetic && (v.name == "+" || v.name == "-" || v.name == "|" || v.name == "#");
  if (sum) {
    if (auto a = packed(v)) return a;
    // The terms of a sum were looked at together; below it only other kinds of parts matter.
    std::vector<Term> terms;
    collectTerms(v, 1, "", terms);
    for (const Term& t : terms)
      for (const Value& part : stripCasts(*t.value).args)
        if (auto inner = ambiguousComposition(part)) return inner;
    return std::nullopt;
  }
  for (const Value& a : v.args)
    if (auto inner = ambiguousComposition(a)) return inner;
  return std::nullopt;
}

// --- lost bits ----------------------------------------------------------------------------------------------------

std::vector<Narrowing> narrowings(const Value& v) {
  std::vector<Narrowing> found;
  if (v.kind == ValueKind::Cast && v.args.size() == 1 && !isKnown(v)) {
    const Value& from = v.args[0];
    const int to = integerBits(v.type), bits = integerBits(from.type);
    const TypeFamily family = familyOf(from.type);
    // What a program converts itself wraps: of equal widths none is narrower. What it sends has to fit.
    const bool unsigned_too_wide = isUnsigned(from.type) && bits == to && v.name == kSent;
    const bool wider = to != 0 && (bits > to || unsigned_too_wide || family == TypeFamily::Numeric || family == TypeFamily::Float);
    const auto needed = significantBits(from);
    const bool rounded = familyOf(v.type) == TypeFamily::Float && v.relation == kHostSchema && isInteger(from.type) && needed.value_or(64) > kDoubleBits;
    if (rounded) found.push_back({&v, &stripCasts(from), from.type, v.type, v.implicit, false, true});
    if (wider && !(needed && bits != 0 && *needed <= to && rangeOf(from)->high <= typeRange(to).high)) {
      const Value& operand = stripCasts(from);
      found.push_back({&v, &operand, from.type, v.type, v.implicit, isInput(operand), false});
    }
  }
  for (const Value& a : v.args) {
    std::vector<Narrowing> inner = narrowings(a);
    found.insert(found.end(), inner.begin(), inner.end());
  }
  return found;
}

const Value* foldsWideId(const Value& v) {
  const auto wideInput = [](const Value& x) { return isInput(stripCasts(x)) && (stripCasts(x).type == "bigint" || stripCasts(x).type == "uuid"); };
  return findValue(v, [&](const Value& x) {
    if (isKnown(x) || x.args.empty()) return false;
    if (x.kind == ValueKind::Hash) return x.type == "integer" && wideInput(x.args[0]) && familyOf(x.args[0].type) != TypeFamily::Text;
    if (x.kind == ValueKind::Cast && familyOf(x.type) == TypeFamily::Bits) {  // id::bit(32)
      const auto length = typeLength(x.type);
      return length && *length <= 32 && wideInput(x.args[0]) && isInteger(x.args[0].type);
    }
    if (x.kind == ValueKind::Arithmetic && (x.name == "&" || x.name == "%" || x.name == "mod") && wideInput(x.args[0])) {
      const auto bits = significantBits(x);
      return bits && *bits <= 33 && isKnown(x.args.back());
    }
    return false;
  });
}

}  // namespace pglocklint

// Constant folding; see values_fold.h. Sources: int.c, int8.c, numutils.c, varbit.c, varlena.c, oracle_compat.c of PostgreSQL 15.
#include "program/values_fold.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "program/hash.h"
#include "program/keys.h"
#include "program/types.h"

namespace pglocklint {
namespace {

__extension__ typedef __int128 Wide;  // room for the product of two bigints

// Longest text that folding makes: a key is a short string, and hostile input must not grow one without bound.
constexpr std::size_t kMaxText = 1 << 16;

Wide lowest(int bits) { return -(static_cast<Wide>(1) << (bits - 1)); }
Wide highest(int bits) { return (static_cast<Wide>(1) << (bits - 1)) - 1; }

std::string decimal(Wide v) {
  if (v == 0) return "0";
  std::string digits;
  const bool negative = v < 0;
  for (; v != 0; v /= 10) digits += static_cast<char>('0' + static_cast<int>(negative ? -(v % 10) : v % 10));
  if (negative) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

// Decimal digits with an optional sign; nothing when it is something else or beyond 2^100.
std::optional<Wide> wide(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) negative = text[0] == '-', text.remove_prefix(1);
  if (text.empty() || text.size() > 30) return std::nullopt;
  Wide v = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    v = v * 10 + (c - '0');
  }
  return negative ? -v : v;
}

Value integer(Wide v, const std::string& type) {
  const int bits = integerBits(type);
  if (v < lowest(bits) || v > highest(bits)) return errorValue(type + " out of range");
  return constantOf(ValueKind::Integer, decimal(v), type);
}

std::optional<Wide> asInteger(const Value& v) {
  if (!isKnown(v) || !isInteger(v.type)) return std::nullopt;
  return wide(v.text);
}

std::string trimSpaces(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return std::string(s);
}

bool allDigits(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, [](char c) { return c >= '0' && c <= '9'; });
}

// --- numeric ------------------------------------------------------------------------------------------------------

// sign · digits · 10^-scale
struct Decimal {
  bool negative = false;
  std::string digits;  // without leading zeros; may be empty (zero)
  int scale = 0;
};

std::optional<Decimal> parseDecimal(std::string_view s) {
  Decimal d;
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) d.negative = s[0] == '-', s.remove_prefix(1);
  int exponent = 0;
  if (const auto e = s.find_first_of("eE"); e != std::string_view::npos) {
    const auto power = wide(s.substr(e + 1));
    if (!power || *power > 200 || *power < -200) return std::nullopt;
    exponent = static_cast<int>(*power);
    s = s.substr(0, e);
  }
  bool point = false, any = false;
  for (const char c : s) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (!(d.digits.empty() && c == '0')) d.digits += c;
      if (point) ++d.scale;
    } else if (c != '_') {
      return std::nullopt;
    }
  }
  if (!any || d.digits.size() > 400) return std::nullopt;
  d.scale -= exponent;
  for (; d.scale < 0; ++d.scale)
    if (!d.digits.empty()) d.digits += '0';
  return d;
}

// Half away from zero, as numeric → integer does.
std::optional<Wide> roundDecimal(const Decimal& d) {
  std::string whole = d.digits;
  bool up = false;
  if (d.scale > 0) {
    const auto scale = static_cast<std::size_t>(d.scale);
    if (whole.size() < scale) whole.insert(0, scale - whole.size(), '0');
    up = whole[whole.size() - scale] >= '5';
    whole.resize(whole.size() - scale);
  }
  const auto v = wide(whole.empty() ? "0" : whole);
  if (!v) return std::nullopt;
  const Wide rounded = *v + (up ? 1 : 0);
  return d.negative ? -rounded : rounded;
}

// PostgreSQL's numeric_out: keeps the scale, no exponent.
std::string printDecimal(const Decimal& d) {
  std::string s = d.digits;
  const auto scale = static_cast<std::size_t>(std::max(d.scale, 0));
  if (s.size() <= scale) s.insert(0, scale + 1 - s.size(), '0');
  if (scale > 0) s.insert(s.size() - scale, ".");
  const bool zero = d.digits.find_first_not_of('0') == std::string::npos;
  return (d.negative && !zero ? "-" : "") + s;
}

std::optional<Value> decimalArithmetic(std::string_view op, const Value& left, const Value& right) {
  const auto a = parseDecimal(left.text), b = parseDecimal(right.text);
  if (!a || !b || a->digits.size() > 17 || b->digits.size() > 17 || a->scale > 10 || b->scale > 10) return std::nullopt;
  auto scaled = [](const Decimal& d, int scale) {
    Wide v = d.digits.empty() ? 0 : *wide(d.digits);
    for (int i = d.scale; i < scale; ++i) v *= 10;
    return d.negative ? -v : v;
  };
  Wide v = 0;
  int scale = std::max(a->scale, b->scale);
  if (op == "+") v = scaled(*a, scale) + scaled(*b, scale);
  else if (op == "-") v = scaled(*a, scale) - scaled(*b, scale);
  else if (op == "*") v = scaled(*a, a->scale) * scaled(*b, b->scale), scale = a->scale + b->scale;
  else return std::nullopt;
  Decimal result{v < 0, decimal(v < 0 ? -v : v), scale};
  return constantOf(ValueKind::Numeric, printDecimal(result), "numeric");
}

// --- casts --------------------------------------------------------------------------------------------------------

Value textToInteger(const Value& v, const std::string& type) {
  const std::string s = trimSpaces(v.text);
  std::string_view digits = s;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (allDigits(digits)) {
    while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
    const auto magnitude = wide(digits);
    const bool negative = s[0] == '-';
    const int bits = integerBits(type);
    if (!magnitude || (negative ? -*magnitude < lowest(bits) : *magnitude > highest(bits)))
      return errorValue(fmt::format("value \"{}\" is out of range for type {}", v.text, type));
    return constantOf(ValueKind::Integer, decimal(negative ? -*magnitude : *magnitude), type);
  }
  if (digits.size() > 1 && (integerLiteral(digits, false) || digits.find('_') != std::string_view::npos))
    return unknownValue(fmt::format("\"{}\" is an integer only from PostgreSQL 16 on", v.text));
  return errorValue(fmt::format("invalid input syntax for type {}: \"{}\"", type, v.text));
}

std::optional<Value> bitsToInteger(const Value& v, const std::string& type) {
  const int bits = integerBits(type);
  if (bits == 16) return std::nullopt;  // no such cast
  if (static_cast<int>(v.text.size()) > bits) return errorValue(type + " out of range");
  std::uint64_t u = 0;
  for (const char c : v.text) u = u << 1 | static_cast<std::uint64_t>(c == '1');
  const Wide value = bits == 32 ? static_cast<Wide>(static_cast<std::int32_t>(static_cast<std::uint32_t>(u)))
                                : static_cast<Wide>(static_cast<std::int64_t>(u));
  return constantOf(ValueKind::Integer, decimal(value), type);
}

std::optional<Value> toInteger(const Value& v, const std::string& type) {
  switch (familyOf(v.type)) {
    case TypeFamily::Integer:
      if (const auto i = wide(v.text)) return integer(*i, type);
      return std::nullopt;
    case TypeFamily::Numeric: {
      const auto d = parseDecimal(v.text);
      if (!d) return std::nullopt;
      const auto rounded = roundDecimal(*d);
      return rounded ? integer(*rounded, type) : errorValue(type + " out of range");
    }
    case TypeFamily::Float: {
      const double d = std::strtod(v.text.c_str(), nullptr);
      const double rounded = std::nearbyint(d);  // half to even
      if (std::isnan(d) || std::fabs(rounded) >= 18446744073709551616.0) return errorValue(type + " out of range");
      return integer(static_cast<Wide>(rounded), type);
    }
    case TypeFamily::Bits: return bitsToInteger(v, type);
    case TypeFamily::Untyped:
    case TypeFamily::Text: return textToInteger(v, type);
    case TypeFamily::Boolean:
      if (type == "integer") return constantOf(ValueKind::Integer, v.text == "true" ? "1" : "0", type);
      return errorValue(fmt::format("cannot cast type boolean to {}", type));
    default: return std::nullopt;
  }
}

std::optional<std::string> hexToBits(std::string_view hex) {
  std::string bits;
  for (const char c : hex) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    for (int b = 3; b >= 0; --b) bits += (digit >> b & 1) != 0 ? '1' : '0';
  }
  return bits;
}

std::optional<Value> toBits(const Value& v, const std::string& type) {
  const bool varying = baseType(type) == "bit varying";
  const auto length = typeLength(type);
  if (!varying && !length) return std::nullopt;  // bit is bit(1); but the facts may have dropped the length
  const int n = length.value_or(-1);
  if (n > 4096 || n == 0) return std::nullopt;
  std::string bits;
  if (isInteger(v.type)) {
    const auto i = wide(v.text);
    if (!i || varying) return std::nullopt;
    for (int b = n - 1; b >= 0; --b) bits += b > 100 ? (*i < 0 ? '1' : '0') : (*i >> b & 1) != 0 ? '1' : '0';
    return constantOf(ValueKind::Text, bits, type);
  }
  const TypeFamily family = familyOf(v.type);
  if (family == TypeFamily::Bits) {
    bits = v.text;
  } else if (family == TypeFamily::Text || family == TypeFamily::Untyped) {
    const std::string_view s = v.text;
    const char lead = s.empty() ? '0' : s[0];
    const bool hex = lead == 'x' || lead == 'X';
    const std::string_view digits = hex || lead == 'b' || lead == 'B' ? s.substr(1) : s;
    const auto parsed = hex ? hexToBits(digits) : std::optional<std::string>(digits);
    if (!parsed) return errorValue("not a valid hexadecimal digit in a bit string");
    if (parsed->find_first_not_of("01") != std::string::npos) return errorValue("not a valid binary digit in a bit string");
    bits = *parsed;
  } else {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(n);
  if (n > 0 && bits.size() > size) bits.resize(size);                // an explicit cast cuts at the right …
  if (!varying && bits.size() < size) bits.resize(size, '0');        // … and fills there
  return constantOf(ValueKind::Text, bits, type);
}

std::optional<Value> toText(const Value& v, const std::string& type) {
  std::string s = v.text;
  const TypeFamily family = familyOf(v.type);
  if (v.type == "bytea") {
    s = "\\x";
    for (const char c : v.text) s += fmt::format("{:02x}", static_cast<unsigned char>(c));
  } else if (family == TypeFamily::Float || family == TypeFamily::Other || family == TypeFamily::DateTime || family == TypeFamily::NotKnown) {
    if (v.type != "uuid") return std::nullopt;
  }
  const std::string base = baseType(type);
  if (baseType(v.type) == "character" && base != "character")
    while (s.ends_with(' ')) s.pop_back();
  if (base == "\"char\"" || (base == "name" && s.size() > 63)) return std::nullopt;
  const auto length = typeLength(type);
  if (base == "character" && !length) return std::nullopt;
  if (length) {
    const auto limit = static_cast<std::size_t>(std::max(*length, 0));
    if (std::ranges::any_of(s, [](char c) { return static_cast<unsigned char>(c) > 127; }) || limit > kMaxText) return std::nullopt;
    if (s.size() > limit) s.resize(limit);
    if (base == "character") s.resize(limit, ' ');
  }
  return constantOf(ValueKind::Text, s, type);
}

std::optional<Value> toUuid(const Value& v) {
  std::string hex;
  for (const char c : v.text)
    if (c != '-' && c != '{' && c != '}') hex += c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
  if (hex.size() != 32 || !hexToBits(hex)) return errorValue(fmt::format("invalid input syntax for type uuid: \"{}\"", v.text));
  for (const std::size_t at : {8u, 13u, 18u, 23u}) hex.insert(at, "-");
  return constantOf(ValueKind::Text, hex, "uuid");
}

std::optional<Value> toBytea(const Value& v) {
  if (v.text.find('\\') == std::string::npos) return constantOf(ValueKind::Text, v.text, "bytea");
  if (!v.text.starts_with("\\x") || v.text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  const auto bits = hexToBits(std::string_view(v.text).substr(2));
  if (!bits) return std::nullopt;
  for (std::size_t i = 0; i < bits->size(); i += 8) {
    int byte = 0;
    for (std::size_t b = 0; b < 8; ++b) byte = byte << 1 | ((*bits)[i + b] == '1' ? 1 : 0);
    bytes += static_cast<char>(byte);
  }
  return constantOf(ValueKind::Text, bytes, "bytea");
}

}  // namespace

ValueKind literalKind(std::string_view type) {
  switch (familyOf(type)) {
    case TypeFamily::Integer: return ValueKind::Integer;
    case TypeFamily::Numeric:
    case TypeFamily::Float: return ValueKind::Numeric;
    case TypeFamily::Boolean: return ValueKind::Boolean;
    default: return ValueKind::Text;
  }
}

bool isKnown(const Value& v) {
  if (v.kind == ValueKind::Null || v.kind == ValueKind::Unknown) return false;
  if (v.relation == kHostSchema && (v.kind == ValueKind::Variable || v.kind == ValueKind::Row)) return false;  // their text says which
  return v.isConstant() || !v.text.empty();
}
bool isError(const Value& v) { return v.kind == ValueKind::Unknown && v.name == "error"; }

Value unknownValue(std::string why) {
  Value v;
  v.text = std::move(why);
  return v;
}
Value errorValue(std::string words) {
  Value v = unknownValue(std::move(words));
  v.name = "error";
  return v;
}
Value constantOf(ValueKind kind, std::string text, std::string type) {
  Value v;
  v.kind = kind, v.text = std::move(text), v.type = std::move(type);
  return v;
}

std::optional<Value> integerLiteral(std::string_view written, bool negative) {
  std::string digits;
  for (const char c : written)
    if (c != '_') digits += c;
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char kind = static_cast<char>(digits[1] | 32);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (base != 10) digits.erase(0, 2);
  }
  Wide v = 0;
  if (digits.empty()) return std::nullopt;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
    if (digit >= base) return std::nullopt;
    if (v > highest(100) / 16) {  // far beyond bigint: keep the digits as numeric
      if (base != 10) return unknownValue("integer beyond numeric");
      return constantOf(ValueKind::Numeric, (negative ? "-" : "") + digits, "numeric");
    }
    v = v * base + digit;
  }
  if (negative) v = -v;
  if (v < lowest(64) || v > highest(64)) return constantOf(ValueKind::Numeric, decimal(v), "numeric");
  return integer(v, v < lowest(32) || v > highest(32) ? "bigint" : "integer");
}

Value numericLiteral(std::string_view written, bool negative) {
  if (auto whole = integerLiteral(written, negative)) return *whole;
  const auto d = parseDecimal(written);
  if (!d) return unknownValue(fmt::format("number not understood: {}", written));
  Decimal value = *d;
  value.negative = negative != d->negative;
  return constantOf(ValueKind::Numeric, printDecimal(value), "numeric");
}

Value bitLiteral(std::string_view written) {
  const auto bits = toBits(constantOf(ValueKind::Text, std::string(written), "unknown"), "bit varying");
  Value v = bits.value_or(unknownValue("bit string not understood"));
  if (v.kind == ValueKind::Text) v.type = "bit";
  return v;
}

std::optional<Value> foldCast(const Value& v, const std::string& type) {
  if (!isKnown(v)) return std::nullopt;
  if (v.type == type) return constantOf(literalKind(type), v.text, type);
  const TypeFamily to = familyOf(type), from = familyOf(v.type);
  const bool fromText = from == TypeFamily::Text || from == TypeFamily::Untyped;
  switch (to) {
    case TypeFamily::Integer: return toInteger(v, type);
    case TypeFamily::Text: return toText(v, type);
    case TypeFamily::Bits: return toBits(v, type);
    case TypeFamily::Untyped: return v;
    case TypeFamily::Numeric: {
      if (from != TypeFamily::Integer && from != TypeFamily::Numeric && !fromText) return std::nullopt;
      if (type != "numeric") return std::nullopt;  // numeric(p,s) rounds
      const auto d = parseDecimal(trimSpaces(v.text));
      if (!d) return errorValue(fmt::format("invalid input syntax for type numeric: \"{}\"", v.text));
      return constantOf(ValueKind::Numeric, printDecimal(*d), type);
    }
    case TypeFamily::Float: {
      if (type != "double precision" || !parseDecimal(trimSpaces(v.text))) return std::nullopt;
      return constantOf(ValueKind::Numeric, trimSpaces(v.text), type);
    }
    case TypeFamily::Boolean: {
      if (fromText && (v.text == "true" || v.text == "t")) return constantOf(ValueKind::Boolean, "true", type);
      if (fromText && (v.text == "false" || v.text == "f")) return constantOf(ValueKind::Boolean, "false", type);
      if (v.type == "integer") return constantOf(ValueKind::Boolean, v.text == "0" ? "false" : "true", type);
      return std::nullopt;
    }
    case TypeFamily::Other:
      if (type == "uuid" && fromText) return toUuid(v);
      if (type == "bytea" && fromText) return toBytea(v);
      return std::nullopt;
    default: return std::nullopt;
  }
}

// --- operators ----------------------------------------------------------------------------------------------------

namespace {

Wide wrapTo(int bits, Wide v) {
  if (bits == 16) return static_cast<std::int16_t>(static_cast<std::uint64_t>(v));
  if (bits == 32) return static_cast<std::int32_t>(static_cast<std::uint64_t>(v));
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(v));
}

std::optional<Value> integerOperator(std::string_view op, Wide a, Wide b, const std::string& type) {
  const int bits = integerBits(type);
  if (op == "+") return integer(a + b, type);
  if (op == "-") return integer(a - b, type);
  if (op == "*") return integer(a * b, type);  // both within 64 bits: the product fits 128
  if (op == "/" || op == "%") {
    if (b == 0) return errorValue("division by zero");
    return op == "/" ? integer(a / b, type) : integer(a % b, type);
  }
  if (op == "&") return integer(a & b, type);
  if (op == "|") return integer(a | b, type);
  if (op == "#") return integer(a ^ b, type);
  if (op == "<<" || op == ">>") {
    // PostgreSQL leaves it to the processor, which takes the count modulo the width (smallint is shifted as integer).
    const int count = static_cast<int>(static_cast<std::uint32_t>(b)) & (bits == 64 ? 63 : 31);
    return integer(op == "<<" ? wrapTo(bits, a << count) : a >> count, type);
  }
  return std::nullopt;
}

std::optional<Value> bitOperator(std::string_view op, const Value* left, const Value& right, const std::string& type) {
  if (left == nullptr) return std::nullopt;
  std::string bits = left->text;
  if (op == "||") return constantOf(ValueKind::Text, bits + right.text, type);
  if ((op == "#" || op == "&" || op == "|") && bits.size() == right.text.size()) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const bool a = bits[i] == '1', b = right.text[i] == '1';
      bits[i] = (op == "#" ? a != b : op == "&" ? a && b : a || b) ? '1' : '0';
    }
    return constantOf(ValueKind::Text, bits, left->type);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> foldOperator(std::string_view name, const Value* left, const Value& right, const std::string& type) {
  if ((left != nullptr && !isKnown(*left)) || !isKnown(right)) return std::nullopt;
  if (isInteger(type)) {
    const auto convert = [&](const Value& v) { return isInteger(v.type) ? std::optional<Value>(v) : foldCast(v, type); };
    const auto r = convert(right);
    if (!r) return std::nullopt;
    if (isError(*r)) return r;
    const auto b = asInteger(*r);
    if (!b) return std::nullopt;
    if (left == nullptr) {
      if (name == "-") return integer(-*b, type);
      if (name == "+") return integer(*b, type);
      if (name == "~") return integer(~*b, type);
      if (name == "@") return integer(*b < 0 ? -*b : *b, type);
      return std::nullopt;
    }
    const auto l = convert(*left);
    if (!l) return std::nullopt;
    if (isError(*l)) return l;
    const auto a = asInteger(*l);
    return a ? integerOperator(name, *a, *b, type) : std::nullopt;
  }
  if (familyOf(type) == TypeFamily::Bits) return bitOperator(name, left, right, type);
  if (type == "numeric") {
    if (left != nullptr) return decimalArithmetic(name, *left, right);
    auto d = parseDecimal(right.text);
    if (!d || name != "-") return std::nullopt;
    d->negative = !d->negative;
    return constantOf(ValueKind::Numeric, printDecimal(*d), type);
  }
  if (type == "text" && name == "||" && left != nullptr) {
    const auto l = foldCast(*left, "text"), r = foldCast(right, "text");
    if (!l || !r || isError(*l) || isError(*r) || l->text.size() + r->text.size() > kMaxText) return std::nullopt;
    return constantOf(ValueKind::Text, l->text + r->text, "text");
  }
  return std::nullopt;
}

// --- functions ----------------------------------------------------------------------------------------------------

namespace {

bool ascii(std::string_view s) {
  return std::ranges::all_of(s, [](char c) { return static_cast<unsigned char>(c) < 128; });
}

// Start offsets of the characters of UTF-8 text, and its end.
std::vector<std::size_t> characters(std::string_view s) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < s.size(); ++i)
    if ((static_cast<unsigned char>(s[i]) & 0xC0) != 0x80) starts.push_back(i);
  starts.push_back(s.size());
  return starts;
}

// Characters [from, to) counted from 0, clipped.
std::string slice(std::string_view s, long long from, long long to) {
  const auto starts = characters(s);
  const auto count = static_cast<long long>(starts.size()) - 1;
  from = std::clamp(from, 0LL, count), to = std::clamp(to, from, count);
  return std::string(s.substr(starts[static_cast<std::size_t>(from)],
                              starts[static_cast<std::size_t>(to)] - starts[static_cast<std::size_t>(from)]));
}

std::string trimmed(std::string_view s, std::string_view set, bool left, bool right) {
  while (left && !s.empty() && set.find(s.front()) != std::string_view::npos) s.remove_prefix(1);
  while (right && !s.empty() && set.find(s.back()) != std::string_view::npos) s.remove_suffix(1);
  return std::string(s);
}

std::string utf8(std::uint32_t c) {
  std::string s;
  if (c < 0x80) s += static_cast<char>(c);
  else if (c < 0x800) s += static_cast<char>(0xC0 | c >> 6), s += static_cast<char>(0x80 | (c & 63));
  else if (c < 0x10000)
    s += static_cast<char>(0xE0 | c >> 12), s += static_cast<char>(0x80 | (c >> 6 & 63)), s += static_cast<char>(0x80 | (c & 63));
  else
    s += static_cast<char>(0xF0 | c >> 18), s += static_cast<char>(0x80 | (c >> 12 & 63)), s += static_cast<char>(0x80 | (c >> 6 & 63)),
        s += static_cast<char>(0x80 | (c & 63));
  return s;
}

std::string quoteLiteral(std::string_view s) {
  std::string out = s.find('\\') != std::string_view::npos ? " E'" : "'";
  for (const char c : s) {
    if (c == '\'' || c == '\\') out += c;
    out += c;
  }
  return out + "'";
}

// quote_ident() without the keyword list: nothing when only that list could decide.
std::optional<std::string> quoteIdent(std::string_view s) {
  const bool plain = !s.empty() && !(s[0] >= '0' && s[0] <= '9') && std::ranges::all_of(s, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (plain && s.find('_') == std::string_view::npos && s.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  if (plain) return std::string(s);
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"') out += c;
    out += c;
  }
  return out + "\"";
}

Value textValue(std::string s) { return constantOf(ValueKind::Text, std::move(s), "text"); }

// Arguments as text and as integers, the two shapes the functions below take.
struct Arguments {
  std::span<const Value> values;

  std::size_t count() const { return values.size(); }
  const std::string& raw(std::size_t i) const { return values[i].text; }
  bool isText(std::size_t i) const {
    if (i >= values.size()) return false;
    const TypeFamily f = familyOf(values[i].type);
    return f == TypeFamily::Text || f == TypeFamily::Untyped;
  }
  std::optional<Wide> number(std::size_t i) const {
    if (i >= values.size()) return std::nullopt;
    if (isInteger(values[i].type)) return wide(values[i].text);
    if (familyOf(values[i].type) != TypeFamily::Untyped) return std::nullopt;
    const Value v = textToInteger(values[i], "bigint");
    return v.kind == ValueKind::Integer ? wide(v.text) : std::nullopt;
  }
  std::optional<long long> index(std::size_t i) const {
    const auto n = number(i);
    if (!n || *n < lowest(32) || *n > highest(32)) return std::nullopt;
    return static_cast<long long>(*n);
  }
};

std::optional<Value> hashFunction(std::string_view name, const Arguments& a) {
  const auto int32 = [](std::int32_t v) { return constantOf(ValueKind::Integer, std::to_string(v), "integer"); };
  const auto int64 = [](std::int64_t v) { return constantOf(ValueKind::Integer, std::to_string(v), "bigint"); };
  if ((name == "hashtext" || name == "hashbpchar") && a.count() == 1 && a.isText(0)) {
    std::string_view s = a.raw(0);
    if (baseType(a.values[0].type) == "character" || name == "hashbpchar")
      while (s.ends_with(' ')) s.remove_suffix(1);
    return int32(hashtext(s));
  }
  if (name == "hashtextextended" && a.count() == 2 && a.isText(0)) {
    if (const auto seed = a.number(1)) return int64(hashtextextended(a.raw(0), static_cast<std::int64_t>(*seed)));
    return std::nullopt;
  }
  if (name == "uuid_hash" && a.count() == 1 && a.values[0].type == "uuid") {
    const auto bytes = toBytea(textValue("\\x" + [&] {
      std::string hex;
      for (const char c : a.raw(0))
        if (c != '-') hex += c;
      return hex;
    }()));
    if (bytes) return int32(static_cast<std::int32_t>(hashBytes(bytes->text)));
    return std::nullopt;
  }
  const auto n = a.number(0);
  if (!n) return std::nullopt;
  const bool fits32 = *n >= lowest(32) && *n <= highest(32);
  if (a.count() == 1 && name == "hashint8") return int32(hashint8(static_cast<std::int64_t>(*n)));
  if (a.count() == 1 && fits32 && (name == "hashint4" || name == "hashint2")) return int32(hashint4(static_cast<std::int32_t>(*n)));
  const auto seed = a.number(1);
  if (a.count() != 2 || !seed) return std::nullopt;
  if (name == "hashint8extended") return int64(hashint8extended(static_cast<std::int64_t>(*n), static_cast<std::int64_t>(*seed)));
  if (name == "hashint4extended" && fits32)
    return int64(hashint4extended(static_cast<std::int32_t>(*n), static_cast<std::int64_t>(*seed)));
  return std::nullopt;
}

std::optional<Value> byteFunction(std::string_view name, const Arguments& a) {
  if (name == "md5" && a.count() == 1 && (a.isText(0) || a.values[0].type == "bytea")) return textValue(md5Hex(a.raw(0)));
  if (name == "decode" && a.count() == 2 && a.isText(0) && a.raw(1) == "hex") return toBytea(textValue("\\x" + a.raw(0)));
  if (name == "convert_to" && a.count() == 2 && a.isText(0)) {
    if (a.raw(1) == "UTF8" || a.raw(1) == "utf8" || a.raw(1) == "UTF-8") return constantOf(ValueKind::Text, a.raw(0), "bytea");
    return std::nullopt;
  }
  if (a.count() != 2 || a.values[0].type != "bytea") return std::nullopt;
  if (name == "encode" && a.raw(1) == "hex") return textValue(toText(a.values[0], "text")->text.substr(2));
  if (name == "get_byte") {
    const auto i = a.index(1);
    if (!i || *i < 0 || static_cast<std::size_t>(*i) >= a.raw(0).size()) return std::nullopt;
    return constantOf(ValueKind::Integer, std::to_string(static_cast<unsigned char>(a.raw(0)[static_cast<std::size_t>(*i)])), "integer");
  }
  return std::nullopt;
}

std::optional<Value> sliceFunction(std::string_view name, const Arguments& a) {
  const std::string& s = a.raw(0);
  const auto first = a.index(1);
  if (!first || !a.isText(0)) return std::nullopt;
  const auto length = static_cast<long long>(characters(s).size()) - 1;
  if (name == "left" && a.count() == 2) return textValue(slice(s, 0, *first < 0 ? length + *first : *first));
  if (name == "right" && a.count() == 2) return textValue(slice(s, *first < 0 ? -*first : length - *first, length));
  if (name != "substr" && name != "substring") return std::nullopt;
  if (a.count() == 2) return textValue(slice(s, *first - 1, length));
  const auto count = a.index(2);
  if (!count || a.count() != 3) return std::nullopt;
  if (*count < 0) return errorValue("negative substring length not allowed");
  return textValue(slice(s, *first - 1, *first - 1 + *count));
}

std::optional<Value> textFunction(std::string_view name, const Arguments& a) {
  const std::string& s = a.raw(0);
  if (!a.isText(0)) return std::nullopt;
  if ((name == "lower" || name == "upper") && a.count() == 1) {
    if (!ascii(s)) return std::nullopt;  // depends on the collation
    std::string out = s;
    for (char& c : out)
      if (name == "lower" ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z') c = static_cast<char>(c ^ 32);
    return textValue(out);
  }
  if (name == "btrim" || name == "ltrim" || name == "rtrim") {
    const std::string set = a.count() > 1 ? a.raw(1) : " ";
    if (!ascii(set) || a.count() > 2) return std::nullopt;
    return textValue(trimmed(s, set, name != "rtrim", name != "ltrim"));
  }
  if ((name == "length" || name == "char_length" || name == "character_length") && a.count() == 1 && baseType(a.values[0].type) != "character")
    return constantOf(ValueKind::Integer, std::to_string(characters(s).size() - 1), "integer");
  if (name == "octet_length" && a.count() == 1) return constantOf(ValueKind::Integer, std::to_string(s.size()), "integer");
  if (name == "ascii" && a.count() == 1 && ascii(s))
    return constantOf(ValueKind::Integer, std::to_string(s.empty() ? 0 : s[0]), "integer");
  if (name == "reverse" && a.count() == 1 && ascii(s)) return textValue({s.rbegin(), s.rend()});
  if (name == "quote_literal" && a.count() == 1) return textValue(quoteLiteral(s));
  if (name == "quote_ident" && a.count() == 1) {
    if (const auto q = quoteIdent(s)) return textValue(*q);
    return std::nullopt;
  }
  if (name == "repeat") {
    const auto n = a.index(1);
    if (!n || *n > 1000 || s.size() * static_cast<std::size_t>(std::max(*n, 0LL)) > kMaxText) return std::nullopt;
    std::string out;
    for (long long i = 0; i < *n; ++i) out += s;
    return textValue(out);
  }
  if (name == "replace" && a.count() == 3 && a.isText(1) && a.isText(2)) {
    if (a.raw(1).empty()) return textValue(s);
    std::string out;
    for (std::size_t at = 0; at < s.size() && out.size() < kMaxText;) {
      const auto hit = s.find(a.raw(1), at);
      out += s.substr(at, hit == std::string::npos ? hit : hit - at);
      if (hit == std::string::npos) return textValue(out);
      out += a.raw(2);
      at = hit + a.raw(1).size();
    }
    return out.size() < kMaxText ? std::optional(textValue(out)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> numberFunction(std::string_view name, const Arguments& a) {
  const auto first = a.number(0);
  if (!first || !isInteger(a.values[0].type)) return std::nullopt;
  const std::string& type = a.values[0].type;
  if (name == "abs" && a.count() == 1) return integer(*first < 0 ? -*first : *first, type);
  if (name == "chr" && a.count() == 1 && *first > 0 && *first < 0x110000) return textValue(utf8(static_cast<std::uint32_t>(*first)));
  if (name == "to_hex" && a.count() == 1)
    return textValue(integerBits(type) == 64 ? fmt::format("{:x}", static_cast<std::uint64_t>(*first))
                                             : fmt::format("{:x}", static_cast<std::uint32_t>(*first)));
  const auto second = a.number(1);
  if (name == "mod" && a.count() == 2 && second) {
    const int bits = std::max(integerBits(type), integerBits(a.values[1].type));
    return integerOperator("%", *first, *second, integerOfBits(bits));
  }
  return std::nullopt;
}

// concat(), concat_ws() and format() of known values.
std::optional<Value> joined(std::string_view name, const Arguments& a) {
  std::vector<std::string> texts;
  for (const Value& v : a.values) {
    const auto t = foldCast(v, "text");
    if (!t || isError(*t)) return std::nullopt;
    texts.push_back(v.kind == ValueKind::Boolean ? v.text.substr(0, 1) : t->text);
  }
  std::string out;
  if (name == "concat") {
    for (const std::string& t : texts) out += t;
  } else if (name == "concat_ws") {
    if (a.values[0].kind == ValueKind::Null) return std::nullopt;
    bool first = true;
    for (std::size_t i = 1; i < texts.size(); ++i) {
      if (a.values[i].kind == ValueKind::Null) continue;  // its separator goes with it
      out += (first ? "" : texts[0]) + texts[i];
      first = false;
    }
  } else {
    const auto pieces = formatPieces(texts.at(0));
    if (!pieces) return std::nullopt;
    for (const FormatPiece& p : *pieces) {
      if (p.argument < 0) {
        out += p.text;
        continue;
      }
      const auto at = static_cast<std::size_t>(p.argument) + 1;
      if (at >= texts.size()) return errorValue("too few arguments for format()");
      if (p.conversion == 's') out += texts[at];
      else if (p.conversion == 'L') out += quoteLiteral(texts[at]);
      else if (const auto q = quoteIdent(texts[at])) out += *q;
      else return std::nullopt;
    }
  }
  return out.size() <= kMaxText ? std::optional(textValue(out)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<FormatPiece>> formatPieces(std::string_view format) {
  std::vector<FormatPiece> pieces;
  int next = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const bool specifier = format[i] == '%' && i + 1 < format.size() && format[i + 1] != '%';
    if (!specifier) {
      if (pieces.empty() || pieces.back().argument >= 0) pieces.emplace_back();
      pieces.back().text += format[i];
      if (format[i] == '%') ++i;
      continue;
    }
    ++i;
    std::size_t digits = i;
    while (digits < format.size() && format[digits] >= '0' && format[digits] <= '9') ++digits;
    FormatPiece piece;
    if (digits > i && digits < format.size() && format[digits] == '$') {  // %2$s
      const auto position = wide(format.substr(i, digits - i));
      if (!position || *position < 1 || *position > 100) return std::nullopt;
      next = static_cast<int>(*position) - 1;
      i = digits + 1;
    }
    // A width (%-10s) changes the text: not taken apart.
    if (i >= format.size() || (format[i] != 's' && format[i] != 'I' && format[i] != 'L')) return std::nullopt;
    piece.argument = next++, piece.conversion = format[i];
    pieces.push_back(piece);
  }
  return pieces;
}

std::optional<Value> foldFunction(std::string_view name, std::span<const Value> arguments) {
  if (arguments.empty() || !std::ranges::all_of(arguments, isKnown)) return std::nullopt;
  const Arguments a{arguments};
  if (name == "concat" || name == "concat_ws" || name == "format") return joined(name, a);
  if (auto v = hashFunction(name, a)) return v;
  if (auto v = byteFunction(name, a)) return v;
  if (auto v = numberFunction(name, a)) return v;
  if (a.count() > 1)
    if (auto v = sliceFunction(name, a)) return v;
  return textFunction(name, a);
}

}  // namespace pglocklint

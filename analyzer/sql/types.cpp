#include "sql/types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "sql/lexer.h"
#include "sql/pg_parse.h"

namespace pglocklint::sql {
namespace {

struct TypeSpelling {
  std::string_view written, canonical;
};

// Names of pg_catalog and the grammar's spellings, as format_type() prints them (manual 8, table 8.1). Sorted by `written`.
constexpr std::array kTypes = std::to_array<TypeSpelling>({
    {"bigint", "bigint"},
    {"bit varying", "bit varying"},
    {"bool", "boolean"},
    {"bpchar", "character"},
    {"char", "character"},
    {"char varying", "character varying"},
    {"dec", "numeric"},
    {"decimal", "numeric"},
    {"float", "double precision"},
    {"float4", "real"},
    {"float8", "double precision"},
    {"int", "integer"},
    {"int2", "smallint"},
    {"int4", "integer"},
    {"int8", "bigint"},
    {"national char", "character"},
    {"national char varying", "character varying"},
    {"national character", "character"},
    {"national character varying", "character varying"},
    {"nchar", "character"},
    {"nchar varying", "character varying"},
    {"time", "time without time zone"},
    {"timestamp", "timestamp without time zone"},
    {"timestamptz", "timestamp with time zone"},
    {"timetz", "time with time zone"},
    {"varbit", "bit varying"},
    {"varchar", "character varying"},
});
static_assert(std::ranges::is_sorted(kTypes, {}, &TypeSpelling::written));

// A digit string of any base below 17 as decimal digits.
std::string toDecimal(std::string_view digits, unsigned base) {
  std::string decimal = "0";  // least significant digit first
  for (const char c : digits) {
    unsigned carry = static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    for (char& d : decimal) {
      carry += static_cast<unsigned>(d - '0') * base;
      d = static_cast<char>('0' + carry % 10);
      carry /= 10;
    }
    for (; carry > 0; carry /= 10) decimal.push_back(static_cast<char>('0' + carry % 10));
  }
  std::ranges::reverse(decimal);
  return decimal;
}

}  // namespace

std::string canonicalTypeName(std::string_view name) {
  const auto found = std::ranges::lower_bound(kTypes, name, {}, &TypeSpelling::written);
  return std::string(found != kTypes.end() && found->written == name ? found->canonical : name);
}

bool isIntegerText(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string normalNumber(std::string_view written) {
  constexpr std::size_t kLongestRadixNumber = 80;  // far beyond 64 bits; conversion is quadratic
  std::string number;
  std::ranges::copy_if(written, std::back_inserter(number), [](char c) { return c != '_' && c != ' '; });
  const bool negative = number.starts_with('-');
  if (negative || number.starts_with('+')) number.erase(0, 1);
  const char radix = number.size() > 2 && number[0] == '0' ? static_cast<char>(number[1] | 0x20) : ' ';
  if (const unsigned base = radix == 'x'   ? 16
                            : radix == 'o' ? 8
                            : radix == 'b' ? 2
                                           : 0;
      base && number.size() < kLongestRadixNumber)
    number = toDecimal(std::string_view(number).substr(2), base);
  else if (isIntegerText(number))
    number.erase(0, std::min(number.find_first_not_of('0'), number.size() - 1));
  if (negative && number != "0") number.insert(number.begin(), '-');
  return number;
}

// Words joined by spaces, without modifiers; "" where nothing is written.
std::string canonicalType(std::string_view written) {
  Lexer lexer(written, {.psql = false, .placeholders = false, .keep_comments = false});
  std::string name, suffix;
  bool quoted = false, float_small = false, array = false, dotted = false;
  int depth = 0;
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    const std::string_view text = lexer.text(t);
    if (text == "(" || text == "[") {
      array |= text == "[" && depth == 0;
      ++depth;
    } else if (text == ")" || text == "]") {
      --depth;
    } else if (depth > 0) {
      if (t.kind == TokenKind::Number && name == "float") float_small = text.size() == 1 || (text.size() == 2 && text <= "24");
    } else if (text == ".") {
      dotted = true, name += '.';
    } else if (text == "%") {
      suffix.assign(1, '%');
    } else if (suffix == "%") {
      suffix += foldIdentifier(text);
    } else if (isKeyword(text, "array")) {
      array = true;
    } else if (!isKeyword(text, "setof")) {
      if (!name.empty() && !name.ends_with('.')) name += ' ';
      name += foldIdentifier(text);
      quoted |= t.kind == TokenKind::QuotedWord;
    }
  }
  if (name.starts_with("pg_catalog.")) name.erase(0, std::string_view("pg_catalog.").size()), dotted = false;
  if (name.starts_with("interval ")) name = "interval";
  if (quoted && name == "char") name = "\"char\"";
  if (float_small) name = "real";
  if (!dotted && !quoted) name = canonicalTypeName(name);
  return name + suffix + (array ? "[]" : "");
}

}  // namespace pglocklint::sql

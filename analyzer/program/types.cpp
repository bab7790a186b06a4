// Tables from pg_type, pg_cast, pg_operator and pg_proc of PostgreSQL 15; see types.h.
#include "program/types.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace pglocklint {
namespace {

struct TypeEntry {
  std::string_view written, canonical;
  TypeFamily family;
};

constexpr std::array kTypes{
    TypeEntry{"smallint", "smallint", TypeFamily::Integer},
    TypeEntry{"int2", "smallint", TypeFamily::Integer},
    TypeEntry{"smallserial", "smallint", TypeFamily::Integer},
    TypeEntry{"serial2", "smallint", TypeFamily::Integer},
    TypeEntry{"integer", "integer", TypeFamily::Integer},
    TypeEntry{"int", "integer", TypeFamily::Integer},
    TypeEntry{"int4", "integer", TypeFamily::Integer},
    TypeEntry{"serial", "integer", TypeFamily::Integer},
    TypeEntry{"serial4", "integer", TypeFamily::Integer},
    TypeEntry{"bigint", "bigint", TypeFamily::Integer},
    TypeEntry{"int8", "bigint", TypeFamily::Integer},
    TypeEntry{"bigserial", "bigint", TypeFamily::Integer},
    TypeEntry{"serial8", "bigint", TypeFamily::Integer},
    // Of host programs: no cast of PostgreSQL's concerns them, but how wide they are does.
    TypeEntry{"unsigned 16-bit integer", "unsigned 16-bit integer", TypeFamily::Integer},
    TypeEntry{"unsigned 32-bit integer", "unsigned 32-bit integer", TypeFamily::Integer},
    TypeEntry{"unsigned 64-bit integer", "unsigned 64-bit integer", TypeFamily::Integer},
    TypeEntry{"numeric", "numeric", TypeFamily::Numeric},
    TypeEntry{"decimal", "numeric", TypeFamily::Numeric},
    TypeEntry{"dec", "numeric", TypeFamily::Numeric},
    TypeEntry{"real", "real", TypeFamily::Float},
    TypeEntry{"float4", "real", TypeFamily::Float},
    TypeEntry{"double precision", "double precision", TypeFamily::Float},
    TypeEntry{"float8", "double precision", TypeFamily::Float},
    TypeEntry{"float", "double precision", TypeFamily::Float},
    TypeEntry{"text", "text", TypeFamily::Text},
    TypeEntry{"character varying", "character varying", TypeFamily::Text},
    TypeEntry{"varchar", "character varying", TypeFamily::Text},
    TypeEntry{"char varying", "character varying", TypeFamily::Text},
    TypeEntry{"character", "character", TypeFamily::Text},
    TypeEntry{"char", "character", TypeFamily::Text},
    TypeEntry{"bpchar", "character", TypeFamily::Text},
    TypeEntry{"\"char\"", "\"char\"", TypeFamily::Text},
    TypeEntry{"name", "name", TypeFamily::Text},
    TypeEntry{"bit", "bit", TypeFamily::Bits},
    TypeEntry{"bit varying", "bit varying", TypeFamily::Bits},
    TypeEntry{"varbit", "bit varying", TypeFamily::Bits},
    TypeEntry{"boolean", "boolean", TypeFamily::Boolean},
    TypeEntry{"bool", "boolean", TypeFamily::Boolean},
    TypeEntry{"oid", "oid", TypeFamily::Oid},
    TypeEntry{"regclass", "regclass", TypeFamily::Oid},
    TypeEntry{"regproc", "regproc", TypeFamily::Oid},
    TypeEntry{"regprocedure", "regprocedure", TypeFamily::Oid},
    TypeEntry{"regoper", "regoper", TypeFamily::Oid},
    TypeEntry{"regoperator", "regoperator", TypeFamily::Oid},
    TypeEntry{"regtype", "regtype", TypeFamily::Oid},
    TypeEntry{"regrole", "regrole", TypeFamily::Oid},
    TypeEntry{"regnamespace", "regnamespace", TypeFamily::Oid},
    TypeEntry{"regconfig", "regconfig", TypeFamily::Oid},
    TypeEntry{"regdictionary", "regdictionary", TypeFamily::Oid},
    TypeEntry{"regcollation", "regcollation", TypeFamily::Oid},
    TypeEntry{"date", "date", TypeFamily::DateTime},
    TypeEntry{"time", "time without time zone", TypeFamily::DateTime},
    TypeEntry{"time without time zone", "time without time zone", TypeFamily::DateTime},
    TypeEntry{"time with time zone", "time with time zone", TypeFamily::DateTime},
    TypeEntry{"timetz", "time with time zone", TypeFamily::DateTime},
    TypeEntry{"timestamp", "timestamp without time zone", TypeFamily::DateTime},
    TypeEntry{"timestamp without time zone", "timestamp without time zone", TypeFamily::DateTime},
    TypeEntry{"timestamp with time zone", "timestamp with time zone", TypeFamily::DateTime},
    TypeEntry{"timestamptz", "timestamp with time zone", TypeFamily::DateTime},
    TypeEntry{"interval", "interval", TypeFamily::DateTime},
    TypeEntry{"json", "json", TypeFamily::Json},
    TypeEntry{"jsonb", "jsonb", TypeFamily::Json},
    TypeEntry{"uuid", "uuid", TypeFamily::Other},
    TypeEntry{"bytea", "bytea", TypeFamily::Other},
    TypeEntry{"money", "money", TypeFamily::Other},
    TypeEntry{"inet", "inet", TypeFamily::Other},
    TypeEntry{"cidr", "cidr", TypeFamily::Other},
    TypeEntry{"macaddr", "macaddr", TypeFamily::Other},
    TypeEntry{"macaddr8", "macaddr8", TypeFamily::Other},
    TypeEntry{"xml", "xml", TypeFamily::Other},
    TypeEntry{"tid", "tid", TypeFamily::Other},
    TypeEntry{"xid", "xid", TypeFamily::Other},
    TypeEntry{"xid8", "xid8", TypeFamily::Other},
    TypeEntry{"cid", "cid", TypeFamily::Other},
    TypeEntry{"pg_lsn", "pg_lsn", TypeFamily::Other},
    TypeEntry{"pg_snapshot", "pg_snapshot", TypeFamily::Other},
    TypeEntry{"txid_snapshot", "txid_snapshot", TypeFamily::Other},
    TypeEntry{"tsvector", "tsvector", TypeFamily::Other},
    TypeEntry{"tsquery", "tsquery", TypeFamily::Other},
    TypeEntry{"point", "point", TypeFamily::Other},
    TypeEntry{"int4range", "int4range", TypeFamily::Other},
    TypeEntry{"int8range", "int8range", TypeFamily::Other},
    TypeEntry{"numrange", "numrange", TypeFamily::Other},
    TypeEntry{"tstzrange", "tstzrange", TypeFamily::Other},
    TypeEntry{"tsrange", "tsrange", TypeFamily::Other},
    TypeEntry{"daterange", "daterange", TypeFamily::Other},
    TypeEntry{"record", "record", TypeFamily::Other},
    TypeEntry{"void", "void", TypeFamily::Other},
    TypeEntry{"refcursor", "refcursor", TypeFamily::Other},
    TypeEntry{"unknown", "unknown", TypeFamily::Untyped},
};

const TypeEntry* findType(std::string_view name) {
  const auto at = std::ranges::find(kTypes, name, &TypeEntry::written);
  return at == kTypes.end() ? nullptr : &*at;
}

std::string lowerAscii(std::string_view s) {
  std::string out;
  bool quoted = false;
  for (const char c : s) {
    if (c == '"') quoted = !quoted;
    out += !quoted && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

// "numeric(10,2) with …" in three: name, "(…)", rest.
struct Split {
  std::string name, modifier, array;
};
Split split(std::string_view type) {
  Split s;
  if (const auto bracket = type.find('['); bracket != std::string_view::npos) {
    s.array = type.substr(bracket);
    type = type.substr(0, bracket);
  } else if (type.ends_with(" array")) {
    s.array = "[]";
    type.remove_suffix(6);
  }
  const auto open = type.find('(');
  const auto close = open == std::string_view::npos ? open : type.find(')', open);
  if (close != std::string_view::npos) {
    s.modifier = type.substr(open, close - open + 1);
    s.name = std::string(type.substr(0, open)) + std::string(type.substr(close + 1));
  } else {
    s.name = type;
  }
  while (s.name.ends_with(' ')) s.name.pop_back();
  return s;
}

bool isArray(std::string_view type) { return type.ends_with(']'); }

}  // namespace

std::string canonicalType(std::string_view written) {
  std::string type = lowerAscii(written);
  if (type.starts_with("pg_catalog.")) {
    type.erase(0, 11);
    if (type == "char") return "\"char\"";
  }
  Split s = split(type);
  const TypeEntry* entry = findType(s.name);
  if (entry == nullptr) return type;
  if (!s.array.empty()) s.array = "[]";  // PostgreSQL keeps neither size nor number of dimensions
  return std::string(entry->canonical) + s.modifier + s.array;
}

std::string baseType(std::string_view canonical) {
  const Split s = split(canonical);
  const TypeEntry* entry = findType(s.name);
  return (entry != nullptr ? std::string(entry->canonical) : s.name) + s.array;
}

std::optional<int> typeLength(std::string_view canonical) {
  const Split s = split(canonical);
  int n = 0;
  if (s.modifier.size() < 3) return std::nullopt;
  const auto [end, error] = std::from_chars(s.modifier.data() + 1, s.modifier.data() + s.modifier.size() - 1, n);
  if (error != std::errc()) return std::nullopt;
  return n;
}

TypeFamily familyOf(std::string_view canonical) {
  if (canonical.empty()) return TypeFamily::NotKnown;
  if (isArray(canonical)) return TypeFamily::Array;
  const TypeEntry* entry = findType(split(canonical).name);
  return entry == nullptr ? TypeFamily::NotKnown : entry->family;
}

int integerBits(std::string_view type) {
  if (isUnsigned(type)) return type.find("64") != type.npos ? 64 : type.find("32") != type.npos ? 32 : 16;
  return type == "smallint" ? 16 : type == "integer" ? 32 : type == "bigint" ? 64 : 0;
}

std::string integerOfBits(int bits) { return bits <= 16 ? "smallint" : bits <= 32 ? "integer" : "bigint"; }

std::optional<bool> implicitlyConvertible(std::string_view from, std::string_view to) {
  const TypeFamily f = familyOf(from);
  if (f == TypeFamily::NotKnown) return std::nullopt;
  if (f == TypeFamily::Untyped || baseType(from) == to) return true;
  if (const int bits = integerBits(to)) return f == TypeFamily::Integer && integerBits(from) <= bits;
  if (to == "numeric") return f == TypeFamily::Integer || f == TypeFamily::Numeric;
  if (to == "double precision") return f == TypeFamily::Integer || f == TypeFamily::Numeric || f == TypeFamily::Float;
  if (to == "text") return f == TypeFamily::Text;
  if (to == "oid") return f == TypeFamily::Oid || f == TypeFamily::Integer;
  return std::nullopt;
}

// --- operators ----------------------------------------------------------------------------------------------------

namespace {

OperatorType noOperator(std::string_view name, std::optional<std::string_view> left, std::string_view right) {
  if (!left) return {"", fmt::format("operator does not exist: {} {}", name, baseType(right))};
  return {"", fmt::format("operator does not exist: {} {} {}", baseType(*left), name, baseType(right))};
}

// Position in the row smallint, integer, bigint, numeric, real, double precision; -1 for other types.
int numericRank(std::string_view type) {
  constexpr std::array<std::string_view, 6> kRow{"smallint", "integer", "bigint", "numeric", "real", "double precision"};
  const std::string base = baseType(type);
  const auto at = std::ranges::find(kRow, base);
  return at == kRow.end() ? -1 : static_cast<int>(at - kRow.begin());
}

// Type of left op right for + - * /: the wider one; real beside anything but real becomes double precision.
std::string arithmeticType(std::string_view left, std::string_view right) {
  const int l = numericRank(left), r = numericRank(right);
  if (l < 0 || r < 0) return "";
  const int wider = std::max(l, r);
  if (wider == 4 && l != r) return "double precision";
  return baseType(l == wider ? left : right);
}

OperatorType dateArithmetic(std::string_view name, std::string_view left, std::string_view right) {
  const std::string l = baseType(left), r = baseType(right);
  if (name == "-" && l == "date" && r == "date") return {"integer", ""};
  if (l == "date" && isInteger(r) && integerBits(r) <= 32) return {"date", ""};
  if (name == "+" && r == "date" && isInteger(l) && integerBits(l) <= 32) return {"date", ""};
  if (name == "-" && l == r && l.starts_with("timestamp")) return {"interval", ""};
  if (l == "date" && r == "interval") return {"timestamp without time zone", ""};
  if (r == "interval" && familyOf(l) == TypeFamily::DateTime) return {l, ""};
  if (l == "interval" && numericRank(r) >= 0) return {"interval", ""};
  return {};
}

OperatorType concatenation(std::string_view left, std::string_view right) {
  const TypeFamily l = familyOf(left), r = familyOf(right);
  if (l == TypeFamily::Array || r == TypeFamily::Array) return {std::string(l == TypeFamily::Array ? left : right), ""};
  for (const std::string_view both : {"jsonb", "bytea", "tsvector"})
    if ((left == both && (right == both || r == TypeFamily::Untyped)) || (right == both && l == TypeFamily::Untyped))
      return {std::string(both), ""};
  if ((l == TypeFamily::Bits || r == TypeFamily::Bits) && l != TypeFamily::Text && r != TypeFamily::Text) return {"bit varying", ""};
  const auto texty = [](TypeFamily f) { return f == TypeFamily::Text || f == TypeFamily::Untyped; };
  if (texty(l) || texty(r)) return {"text", ""};  // anynonarray || text
  if (l == TypeFamily::NotKnown || r == TypeFamily::NotKnown) return {};
  return noOperator("||", left, right);
}

constexpr std::array<std::string_view, 12> kComparisons{"=", "<>", "!=", "<", ">", "<=", ">=", "~", "~*", "!~", "!~*", "@>"};

OperatorType prefixType(std::string_view name, std::string_view right) {
  const TypeFamily r = familyOf(right);
  if (r == TypeFamily::NotKnown || r == TypeFamily::Untyped) return {};
  if (name == "~") return r == TypeFamily::Integer || r == TypeFamily::Bits ? OperatorType{std::string(right), ""}
                                                                            : noOperator(name, std::nullopt, right);
  if (name == "-" || name == "+" || name == "@") {
    if (numericRank(right) >= 0 || baseType(right) == "interval") return {baseType(right), ""};
    if (r == TypeFamily::Text || r == TypeFamily::Boolean || right == "uuid") return noOperator(name, std::nullopt, right);
    return {};
  }
  if (name == "|/" || name == "||/") return {"double precision", ""};
  return {};
}

}  // namespace

OperatorType operatorType(std::string_view name, std::optional<std::string_view> leftType, std::string_view right) {
  if (!leftType) return prefixType(name, right);
  std::string_view left = *leftType;
  if (name == "||") return concatenation(left, right);
  if (name == "->>" || name == "#>>") return {"text", ""};
  if (name == "->" || name == "#>") return {familyOf(left) == TypeFamily::Json ? std::string(left) : "", ""};
  TypeFamily l = familyOf(left), r = familyOf(right);
  const bool shift = name == "<<" || name == ">>";
  const bool bitwise = name == "&" || name == "|" || name == "#";
  if (!shift && !bitwise && std::ranges::find(kComparisons, name) != kComparisons.end()) return {"boolean", ""};
  // An untyped operand takes the type of the other one; the right side of a shift is always integer.
  if (l == TypeFamily::Untyped && r == TypeFamily::Untyped) return {};
  if (l == TypeFamily::Untyped && !shift) left = right, l = r;
  if (r == TypeFamily::Untyped) right = shift ? std::string_view("integer") : left, r = familyOf(right);
  if (l == TypeFamily::NotKnown || r == TypeFamily::NotKnown || l == TypeFamily::Untyped) return {};
  if (shift) {
    if (l == TypeFamily::Integer && r == TypeFamily::Integer && integerBits(right) <= 32) return {std::string(left), ""};
    if (l == TypeFamily::Bits && r == TypeFamily::Integer) return {std::string(left), ""};
    return l == TypeFamily::Other ? OperatorType{} : noOperator(name, left, right);
  }
  if (bitwise) {
    if (l == TypeFamily::Integer && r == TypeFamily::Integer)
      return {integerOfBits(std::max(integerBits(left), integerBits(right))), ""};
    if (l == TypeFamily::Bits && r == TypeFamily::Bits) return {std::string(left), ""};
    return l == TypeFamily::Other || r == TypeFamily::Other ? OperatorType{} : noOperator(name, left, right);
  }
  const bool numbers = numericRank(left) >= 0 && numericRank(right) >= 0;
  if (name == "+" || name == "-" || name == "*" || name == "/") {
    if (numbers) return {arithmeticType(left, right), ""};
    if (l == TypeFamily::DateTime || r == TypeFamily::DateTime) return dateArithmetic(name, left, right);
    const auto never = [](TypeFamily f) { return f == TypeFamily::Text || f == TypeFamily::Boolean || f == TypeFamily::Oid; };
    return never(l) || never(r) ? noOperator(name, left, right) : OperatorType{};
  }
  if (name == "%" && numbers) {
    const std::string type = arithmeticType(left, right);
    return familyOf(type) == TypeFamily::Float ? noOperator(name, left, right) : OperatorType{type, ""};
  }
  if (name == "^" && numbers)
    return {l == TypeFamily::Numeric || r == TypeFamily::Numeric ? (l == TypeFamily::Float || r == TypeFamily::Float ? "double precision" : "numeric")
                                                                 : "double precision", ""};
  return {};
}

std::string commonType(std::span<const std::string> types) {
  std::string common = "unknown";
  for (const std::string& t : types) {
    if (t == "unknown" || t == common) continue;
    if (t.empty()) return "";
    if (common == "unknown") {
      common = t;
    } else if (baseType(t) == baseType(common)) {
      common = baseType(t);
    } else if (numericRank(t) >= 0 && numericRank(common) >= 0) {
      common = baseType(numericRank(t) > numericRank(common) ? t : common);
    } else if (familyOf(t) == TypeFamily::Text && familyOf(common) == TypeFamily::Text) {
      common = "text";
    } else {
      return "";
    }
  }
  return common == "unknown" && !types.empty() ? "text" : common;
}

// --- functions ----------------------------------------------------------------------------------------------------

namespace {

struct FunctionEntry {
  std::string_view name, result;
};
constexpr std::array kFunctions{
    FunctionEntry{"hashtext", "integer"},
    FunctionEntry{"hashint2", "integer"},
    FunctionEntry{"hashint4", "integer"},
    FunctionEntry{"hashint8", "integer"},
    FunctionEntry{"hashoid", "integer"},
    FunctionEntry{"hashbpchar", "integer"},
    FunctionEntry{"hashname", "integer"},
    FunctionEntry{"hashvarlena", "integer"},
    FunctionEntry{"hash_array", "integer"},
    FunctionEntry{"hash_record", "integer"},
    FunctionEntry{"hash_numeric", "integer"},
    FunctionEntry{"uuid_hash", "integer"},
    FunctionEntry{"jsonb_hash", "integer"},
    FunctionEntry{"hashtextextended", "bigint"},
    FunctionEntry{"hashint4extended", "bigint"},
    FunctionEntry{"hashint8extended", "bigint"},
    FunctionEntry{"uuid_hash_extended", "bigint"},
    FunctionEntry{"hash_array_extended", "bigint"},
    FunctionEntry{"hash_record_extended", "bigint"},
    FunctionEntry{"md5", "text"},
    FunctionEntry{"sha224", "bytea"},
    FunctionEntry{"sha256", "bytea"},
    FunctionEntry{"sha384", "bytea"},
    FunctionEntry{"sha512", "bytea"},
    FunctionEntry{"digest", "bytea"},  // pgcrypto
    FunctionEntry{"crc32", "bigint"},
    FunctionEntry{"crc32c", "bigint"},
    FunctionEntry{"lower", "text"},
    FunctionEntry{"upper", "text"},
    FunctionEntry{"initcap", "text"},
    FunctionEntry{"left", "text"},
    FunctionEntry{"right", "text"},
    FunctionEntry{"ltrim", "text"},
    FunctionEntry{"rtrim", "text"},
    FunctionEntry{"lpad", "text"},
    FunctionEntry{"rpad", "text"},
    FunctionEntry{"replace", "text"},
    FunctionEntry{"translate", "text"},
    FunctionEntry{"reverse", "text"},
    FunctionEntry{"repeat", "text"},
    FunctionEntry{"split_part", "text"},
    FunctionEntry{"regexp_replace", "text"},
    FunctionEntry{"concat", "text"},
    FunctionEntry{"concat_ws", "text"},
    FunctionEntry{"format", "text"},
    FunctionEntry{"to_char", "text"},
    FunctionEntry{"to_hex", "text"},
    FunctionEntry{"chr", "text"},
    FunctionEntry{"encode", "text"},
    FunctionEntry{"quote_ident", "text"},
    FunctionEntry{"quote_literal", "text"},
    FunctionEntry{"array_to_string", "text"},
    FunctionEntry{"string_agg", ""},
    FunctionEntry{"decode", "bytea"},
    FunctionEntry{"convert_to", "bytea"},
    FunctionEntry{"ascii", "integer"},
    FunctionEntry{"get_byte", "integer"},
    FunctionEntry{"get_bit", "integer"},
    FunctionEntry{"length", "integer"},
    FunctionEntry{"char_length", "integer"},
    FunctionEntry{"octet_length", "integer"},
    FunctionEntry{"strpos", "integer"},
    FunctionEntry{"position", "integer"},
    FunctionEntry{"array_length", "integer"},
    FunctionEntry{"cardinality", "integer"},
    FunctionEntry{"count", "bigint"},
    FunctionEntry{"row_number", "bigint"},
    FunctionEntry{"rank", "bigint"},
    FunctionEntry{"dense_rank", "bigint"},
    FunctionEntry{"ntile", "integer"},
    FunctionEntry{"nextval", "bigint"},
    FunctionEntry{"currval", "bigint"},
    FunctionEntry{"lastval", "bigint"},
    FunctionEntry{"setval", "bigint"},
    FunctionEntry{"now", "timestamp with time zone"},
    FunctionEntry{"clock_timestamp", "timestamp with time zone"},
    FunctionEntry{"statement_timestamp", "timestamp with time zone"},
    FunctionEntry{"transaction_timestamp", "timestamp with time zone"},
    FunctionEntry{"current_timestamp", "timestamp with time zone"},
    FunctionEntry{"localtimestamp", "timestamp without time zone"},
    FunctionEntry{"current_date", "date"},
    FunctionEntry{"current_time", "time with time zone"},
    FunctionEntry{"localtime", "time without time zone"},
    FunctionEntry{"timeofday", "text"},
    FunctionEntry{"extract", "numeric"},  // double precision up to 13
    FunctionEntry{"date_part", "double precision"},
    FunctionEntry{"gen_random_uuid", "uuid"},
    FunctionEntry{"uuidv4", "uuid"},
    FunctionEntry{"uuidv7", "uuid"},
    FunctionEntry{"gen_random_bytes", "bytea"},
    FunctionEntry{"pg_backend_pid", "integer"},
    FunctionEntry{"txid_current", "bigint"},
    FunctionEntry{"txid_current_if_assigned", "bigint"},
    FunctionEntry{"pg_current_xact_id", "xid8"},
    FunctionEntry{"pg_current_xact_id_if_assigned", "xid8"},
    FunctionEntry{"current_setting", "text"},
    FunctionEntry{"set_config", "text"},
    FunctionEntry{"to_regclass", "regclass"},
    FunctionEntry{"current_database", "name"},
    FunctionEntry{"current_schema", "name"},
    FunctionEntry{"current_user", "name"},
    FunctionEntry{"session_user", "name"},
    FunctionEntry{"current_role", "name"},
    FunctionEntry{"user", "name"},
    FunctionEntry{"current_catalog", "name"},
    FunctionEntry{"inet_server_port", "integer"},
    FunctionEntry{"inet_client_port", "integer"},
    FunctionEntry{"factorial", "numeric"},
    FunctionEntry{"sqrt", ""},
    FunctionEntry{"json_extract_path_text", "text"},
    FunctionEntry{"jsonb_extract_path_text", "text"},
    FunctionEntry{"generate_subscripts", "integer"},
    FunctionEntry{"regexp_split_to_table", "text"},
    FunctionEntry{"string_to_table", "text"},
    FunctionEntry{"json_array_elements_text", "text"},
    FunctionEntry{"jsonb_array_elements_text", "text"},
    FunctionEntry{"json_object_keys", "text"},
    FunctionEntry{"jsonb_object_keys", "text"},
    FunctionEntry{"bool_and", "boolean"},
    FunctionEntry{"bool_or", "boolean"},
};

std::string aggregateSum(const std::string& type) {
  if (type == "smallint" || type == "integer") return "bigint";
  if (type == "bigint") return "numeric";
  return familyOf(type) == TypeFamily::Numeric ? "numeric" : familyOf(type) == TypeFamily::Float ? type : "";
}

bool among(std::string_view name, std::initializer_list<std::string_view> names) { return std::ranges::find(names, name) != names.end(); }

}  // namespace

std::string functionType(std::string_view name, std::span<const std::string> arguments) {
  const std::string first = arguments.empty() ? "" : baseType(arguments[0]);
  const TypeFamily family = familyOf(first);
  if (among(name, {"abs", "min", "max", "lag", "lead", "first_value", "last_value", "array_append", "array_remove", "bit_and", "bit_or",
                   "bit_xor", "any_value"}))
    return first == "unknown" ? "" : first;
  if (among(name, {"mod", "gcd", "lcm", "div", "generate_series"})) {
    std::string type = first;
    for (std::size_t i = 1; i < arguments.size() && i < (name == "generate_series" ? 3u : 2u); ++i) {
      const std::string other = baseType(arguments[i]);
      if (other == "interval" || other == "unknown") continue;  // generate_series over time
      type = type == "unknown" ? other : arithmeticType(type, other).empty() ? (type == other ? type : "") : arithmeticType(type, other);
    }
    if (type == "smallint" && name == "generate_series") return "integer";
    return name == "div" && isInteger(type) ? "numeric" : type == "date" ? "timestamp with time zone" : type == "unknown" ? "" : type;
  }
  if (among(name, {"round", "ceil", "ceiling", "floor", "trunc", "sign", "power", "pow", "sqrt", "exp", "ln", "log"})) {
    if (arguments.size() == 2 && among(name, {"round", "trunc"})) return "numeric";
    for (const std::string& a : arguments)
      if (numericRank(a) < 0) return "";
    for (const std::string& a : arguments)
      if (familyOf(a) == TypeFamily::Numeric) return "numeric";
    return "double precision";
  }
  if (name == "random") {
    if (arguments.empty()) return "double precision";
    return arguments.size() == 2 ? arithmeticType(arguments[0], arguments[1]) : "";  // random(min, max): 17
  }
  if (name == "sum") return aggregateSum(first);
  if (name == "avg") return isInteger(first) || family == TypeFamily::Numeric ? "numeric" : family == TypeFamily::Float ? "double precision" : "";
  if (name == "string_agg") return first == "bytea" ? "bytea" : "text";
  if (name == "unnest") return isArray(first) ? baseType(first.substr(0, first.size() - 2)) : "";
  if (name == "array_agg") return first.empty() || first == "unknown" ? "" : isArray(first) ? first : first + "[]";
  if (name == "date_trunc") {
    const std::string second = arguments.size() > 1 ? baseType(arguments[1]) : "";
    return second == "date" ? "timestamp with time zone" : familyOf(second) == TypeFamily::DateTime ? second : "";
  }
  if (among(name, {"substr", "substring", "overlay", "btrim"}))
    return first == "bytea" || family == TypeFamily::Bits ? first : first.empty() ? "" : "text";
  const auto at = std::ranges::find(kFunctions, name, &FunctionEntry::name);
  return at == kFunctions.end() ? "" : std::string(at->result);
}

}  // namespace pglocklint

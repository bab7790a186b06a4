// The lexer follows PostgreSQL's scan.l rule by rule (manual 4.1, "Lexical Structure"). One table says what each byte may begin;
// everything else is a short loop per token kind. Placeholders of drivers and templates are no part of that language: where one
// could be an operator too (`?`, `%s`, `@x`), the token before decides, because an operator stands where an operand just ended.
#include "sql/lexer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "model/ascii.h"
#include "sql/mapped_text.h"

namespace pglocklint::sql {
namespace {

enum Class : std::uint8_t { kOther, kSpace, kNewline, kIdentifier, kDigit, kOperator, kSingle };

constexpr std::array<std::uint8_t, 256> kClass = [] {
  std::array<std::uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = kIdentifier;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = kIdentifier;
  for (int c = 0x80; c <= 0xff; ++c) table[c] = kIdentifier;
  table['_'] = kIdentifier;
  for (int c = '0'; c <= '9'; ++c) table[c] = kDigit;
  for (char c : std::string_view(" \t\f\v\r")) table[static_cast<unsigned char>(c)] = kSpace;
  table['\n'] = kNewline;
  for (char c : std::string_view("~!@#^&|`?+-*/%<>=")) table[static_cast<unsigned char>(c)] = kOperator;
  for (char c : std::string_view(",()[].;:")) table[static_cast<unsigned char>(c)] = kSingle;
  return table;
}();

// Bytes that may follow in an identifier: letters, digits, '_', '$', every byte above ASCII.
constexpr std::array<bool, 256> kIdentifierPart = [] {
  std::array<bool, 256> table{};
  for (int c = 0; c < 256; ++c) table[c] = kClass[c] == kIdentifier || kClass[c] == kDigit || c == '$';
  return table;
}();

Class classOf(char c) { return static_cast<Class>(kClass[static_cast<unsigned char>(c)]); }
bool isIdentifierPart(char c) { return kIdentifierPart[static_cast<unsigned char>(c)]; }
bool isIdentifierStart(char c) { return classOf(c) == kIdentifier; }
bool isDigit(char c) { return classOf(c) == kDigit; }
bool isNamePart(char c) { return isIdentifierStart(c) || isDigit(c); }
char at(std::string_view text, std::size_t i) { return i < text.size() ? text[i] : '\0'; }

std::size_t nameEnd(std::string_view text, std::size_t i) {
  while (i < text.size() && isNamePart(text[i])) ++i;
  return i;
}

// Words after which an operand (or a name) comes, so that `?`, `%s` and `@x` are placeholders there. Sorted.
constexpr std::string_view kBeforeOperand[] = {
    "all",    "and",   "any",      "array",     "as",      "between", "by",     "call",   "case",  "cast",     "default", "delete",
    "distinct", "do",  "else",     "elsif",     "escape",  "except", "execute", "exists", "for",     "from",    "having",
    "if",     "ilike", "in",       "index",     "insert",  "intersect", "into", "is",     "join",  "lateral",  "like",    "limit",
    "not",    "offset", "on",      "only",      "or",      "perform", "return", "returning", "schema", "select", "set",    "similar",
    "some",   "symmetric", "table", "then",     "to",      "union",   "update", "using",  "values", "variadic", "view",   "when",
    "where",  "while", "zone"};

constexpr std::size_t kLongestBeforeOperand = 9;

bool comesBeforeOperand(std::string_view word) {
  if (word.size() > kLongestBeforeOperand) return false;
  char folded[kLongestBeforeOperand];
  std::ranges::transform(word, folded, [](char c) { return lowered(c); });
  return std::ranges::binary_search(kBeforeOperand, std::string_view(folded, word.size()));
}
static_assert(std::ranges::is_sorted(kBeforeOperand));

std::size_t lineEnd(std::string_view text, std::size_t from) {
  const void* end = from < text.size() ? std::memchr(text.data() + from, '\n', text.size() - from) : nullptr;
  return end ? static_cast<std::size_t>(static_cast<const char*>(end) - text.data()) : text.size();
}

// End of the nested comment that opens at `begin`; npos when it is not closed.
std::size_t blockCommentEnd(std::string_view text, std::size_t begin) {
  std::size_t depth = 1;
  for (std::size_t i = begin + 2; i + 1 < text.size(); ++i) {
    if (text[i] == '*' && text[i + 1] == '/') {
      ++i;
      if (--depth == 0) return i + 1;
    } else if (text[i] == '/' && text[i + 1] == '*') {
      ++i;
      ++depth;
    }
  }
  return std::string_view::npos;
}

// End of a number, by PostgreSQL 16's rules: decimal, 0x, 0o, 0b, underscores between digits, fraction, exponent.
std::size_t digitsEnd(std::string_view text, std::size_t i, auto is_digit) {
  while (i < text.size() && (is_digit(text[i]) || (text[i] == '_' && is_digit(at(text, i + 1))))) ++i;
  return i;
}

std::size_t numberEnd(std::string_view text, std::size_t i) {
  if (text[i] == '0') {
    const char radix = lowered(at(text, i + 1));
    const auto is_digit = [radix](char c) {
      if (radix == 'x') return isDigit(c) || (lowered(c) >= 'a' && lowered(c) <= 'f');
      return c >= '0' && c <= (radix == 'o' ? '7' : '1');
    };
    if (radix == 'x' || radix == 'o' || radix == 'b') {
      const std::size_t first = i + 2 + (at(text, i + 2) == '_');
      if (is_digit(at(text, first))) return digitsEnd(text, first, is_digit);
    }
  }
  i = digitsEnd(text, i, isDigit);
  if (at(text, i) == '.' && at(text, i + 1) != '.') i = isDigit(at(text, i + 1)) ? digitsEnd(text, i + 1, isDigit) : i + 1;
  if (lowered(at(text, i)) == 'e') {
    const std::size_t first = i + 1 + (at(text, i + 1) == '+' || at(text, i + 1) == '-');
    if (isDigit(at(text, first))) i = digitsEnd(text, first, isDigit);
  }
  return i;
}

// `{{ … }}`, `${…}`: the end after `close`, which must come soon; 0 if it does not.
std::size_t templateEnd(std::string_view text, std::size_t from, std::string_view close) {
  constexpr std::size_t kLongest = 400;
  const std::size_t end = text.substr(from, kLongest).find(close);
  return end == std::string_view::npos ? 0 : from + end + close.size();
}

// %s %d %I %1$s %(name)s of drivers and format strings; 0 if it is none.
std::size_t percentEnd(std::string_view text, std::size_t i) {
  ++i;
  if (at(text, i) == '(') {
    const std::size_t name = nameEnd(text, i + 1);
    if (name == i + 1 || at(text, name) != ')') return 0;
    i = name + 1;
  } else if (isDigit(at(text, i))) {
    while (isDigit(at(text, i))) ++i;
    if (at(text, i) != '$') return 0;
    ++i;
  } else {
    while (at(text, i) == 'l') ++i;
  }
  constexpr std::string_view kConversions = "sdubtifIL";
  if (i >= text.size() || kConversions.find(text[i]) == std::string_view::npos || isIdentifierPart(at(text, i + 1))) return 0;
  return i + 1;
}

// MetaCommands whose argument is the whole rest of the line; in others an unquoted backslash starts the next command.
constexpr std::string_view kWholeLine[] = {"!", "copy", "ef", "ev", "h", "help", "sf", "sf+", "sv", "sv+"};

std::size_t metaCommandEnd(std::string_view text, std::size_t begin) {
  std::size_t i = begin + 1;
  while (i < text.size() && text[i] != '\\' && classOf(text[i]) != kSpace && text[i] != '\n') ++i;
  const std::string_view name = text.substr(begin + 1, i - begin - 1);
  std::size_t end = i;
  if (std::ranges::find(kWholeLine, name) != std::end(kWholeLine)) {
    end = lineEnd(text, i);
  } else {
    char quote = 0;
    for (; end < text.size() && text[end] != '\n'; ++end) {
      const char c = text[end];
      if (quote) {
        if (c == '\\' && quote == '\'' && end + 1 < text.size() && text[end + 1] != '\n') ++end;
        else if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"' || c == '`') {
        quote = c;
      } else if (c == '\\') {
        break;
      }
    }
  }
  while (end > begin + 1 && (text[end - 1] == '\r' || text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
  return end;
}

// Operators that a placeholder may be glued to: `id=?`, `id>=@id`, `n%%s`. No operator of PostgreSQL or pg_trgm goes on that way.
constexpr std::string_view kPlainOperators[] = {"=", "<>", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "||", "->", "->>"};

bool hasSpecialOperatorByte(std::string_view op) { return op.find_first_of("~!@#^&|`?%") != std::string_view::npos; }

}  // namespace

Lexer::Lexer(std::string_view text, LexOptions options, std::uint32_t start) : text_(text), options_(options), pos_(start) {
  if (start == 0 && text.starts_with("\xEF\xBB\xBF")) pos_ = 3;
}

void Lexer::seek(std::uint32_t offset) {
  pos_ = offset;
  previous_ = {};
  bracket_depth_ = 0;
  subscript_ = false;
  line_start_ = newline_before_ = offset == 0 || at(text_, offset - 1) == '\n';
}

Token Lexer::emit(TokenKind kind, std::size_t begin, std::size_t end) {
  Token t{kind, line_start_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  pos_ = t.end;
  if (kind == TokenKind::Comment) return t;
  line_start_ = false;
  newline_before_ = false;
  if (kind == TokenKind::Punctuation) {
    const char c = text_[begin];
    subscript_ = c == '[' && !operandExpected();
    if (c == '[') ++bracket_depth_;
    else if (c == ']' && bracket_depth_ > 0) --bracket_depth_;
    else if (c == ';') bracket_depth_ = 0;
  } else {
    subscript_ = false;
  }
  previous_ = t;
  return t;
}

std::size_t Lexer::skipSpace(std::size_t at) {
  while (at < text_.size()) {
    const Class c = classOf(text_[at]);
    if (c == kNewline) line_start_ = newline_before_ = true;
    else if (c != kSpace) break;
    ++at;
  }
  return at;
}

bool Lexer::operandExpected() const {
  switch (previous_.kind) {
    case TokenKind::Word: return comesBeforeOperand(text(previous_));
    case TokenKind::End:
    case TokenKind::Operator:
    case TokenKind::MetaCommand: return true;
    case TokenKind::Punctuation: return text_[previous_.begin] != ')' && text_[previous_.begin] != ']';
    default: return false;
  }
}

// Whether a ':' before a name separates the bounds of a slice (a[1:n], a[:n]) or a key from its value ('k':v).
bool Lexer::colonIsSlice(std::size_t at) const {
  if (bracket_depth_ > 0 && (subscript_ || !operandExpected())) return true;
  return previous_.kind == TokenKind::String && previous_.end == at;
}

std::size_t Lexer::placeholderEnd(std::size_t i) const {
  const char next = at(text_, i + 1);
  switch (text_[i]) {
    case ':':
      if (next == '\'' || next == '"') {
        const std::size_t name = nameEnd(text_, i + 2);
        return name > i + 2 && at(text_, name) == next && !colonIsSlice(i) ? name + 1 : 0;
      }
      if (next == '{' && at(text_, i + 2) == '?') return templateEnd(text_, i + 3, "}");
      if (isIdentifierStart(next)) return colonIsSlice(i) ? 0 : nameEnd(text_, i + 1);
      return isDigit(next) && operandExpected() && bracket_depth_ == 0 ? nameEnd(text_, i + 1) : 0;
    case '$':
      if (next == '{') return templateEnd(text_, i + 2, "}");
      return isIdentifierStart(next) ? nameEnd(text_, i + 1) : 0;
    case '{':
      if (next == '{') return templateEnd(text_, i + 2, "}}");
      if (const std::size_t name = nameEnd(text_, i + 1); name > i + 1 && at(text_, name) == '}') return name + 1;
      return 0;
    case '@': {
      const std::size_t name = nameEnd(text_, i + 1);
      if (!isIdentifierStart(next)) return 0;
      if (at(text_, name) == '@') return name + 1;
      if (at(text_, name) == ':') {  // @extschema:extension@
        const std::size_t second = nameEnd(text_, name + 1);
        if (second > name + 1 && at(text_, second) == '@') return second + 1;
      }
      return operandExpected() ? name : 0;
    }
    case '%': return operandExpected() ? percentEnd(text_, i) : 0;
    case '?':
      if (!operandExpected() || next == '?') return 0;
      ++i;
      while (isDigit(at(text_, i))) ++i;
      return i;
    default: return 0;
  }
}

// A quoted token whose opening quote stands at `open_quote`; the quote doubled stands for itself.
Token Lexer::quoted(TokenKind kind, std::size_t begin, std::size_t open_quote, bool backslash) {
  const char quote = text_[open_quote];
  std::size_t i = open_quote + 1;
  while (i < text_.size()) {
    if (!backslash) {
      const void* hit = std::memchr(text_.data() + i, quote, text_.size() - i);
      i = hit ? static_cast<std::size_t>(static_cast<const char*>(hit) - text_.data()) : text_.size();
      if (i == text_.size()) break;
    }
    if (text_[i] == quote) {
      if (at(text_, i + 1) != quote) return emit(kind, begin, i + 1);
      i += 2;
    } else {
      i += text_[i] == '\\' ? 2 : 1;
    }
  }
  return emit(TokenKind::Error, begin, text_.size());
}

Token Lexer::word(std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text_.size() && isIdentifierPart(text_[end])) {
    if (text_[end] == '$' && options_.placeholders && at(text_, end + 1) == '{') break;
    ++end;
  }
  const char quote = at(text_, end);
  if (end - begin == 1 && (quote == '\'' || quote == '&')) {
    switch (lowered(text_[begin])) {
      case 'e': if (quote == '\'') return quoted(TokenKind::EscapeString, begin, end, true); break;
      case 'n': if (quote == '\'') return quoted(TokenKind::String, begin, end, false); break;
      case 'b':
      case 'x': if (quote == '\'') return quoted(TokenKind::BitString, begin, end, false); break;
      case 'u':
        if (quote != '&') break;
        if (at(text_, end + 1) == '\'') return quoted(TokenKind::EscapeString, begin, end + 1, false);
        if (at(text_, end + 1) == '"') return quoted(TokenKind::QuotedWord, begin, end + 1, false);
        break;
      default: break;
    }
  }
  const bool is_template = text_[begin] == '_' && end - begin > 4 && text_[begin + 1] == '_' && text_[end - 1] == '_' &&
                           text_[end - 2] == '_' && options_.placeholders;
  return emit(is_template ? TokenKind::Placeholder : TokenKind::Word, begin, end);
}

// An operator by PostgreSQL's rules: the longest run of operator bytes, cut before a comment; a trailing + or - belongs to it only
// if one of ~ ! @ # ^ & | ` ? % is in it.
Token Lexer::operatorAt(std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text_.size() && classOf(text_[end]) == kOperator) {
    const char c = text_[end], next = at(text_, end + 1);
    if ((c == '-' && next == '-') || (c == '/' && next == '*')) break;
    if (options_.placeholders && (c == '?' || c == '@' || c == '%')) {
      const std::string_view before = text_.substr(begin, end - begin);
      const bool pg_operator = before == "<" && c != '?';  // <@ and <% exist
      const bool name_follows = c == '?' ? classOf(next) != kOperator : c == '@' ? isIdentifierStart(next) : percentEnd(text_, end) > 0;
      if (!pg_operator && name_follows && std::ranges::find(kPlainOperators, before) != std::end(kPlainOperators)) break;
    }
    ++end;
  }
  std::string_view op = text_.substr(begin, end - begin);
  if (op.size() > 1 && (op.back() == '+' || op.back() == '-')) {
    while (op.size() > 1 && (op.back() == '+' || op.back() == '-') && !hasSpecialOperatorByte(op.substr(0, op.size() - 1))) {
      op.remove_suffix(1);
    }
  }
  return emit(TokenKind::Operator, begin, begin + op.size());
}

Token Lexer::symbol(std::size_t i) {
  const char c = text_[i], next = at(text_, i + 1);
  switch (c) {
    case '\'': {
      // A literal that goes on over a line end keeps the kind of its first part.
      const bool goes_on = previous_.kind == TokenKind::EscapeString && newline_before_ && lowered(text_[previous_.begin]) == 'e';
      return quoted(goes_on ? TokenKind::EscapeString : TokenKind::String, i, i, goes_on);
    }
    case '"': return quoted(TokenKind::QuotedWord, i, i, false);
    case '$': {
      if (isDigit(next)) {
        std::size_t end = i + 1;
        while (isDigit(at(text_, end))) ++end;
        return emit(TokenKind::Param, i, end);
      }
      const std::size_t tag_end = isIdentifierStart(next) ? nameEnd(text_, i + 1) : i + 1;
      if (at(text_, tag_end) == '$') {
        const std::string_view tag = text_.substr(i, tag_end + 1 - i);
        const std::size_t close = text_.find(tag, tag_end + 1);
        if (close == std::string_view::npos) return emit(TokenKind::Error, i, text_.size());
        return emit(TokenKind::DollarString, i, close + tag.size());
      }
      break;
    }
    case ':':
      if (next == ':' || next == '=') return emit(TokenKind::Operator, i, i + 2);
      break;
    case '.':
      if (next == '.') return emit(TokenKind::Operator, i, i + 2);
      if (isDigit(next)) return emit(TokenKind::Number, i, numberEnd(text_, i));
      break;
    case '\\':
      if (!options_.psql) break;
      if (next == ';' || next == '\\') return emit(TokenKind::MetaCommand, i, i + 2);
      if (next == ':') return emit(TokenKind::Punctuation, i, i + 2);
      return emit(TokenKind::MetaCommand, i, metaCommandEnd(text_, i));
    default: break;
  }
  if (options_.placeholders && (c == ':' || c == '$' || c == '{')) {
    if (const std::size_t end = placeholderEnd(i)) return emit(TokenKind::Placeholder, i, end);
  }
  return emit(TokenKind::Punctuation, i, i + 1);
}

Token Lexer::next() {
  std::size_t i = pos_;
  for (;;) {
    i = skipSpace(i);
    if (i >= text_.size()) return emit(TokenKind::End, text_.size(), text_.size());
    const char c = text_[i];
    switch (classOf(c)) {
      case kIdentifier: return word(i);
      case kDigit: return emit(TokenKind::Number, i, numberEnd(text_, i));
      case kSingle: {
        const char next = at(text_, i + 1);
        if (c != ':' && (c != '.' || (next != '.' && !isDigit(next)))) return emit(TokenKind::Punctuation, i, i + 1);
        return symbol(i);
      }
      case kOperator: {
        const char next = at(text_, i + 1);
        if ((c == '-' && next == '-') || (c == '/' && next == '*')) {
          const std::size_t end = c == '-' ? lineEnd(text_, i) : blockCommentEnd(text_, i);
          if (end == std::string_view::npos) return emit(TokenKind::Error, i, text_.size());
          if (options_.keep_comments) return emit(TokenKind::Comment, i, end);
          i = end;
          continue;
        }
        if (options_.placeholders && (c == '?' || c == '%' || c == '@')) {
          if (const std::size_t end = placeholderEnd(i)) return emit(TokenKind::Placeholder, i, end);
        }
        return operatorAt(i);
      }
      default: break;
    }
    if (c == '{' && options_.placeholders && (at(text_, i + 1) == '%' || at(text_, i + 1) == '#')) {
      // Blocks and comments of template languages: {% if x %}, {# why #}.
      const char close[] = {text_[i + 1], '}', '\0'};
      if (const std::size_t end = templateEnd(text_, i + 2, close)) {
        i = end;
        continue;
      }
    }
    return symbol(i);
  }
}

bool isKeyword(std::string_view word, std::string_view lower_keyword) {
  return word.size() == lower_keyword.size() &&
         std::ranges::equal(word, lower_keyword, [](char a, char b) { return lowered(a) == b; });
}

std::string foldIdentifier(std::string_view written) {
  if (!written.empty() && written.back() == '"' && written.size() > 1) {
    const std::size_t quote = written.find('"');
    if (quote == 0 || quote == 2) return decodeString(written, 0).text();
  }
  std::string folded(written);
  std::ranges::transform(folded, folded.begin(), [](char c) { return lowered(c); });
  return folded;
}

}  // namespace pglocklint::sql

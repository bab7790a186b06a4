// Placeholders of drivers, psql and templates are no SQL. Before a statement goes to the grammar, each is replaced by something of
// the same length that parses where it stands: an expression where a value is expected, an identifier where a name is. Equal length
// keeps every position; the list of what was replaced lets the lowering see a parameter where the grammar saw `$1`.
#include <algorithm>

#include "sql/script.h"

namespace pglocklint::sql {
namespace {

// Words before which stands an operator or nothing, after which a value is expected. Everything else before a placeholder wants a name.
constexpr std::string_view kBeforeValue[] = {
    "all",   "and",   "any",    "array",  "between", "by",     "case",   "default", "distinct",  "else",   "elsif",     "end",
    "escape", "execute", "fetch", "having", "if",      "ilike",  "in",     "is",      "like",      "limit",  "not",       "offset",
    "on",    "or",    "perform", "return", "returning", "select", "similar", "some",   "symmetric", "then",   "using",     "values",
    "variadic", "when", "where", "while",  "zone"};

// Functions whose arguments are separated by FROM.
constexpr std::string_view kFromFunctions[] = {"extract", "overlay", "position", "substring", "trim", "both", "leading", "trailing"};

template <std::size_t N>
bool isAnyKeyword(std::string_view word, const std::string_view (&list)[N]) {
  return std::ranges::any_of(list, [word](std::string_view k) { return isKeyword(word, k); });
}

// The decimal spelling of a written integer (0x…, 0o…, 0b…, underscores); empty if it needs more than 64 bits.
std::string decimal(std::string_view written) {
  std::string digits;
  std::ranges::copy_if(written, std::back_inserter(digits), [](char c) { return c != '_'; });
  unsigned radix = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char r = static_cast<char>(digits[1] | 0x20);
    radix = r == 'x' ? 16 : r == 'o' ? 8 : r == 'b' ? 2 : 10;
  }
  if (radix == 10) return digits;
  std::uint64_t value = 0;
  for (const char c : std::string_view(digits).substr(2)) {
    const unsigned digit = c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>((c | 0x20) - 'a' + 10);
    if (value > (UINT64_MAX - digit) / radix) return {};
    value = value * radix + digit;
  }
  return std::to_string(value);
}

bool isNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

class Rewriter {
 public:
  Rewriter(std::string_view statement, bool rewrite_numbers, std::vector<RewrittenPlaceholder>& list)
      : text_(statement), out_(statement), rewrite_numbers_(rewrite_numbers), list_(list) {
    std::ranges::replace(out_, '\0', ' ');
    Lexer lexer(text_, {.psql = true, .placeholders = true, .keep_comments = true});
    std::uint32_t last_end = 0;
    for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
      blankGap(last_end, t.begin);
      last_end = t.end;
      if (t.kind != TokenKind::Comment) tokens_.push_back(t);
    }
    blankGap(last_end, static_cast<std::uint32_t>(text_.size()));
  }

  std::string rewrite() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      switch (tokens_[i].kind) {
        case TokenKind::Placeholder: placeholder(i); break;
        case TokenKind::MetaCommand: blankGap(tokens_[i].begin, tokens_[i].end); break;
        case TokenKind::Number:
          if (rewrite_numbers_) number(tokens_[i]);
          break;
        case TokenKind::String:
        case TokenKind::EscapeString: inString(tokens_[i]); break;
        default: break;
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view written(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }
  bool isWord(std::size_t i, std::string_view lower) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::Word && isKeyword(written(tokens_[i]), lower);
  }
  bool is(std::size_t i, std::string_view symbol) const { return i < tokens_.size() && written(tokens_[i]) == symbol; }

  // Between tokens stand only space and template blocks ({% if %}): both are blanks to the grammar.
  void blankGap(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) {
      if (out_[i] != '\n' && out_[i] != '\r') out_[i] = ' ';
    }
  }

  void remember(const Token& t) { list_.push_back({t.begin, t.end, std::string(written(t))}); }

  void fill(const Token& t, std::string_view replacement) {
    blankGap(t.begin, t.end);
    std::ranges::copy(replacement, out_.begin() + t.begin);
  }

  void placeholder(std::size_t i) {
    const Token& t = tokens_[i];
    remember(t);
    const std::uint32_t size = t.end - t.begin;
    const bool literal = size > 3 && text_[t.begin] == ':' && text_[t.begin + 1] == '\'';
    if (isName(i)) return literal ? asLiteral(t) : asIdentifier(t, isGluedToWordBefore(i));
    fill(t, size == 1 ? "q" : "$1");
  }

  void asIdentifier(const Token& t, bool goes_on) {
    for (std::uint32_t i = t.begin; i < t.end; ++i) {
      if (!isNameByte(text_[i])) out_[i] = '_';
    }
    if (!goes_on && out_[t.begin] >= '0' && out_[t.begin] <= '9') out_[t.begin] = '_';
  }

  // :'x' → 'x ' : a literal where the grammar takes nothing else.
  void asLiteral(const Token& t) {
    blankGap(t.begin, t.end);
    out_[t.begin] = out_[t.end - 1] = '\'';
    std::ranges::copy(text_.substr(t.begin + 2, t.end - t.begin - 3), out_.begin() + t.begin + 1);
  }

  bool glued(std::size_t left, std::size_t right) const {
    return left < right && right < tokens_.size() && tokens_[left].end == tokens_[right].begin;
  }
  static bool isWordLike(TokenKind kind) { return kind == TokenKind::Word || kind == TokenKind::Placeholder || kind == TokenKind::Number; }
  bool isGluedToWordBefore(std::size_t i) const { return i > 0 && glued(i - 1, i) && isWordLike(tokens_[i - 1].kind); }

  // Whether a name, not a value, is expected at token i.
  bool isName(std::size_t i) const {
    if (text_.substr(tokens_[i].begin, 2) == ":\"" || isGluedToWordBefore(i)) return true;
    if (glued(i, i + 1) && isWordLike(tokens_[i + 1].kind)) return true;
    if (is(i + 1, ".") || is(i + 1, "(")) return true;
    if (i == 0) return true;
    const Token& before = tokens_[i - 1];
    if (before.kind == TokenKind::Punctuation) return written(before) == "." || written(before) == ")" || written(before) == "]";
    if (before.kind == TokenKind::Operator) return written(before) == "::";
    if (before.kind != TokenKind::Word) return false;
    const std::string_view word = written(before);
    if (isKeyword(word, "from")) return !isFromOfExpression(i - 1);
    if (isKeyword(word, "on")) return isWord(0, "create") || isWord(0, "comment") || isWord(0, "grant") || isWord(0, "revoke");
    if (isKeyword(word, "default") || isKeyword(word, "is")) return isWord(0, "comment");
    if (isKeyword(word, "execute")) return i == 1;
    if (isKeyword(word, "in") || isKeyword(word, "using")) return isWord(0, "create") && isWord(1, "index");
    return !isAnyKeyword(word, kBeforeValue);
  }

  // IS [NOT] DISTINCT FROM, extract(… FROM …), trim(both FROM …): the FROM at token i separates values.
  bool isFromOfExpression(std::size_t i) const {
    if (i > 0 && isWord(i - 1, "distinct") && i > 1 && (isWord(i - 2, "is") || isWord(i - 2, "not"))) return true;
    constexpr std::size_t kFarthest = 64;  // tokens between the function's parenthesis and its FROM
    int depth = 0;
    for (std::size_t k = i; k-- > 0 && i - k < kFarthest;) {
      if (is(k, ")")) ++depth;
      if (is(k, "(") && depth-- == 0) return k > 0 && isAnyKeyword(written(tokens_[k - 1]), kFromFunctions);
      if (depth == 0 && isWord(k, "select")) return false;
    }
    return false;
  }

  void number(const Token& t) {
    const std::string_view w = written(t);
    const bool radix = w.size() > 1 && w[0] == '0' && std::string_view("xXoObB").find(w[1]) != std::string_view::npos;
    if (!radix && w.find('_') == std::string_view::npos) return;
    const std::string value = decimal(w);
    if (!value.empty() && value.size() <= w.size()) return fill(t, value);
    remember(t);  // 0x7FFFFFFFFFFFFFFF: the decimal form is one digit longer
    fill(t, "$1");
  }

  // Templates inside a literal change its value, not the grammar: they are listed, so that nobody takes the text for a constant.
  void inString(const Token& t) {
    const std::string_view w = written(t);
    for (std::size_t i = w.find_first_of("${%"); i != std::string_view::npos && i + 2 < w.size(); i = w.find_first_of("${%", i + 1)) {
      const bool dollar = w.substr(i, 2) == "${", braces = w.substr(i, 2) == "{{", percent = w.substr(i, 2) == "%(";
      if (!dollar && !braces && !percent) continue;
      const std::string_view close = dollar ? "}" : braces ? "}}" : ")s";
      const std::size_t end = w.find(close, i + 2);
      if (end == std::string_view::npos || end == i + 2) continue;
      if (!std::ranges::all_of(w.substr(i + 2, end - i - 2), [](char c) { return isNameByte(c) || c == ' ' || c == '.'; })) continue;
      const auto begin = t.begin + static_cast<std::uint32_t>(i);
      const auto past = t.begin + static_cast<std::uint32_t>(end + close.size());
      list_.push_back({begin, past, std::string(text_.substr(begin, past - begin))});
      i = end;
    }
  }

  std::string_view text_;
  std::string out_;
  bool rewrite_numbers_;
  std::vector<RewrittenPlaceholder>& list_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string rewritePlaceholders(std::string_view statement, bool rewrite_numbers, std::vector<RewrittenPlaceholder>& placeholders) {
  return Rewriter(statement, rewrite_numbers, placeholders).rewrite();
}

}  // namespace pglocklint::sql

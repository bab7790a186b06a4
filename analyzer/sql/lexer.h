// PostgreSQL's lexical structure (manual 4.1), without a parser: tokens with byte offsets. Never fails: what cannot be lexed becomes
// an Error token and lexing goes on.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pglocklint::sql {

enum class TokenKind : std::uint8_t {
  End,
  Word,          // identifier or keyword, not quoted
  QuotedWord,    // "identifier", also U&"…"
  String,        // '…' (also N'…')
  EscapeString,  // E'…', U&'…'
  BitString,     // B'…', X'…'
  DollarString,  // $tag$…$tag$
  Number,        // 1, 1.5, 1e3, 0xCAFE, 1_000
  Param,         // $1
  Operator,      // operator characters; also := => :: .. (each one token)
  Punctuation,   // ( ) [ ] , ; . :
  Placeholder,   // :name :'name' :"name" ${name} {{ name }} %s %(name)s ? @name, where the scanner asked for them
  MetaCommand,   // psql: \command with its arguments, to the end of the line (only with Dialect::psql)
  Comment,       // only with keep_comments
  Error,         // unterminated quote or comment: reaches to the end of the text
};

struct Token {
  TokenKind kind = TokenKind::End;
  bool line_start = false;   // first token on its line
  std::uint32_t begin = 0;   // bytes from the start of the text
  std::uint32_t end = 0;
};

struct LexOptions {
  bool psql = true;             // backslash commands
  bool placeholders = true;     // recognise template and driver placeholders
  bool keep_comments = false;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text, LexOptions options = {}, std::uint32_t start = 0);
  Token next();
  std::string_view text(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }

 private:
  std::string_view text_;
  LexOptions options_;
  std::uint32_t pos_ = 0;
  bool line_start_ = true;
};

// Case-insensitive comparison of a Word token with a lower-case ASCII keyword.
bool isKeyword(std::string_view word, std::string_view lower_keyword);
// Folds an identifier as PostgreSQL does: lower case (ASCII) unless quoted; quotes removed and "" undone.
std::string foldIdentifier(std::string_view written);

}  // namespace pglocklint::sql

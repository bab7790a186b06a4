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
  void seek(std::uint32_t offset);  // goes on at `offset`, as if at the start of a statement
  std::string_view text(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }

 private:
  Token emit(TokenKind kind, std::size_t begin, std::size_t end);
  Token word(std::size_t begin);
  Token symbol(std::size_t begin);
  Token operatorAt(std::size_t begin);
  Token quoted(TokenKind kind, std::size_t begin, std::size_t open_quote, bool backslash);
  std::size_t skipSpace(std::size_t at);
  std::size_t placeholderEnd(std::size_t at) const;
  bool colonIsSlice(std::size_t at) const;
  bool operandExpected() const;

  std::string_view text_;
  LexOptions options_;
  std::uint32_t pos_ = 0;
  bool line_start_ = true;
  bool newline_before_ = true;       // a line end stands between the previous token and this one
  Token previous_;                   // last token that was not a comment; kind End at the start
  std::uint32_t bracket_depth_ = 0;  // open '[': there `:` separates the bounds of a slice
  bool subscript_ = false;           // previous_ is a '[' that follows an operand
};

// Case-insensitive comparison of a Word token with a lower-case ASCII keyword.
bool isKeyword(std::string_view word, std::string_view lower_keyword);
// Folds an identifier as PostgreSQL does: lower case (ASCII) unless quoted; quotes removed and "" undone.
std::string foldIdentifier(std::string_view written);

}  // namespace pglocklint::sql

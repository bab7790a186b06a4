// The tokens of a piece of SQL or PL/pgSQL by number: what the parsers of bodies walk over.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sql/lexer.h"
#include "sql/mapped_text.h"

namespace pglocklint::sql {

// Tokens [first, last) of a BodyTokens.
struct TokenSpan {
  std::size_t first = 0, last = 0;
  bool empty() const { return first >= last; }
  auto operator<=>(const TokenSpan&) const = default;
};

class BodyTokens {
 public:
  BodyTokens(const MappedText& text, const LineIndex& lines);

  std::size_t count() const { return tokens_.size(); }
  TokenSpan all() const { return {0, count()}; }
  TokenKind kind(std::size_t i) const { return i < tokens_.size() ? tokens_[i].kind : TokenKind::End; }
  std::string_view text(std::size_t i) const;
  bool word(std::size_t i, std::string_view lower_keyword) const;
  bool punctuation(std::size_t i, char c) const;
  bool oper(std::size_t i, std::string_view written) const;
  bool name(std::size_t i) const;    // an identifier, quoted or not
  bool string(std::size_t i) const;  // any string literal
  std::string folded(std::size_t i) const { return foldIdentifier(text(i)); }
  std::string upper(std::size_t i) const;

  // The bracket that closes the one at i before the next semicolon; count() if none does.
  std::size_t closing(std::size_t i) const { return i < closing_.size() ? closing_[i] : count(); }
  // The first token from i, at bracket depth 0, that `stops` accepts or that is a ';' at any depth; `last` if none.
  template <class Stops>
  std::size_t find(std::size_t i, std::size_t last, Stops stops) const;
  std::size_t findWord(std::size_t i, std::size_t last, std::string_view lower_keyword) const;
  std::size_t findOperator(std::size_t i, std::size_t last, std::string_view written) const;
  std::vector<TokenSpan> splitAtCommas(TokenSpan span) const;
  std::vector<TokenSpan> splitAtOperator(TokenSpan span, std::string_view written) const;

  MappedText slice(TokenSpan span) const;
  SourceRange range(TokenSpan span) const;
  MappedText decodedString(std::size_t i) const;
  bool mentionsLock(TokenSpan span) const;                // a lock function is named, outside of strings and comments
  bool mentionsLockInStrings(TokenSpan span) const;       // … or inside of a string
  const LineIndex& lines() const { return *lines_; }

 private:
  template <class Separates>
  std::vector<TokenSpan> split(TokenSpan span, Separates separates) const;

  const MappedText* text_;
  const LineIndex* lines_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> closing_;  // by token
};

template <class Stops>
std::size_t BodyTokens::find(std::size_t i, std::size_t last, Stops stops) const {
  for (int depth = 0; i < last; ++i) {
    if (punctuation(i, ';')) return i;
    if (depth == 0 && stops(i)) return i;
    if (punctuation(i, '(') || punctuation(i, '[')) ++depth;
    if ((punctuation(i, ')') || punctuation(i, ']')) && depth > 0) --depth;
  }
  return last;
}

// The text with the tags of template languages ({% if x %}) as spaces: what stands between them is read, all branches of it.
MappedText withoutTemplateTags(const MappedText& text);

// `piece` at the end of `to`, each byte still mapped to its place in the file.
void appendMapped(MappedText& to, const MappedText& piece);

// The statements of a text: cut at each ';' outside of brackets and of BEGIN ATOMIC … END. Empty ones are left out.
std::vector<MappedText> splitStatements(const MappedText& text);
// The same as token spans.
std::vector<TokenSpan> statementSpans(const BodyTokens& tokens);

// The token that ends the SQL statement starting at `first`: its ';', or count().
std::size_t endOfSqlStatement(const BodyTokens& tokens, std::size_t first);

// The range of a whole mapped text in the file.
SourceRange rangeOf(const MappedText& text, const LineIndex& lines);

}  // namespace pglocklint::sql

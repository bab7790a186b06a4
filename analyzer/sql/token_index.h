// The tokens of one statement with their bracket structure. libpg_query tells where a node starts and never where it ends; all
// ends, and the places of clauses, are found here.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "sql/lexer.h"

namespace pglocklint::sql {

// A run of tokens, both ends included; a default span is "no place".
struct Span {
  std::int32_t first = -1, last = -1;
  bool known() const { return first >= 0 && last >= first; }
};

class TokenIndex {
 public:
  // Lexes at most `limit` tokens.
  explicit TokenIndex(std::string_view text, std::size_t limit);

  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
  const Token& operator[](std::int32_t i) const { return tokens_[static_cast<std::size_t>(i)]; }
  std::string_view text(std::int32_t i) const;  // "" outside
  bool overLimit() const { return over_limit_; }
  // The longest run of operators, joins or set operations that PostgreSQL nests one level per link.
  std::uint32_t longestChain() const;

  std::int32_t at(std::int64_t offset) const;  // the token that starts at (or holds) a byte offset; -1 if there is none
  std::int32_t match(std::int32_t i) const;    // the other bracket of ( ) [ ]; -1 if i is no bracket or has no partner
  std::int32_t parent(std::int32_t i) const;   // the innermost bracket opened before and closed after i; -1 at the top
  bool isWord(std::int32_t i, std::string_view lower_keyword) const;
  bool isText(std::int32_t i, std::string_view text) const { return this->text(i) == text; }
  bool isName(std::int32_t i) const;  // Word or QuotedWord
  // A keyword that opens something: not a label after AS, not the field of a.b.
  bool isClauseWord(std::int32_t i, std::string_view lower_keyword) const;
  // The token after i on the same level: jumps over the brackets that open at i.
  std::int32_t skip(std::int32_t i) const;

  Span whole() const;                    // without a trailing semicolon
  Span inside(std::int32_t open) const;  // between a bracket and its partner; unknown when empty
  // The smallest span around both whose brackets are balanced.
  Span hull(Span a, Span b) const;

 private:
  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<std::int32_t> match_, parent_;
  bool over_limit_ = false;
};

}  // namespace pglocklint::sql

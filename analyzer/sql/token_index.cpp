#include "sql/token_index.h"

#include <algorithm>
#include <array>

namespace pglocklint::sql {
namespace {

// Three kinds of links nest to the left: operators end at a comma or a boolean operator, joins at a comma of FROM, set operations
// only at the end of the statement.
enum Link : std::size_t { kOperator, kJoin, kSetOperation, kLinks };

constexpr std::array<std::string_view, 3> kSetWords{"union", "intersect", "except"};
constexpr std::array<std::string_view, 12> kPostfixWords{"is",      "isnull", "notnull", "like",   "ilike", "similar",
                                                         "between", "in",     "collate", "escape", "at",    "not"};
constexpr std::array<std::string_view, 11> kBoundaryWords{"and",  "or",    "when",   "then", "else",  "select",
                                                          "from", "where", "having", "on",   "values"};

template <class Words>
bool oneOf(std::string_view word, const Words& words) {
  return std::ranges::any_of(words, [&](std::string_view w) { return isKeyword(word, w); });
}

}  // namespace

TokenIndex::TokenIndex(std::string_view text, std::size_t limit) : text_(text) {
  Lexer lexer(text, {.psql = false, .placeholders = false, .keep_comments = false});
  std::vector<std::int32_t> open;
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    if (tokens_.size() == limit) {
      over_limit_ = true;
      return;
    }
    const auto i = static_cast<std::int32_t>(tokens_.size());
    tokens_.push_back(t);
    match_.push_back(-1);
    const char c = t.kind == TokenKind::Punctuation ? text[t.begin] : ' ';
    if ((c == ')' || c == ']') && !open.empty()) {
      match_[static_cast<std::size_t>(open.back())] = i;
      match_.back() = open.back();
      open.pop_back();
    }
    parent_.push_back(open.empty() ? -1 : open.back());
    if (c == '(' || c == '[') open.push_back(i);
  }
}

std::uint32_t TokenIndex::longestChain() const {
  std::uint32_t longest = 0;
  std::vector<std::array<std::uint32_t, kLinks>> levels(1);
  for (std::int32_t i = 0; i < size(); ++i) {
    const std::string_view written = text(i);
    auto& here = levels.back();
    switch ((*this)[i].kind) {
      case TokenKind::Operator: ++here[kOperator]; break;
      case TokenKind::Punctuation:
        if (written == ";") here = {};
        if (written == ",") here[kOperator] = here[kJoin] = 0;
        if (written == "(" || written == "[") levels.emplace_back();
        if ((written == ")" || written == "]") && levels.size() > 1) levels.pop_back();
        break;
      case TokenKind::Word:
        if (oneOf(written, kSetWords))
          ++here[kSetOperation], here[kOperator] = here[kJoin] = 0;
        else if (isKeyword(written, "join"))
          ++here[kJoin], here[kOperator] = 0;
        else if (oneOf(written, kPostfixWords))
          ++here[kOperator];
        else if (oneOf(written, kBoundaryWords))
          here[kOperator] = 0;
        break;
      default: break;
    }
    for (const std::uint32_t links : levels.back()) longest = std::max(longest, links);
  }
  return longest;
}

std::string_view TokenIndex::text(std::int32_t i) const {
  if (i < 0 || i >= size()) return {};
  const Token& t = (*this)[i];
  return text_.substr(t.begin, t.end - t.begin);
}

std::int32_t TokenIndex::at(std::int64_t offset) const {
  if (offset < 0) return -1;
  const auto after = std::ranges::upper_bound(tokens_, offset, {}, [](const Token& t) { return std::int64_t{t.begin}; });
  if (after == tokens_.begin()) return -1;
  const auto found = after - 1;
  return offset < found->end ? static_cast<std::int32_t>(found - tokens_.begin()) : -1;
}

std::int32_t TokenIndex::match(std::int32_t i) const { return i < 0 || i >= size() ? -1 : match_[static_cast<std::size_t>(i)]; }

std::int32_t TokenIndex::parent(std::int32_t i) const { return i < 0 || i >= size() ? -1 : parent_[static_cast<std::size_t>(i)]; }

bool TokenIndex::isWord(std::int32_t i, std::string_view lower_keyword) const {
  return i >= 0 && i < size() && (*this)[i].kind == TokenKind::Word && isKeyword(text(i), lower_keyword);
}

bool TokenIndex::isName(std::int32_t i) const {
  return i >= 0 && i < size() && ((*this)[i].kind == TokenKind::Word || (*this)[i].kind == TokenKind::QuotedWord);
}

bool TokenIndex::isClauseWord(std::int32_t i, std::string_view lower_keyword) const {
  return isWord(i, lower_keyword) && !isText(i - 1, ".") && !isWord(i - 1, "as");
}

std::int32_t TokenIndex::skip(std::int32_t i) const {
  const std::int32_t other = match(i);
  return (other > i ? other : i) + 1;
}

Span TokenIndex::whole() const {
  Span s{0, size() - 1};
  while (s.known() && isText(s.last, ";")) --s.last;
  return s;
}

Span TokenIndex::inside(std::int32_t open) const {
  const std::int32_t close = match(open);
  return close > open + 1 ? Span{open + 1, close - 1} : Span{};
}

Span TokenIndex::hull(Span a, Span b) const {
  if (!a.known()) return b;
  if (!b.known()) return a;
  Span h{std::min(a.first, b.first), std::max(a.last, b.last)};
  // Climb out of brackets until both ends stand on one level. Brackets further right open later, so the larger parent is deeper.
  while (parent(h.first) != parent(h.last)) {
    if (parent(h.first) > parent(h.last)) {
      h.first = parent(h.first);
      h.last = std::max(h.last, match(h.first));
    } else {
      const std::int32_t close = match(parent(h.last));
      if (close < 0) break;
      h.last = close;
    }
  }
  return h;
}

}  // namespace pglocklint::sql

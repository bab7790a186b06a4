// Places: from a node's start to the tokens it covers, and from the tokens to the file.
#include <algorithm>
#include <array>

#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

bool isNumberPart(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::string_view Lowering::written(std::uint32_t begin, std::uint32_t end) const {
  begin = std::max(begin, text_.prefix) - text_.prefix, end = std::max(end, text_.prefix) - text_.prefix;
  const std::string_view all = text_.original.text();
  return begin < all.size() ? all.substr(begin, end - std::min(begin, end)) : std::string_view{};
}

SourceRange Lowering::bytes(std::uint32_t begin, std::uint32_t end) const {
  begin = std::max(begin, text_.prefix) - text_.prefix, end = std::max(end, text_.prefix) - text_.prefix;
  if (end <= begin) return text_.lines.range(text_.original.toFile(begin), text_.original.toFile(begin));
  return text_.lines.range(text_.original.toFile(begin), text_.original.toFile(end - 1) + 1);
}

SourceRange Lowering::range(Span span) const {
  if (!span.known()) return {};
  std::uint32_t begin = tokens_[span.first].begin, end = tokens_[span.last].end;
  if (const auto* p = placeholderAt(span.first)) begin = std::min(begin, p->begin);
  if (const auto* p = placeholderAt(span.last)) end = std::max(end, p->end);
  // 0xCAFE was parsed as 51966 and a blank.
  if (tokens_[span.last].kind == TokenKind::Number)
    while (end < text_.parsed.size() && text_.parsed[end] == ' ' && isNumberPart(written(end, end + 1).front())) ++end;
  return bytes(begin, end);
}

Span Lowering::token(int location) const {
  const std::int32_t i = tokens_.at(location);
  return {i, i};
}

Span Lowering::nameSpan(int location) const {
  Span s = token(location);
  if (!s.known()) return {};
  while (tokens_.isText(s.last + 1, ".") && (tokens_.isName(s.last + 2) || tokens_.isText(s.last + 2, "*"))) s.last += 2;
  return s;
}

Span Lowering::callSpan(int location) const {
  const Span name = nameSpan(location);
  if (!name.known() || !tokens_.isName(name.last) || !tokens_.isText(name.last + 1, "(")) return {};
  const std::int32_t close = tokens_.match(name.last + 1);
  return close < 0 ? Span{} : Span{name.first, close};
}

Span Lowering::afterCall(Span call) const {
  if (!call.known()) return call;
  const auto bracketed = [&](std::int32_t open) {
    if (!tokens_.isText(open, "(") || tokens_.match(open) < 0) return false;
    call.last = tokens_.match(open);
    return true;
  };
  if (tokens_.isWord(call.last + 1, "within") && tokens_.isWord(call.last + 2, "group")) bracketed(call.last + 3);
  if (tokens_.isWord(call.last + 1, "filter")) bracketed(call.last + 2);
  if (tokens_.isWord(call.last + 1, "over") && !bracketed(call.last + 2) && tokens_.isName(call.last + 2)) call.last += 2;
  return call;
}

Span Lowering::typeSpan(int location) const {
  Span s = token(location);
  if (!s.known()) return {};
  if (tokens_.isWord(s.last, "setof")) ++s.last;
  const std::int32_t name = s.last;
  const auto word = [&](std::initializer_list<std::string_view> options) {
    const bool here = std::ranges::any_of(options, [&](std::string_view w) { return tokens_.isWord(s.last + 1, w); });
    s.last += here;
    return here;
  };
  const auto modifiers = [&] {
    if (tokens_.isText(s.last + 1, "(") && tokens_.match(s.last + 1) > 0) s.last = tokens_.match(s.last + 1);
  };
  const auto is = [&](std::string_view w) { return tokens_.isWord(name, w); };
  while (tokens_.isText(s.last + 1, ".") && tokens_.isName(s.last + 2)) s.last += 2;
  if (is("national")) word({"character", "char"});
  if (is("double")) word({"precision"});
  if (is("bit") || is("character") || is("char") || is("nchar") || is("national")) word({"varying"});
  modifiers();
  if (is("time") || is("timestamp")) {
    if ((tokens_.isWord(s.last + 1, "with") || tokens_.isWord(s.last + 1, "without")) && tokens_.isWord(s.last + 2, "time"))
      s.last += 3;
  } else if (is("interval") && word({"year", "month", "day", "hour", "minute", "second"})) {
    if (word({"to"})) word({"month", "hour", "minute", "second"});
    modifiers();
  }
  if (tokens_.isText(s.last + 1, "%") && (tokens_.isWord(s.last + 2, "type") || tokens_.isWord(s.last + 2, "rowtype")))
    s.last += 2;
  word({"array"});
  while (tokens_.isText(s.last + 1, "[") && tokens_.match(s.last + 1) > 0) s.last = tokens_.match(s.last + 1);
  s.last = std::min(s.last, tokens_.size() - 1);
  return s;
}

Span Lowering::aliasSpan(Span item) const {
  if (!item.known()) return item;
  std::int32_t next = item.last + 1;
  if (tokens_.isWord(next, "as")) ++next;
  if (tokens_.isName(next)) item.last = next++;
  if (tokens_.isText(next, "(") && tokens_.match(next) > 0) item.last = tokens_.match(next);
  return item;
}

const RewrittenPlaceholder* Lowering::placeholderAt(std::int32_t i) const {
  if (text_.placeholders.empty() || i < 0 || i >= tokens_.size()) return nullptr;
  const Token& t = tokens_[i];
  const auto after = std::ranges::lower_bound(text_.placeholders, t.end, {}, &RewrittenPlaceholder::begin);
  if (after == text_.placeholders.begin()) return nullptr;
  const auto& found = *(after - 1);
  return found.end > t.begin ? &found : nullptr;
}

std::string Lowering::nameAt(std::int32_t i, std::string_view parsed_name) const {
  const auto* p = placeholderAt(i);
  if (!p) return std::string(parsed_name);
  const std::uint32_t begin = std::min(p->begin, tokens_[i].begin), end = std::max(p->end, tokens_[i].end);
  return std::string(written(begin, end));
}

Span Lowering::upTo(Span region, std::initializer_list<std::string_view> words) const {
  for (std::int32_t i = region.first; region.known() && i <= region.last; i = tokens_.skip(i))
    for (const std::string_view w : words)
      if (i > region.first && tokens_.isClauseWord(i, w)) return {region.first, i - 1};
  return region;
}

// ---- Levels of a SELECT ----

namespace {

const PgQuery__SelectStmt& leftmost(const PgQuery__SelectStmt& s) {
  const PgQuery__SelectStmt* leaf = &s;
  while (leaf->larg && leaf->op != PG_QUERY__SET_OPERATION__SETOP_NONE) leaf = leaf->larg;
  return *leaf;
}

}  // namespace

// The first target starts right after SELECT [ALL | DISTINCT [ON (…)]]; VALUES and TABLE stand before what they list.
std::int32_t Lowering::selectKeyword(const PgQuery__SelectStmt& s) const {
  if (s.n_target_list > 0) {
    const auto* first = s.target_list[0];
    std::int32_t t = -1;
    if (first->node_case == PG_QUERY__NODE__NODE_RES_TARGET && first->res_target->location >= 0)
      t = tokens_.at(first->res_target->location) - 1;
    if (tokens_.isText(t, ")") && tokens_.isWord(tokens_.match(t) - 1, "on")) t = tokens_.match(t) - 2;
    if (tokens_.isWord(t, "all") || tokens_.isWord(t, "distinct")) --t;
    if (tokens_.isWord(t, "select")) return t;
  }
  const int location = firstLocation(s.base);
  const std::int32_t anchor = tokens_.at(location);
  if (s.n_values_lists > 0) {
    for (std::int32_t t = anchor; t >= 0; t = tokens_.parent(t))
      if (tokens_.isWord(t - 1, "values")) return t - 1;
    return -1;
  }
  // No target list: look back from whatever stands there, out of brackets where needed.
  for (std::int32_t t = anchor; t >= 0; --t) {
    if (tokens_.match(t) >= 0 && tokens_.match(t) < t) t = tokens_.match(t);
    if (tokens_.isWord(t, "select") || tokens_.isWord(t, "table")) return t;
  }
  return -1;
}

std::int32_t Lowering::startToken(const PgQuery__SelectStmt& s) const {
  const PgQuery__SelectStmt* leaf = &s;
  while (true) {
    if (leaf->with_clause && leaf->with_clause->location >= 0) return tokens_.at(leaf->with_clause->location);
    if (!leaf->larg || leaf->op == PG_QUERY__SET_OPERATION__SETOP_NONE) return selectKeyword(*leaf);
    leaf = leaf->larg;
  }
}

Span Lowering::regionAround(const PgQuery__SelectStmt& s) const {
  const std::int32_t open = tokens_.parent(startToken(s));
  return open >= 0 ? tokens_.inside(open) : tokens_.whole();
}

Lowering::Levels Lowering::levelsOf(const PgQuery__SelectStmt& s, Span outer) const {
  Levels levels;
  levels.whole = outer;
  const std::int32_t start = startToken(s);
  const bool simple = s.op == PG_QUERY__SET_OPERATION__SETOP_NONE;
  levels.keyword = simple ? selectKeyword(s) : -1;
  if (start < 0 || !outer.known()) {
    levels.inner.push_back(outer);
    return levels;
  }
  // From the keyword out to the level of `outer`, one bracket pair at a time.
  const std::int32_t goal = tokens_.parent(outer.first);
  const std::int32_t leaf = simple ? levels.keyword : selectKeyword(leftmost(s));
  std::int32_t t = leaf >= 0 ? leaf : start;
  for (; tokens_.parent(t) != goal && tokens_.parent(t) >= 0; t = tokens_.parent(t))
    levels.inner.push_back(tokens_.inside(tokens_.parent(t)));
  std::int32_t begin = start;
  while (tokens_.parent(begin) != goal && tokens_.parent(begin) >= 0) begin = tokens_.parent(begin);
  levels.whole = {std::min(begin, t), outer.last};
  levels.inner.push_back(levels.whole);
  if (!simple) {  // the level of the set operation is the outermost one that shows its keyword
    const auto shows = [&](Span level) {
      for (std::int32_t i = level.first; level.known() && i <= level.last; i = tokens_.skip(i))
        if (tokens_.isClauseWord(i, "union") || tokens_.isClauseWord(i, "intersect") || tokens_.isClauseWord(i, "except"))
          return true;
      return false;
    };
    std::size_t skip = 0;
    while (skip + 1 < levels.inner.size() && !shows(levels.inner[levels.inner.size() - 1 - skip])) ++skip;
    levels.inner.erase(levels.inner.begin(), levels.inner.begin() + static_cast<std::ptrdiff_t>(levels.inner.size() - 1 - skip));
  }
  return levels;
}

std::vector<Lowering::Clause> Lowering::clausesAt(Span level) const {
  std::vector<Clause> clauses;
  const auto open = [&](std::int32_t i, ClauseKind kind) {
    if (!clauses.empty()) clauses.back().span.last = i - 1;
    clauses.push_back({kind, {i, level.last}});
  };
  for (std::int32_t i = level.first; level.known() && i <= level.last; i = tokens_.skip(i)) {
    if (tokens_[i].kind != TokenKind::Word) continue;
    if (tokens_.isClauseWord(i, "order") && tokens_.isWord(i + 1, "by")) open(i, ClauseKind::Order);
    if (tokens_.isClauseWord(i, "limit") || tokens_.isClauseWord(i, "fetch")) open(i, ClauseKind::Limit);
    if (tokens_.isClauseWord(i, "offset")) open(i, ClauseKind::Offset);
    if (tokens_.isClauseWord(i, "for") &&
        (tokens_.isWord(i + 1, "update") || tokens_.isWord(i + 1, "share") || tokens_.isWord(i + 1, "no") ||
         tokens_.isWord(i + 1, "key") || tokens_.isWord(i + 1, "read")))
      open(i, ClauseKind::Locking);
  }
  return clauses;
}

}  // namespace pglocklint::sql

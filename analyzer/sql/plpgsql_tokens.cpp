#include "sql/plpgsql_tokens.h"

#include <algorithm>

#include "model/ascii.h"
#include "model/lock_function.h"

namespace pglocklint::sql {

namespace {

char upperAscii(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }

bool containsLockName(std::string_view text) {
  const std::string lower = lowered(text);
  return std::ranges::any_of(kLockFunctions, [&](const LockFunction& f) { return lower.find(f.name) != std::string::npos; });
}

}  // namespace

BodyTokens::BodyTokens(const MappedText& text, const LineIndex& lines) : text_(&text), lines_(&lines) {
  Lexer lexer(text.text(), {.psql = false, .placeholders = false, .keep_comments = false});
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) tokens_.push_back(t);
  closing_.assign(tokens_.size(), tokens_.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (punctuation(i, ';')) open.clear();  // nothing that we look for in brackets spans statements
    if (punctuation(i, '(') || punctuation(i, '[')) open.push_back(i);
    if ((!punctuation(i, ')') && !punctuation(i, ']')) || open.empty()) continue;
    closing_[open.back()] = i;
    open.pop_back();
  }
}

std::string_view BodyTokens::text(std::size_t i) const {
  if (i >= tokens_.size()) return {};
  return std::string_view(text_->text()).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
}

bool BodyTokens::word(std::size_t i, std::string_view lower_keyword) const {
  return kind(i) == TokenKind::Word && isKeyword(text(i), lower_keyword);
}

bool BodyTokens::punctuation(std::size_t i, char c) const {
  return kind(i) == TokenKind::Punctuation && text(i).size() == 1 && text(i)[0] == c;
}

bool BodyTokens::oper(std::size_t i, std::string_view written) const {
  return kind(i) == TokenKind::Operator && text(i) == written;
}

bool BodyTokens::name(std::size_t i) const { return kind(i) == TokenKind::Word || kind(i) == TokenKind::QuotedWord; }

bool BodyTokens::string(std::size_t i) const {
  return kind(i) == TokenKind::String || kind(i) == TokenKind::EscapeString || kind(i) == TokenKind::DollarString;
}

std::string BodyTokens::upper(std::size_t i) const {
  std::string result(text(i));
  std::ranges::transform(result, result.begin(), upperAscii);
  return result;
}

std::size_t BodyTokens::findWord(std::size_t i, std::size_t last, std::string_view lower_keyword) const {
  return find(i, last, [&](std::size_t k) { return word(k, lower_keyword); });
}

std::size_t BodyTokens::findOperator(std::size_t i, std::size_t last, std::string_view written) const {
  return find(i, last, [&](std::size_t k) { return oper(k, written); });
}

template <class Separates>
std::vector<TokenSpan> BodyTokens::split(TokenSpan span, Separates separates) const {
  std::vector<TokenSpan> parts;
  for (std::size_t first = span.first; first <= span.last;) {
    const std::size_t end = find(first, span.last, separates);
    parts.push_back({first, end});
    if (end >= span.last || !separates(end)) break;
    first = end + 1;
  }
  return parts;
}

std::vector<TokenSpan> BodyTokens::splitAtCommas(TokenSpan span) const {
  if (span.empty()) return {};
  return split(span, [&](std::size_t i) { return punctuation(i, ','); });
}

std::vector<TokenSpan> BodyTokens::splitAtOperator(TokenSpan span, std::string_view written) const {
  return split(span, [&](std::size_t i) { return oper(i, written); });
}

MappedText BodyTokens::slice(TokenSpan span) const {
  if (span.empty() || span.last > count()) return {};
  const std::uint32_t begin = tokens_[span.first].begin;
  return text_->substr(begin, tokens_[span.last - 1].end - begin);
}

SourceRange BodyTokens::range(TokenSpan span) const {
  if (count() == 0) return lines_->range(text_->toFile(0), text_->toFile(0));
  const std::size_t first = std::min(span.first, count() - 1);
  const std::size_t last = span.last > first ? std::min(span.last, count()) - 1 : first;
  const std::uint32_t begin = text_->toFile(tokens_[first].begin);
  // The end is the place after the last byte: in a text of several pieces the byte after it may stand elsewhere.
  const std::uint32_t end = text_->toFile(std::max(tokens_[last].end, tokens_[last].begin + 1) - 1) + 1;
  return lines_->range(begin, std::max(begin, end));
}

MappedText BodyTokens::decodedString(std::size_t i) const {
  return decodeString(*text_, tokens_[i].begin, tokens_[i].end);
}

bool BodyTokens::mentionsLock(TokenSpan span) const {
  for (std::size_t i = span.first; i < std::min(span.last, count()); ++i)
    if (name(i) && text(i).size() < 64 && findLockFunction(folded(i))) return true;
  return false;
}

bool BodyTokens::mentionsLockInStrings(TokenSpan span) const {
  if (mentionsLock(span)) return true;
  for (std::size_t i = span.first; i < std::min(span.last, count()); ++i)
    if ((string(i) || kind(i) == TokenKind::Error) && containsLockName(text(i))) return true;
  return false;
}

MappedText withoutTemplateTags(const MappedText& text) {
  static constexpr std::string_view kTags[] = {"if",  "elif",  "else",     "endif", "for",    "endfor",  "set",
                                               "macro", "endmacro", "block", "endblock", "include", "import", "call", "endcall"};
  MappedText result = text;
  std::string& bytes = result.mutableText();
  for (std::size_t at = bytes.find("{%"); at != std::string::npos; at = bytes.find("{%", at + 2)) {
    std::size_t word = at + 2;
    while (word < bytes.size() && (bytes[word] == '-' || bytes[word] == '+' || bytes[word] == ' ')) ++word;
    std::size_t word_end = word;
    while (word_end < bytes.size() && bytes[word_end] >= 'a' && bytes[word_end] <= 'z') ++word_end;
    const bool tag = std::ranges::find(kTags, std::string_view(bytes).substr(word, word_end - word)) != std::end(kTags);
    const std::size_t end = tag ? bytes.find("%}", word_end) : std::string::npos;
    if (end == std::string::npos) continue;
    for (std::size_t i = at; i < end + 2; ++i)
      if (bytes[i] != '\n') bytes[i] = ' ';
  }
  return result;
}

void appendMapped(MappedText& to, const MappedText& piece) {
  const std::string& text = piece.text();
  for (std::uint32_t begin = 0, size = static_cast<std::uint32_t>(text.size()); begin < size;) {
    const std::uint32_t file = piece.toFile(begin);
    std::uint32_t end = begin + 1;
    while (end < size && piece.toFile(end) == file + (end - begin)) ++end;
    to.append(std::string_view(text).substr(begin, end - begin), file);
    begin = end;
  }
}

std::size_t endOfSqlStatement(const BodyTokens& t, std::size_t first) {
  const bool create = t.word(first, "create");
  // CREATE RULE … DO (a; b) is the one statement with semicolons in brackets, CREATE FUNCTION … BEGIN ATOMIC a; b; END the one
  // with semicolons between words. Elsewhere any ';' ends: a bracket left open must not swallow the rest.
  bool rule = false, routine = false;
  for (std::size_t i = first + 1; create && i < first + 4; ++i) {
    rule = rule || t.word(i, "rule");
    routine = routine || t.word(i, "function") || t.word(i, "procedure");
  }
  int depth = 0, begins = 0;
  for (std::size_t i = first; i < t.count(); ++i) {
    if (t.punctuation(i, ';') && (!rule || depth <= 0) && begins == 0) return i;
    if (t.punctuation(i, '(')) ++depth;
    if (t.punctuation(i, ')')) --depth;
    if (!routine) continue;
    if (t.word(i, "begin") && t.word(i + 1, "atomic")) ++begins;
    if (begins > 0 && t.word(i, "case")) ++begins;
    if (begins > 0 && t.word(i, "end")) --begins;
  }
  return t.count();
}

std::vector<TokenSpan> statementSpans(const BodyTokens& tokens) {
  std::vector<TokenSpan> spans;
  for (std::size_t first = 0; first < tokens.count();) {
    const std::size_t end = endOfSqlStatement(tokens, first);
    if (end > first) spans.push_back({first, end});
    first = end + 1;
  }
  return spans;
}

std::vector<MappedText> splitStatements(const MappedText& text) {
  const LineIndex no_lines("");
  const BodyTokens tokens(text, no_lines);
  std::vector<MappedText> statements;
  for (const TokenSpan& span : statementSpans(tokens)) statements.push_back(tokens.slice(span));
  return statements;
}

SourceRange rangeOf(const MappedText& text, const LineIndex& lines) {
  const auto size = static_cast<std::uint32_t>(text.text().size());
  const std::uint32_t begin = text.toFile(0);
  return lines.range(begin, size == 0 ? begin : std::max(begin, text.toFile(size - 1) + 1));
}

}  // namespace pglocklint::sql

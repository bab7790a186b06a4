// Positions: every text that is not the file itself (a function's body, a decoded literal) carries a map back to the file's bytes.
#include "sql/mapped_text.h"

#include <cstring>

namespace pglocklint::sql {
namespace {

constexpr std::size_t kBomSize = 3;

bool hasBom(std::string_view text) { return text.starts_with("\xEF\xBB\xBF"); }

// Appends a code point as UTF-8; surrogates and what lies beyond Unicode become U+FFFD.
void appendUtf8(std::string& out, std::uint32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

int digitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Up to `most` digits in `radix` at `i`: moves i past them and returns their value. `count` says how many there were.
std::uint32_t readDigits(std::string_view s, std::size_t& i, unsigned radix, std::size_t most, std::size_t& count) {
  std::uint32_t value = 0;
  for (count = 0; count < most && i < s.size() && digitValue(s[i]) < static_cast<int>(radix); ++count, ++i) {
    value = value * radix + static_cast<std::uint32_t>(digitValue(s[i]));
  }
  return value;
}

// One escape of E'…' (manual 4.1.2.2). `i` stands after the backslash; appends what it means and moves on.
void appendBackslashEscape(std::string_view s, std::size_t& i, std::string& out) {
  const char c = s[i];
  std::size_t count = 0;
  if (c >= '0' && c <= '7') {
    out += static_cast<char>(readDigits(s, i, 8, 3, count));
    return;
  }
  ++i;
  switch (c) {
    case 'b': out += '\b'; return;
    case 'f': out += '\f'; return;
    case 'n': out += '\n'; return;
    case 'r': out += '\r'; return;
    case 't': out += '\t'; return;
    case 'x': {
      const std::uint32_t value = readDigits(s, i, 16, 2, count);
      out += count ? static_cast<char>(value) : 'x';
      return;
    }
    case 'u':
    case 'U': {
      const std::size_t wanted = c == 'u' ? 4 : 8;
      const std::size_t start = i;
      const std::uint32_t value = readDigits(s, i, 16, wanted, count);
      if (count == wanted) {
        appendUtf8(out, value);
      } else {
        i = start;
        out += c;
      }
      return;
    }
    default: out += c;
  }
}

// One escape of U&'…': \XXXX or \+XXXXXX or \\. `i` stands after the backslash.
void appendUnicodeEscape(std::string_view s, std::size_t& i, std::string& out) {
  if (s[i] == '\\') {
    out += '\\';
    ++i;
    return;
  }
  const std::size_t start = i;
  const bool plus = s[i] == '+';
  i += plus;
  const std::size_t wanted = plus ? 6 : 4;
  std::size_t count = 0;
  const std::uint32_t value = readDigits(s, i, 16, wanted, count);
  if (count == wanted) {
    appendUtf8(out, value);
  } else {
    i = start;
    out += '\\';
  }
}

// Appends the contents of a quoted token between `i` and `end`: plain runs keep their place, every escape starts a new segment.
template <class Escape>
void appendDecoded(MappedText& out, std::string_view token, std::size_t i, std::size_t end, char quote, std::uint32_t file_begin,
                   Escape escape) {
  const std::string_view body = token.substr(0, end);
  std::size_t run = i;
  const auto flush = [&] {
    if (run < i) out.append(body.substr(run, i - run), file_begin + static_cast<std::uint32_t>(run));
  };
  while (i < end) {
    const bool doubled = body[i] == quote && i + 1 < end && body[i + 1] == quote;
    const bool escaped = escape && body[i] == '\\' && i + 1 < end;
    if (!doubled && !escaped) {
      ++i;
      continue;
    }
    flush();
    const auto here = file_begin + static_cast<std::uint32_t>(i);
    if (doubled) {
      out.append(body.substr(i, 1), here);
      i += 2;
    } else {
      std::string decoded;
      ++i;
      escape(body, i, decoded);
      out.append(decoded, here);
    }
    run = i;
  }
  flush();
}

using EscapeFunction = void (*)(std::string_view, std::size_t&, std::string&);

}  // namespace

LineIndex::LineIndex(std::string_view text, std::uint32_t file) : file_(file) {
  starts_.push_back(hasBom(text) ? kBomSize : 0);
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  for (const char* p = begin; p < end;) {
    const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    if (!newline) break;
    p = newline + 1;
    starts_.push_back(static_cast<std::uint32_t>(p - begin));
  }
  size_ = static_cast<std::uint32_t>(text.size());
}

std::pair<std::uint32_t, std::uint32_t> LineIndex::at(std::uint32_t offset) const {
  offset = std::clamp(offset, starts_.front(), std::max(size_, starts_.front()));
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto line = static_cast<std::uint32_t>(next - starts_.begin());
  return {line, offset - *(next - 1) + 1};
}

SourceRange LineIndex::range(std::uint32_t begin, std::uint32_t end) const {
  SourceRange r;
  r.file = file_;
  r.begin = begin;
  r.end = std::max(begin, end);
  std::tie(r.line, r.column) = at(r.begin);
  std::tie(r.end_line, r.end_column) = at(r.end);
  return r;
}

void MappedText::append(const MappedText& piece) {
  const auto offset = static_cast<std::uint32_t>(text_.size());
  if (piece.map_.empty()) addSegment(offset, 0);
  for (const auto& [text, file] : piece.map_) addSegment(offset + text, file);
  text_ += piece.text_;
}

std::uint32_t MappedText::toFile(std::uint32_t offset) const {
  if (map_.empty()) return offset;
  auto next = std::upper_bound(map_.begin(), map_.end(), offset, [](std::uint32_t o, const auto& entry) { return o < entry.first; });
  if (next == map_.begin()) return map_.front().second;
  --next;
  return next->second + (offset - next->first);
}

MappedText MappedText::substr(std::uint32_t begin, std::uint32_t length) const {
  MappedText part;
  begin = std::min<std::uint32_t>(begin, static_cast<std::uint32_t>(text_.size()));
  part.text_ = text_.substr(begin, length);
  part.map_.push_back({0, toFile(begin)});
  const auto end = begin + static_cast<std::uint32_t>(part.text_.size());
  const auto after = std::upper_bound(map_.begin(), map_.end(), begin,
                                      [](std::uint32_t o, const auto& entry) { return o < entry.first; });
  for (auto entry = after; entry != map_.end() && entry->first <= end; ++entry) {
    part.map_.push_back({entry->first - begin, entry->second});
  }
  return part;
}

MappedText decodeString(std::string_view token, std::uint32_t file_begin) {
  MappedText out;
  if (token.starts_with('$')) {
    const std::size_t tag = token.find('$', 1);
    if (tag == std::string_view::npos) return out;
    const std::size_t open = tag + 1;
    const std::string_view delimiter = token.substr(0, open);
    const bool closed = token.size() >= 2 * open && token.ends_with(delimiter);
    const std::size_t end = closed ? token.size() - open : token.size();
    return MappedText(std::string(token.substr(open, end - open)), file_begin + static_cast<std::uint32_t>(open));
  }
  const std::size_t open = token.find_first_of("'\"");
  if (open == std::string_view::npos || open > 2) return out;
  const char quote = token[open];
  const bool closed = token.size() > open + 1 && token.back() == quote;
  const std::size_t end = closed ? token.size() - 1 : token.size();
  const char prefix = open == 0 ? '\0' : static_cast<char>(token[0] | 0x20);
  const EscapeFunction escape = prefix == 'e' ? appendBackslashEscape : prefix == 'u' ? appendUnicodeEscape : nullptr;
  out = MappedText("", file_begin + static_cast<std::uint32_t>(open + 1));
  appendDecoded(out, token, open + 1, end, quote, file_begin, escape);
  return out;
}

MappedText decodeString(const MappedText& outer, std::uint32_t begin, std::uint32_t end) {
  end = std::min<std::uint32_t>(end, static_cast<std::uint32_t>(outer.text().size()));
  begin = std::min(begin, end);
  return decodeString(std::string_view(outer.text()).substr(begin, end - begin), begin).mappedThrough(outer);
}

MappedText MappedText::mappedThrough(const MappedText& outer) const {
  MappedText out;
  out.text_ = text_;
  for (std::size_t i = 0; i < map_.size(); ++i) {
    const auto [text_begin, outer_begin] = map_[i];
    const std::uint32_t text_end = i + 1 < map_.size() ? map_[i + 1].first : static_cast<std::uint32_t>(text_.size());
    out.map_.push_back({text_begin, outer.toFile(outer_begin)});
    // Segments of the outer text that begin inside this one.
    auto entry = std::upper_bound(outer.map_.begin(), outer.map_.end(), outer_begin,
                                  [](std::uint32_t o, const auto& e) { return o < e.first; });
    for (; entry != outer.map_.end() && entry->first < outer_begin + (text_end - text_begin); ++entry) {
      out.map_.push_back({text_begin + (entry->first - outer_begin), entry->second});
    }
  }
  return out;
}

}  // namespace pglocklint::sql

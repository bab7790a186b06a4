#include "report/source_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace pglocklint {
namespace {

constexpr std::uint32_t kTabWidth = 4;

// Characters that make a terminal show something else than is there.
bool misleading(std::int32_t c) {
  if (c < 0 || c < 0x20 || (c >= 0x7F && c < 0xA0)) return true;
  return (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || c == 0x061C;
}

void appendEscaped(std::int32_t c, std::string& out) {
  if (c < 0x100)
    out += fmt::format("\\x{:02x}", c < 0 ? -c : c);
  else
    out += fmt::format("\\u{{{:x}}}", c);
}

}  // namespace

SourceLines::SourceLines(std::string text) : text_(std::move(text)) {
  starts_.push_back(0);
  for (std::size_t at = 0; (at = text_.find('\n', at)) != std::string::npos;) starts_.push_back(++at);
}

std::string_view SourceLines::line(std::uint32_t number) const {
  if (number == 0 || number > starts_.size()) return {};
  const std::size_t begin = starts_[number - 1];
  std::size_t end = number < starts_.size() ? starts_[number] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::pair<std::uint32_t, std::uint32_t> SourceLines::at(std::uint32_t offset) const {
  if (starts_.empty()) return {1, 1};
  const std::size_t clamped = std::min<std::size_t>(offset, text_.size());
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), clamped);
  const auto line = static_cast<std::uint32_t>(next - starts_.begin());
  return {line, static_cast<std::uint32_t>(clamped - starts_[line - 1]) + 1};
}

const SourceLines& SourceCache::file(const std::string& name) {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second;
  return files_.emplace(name, reader_ ? SourceLines(reader_(name)) : SourceLines()).first->second;
}

std::int32_t nextCodePoint(std::string_view text, std::size_t& i) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(i);
  const auto invalid = [&] { return ++i, -static_cast<std::int32_t>(lead); };
  if (lead < 0x80) return ++i, lead;
  const std::size_t size = lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (size == 0 || i + size > text.size()) return invalid();
  std::int32_t c = lead & (0xFF >> (size + 1));
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return invalid();
    c = (c << 6) | (byte(i + k) & 0x3F);
  }
  constexpr std::int32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kLeast[size] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return invalid();
  i += size;
  return c;
}

std::uint32_t utf16Column(std::string_view line, std::uint32_t byte_column) {
  std::uint32_t column = 1;
  for (std::size_t i = 0; i < line.size() && i + 1 < byte_column;) column += nextCodePoint(line, i) >= 0x10000 ? 2 : 1;
  return column;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const std::int32_t c = nextCodePoint(text, i);
    if (c == '\n' || c == '\t' || c == '\r')
      out += ' ';
    else if (misleading(c))
      appendEscaped(c, out);
    else
      out.append(text, begin, i - begin);
  }
  return out;
}

DisplayLine displayLine(std::string_view line) {
  DisplayLine shown;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = i;
    const std::int32_t c = nextCodePoint(line, i);
    const std::uint32_t column = shown.columns;
    if (c == '\t') {
      const std::uint32_t spaces = kTabWidth - column % kTabWidth;
      shown.text.append(spaces, ' '), shown.columns += spaces;
    } else if (misleading(c)) {
      const std::size_t before = shown.text.size();
      appendEscaped(c, shown.text);
      shown.columns += static_cast<std::uint32_t>(shown.text.size() - before);
    } else {
      shown.text.append(line, begin, i - begin), ++shown.columns;
    }
    shown.column_of_byte.insert(shown.column_of_byte.end(), i - begin, column);
  }
  shown.column_of_byte.push_back(shown.columns);
  return shown;
}

std::size_t columnsOf(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace pglocklint

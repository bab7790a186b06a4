// Source lines as reports need them: the line's bytes, columns in other units, text that is safe to print.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"

namespace pglocklint {

// The text of a file as it was analyzed; empty when it cannot be had.
using SourceReader = std::function<std::string(const std::string& file)>;

// A file's text and where its lines begin. Lines end at '\n'; a '\r' before it is not part of the line.
class SourceLines {
 public:
  SourceLines() = default;
  explicit SourceLines(std::string text);
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  // The line's bytes; empty when there is no such line. From 1.
  std::string_view line(std::uint32_t number) const;
  // Line and column (bytes), both from 1, of a byte offset.
  std::pair<std::uint32_t, std::uint32_t> at(std::uint32_t offset) const;

 private:
  std::string text_;
  std::vector<std::size_t> starts_;
};

// Reads each file once.
class SourceCache {
 public:
  explicit SourceCache(SourceReader reader) : reader_(std::move(reader)) {}
  const SourceLines& file(const std::string& name);

 private:
  SourceReader reader_;
  std::map<std::string, SourceLines> files_;
};

// Decodes the code point at `i`, which moves behind it. A byte that begins none is returned as -byte and moves by one.
std::int32_t nextCodePoint(std::string_view text, std::size_t& i);

// UTF-16 column (from 1) of a byte column (from 1) of `line`; an invalid byte counts as one unit.
std::uint32_t utf16Column(std::string_view line, std::uint32_t byte_column);

// What a terminal must not be given raw: control characters, bytes that are not UTF-8, and marks that turn the direction of
// writing or cannot be seen. They come out as \x1b and \u{202e}. Line breaks and tabs become a space.
std::string printable(std::string_view text);

// One source line made ready for a terminal, with the display column (from 0) of each byte. Tabs become spaces.
struct DisplayLine {
  std::string text;
  std::vector<std::uint32_t> column_of_byte;  // size() + 1 entries
  std::uint32_t columns = 0;
};
DisplayLine displayLine(std::string_view line);

// Columns that a text takes: one a code point.
std::size_t columnsOf(std::string_view utf8);

}  // namespace pglocklint

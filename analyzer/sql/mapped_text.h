// Text together with where each of its bytes stands in the file: bodies of functions, strings that hold SQL, rewritten statements.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "model/source_range.h"

namespace pglocklint::sql {

// Byte offset → line and column.
class LineIndex {
 public:
  // `file`: which of the unit's files the text is, for ranges.
  explicit LineIndex(std::string_view text, std::uint32_t file = 0);
  // line and column (bytes) from 1 of a byte offset; offsets past the end count as the end.
  std::pair<std::uint32_t, std::uint32_t> at(std::uint32_t offset) const;
  SourceRange range(std::uint32_t begin, std::uint32_t end) const;

 private:
  std::vector<std::uint32_t> starts_;  // of each line; the first line starts after a byte order mark
  std::uint32_t size_ = 0, file_ = 0;
};

// A piece of SQL text. `map` has (text offset, file offset) pairs, sorted; between two entries both run in step.
class MappedText {
 public:
  MappedText() = default;
  // `text` stands in the file at `file_begin`, byte for byte.
  MappedText(std::string text, std::uint32_t file_begin) : text_(std::move(text)), map_{{0, file_begin}} {}
  const std::string& text() const { return text_; }
  std::string& mutableText() { return text_; }  // rewriting in place: keep the length
  void addSegment(std::uint32_t text_offset, std::uint32_t file_offset) { map_.push_back({text_offset, file_offset}); }
  void append(std::string_view piece, std::uint32_t file_offset) {
    addSegment(static_cast<std::uint32_t>(text_.size()), file_offset);
    text_ += piece;
  }
  void append(const MappedText& piece);  // with its own positions
  std::uint32_t toFile(std::uint32_t offset) const;
  // Part of this text, positions kept.
  MappedText substr(std::uint32_t begin, std::uint32_t length) const;
  // This text, whose map leads into `outer`, with a map that leads into outer's file.
  MappedText mappedThrough(const MappedText& outer) const;

 private:
  std::string text_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> map_;
};

// Decodes a quoted string token ('…' with '' , E'…' escapes, $tag$…$tag$) that stands at `file_begin` into its contents.
MappedText decodeString(std::string_view token, std::uint32_t file_begin);
// The same for a token of an already mapped text.
MappedText decodeString(const MappedText& outer, std::uint32_t begin, std::uint32_t end);

}  // namespace pglocklint::sql

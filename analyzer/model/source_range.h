// Where something stands in a source file.
#pragma once
#include <compare>
#include <cstdint>

namespace pglocklint {

// A half-open range of one file. Offsets are bytes from 0 (a UTF-8 BOM counts); lines and columns are
// from 1, columns in bytes, `end_column` exclusive. A default range (line 0) means "no place".
struct SourceRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_line = 0;
  std::uint32_t end_column = 0;
  std::uint32_t file = 0;  // index into Unit::files; 0 is the unit's own file

  bool known() const { return line != 0; }
  bool contains(const SourceRange& inner) const {
    return file == inner.file && begin <= inner.begin && inner.end <= end;
  }
  auto operator<=>(const SourceRange&) const = default;

  template <class Self, class V>
  static void describe(Self& s, V& v) {
    v("begin", s.begin), v("end", s.end), v("line", s.line), v("column", s.column);
    v("end_line", s.end_line), v("end_column", s.end_column), v("file", s.file);
  }
};

}  // namespace pglocklint

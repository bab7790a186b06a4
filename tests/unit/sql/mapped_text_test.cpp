// Where a byte of decoded or cut text stands in its file.
#include "sql/mapped_text.h"

#include <doctest/doctest.h>

using namespace pglocklint::sql;

TEST_CASE("lines and columns count from 1; CRLF is one line end") {
  const LineIndex lines("ab\r\nc\n\nd");
  CHECK(lines.at(0) == std::pair(1u, 1u));
  CHECK(lines.at(1) == std::pair(1u, 2u));
  CHECK(lines.at(4) == std::pair(2u, 1u));
  CHECK(lines.at(6) == std::pair(3u, 1u));
  CHECK(lines.at(7) == std::pair(4u, 1u));
  CHECK(lines.at(99) == std::pair(4u, 2u));
  CHECK(LineIndex("").at(5) == std::pair(1u, 1u));
  const auto range = lines.range(1, 5);
  CHECK(range.line == 1);
  CHECK(range.end_line == 2);
  CHECK(range.end_column == 2);
}

TEST_CASE("a byte order mark counts in offsets, not in columns") {
  const LineIndex lines("\xEF\xBB\xBFselect\nx");
  CHECK(lines.at(3) == std::pair(1u, 1u));
  CHECK(lines.at(0) == std::pair(1u, 1u));
  CHECK(lines.at(10) == std::pair(2u, 1u));
  CHECK(LineIndex("\xEF\xBB\xBF").at(0) == std::pair(1u, 1u));
}

TEST_CASE("string contents keep their places in the file") {
  const MappedText plain = decodeString("'it''s x'", 100);
  CHECK(plain.text() == "it's x");
  CHECK(plain.toFile(0) == 101);
  CHECK(plain.toFile(2) == 103);
  CHECK(plain.toFile(3) == 105);
  CHECK(plain.toFile(5) == 107);
  CHECK(plain.toFile(6) == 108);

  const MappedText escaped = decodeString("E'a\\n\\x41\\101\\u00e9b\\'c'", 10);
  CHECK(escaped.text() == "a\nAAéb'c");
  CHECK(escaped.toFile(1) == 13);
  CHECK(escaped.toFile(2) == 15);
  CHECK(escaped.toFile(6) == 29);

  CHECK(decodeString("U&'d\\0061t\\+000061\\\\'", 0).text() == "data\\");
  CHECK(decodeString("N'x'", 0).text() == "x");

  const MappedText dollar = decodeString("$f$ a $$ $f$", 7);
  CHECK(dollar.text() == " a $$ ");
  CHECK(dollar.toFile(1) == 11);
}

TEST_CASE("malformed tokens decode to something, without a crash") {
  CHECK(decodeString("", 0).text().empty());
  CHECK(decodeString("'", 0).text().empty());
  CHECK(decodeString("'open", 0).text() == "open");
  CHECK(decodeString("$f$ open", 0).text() == " open");
  CHECK(decodeString("$$", 0).text().empty());
  CHECK(decodeString("$", 0).text().empty());
  CHECK(decodeString("E'\\", 0).text() == "\\");
  CHECK(decodeString("E'\\uD800\\u12'", 0).text() == "\xEF\xBF\xBDu12");
  CHECK(decodeString("word", 0).text().empty());
}

TEST_CASE("a string inside a decoded string leads back to the file") {
  //                 0123456789012345678901
  const char* file = "'select ''it''''s'' x'";
  const MappedText outer = decodeString(file, 0);
  REQUIRE(outer.text() == "select 'it''s' x");
  const MappedText inner = decodeString(outer, 7, 14);
  CHECK(inner.text() == "it's");
  CHECK(inner.toFile(0) == 10);
  CHECK(inner.toFile(2) == 12);
  CHECK(inner.toFile(3) == 16);

  const MappedText part = outer.substr(8, 4);
  CHECK(part.text() == "it''");
  CHECK(part.toFile(0) == 10);
  CHECK(part.toFile(3) == 14);
}

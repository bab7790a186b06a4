// The script scanner: cuts a file into statements before libpg_query sees it.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"
#include "sql/lexer.h"

namespace pglocklint::sql {

// A string that many pieces share; the Script that holds the pieces keeps it. Reads like a const std::string.
class SharedText {
 public:
  SharedText() = default;
  explicit SharedText(const std::string* text) : text_(text) {}
  const std::string& str() const;
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return !text_ || text_->empty(); }
  bool starts_with(std::string_view prefix) const { return std::string_view(str()).starts_with(prefix); }
  friend bool operator==(const SharedText& a, std::string_view b) { return std::string_view(a.str()) == b; }
  friend bool operator==(const SharedText& a, const SharedText& b) { return a.str() == b.str(); }

 private:
  const std::string* text_ = nullptr;
};

enum class PieceKind : std::uint8_t {
  Statement,    // one SQL statement without its semicolon
  MetaCommand,  // one psql backslash command
  CopyData,     // the data lines after COPY … FROM stdin
};

// Small on purpose: a dump of 100 MB has a million of them.
struct Piece {
  PieceKind kind = PieceKind::Statement;
  bool has_placeholders = false;     // or something else that rewritePlaceholders() has to take out
  bool terminated = true;            // a ';' (or a \g-like meta-command) ended it
  bool down = false;                 // in the down section of a migration
  bool joined = false;               // ended by psql's \; : sent to the server together with the next statement
  std::uint32_t begin = 0, end = 0;  // bytes of the file; begins at the first token (no leading comments), ends before ';'
  SharedText head;                   // up to three leading keywords, upper case
  SharedText consumer;               // "gset", "gexec", "g", "watch", …: the meta-command that sent it
  SharedText named_query;            // sqlc/yesql "-- name: X": the query's name
};

struct Script {
  std::vector<Piece> pieces;
  List<Allow> allows;
  List<NotUnderstood> problems;  // unterminated quote, NUL byte, …
  std::shared_ptr<std::set<std::string, std::less<>>> texts;  // what the pieces' SharedTexts point to
};

// Cuts `text` (whole file, BOM allowed, CRLF allowed). Directives of migration tools in comments (goose, dbmate, sql-migrate, micrate,
// node-pg-migrate, tern) set Piece::down.
Script scanScript(std::string_view text);

// The statement's text with every placeholder (and, where the grammar needs it, hex or underscore integer) replaced by an
// expression or name of the same length that libpg_query parses; psql commands, template blocks and NUL bytes inside it become
// blanks. `placeholders` gets what stood where (offsets in the text):
// - operands become `$1` and blanks, those of one byte the column name `q`, psql's :'x' where only a literal can stand a literal;
// - names (`${schema}.t`, `TABLE :"t"`) become an identifier;
// - placeholders inside string literals stay, and are listed;
// - an integer whose decimal form is longer than its written one becomes a `$1` too, with `written` the number.
struct RewrittenPlaceholder {
  std::uint32_t begin = 0, end = 0;
  std::string written;
};
std::string rewritePlaceholders(std::string_view statement, bool rewrite_numbers, std::vector<RewrittenPlaceholder>& placeholders);

}  // namespace pglocklint::sql

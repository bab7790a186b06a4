// The script scanner: cuts a file into statements before libpg_query sees it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"
#include "sql/lexer.h"

namespace pglocklint::sql {

enum class PieceKind {
  Statement,    // one SQL statement without its semicolon
  MetaCommand,  // one psql backslash command
  CopyData,     // the data lines after COPY … FROM stdin
};

struct Piece {
  PieceKind kind = PieceKind::Statement;
  std::uint32_t begin = 0, end = 0;  // bytes of the file; begins at the first token (no leading comments), ends before ';'
  std::string head;                  // up to three leading keywords, upper case
  bool has_placeholders = false;
  bool terminated = true;            // a ';' (or a \g-like meta-command) ended it
  std::string consumer;              // "gset", "gexec", "g", "watch", …: the meta-command that sent it
  bool down = false;                 // in the down section of a migration
  std::string named_query;           // sqlc/yesql "-- name: X": the query's name
};

struct Script {
  std::vector<Piece> pieces;
  std::vector<Allow> allows;
  std::vector<NotUnderstood> problems;  // unterminated quote, NUL byte, …
};

// Cuts `text` (whole file, BOM allowed, CRLF allowed). Directives of migration tools in comments (goose, dbmate, sql-migrate,
// Liquibase rollback) set Piece::down.
Script scanScript(std::string_view text);

// The statement's text with every placeholder (and, where the grammar needs it, hex or underscore integer) replaced by an
// expression of the same length that libpg_query parses; `placeholders` gets what stood where (offsets in the text).
struct RewrittenPlaceholder {
  std::uint32_t begin = 0, end = 0;
  std::string written;
};
std::string rewritePlaceholders(std::string_view statement, bool rewrite_numbers, std::vector<RewrittenPlaceholder>& placeholders);

}  // namespace pglocklint::sql

// PL/pgSQL bodies → blocks of events. Our own parser of the block structure (libpg_query's gives lines only, and gives up on
// unknown variables); the SQL inside goes through parseStatement and parseExpression.
#pragma once
#include "model/unit.h"
#include "sql/mapped_text.h"

namespace pglocklint::sql {

// Fills blocks, variables and exception_scopes of `function` from its body. What is not understood becomes an entry in `problems`;
// the rest of the body is still read. Dynamic EXECUTE of known text is parsed as well (Statement::dynamic).
void parsePlpgsql(const MappedText& body, const LineIndex& lines, Function& function, List<NotUnderstood>& problems);

// A LANGUAGE sql body: its statements, in one block.
void parseSqlBody(const MappedText& body, const LineIndex& lines, Function& function, List<NotUnderstood>& problems);

// A body in any language; one that is not read is a problem if it mentions locks.
void parseBody(const MappedText& body, const std::string& language, const LineIndex& lines, Function& function, List<NotUnderstood>& problems);

}  // namespace pglocklint::sql

// LANGUAGE sql bodies: statements one after the other, as one block.
#include <string>
#include <utility>

#include "sql/front_end.h"
#include "sql/pg_parse.h"
#include "sql/plpgsql.h"
#include "sql/plpgsql_tokens.h"

namespace pglocklint::sql {

namespace {

// A definition inside of a body has no place in the unit's list of definitions: it stays a statement without effect.
Event asUtility(const BodyTokens& tokens, TokenSpan span, const LineIndex& lines, const MappedText& text) {
  Statement statement;
  statement.range = rangeOf(text, lines);
  statement.head = tokens.upper(span.first);
  if (tokens.kind(span.first + 1) == TokenKind::Word) statement.head += " " + tokens.upper(span.first + 1);
  return statement;
}

}  // namespace

void parseSqlBody(const MappedText& body, const LineIndex& lines, Function& function, List<NotUnderstood>& problems) {
  const MappedText plain = withoutTemplateTags(body);
  const BodyTokens tokens(plain, lines);
  function.blocks.assign(1, Block{});
  List<Event>& events = function.blocks[0].events;
  for (const TokenSpan& span : statementSpans(tokens)) {
    const MappedText text = tokens.slice(span);
    ParsedStatement parsed = parseStatement(text, lines);
    if (!parsed.error.empty()) problems.push_back({tokens.range(span), parsed.error, tokens.mentionsLock(span)});
    if ((!parsed.ddl.empty() || !parsed.bodies.empty()) && tokens.mentionsLockInStrings(span))
      problems.push_back({tokens.range(span), "a definition inside of a function body is not followed", true});
    for (Event& event : parsed.events)
      events.push_back(event.kind == EventKind::Ddl ? asUtility(tokens, span, lines, text) : std::move(event));
    if (parsed.events.empty() && !parsed.error.empty()) {
      Statement statement;
      statement.kind = StatementKind::NotUnderstood;
      statement.range = tokens.range(span);
      events.push_back(std::move(statement));
    }
  }
}

void parseBody(const MappedText& body, const std::string& language, const LineIndex& lines, Function& function, List<NotUnderstood>& problems) {
  if (language == "plpgsql") return parsePlpgsql(body, lines, function, problems);
  if (language == "sql") return parseSqlBody(body, lines, function, problems);
  function.body_understood = false;
  if (mentionsSeed(body.text()))
    problems.push_back({function.body_range.known() ? function.body_range : function.range, "a function body in LANGUAGE " + language + " is not read", false});
}

}  // namespace pglocklint::sql

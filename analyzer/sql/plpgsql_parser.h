// The recursive-descent parser behind parsePlpgsql (manual, chapter "PL/pgSQL"). It knows the block structure; SQL
// and expressions are cut out as text and go to the SQL parser. Like PostgreSQL's own scanner it finds the end of an
// expression by the next keyword (THEN, LOOP, …) or semicolon outside of brackets.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"
#include "sql/mapped_text.h"
#include "sql/plpgsql_flow.h"
#include "sql/plpgsql_reaching.h"
#include "sql/plpgsql_tokens.h"

namespace pglocklint::sql {

class PlpgsqlParser {
 public:
  PlpgsqlParser(const MappedText& body, const LineIndex& lines, Function& function, List<NotUnderstood>& problems);
  void parse();

 private:
  // A loop or a labelled block that EXIT can leave.
  struct Frame {
    std::string label;
    bool loop = false;
    std::int32_t head = -1;           // loop: target of CONTINUE
    std::vector<OpenEnd> exits;
    std::vector<EventPlace> queries;  // statements whose rows a FOR loop reads: left early?
  };
  struct IntoClause {
    bool found = false, strict = false;
    TokenSpan clause;
    std::vector<std::string> targets;
  };
  // EXECUTE expression [INTO targets] [USING arguments]
  struct ExecuteParts {
    TokenSpan text;
    IntoClause into;
    std::vector<TokenSpan> arguments;
  };
  // An EXECUTE whose text is looked up when all assignments of the body are known.
  struct PendingExecute {
    EventPlace place;
    ExecuteParts parts;
  };
  class Nesting;

  // --- structure (plpgsql.cpp)
  void statements();
  void statement();
  void block(const std::string& label);
  void handlers(std::int32_t scope, std::vector<OpenEnd>& ends);
  void ifStatement();
  void caseStatement();
  void loopStatement(const std::string& label);
  void whileStatement(const std::string& label);
  void forStatement(const std::string& label);
  void foreachStatement(const std::string& label);
  void exitStatement();
  void loopBody(OpenEnd into_body, std::vector<OpenEnd> exits);
  void pushLoop(const std::string& label);
  std::size_t loopWord();
  void forSource(TokenSpan source, std::vector<std::string> names, TokenSpan header);
  void integerRange(TokenSpan source, std::size_t dots, const std::string& variable, TokenSpan header);
  bool isCursorSource(TokenSpan source) const;
  std::int32_t condition(TokenSpan expression, std::string head);
  void caseArm(const std::string& operand, std::vector<OpenEnd>& ends, OpenEnd& otherwise);
  void expectEnd(std::string_view construct);
  void skipStatement(std::string reason);
  void abandon(SourceRange where, std::string reason);
  std::size_t frameFor(const std::string& label, bool loop_only) const;  // frames_.size(): none
  void leave(std::size_t frames_from);
  std::string readLabel();

  // --- DECLARE (plpgsql_declarations.cpp)
  void declarations();
  void declaration(std::size_t last);
  void cursorDeclaration(Variable variable, std::size_t i, std::size_t last);
  std::string declaredType(TokenSpan span) const;
  void declareAlias(Variable variable, std::size_t i);
  void declareLoopVariable(std::string name, std::string type, TokenSpan where);
  const Variable* findVariable(std::string_view name) const;

  // --- simple statements (plpgsql_statements.cpp)
  void simpleStatement();
  void assignment(TokenSpan span);
  void sqlStatement(TokenSpan span);
  void perform(TokenSpan span);
  void returnStatement(TokenSpan span);
  void raise(TokenSpan span);
  void raiseOptions(TokenSpan span, std::string& condition);
  void assertStatement(TokenSpan span);
  void execute(TokenSpan span);
  void open(TokenSpan span);
  void fetch(TokenSpan span);
  void getDiagnostics(TokenSpan span);
  void transaction(TokenSpan span);
  ExecuteParts executeParts(TokenSpan span);
  EventPlace addExecute(const ExecuteParts& parts, Statement like);
  void resolveExecutes();
  List<Event> resolveExecute(const PendingExecute& pending, const ReachingValues& reaching);
  List<Event> unknownExecute(const PendingExecute& pending, const ReachingValues& reaching);
  bool mayMentionLock(TokenSpan text, const ReachingValues& reaching);

  // --- pieces
  Statement like(TokenSpan span, PlContext context, std::string head = {}) const;
  EventPlace addSql(const MappedText& text, const Statement& like, TokenSpan span);
  EventPlace addExpression(TokenSpan expression, Statement like);
  EventPlace addExpressionText(const MappedText& text, TokenSpan span, Statement like);
  std::optional<Query> expressionQuery(TokenSpan expression, std::string& error) const;
  EventPlace addCursorQuery(const std::string& cursor, Statement like);
  IntoClause readInto(std::size_t at, std::size_t last) const;
  std::string targetName(std::size_t& i, std::size_t last) const;
  std::vector<std::string> targetList(std::size_t& i, std::size_t last) const;
  std::size_t assignmentOperator(std::size_t i) const;
  void problem(SourceRange range, std::string reason, bool mentions_lock);
  std::uint32_t loopDepth() const;
  std::size_t semicolon(std::size_t from) const { return tokens_.find(from, tokens_.count(), [](std::size_t) { return false; }); }

  const BodyTokens tokens_;
  const LineIndex& lines_;
  Function& function_;
  List<NotUnderstood>& problems_;
  FlowBuilder flow_;
  std::size_t pos_ = 0;
  int depth_ = 0;                                  // nested constructs
  int open_ifs_ = 0, open_loops_ = 0, open_cases_ = 0;
  bool abandoned_ = false;
  std::vector<Frame> frames_;
  std::vector<std::string> block_labels_;          // for names written label.variable
  std::vector<PendingExecute> executes_;
  AssignedValues assigned_;
  std::map<std::string, bool> lock_in_text_;       // by variable: a text ever assigned to it mentions a lock function
  int case_variables_ = 0;
};

}  // namespace pglocklint::sql

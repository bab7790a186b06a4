// Statements and psql commands of a session → events of a growing function. Scripts and the SQL inside shell scripts share it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/unit.h"
#include "sql/mapped_text.h"
#include "sql/script.h"

namespace pglocklint::sql {

// The blocks of one function while its events come in. Branches and loops nest as they are written.
class ScriptFlow {
 public:
  explicit ScriptFlow(Function& f) : function_(f) { function_.blocks.emplace_back(); }

  void add(Event e) { block().events.push_back(std::move(e)); }
  // A statement that nobody looks into; runs of them are one event.
  void addUnparsed(const SourceRange& range, const std::string& head);

  void beginIf();               // the first branch starts here
  void beginElse(bool final);   // the next branch; `final`: no condition leads past it
  void endIf();
  void beginLoop();             // the body runs zero or more times
  void endLoop();
  void leave();                 // the function ends here; what is added afterwards is not reached from here
  void finish();                // closes what is still open
  bool branched() const { return !open_.empty(); }  // inside a branch or loop
  Variable* variable(const std::string& name);      // that addVariable() made known, or null
  void addVariable(Variable v);

 private:
  struct Open {
    std::int32_t start = 0;
    std::vector<std::int32_t> ends;
    bool has_else = false, loop = false;
  };
  Block& block() { return function_.blocks[static_cast<std::size_t>(current_)]; }
  std::int32_t newBlock();
  void connect(std::int32_t from, std::int32_t to);
  void startBranch();

  Function& function_;
  std::int32_t current_ = 0;
  std::vector<Open> open_;
  std::map<std::string, std::size_t> variables_;  // by name, indexes into function_.variables
};

// A psql command: its name without the backslash, and the rest of the line trimmed and unquoted.
std::pair<std::string, std::string> metaCommand(std::string_view text);

// Reads pieces of a script into facts.
class ScriptReader {
 public:
  ScriptReader(Unit& unit, const LineIndex& lines) : unit_(unit), lines_(lines) {}

  // One statement; its functions, definitions and problems go to the unit. `text` is the statement's own text. `consumer`: who takes
  // the result where the piece itself does not say.
  void statement(const Piece& piece, const MappedText& text, ScriptFlow& flow, std::string_view consumer = "");
  void command(std::string_view text, const SourceRange& range, ScriptFlow& flow);
  // A psql variable that psql's command line sets (-v name=value); nothing: to a value that is not known.
  void givenVariable(const std::string& name, const std::optional<std::string>& value, const SourceRange& range, ScriptFlow& flow);

 private:
  void setVariable(std::string_view arguments, bool set, const SourceRange& range, ScriptFlow& flow);

  Unit& unit_;
  const LineIndex& lines_;
};

}  // namespace pglocklint::sql

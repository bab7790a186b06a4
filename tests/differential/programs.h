// Random programs for the lock state: scripts with locks of every kind, transactions, savepoints, routines with parameters, EXCEPTION
// blocks, loops, cursors. Each looks at its own locks here and there, by a call of mark(n, k, j): on the server that reports what
// pg_locks shows of this session, in the analyzer it is a call of a routine, before which the lock state is known.
//
// A program branches on settings (\if :s0, current_setting('run.s0')), so that several runs of it take several paths. Locks on a few
// keys are contended: a rival session holds them in some runs.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "choices.h"

namespace pglocklint::differential {

inline constexpr int kSwitches = 4;        // s0 … s3
inline constexpr int kSwitchValues = 3;    // 0, 1, 2

// What the client does, in order: a message to send, or psql's \if :sN (N is not 0), \else, \endif.
struct Step {
  enum class Kind { Send, If, Else, EndIf };
  Kind kind = Kind::Send;
  std::vector<std::string> statements;  // of one message
  int branch = 0;                       // If: the switch
};

struct Mark {
  int body = -1;        // which routine or DO block; -1: the script
  bool entry = false;   // its first statement: from there its counts are counted
};

struct Program {
  std::vector<std::string> definitions;  // CREATE FUNCTION …, before the script
  std::vector<Step> steps;
  std::vector<Mark> marks;
  bool one_transaction = false;          // the runner wraps the script in a transaction
  std::set<std::string> shapes;

  std::string text() const;              // as a file
};

// What the mix must have, each in so many programs of 1,000 at least.
struct ProgramShape {
  const char* name;
  int least;
};
extern const std::vector<ProgramShape> kProgramShapes;

// The routines that programs call, as the analyzer reads them.
std::string programSetup();

// The program of a record of choices. Same record, same program.
Program generateProgram(Choices& choices);

}  // namespace pglocklint::differential

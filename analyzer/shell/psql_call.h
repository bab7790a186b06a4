// One call of psql: its arguments, as its manual page has them.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shell/words.h"

namespace pglocklint::shell {

enum class InputKind {
  String,    // -c: sent as one string
  File,      // -f: text = the file's name
  Commands,  // standard input whose text is known: one statement after the other
  Unknown,
};

struct PsqlInput {
  InputKind kind = InputKind::Unknown;
  Word text;
};

struct PsqlCall {
  std::vector<PsqlInput> inputs;     // in the order in which psql takes them; `-f -` and standard input are filled in by the caller
  bool single_transaction = false;   // -1
  bool reads_input = false;          // standard input is read (no -c, no -f, or -f -): at position input_at of `inputs`
  std::size_t input_at = 0;
  bool options_known = true;         // false: arguments whose value is not known may hold further options
  bool autocommit = true;            // false: AUTOCOMMIT was set
  std::vector<std::pair<std::string, Word>> variables;  // -v name=value
  // What names the server and the database, by libpq's parameter names; dbname may hold a whole connection string.
  std::map<std::string, std::string> connection;
};

// libpq's connection string for these parameters: "host=h port=6432 dbname=d", or the string that dbname holds.
std::string connectionString(const std::map<std::string, std::string>& parameters);

// `words` are the arguments after `psql`.
PsqlCall readPsqlCall(const std::vector<Word>& words);

// Index in `words` of the `psql` that a command runs, directly or through sudo, docker exec, kubectl exec, env and the like;
// words.size() if it runs none.
std::size_t findPsql(const std::vector<Word>& words);

// Index in `words` of a script that the command hands to a shell (sh -c 'script', su -c 'script', ssh host 'script'), or words.size().
std::size_t findNestedScript(const std::vector<Word>& words);

}  // namespace pglocklint::shell

// A connection pooler as its configuration describes it: where it listens, and for how long a client keeps a server connection.
#pragma once
#include <string>
#include <vector>

#include "model/finding.h"

namespace pglocklint {

enum class PoolMode {
  Session,      // a client keeps its server connection until it disconnects
  Transaction,  // until its transaction ends: the next one may run on another
  Statement,    // until its statement ends
};
PGLOCKLINT_ENUM_NAMES(PoolMode, "session", "transaction", "statement")

struct Pool {
  std::string database;         // as clients name it; "*": any other
  std::string user;             // empty: any
  std::string host, port;       // the server behind it, where it is written
  PoolMode mode = PoolMode::Session;
  Location mode_at;             // where the mode is set; no file: the pooler's default
  bool operator==(const Pool&) const = default;
};

struct Pooler {
  std::string program;          // "pgbouncer", "pgcat", "odyssey", "supavisor"
  std::string file;
  std::string port;             // it listens on
  std::vector<Pool> pools;      // first match counts: those of a user stand before those of any user, "*" last
  std::vector<std::string> hosts;  // the names it answers to; none: the port tells it
  bool operator==(const Pooler&) const = default;
};

}  // namespace pglocklint

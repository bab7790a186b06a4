// PostgreSQL's side of a random program: one run of it, and what it held at each mark.
#pragma once
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "oracle/session.h"
#include "programs.h"

namespace pglocklint::differential {

// What a run depends on.
struct Path {
  std::array<int, kSwitches> switches{};
  int rival = 0;  // 0: none; 1: holds the contended keys exclusively; 2: shared
};
inline constexpr int kRivals = 3;

// A key in a mode: "bigint 5 exclusive", "pair 1 2 share".
using Lock = std::string;

// What the session holds. pg_locks shows one row for a lock held by the session, by the transaction or by both. So what the session
// holds is counted from what the lock functions answered: nothing else but unlock, unlock_all and DISCARD ALL changes that.
struct Held {
  std::set<Lock> shown;            // by pg_locks
  std::map<Lock, int> session;     // counts above 0
};

struct Look {
  int mark = -1;
  std::array<std::string, 2> parameters;  // k and j there
  Held now, entry;                        // entry: when the routine or DO block around it began
};

struct ProgramRun {
  Path path;
  std::string error;  // SQLSTATE and message of the error that has stopped the script
  std::vector<Look> looks;
};

// A database of its own, with two sessions.
class ProgramDatabase {
 public:
  // Makes database `name` on the server.
  ProgramDatabase(const std::string& server, const std::string& name);
  int major() const { return session_.major(); }

  void define(const Program& p);
  ProgramRun run(const Program& p, const Path& path);

 private:
  void choose(const Path& path);
  bool send(const std::string& text, const Program& p, ProgramRun& out);
  void look(const std::string& report, const Program& p, ProgramRun& out);

  oracle::Session session_, rival_;
  int rival_holds_ = 0;
  std::map<Lock, int> counts_;
  std::map<int, Held> entries_;  // by body
};

}  // namespace pglocklint::differential

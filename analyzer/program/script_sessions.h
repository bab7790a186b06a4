// A script cut into its sessions: psql processes of a shell script, and what \c separates.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/program.h"

namespace pglocklint {

// One event of a script and the session it is in, counted from 0.
struct Moment {
  const Event* event = nullptr;
  int session = 0;
};

struct Session {
  std::string target;                    // libpq connection string, as far as it is written
  bool target_written = false;           // false: the script itself says nothing of the connection
  const SessionOp* begun_by = nullptr;   // psql or \c; null: the script's own first session
  const SessionOp* ended_by = nullptr;   // \c, or the end of psql
};

class ScriptSessions {
 public:
  explicit ScriptSessions(const Function& script);

  // In written order; sessions follow one another.
  const std::vector<Moment>& moments() const { return moments_; }
  const Session& session(int index) const { return sessions_[static_cast<std::size_t>(index)]; }
  // Index into moments(), or -1.
  int momentOf(const Statement* statement) const;

 private:
  std::vector<Moment> moments_;
  std::vector<Session> sessions_;
  std::unordered_map<const Statement*, int> at_;
};

// Calls f for each session lock that a live script takes, each call once, with its script and the index of its moment there.
void forEachSessionLock(const Program& program, const std::function<void(const LockSite&, const ScriptSessions&, std::size_t)>& f);

// A session and the unit that begins it.
struct ScriptSession : Session {
  int unit = -1;
};

// The sessions of all scripts; asked for the ones in which a statement of a script runs.
class ProgramSessions {
 public:
  explicit ProgramSessions(const Program& program);
  // That of the script itself; where the script does not say where it leads, those of the scripts that run the file (psql -f, \i).
  std::vector<ScriptSession> of(int unit, const Function& function, const Statement* statement);
  std::vector<ScriptSession> of(const LockSite& site) { return of(site.unit, *site.function, site.statement); }

 private:
  const ScriptSessions& script(const Function& f);

  const Program& program_;
  std::unordered_map<const Function*, std::unique_ptr<ScriptSessions>> scripts_;
  std::map<std::string, std::vector<ScriptSession>> runs_;  // by the path of the file that is run
};

}  // namespace pglocklint

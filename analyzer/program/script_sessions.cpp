#include "program/script_sessions.h"

namespace pglocklint {

ScriptSessions::ScriptSessions(const Function& script) : sessions_(1) {
  for (const Block& b : script.blocks)
    for (const Event& e : b.events) {
      for (const SessionOp& op : e.session) {
        if (op.verb == SessionVerb::Reconnect || op.verb == SessionVerb::End) {
          sessions_.back().ended_by = &op;
          sessions_.emplace_back();
        }
        if (op.verb == SessionVerb::Reconnect || op.verb == SessionVerb::Start) {
          sessions_.back().target = op.text, sessions_.back().target_written = !op.text.empty();
          sessions_.back().begun_by = &op;
        }
      }
      for (const Statement& s : e.statement) at_[&s] = static_cast<int>(moments_.size());
      moments_.push_back({&e, static_cast<int>(sessions_.size()) - 1});
    }
}

ProgramSessions::ProgramSessions(const Program& program) : program_(program) {
  for (std::size_t u = 0; u < program.units.size(); ++u) {
    if (program.units[u].language != "shell") continue;  // what includes by \i is found, but says nothing of the connection
    for (const Function& f : program.units[u].functions) {
      const ScriptSessions& sessions = script(f);
      for (const Moment& m : sessions.moments())
        for (const SessionOp& op : m.event->session)
          if (op.verb == SessionVerb::Include) runs_[op.text].push_back({sessions.session(m.session), static_cast<int>(u)});
    }
  }
}

const ScriptSessions& ProgramSessions::script(const Function& f) {
  std::unique_ptr<ScriptSessions>& known = scripts_[&f];
  if (!known) known = std::make_unique<ScriptSessions>(f);
  return *known;
}

std::vector<ScriptSession> ProgramSessions::of(int unit, const Function& function, const Statement* statement) {
  const ScriptSessions& sessions = script(function);
  const int moment = sessions.momentOf(statement);
  if (moment < 0) return {};
  const Session& own = sessions.session(sessions.moments()[static_cast<std::size_t>(moment)].session);
  if (own.target_written || own.begun_by) return {{own, unit}};
  const auto runs = runs_.find(program_.path(unit));
  return runs == runs_.end() ? std::vector<ScriptSession>{} : runs->second;
}

int ScriptSessions::momentOf(const Statement* statement) const {
  const auto found = at_.find(statement);
  return found == at_.end() ? -1 : found->second;
}

void forEachSessionLock(const Program& program, const std::function<void(const LockSite&, const ScriptSessions&, std::size_t)>& f) {
  std::unordered_map<const Function*, ScriptSessions> scripts;
  const Expr* last = nullptr;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.host != SiteHost::Statement || !site.function || !site.statement || !site.lock || site.call == last) continue;
    if (site.function->kind != FunctionKind::Script || !site.lock->acquires() || site.lock->scope != LockScope::Session) continue;
    last = site.call;
    const ScriptSessions& script = scripts.try_emplace(site.function, *site.function).first->second;
    if (const int moment = script.momentOf(site.statement); moment >= 0) f(site, script, static_cast<std::size_t>(moment));
  }
}

}  // namespace pglocklint

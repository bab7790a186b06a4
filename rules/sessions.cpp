#include "sessions.h"

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

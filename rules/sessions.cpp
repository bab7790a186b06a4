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

}  // namespace pglocklint

#include "lock_paths.h"

#include <algorithm>

#include <fmt/format.h>

#include "wording.h"

namespace pglocklint {

std::string eventText(const LockStates&, const LockEvent& event) {
  if (event.site != nullptr) return callText(*event.site);
  if (event.trigger != nullptr) return fmt::format("the trigger {} on {}", event.trigger->ddl->name, event.trigger->relation);
  return event.call != nullptr ? exprText(*event.call) : "the DO block";
}

std::string keyText(const LockStates& locks, KeyId key, EventId taken) {
  if (key == kUnknownKey) return "unknown";
  const std::string& text = locks.keys.at(key).class_text;
  if ((text != "*" && text != "(*)" && text != "(*, *)") || taken < 0) return text;
  const LockEvent& e = locks.event(taken);
  if (e.call == nullptr || e.call->args.empty()) return text;
  const std::int32_t host = e.statement->kind == StatementKind::HostCall ? e.statement->host_call : -1;
  std::string arguments;
  for (std::size_t i = 0; i < e.call->args.size(); ++i) {
    if (host >= 0) {  // the connection that a wrapper is given is no part of the key
      const HostCall& call = e.function->host[0].calls[static_cast<std::size_t>(host)];
      if (i < call.bind_paths.size() && !call.bind_paths[i].empty()) continue;
    }
    arguments += (arguments.empty() ? "" : ", ") + exprText(e.call->args[i]);
  }
  return arguments.empty() ? text : "(" + arguments + ")";
}

std::string_view modeText(LockMode mode) { return mode == LockMode::Shared ? "shared" : "exclusive"; }

Finding& reportAt(Report& report, const LockEvent& event, const SourceRange& range, std::string message) {
  if (event.site != nullptr) return report.at(*event.site, range, std::move(message));
  Finding& f = report.at(event.unit, event.range, std::move(message));  // the subject is the call
  f.where = report.program().locate(event.unit, range);
  f.function = functionName(event.function);
  return f;
}

void addStep(Report& report, Finding& finding, int unit, const SourceRange& range, std::string message) {
  RelatedPlace place = report.place(unit, firstLine(range), std::move(message));
  const auto same = [&](const Location& at) { return at.file == place.where.file && at.line == place.where.line; };
  if (!same(finding.where) && std::none_of(finding.related.begin(), finding.related.end(), [&](const RelatedPlace& p) { return same(p.where); }))
    finding.related.push_back(place);
  finding.path.push_back(std::move(place));
}

void addTaken(Report& report, Finding& finding, const LockEvent& event, std::string_view how) {
  addStep(report, finding, event.unit, event.range, fmt::format("{}: {}", how, eventText(*report.program().locks, event)));
  const LockSummary* s = report.program().locks->summaryOf(event);
  if (s == nullptr || s->acquires.empty()) return;
  const LockEvent& inner = report.program().locks->event(s->acquires.front().event);
  addStep(report, finding, inner.unit, inner.range, fmt::format("inside of it: {}", eventText(*report.program().locks, inner)));
}

bool releasesKey(const LockStates& locks, const FunctionLocks& function, KeyId key, LockMode mode) {
  return releaseOf(locks, function, key, mode) != nullptr;
}

bool mayRelease(const LockStates& locks, const LockEvent& e, KeyId key, LockMode mode) {
  if (e.before.empty()) return false;
  switch (e.kind) {
    case LockEventKind::Release: return e.lock->mode == mode && locks.keys.alias(e.key, key) == Alias::Must;
    case LockEventKind::ReleaseAll: return true;
    case LockEventKind::Call: {
      const LockSummary* s = locks.summaryOf(e);
      if (s == nullptr) return false;
      return s->releases_all || std::any_of(s->outcomes.begin(), s->outcomes.end(), [&](const LockOutcome& o) {
               return std::any_of(o.effects.begin(), o.effects.end(), [&](const LockEffect& x) { return x.lo < 0 && x.mode == mode; });
             });
    }
    default: return false;
  }
}

bool releasesMode(const LockStates& locks, const FunctionLocks& function, LockMode mode) {
  return std::any_of(function.events.begin(), function.events.end(), [&](EventId id) {
    const LockEvent& e = locks.event(id);
    return e.kind == LockEventKind::Release ? e.lock->mode == mode && !e.before.empty() : mayRelease(locks, e, kUnknownKey, mode);
  });
}

const LockEvent* releaseOf(const LockStates& locks, const FunctionLocks& function, KeyId key, LockMode mode) {
  for (const EventId id : function.events)
    if (mayRelease(locks, locks.event(id), key, mode)) return &locks.event(id);
  return nullptr;
}

bool isJudged(const Program& program, const FunctionLocks& f) {
  return f.complete && f.function->kind != FunctionKind::DownScript && !program.units[static_cast<std::size_t>(f.unit)].runner.down;
}

SourceRange firstLine(const SourceRange& range) {
  SourceRange r = range;
  if (r.end_line != r.line) r.end_line = r.line, r.end_column = r.column + 1, r.end = r.begin + 1;
  return r;
}

}  // namespace pglocklint

// What pglocklint says about SQL, as a program that answers line by line: the fuzzers talk to PostgreSQL through libpq, and
// libpq and libpg_query define the same symbols, so the two cannot be in one executable.
//
// Requests and answers are JSON, one a line:
//   {"setup": "CREATE TABLE …"}                     what the statements after it refer to
//   {"text": "SELECT …; …"}                         → {"calls": [{…}, …]}: all evaluations of all statements and bodies in the text
//   {"keys": "SELECT pg_advisory_lock(…); …"}       → {"keys": [{…}, …]}: the key of each lock call, in written order
//   {"states": "…; SELECT mark(3, 0, 0)", "runner": "autocommit"}
//                                                   → {"marks": [{"mark": 3, …}, …]}: the lock state before each call of the routine mark
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program/keys.h"
#include "program/lock_state.h"
#include "program/program.h"
#include "sql/front_end.h"
#include "sql/pg_parse.h"

namespace {

using namespace pglocklint;
using nlohmann::json;

// Places in the text of the setup start beyond any place in a case, so that a call in a wrapper's body is not taken for one in the case.
constexpr std::size_t kSetupPadding = 1 << 16;

Unit read(const std::string& path, const std::string& text) { return sql::readSql(sql::scanFile(path, text), true); }

json describe(const CallEvaluation& c) {
  const Evaluation& e = c.evaluation;
  return {{"name", c.call->name}, {"begin", c.call->range.begin}, {"via", c.via}, {"via_begin", c.via.empty() ? 0 : c.via_range.begin},
          {"runs", nameOf(e.runs)}, {"rows", nameOf(e.rows)}, {"order", nameOf(e.order)}, {"sureness", nameOf(e.sureness)},
          {"plan_time", e.plan_time}, {"repeated", e.repeated}, {"position", nameOf(e.position)}, {"limited", e.limited},
          {"sorted", e.sorted_by_key}, {"series", e.series}, {"rows_cause", nameOf(e.rows_blame.cause)}, {"runs_cause", nameOf(e.runs_blame.cause)}};
}

json keysOf(const Program& program) {
  json out = json::array();
  for (const LockSite& s : program.sites) {
    if (s.unit != 1 || !s.direct()) continue;
    json parts = json::array();
    for (const Value& v : s.key.parts) parts.push_back(v.text);
    out.push_back({{"line", s.call->range.line}, {"form", nameOf(s.key.form)}, {"constant", s.key.constant}, {"error", s.key.error},
                   {"class", s.key.class_text}, {"parts", parts}});
  }
  return out;
}

// A part of a key: a number, or the name of a parameter. Empty if it is neither.
std::string partOf(const Value& v) {
  if (const auto number = constantInteger(v)) return std::to_string(*number);
  if (v.kind == ValueKind::Cast && v.args.size() == 1) return partOf(v.args[0]);
  return v.kind == ValueKind::Parameter ? v.name : "";
}

json describe(const Hold& h, const KeyInfo& key) {
  json parts = json::array();
  for (const Value& v : key.parts) parts.push_back(partOf(v));
  if (!key.exact || std::find(parts.begin(), parts.end(), "") != parts.end()) parts = json::array();
  return {{"form", nameOf(key.form)}, {"parts", parts}, {"mode", h.mode == LockMode::Shared ? "share" : "exclusive"}, {"lo", h.lo}, {"hi", h.hi},
          {"floor_lo", h.floor_lo}, {"floor_hi", h.floor_hi}, {"may", h.may != 0}, {"must", h.must != 0}};
}

json statesOf(const LockStates& locks) {
  json marks = json::array();
  for (const FunctionLocks& f : locks.functions)
    for (const EventId id : f.events) {
      const LockEvent& e = locks.event(id);
      if (e.kind != LockEventKind::Call || e.call == nullptr || e.call->name != "mark" || e.call->args.empty()) continue;
      json states = json::array();
      for (const LockState& s : e.before) {
        json holds = json::array();
        for (const Hold& h : s.holds) holds.push_back(describe(h, locks.keys.at(h.key)));
        states.push_back({{"unknown", s.unknown_held}, {"cleared", static_cast<int>(s.cleared)}, {"holds", holds}});
      }
      if (!f.complete) states = {{{"unknown", true}, {"cleared", static_cast<int>(Happened::Perhaps)}, {"holds", json::array()}}};
      marks.push_back({{"mark", std::stoi(e.call->args[0].text)}, {"relative", f.function->kind != FunctionKind::Script}, {"states", states}});
    }
  return marks;
}

class Peer {
 public:
  json answer(const json& request) {
    if (request.contains("setup")) {
      setup_ = read("1_setup.sql", std::string(kSetupPadding, '\n') + request["setup"].get<std::string>());
      return json::object();
    }
    const char* const what = request.contains("keys") ? "keys" : request.contains("states") ? "states" : "text";
    std::vector<Unit> units;
    units.push_back(setup_);
    units.push_back(read("2_case.sql", request[what].get<std::string>()));
    if (request.contains("runner"))
      units.back().runner.transaction = request["runner"] == "autocommit" ? TransactionMode::Autocommit : TransactionMode::OnePerFile;
    const Program program = link(std::move(units));
    if (request.contains("keys")) return {{"keys", keysOf(program)}};
    if (request.contains("states")) return {{"marks", statesOf(*program.locks)}};
    json calls = json::array();
    for (const Function& f : program.units[1].functions)
      for (const CallEvaluation& c : evaluate(f, program.catalogue)) calls.push_back(describe(c));
    return {{"calls", calls}};
  }

 private:
  Unit setup_;
};

void serve(void*) {
  Peer peer;
  std::string line;
  while (std::getline(std::cin, line)) {
    const json request = json::parse(line, nullptr, false);
    std::cout << (request.is_object() ? peer.answer(request).dump(-1, ' ', false, json::error_handler_t::replace) : "{}") << "\n" << std::flush;
  }
}

}  // namespace

int main() { sql::runOnLargeStack(serve, nullptr); }

// Transfer of statements, conditions and transaction commands; edges between EXCEPTION scopes; ways out.
#include "program/lock_flow.h"
#include "model/host_number.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include <fmt/format.h>

#include "program/connections.h"
#include "program/host_connections.h"
#include "program/values_fold.h"

namespace pglocklint {
namespace {

constexpr int kVisitsBeforeHull = 12;   // of one block
constexpr int kMostVisits = 60;
constexpr std::size_t kMostSummary = 24;  // effects and acquisitions of a summary
const std::string kResult = "#return";
const std::string kReturn = "return";  // the number: "return.=-1"
const std::string kString = "#string";  // statements are sent as one
const std::string kWrapped = "#wrapped";  // psql -1 has opened the transaction
const std::string kPsql = "#psql";
const std::string kBegins = "#begins";  // psql's AUTOCOMMIT is off: it begins a transaction by itself (false: perhaps)
const std::string kSnapshotDefault = "#repeatable read";
const std::string kReplica = "#session_replication_role";  // no ordinary trigger fires
const std::string kDisabled = "#disabled ";        // and a trigger, or a relation: by ALTER TABLE in this script
const std::string kConstraints = "#constraints";   // SET CONSTRAINTS: deferred. With a space and a name: that one
const std::string kPending = "#pending ";          // and a deferred trigger's event: it runs at COMMIT
// Facts of host functions about a variable that callers see: what it was on entry, and that it has been assigned since.
const std::string kFound = "#found ", kSet = "#set ";

constexpr std::size_t kMostLosses = 8;      // that a state remembers

constexpr std::uint32_t kSomething = ~0U;  // in Hold::worked: work on what has no name

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

std::string scopeName(std::int32_t scope) { return fmt::format("#{}", scope); }

// A condition over variables as text; empty when its value may change without an assignment.
std::string factText(const Expr& e, std::vector<std::string>& names, int depth = 0) {
  if (depth > 8) return {};
  const auto list = [&](std::string_view head) {
    std::string out(head);
    out += e.negated ? "!(" : "(";
    for (const Expr& a : e.args) {
      const std::string part = factText(a, names, depth + 1);
      if (part.empty()) return std::string();
      out += part + ",";
    }
    return out + ")";
  };
  switch (e.kind) {
    case ExprKind::Const: return e.literal == LiteralKind::Null ? "NULL" : "'" + e.text + "'";
    case ExprKind::Column:
      names.push_back(e.name);
      if (!e.qualifier.empty()) names.push_back(e.qualifier);
      return e.qualifier.empty() ? e.name : e.qualifier + "." + e.name;
    case ExprKind::Op: return list(e.name);
    case ExprKind::NullTest: return list("null");
    case ExprKind::Distinct: return list("distinct");
    case ExprKind::InList: return list("in");
    case ExprKind::Cast: return list(e.type);
    case ExprKind::Coalesce: return list("coalesce");
    default: return {};
  }
}

// 'true', 't', 'on', … as PostgreSQL reads a boolean.
std::optional<bool> booleanConstant(const Expr& e) {
  if (e.kind == ExprKind::Cast && e.args.size() == 1 && e.type == "boolean") return booleanConstant(e.args[0]);
  if (e.kind != ExprKind::Const || (e.literal != LiteralKind::Boolean && e.literal != LiteralKind::String)) return std::nullopt;
  for (const std::string_view t : {"true", "t", "yes", "y", "on", "1"})
    if (e.text == t) return true;
  for (const std::string_view f : {"false", "f", "no", "n", "off", "0"})
    if (e.text == f) return false;
  return std::nullopt;
}

class Flow {
 public:
  Flow(const Program& program, LockStates& states, LockEvents& reader, const LockEvents::Candidate& candidate)
      : program_(program), states_(states), reader_(reader), candidate_(candidate), function_(*candidate.function), unit_(candidate.unit) {
    host_ = function_.kind == FunctionKind::HostFunction;
    routine_ = !host_ && function_.kind != FunctionKind::Script && function_.kind != FunctionKind::DownScript;
    relative_ = routine_ || (host_ && !isLocalPath(candidate.session));
    last_statement_ = lastStatement();
    const Routine* routine = reader.routine(function_);
    stable_ = routine_ && routine != nullptr && routine->volatility != Volatility::Volatile;
  }

  FlowResult run(const std::vector<EventId>& events, bool record, const LockStateSet* entry) {
    result_.locks.unit = unit_, result_.locks.function = &function_, result_.locks.events = events;
    result_.locks.session = candidate_.session;
    if (function_.blocks.empty()) return std::move(result_);
    for (const EventId id : events) {
      const LockEvent& e = states_.event(id);
      by_statement_[e.statement].push_back(id);
      if (e.call != nullptr) by_call_.try_emplace(e.call, id);
    }
    if (host_) findTested();
    findLoops();
    in_.assign(function_.blocks.size(), {});
    visits_.assign(function_.blocks.size(), 0);
    queued_.assign(function_.blocks.size(), false);
    if (entry != nullptr) in_[0] = *entry;
    else addState(in_[0], entryState());
    if (forward()) {
      record_ = record;
      finish();
      return std::move(result_);
    }
    fixpoint();
    flowing_ = false;
    record_ = record;
    finish();
    return std::move(result_);
  }

 private:
  // --- the fixpoint -------------------------------------------------------------------------------------------------------

  // Control goes from lower blocks to higher ones only: then one pass in their order is the fixpoint, and may record at once.
  bool forward() const {
    for (std::size_t b = 0; b < function_.blocks.size(); ++b) {
      const Block& block = function_.blocks[b];
      for (const Edge& e : block.successors)
        if (e.target <= static_cast<std::int32_t>(b)) return false;
      if (block.unwind >= 0 && block.unwind <= static_cast<std::int32_t>(b)) return false;
      for (std::int32_t s = block.scope; s >= 0 && at(s) < function_.exception_scopes.size(); s = function_.exception_scopes[at(s)].parent)
        for (const ExceptionHandler& h : function_.exception_scopes[at(s)].handlers)
          if (h.block <= static_cast<std::int32_t>(b)) return false;
    }
    return true;
  }

  void fixpoint() {
    enqueue(0);
    while (!queue_.empty()) {
      const std::int32_t b = takeNext();
      if (++visits_[at(b)] > kMostVisits) {
        result_.locks.complete = false;
        return;
      }
      block(b);
    }
  }

  // Blocks are numbered in the order of the text, which is nearly the order of control: the lowest first settles loops inside out.
  std::int32_t takeNext() {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const std::int32_t b = queue_.back();
    queue_.pop_back();
    queued_[at(b)] = false;
    return b;
  }
  void enqueue(std::int32_t b) {
    if (queued_[at(b)]) return;
    queued_[at(b)] = true;
    queue_.push_back(b);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  // The transfer over states that are settled when their block's turn comes, each block once, with what rules want to see.
  void finish() {
    settled_ = true;
    if (record_)
      for (const EventId e : result_.locks.events) states_.events[at(e)].before.clear();
    for (std::size_t b = 0; b < function_.blocks.size(); ++b)
      if (!in_[b].empty()) block(static_cast<std::int32_t>(b));
    if (record_)  // an error leaves at many statements: in the order of the text
      std::stable_sort(result_.locks.ways_out.begin(), result_.locks.ways_out.end(),
                       [](const WayOut& a, const WayOut& b) { return a.range.begin < b.range.begin; });
  }

  LockState entryState() const {
    LockState s;
    if (host_) {
      s.status = relative_ ? TransactionStatus::Unknown : TransactionStatus::None;
      s.timeouts = Timeouts::all(TimeoutValue::Unknown);  // until it connects
      return s;
    }
    const RunnerFacts& runner = program_.units[at(unit_)].runner;
    if (!routine_) {
      if (runner.transaction == TransactionMode::OnePerFile) s.status = TransactionStatus::Explicit;
      else s.status = idle(s);
      if (!runner.fresh_session) s.timeouts = Timeouts::all(TimeoutValue::Unknown);
    } else {
      s.timeouts = Timeouts::all(TimeoutValue::Unknown);  // the caller's
      for (const Setting& set : function_.settings) setting(set, s);
    }
    return s;
  }

  void block(std::int32_t b) {
    const Block& block = function_.blocks[at(b)];
    LockStateSet states = settled_ ? std::move(in_[at(b)]) : in_[at(b)];
    scope_ = block.scope, unwind_ = block.unwind;
    leaves_ = !block.events.empty() && block.events.back().kind == EventKind::Exit;
    for (std::size_t i = 0; i < block.events.size() && !states.empty(); ++i) {
      const Event& e = block.events[i];
      const bool condition = i + 1 == block.events.size() && e.kind == EventKind::Statement &&
                             e.statement[0].context == PlContext::Condition && !e.statement[0].query.empty() &&
                             e.statement[0].query[0].targets.size() == 1;
      if (condition) return branch(block, e, std::move(states));
      if (e.kind == EventKind::Exit) return leave(e.exit[0], std::move(states));
      states = event(e, std::move(states));
    }
    if (states.empty()) return;
    if (block.successors.empty()) return returns(WayOutKind::End, endOf(block), std::move(states));
    for (const Edge& edge : block.successors) follow(b, edge.target, states);
  }

  SourceRange endOf(const Block& block) const {
    for (auto e = block.events.rbegin(); e != block.events.rend(); ++e) {
      if (!e->statement.empty()) return e->statement[0].range;
      if (!e->transaction.empty()) return e->transaction[0].range;
    }
    if (function_.kind == FunctionKind::HostFunction && function_.body_range.known()) {  // the closing brace
      SourceRange brace = function_.body_range;
      brace.begin = brace.end - 1, brace.line = brace.end_line, brace.column = brace.end_column - 1;
      return brace;
    }
    return function_.name_range.known() ? function_.name_range : function_.range;
  }

  void branch(const Block& block, const Event& e, LockStateSet states) {
    const Statement& s = e.statement[0];
    if (!host_) states = before(e, s, std::move(states));
    for (const Edge& edge : block.successors) {
      LockStateSet taken;
      if (edge.kind == EdgeKind::Next) taken = runAll(states, s);
      else taken = assume(states, s.query[0].targets[0].expr, edge.kind == EdgeKind::True);
      follow(-1, edge.target, std::move(taken));
    }
  }

  // Control goes to block `target`: EXCEPTION scopes are entered and left on the way.
  void follow(std::int32_t from, std::int32_t target, LockStateSet states) {
    if (target < 0 || at(target) >= function_.blocks.size()) return;
    const std::int32_t scope = function_.blocks[at(target)].scope;
    const std::vector<std::string>* variables = nullptr;
    if (from >= 0)
      if (const auto loop = loop_variables_.find(from); loop != loop_variables_.end()) variables = &loop->second;
    for (LockState& s : states) {
      if (variables)
        for (const std::string& v : *variables) forget(s, v, states_.keys);
      moveToScope(s, scope);
      arrive(target, std::move(s));
    }
  }

  void arrive(std::int32_t target, LockState s) {
    if (!flowing_) return;
    if (addState(in_[at(target)], std::move(s), visits_[at(target)] > kVisitsBeforeHull) && !settled_) enqueue(target);
  }

  std::vector<std::int32_t> scopesOf(std::int32_t scope) const {  // outermost first
    std::vector<std::int32_t> chain;
    for (std::int32_t s = scope; s >= 0 && at(s) < function_.exception_scopes.size() && chain.size() < 200;
         s = function_.exception_scopes[at(s)].parent)
      chain.insert(chain.begin(), s);
    return chain;
  }

  void moveToScope(LockState& s, std::int32_t scope) const {
    if (!routine_) return;
    const std::vector<std::int32_t> wanted = scopesOf(scope);
    std::size_t shared = 0;
    while (shared < wanted.size() && shared < s.levels.size() && s.levels[shared] == scopeName(wanted[shared])) ++shared;
    while (s.levels.size() > shared) popLevel(s);
    for (; shared < wanted.size(); ++shared) pushLevel(s, scopeName(wanted[shared]));
  }

  // FOR variables get a new value each time round; the statement that names them stands before the loop.
  void findLoops() {
    for (std::size_t b = 0; b < function_.blocks.size(); ++b) {
      const Block& block = function_.blocks[b];
      if (block.events.empty() || block.events.back().kind != EventKind::Statement || block.successors.size() != 1) continue;
      const Statement& s = block.events.back().statement[0];
      if (s.context != PlContext::ForQuery && s.context != PlContext::ForRange) continue;
      std::vector<std::string>& names = loop_variables_[block.successors[0].target];
      for (const std::string& v : s.into) names.push_back(v.substr(0, v.find_first_of(".[")));
    }
  }

  // --- events -------------------------------------------------------------------------------------------------------------

  LockStateSet event(const Event& e, LockStateSet states) {
    if (host_) {
      const std::int32_t call = !e.statement.empty() ? e.statement[0].host_call : e.host_call;
      if (asked_.contains(call) || tested_.contains(call))  // what it answered last time round
        for (LockState& s : states) forget(s, hostAnswer(call), states_.keys), forget(s, hostSuccess(call), states_.keys);
      if (call >= 0 && function_.host[0].calls[at(call)].kind == HostCallKind::Wait) {
        const HostCall& wait = function_.host[0].calls[at(call)];
        noteWait(wait.range, wait.api, wait.loop_depth > 0, states);
        return states;
      }
      if (call >= 0 && function_.host[0].calls[at(call)].deferred) return deferred(e.statement[0], std::move(states));
      if (call >= 0 && !onSession(call)) return elsewhere(call, e, std::move(states));
    }
    switch (e.kind) {
      case EventKind::Statement: return statement(e, e.statement[0], std::move(states));
      case EventKind::Ddl: {
        states = before(e, {}, std::move(states));
        mark(deed(e), ddlRange(e), states);
        switchTriggers(e, states);
        return states;
      }
      case EventKind::Transaction:
        states = beforeEnd(e.transaction[0].verb, std::move(states));
        return each(std::move(states), [&](LockState& s) { return transaction(e.transaction[0], s); });
      case EventKind::Setting:
        for (LockState& s : states) setting(e.setting[0], s);
        return e.setting[0].name.starts_with("constraints") ? runPending(std::move(states)) : states;
      case EventKind::Session: return each(std::move(states), [&](LockState& s) { return session(e.session[0], s); });
      case EventKind::HostCall: return hostCall(e.host_call, std::move(states));
      case EventKind::HostStep:  // lowered to statements
      case EventKind::Exit: break;
    }
    return states;
  }

  template <class F>
  static LockStateSet each(LockStateSet states, F&& f) {
    LockStateSet out;
    for (LockState& s : states)
      if (f(s)) addState(out, std::move(s));
    return out;
  }

  SourceRange ddlRange(const Event& e) const {
    const Unit& u = program_.units[at(unit_)];
    return e.ddl >= 0 && at(e.ddl) < u.ddl.size() ? u.ddl[at(e.ddl)].range : SourceRange{};
  }
  SourceRange rangeOf(const Event& e) const { return e.statement.empty() ? ddlRange(e) : e.statement[0].range; }

  const Deed& deed(const Event& e) {
    const auto [known, fresh] = deeds_.try_emplace(&e);
    if (fresh) known->second = reader_.deed(e, function_, unit_);
    return known->second;
  }

  // What happens whatever the locks of the statement do: work after a loss is noted, an error may leave.
  LockStateSet before(const Event& e, const Statement& s, LockStateSet states) {
    const Deed& deed = this->deed(e);
    const SourceRange range = rangeOf(e);
    if (settled_ && record_) noteLosses(deed, range, states);
    for (LockState& state : states) {
      if (deed.work) std::erase_if(state.lost, [](const LostLock& l) { return l.how == Loss::StatementEnd; });
      if (deed.reads && !state.stale.empty()) {
        if (settled_ && record_)
          for (const EventId a : state.stale) noteStale(a, range);
        state.stale.clear();
      }
    }
    result_.summary.works |= deed.work;
    if ((deed.may_raise || deed.key_may_raise) && raiseMatters(states)) {
      LockStateSet failing = s.kind == StatementKind::HostCall ? raisedIn(s, states) : host_ || !deed.may_raise ? states : failedWithin(s, states);
      mark(deed, range, failing);
      raise(failing, WayOutKind::ErrorIn, range);
    }
    if (host_ && s.host_call >= 0 && reader_.paths().mayThrow(function_, s.host_call) && unwind_ >= 0 && flowing_)
      for (LockState& failed : withoutLock(s, states)) arrive(unwind_, std::move(failed));
    if (const auto* events = eventsOf(s); events != nullptr && !host_)
      for (const EventId id : *events) failedAcquire(states, id);
    return states;
  }

  const std::vector<EventId>* eventsOf(const Statement& s) const {
    const auto own = by_statement_.find(&s);
    return own == by_statement_.end() ? nullptr : &own->second;
  }
  EventId eventOf(const Expr& call) const {
    const auto own = by_call_.find(&call);
    return own == by_call_.end() ? -1 : own->second;
  }

  LockStateSet statement(const Event& e, const Statement& s, LockStateSet states) {
    states = before(e, s, std::move(states));
    const Deed& deed = this->deed(e);
    const auto* events = eventsOf(s);
    LockStateSet failed;
    if (host_ && s.host_call >= 0 && tested_.contains(s.host_call)) failed = failures(s, states);
    else if (host_ && s.host_call >= 0 && !relative_ && !function_.host[0].calls[at(s.host_call)].throws) failed = dropped(s, states);
    states = events == nullptr && !interesting(s) ? std::move(states) : assignOrRun(s, std::move(states));
    if (host_ && s.kind == StatementKind::HostCall && events == nullptr)  // candidates tell what they leave
      for (LockState& state : states) forgetAssigned(s.host_call, state);
    mark(deed, s.range, states);
    if (deed.sleeps || s.consumer == "watch") noteWait(s.range, deed.sleeps ? "pg_sleep" : "\\watch", s.loop_depth > 0 || !deed.sleeps, states);
    for (const Setting& set : deed.settings)
      for (LockState& state : states) setting(set, state);
    if (events != nullptr && deed.may_raise && s.kind != StatementKind::HostCall) raise(states, WayOutKind::ErrorIn, s.range);
    if (!routine_) endOfStatement(s, states);
    if (!failed.empty()) {
      const std::string success = hostSuccess(s.host_call);
      if (tested_.contains(s.host_call))
        for (LockState& state : states) learn(state, {success, {success}, true});
      for (LockState& state : failed) addState(states, std::move(state));
    }
    const bool sql = s.context != PlContext::Assign && s.context != PlContext::Condition && s.context != PlContext::Argument &&
                     s.context != PlContext::Default && s.context != PlContext::Return;
    if (sql && routine_)
      for (LockState& state : states) forget(state, "found", states_.keys);
    return states;
  }

  // Locks of the transaction go when a statement outside of any transaction ends, and may go where that is not known.
  void endOfStatement(const Statement& s, LockStateSet& states) {
    for (LockState& state : states) {
      if (state.status == TransactionStatus::Unknown && !host_ && known(state, kString) != true)
        state.holds.changeAll([](Hold& h) { h.must = 0; });
      if (state.status != TransactionStatus::None) continue;
      const bool worked = std::any_of(state.holds.begin(), state.holds.end(), [](const Hold& h) { return h.may != 0 && !h.worked.empty(); });
      endTransaction(state, Loss::StatementEnd, s.range);
      if (worked) std::erase_if(state.lost, [&](const LostLock& l) { return l.how == Loss::StatementEnd && l.where == s.range; });
    }
  }

  void mark(const Deed& deed, const SourceRange& range, LockStateSet& states) {
    if (!deed.work && !deed.writes && !deed.reads) return;
    for (LockState& state : states)
      state.holds.changeAll([&](Hold& h) {
        if (!h.mayHold()) return;
        if (deed.writes && !h.written.known() && state.status != TransactionStatus::None)
          h.written = range, h.written_level = static_cast<std::uint32_t>(state.levels.size());
        if (!deed.work) return;
        for (const std::uint32_t n : deed.names) h.worked.add(n);
        if (deed.names.empty() && h.worked.empty()) h.worked.add(kSomething);
      });
  }

  // --- results ------------------------------------------------------------------------------------------------------------

  const Statement* lastStatement() const {
    if (function_.language != "sql" || function_.returns == "void" || !routine_) return nullptr;
    for (auto b = function_.blocks.rbegin(); b != function_.blocks.rend(); ++b)
      for (auto e = b->events.rbegin(); e != b->events.rend(); ++e)
        if (!e->statement.empty()) return &e->statement.back();
    return nullptr;
  }

  // The variable that each entry of the select list goes to; "#return" for a RETURN.
  std::vector<std::string> targets(const Statement& s) const {
    if (s.context == PlContext::Return || &s == last_statement_) return {kResult};
    if (s.host_call >= 0) return asked_.contains(s.host_call) ? std::vector<std::string>{hostAnswer(s.host_call)} : std::vector<std::string>{};
    if (s.into.empty() || s.query.size() != 1) return {};
    const Query& q = s.query[0];
    if (s.into.size() == 1 && (q.targets.size() > 1 || isRecord(s.into[0]))) {
      std::vector<std::string> fields;
      for (const Target& t : q.targets) fields.push_back(s.into[0] + "." + t.name);
      return fields;
    }
    return {s.into.begin(), s.into.end()};
  }
  bool isRecord(const std::string& variable) const {
    return std::any_of(function_.variables.begin(), function_.variables.end(),
                       [&](const Variable& v) { return v.name == variable && (v.type == "record" || v.type.ends_with("%rowtype")); });
  }

  // One row, so that the select list says what the targets become.
  static const Expr* targetExpr(const Statement& s, std::size_t i) {
    if (s.kind == StatementKind::HostCall) return &s.exprs[0];
    if (s.query.size() != 1 || s.query[0].kind != QueryKind::Select) return nullptr;
    const Query& q = s.query[0];
    if (!q.where.empty() || !q.having.empty() || !q.limit.empty() || i >= q.targets.size()) return nullptr;
    if (q.from.empty()) return &q.targets[i].expr;
    const bool alone = q.from.size() == 1 && q.from[0].kind == FromKind::Function && q.from[0].functions.size() == 1;
    return alone && i == 0 && q.targets[0].expr.kind == ExprKind::Star ? &q.from[0].functions[0] : nullptr;
  }

  bool tellsSomething(const Expr& e) const {
    switch (e.kind) {
      case ExprKind::Const: return e.literal == LiteralKind::Boolean;
      case ExprKind::Column: return true;
      case ExprKind::Call: return hasResult(e);
      case ExprKind::Not:
      case ExprKind::And:
      case ExprKind::Or:
      case ExprKind::BoolTest:
      case ExprKind::Coalesce:
      case ExprKind::Cast:
        return std::any_of(e.args.begin(), e.args.end(), [&](const Expr& a) { return tellsSomething(a); });
      case ExprKind::SubSelect:
        return e.sublink == SubLink::Scalar && e.query.size() == 1 && e.query[0].from.empty() && e.query[0].targets.size() == 1 &&
               tellsSomething(e.query[0].targets[0].expr);
      default: return false;
    }
  }
  bool hasResult(const Expr& e) const {
    const EventId id = eventOf(e);
    if (id < 0) return false;
    const LockEventKind kind = states_.event(id).kind;
    return kind == LockEventKind::Try || kind == LockEventKind::Release || kind == LockEventKind::Call;
  }
  bool interesting(const Statement& s) const {
    return !s.into.empty() || s.context == PlContext::Return || &s == last_statement_ || asked_.contains(s.host_call);
  }

  LockStateSet assignOrRun(const Statement& s, LockStateSet states) {
    const std::vector<std::string> names = targets(s);
    std::size_t chosen = names.size();
    for (std::size_t i = 0; i < names.size() && chosen == names.size(); ++i)
      if (const Expr* e = targetExpr(s, i); e != nullptr && tellsSomething(*e)) chosen = i;
    LockStateSet out;
    if (chosen == names.size()) {
      out = runAll(states, s);
      forgetTargets(s, out);
      return out;
    }
    const Expr& e = *targetExpr(s, chosen);
    for (std::size_t i = 0; !s.query.empty() && i < s.query[0].targets.size(); ++i)  // the others are computed too
      if (i != chosen && s.query[0].from.empty()) states = run(std::move(states), s.query[0].targets[i].expr);
    for (const bool value : {true, false}) {
      LockStateSet outcome = assume(states, e, value);
      forgetTargets(s, outcome);
      for (LockState& state : outcome) {
        learn(state, {names[chosen], {base(names[chosen])}, value});
        if (host_ && e.kind == ExprKind::Column)
          if (const auto n = knownNumber(state, e.name)) learn(state, {hostNumber(names[chosen] == kResult ? kReturn : names[chosen], "=", *n), {}, true});
        if (host_ && isShared(names[chosen])) learn(state, {kSet + names[chosen], {}, true});
        addState(out, std::move(state));
      }
    }
    return out;
  }

  // Whose assignment changes what `name` is. Paths of host functions are names as a whole.
  std::string base(const std::string& name) const { return host_ ? name : name.substr(0, name.find_first_of(".[")); }
  void forgetTargets(const Statement& s, LockStateSet& states) {
    for (LockState& state : states)
      for (const std::string& v : s.into) forget(state, base(v), states_.keys);
  }

  // --- lock operations -----------------------------------------------------------------------------------------------------

  struct Alternative {
    std::optional<bool> result;
    LockState state;
    bool refused = false;  // a release inside has found nothing to release
    std::optional<std::int64_t> number = {};
  };

  // --- triggers ------------------------------------------------------------------------------------------------------------

  // ALTER TABLE t DISABLE TRIGGER x, as it counts for the statements behind it.
  void switchTriggers(const Event& e, LockStateSet& states) const {
    const Unit& u = program_.units[at(unit_)];
    if (e.ddl < 0 || at(e.ddl) >= u.ddl.size() || u.ddl[at(e.ddl)].kind != DdlKind::AlterTable) return;
    const Ddl& d = u.ddl[at(e.ddl)];
    for (const AlterAction& a : d.actions) {
      if (a.kind != AlterActionKind::DisableTrigger && a.kind != AlterActionKind::EnableTrigger) continue;
      const std::string relation = kDisabled + d.name;
      for (LockState& s : states) {
        if (a.column.name.empty()) std::erase_if(s.facts, [&](const Fact& f) { return f.text.starts_with(relation + "."); });
        learn(s, {a.column.name.empty() ? relation : relation + "." + a.column.name, {}, a.kind == AlterActionKind::DisableTrigger});
      }
    }
  }

  static bool isDisabled(const TriggerUse& t, const LockState& s) {
    if (known(s, kReplica) == true) return true;
    const auto alone = known(s, kDisabled + t.relation + "." + t.ddl->name);
    return alone ? *alone : known(s, kDisabled + t.relation) == true;
  }

  static bool isDeferred(const TriggerUse& t, const LockState& s) {
    if (!t.ddl->deferrable) return false;
    if (const auto set = known(s, kConstraints + " " + t.ddl->name)) return *set;
    if (const auto set = known(s, kConstraints)) return *set;
    return std::find(t.ddl->options.begin(), t.ddl->options.end(), "initially deferred") != t.ddl->options.end();
  }

  // True: the trigger does not run now. A deferred one is remembered where the end of the transaction is in view.
  static bool waits(const LockEvent& e, EventId id, LockState& s) {
    if (isDisabled(*e.trigger, s)) return true;
    if (!isDeferred(*e.trigger, s) || s.status == TransactionStatus::None) return false;
    if (s.status == TransactionStatus::Explicit || s.status == TransactionStatus::Implicit) learn(s, {kPending + std::to_string(id), {}, true});
    return true;
  }

  // Deferred triggers whose time has come.
  LockStateSet runPending(LockStateSet states) {
    for (const EventId id : result_.locks.events) {
      if (states_.event(id).trigger == nullptr) continue;
      const std::string pending = kPending + std::to_string(id);
      LockStateSet out;
      for (LockState& s : states) {
        if (known(s, pending) != true) {
          addState(out, std::move(s));
          continue;
        }
        LockState due = s;
        std::erase_if(due.facts, [&](const Fact& f) { return f.text == pending; });
        if (isDeferred(*states_.event(id).trigger, due) && !ending_) {
          addState(out, std::move(s));
          continue;
        }
        for (Alternative& a : performNow(id, std::move(due))) addState(out, std::move(a.state));
      }
      states = std::move(out);
    }
    return states;
  }

  // COMMIT and PREPARE TRANSACTION run what was deferred; no end of a transaction leaves anything of it.
  LockStateSet beforeEnd(TransactionVerb verb, LockStateSet states) {
    const bool commits = verb == TransactionVerb::Commit || verb == TransactionVerb::PrepareTransaction;
    if (commits && !routine_) {
      ending_ = true;
      states = runPending(std::move(states));
      ending_ = false;
    }
    if (commits || verb == TransactionVerb::Rollback || verb == TransactionVerb::RollbackTo)
      for (LockState& s : states)
        std::erase_if(s.facts, [&](const Fact& f) {
          return f.text.starts_with(kPending) || (f.text.starts_with(kConstraints) && verb != TransactionVerb::RollbackTo);
        });
    return states;
  }

  std::vector<Alternative> perform(EventId id, LockState s) {
    const LockEvent& e = states_.event(id);
    if (e.trigger == nullptr || !waits(e, id, s)) return performNow(id, std::move(s));
    std::vector<Alternative> later;
    later.push_back({std::nullopt, std::move(s)});
    return later;
  }

  std::vector<Alternative> performNow(EventId id, LockState s) {
    LockEvent& e = states_.events[at(id)];
    if (settled_ && record_) addState(e.before, s);
    std::vector<Alternative> out;
    const auto add = [&](std::optional<bool> result, LockState state) { out.push_back({result, std::move(state)}); };
    if (e.least == 0 && e.kind != LockEventKind::Release) add(std::nullopt, s);
    switch (e.kind) {
      case LockEventKind::Acquire: take(e, id, s), add(std::nullopt, std::move(s)); break;
      case LockEventKind::Try: {
        LockState refused = s;
        const bool possible = refuse(refused, e.key, e.lock->mode, states_.keys);
        take(e, id, s);
        if (possible && isReadUnseen(e)) {  // held or not, from here on
          LockStateSet both{std::move(s)};
          addState(both, std::move(refused), true);
          add(std::nullopt, std::move(both.front()));
          break;
        }
        add(true, std::move(s));
        if (possible) add(false, std::move(refused));
        break;
      }
      case LockEventKind::Release: {
        const Hold* h = e.key == kUnknownKey ? nullptr : s.find(e.key, e.lock->mode);
        const bool certain = (!relative_ || s.cleared == Happened::Yes) && e.key != kUnknownKey && states_.keys.at(e.key).exact;
        const bool can_free = !certain || (h != nullptr && h->hi > 0) || mayAlias(s, e.key, e.lock->mode);
        if (h == nullptr || h->lo <= 0) {
          LockState refused = s;
          if (h == nullptr) learnRefused(refused, e.key, e.lock->mode);
          out.push_back({false, std::move(refused), true});
        }
        if (can_free) {
          LockState freed = s;
          release(freed, e.key, e.lock->mode, relative_, states_.keys);
          if (e.least > 0 || releasesRows(e)) {
            add(true, std::move(freed));
          } else {  // `unlock(1) FROM t WHERE …`: perhaps
            LockStateSet both{s};
            addState(both, std::move(freed), true);
            add(true, std::move(both.front()));
          }
        }
        if (out.empty()) out.push_back({false, std::move(s), true});
        break;
      }
      case LockEventKind::ReleaseAll: releaseAll(s, relative_), add(std::nullopt, std::move(s)); break;
      case LockEventKind::Call: call(id, s, out); break;
    }
    return out;
  }

  // The host program looks at what a try function has answered, in a way that is not followed: no branch of its can be told from another.
  bool isReadUnseen(const LockEvent& e) const {
    if (!host_ || e.statement == nullptr || e.statement->host_call < 0 || asked_.contains(e.statement->host_call)) return false;
    const ResultUse use = function_.host[0].calls[at(e.statement->host_call)].result;
    return use == ResultUse::Read || use == ResultUse::Unknown;
  }

  // `unlock(t.id) FROM t`: the rows that were locked.
  bool releasesRows(const LockEvent& e) const {
    return e.kind == LockEventKind::Release && (e.key == kUnknownKey || !states_.keys.at(e.key).exact);
  }

  bool mayAlias(const LockState& s, KeyId key, LockMode mode) const {
    return std::any_of(s.holds.begin(), s.holds.end(),
                       [&](const Hold& h) { return h.mode == mode && h.hi > 0 && states_.keys.alias(h.key, key) != Alias::No; });
  }

  void take(const LockEvent& e, EventId id, LockState& s) {
    acquire(s, {e.key, e.lock->mode, e.lock->scope, e.least, e.most, id, e.cursor}, states_.keys);
    if (keepsSnapshot(s)) s.stale.add(id);
  }
  bool keepsSnapshot(const LockState& s) const { return (s.repeatable_read && s.status == TransactionStatus::Explicit) || stable_; }

  void call(EventId id, const LockState& s, std::vector<Alternative>& out) {
    const LockSummary& summary = reader_.summary(id);
    result_.summary.works |= summary.works;
    const bool waits = std::any_of(summary.acquires.begin(), summary.acquires.end(), [](const InnerAcquisition& a) { return a.blocks; });
    for (const LockOutcome& o : summary.outcomes) {
      if (host_ && refuses(o, summary, s)) continue;
      std::optional<LockState> after = afterCall(o, id, s);
      if (!after) continue;
      if (waits && keepsSnapshot(*after)) after->stale.add(id);
      if (summary.works)
        after->holds.changeAll([](Hold& h) {
          if (h.mayHold() && h.worked.empty()) h.worked.add(kSomething);
        });
      out.push_back({o.result, std::move(*after), !o.refused.empty() && onlyReleasesLess(o, summary), o.number});
    }
  }

  // But for releases that have found nothing the callee does the same on another way.
  static bool onlyReleasesLess(const LockOutcome& o, const LockSummary& summary) {
    return std::any_of(summary.outcomes.begin(), summary.outcomes.end(), [&](const LockOutcome& other) {
      if (!other.refused.empty() || other.cleared != o.cleared || other.ended != o.ended) return false;
      const auto isRelease = [](const LockEffect& e) { return e.lo < 0 && e.hi <= 0 && e.floor_hi <= 0 && !e.may; };
      const auto others = std::count_if(other.effects.begin(), other.effects.end(), [&](const LockEffect& e) { return !isRelease(e); });
      return others == static_cast<std::ptrdiff_t>(o.effects.size()) && std::all_of(o.effects.begin(), o.effects.end(), [&](const LockEffect& e) {
               return std::find(other.effects.begin(), other.effects.end(), e) != other.effects.end();
             });
    });
  }

  // A release has answered false: the caller does not have the lock.
  void learnRefused(LockState& s, KeyId key, LockMode mode) const {
    if (!relative_ || s.cleared != Happened::No || key == kUnknownKey || !states_.keys.at(key).exact) return;
    const std::pair lock(key, mode);
    const auto at = std::lower_bound(s.refused.begin(), s.refused.end(), lock);
    if (at == s.refused.end() || *at != lock) s.refused.insert(at, lock);
  }

  // What one way through a callee makes of a state; nothing where the state cannot be what that way has found.
  std::optional<LockState> afterCall(const LockOutcome& o, EventId id, LockState s) {
    if (host_ && !finds(o, id, s)) return std::nullopt;
    for (const auto& [key, mode] : o.refused) {
      const Hold* h = s.find(key, mode);
      if (h != nullptr && (h->lo > 0 || h->floor_lo > 0)) return std::nullopt;  // it is held
      if (h == nullptr) learnRefused(s, key, mode);
    }
    applyCleared(s, o.cleared, relative_);
    if (o.ended == Happened::Yes) {
      if (host_) endsHostTransaction(s, o.undone ? Loss::Rollback : Loss::Commit, states_.event(id).range);
      else endsTransaction(s, Loss::Commit, states_.event(id).range);
    }
    if (o.ended == Happened::Perhaps) perhapsEndTransaction(s);
    for (const LockEffect& effect : o.effects) apply(s, effect, id, relative_, states_.keys);
    if (host_) leaves(o, id, s);
    return s;
  }
  LockStateSet afterCall(const std::vector<LockOutcome>& outcomes, EventId id, const LockStateSet& states) {
    LockStateSet out;
    for (const LockState& s : states)
      for (const LockOutcome& o : outcomes)
        if (std::optional<LockState> after = afterCall(o, id, s)) addState(out, std::move(*after));
    return out;
  }

  // All lock calls of an expression or statement, in written order, whatever they answer.
  LockStateSet runEvent(EventId id, const LockStateSet& states) {
    LockStateSet out;
    for (const LockState& s : states) {
      std::vector<Alternative> alternatives = perform(id, s);
      // An unlock whose answer nobody looks at: if it can have freed the lock, it has.
      const auto refused = [](const Alternative& a) { return a.refused; };
      if (!std::all_of(alternatives.begin(), alternatives.end(), refused)) std::erase_if(alternatives, refused);
      for (Alternative& a : alternatives) addState(out, std::move(a.state));
    }
    return out;
  }
  LockStateSet run(LockStateSet states, const Expr& e) {
    std::vector<EventId> ids;
    struct V {
      const Flow& flow;
      std::vector<EventId>& ids;
      void onExpr(const Expr& x, const QueryLevels&) {
        if (x.kind != ExprKind::Call) return;
        if (const EventId id = flow.eventOf(x); id >= 0) ids.push_back(id);
      }
    } v{*this, ids};
    QueryWalker<V>(v).expr(e);
    for (const EventId id : ids) states = runEvent(id, states);
    return states;
  }
  LockStateSet runAll(LockStateSet states, const Statement& s) {
    if (const auto* events = eventsOf(s))
      for (const EventId id : *events) states = runEvent(id, states);
    return states;
  }

  // The states in which `e` comes out as `value`.
  LockStateSet assume(const LockStateSet& states, const Expr& e, bool value) {
    switch (e.kind) {
      case ExprKind::Const:
        if (const auto constant = booleanConstant(e); constant && *constant != value) return {};
        return states;
      case ExprKind::Not:
        if (e.args.size() == 1) return assume(states, e.args[0], !value);
        break;
      case ExprKind::And: return chain(states, e.args, 0, value, true);
      case ExprKind::Or: return chain(states, e.args, 0, value, false);
      case ExprKind::BoolTest:
        if (e.args.size() == 1 && (e.text == "true" || e.text == "false"))
          return assume(states, e.args[0], ((e.text == "true") != e.negated) == value);
        break;
      case ExprKind::Cast:
        if (e.args.size() == 1 && e.type == "boolean") return assume(states, e.args[0], value);
        break;
      case ExprKind::Coalesce:
        if (e.args.size() == 2 && booleanConstant(e.args[1])) return assume(states, e.args[0], value);
        break;
      case ExprKind::SubSelect:
        if (tellsSomething(e)) return assume(states, e.query[0].targets[0].expr, value);
        break;
      case ExprKind::Op:
      case ExprKind::Distinct:
        if (const auto compared = comparison(e)) return assume(states, *compared->first, compared->second == value);
        break;
      case ExprKind::Call:
        if (hasResult(e)) return assumeCall(states, eventOf(e), value);
        break;
      default: break;
    }
    return assumeText(run(states, e), e, value);
  }

  // e = true, e <> false, e IS NOT DISTINCT FROM true: what is tested, and the value that makes the comparison true.
  static std::optional<std::pair<const Expr*, bool>> comparison(const Expr& e) {
    if (e.args.size() != 2) return std::nullopt;
    bool equal = e.kind == ExprKind::Distinct ? e.negated : e.name == "=";
    if (e.kind == ExprKind::Op && e.name != "=" && e.name != "<>" && e.name != "!=") return std::nullopt;
    for (const std::size_t i : {0U, 1U}) {
      const auto constant = booleanConstant(e.args[i]);
      const Expr& other = e.args[1 - i];
      const bool boolean = other.kind == ExprKind::Column || other.kind == ExprKind::Call || other.kind == ExprKind::SubSelect;
      if (constant && boolean && (e.args[i].literal == LiteralKind::Boolean || e.args[i].text.size() > 1 || other.kind == ExprKind::Call))
        return std::pair(&other, equal == *constant);
    }
    return std::nullopt;
  }

  // AND (`conjunction`) and OR from operand i on: the first operands that decide end it.
  LockStateSet chain(const LockStateSet& states, const List<Expr>& args, std::size_t i, bool value, bool conjunction) {
    if (i >= args.size() || states.empty()) return value == conjunction ? states : LockStateSet{};
    LockStateSet out;
    if (value == conjunction) return chain(assume(states, args[i], value), args, i + 1, value, conjunction);
    for (LockState& s : assume(states, args[i], value)) addState(out, std::move(s));
    for (LockState& s : chain(assume(states, args[i], !value), args, i + 1, value, conjunction)) addState(out, std::move(s));
    return out;
  }

  LockStateSet assumeCall(const LockStateSet& states, EventId id, bool value) {
    LockStateSet out;
    for (const LockState& s : states)
      for (Alternative& a : perform(id, s)) {
        if (a.result && *a.result != value) continue;
        if (host_) answers(id, a);
        addState(out, std::move(a.state));
      }
    return out;
  }

  void answers(EventId id, Alternative& a) const {
    const Statement* s = states_.event(id).statement;
    if (s == nullptr || s->kind != StatementKind::HostCall) return;
    const std::string answer = hostAnswer(s->host_call);
    forgetNumbers(a.state, answer);
    if (a.number) learn(a.state, {hostNumber(answer, "=", *a.number), {}, true});
  }

  LockStateSet assumeText(LockStateSet states, const Expr& e, bool value) {
    std::vector<std::string> names;
    const std::string text = factText(e, names);
    if (text.empty()) return states;
    std::sort(names.begin(), names.end());
    const bool shared = host_ && e.kind == ExprKind::Column && isShared(text);
    LockStateSet out;
    for (LockState& s : states) {
      const auto settled = known(s, text);
      if (settled ? *settled != value : host_ && !value && leadsToSession(text) && !withoutSession(s)) continue;
      learn(s, {text, names, value});
      if (shared && !known(s, kSet + text)) learn(s, {kFound + text, {}, value});
      addState(out, std::move(s));
    }
    return out;
  }

  // What is tested is the session's handle itself, or owns it: where it is null there is no session, and nothing is held on it. Another
  // pointer to it (a guard's, of the connection that it was given) says nothing, nor does one that was set to null.
  bool leadsToSession(std::string_view tested) const { return leadsTo(candidate_.session, tested); }
  static bool leadsTo(std::string_view session, std::string_view tested) {
    if (tested.ends_with('?')) tested.remove_suffix(1);
    return isWithin(session, tested);
  }
  // False: that cannot be, for a lock is held.
  static bool withoutSession(LockState& s) {
    if (std::any_of(s.holds.begin(), s.holds.end(), [](const Hold& h) { return h.mustHold(); })) return false;
    s.holds.clear();
    return true;
  }

  // --- transactions and settings -------------------------------------------------------------------------------------------

  TransactionStatus idle(const LockState& s) const {
    if (const auto begins = known(s, kBegins)) return *begins ? TransactionStatus::Explicit : TransactionStatus::Unknown;
    if (const auto string = known(s, kString)) return *string ? TransactionStatus::Implicit : TransactionStatus::None;
    if (host_) return TransactionStatus::None;
    const RunnerFacts& runner = program_.units[at(unit_)].runner;
    const bool psql = known(s, kPsql) == true;  // a process of its own, in a shell script
    return runner.transaction == TransactionMode::Unknown && !psql ? TransactionStatus::Unknown : TransactionStatus::None;
  }

  // False: control does not go on behind it.
  bool transaction(const TransactionOp& op, LockState& s) {
    if (routine_) return plTransaction(op, s);
    switch (op.verb) {
      case TransactionVerb::Begin:
        s.status = TransactionStatus::Explicit;
        s.timeouts.begin();
        learn(s, {kWrapped, {}, !op.name.empty()});
        s.repeatable_read = op.isolation.empty() ? known(s, kSnapshotDefault) == true : op.isolation == "repeatable read";
        break;
      case TransactionVerb::SetTransaction:
        if (!op.isolation.empty()) s.repeatable_read = op.isolation == "repeatable read";
        break;
      case TransactionVerb::Commit:
      case TransactionVerb::Rollback: {
        const bool keeps_snapshot = s.repeatable_read;
        endsTransaction(s, op.chain ? Loss::Chain : op.verb == TransactionVerb::Commit ? Loss::Commit : Loss::Rollback, op.range);
        s.stale.clear();
        if (op.verb == TransactionVerb::Commit) runHeldCursors(op, s);
        if (op.chain) s.repeatable_read = keeps_snapshot;
        else s.status = idle(s);
        if (!op.chain && !wrapped() && known(s, kWrapped) != true && !(host_ && op.verb == TransactionVerb::Commit)) std::erase_if(s.lost, [](const LostLock& l) { return l.how == Loss::Commit || l.how == Loss::Rollback; });
        break;
      }
      case TransactionVerb::PrepareTransaction:
        endsTransaction(s, Loss::Prepare, op.range);
        workAfter(Loss::Prepare, op.range, s);
        std::erase_if(s.lost, [](const LostLock& l) { return l.how == Loss::Prepare; });
        s.status = idle(s);
        break;
      case TransactionVerb::Savepoint: pushLevel(s, op.name); break;
      case TransactionVerb::Release:
        if (const std::size_t level = findLevel(s, op.name); level > 0)
          while (s.levels.size() >= level) popLevel(s);
        break;
      case TransactionVerb::RollbackTo:
        if (const std::size_t level = findLevel(s, op.name); level > 0) {
          dropLevels(s, level, level, Loss::Savepoint, op.range, -1);
          if (s.status == TransactionStatus::Failed) {
            for (LostLock& l : s.lost)
              if (l.how == Loss::Savepoint) l.where = op.range;  // what the error has taken away is gone for good here
            s.status = TransactionStatus::Explicit;
          }
        } else {
          s.holds.changeAll([](Hold& h) { h.must = 0; });
        }
        break;
      case TransactionVerb::CommitPrepared:
      case TransactionVerb::RollbackPrepared: break;
    }
    if (s.status != TransactionStatus::Explicit && s.status != TransactionStatus::Failed)
      std::erase_if(s.lost, [](const LostLock& l) { return l.how == Loss::Savepoint; });
    return true;
  }

  // COMMIT reads cursors WITH HOLD to their end.
  void runHeldCursors(const TransactionOp& op, LockState& s) {
    for (const EventId id : result_.locks.events) {
      const LockEvent& e = states_.event(id);
      if (e.statement->kind == StatementKind::DeclareCursor && e.acquires() && e.lock->scope == LockScope::Session && e.statement->range.begin < op.range.begin)
        take(e, id, s);
    }
  }

  // The runner has opened the transaction of the file: a COMMIT in the file ends it.
  bool wrapped() const { return program_.units[at(unit_)].runner.transaction == TransactionMode::OnePerFile && !beginsItself(); }
  bool beginsItself() const {
    for (const Block& b : function_.blocks)
      for (const Event& e : b.events)
        for (const TransactionOp& t : e.transaction)
          if (t.verb == TransactionVerb::Begin) return true;
    return false;
  }

  bool plTransaction(const TransactionOp& op, LockState& s) {
    if (op.verb != TransactionVerb::Commit && op.verb != TransactionVerb::Rollback) return true;
    if (!s.levels.empty()) {  // refused inside of a block with EXCEPTION
      raise({s}, WayOutKind::ErrorIn, op.range);
      return false;
    }
    endsTransaction(s, op.verb == TransactionVerb::Commit ? Loss::Commit : Loss::Rollback, op.range);
    return true;
  }

  // In a routine, and in a host function on a session that it was given: that of its caller too.
  void endsTransaction(LockState& s, Loss how, const SourceRange& range) const {
    endTransaction(s, how, range);
    if (relative_) s.ended = Happened::Yes, s.undone = host_ && how == Loss::Rollback;
  }
  // Of a host function: what is gone with it is of interest where the work was kept.
  void endsHostTransaction(LockState& s, Loss how, const SourceRange& range) const {
    endsTransaction(s, how, range);
    std::erase_if(s.lost, [](const LostLock& l) { return l.how != Loss::Commit; });
    s.stale.clear();
    s.status = TransactionStatus::None;
  }
  // Another session from here on, or none: nothing of the old one is held, whatever the caller had.
  void leavesSession(LockState& s, const SourceRange& range) const {
    leaveSession(s, range);
    if (relative_) s.cleared = s.ended = Happened::Yes, s.undone = true;
  }

  // "5s", "0", "0 ms"; what is not a constant is not known.
  static TimeoutValue timeoutValue(const std::string& value) {
    const std::size_t digit = value.find_first_of("0123456789");
    if (digit == std::string::npos || value.find_first_of("$%:{?") != std::string::npos) return TimeoutValue::Unknown;
    const std::size_t end = value.find_first_not_of("0123456789.", digit);
    return value.substr(digit, end == std::string::npos ? end : end - digit).find_first_not_of("0.") == std::string::npos ? TimeoutValue::Off : TimeoutValue::On;
  }
  // By the options in a connection string.
  static void givenTimeouts(const std::string& connection, LockState& s) {
    for (const auto& [name, value] : settingsOf(connectionTarget(connection)))
      if (name.empty()) s.timeouts = Timeouts::all(TimeoutValue::Unknown);
      else if (const auto timeout = Timeouts::indexOf(name)) s.timeouts.set(*timeout, timeoutValue(value), SettingScope::Session, TransactionStatus::None);
  }
  // What a session of this file begins with.
  TimeoutValue byDefault() const {
    return routine_ || !program_.units[at(unit_)].runner.fresh_session ? TimeoutValue::Unknown : TimeoutValue::Off;
  }

  // psql's own variable. What is open stays open until it is committed.
  void autocommit(const std::string& value, LockState& s) const {
    std::erase_if(s.facts, [](const Fact& f) { return f.text == kBegins; });
    if (value != "on") learn(s, {kBegins, {}, value == "off"});
    if (s.status == TransactionStatus::None) s.status = idle(s);
    else if (value != "off" && s.status == TransactionStatus::Explicit && s.holds.empty()) s.status = TransactionStatus::Unknown;  // nothing may have been sent yet
  }

  void setting(const Setting& set, LockState& s) const {
    if (set.name == ":AUTOCOMMIT") return autocommit(set.value, s);
    const std::optional<std::size_t> timeout = Timeouts::indexOf(set.name);
    const bool inside = routine_ && function_.kind != FunctionKind::HostFunction;  // a transaction is open
    const TransactionStatus status = inside ? TransactionStatus::Explicit : s.status;
    if (timeout && set.scope != SettingScope::Reset) s.timeouts.set(*timeout, timeoutValue(set.value), set.scope, status);
    if (set.scope == SettingScope::Reset)
      for (std::size_t i = 0; i < s.timeouts.now.size(); ++i)
        if (timeout == i || set.name == "all") s.timeouts.set(i, byDefault(), SettingScope::Session, status);
    if (set.name == "session_replication_role") learn(s, {kReplica, {}, set.scope != SettingScope::Reset && set.value == "replica"});
    if (set.name.starts_with("constraints")) {
      if (set.name == "constraints") std::erase_if(s.facts, [](const Fact& f) { return f.text.starts_with(kConstraints); });
      learn(s, {"#" + set.name, {}, set.value == "deferred"});
    }
    if (set.name == "default_transaction_isolation")
      learn(s, {kSnapshotDefault, {}, set.value == "repeatable read"});
  }

  template <class F>
  static void keepBegins(LockState& s, F&& change) {
    const auto begins = known(s, kBegins);
    change();
    if (begins) learn(s, {kBegins, {}, *begins});
  }

  bool session(const SessionOp& op, LockState& s) {
    switch (op.verb) {
      case SessionVerb::Reconnect:
        s.timeouts = Timeouts::all(known(s, kPsql) == true ? TimeoutValue::Unknown : byDefault());  // PGOPTIONS stays in force
        for (const auto& [name, value] : settingsOf(connectionTarget(op.text)))
          if (Timeouts::indexOf(name)) s.timeouts = Timeouts::all(TimeoutValue::Unknown);
        keepBegins(s, [&] { leaveSession(s, op.range); });
        s.status = idle(s);
        break;
      case SessionVerb::Start:  // a psql of its own
      case SessionVerb::End:
        leaveSession(s, op.range);
        s.lost.clear();
        s.timeouts = Timeouts::all(byDefault());
        givenTimeouts(op.text, s);
        learn(s, {kPsql, {}, op.verb == SessionVerb::Start});
        s.status = idle(s);
        break;
      case SessionVerb::StringBegin:
        learn(s, {kString, {}, true});
        if (s.status == TransactionStatus::None) s.status = TransactionStatus::Implicit;
        break;
      case SessionVerb::StringEnd:
        learn(s, {kString, {}, false});
        if (s.status == TransactionStatus::Unknown)
          s.holds.changeAll([](Hold& h) { h.must = 0; });
        if (s.status != TransactionStatus::Implicit) break;
        endTransaction(s, Loss::StatementEnd, op.range);
        std::erase_if(s.lost, [](const LostLock& l) { return l.how == Loss::StatementEnd; });
        s.status = TransactionStatus::None;
        break;
      case SessionVerb::DiscardAll:
        releaseAll(s, relative_);
        s.timeouts = Timeouts::all(byDefault());
        break;
      case SessionVerb::Quit: return false;
      case SessionVerb::Include:  // another file's statements: they may take and release
        workAfter(Loss::StatementEnd, op.range, s);
        s.holds.changeAll([](Hold& h) { h.lo = std::min(h.lo, 0), h.floor_lo = 0, h.must = 0; });
        s.lost.clear();
        s.timeouts = Timeouts::all(TimeoutValue::Unknown);
        break;
      case SessionVerb::Outside: noteWait(op.range, op.text, false, {s}); break;
    }
    return true;
  }

  // --- host functions --------------------------------------------------------------------------------------------------------

  // A variable that the caller has too, as a path.
  static bool isShared(const std::string& name) {
    if (name.starts_with("return.=")) return false;  // LockOutcome::number
    return isWithin(name, "this") || name.starts_with("parameter ") || name.starts_with("global ") || isWithin(name, "return");
  }

  bool onSession(std::int32_t call) {
    const auto [known_call, fresh] = on_session_.try_emplace(call, false);
    if (!fresh) return known_call->second;
    return known_call->second = reader_.onSession(candidate_, call);
  }

  // A closure that may run at any time from here on: what it takes may be held, and what it releases may be free.
  LockStateSet deferred(const Statement& s, LockStateSet states) {
    const auto* events = eventsOf(s);
    for (LockState& state : states) {
      if (events != nullptr)
        for (const EventId id : *events)
          for (const LockOutcome& o : reader_.summary(id).outcomes) {
            if (o.cleared != Happened::No) applyCleared(state, Happened::Perhaps, relative_);
            for (const LockEffect& e : o.effects) apply(state, perhaps(e), id, relative_, states_.keys);
            if (o.status != state.status && o.status != TransactionStatus::Unknown) state.status = TransactionStatus::Unknown;
          }
      forgetAssigned(s.host_call, state);
    }
    return states;
  }

  // Something that happens on another session, or on none: it may throw, and may assign what was settled.
  LockStateSet elsewhere(std::int32_t call, const Event& e, LockStateSet states) {
    if (!e.statement.empty() && eventsOf(e.statement[0]) != nullptr) return statement(e, e.statement[0], std::move(states));
    if (reader_.paths().mayThrow(function_, call)) raise(states, WayOutKind::ErrorIn, function_.host[0].calls[at(call)].range);
    for (LockState& s : states) forgetAssigned(call, s);
    return states;
  }

  void findTested() {
    const auto visit = [&](const auto& self, const HostTruth& t) -> void {
      if (t.kind == HostTruthKind::Success || (t.kind == HostTruthKind::Rows && !function_.host[0].calls[at(t.call)].throws)) tested_.insert(t.call);
      if (t.kind == HostTruthKind::Answer) asked_.insert(t.call);
      for (const HostTruth& a : t.args) self(self, a);
    };
    for (const HostStep& s : function_.host[0].steps) visit(visit, s.truth);
  }

  // libpq tells errors by the result's status: nothing is taken, and a transaction has failed.
  LockStateSet failures(const Statement& s, LockStateSet states) {
    const std::string success = hostSuccess(s.host_call);
    LockStateSet failed;
    for (LockState& state : states) {
      if (onlyReleases(s) && state.status != TransactionStatus::Failed) {  // releases do not fail, by decision: the session is gone
        const bool record = std::exchange(record_, false);
        for (LockState& released : runAll({state}, s)) learn(released, {success, {success}, false}), addState(failed, std::move(released));
        record_ = record;
        continue;
      }
      LockState f = state;
      const bool string = known(state, kString) == true;  // the rest of it is skipped
      if (!string && (state.status == TransactionStatus::None || state.status == TransactionStatus::Unknown))
        if (const LockStateSet without = withoutLock(s, {state}); !without.empty()) f = without.front();
      learn(f, {success, {success}, false});
      forget(f, hostAnswer(s.host_call), states_.keys);
      if (f.status == TransactionStatus::Explicit) {
        // In a savepoint: gone for good if the work goes on after ROLLBACK TO. Otherwise the transaction only ends.
        dropLevels(f, f.levels.size(), f.levels.size(), Loss::Savepoint, s.range, -1);
        if (f.levels.empty()) f.lost = state.lost;
        f.status = TransactionStatus::Failed;
      }
      addState(failed, std::move(f));
    }
    return failed;
  }

  bool onlyReleases(const Statement& s) const {
    const auto* events = eventsOf(s);
    return events != nullptr && std::all_of(events->begin(), events->end(), [&](EventId id) {
             const LockEventKind kind = states_.event(id).kind;
             return kind == LockEventKind::Release || kind == LockEventKind::ReleaseAll;
           });
  }

  // The states after a lock call that waited and failed: each remembers what it did not get.
  LockStateSet withoutLock(const Statement& s, const LockStateSet& states) const {
    LockStateSet failed;
    const auto* events = eventsOf(s);
    if (events == nullptr) return failed;
    for (const EventId id : *events) {
      const LockEvent& e = states_.event(id);
      if (e.kind != LockEventKind::Acquire || e.key == kUnknownKey) continue;
      for (LockState state : states) {
        Hold hold;
        hold.key = e.key, hold.mode = e.lock->mode, hold.taken.add(id);
        if (state.lost.size() < kMostLosses) state.lost.push_back({Loss::Failure, hold, s.range, -1});
        failed.push_back(std::move(state));
      }
    }
    return failed;
  }

  // libpq, and nobody looks at the result: outside of a transaction the next statement runs whatever became of this one.
  LockStateSet dropped(const Statement& s, const LockStateSet& states) const {
    LockStateSet outside = states;
    std::erase_if(outside, [](const LockState& state) { return state.status != TransactionStatus::None; });
    return withoutLock(s, outside);
  }

  LockStateSet hostCall(std::int32_t index, LockStateSet states) {
    const HostCall& c = function_.host[0].calls[at(index)];
    if (c.kind == HostCallKind::Execute) {  // text that a caller knows
      if (reader_.paths().mayThrow(function_, index)) raise(states, WayOutKind::ErrorIn, c.range);
      result_.summary.works = true;
    }
    if (c.kind == HostCallKind::Commit) states = beforeEnd(TransactionVerb::Commit, std::move(states));
    for (LockState& s : states) hostCall(c, s);  // BEGIN, COMMIT and the like raise nothing, by decision
    return states;
  }

  void hostCall(const HostCall& c, LockState& s) {
    switch (c.kind) {
      case HostCallKind::Begin:
        s.status = TransactionStatus::Explicit;
        s.repeatable_read = c.name == "repeatable read" || c.name == "serializable";
        break;
      case HostCallKind::Autocommit: s.status = TransactionStatus::None; break;
      case HostCallKind::Commit: endsHostTransaction(s, Loss::Commit, c.range); break;
      case HostCallKind::Rollback:
        if (s.status != TransactionStatus::None) endsHostTransaction(s, Loss::Rollback, c.range);
        break;
      case HostCallKind::Savepoint: pushLevel(s, c.name); break;
      case HostCallKind::Release:
        if (const std::size_t level = innermost(c, s); level > 0)
          while (s.levels.size() >= level) popLevel(s);
        break;
      case HostCallKind::RollbackTo:
        if (const std::size_t level = innermost(c, s); level > 0) {
          dropLevels(s, level, level, Loss::Savepoint, c.range, -1);
          if (s.status == TransactionStatus::Failed) s.status = TransactionStatus::Explicit;
        }
        break;
      case HostCallKind::Connect:
      case HostCallKind::Obtain:
      case HostCallKind::Disconnect:
      case HostCallKind::Reset:
        leavesSession(s, c.range);
        s.lost.clear();
        s.status = TransactionStatus::None;
        s.timeouts = Timeouts::all(c.kind == HostCallKind::Obtain ? TimeoutValue::Unknown : TimeoutValue::Off);
        if (c.kind == HostCallKind::Connect) givenTimeouts(HostConnections::textOf(c), s);
        break;
      case HostCallKind::GiveBack:  // with whatever it holds
      case HostCallKind::Execute:
      case HostCallKind::Prepare:
      case HostCallKind::ExecutePrepared:
      case HostCallKind::Function:
      case HostCallKind::Wait: break;
    }
  }

  // The level of a subtransaction, which need not say its name again when it ends: the innermost.
  static std::size_t innermost(const HostCall& c, const LockState& s) { return c.name.empty() ? s.levels.size() : findLevel(s, c.name); }

  // What a callee may have assigned is not settled any more. One that is not seen leaves handles where they are, by decision: objects are of
  // the class that they were.
  void forgetAssigned(std::int32_t call, LockState& s) {
    const bool seen = !reader_.paths().targets(function_.host[0].calls[at(call)]).empty();
    for (const std::string& root : reader_.paths().assignedBy(function_, call))
      std::erase_if(s.facts, [&](const Fact& f) {
        if (f.names.empty()) return false;
        return f.text.find(kHostClass) == std::string::npos ? isWithin(f.text, root) : seen && std::find(f.names.begin(), f.names.end(), root) != f.names.end();
      });
  }

  // Whether the state can be what this way through the callee has found.
  bool finds(const LockOutcome& o, EventId id, LockState& s) {
    for (const Fact& f : o.found) {
      const std::string here = inCaller(f.text, id);
      if (here.empty()) continue;
      const auto settled = known(s, here);
      const bool session = leadsToSession(here) || (isWithin(here, candidate_.session) && leadsTo(reader_.candidates()[at(states_.event(id).summary)].session, f.text));
      if (settled ? *settled != f.value : !f.value && session && !withoutSession(s)) return false;
      learn(s, {here, {here}, f.value});
      if (isShared(here) && !known(s, kSet + here)) learn(s, {kFound + here, {}, f.value});
    }
    return true;
  }

  // "false" of a callee that releases: it cannot be where the lock is certainly held.
  static bool refuses(const LockOutcome& o, const LockSummary& summary, const LockState& s) {
    if (o.result != false) return false;
    return std::any_of(summary.outcomes.begin(), summary.outcomes.end(), [&](const LockOutcome& other) {
      return other.result == true && std::any_of(other.effects.begin(), other.effects.end(), [&](const LockEffect& e) {
               if (e.hi >= 0 || e.key == kUnknownKey) return false;
               const Hold* h = s.find(e.key, e.mode);
               const bool touched = std::any_of(o.effects.begin(), o.effects.end(), [&](const LockEffect& x) { return x.key == e.key && x.mode == e.mode; });
               return h != nullptr && h->lo > 0 && !touched;
             });
    });
  }

  void leaves(const LockOutcome& o, EventId id, LockState& s) {
    if (o.status != TransactionStatus::Unknown) s.status = o.status;
    forgetAssigned(states_.event(id).statement->host_call, s);
    for (const Fact& f : o.left) {
      const std::string here = inCaller(f.text, id);
      if (here.empty()) continue;
      learn(s, {here, {here}, f.value});
      if (isShared(here)) learn(s, {kSet + here, {}, true});
    }
  }

  // What a call leaves behind when an exception comes out of it.
  LockStateSet raisedIn(const Statement& s, const LockStateSet& states) {
    const auto* events = eventsOf(s);
    if (events == nullptr) return states;
    LockStateSet out = states;
    for (const EventId id : *events) {
      const LockSummary& summary = reader_.summary(id);
      if (!summary.raised.empty()) out = afterCall(summary.raised, id, out);
    }
    return out;
  }

  // A statement that fails: before, after some of its calls, or inside of one.
  LockStateSet failedWithin(const Statement& s, const LockStateSet& states) {
    const auto* events = eventsOf(s);
    if (events == nullptr) return states;
    LockStateSet failed = states, reached = states;
    const bool record = std::exchange(record_, false);
    for (const EventId id : *events) {
      if (states_.event(id).kind == LockEventKind::Call)
        for (LockState& inside : afterCall(reader_.summary(id).raised, id, reached)) addState(failed, std::move(inside));
      reached = runEvent(id, reached);
      for (const LockState& state : reached) addState(failed, state);
    }
    record_ = record;
    return failed;
  }

  std::string inCaller(const std::string& path, EventId id) {
    const LockEvent& e = states_.event(id);
    return e.statement->kind == StatementKind::HostCall ? reader_.paths().throughCall(path, function_, e.statement->host_call) : std::string();
  }

  // --- errors and ways out ---------------------------------------------------------------------------------------------------

  static bool catchesAll(const ExceptionHandler& h) { return std::find(h.conditions.begin(), h.conditions.end(), "others") != h.conditions.end(); }
  static bool catchesCancellation(const ExceptionHandler& h) {
    return std::any_of(h.conditions.begin(), h.conditions.end(), [](const std::string& c) { return c == "query_canceled" || c == "sqlstate 57014"; });
  }
  static bool catchesTimeout(const ExceptionHandler& h) {
    return std::any_of(h.conditions.begin(), h.conditions.end(), [](const std::string& c) {
      return c == "others" || c == "lock_not_available" || c == "query_canceled" || c == "deadlock_detected" || c == "sqlstate 55P03" || c == "sqlstate 55p03";
    });
  }

  // An error in the current block: to the handlers of the scopes around it, and out of the function if none takes everything.
  void raise(const LockStateSet& states, WayOutKind kind, const SourceRange& range) {
    if (host_) {
      for (LockState s : states) {
        if (kind == WayOutKind::ErrorIn) s.raised = range;
        if (unwind_ >= 0) {
          arrive(unwind_, std::move(s));
          continue;
        }
        if (settled_) addOutcome(s, result_.summary.raised);
        const SourceRange from = s.raised.known() ? s.raised : range;
        wayOut(s.raised.known() ? WayOutKind::ErrorIn : kind, from, {std::move(s)});
      }
      return;
    }
    for (std::int32_t scope = scope_; scope >= 0 && at(scope) < function_.exception_scopes.size(); scope = function_.exception_scopes[at(scope)].parent) {
      bool all = false, cancellation = false;
      for (const ExceptionHandler& h : function_.exception_scopes[at(scope)].handlers) {
        for (const LockState& s : states) toHandler(s, scope, h, range);
        all |= catchesAll(h);
        cancellation |= catchesCancellation(h);
      }
      if (all && !cancellation && kind == WayOutKind::ErrorIn) wayOut(WayOutKind::Cancelled, range, states);
      if (all) return;
    }
    if (settled_ && routine_)
      for (const LockState& s : states) leavesByError(s, result_.summary.raised);
    wayOut(kind, range, states);
  }

  // The levels of the routine are gone then, with what they have taken.
  static void leavesByError(LockState s, std::vector<LockOutcome>& all) {
    s.holds.changeAll([](Hold& h) { h.may &= 1U, h.must &= 1U; });
    addOutcome(s, all);
  }

  // An error in the current block would change something: a handler is there, or a session lock that is left behind.
  bool raiseMatters(const LockStateSet& states) const {
    if (host_) return true;
    if (scope_ >= 0 && flowing_) return true;
    if (settled_ && routine_) return true;
    return settled_ && record_ && std::any_of(states.begin(), states.end(), holdsSession);
  }
  static bool holdsSession(const LockState& s) {
    return std::any_of(s.holds.begin(), s.holds.end(), [](const Hold& h) { return h.session(); });
  }

  void toHandler(LockState s, std::int32_t scope, const ExceptionHandler& h, const SourceRange& range) {
    if (!flowing_) return;
    if (const std::size_t level = findLevel(s, scopeName(scope)); level > 0)
      dropLevels(s, level, level - 1, Loss::Handler, range, scope);
    moveToScope(s, function_.blocks[at(h.block)].scope);
    arrive(h.block, std::move(s));
  }

  // A blocking lock call that gives up (lock_timeout, deadlock) where a handler waits for that.
  void failedAcquire(const LockStateSet& states, EventId id) {
    const LockEvent& e = states_.event(id);
    if (e.kind == LockEventKind::Call) return failedInCallee(states, id);
    if (e.kind != LockEventKind::Acquire || e.key == kUnknownKey) return;
    if (settled_ && routine_)
      for (const LockState& s : states) leavesByError(s, result_.summary.refused);
    atTimeoutHandler([&](std::int32_t scope, const ExceptionHandler& h) {
      for (LockState s : states) {
        Hold hold;
        hold.key = e.key, hold.mode = e.lock->mode, hold.taken.add(id);
        if (!scopeWorks(scope) && s.lost.size() < kMostLosses) s.lost.push_back({Loss::Failure, hold, h.range, scope});
        toHandler(std::move(s), scope, h, e.range);
      }
    });
  }

  // Likewise inside of a callee.
  void failedInCallee(const LockStateSet& states, EventId id) {
    const LockSummary& summary = reader_.summary(id);
    if (summary.refused.empty()) return;
    const LockStateSet failed = afterCall(summary.refused, id, states);
    if (settled_ && routine_)
      for (const LockState& s : failed) leavesByError(s, result_.summary.refused);
    atTimeoutHandler([&](std::int32_t scope, const ExceptionHandler& h) {
      for (const LockState& s : failed) toHandler(s, scope, h, states_.event(id).range);
    });
  }

  // Calls f for the innermost handler that takes a lock_timeout or a deadlock, if there is one.
  template <class F>
  void atTimeoutHandler(F&& f) {
    if (!flowing_) return;
    for (std::int32_t scope = scope_; scope >= 0 && at(scope) < function_.exception_scopes.size(); scope = function_.exception_scopes[at(scope)].parent)
      for (const ExceptionHandler& h : function_.exception_scopes[at(scope)].handlers)
        if (catchesTimeout(h)) return f(scope, h);
  }

  // Something besides locking is done in the blocks of the scope.
  bool scopeWorks(std::int32_t scope) {
    const auto [known, fresh] = scope_works_.try_emplace(scope, false);
    if (!fresh) return known->second;
    bool works = false;
    for (const Block& b : function_.blocks) {
      const std::vector<std::int32_t> chain = scopesOf(b.scope);
      if (std::find(chain.begin(), chain.end(), scope) == chain.end()) continue;
      for (const Event& e : b.events) works |= deed(e).work;
    }
    return known->second = works;
  }

  void leave(const Exit& exit, LockStateSet states) {
    if (exit.kind == ExitKind::Raise) {
      if (host_ && !exit.text.empty())  // throw: another exception than the one that led here
        for (LockState& s : states) s.raised = {};
      return raise(states, WayOutKind::Raise, exit.range);
    }
    returns(WayOutKind::Return, exit.range, std::move(states));
  }

  void returns(WayOutKind kind, const SourceRange& range, LockStateSet states) {
    for (LockState& s : states) {
      if (routine_)
        while (!s.levels.empty()) popLevel(s);
      if (settled_) addOutcome(s, result_.summary.outcomes);
    }
    wayOut(kind, range, states);
  }

  void wayOut(WayOutKind kind, const SourceRange& range, const LockStateSet& states) {
    if (!settled_ || !record_) return;
    LockStateSet holding;
    for (const LockState& s : states)
      if (holdsSession(s)) addState(holding, s);
    if (kind == WayOutKind::End || kind == WayOutKind::Return || !holding.empty())
      result_.locks.ways_out.push_back({kind, range, kind != WayOutKind::End && kind != WayOutKind::Return ? std::move(holding) : states});
  }

  static void addOutcome(const LockState& s, std::vector<LockOutcome>& all) {
    LockOutcome o;
    o.result = known(s, kResult), o.number = knownNumber(s, kReturn);
    for (const Hold& h : s.holds)
      if (o.effects.size() < kMostSummary) o.effects.push_back({h.key, h.mode, h.lo, h.hi, h.floor_lo, h.floor_hi, h.may != 0, h.must != 0});
    o.cleared = s.cleared, o.ended = s.ended, o.undone = s.undone, o.refused = s.refused;
    if (s.status != TransactionStatus::Failed) o.status = s.status;
    for (const Fact& f : s.facts) {
      if (f.text.starts_with(kFound)) o.found.push_back({f.text.substr(kFound.size()), {}, f.value});
      if (isShared(f.text)) o.left.push_back({f.text, {}, f.value});
    }
    if (std::find(all.begin(), all.end(), o) != all.end()) return;
    if (all.size() < kMostStates) return all.push_back(std::move(o));
    widen(all.back(), o);
  }

  // That, or nothing.
  static LockEffect perhaps(LockEffect e) {
    e.lo = std::min(e.lo, 0), e.hi = std::max(e.hi, 0), e.floor_lo = 0, e.must = false;
    return e;
  }

  static void widen(LockOutcome& into, const LockOutcome& o) {
    if (into.result != o.result) into.result.reset();
    if (into.number != o.number) into.number.reset();
    if (into.status != o.status) into.status = TransactionStatus::Unknown;
    if (into.cleared != o.cleared) into.cleared = Happened::Perhaps;
    if (into.ended != o.ended) into.ended = Happened::Perhaps;
    into.undone |= o.undone;
    const auto keepShared = [](std::vector<Fact>& facts, const std::vector<Fact>& others) {
      std::erase_if(facts, [&](const Fact& f) { return std::find(others.begin(), others.end(), f) == others.end(); });
    };
    keepShared(into.found, o.found), keepShared(into.left, o.left);
    std::erase_if(into.refused, [&](const auto& r) { return std::find(o.refused.begin(), o.refused.end(), r) == o.refused.end(); });
    for (const LockEffect& e : o.effects) {
      const auto same = std::find_if(into.effects.begin(), into.effects.end(), [&](const LockEffect& x) { return x.key == e.key && x.mode == e.mode; });
      if (same == into.effects.end()) {
        into.effects.push_back(perhaps(e));
        continue;
      }
      same->lo = std::min(same->lo, e.lo), same->hi = std::max(same->hi, e.hi);
      same->floor_lo = std::min(same->floor_lo, e.floor_lo), same->floor_hi = std::max(same->floor_hi, e.floor_hi);
      same->may |= e.may, same->must &= e.must;
    }
    for (LockEffect& e : into.effects)
      if (std::none_of(o.effects.begin(), o.effects.end(), [&](const LockEffect& x) { return x.key == e.key && x.mode == e.mode; }))
        e = perhaps(e);
  }

  // --- for the rules ---------------------------------------------------------------------------------------------------------

  bool inHandler(std::int32_t scope, const SourceRange& range) const {
    if (scope < 0) return false;
    for (const ExceptionHandler& h : function_.exception_scopes[at(scope)].handlers)
      if (h.range.contains(range)) return true;
    return false;
  }

  // UPDATE … WHERE id = p_id, where the key is p_id.
  bool onRowsOf(KeyId key, const Deed& deed) const {
    if (key == kUnknownKey || deed.rows_of.empty()) return false;
    return std::any_of(states_.keys.at(key).parts.begin(), states_.keys.at(key).parts.end(), [&](const Value& part) {
      const Value& v = stripCasts(part);
      const std::string& name = v.constant_name.empty() ? v.name : v.constant_name.str();
      const bool held = v.kind == ValueKind::Parameter || v.kind == ValueKind::Variable || !v.constant_name.empty();
      return held && !isKnown(v) && std::find(deed.rows_of.begin(), deed.rows_of.end(), name) != deed.rows_of.end();
    });
  }

  void noteLosses(const Deed& deed, const SourceRange& range, const LockStateSet& states) {
    if (!deed.work && !deed.writes) return;
    for (const LockState& s : states)
      for (const LostLock& l : s.lost) {
        if (s.status == TransactionStatus::Failed) break;  // nothing is done but raise another error
        WorkAfterLoss w{l, range, false, inHandler(l.scope, range)};
        for (const std::uint32_t n : deed.names)
          w.same_work |= l.hold.worked.has(n) && !(w.in_handler && leaves_ && states_.names[n].ends_with("()"));  // it records the failure
        w.same_work |= l.how == Loss::Handler && !w.in_handler && onRowsOf(l.hold.key, deed);
        std::vector<WorkAfterLoss>& all = result_.locks.after_loss;
        const auto known_loss = std::find_if(all.begin(), all.end(), [&](const WorkAfterLoss& x) {
          return x.lost.how == l.how && x.lost.where == l.where && x.lost.hold.key == l.hold.key && x.in_handler == w.in_handler;
        });
        if (known_loss == all.end()) all.push_back(std::move(w));
        else if (!known_loss->same_work && w.same_work) *known_loss = std::move(w);
      }
  }

  // What is done there, whatever it is, is done without the locks that were lost in that way.
  void workAfter(Loss how, const SourceRange& range, LockState s) {
    if (!settled_ || !record_) return;
    std::erase_if(s.lost, [&](const LostLock& l) { return l.how != how; });
    Deed work;
    work.work = true;
    noteLosses(work, range, {std::move(s)});
  }

  void noteWait(const SourceRange& range, std::string_view what, bool repeated, const LockStateSet& states) {
    if (!settled_ || !record_) return;
    LockStateSet holding;
    for (const LockState& s : states)
      if ((routine_ || s.status == TransactionStatus::Explicit) && std::any_of(s.holds.begin(), s.holds.end(), [](const Hold& h) { return h.mustHold(); }))
        addState(holding, s);
    if (!holding.empty()) result_.locks.waits.push_back({range, std::string(what), repeated, std::move(holding)});
  }

  void noteStale(EventId acquisition, const SourceRange& range) {
    auto& all = result_.locks.read_after;
    if (std::none_of(all.begin(), all.end(), [&](const auto& x) { return x.first == acquisition; })) all.emplace_back(acquisition, range);
  }

  const Program& program_;
  LockStates& states_;
  LockEvents& reader_;
  const LockEvents::Candidate& candidate_;
  const Function& function_;
  int unit_;
  bool host_ = false;      // a function of the host program
  bool routine_ = false;   // PL/pgSQL or SQL: a transaction around it, EXCEPTION blocks
  bool relative_ = false;  // counts start at what the caller holds
  bool stable_ = false;
  std::unordered_map<const Statement*, std::vector<EventId>> by_statement_;
  std::unordered_map<const Expr*, EventId> by_call_;
  std::unordered_set<std::int32_t> tested_, asked_;      // host calls whose success, whose answer something depends on
  std::unordered_map<std::int32_t, bool> on_session_;    // host calls
  const Statement* last_statement_ = nullptr;

  std::vector<LockStateSet> in_;
  std::vector<int> visits_;
  std::vector<bool> queued_;
  std::vector<std::int32_t> queue_;
  std::unordered_map<std::int32_t, std::vector<std::string>> loop_variables_;
  std::unordered_map<std::int32_t, bool> scope_works_;
  std::unordered_map<const Event*, Deed> deeds_;
  std::int32_t scope_ = -1, unwind_ = -1;   // of the block being run
  bool leaves_ = false;       // it ends the function
  bool flowing_ = true;       // what a block leaves goes on to others
  bool settled_ = false, record_ = false;
  bool ending_ = false;       // the transaction ends: what was deferred runs
  FlowResult result_;
};

}  // namespace

FlowResult flowLocks(const Program& program, LockStates& states, LockEvents& reader, const LockEvents::Candidate& candidate,
                     const std::vector<EventId>& events, bool record, const LockStateSet* entry) {
  return Flow(program, states, reader, candidate).run(events, record, entry);
}

}  // namespace pglocklint

#include "sql/host_sql.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "model/host_number.h"
#include "model/lock_function.h"
#include "model/visit.h"
#include "sql/dynamic_sql.h"
#include "sql/extern_constants.h"
#include "sql/front_end.h"
#include "sql/host_instances.h"
#include "sql/host_senders.h"
#include "sql/mapped_text.h"
#include "sql/virtual_calls.h"

namespace pglocklint::sql {
namespace {

const std::string kRows = "#rows ";

// A statement that a program prepares under a name.
struct Prepared {
  const Unit* unit = nullptr;
  const HostCall* call = nullptr;
  bool several = false;  // the name means different texts at different places
};
using PreparedStatements = std::map<std::string, Prepared>;

PreparedStatements preparedIn(const std::vector<Unit>& units) {
  PreparedStatements found;
  for (const Unit& u : units)
    for (const Function& f : u.functions)
      for (const HostCode& h : f.host)
        for (const HostCall& c : h.calls) {
          if (c.kind != HostCallKind::Prepare || c.name.empty() || c.texts.empty()) continue;
          const auto [at, fresh] = found.try_emplace(c.name, Prepared{&u, &c, false});
          if (!fresh && at->second.call->texts != c.texts) at->second.several = true;
        }
  return found;
}

std::string displayOf(const HostValue& v) {
  if (!v.constant.empty()) return v.constant;
  if (!v.name.empty() && v.args.empty()) return v.name;
  return v.args.size() == 1 ? displayOf(v.args[0]) : "…";
}

Expr parameterOf(std::string text, std::string name, const SourceRange& range) {
  Expr e;
  e.kind = ExprKind::Param, e.text = std::move(text), e.name = std::move(name), e.range = range;
  return e;
}

class UnitLowering {
 public:
  UnitLowering(Unit& unit, const PreparedStatements& prepared, const std::function<std::string(const std::string&)>& text)
      : unit_(unit), prepared_(prepared), text_(text) {}

  void run() {
    for (Function& f : unit_.functions)
      if (!f.host.empty()) function(f);
    for (Function& f : defined_) unit_.functions.push_back(std::move(f));
    std::sort(unit_.not_understood.begin(), unit_.not_understood.end());
    unit_.not_understood.erase(std::unique(unit_.not_understood.begin(), unit_.not_understood.end()), unit_.not_understood.end());
  }

 private:
  using Alternatives = std::vector<List<Event>>;

  void function(Function& f) {
    one_row_.clear();
    const std::size_t written = f.blocks.size();
    for (std::size_t b = 0; b < written; ++b) {
      List<Event> events = std::exchange(f.blocks[b].events, {});
      const List<Edge> successors = std::exchange(f.blocks[b].successors, {});
      std::size_t at = b;
      for (Event& e : events) {
        if (e.kind == EventKind::HostCall && sendsText(f.host[0].calls[static_cast<std::size_t>(e.host_call)]))
          at = place(f, at, call(f.host[0], e.host_call));
        else if (e.kind == EventKind::HostStep)
          step(f.host[0].steps[static_cast<std::size_t>(e.host_call)], f.blocks[at].events);
        else
          f.blocks[at].events.push_back(std::move(e));
      }
      f.blocks[at].successors = successors;
    }
    const auto rows = [](const auto& self, const HostTruth& t) -> bool { return t.kind == HostTruthKind::Rows || std::ranges::any_of(t.args, [&](const HostTruth& a) { return self(self, a); }); };
    if (std::ranges::any_of(f.host[0].steps, [&](const HostStep& s) { return rows(rows, s.truth); })) settleRows(f);
  }

  // The events of one call: straight on, or as branches that meet again. Gives the block that goes on.
  static std::size_t place(Function& f, std::size_t at, Alternatives alternatives) {
    std::erase_if(alternatives, [&](const List<Event>& a) { return a.empty() && alternatives.size() == 1; });
    if (alternatives.empty()) return at;
    if (alternatives.size() == 1) {
      for (Event& e : alternatives[0]) f.blocks[at].events.push_back(std::move(e));
      return at;
    }
    const std::size_t join = f.blocks.size();
    const std::int32_t unwind = f.blocks[at].unwind;
    f.blocks.emplace_back().unwind = unwind;
    for (List<Event>& a : alternatives) {
      const auto branch = static_cast<std::int32_t>(f.blocks.size());
      Block& block = f.blocks.emplace_back();
      block.unwind = unwind;
      block.events = std::move(a);
      block.successors.push_back({static_cast<std::int32_t>(join), EdgeKind::Next});
      f.blocks[at].successors.push_back({branch, EdgeKind::Next});
    }
    return join;
  }

  // It becomes statements: some of its text is known. Text that is a parameter of the function stays a call.
  static bool sendsText(const HostCall& c) {
    if (c.kind == HostCallKind::Execute)
      return c.texts.empty() || std::any_of(c.texts.begin(), c.texts.end(), [](const HostText& t) { return hasText(t); });
    return c.kind == HostCallKind::Prepare || c.kind == HostCallKind::ExecutePrepared || c.kind == HostCallKind::Function;
  }
  static bool hasText(const HostText& t) {
    return std::any_of(t.pieces.begin(), t.pieces.end(), [](const HostPiece& p) { return p.hole < 0 && !p.text.empty(); });
  }

  // --- steps
  static Expr column(std::string name) {
    Expr e;
    e.kind = ExprKind::Column, e.name = std::move(name);
    return e;
  }
  static Expr expression(const HostTruth& t) {
    Expr e;
    const auto operands = [&](ExprKind kind) {
      e.kind = kind;
      for (const HostTruth& a : t.args) e.args.push_back(expression(a));
    };
    switch (t.kind) {
      case HostTruthKind::Constant: e.kind = ExprKind::Const, e.literal = LiteralKind::Boolean, e.text = t.value ? "true" : "false"; break;
      case HostTruthKind::Answer: return column(hostAnswer(t.call) + (t.name.empty() ? "" : "." + t.name));
      case HostTruthKind::Success: return column(hostSuccess(t.call));
      case HostTruthKind::Variable: return column(t.name);
      case HostTruthKind::Not: operands(ExprKind::Not); break;
      case HostTruthKind::And: operands(ExprKind::And); break;
      case HostTruthKind::Or: operands(ExprKind::Or); break;
      case HostTruthKind::Rows: return column(kRows + std::to_string(t.call) + "." + t.name);  // until the statement is read
      case HostTruthKind::Unknown: e.kind = ExprKind::Other; break;
    }
    return e;
  }

  // Conditions on how many rows there are. A SELECT without FROM gives one, if it goes well.
  void settleRows(Function& f) {
    const HostCode& code = f.host[0];
    const auto settle = [&](Expr& x) {
      if (x.kind != ExprKind::Column || !x.name.starts_with(kRows)) return;
      const auto [subject, comparison] = *splitNumber(x.name);
      const std::int32_t call = std::stoi(std::string(subject.substr(kRows.size())));
      const bool one = holds(1, comparison), none = holds(0, comparison), throws = code.calls[static_cast<std::size_t>(call)].throws;
      HostTruth t;
      if (one_row_.contains(call) && (one == none || throws)) t.kind = HostTruthKind::Constant, t.value = one;
      else if (one_row_.contains(call)) t.kind = HostTruthKind::Success, t.call = call;
      Expr e = expression(t);
      if (t.kind == HostTruthKind::Success && !one) {
        x = {};
        x.kind = ExprKind::Not, x.args.push_back(std::move(e));
      } else {
        x = std::move(e);
      }
    };
    for (Block& b : f.blocks)
      for (Event& e : b.events) {
        const bool rows = std::ranges::any_of(e.statement, [](const Statement& s) { return s.host_call < 0 && s.kind == StatementKind::Query; });
        if (rows) forEachIn(e, settle);
      }
  }
  static bool givesOneRow(const List<Event>& events) {
    if (events.size() != 1 || events[0].statement.size() != 1 || events[0].statement[0].query.size() != 1) return false;
    const Query& q = events[0].statement[0].query[0];
    return q.kind == QueryKind::Select && q.from.empty() && q.where.empty() && q.limit.empty() && q.offset.empty();
  }
  static void step(const HostStep& s, List<Event>& out) {
    Statement statement;
    statement.kind = StatementKind::Query, statement.range = s.range;
    statement.context = s.kind == HostStepKind::Condition ? PlContext::Condition
                        : s.kind == HostStepKind::Return  ? PlContext::Return
                                                          : PlContext::Assign;
    if (s.kind == HostStepKind::Assign) statement.into.push_back(s.target);
    Query q;
    q.kind = QueryKind::Select, q.range = s.range;
    Target target;
    target.expr = expression(s.truth);
    q.targets.push_back(std::move(target));
    statement.query.push_back(std::move(q));
    switch (s.kind) {
      case HostStepKind::Assign:
      case HostStepKind::Condition: out.emplace_back(std::move(statement)); break;
      case HostStepKind::Return:
        out.emplace_back(std::move(statement));
        out.emplace_back(Exit{ExitKind::Return, s.range, {}});
        break;
      case HostStepKind::Throw: out.emplace_back(Exit{ExitKind::Raise, s.range, s.target}); break;
      case HostStepKind::Exit: out.emplace_back(SessionOp{SessionVerb::Quit, s.range, {}, false}); break;
    }
  }

  Alternatives call(HostCode& code, std::int32_t index) {
    HostCall& c = code.calls[static_cast<std::size_t>(index)];
    if (c.kind == HostCallKind::Function) return {{functionCall(c, index)}};
    if (c.kind == HostCallKind::Prepare) return {};  // nothing runs; its text is read where it is executed
    Alternatives result;
    if (c.kind == HostCallKind::ExecutePrepared) {
      const auto at = prepared_.find(c.name);
      if (c.name.empty() || at == prepared_.end() || at->second.several) return {};
      c.texts = adopt(*at->second.unit, at->second.call->texts, c.holes, at->second.call->holes);
    }
    for (const HostText& t : c.texts) result.push_back(statements(c, index, t));
    if (!result.empty() && std::ranges::all_of(result, givesOneRow)) one_row_.insert(index);
    return result;
  }

  // Texts of another unit, its files named as ours.
  std::vector<HostText> adopt(const Unit& from, std::vector<HostText> texts, std::vector<HostValue>& holes,
                              const std::vector<HostValue>& more) {
    const auto first = static_cast<std::int32_t>(holes.size());
    for (const HostValue& v : more) {
      holes.push_back(v);
      if (&from != &unit_) holes.back().range = {}, holes.back().defined = {};
    }
    for (HostText& t : texts)
      for (HostPiece& p : t.pieces) {
        if (p.hole >= 0) p.hole += first;
        for (HostPlace& at : p.places) at.file = fileOf(from.files[std::min<std::size_t>(at.file, from.files.size() - 1)]);
        if (&from != &unit_) p.range = {};
      }
    return texts;
  }

  std::uint32_t fileOf(const std::string& path) {
    const auto at = std::find(unit_.files.begin(), unit_.files.end(), path);
    const auto index = static_cast<std::uint32_t>(at - unit_.files.begin());
    if (at == unit_.files.end()) unit_.files.push_back(path);
    return index;
  }

  static Statement like(const HostCall& c, std::int32_t index) {
    Statement s;
    s.kind = StatementKind::Query;
    s.range = c.range, s.loop_depth = c.loop_depth, s.host_call = index;
    return s;
  }

  static Event functionCall(const HostCall& c, std::int32_t index) {
    Statement s = like(c, index);
    s.kind = StatementKind::HostCall;
    Expr e;
    e.kind = ExprKind::Call, e.qualifier = kHostSchema, e.name = c.name, e.range = c.range, e.call_id = 0;
    for (std::size_t i = 0; i < c.binds.size(); ++i)
      e.args.push_back(parameterOf(std::to_string(i + 1), displayOf(c.binds[i]), c.binds[i].range));
    s.exprs.push_back(std::move(e));
    return Event(std::move(s));
  }

  // The file that most of the text's lock SQL stands in: statements have their places in one file.
  static std::uint32_t homeOf(const HostCall& c, const HostText& t) {
    std::optional<std::uint32_t> first;
    for (const HostPiece& p : t.pieces) {
      if (p.places.empty()) continue;
      if (mentionsSeed(p.text)) return p.places[0].file;
      if (!first) first = p.places[0].file;
    }
    return first.value_or(c.range.file);
  }

  const LineIndex& linesOf(std::uint32_t file) {
    std::unique_ptr<LineIndex>& lines = lines_[file];
    if (!lines) lines = std::make_unique<LineIndex>(text_(unit_.files[file]), file);
    return *lines;
  }

  List<Event> statements(const HostCall& c, std::int32_t index, const HostText& t) {
    if (!hasText(t)) return {};
    const std::uint32_t home = homeOf(c, t);
    const LineIndex& lines = linesOf(home);
    std::uint32_t last = c.range.file == home ? c.range.begin : 0;
    DynamicText text;
    for (const HostPiece& p : t.pieces) {
      if (p.hole >= 0) {
        const auto n = static_cast<std::size_t>(p.hole);
        const std::uint32_t at = p.range.known() && p.range.file == home ? p.range.begin : last;
        const HostValue& v = c.holes[n];
        text.addHole({p.quoted ? HoleKind::Literal : HoleKind::Raw,
                      {parameterOf("%h" + std::to_string(n), displayOf(v), p.range.known() ? p.range : c.range)}},
                     at);
        continue;
      }
      append(p, home, last, text.text);
    }
    ++unit_.statements, ++unit_.parsed;
    DynamicResult parsed = parseDynamicText(text, {}, like(c, index), lines, SentBy::Client);
    for (NotUnderstood& n : parsed.problems) unit_.not_understood.push_back(std::move(n));
    const auto first = static_cast<std::int32_t>(unit_.functions.size() + defined_.size());
    for (Function& f : parsed.functions) defined_.push_back(std::move(f));
    for (Ddl& d : parsed.ddl) {
      if (d.function >= 0) d.function += first;
      unit_.ddl.push_back(std::move(d));
    }
    List<Event> events = std::move(parsed.events);
    for (Event& e : events) {
      e.host_call = index;
      for (Statement& s : e.statement) {
        s.dynamic = false, s.host_call = index;
        if (s.function >= 0) s.function += first;
      }
    }
    numberPlaceholders(events);
    if (events.size() < 2) return events;
    List<Event> string;  // one implicit transaction
    string.emplace_back(SessionOp{SessionVerb::StringBegin, c.range, {}, false}).host_call = index;
    for (Event& e : events) string.push_back(std::move(e));
    string.emplace_back(SessionOp{SessionVerb::StringEnd, c.range, {}, false}).host_call = index;
    return string;
  }

  // Drivers' placeholders, in the order in which they are written: each ? is another one, :name is the same one everywhere.
  static void numberPlaceholders(List<Event>& events) {
    std::vector<Expr*> found;
    for (Event& e : events)
      forEachIn(e, [&](Expr& x) {
        if (x.kind == ExprKind::Param && (x.text.str() == "?" || x.text.str().starts_with(":"))) found.push_back(&x);
      });
    std::ranges::sort(found, {}, [](const Expr* e) { return e->range.begin; });
    std::map<std::string, std::size_t> numbers;
    std::size_t next = 0;
    for (Expr* e : found) {
      const bool anonymous = e->text.str() == "?";
      const auto [at, fresh] = anonymous ? std::pair(numbers.end(), true) : numbers.try_emplace(e->text.str(), next + 1);
      const std::size_t number = fresh ? ++next : at->second;
      if (!anonymous) e->name = e->text.str().substr(1);
      e->text = std::to_string(number);
    }
  }

  static void append(const HostPiece& p, std::uint32_t home, std::uint32_t& last, MappedText& text) {
    std::size_t done = 0;
    for (std::size_t i = 0; i < p.places.size() && done <= p.text.size(); ++i) {
      const std::size_t from = std::min<std::size_t>(p.places[i].offset, p.text.size());
      const std::size_t to =
          i + 1 < p.places.size() ? std::min<std::size_t>(p.places[i + 1].offset, p.text.size()) : p.text.size();
      if (from > done) text.append(std::string_view(p.text).substr(done, from - done), last);
      if (p.places[i].file == home) last = p.places[i].at;
      if (to > from) text.append(std::string_view(p.text).substr(from, to - from), last);
      if (p.places[i].file == home && to > from) last += static_cast<std::uint32_t>(to - from);
      done = std::max(done, to);
    }
    if (done < p.text.size()) text.append(std::string_view(p.text).substr(done), last);
  }

  Unit& unit_;
  const PreparedStatements& prepared_;
  const std::function<std::string(const std::string&)>& text_;
  std::set<std::int32_t> one_row_;  // calls of the function at hand whose statement gives one row
  std::vector<Function> defined_;  // functions and DO blocks that texts hold
  std::map<std::uint32_t, std::unique_ptr<LineIndex>> lines_;
};

}  // namespace

void lowerHostSql(std::vector<Unit>& units, const std::function<std::string(const std::string& path)>& text) {
  linkVirtualCalls(units);
  linkConstants(units);
  instantiate(units);
  sendTexts(units);  // overriders are named by now
  const PreparedStatements prepared = preparedIn(units);
  for (Unit& u : units) UnitLowering(u, prepared, text).run();
}

}  // namespace pglocklint::sql

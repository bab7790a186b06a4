#include "sql/host_senders.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace pglocklint::sql {
namespace {

const HostValue& unconverted(const HostValue& v) { return v.kind == HostValueKind::Convert && v.args.size() == 1 ? unconverted(v.args[0]) : v; }

// The parameter that the whole text is, or -1.
std::int32_t parameterSent(const HostCall& c) {
  if (c.kind != HostCallKind::Execute || c.texts.size() != 1 || c.texts[0].pieces.size() != 1) return -1;
  const std::int32_t hole = c.texts[0].pieces[0].hole;
  if (hole < 0) return -1;
  const HostValue& v = unconverted(c.holes[static_cast<std::size_t>(hole)]);
  return v.kind == HostValueKind::Parameter ? v.index : -1;
}

// What the boolean (or C's number) that a function returns says of the statement that it has sent.
struct Meaning {
  HostTruthKind kind = HostTruthKind::Unknown;  // Success: whether it went well; Answer: what it answered
  bool value = true;                            // what is returned where that is true
};

// Of a function that sends one statement, by its call `sent`: all its paths, once for each way in which that can end. `inner`: where the
// call is of another such function, what that returns.
class Returned {
 public:
  Returned(const Function& f, std::int32_t sent, std::optional<Meaning> inner) : f_(f), sent_(sent), inner_(inner) {}

  Meaning meaning() {
    const std::optional<bool> yes = returns(true, true), no = returns(true, false), failed = returns(false, false);
    if (yes && no && *yes != *no) return {HostTruthKind::Answer, *yes};
    if (yes && no && failed && *yes != *failed) return {HostTruthKind::Success, *yes};
    return {};
  }

 private:
  using Variables = std::map<std::string, std::optional<bool>>;

  // What is returned on all paths on which the statement goes so; nothing if that is not one value.
  std::optional<bool> returns(bool success, bool answer) {
    success_ = success, answer_ = answer, steps_ = 0;
    found_.clear();
    unknown_ = false;
    walk(0, {});
    return unknown_ || found_.size() != 1 ? std::nullopt : found_.front();
  }

  void walk(std::size_t b, Variables variables) {
    constexpr int kMostSteps = 400;
    while (b < f_.blocks.size()) {
      if (++steps_ > kMostSteps) {
        unknown_ = true;
        return;
      }
      const Block& block = f_.blocks[b];
      std::optional<bool> condition;
      for (const Event& e : block.events) {
        if (e.kind != EventKind::HostStep) continue;
        const HostStep& s = f_.host[0].steps[static_cast<std::size_t>(e.host_call)];
        const std::optional<bool> value = evaluate(s.truth, variables);
        if (s.kind == HostStepKind::Assign) variables[s.target] = value;
        if (s.kind == HostStepKind::Condition) condition = value;
        if (s.kind == HostStepKind::Throw || s.kind == HostStepKind::Exit) return;
        if (s.kind != HostStepKind::Return) continue;
        unknown_ |= !value;
        if (value && std::ranges::find(found_, value) == found_.end()) found_.push_back(value);
        return;
      }
      std::vector<std::size_t> next;
      for (const Edge& e : block.successors)
        if (e.kind == EdgeKind::Next || !condition || *condition == (e.kind == EdgeKind::True)) next.push_back(static_cast<std::size_t>(e.target));
      if (next.empty()) return;
      for (std::size_t i = 1; i < next.size(); ++i) walk(next[i], variables);
      b = next[0];
    }
  }

  std::optional<bool> evaluate(const HostTruth& t, const Variables& variables) const {
    switch (t.kind) {
      case HostTruthKind::Constant: return t.value;
      case HostTruthKind::Success: return t.call == sent_ ? std::optional(success_) : std::nullopt;
      case HostTruthKind::Answer: return t.call == sent_ ? answered() : std::nullopt;
      case HostTruthKind::Variable: {
        const auto at = variables.find(t.name);
        return at == variables.end() ? std::nullopt : at->second;
      }
      case HostTruthKind::Not: {
        const std::optional<bool> v = evaluate(t.args[0], variables);
        return v ? std::optional(!*v) : std::nullopt;
      }
      case HostTruthKind::And:
      case HostTruthKind::Or: {
        const bool decides = t.kind == HostTruthKind::Or;
        bool all = true;
        for (const HostTruth& a : t.args) {
          const std::optional<bool> v = evaluate(a, variables);
          if (v == decides) return decides;
          all &= v.has_value();
        }
        return all ? std::optional(!decides) : std::nullopt;
      }
      case HostTruthKind::Unknown: break;
    }
    return std::nullopt;
  }

  std::optional<bool> answered() const {
    if (!inner_) return success_ ? std::optional(answer_) : std::nullopt;
    if (inner_->kind == HostTruthKind::Unknown) return std::nullopt;
    return (inner_->kind == HostTruthKind::Success ? success_ : success_ && answer_) == inner_->value;
  }

  const Function& f_;
  const std::int32_t sent_;
  const std::optional<Meaning> inner_;
  bool success_ = false, answer_ = false, unknown_ = false;
  int steps_ = 0;
  std::vector<std::optional<bool>> found_;
};

struct Sender {
  std::int32_t parameter = -1;  // the text
  Meaning meaning;              // of what it returns
};

class Senders {
 public:
  explicit Senders(const std::vector<Unit>& units) {
    for (const Unit& u : units)
      for (const Function& f : u.functions)
        if (!f.host.empty()) functions_.try_emplace(f.name, &f);
  }
  std::map<std::string, Sender> all() {
    std::map<std::string, Sender> found;
    for (const auto& [name, function] : functions_)
      if (const Sender& sender = of(name); sender.parameter >= 0) found[name] = sender;
    return found;
  }

 private:
  const Sender& of(const std::string& name) {
    const auto [known, fresh] = known_.try_emplace(name);  // none as well while it is looked at: a function that calls itself
    if (fresh)
      if (const auto function = functions_.find(name); function != functions_.end()) known->second = senderOf(*function->second);
    return known->second;
  }

  Sender senderOf(const Function& f) {
    Sender sender;
    const auto& calls = f.host[0].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const HostCall& c = calls[i];
      std::int32_t sent = -1;
      std::optional<Meaning> inner;
      switch (c.kind) {
        case HostCallKind::Execute:
          sent = parameterSent(c);
          if (sent < 0) return {};
          break;
        case HostCallKind::Function:
          sent = handedOn(c);
          if (sent < 0) continue;
          inner = of(c.name).meaning;
          break;
        case HostCallKind::Obtain:
        case HostCallKind::GiveBack:
        case HostCallKind::Connect:
        case HostCallKind::Disconnect:
        case HostCallKind::Reset:
        case HostCallKind::Wait: continue;
        default: return {};  // a transaction around it
      }
      if (sender.parameter >= 0) {  // sent at two places: which of them answers is not known
        if (sent != sender.parameter) return {};
        sender.meaning = {};
        continue;
      }
      sender = {sent, Returned(f, static_cast<std::int32_t>(i), inner).meaning()};
    }
    return sender;
  }

  std::int32_t handedOn(const HostCall& c) {
    const std::int32_t theirs = c.name.empty() ? -1 : of(c.name).parameter;
    if (theirs < 0 || static_cast<std::size_t>(theirs) >= c.binds.size()) return -1;
    const HostValue& v = unconverted(c.binds[static_cast<std::size_t>(theirs)]);
    return v.kind == HostValueKind::Parameter ? v.index : -1;
  }

  std::map<std::string, const Function*> functions_;
  std::map<std::string, Sender> known_;  // references stay valid
};

// What the program asks of a call of such a function, asked of the statement.
void askStatement(HostTruth& t, const HostCode& code, const std::map<std::string, Sender>& senders) {
  for (HostTruth& a : t.args) askStatement(a, code, senders);
  if (t.kind != HostTruthKind::Answer || t.call < 0) return;
  const HostCall& c = code.calls[static_cast<std::size_t>(t.call)];
  if (c.kind != HostCallKind::Execute || c.name.empty()) return;
  const auto sender = senders.find(c.name);
  const Meaning meaning = sender == senders.end() ? Meaning{} : sender->second.meaning;
  if (meaning.kind == HostTruthKind::Unknown) {
    t = {};
    return;
  }
  t.kind = meaning.kind;
  if (meaning.value) return;
  HostTruth positive = std::exchange(t, {});
  t.kind = HostTruthKind::Not;
  t.args.push_back(std::move(positive));
}

// What is written of a text, and holes for the rest.
void addPieces(const HostValue& text, HostText& out, std::vector<HostValue>& holes) {
  const HostValue& v = unconverted(text);
  if (v.kind == HostValueKind::Concat) {
    for (const HostValue& part : v.args) addPieces(part, out, holes);
    return;
  }
  HostPiece piece;
  piece.range = v.range;
  if (v.kind != HostValueKind::Text) {
    piece.hole = static_cast<std::int32_t>(holes.size());
    holes.push_back(v);
  } else {
    piece.text = v.text;
    if (v.range.known() && v.range.end - v.range.begin == v.text.size() + 2)  // between two quotes, byte for byte
      piece.places.push_back({0, v.range.file, v.range.begin + 1});
  }
  out.pieces.push_back(std::move(piece));
}

bool isWritten(const HostText& t) { return std::ranges::any_of(t.pieces, [](const HostPiece& p) { return !p.text.empty(); }); }

}  // namespace

void sendTexts(std::vector<Unit>& units) {
  const std::map<std::string, Sender> senders = Senders(units).all();
  for (Unit& u : units)
    for (Function& f : u.functions)
      for (HostCode& h : f.host) {
        for (HostCall& c : h.calls) {
          const auto sender = c.kind == HostCallKind::Function ? senders.find(c.name) : senders.end();
          if (sender == senders.end() || static_cast<std::size_t>(sender->second.parameter) >= c.binds.size()) continue;
          const HostValue& v = unconverted(c.binds[static_cast<std::size_t>(sender->second.parameter)]);
          std::vector<HostText> texts;
          const bool choice = v.kind == HostValueKind::Choice;
          for (const HostValue& one : choice ? std::span(v.args) : std::span(&v, 1)) addPieces(one, texts.emplace_back(), c.holes);
          if (texts.empty() || !std::ranges::all_of(texts, isWritten)) continue;
          c.texts = std::move(texts);
          c.binds.clear();
          c.kind = HostCallKind::Execute;
        }
        for (HostStep& step : h.steps) askStatement(step.truth, h, senders);
      }
}

}  // namespace pglocklint::sql

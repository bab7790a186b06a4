#include "sql/host_senders.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "model/host_number.h"

namespace pglocklint::sql {
namespace {

// The parameter that the whole text is, or -1.
std::int32_t parameterSent(const HostCall& c) {
  if (c.kind != HostCallKind::Execute || c.texts.size() != 1 || c.texts[0].pieces.size() != 1) return -1;
  const std::int32_t hole = c.texts[0].pieces[0].hole;
  if (hole < 0) return -1;
  const HostValue& v = unconverted(c.holes[static_cast<std::size_t>(hole)]);
  return v.kind == HostValueKind::Parameter ? v.index : -1;
}

// What a function returns: a boolean, or a number and whether it is not 0.
struct Returned {
  std::optional<bool> truth;
  std::optional<std::int64_t> number;
  bool operator==(const Returned&) const = default;

  // As the program asks: `comparison` of the number, or (empty) for the truth.
  std::optional<bool> asked(const std::string& comparison) const {
    if (comparison.empty()) return truth;
    const auto c = comparisonOf(comparison);
    if (c && number) return holds(*number, *c);
    return c && truth == false ? std::optional(holds(0, *c)) : std::nullopt;
  }
};

// What it returns of the statement that it has sent, for each way in which that can end.
struct Meaning {
  Returned yes, no, failed;

  // What an answer to that question says: Success (whether the statement went well) or Answer (what it answered), or its opposite, or a
  // constant; Unknown.
  HostTruth asked(const std::string& comparison, std::int32_t call) const {
    const auto y = yes.asked(comparison), n = no.asked(comparison), f = failed.asked(comparison);
    HostTruth t;
    if (!y || !n) return t;
    if (*y == *n && !f) return t;
    if (*y == *n && *y == *f) {
      t.kind = HostTruthKind::Constant, t.value = *y;
      return t;
    }
    t.kind = *y != *n ? HostTruthKind::Answer : HostTruthKind::Success, t.call = call;
    if (*y) return t;
    HostTruth opposite;
    opposite.kind = HostTruthKind::Not;
    opposite.args.push_back(std::move(t));
    return opposite;
  }
};

// Of a function that sends one statement, by its call `sent`: all its paths, once for each way in which that can end. `inner`: where the
// call is of another such function, what that returns.
class Returns {
 public:
  Returns(const Function& f, std::int32_t sent, std::optional<Meaning> inner) : f_(f), sent_(sent), inner_(inner) {}

  Meaning meaning() { return {returned(true, true), returned(true, false), returned(false, false)}; }

 private:
  using Variables = std::map<std::string, Returned>;

  // What is returned on all paths on which the statement goes so; nothing if that is not one value.
  Returned returned(bool success, bool answer) {
    success_ = success, answer_ = answer, steps_ = 0;
    found_.clear();
    unknown_ = false;
    walk(0, {});
    return unknown_ || found_.size() != 1 ? Returned{} : found_.front();
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
        Returned value = evaluate(s.truth, variables);
        if (s.kind == HostStepKind::Assign) {
          if (const auto number = splitNumber(s.target)) {
            if (value.truth == true) variables[std::string(number->first)].number = number->second.number;
          } else {
            variables[s.target] = value;
          }
        }
        if (s.kind == HostStepKind::Condition) condition = value.truth;
        if (s.kind == HostStepKind::Throw || s.kind == HostStepKind::Exit) return;
        if (s.kind != HostStepKind::Return) continue;
        if (const auto own = variables.find("return"); own != variables.end() && !value.number) value.number = own->second.number;
        unknown_ |= !value.truth;
        if (value.truth && std::ranges::find(found_, value) == found_.end()) found_.push_back(value);
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

  Returned evaluate(const HostTruth& t, const Variables& variables) const {
    switch (t.kind) {
      case HostTruthKind::Constant: return {t.value, {}};
      case HostTruthKind::Success: return t.call == sent_ ? Returned{success_, {}} : Returned{};
      case HostTruthKind::Answer: return t.call == sent_ ? answered(t.name) : Returned{};
      case HostTruthKind::Variable: {
        const auto number = splitNumber(t.name);
        const auto at = variables.find(number ? std::string(number->first) : t.name);
        if (at == variables.end()) return {};
        return number ? Returned{at->second.asked(comparisonText(number->second.relation, number->second.number)), {}} : at->second;
      }
      case HostTruthKind::Not: {
        const std::optional<bool> v = evaluate(t.args[0], variables).truth;
        return {v ? std::optional(!*v) : std::nullopt, {}};
      }
      case HostTruthKind::And:
      case HostTruthKind::Or: {
        const bool decides = t.kind == HostTruthKind::Or;
        bool all = true;
        for (const HostTruth& a : t.args) {
          const std::optional<bool> v = evaluate(a, variables).truth;
          if (v == decides) return {decides, {}};
          all &= v.has_value();
        }
        return {all ? std::optional(!decides) : std::nullopt, {}};
      }
      case HostTruthKind::Rows:
      case HostTruthKind::Unknown: break;
    }
    return {};
  }

  Returned answered(const std::string& comparison) const {
    if (!inner_) return {success_ ? std::optional(answer_) : std::nullopt, {}};
    const Returned& r = !success_ ? inner_->failed : answer_ ? inner_->yes : inner_->no;
    return comparison.empty() ? r : Returned{r.asked(comparison), {}};
  }

  const Function& f_;
  const std::int32_t sent_;
  const std::optional<Meaning> inner_;
  bool success_ = false, answer_ = false, unknown_ = false;
  int steps_ = 0;
  std::vector<Returned> found_;
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
      sender = {sent, Returns(f, static_cast<std::int32_t>(i), inner).meaning()};
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
  t = sender == senders.end() ? HostTruth{} : sender->second.meaning.asked(t.name, t.call);
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

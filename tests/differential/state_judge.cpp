#include "state_judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace pglocklint::differential {

namespace {

constexpr int kMany = 3;  // as in analyzer/program/lock_state.h

int countOf(const Held& held, const Lock& lock) {
  const auto at = held.session.find(lock);
  return at == held.session.end() ? 0 : at->second;
}

// The session's count of one lock, from the holds that stand for it: of the parameters k and j and of a number, several may.
struct Count {
  int lo = 0, hi = 0, floor_lo = 0, floor_hi = 0;
  int holds = 0;

  void add(const HoldClaim& h) {
    ++holds;
    lo = std::max(-kMany, lo + h.lo), hi = sum(hi, h.hi);
    // Whatever the order of what is done by the one name and by the other.
    floor_lo = holds == 1 ? h.floor_lo : 0, floor_hi = sum(floor_hi, h.floor_hi);
  }
  // One of several keys.
  void addSet(const HoldClaim& h) {
    if (h.hi > 0 || h.floor_hi > 0) hi = floor_hi = kMany;
    if (h.lo < 0) lo = -kMany, floor_lo = 0, holds = 2;
  }
  int least(int before, Cleared cleared) const {
    const int counted = cleared == Cleared::Maybe || lo <= -kMany ? 0 : cleared == Cleared::Yes ? lo : before + lo;
    return std::max(counted, floor_lo);
  }
  std::optional<int> most(int before, Cleared cleared) const {
    if (hi >= kMany || floor_hi >= kMany) return std::nullopt;
    return std::max({0, (cleared == Cleared::Yes ? 0 : before) + hi, floor_hi});
  }

 private:
  static int sum(int a, int b) { return a >= kMany || b >= kMany ? kMany : a + b; }
};

// Why the alternative cannot be what is held; empty if it can.
std::string misfit(const MarkClaim& claim, const StateClaim& s, const Look& look) {
  const Held nothing;
  const Held& before = claim.relative ? look.entry : nothing;
  std::set<Lock> locks = look.now.shown;
  for (const auto& [lock, count] : before.session) locks.insert(lock);
  for (const HoldClaim& h : s.holds)
    if (const auto lock = h.lock(look.parameters)) locks.insert(*lock);
  for (const Lock& lock : locks) {
    Count count;
    bool may = s.unknown_held || before.shown.contains(lock), must = false;
    for (const HoldClaim& h : s.holds) {
      const auto of = h.lock(look.parameters);
      if (of && *of != lock) continue;
      if (!of && (!lock.starts_with(h.form) || !lock.ends_with(h.mode))) continue;
      of ? count.add(h) : count.addSet(h);
      may |= h.may, must |= of && h.must;
    }
    const int had = countOf(before, lock), has = countOf(look.now, lock);
    const int least = count.least(had, s.cleared);
    const std::optional<int> most = s.unknown_held ? std::nullopt : count.most(had, s.cleared);
    if (has < least || (most && has > *most))
      return fmt::format("{}: held {} times by the session, said {}..{}", lock, has, least, most ? std::to_string(*most) : "");
    if (has > 0) continue;  // pg_locks does not show whether the transaction holds it too
    const bool shown = look.now.shown.contains(lock);
    if (shown && !may) return fmt::format("{}: held by the transaction, said not", lock);
    if (!shown && must) return fmt::format("{}: not held by the transaction, said held", lock);
  }
  return {};
}

}  // namespace

std::optional<Lock> HoldClaim::lock(const std::array<std::string, 2>& parameters) const {
  if (parts.empty()) return std::nullopt;
  Lock out = form;
  for (const std::string& p : parts) out += " " + (p == "k" ? parameters[0] : p == "j" ? parameters[1] : p);
  return out + " " + mode;
}

int MarkClaim::width() const {
  struct Hull {
    int lo = 0, hi = 0, floor_lo = 0, floor_hi = 0;
    std::size_t must = 0;
    bool may = false, fresh = true;
    std::size_t states = 0;
  };
  std::map<std::string, Hull> hulls;
  int unknown = 0;
  for (const StateClaim& s : states) {
    unknown = std::max<int>(unknown, s.unknown_held || s.cleared == Cleared::Maybe || s.cleared != states.front().cleared);
    for (const HoldClaim& h : s.holds) {
      Hull& hull = hulls[fmt::format("{} {} {}", h.form, fmt::join(h.parts, " "), h.mode)];
      hull.lo = hull.fresh ? h.lo : std::min(hull.lo, h.lo), hull.hi = hull.fresh ? h.hi : std::max(hull.hi, h.hi);
      hull.floor_lo = hull.fresh ? h.floor_lo : std::min(hull.floor_lo, h.floor_lo), hull.floor_hi = std::max(hull.floor_hi, h.floor_hi);
      hull.fresh = false, ++hull.states;
      hull.may |= h.may, hull.must += h.must;
    }
  }
  int width = unknown;
  for (auto& [key, hull] : hulls) {
    if (hull.states < states.size()) hull.lo = std::min(hull.lo, 0), hull.hi = std::max(hull.hi, 0), hull.floor_lo = 0;
    width += std::max(hull.hi - hull.lo, hull.floor_hi - hull.floor_lo) + (hull.may && hull.must < states.size());
  }
  return width;
}

std::string MarkClaim::text() const {
  if (states.empty()) return "never reached";
  std::vector<std::string> alternatives;
  for (const StateClaim& s : states) {
    std::vector<std::string> holds;
    for (const HoldClaim& h : s.holds)
      holds.push_back(fmt::format("{} {} {} {}..{}{}{}", h.form, h.parts.empty() ? "*" : fmt::format("{}", fmt::join(h.parts, " ")), h.mode, h.lo, h.hi,
                                  h.floor_lo || h.floor_hi ? fmt::format(" at least {}..{}", h.floor_lo, h.floor_hi) : "", h.must ? " transaction" : h.may ? " transaction?" : ""));
    if (s.unknown_held) holds.push_back("unknown keys");
    if (s.cleared != Cleared::No) holds.push_back(s.cleared == Cleared::Yes ? "all others released" : "all others perhaps released");
    alternatives.push_back(holds.empty() ? "nothing" : fmt::format("{}", fmt::join(holds, ", ")));
  }
  return fmt::format("{}", fmt::join(alternatives, " | "));
}

std::vector<MarkClaim> claimsOf(const Program& p, const nlohmann::json& answer) {
  std::vector<MarkClaim> out(p.marks.size());
  for (const auto& m : answer["marks"]) {
    MarkClaim& claim = out.at(m["mark"].get<std::size_t>());
    claim.known = true;
    claim.relative = m["relative"];
    for (const auto& s : m["states"]) {
      StateClaim& state = claim.states.emplace_back();
      state.unknown_held = s["unknown"];
      state.cleared = static_cast<Cleared>(s["cleared"].get<int>());
      for (const auto& h : s["holds"])
        state.holds.push_back({h["form"], h["parts"], h["mode"], h["lo"], h["hi"], h["floor_lo"], h["floor_hi"], h["may"], h["must"]});
    }
  }
  return out;
}

std::optional<StateContradiction> judge(const std::vector<MarkClaim>& claims, const ProgramRun& run) {
  for (const Look& look : run.looks) {
    const MarkClaim& claim = claims.at(static_cast<std::size_t>(look.mark));
    if (!claim.known) return StateContradiction{look, "the analysis has no answer"};
    if (claim.states.empty()) return StateContradiction{look, "said never reached"};
    std::string why;
    for (const StateClaim& s : claim.states) {
      why = misfit(claim, s, look);
      if (why.empty()) break;
    }
    if (!why.empty()) return StateContradiction{look, why};
  }
  return std::nullopt;
}

}  // namespace pglocklint::differential

// A finding passes these stations, in this order; each only looks at what the ones before left:
//
//   switched on?  ─▶  dominated?  ─▶  severity  ─▶  allowed by a comment?  ─▶  fingerprint  ─▶  in the baseline?  ─▶  limited to PATH?
//
// A rule that is off withholds nothing: what it would have named as the cause is then told by the rule that names the consequence.
// A suppressed finding does withhold: who allowed the fault has allowed it under each of its names. A comment counts as used when it
// covers anything that a rule said, dominated and switched-off findings included, for they come up again when others go.
#include "report/settle.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "program/lock_state.h"
#include "report/fingerprint.h"
#include "report/statement_index.h"
#include "report/suggest.h"

namespace pglocklint {
namespace {

constexpr std::string_view kNotUnderstoodRule = "statement-not-understood";
constexpr std::string_view kUnusedAllowRule = "unused-allow";
constexpr std::string_view kAllowWithoutReasonRule = "allow-without-reason";

// --- on or off, and how severe ------------------------------------------------------------------------------------------

std::optional<RuleLevel> configured(const std::string& rule, const SettleOptions& options) {
  const auto at = options.severities.find(rule);
  return at == options.severities.end() ? std::nullopt : std::optional(at->second);
}

// Notes are off unless asked for: by name, by --all, or by a configuration that makes the rule a note.
bool showsNotes(const std::string& rule, const SettleOptions& options) {
  return options.all || options.enabled.contains(rule) || configured(rule, options) == RuleLevel::Note;
}

bool isOff(const std::string& rule, const SettleOptions& options) {
  return options.disabled.contains(rule) || (configured(rule, options) == RuleLevel::Off && !options.enabled.contains(rule));
}

// A configured level replaces the rule's own. Where a rule itself said less than it usually does (a warning of an error rule), it
// never becomes more than that.
Severity severityOf(const Finding& f, std::span<const Rule> rules, const SettleOptions& options) {
  const auto level = configured(f.rule, options);
  if (!level || *level == RuleLevel::Off) return f.severity;
  const Severity wanted = *level == RuleLevel::Note ? Severity::Note : *level == RuleLevel::Warning ? Severity::Warning : Severity::Error;
  const auto rule = std::ranges::find_if(rules, [&](const Rule& r) { return r.info.name == f.rule; });
  const bool weaker = rule != rules.end() && f.severity < rule->info.severity;
  return weaker ? std::min(f.severity, wanted) : wanted;
}

bool isShown(const Finding& f, const SettleOptions& options) {
  return !isOff(f.rule, options) && (f.severity != Severity::Note || showsNotes(f.rule, options));
}

// --- suppression comments ---------------------------------------------------------------------------------------------------

// One rule name of one comment.
struct AllowedRule {
  std::string written;
  const Rule* rule = nullptr;  // null: there is no such rule
  bool used = false;
};

struct Suppression {
  const Unit* unit;
  const Allow* allow;
  std::string file;
  std::vector<AllowedRule> rules;
};

// All suppression comments, found by the place they cover.
class Suppressions {
 public:
  Suppressions(const Program& program, StatementIndexes& statements, SourceCache& sources) : statements_(statements), sources_(sources) {
    for (const Unit& unit : program.units)
      for (const Allow& allow : unit.allows) {
        if (allow.range.file >= unit.files.size()) continue;
        Suppression s{&unit, &allow, unit.files[allow.range.file], {}};
        for (const std::string& name : allow.rules) s.rules.push_back({name, findRule(name), false});
        all_.push_back(std::move(s));
      }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      InFile& file = files_[all_[i].file];
      const Allow& allow = *all_[i].allow;
      for (AllowedRule& allowed : all_[i].rules) {
        if (allowed.rule == nullptr) continue;
        const std::string_view rule = allowed.rule->info.name;
        if (allow.whole_file) file.whole[rule].add(i, allowed);
        file.by_line[allow.range.line][rule].add(i, allowed);
        file.by_next_token[allow.next_token][rule].add(i, allowed);
      }
    }
  }

  const std::vector<Suppression>& all() const { return all_; }

  // The reason of the comment that allows the finding, or nullopt. Every comment that covers it counts as used.
  std::optional<std::string> reasonFor(const Finding& f) {
    std::optional<std::size_t> first;
    forEachCovering(f.where, [&](ByRule& by_rule) {
      const auto allowed = by_rule.find(f.rule);
      if (allowed == by_rule.end()) return;
      allowed->second.use();
      if (!first || allowed->second.first < *first) first = allowed->second.first;
    });
    if (!first) return std::nullopt;
    return all_[*first].allow->reason;
  }

 private:
  // The comments at one place that allow one rule. They are marked as used together, once: a line may hold thousands.
  struct Allowing {
    std::size_t first = 0;  // of them, index into all_
    std::vector<AllowedRule*> unused;
    void add(std::size_t i, AllowedRule& allowed) {
      if (unused.empty()) first = i;
      unused.push_back(&allowed);
    }
    void use() {
      for (AllowedRule* allowed : unused) allowed->used = true;
      unused.clear();
    }
  };
  using ByRule = std::map<std::string_view, Allowing>;
  struct InFile {
    ByRule whole;
    std::map<std::uint32_t, ByRule> by_line, by_next_token;
  };

  // The comments that cover a place: those for the whole file, on its line, and before a statement around it.
  template <class F>
  void forEachCovering(const Location& place, const F& f) {
    const auto at = files_.find(place.file);
    if (at == files_.end()) return;
    InFile& file = at->second;
    f(file.whole);
    for (auto i = file.by_line.lower_bound(place.line); i != file.by_line.end() && i->first <= std::max(place.line, place.end_line); ++i)
      f(i->second);
    const StatementIndex& statements = statements_.file(place.file);
    for (const StatementIndex::Entry* s : statements.around(place.begin, place.end)) forEachPreceding(file, statements, *s, place.file, f);
  }

  // The comments whose next token begins the statement. The facts of `IF condition THEN` and the like begin at the condition:
  // there the next token comes before, with no other statement and no semicolon in between.
  template <class F>
  void forEachPreceding(InFile& file, const StatementIndex& statements, const StatementIndex::Entry& s, const std::string& name, const F& f) {
    const auto first = file.by_next_token.lower_bound(static_cast<std::uint32_t>(statements.beginBefore(s) + 1));
    for (auto i = first; i != file.by_next_token.end() && i->first <= s.begin; ++i)
      if (i->first == s.begin || !semicolonIn(name, i->first, s.begin)) f(i->second);
  }

  bool semicolonIn(const std::string& name, std::uint32_t begin, std::uint32_t end) {
    const std::string_view text = sources_.file(name).text();
    return end > text.size() || text.substr(begin, end - begin).find(';') != std::string_view::npos;
  }

  StatementIndexes& statements_;
  SourceCache& sources_;
  std::vector<Suppression> all_;
  std::map<std::string, InFile> files_;
};

// --- findings about the run itself --------------------------------------------------------------------------------------------

Location locate(const Unit& unit, const SourceRange& r) {
  const std::string file = r.file < unit.files.size() ? unit.files[r.file] : std::string();
  return {file, r.line, r.column, r.end_line, r.end_column, r.begin, r.end};
}

std::optional<Finding> findingOf(std::string_view rule_name, const Unit& unit, const SourceRange& range, std::string message) {
  const Rule* rule = findRule(rule_name);
  if (rule == nullptr) return std::nullopt;
  Finding f;
  f.rule = rule->info.name, f.code = rule->info.code, f.severity = rule->info.severity;
  f.where = locate(unit, range);
  f.message = std::move(message);
  return f;
}

void addNotUnderstood(const Program& program, std::vector<Finding>& out) {
  for (const Unit& unit : program.units)
    for (const NotUnderstood& n : unit.not_understood)
      if (n.mentions_lock)
        if (auto f = findingOf(kNotUnderstoodRule, unit, n.range,
                               fmt::format("This mentions a lock function but was not understood, so nothing in it was checked: {}.", n.reason)))
          out.push_back(std::move(*f));
}

void addWithoutReason(const std::vector<Suppression>& suppressions, std::vector<Finding>& out) {
  for (const Suppression& s : suppressions)
    if (s.allow->reason.empty() && !s.rules.empty())
      if (auto f = findingOf(kAllowWithoutReasonRule, *s.unit, s.allow->range,
                             fmt::format("This comment allows {} without saying why. Write the reason behind the closing parenthesis, so that the "
                                         "next reader can judge whether it still holds.",
                                         fmt::join(s.allow->rules, ", "))))
        out.push_back(std::move(*f));
}

// What is wrong with one name in a comment, or empty. An unused one is certain only if the rule was on, all of the
// program was in view, and this unit was read without loss.
std::string complaintAbout(const Suppression& s, const AllowedRule& allowed, const Program& program, const SettleOptions& options) {
  if (allowed.rule == nullptr)
    return fmt::format("This comment allows {}, but there is no such rule{} (pglocklint rules lists them).", allowed.written,
                       ruleSuggestion(allowed.written));
  const std::string rule(allowed.rule->info.name);
  const bool degraded = !s.unit->status.empty() || !s.unit->not_understood.empty();
  const bool rule_ran = !isOff(rule, options) && (allowed.rule->info.severity != Severity::Note || showsNotes(rule, options) ||
                                                  configured(rule, options).has_value());
  if (allowed.used || !program.whole || degraded || !rule_ran || rule == kUnusedAllowRule) return "";
  return fmt::format("{} reports nothing {}, so this comment suppresses nothing. Delete it, or move it to the statement it was meant for.", rule,
                     s.allow->whole_file ? "in this file" : "for this statement");
}

void addUnused(const std::vector<Suppression>& suppressions, const Program& program, const SettleOptions& options, std::vector<Finding>& out) {
  for (const Suppression& s : suppressions) {
    std::vector<std::string> complaints;
    if (s.rules.empty()) complaints.push_back("This comment names no rule, so it suppresses nothing.");
    for (const AllowedRule& allowed : s.rules)
      if (std::string c = complaintAbout(s, allowed, program, options); !c.empty()) complaints.push_back(std::move(c));
    for (std::string& c : complaints)
      if (auto f = findingOf(kUnusedAllowRule, *s.unit, s.allow->range, std::move(c))) out.push_back(std::move(*f));
  }
}

// --- what is shown ------------------------------------------------------------------------------------------------------------

bool isUnder(std::string_view file, std::string_view path) {
  if (path.empty() || path == ".") return true;
  while (path.ends_with('/')) path.remove_suffix(1);
  return file == path || (file.starts_with(path) && file.size() > path.size() && file[path.size()] == '/');
}

// A finding touches a path with any of its places: the half of a pair that somebody just wrote need not be the primary one.
bool touches(const Finding& f, const std::vector<std::string>& paths) {
  const auto is_in = [&](const std::string& file) { return std::ranges::any_of(paths, [&](const std::string& p) { return isUnder(file, p); }); };
  const auto place_is_in = [&](const RelatedPlace& p) { return is_in(p.where.file); };
  return is_in(f.where.file) || std::ranges::any_of(f.related, place_is_in) || std::ranges::any_of(f.path, place_is_in);
}

// Two routes to one call (a view used twice, a statement prepared twice) say the same thing once.
void sortAndDropRepeated(std::vector<Finding>& findings) {
  std::ranges::sort(findings, inReportOrder);
  const auto same = [](const Finding& a, const Finding& b) {
    return a.code == b.code && a.where == b.where && a.message == b.message && a.key_text == b.key_text;
  };
  findings.erase(std::unique(findings.begin(), findings.end(), same), findings.end());
}

Coverage coverageOf(const Program& program) {
  Coverage c;
  c.superseded = program.superseded;
  for (const Unit& unit : program.units) {
    c.statements += unit.statements;
    for (const NotUnderstood& n : unit.not_understood) c.not_understood.push_back({locate(unit, n.range).file, n.range.line, n.reason});
    if (!unit.status.empty())
      c.units.push_back({unit.files.empty() ? "" : unit.path(), unit.status.starts_with("not read") ? "not-read" : "degraded", unit.status});
  }
  if (program.locks)
    for (const NotFollowed& n : program.locks->not_followed)
      c.not_understood.push_back({program.locate(n.unit, n.range).file, n.range.line, n.reason});
  c.call_sites = static_cast<std::uint64_t>(std::ranges::count_if(
      program.sites, [](const LockSite& s) { return s.live && s.direct() && s.host == SiteHost::Statement; }));
  std::ranges::sort(c.not_understood);
  std::ranges::sort(c.units);
  return c;
}

}  // namespace

std::vector<Finding> applyRules(const Program& program, std::span<const Rule> rules, const ForEach& for_each) {
  std::vector<std::vector<Finding>> found(rules.size());
  for_each(rules.size(), [&](std::size_t i) {
    if (rules[i].check == nullptr) return;
    Report report(program, rules[i].info, found[i]);
    rules[i].check(program, report);
  });
  std::vector<Finding> findings;
  for (std::vector<Finding>& of_rule : found) std::move(of_rule.begin(), of_rule.end(), std::back_inserter(findings));
  return findings;
}

std::vector<Finding> withoutDominated(std::vector<Finding> findings, std::span<const Dominance> table) {
  std::set<std::pair<std::string, std::string>> present;  // (subject, code)
  for (const Finding& f : findings) {
    if (!f.subject.empty()) present.emplace(f.subject, f.code);
    for (const std::string& other : f.other_subjects) present.emplace(other, f.code);
  }
  // `left` need not be reported itself: it may be withheld by a third rule, which then speaks for all.
  std::erase_if(findings, [&](const Finding& f) {
    const auto dominated = [&](const std::string& subject) {
      return !subject.empty() && std::ranges::any_of(table, [&](const Dominance& d) { return d.right == f.code && present.contains({subject, std::string(d.left)}); });
    };
    return dominated(f.subject) || std::ranges::any_of(f.other_subjects, dominated);
  });
  return findings;
}

Settled settle(std::vector<Finding> raw, const Program& program, std::span<const Rule> rules, const SettleOptions& options,
               SourceCache& sources) {
  StatementIndexes statements(program);
  Suppressions suppressions(program, statements, sources);
  const auto judge = [&](Finding& f) {
    f.severity = severityOf(f, rules, options);
    const auto reason = suppressions.reasonFor(f);
    f.suppressed = reason.has_value();
    f.suppression_reason = reason.value_or("");
  };
  addNotUnderstood(program, raw);
  addWithoutReason(suppressions.all(), raw);
  std::ranges::for_each(raw, judge);
  std::vector<Finding> unused;  // known only now
  addUnused(suppressions.all(), program, options, unused);
  std::ranges::for_each(unused, judge);
  std::ranges::move(unused, std::back_inserter(raw));

  std::erase_if(raw, [&](const Finding& f) { return !isShown(f, options); });
  Settled settled;
  settled.findings = withoutDominated(std::move(raw), dominanceTable());
  sortAndDropRepeated(settled.findings);
  addFingerprints(settled.findings, statements, sources);

  settled.coverage = coverageOf(program);
  settled.coverage.suppressed = static_cast<std::uint64_t>(std::ranges::count_if(settled.findings, &Finding::suppressed));
  if (!options.include_suppressed) std::erase_if(settled.findings, [](const Finding& f) { return f.suppressed; });
  if (options.baseline)
    settled.baselined = std::erase_if(settled.findings, [&](const Finding& f) { return options.baseline->contains(f.fingerprint); });
  for (const std::vector<std::string>& limit : options.only)
    std::erase_if(settled.findings, [&](const Finding& f) { return !touches(f, limit); });
  return settled;
}

std::string baselineToJson(std::span<const Finding> findings) {
  nlohmann::ordered_json json{{"schema", "pglocklint/baseline/1"}, {"findings", nlohmann::ordered_json::array()}};
  for (const Finding& f : findings)
    if (!f.suppressed)
      json["findings"].push_back({{"fingerprint", f.fingerprint}, {"code", f.code}, {"rule", f.rule}, {"file", f.where.file}});
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<std::set<std::string>> baselineFromJson(std::string_view text, std::string& error) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("schema", nlohmann::json()) != "pglocklint/baseline/1" ||
      !json.contains("findings") || !json["findings"].is_array()) {
    error = "this is no baseline (schema pglocklint/baseline/1); write one with --write-baseline";
    return std::nullopt;
  }
  std::set<std::string> fingerprints;
  for (const auto& entry : json["findings"]) {
    if (!entry.is_object() || !entry.contains("fingerprint") || !entry["fingerprint"].is_string()) {
      error = fmt::format("entry {} has no fingerprint", fingerprints.size() + 1);
      return std::nullopt;
    }
    fingerprints.insert(entry["fingerprint"].get<std::string>());
  }
  return fingerprints;
}

}  // namespace pglocklint

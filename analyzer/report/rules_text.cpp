#include "report/rules_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/examples.h"
#include "report/proofs.h"
#include "report/source_text.h"
#include "report/text.h"

#ifndef PGLOCKLINT_DOCS_URL
#define PGLOCKLINT_DOCS_URL ""
#endif

namespace pglocklint {
namespace {

constexpr std::string_view kManual = "https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS";

// "clause text | fixture file" of RuleInfo::clauses.
std::string_view clauseText(std::string_view clause) {
  clause = clause.substr(0, clause.rfind('|'));
  const auto last = clause.find_last_not_of(' ');
  return last == std::string_view::npos ? clause : clause.substr(0, last + 1);
}

std::string indented(std::string_view text, std::string_view margin) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) out.append(margin).append(line);
    out += '\n';
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

std::string severityText(const RuleInfo& info) {
  return info.severity == Severity::Note ? "note, off unless asked for" : std::string(nameOf(info.severity));
}

std::string_view clauseFixture(std::string_view clause) {
  const auto bar = clause.rfind('|');
  if (bar == std::string_view::npos) return "";
  const auto first = clause.find_first_not_of(' ', bar + 1);
  return first == std::string_view::npos ? "" : clause.substr(first);
}

// What the rule reports, by its first clause, and what it does not.
struct ShownExample {
  std::string_view title;
  std::string text;
  std::string_view language;  // for Markdown
};

std::string_view endingOf(std::string_view file) { return file.substr(std::min(file.rfind('.'), file.size())); }
std::string_view languageOf(std::string_view file) {
  const std::string_view ending = endingOf(file);
  return ending == ".sh" ? "sh" : ending == ".cpp" ? "cpp" : "sql";
}
std::vector<ShownExample> examplesOf(const RuleInfo& info) {
  std::vector<ShownExample> shown;
  const std::string_view bad = info.clauses.empty() ? "bad.sql" : clauseFixture(info.clauses.front());
  const std::string good = "good" + std::string(endingOf(bad));
  shown.push_back({"Reported", exampleText(info.name, bad), languageOf(bad)});
  shown.push_back({"Not reported", exampleText(info.name, good), languageOf(good)});
  std::erase_if(shown, [](const ShownExample& e) { return e.text.empty(); });
  return shown;
}

// What PostgreSQL showed: one line a form, with the hazard that the bad ones have and the good ones lack.
std::vector<std::string> proofLines(std::span<const ProofForm> forms) {
  std::vector<std::string> lines;
  for (const bool bad : {true, false})
    for (const ProofForm& form : forms) {
      if (form.bad != bad) continue;
      lines.push_back(fmt::format("{} \"{}\": {}", bad ? "shows" : "does not show", form.hazard, form.title));
    }
  return lines;
}

std::string proofHeading(const RuleInfo& info, std::span<const ProofForm> forms) {
  const std::string versions = provedVersions(forms);
  if (versions.empty()) return "";
  return fmt::format("An isolation test, run on PostgreSQL {} (fixtures/{}/proof.spec):", versions, info.name);
}

}  // namespace

std::string sentence(std::string_view text) {
  std::string out(text);
  if (out.empty()) return out;
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  if (out.back() != '.' && out.back() != '?' && out.back() != '!') out += '.';
  return out;
}

std::string ruleUri(std::string_view rule_name) {
  const std::string_view docs = PGLOCKLINT_DOCS_URL;
  return docs.empty() ? std::string(kManual) : fmt::format("{}#{}", docs, rule_name);
}

std::string rulesTable(std::span<const Rule> rules, bool color) {
  std::size_t name_width = 0;
  for (const Rule& r : rules) name_width = std::max(name_width, r.info.name.size());
  std::string out;
  for (const Rule& r : rules) {
    const std::string_view ink = !color ? "" : r.info.severity == Severity::Error ? "\x1b[31m" : r.info.severity == Severity::Warning ? "\x1b[33m" : "\x1b[36m";
    out += fmt::format("{}  {:<{}}  {}{:<7}{}  {}\n", r.info.code, r.info.name, name_width, ink, nameOf(r.info.severity), ink.empty() ? "" : "\x1b[0m",
                       r.info.summary);
  }
  out += "\nNotes are off unless asked for: --enable NAME, --all, or the configuration. pglocklint explain NAME tells more.\n";
  return out;
}

std::string rulesJson(std::span<const Rule> rules) {
  nlohmann::ordered_json json{{"schema", "pglocklint/rules/1"}, {"rules", nlohmann::ordered_json::array()}};
  for (const Rule& r : rules)
    json["rules"].push_back({{"code", r.info.code},
                             {"name", r.info.name},
                             {"severity", std::string(nameOf(r.info.severity))},
                             {"summary", r.info.summary},
                             {"explanation", r.info.explanation},
                             {"remedy", r.info.remedy},
                             {"proof", r.info.proof}});
  return json.dump(2) + "\n";
}

std::string explainRule(const RuleInfo& info, bool color, std::size_t width) {
  const auto heading = [&](std::string_view text) { return color ? fmt::format("\n\x1b[1m{}\x1b[0m\n", text) : fmt::format("\n{}\n", text); };
  std::string out = color ? fmt::format("\x1b[1m{} {}\x1b[0m ({})\n", info.code, info.name, severityText(info))
                          : fmt::format("{} {} ({})\n", info.code, info.name, severityText(info));
  out += wrapped(sentence(info.summary), width, "");
  out += heading("What happens") + wrapped(info.explanation, width, "  ");
  out += heading("What to write instead") + wrapped(info.remedy, width, "  ");
  if (!info.clauses.empty()) out += heading("It reports");
  for (const std::string_view clause : info.clauses) out += wrapped(fmt::format("- {}", clauseText(clause)), width, "  ");
  for (const ShownExample& e : examplesOf(info)) out += heading(e.title) + indented(e.text, "    ");
  if (const auto forms = proofForms(info.name); !proofHeading(info, forms).empty()) {
    out += heading("Proof") + wrapped(proofHeading(info, forms), width, "  ");
    for (const std::string& line : proofLines(forms)) out += wrapped("- " + line, width, "  ");
  } else if (!info.proof.empty()) {
    out += heading("Proof") + wrapped("None: " + std::string(info.proof), width, "  ");
  }
  out += heading("To allow it");
  out += fmt::format("  -- pglocklint:allow({}) the reason\n  on the line, or before the statement.\n", info.name);
  return out;
}

std::string ruleHelpText(const RuleInfo& info) {
  return fmt::format("{} {} {}", sentence(info.summary), info.explanation, info.remedy);
}

std::string ruleHelpMarkdown(const RuleInfo& info) {
  std::string out = fmt::format("{}\n\n{}\n\n**What to write instead.** {}\n", sentence(info.summary), info.explanation, info.remedy);
  for (const ShownExample& e : examplesOf(info)) out += fmt::format("\n{}:\n\n```{}\n{}```\n", e.title, e.language, e.text);
  out += fmt::format("\nTo allow it: `-- pglocklint:allow({}) the reason` on the line, or before the statement.\n", info.name);
  return out;
}

std::string rulesMarkdown(std::span<const Rule> rules) {
  std::string out =
      "# Rules\n\nGenerated by `pglocklint rules --format markdown`. Notes are off unless asked for (`--enable NAME`, `--all`, or the "
      "configuration).\n\n| code | name | severity | says |\n|---|---|---|---|\n";
  for (const Rule& r : rules)
    out += fmt::format("| {} | [`{}`](#{}) | {} | {} |\n", r.info.code, r.info.name, r.info.name, nameOf(r.info.severity), r.info.summary);
  for (const Rule& r : rules) {
    out += fmt::format("\n## {}\n\n{}, {}. {}", r.info.name, r.info.code, severityText(r.info), ruleHelpMarkdown(r.info));
    if (!r.info.clauses.empty()) out += "\nIt reports:\n\n";
    for (const std::string_view clause : r.info.clauses) out += fmt::format("- {}\n", clauseText(clause));
    const auto forms = proofForms(r.info.name);
    if (const std::string proof = proofHeading(r.info, forms); !proof.empty()) {
      out += fmt::format("\n{}\n\n", proof);
      for (const std::string& line : proofLines(forms)) out += fmt::format("- {}\n", line);
    }
  }
  return out;
}

}  // namespace pglocklint

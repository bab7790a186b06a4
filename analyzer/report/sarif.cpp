// Choices that the standard leaves open:
// - Files are relative to %SRCROOT%, whose own URI is left out: it differs from machine to machine, and viewers know it.
// - Columns are UTF-16 units (columnKind); byte columns are converted with the source line.
// - Primary regions cover one line, because code hosts show an alert on its first line and mark all others as changed.
#include "report/sarif.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/examples.h"
#include "report/fingerprint.h"
#include "report/rules_text.h"

namespace pglocklint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "https://json.schemastore.org/sarif-2.1.0.json";
// Notifications (SARIF's word for what concerns the run and not the code).
constexpr std::string_view kNotUnderstood = "not-understood", kNotRead = "not-read", kDegraded = "degraded", kRunFailed = "run-failed";

std::string levelOf(Severity s) { return std::string(nameOf(s)); }  // SARIF has the same three words

// Braces are placeholders in SARIF messages, brackets before parentheses are links.
std::string messageText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '{' || c == '}') out += c;
    if (c == '[' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

class SarifWriter {
 public:
  SarifWriter(const RunReport& run, std::span<const Rule> rules, SourceCache& sources) : run_(run), rules_(rules), sources_(sources) {}

  std::string write() {
    Json run;
    run["tool"] = {{"driver", driver()}};
    run["invocations"] = Json::array({invocation()});
    run["originalUriBaseIds"] = {{"%SRCROOT%", {{"description", {{"text", "The root folder of the analyzed project."}}}}}};
    run["columnKind"] = "utf16CodeUnits";
    run["results"] = Json::array();
    any_suppressed_ = std::ranges::any_of(run_.findings, &Finding::suppressed);
    for (const Finding& f : run_.findings) run["results"].push_back(result(f));
    const Json log{{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
    return log.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  Json driver() const {
    Json driver{{"name", "pglocklint"},
                {"version", PGLOCKLINT_VERSION},
                {"semanticVersion", PGLOCKLINT_VERSION},
                {"rules", Json::array()},
                {"notifications", Json::array()}};
    for (const Rule& rule : rules_) driver["rules"].push_back(descriptor(rule.info));
    const std::pair<std::string_view, std::string_view> notifications[] = {
        {kNotUnderstood, "A statement was not understood; nothing in it was checked."},
        {kNotRead, "A file could not be read."},
        {kDegraded, "A file was read in part."},
        {kRunFailed, "The run could not do what it was asked to."}};
    for (const auto& [id, text] : notifications)
      driver["notifications"].push_back({{"id", id}, {"shortDescription", {{"text", text}}}});
    return driver;
  }

  static Json descriptor(const RuleInfo& info) {
    return {{"id", info.code},
            {"name", pascalCase(info.name)},
            {"shortDescription", {{"text", sentence(info.summary)}}},
            {"fullDescription", {{"text", std::string(info.explanation)}}},
            {"help", {{"text", ruleHelpText(info)}, {"markdown", ruleHelpMarkdown(info)}}},
            {"helpUri", ruleUri(info.name)},
            {"defaultConfiguration", {{"enabled", info.severity != Severity::Note}, {"level", levelOf(info.severity)}}},
            {"properties", {{"tags", Json::array({"postgresql", "advisory-locks"})}}}};
  }

  Json invocation() const {
    Json notifications = Json::array();
    for (const CoverageEntry& e : run_.coverage.not_understood) {
      Json location{{"physicalLocation", {{"artifactLocation", artifact(e.file)}}}};
      if (e.line > 0) location["physicalLocation"]["region"] = {{"startLine", e.line}};
      notifications.push_back(notification(kNotUnderstood, "note", e.reason, location));
    }
    for (const UnitStatus& u : run_.coverage.units)
      notifications.push_back(notification(u.status == "not-read" ? kNotRead : kDegraded, "warning", u.reason,
                                           {{"physicalLocation", {{"artifactLocation", artifact(u.file)}}}}));
    if (!run_.error.empty()) notifications.push_back(notification(kRunFailed, "error", run_.error, nullptr));
    return {{"executionSuccessful", run_.error.empty()}, {"toolExecutionNotifications", notifications}};
  }

  static Json notification(std::string_view id, std::string_view level, std::string_view text, const Json& location) {
    Json n{{"descriptor", {{"id", id}}}, {"level", level}, {"message", {{"text", messageText(text)}}}};
    if (!location.is_null()) n["locations"] = Json::array({location});
    return n;
  }

  static Json artifact(const std::string& file) { return {{"uri", uriOf(file)}, {"uriBaseId", "%SRCROOT%"}}; }

  // The part of a place that stands on its first line.
  Json oneLineRegion(const Location& at) {
    const std::string_view line = sources_.file(at.file).line(at.line);
    const bool one_line = at.end_line <= at.line;
    Json region{{"startLine", at.line}};
    if (line.empty()) {  // no text to convert with: bytes are the best that is known
      region["startColumn"] = std::max(at.column, 1u);
      if (one_line && at.end_column > at.column) region["endColumn"] = at.end_column;
      return region;
    }
    region["startColumn"] = utf16Column(line, at.column);
    region["endColumn"] = utf16Column(line, one_line ? at.end_column : static_cast<std::uint32_t>(line.size()) + 1);
    return region;
  }

  Json location(const Location& at) { return {{"physicalLocation", {{"artifactLocation", artifact(at.file)}, {"region", oneLineRegion(at)}}}}; }

  Json result(const Finding& f) {
    Json result{{"ruleId", f.code}};
    const auto rule = std::ranges::find_if(rules_, [&](const Rule& r) { return r.info.code == f.code; });
    if (rule != rules_.end()) result["ruleIndex"] = rule - rules_.begin();
    result["level"] = levelOf(f.severity);
    result["message"] = {{"text", linkedMessage(f)}};
    Json primary = location(f.where);
    if (!f.function.empty()) primary["logicalLocations"] = Json::array({{{"fullyQualifiedName", f.function}, {"kind", "function"}}});
    result["locations"] = Json::array({primary});
    result["partialFingerprints"] = partialFingerprints(f);
    if (!f.path.empty()) result["codeFlows"] = Json::array({{{"threadFlows", Json::array({threadFlow(f)})}}});
    if (!f.related.empty()) result["relatedLocations"] = relatedLocations(f);
    // All results of a run carry `suppressions`, or none does.
    if (any_suppressed_) result["suppressions"] = f.suppressed ? Json::array({suppression(f)}) : Json::array();
    if (!f.fixes.empty()) result["fixes"] = Json::array({fix(f)});
    if (!f.key_form.empty()) result["properties"] = {{"keyForm", f.key_form}, {"key", f.key_text}};
    return result;
  }

  static std::string linkedMessage(const Finding& f) {
    std::string text = messageText(f.message);
    for (std::size_t i = 0; i < f.related.size(); ++i)
      text += fmt::format("{}[{}]({})", i == 0 ? " See: " : "; ", messageText(f.related[i].message), i + 1);
    return text + (f.related.empty() ? "" : ".");
  }

  Json partialFingerprints(const Finding& f) {
    auto known = line_hashes_.find(f.where.file);
    if (known == line_hashes_.end())
      known = line_hashes_.emplace(f.where.file, primaryLocationLineHashes(sources_.file(f.where.file).text())).first;
    Json prints = Json::object();
    if (f.where.line >= 1 && f.where.line <= known->second.size() && !sources_.file(f.where.file).empty())
      prints["primaryLocationLineHash"] = known->second[f.where.line - 1];
    prints["pglocklint/v1"] = f.fingerprint;
    return prints;
  }

  Json threadFlow(const Finding& f) {
    Json steps = Json::array();
    for (const RelatedPlace& p : f.path) {
      Json at = location(p.where);
      at["message"] = {{"text", messageText(p.message)}};
      steps.push_back({{"location", at}});
    }
    return {{"locations", steps}};
  }

  Json relatedLocations(const Finding& f) {
    Json places = Json::array();
    for (std::size_t i = 0; i < f.related.size(); ++i) {
      Json at{{"id", i + 1}};
      at.update(location(f.related[i].where));
      at["message"] = {{"text", messageText(f.related[i].message)}};
      places.push_back(at);
    }
    return places;
  }

  static Json suppression(const Finding& f) {
    Json s{{"kind", "inSource"}};
    if (!f.suppression_reason.empty()) s["justification"] = f.suppression_reason;
    return s;
  }

  Json fix(const Finding& f) {
    std::map<std::string, Json> by_file;
    for (const FixEdit& e : f.fixes) {
      const SourceLines& source = sources_.file(e.file);
      const auto [line, column] = source.at(e.start);
      const auto [end_line, end_column] = source.at(e.end);
      Json& replacements = by_file.emplace(e.file, Json::array()).first->second;
      replacements.push_back({{"deletedRegion",
                               {{"startLine", line},
                                {"startColumn", utf16Column(source.line(line), column)},
                                {"endLine", end_line},
                                {"endColumn", utf16Column(source.line(end_line), end_column)}}},
                              {"insertedContent", {{"text", e.text}}}});
    }
    Json changes = Json::array();
    for (const auto& [file, replacements] : by_file) changes.push_back({{"artifactLocation", artifact(file)}, {"replacements", replacements}});
    return {{"description", {{"text", "Apply the repair that pglocklint suggests."}}}, {"artifactChanges", changes}};
  }

  const RunReport& run_;
  std::span<const Rule> rules_;
  SourceCache& sources_;
  std::map<std::string, std::vector<std::string>> line_hashes_;
  bool any_suppressed_ = false;
};

}  // namespace

std::string pascalCase(std::string_view rule_name) {
  std::string out;
  bool upper = true;
  for (const char c : rule_name) {
    if (c == '-') {
      upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

std::string uriOf(std::string_view file) {
  constexpr std::string_view kSafe = "-._~/!$&'()*+,;=@";
  std::string uri;
  for (const char c : file) {
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter_or_digit || kSafe.find(c) != std::string_view::npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

std::string sarifReport(const RunReport& run, std::span<const Rule> rules, SourceCache& sources) { return SarifWriter(run, rules, sources).write(); }

}  // namespace pglocklint

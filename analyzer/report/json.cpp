#include "report/json.h"

#include <nlohmann/json.hpp>

namespace pglocklint {
namespace {

using Json = nlohmann::ordered_json;

Json placeToJson(const RelatedPlace& p) {
  return {{"file", p.where.file}, {"line", p.where.line}, {"column", p.where.column}, {"message", p.message}};
}

Json findingToJson(const Finding& f) {
  Json json{{"rule", f.rule},
            {"code", f.code},
            {"severity", std::string(nameOf(f.severity))},
            {"file", f.where.file},
            {"line", f.where.line},
            {"column", f.where.column},
            {"end_line", f.where.end_line},
            {"end_column", f.where.end_column},
            {"message", f.message},
            {"function", f.function}};
  json["key"] = f.key_form.empty() ? Json(nullptr) : Json{{"form", f.key_form}, {"text", f.key_text}};
  json["related"] = Json::array();
  for (const RelatedPlace& p : f.related) json["related"].push_back(placeToJson(p));
  json["path"] = Json::array();
  for (const RelatedPlace& p : f.path) json["path"].push_back(placeToJson(p));
  json["fixes"] = Json::array();
  for (const FixEdit& e : f.fixes) json["fixes"].push_back({{"file", e.file}, {"start", e.start}, {"end", e.end}, {"text", e.text}});
  json["fingerprint"] = f.fingerprint;
  if (f.suppressed) json["suppressed"] = f.suppression_reason;  // only with --include-suppressed
  return json;
}

Json coverageToJson(const Coverage& c) {
  Json json{{"files", c.files},
            {"statements", c.statements},
            {"call_sites", c.call_sites},
            {"superseded", c.superseded},
            {"suppressed", c.suppressed},
            {"not_understood", Json::array()},
            {"units", Json::array()}};
  for (const CoverageEntry& e : c.not_understood) json["not_understood"].push_back({{"file", e.file}, {"line", e.line}, {"reason", e.reason}});
  for (const UnitStatus& u : c.units) json["units"].push_back({{"file", u.file}, {"status", u.status}, {"reason", u.reason}});
  return json;
}

}  // namespace

std::string jsonReport(const RunReport& run) {
  Json json{{"schema", "pglocklint/findings/1"}, {"tool", {{"version", PGLOCKLINT_VERSION}, {"grammar", run.grammar}}}};
  if (!run.error.empty()) json["error"] = run.error;
  json["coverage"] = coverageToJson(run.coverage);
  json["findings"] = Json::array();
  for (const Finding& f : run.findings) json["findings"].push_back(findingToJson(f));
  // Bytes that are not UTF-8 (file names, source text) become U+FFFD: JSON has no other way.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pglocklint

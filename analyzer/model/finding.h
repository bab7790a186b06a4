// Findings: what a run reports.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "model/describe.h"

namespace pglocklint {

enum class Severity { Note, Warning, Error };
PGLOCKLINT_ENUM_NAMES(Severity, "note", "warning", "error")

// A place as reports show it: file relative to the project root; lines and columns from 1, columns in bytes,
// end exclusive; begin and end are byte offsets from 0.
struct Location {
  std::string file;
  std::uint32_t line = 0, column = 0, end_line = 0, end_column = 0;
  std::uint32_t begin = 0, end = 0;
  auto operator<=>(const Location&) const = default;
};

struct RelatedPlace {
  Location where;
  std::string message;
  auto operator<=>(const RelatedPlace&) const = default;
};

// Replace the bytes [start, end) of `file` by `text`.
struct FixEdit {
  std::string file;
  std::uint32_t start = 0, end = 0;
  std::string text;
  auto operator<=>(const FixEdit&) const = default;
};

struct Finding {
  std::string rule;  // "lock-before-limit"
  std::string code;  // "AL101"
  Severity severity = Severity::Warning;
  Location where;
  std::string message;   // one paragraph: what happens, why, what to write instead
  std::string function;  // qualified name, or empty at the top level of a script
  std::string key_form;  // "bigint", "pair" or empty
  std::string key_text;  // "(1001, *)"
  std::vector<RelatedPlace> related;
  std::vector<RelatedPlace> path;  // step by step
  std::vector<FixEdit> fixes;
  std::string fingerprint;
  // For settle, not reported: what the finding is about. Findings of dominated rules with the same subject are withheld.
  std::string subject;   // call site or pair of sites, e.g. "a.sql:120"
  std::vector<std::string> other_subjects;  // other calls that are part of the same fault
  bool suppressed = false;
  std::string suppression_reason;

  auto operator<=>(const Finding&) const = default;
};

// Findings are reported by file, line, column, code, message.
inline bool inReportOrder(const Finding& a, const Finding& b) {
  auto key = [](const Finding& f) { return std::tie(f.where.file, f.where.line, f.where.column, f.code, f.message); };
  if (key(a) != key(b)) return key(a) < key(b);
  return a < b;
}

struct CoverageEntry {
  std::string file;
  std::uint32_t line = 0;
  std::string reason;
  auto operator<=>(const CoverageEntry&) const = default;
};

struct UnitStatus {
  std::string file, status, reason;  // status: "degraded", "not-read"
  auto operator<=>(const UnitStatus&) const = default;
};

struct Coverage {
  std::uint64_t files = 0, statements = 0, call_sites = 0, superseded = 0, suppressed = 0;
  std::vector<CoverageEntry> not_understood;
  std::vector<UnitStatus> units;
};

}  // namespace pglocklint

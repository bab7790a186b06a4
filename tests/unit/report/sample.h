// A small program and findings made by hand, for the tests of reports.
#pragma once
#include <map>
#include <string>

#include "program/program.h"
#include "report/run_report.h"
#include "report/source_text.h"

namespace pglocklint::test {

inline const std::string kClaim =
    "-- claim one job\n"
    "SELECT id,\n"
    "\tpg_advisory_lock(id) AS \"größe\"\n"
    "FROM job\n"
    "ORDER BY id\n"
    "LIMIT 1 OFFSET 3;\n";
inline const std::string kNightly = "BEGIN;\nSELECT pg_advisory_xact_lock(hashtext('nightly'));\nCOMMIT;\n";

inline SourceReader sources(std::map<std::string, std::string> files = {{"db/claim.sql", kClaim}, {"ops/nightly.sql", kNightly}}) {
  return [files = std::move(files)](const std::string& file) {
    const auto at = files.find(file);
    return at == files.end() ? std::string() : at->second;
  };
}

// The range of the first `what` in `text`, from offset `from` on.
inline SourceRange rangeOf(const std::string& text, const std::string& what, std::size_t from = 0) {
  const auto begin = text.find(what, from);
  REQUIRE_MESSAGE(begin != std::string::npos, what);
  const auto position = [&](std::size_t offset) {
    const auto line_begin = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
    const std::size_t start = line_begin == std::string::npos ? 0 : line_begin + 1;
    const auto line = static_cast<std::uint32_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n')) + 1;
    return std::pair(line, static_cast<std::uint32_t>(offset - start) + 1);
  };
  const std::size_t end = begin + what.size();
  const auto [line, column] = position(begin);
  const auto [end_line, end_column] = position(end);
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), line, column, end_line, end_column, 0};
}

inline Location locationOf(const std::string& file, const std::string& text, const std::string& what) {
  const SourceRange r = rangeOf(text, what);
  return {file, r.line, r.column, r.end_line, r.end_column, r.begin, r.end};
}

inline Finding offsetFinding() {
  Finding f;
  f.rule = "lock-before-limit", f.code = "AL101", f.severity = Severity::Error;
  f.where = locationOf("db/claim.sql", kClaim, "pg_advisory_lock(id)");
  f.message = "pg_advisory_lock(id) runs for rows that OFFSET then discards: the rows that OFFSET skips are computed all the same. Every row "
              "discarded after that stays locked until the session ends.";
  f.key_form = "bigint", f.key_text = "(*)";
  f.related.push_back({locationOf("db/claim.sql", kClaim, "OFFSET 3"), "OFFSET skips rows here, after the call"});
  f.fixes.push_back({"db/claim.sql", locationOf("db/claim.sql", kClaim, "OFFSET 3").begin, locationOf("db/claim.sql", kClaim, "OFFSET 3").end, "OFFSET 0"});
  f.subject = "db/claim.sql:29";
  f.fingerprint = "1111";
  return f;
}

inline Finding hashFinding() {
  Finding f;
  f.rule = "hashtext-key", f.code = "AL202", f.severity = Severity::Warning;
  f.where = locationOf("ops/nightly.sql", kNightly, "hashtext('nightly')");
  f.message = "hashtext() is an internal 32-bit hash.";
  f.function = "ops.nightly";
  f.key_form = "bigint", f.key_text = "hashtext(nightly)";
  f.path.push_back({locationOf("ops/nightly.sql", kNightly, "BEGIN"), "the transaction begins"});
  f.path.push_back({locationOf("ops/nightly.sql", kNightly, "hashtext('nightly')"), "the key is made"});
  f.subject = "ops/nightly.sql:14";
  f.fingerprint = "2222";
  return f;
}

inline RunReport sampleRun() {
  RunReport run;
  run.grammar = 15;
  run.findings = {offsetFinding(), hashFinding()};
  run.coverage.files = 12, run.coverage.statements = 412, run.coverage.call_sites = 97, run.coverage.superseded = 4, run.coverage.suppressed = 1;
  run.coverage.not_understood = {{"db/broken.sql", 7, "syntax error at \"FORM\" (PostgreSQL 15 grammar)"}};
  run.coverage.units = {{"db/secret.sql", "not-read", "not read: permission denied"}};
  return run;
}

// A unit with a script of statements, one an entry of `statements` (each must occur in `text`, in order).
inline Unit scriptUnit(const std::string& file, const std::string& text, const std::vector<std::string>& statements) {
  Unit unit;
  unit.files = {file};
  Function script;
  script.kind = FunctionKind::Script;
  script.range = rangeOf(text, text);
  script.blocks.emplace_back();
  std::size_t from = 0;
  for (const std::string& statement : statements) {
    Statement s;
    s.kind = StatementKind::Query, s.range = rangeOf(text, statement, from), s.head = statement.substr(0, statement.find(' '));
    from = s.range.end;
    script.blocks.back().events.emplace_back(s);
  }
  unit.functions.push_back(script);
  unit.statements = static_cast<std::uint32_t>(statements.size());
  return unit;
}

}  // namespace pglocklint::test

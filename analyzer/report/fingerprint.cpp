#include "report/fingerprint.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <openssl/sha.h>

namespace pglocklint {
namespace {

std::string singleSpaced(std::string_view line) {
  std::string out;
  bool gap = false;
  for (const char c : line) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      gap = true;
      continue;
    }
    if (gap && !out.empty()) out += ' ';
    gap = false;
    out += c;
  }
  return out;
}

// Of a line that is no line of a person (a dump, generated code) the part around the finding.
std::string_view readable(std::string_view line, std::uint32_t column) {
  constexpr std::size_t kLongest = 4000, kAround = 500;
  if (line.size() <= kLongest) return line;
  const std::size_t at = std::min<std::size_t>(column, line.size());
  return line.substr(at > kAround ? at - kAround : 0, 2 * kAround);
}

std::string_view baseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The leading keywords of the innermost statement around the finding.
std::string_view statementHead(const Finding& finding, StatementIndexes& statements) {
  for (const StatementIndex::Entry* e : statements.file(finding.where.file).around(finding.where.begin, finding.where.end))
    if (!e->head.empty()) return e->head;
  return "";
}

}  // namespace

std::string sha256Hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char b : digest) hex += kDigits[b >> 4], hex += kDigits[b & 15];
  return hex;
}

void addFingerprints(std::vector<Finding>& findings, StatementIndexes& statements, SourceCache& sources) {
  std::map<std::string, int> occurrences;
  for (Finding& f : findings) {
    const std::string_view place = f.function.empty() ? statementHead(f, statements) : std::string_view(f.function);
    const std::string line = singleSpaced(readable(sources.file(f.where.file).line(f.where.line), f.where.column));
    std::string identity = f.code;
    for (const std::string_view part : {place, std::string_view(line), std::string_view(f.key_text), baseName(f.where.file)})
      identity.append(1, '\0').append(part);
    const int occurrence = ++occurrences[identity];
    f.fingerprint = sha256Hex(identity + '\0' + std::to_string(occurrence));
  }
}

std::vector<std::string> primaryLocationLineHashes(std::string_view text) {
  constexpr std::size_t kWindow = 100;
  constexpr std::uint64_t kBase = 37;
  // The text as GitHub's reader sees it: UTF-16, no blanks, each line break one '\n', an end mark, then nothing but zeros.
  std::vector<std::uint16_t> units;
  std::vector<std::size_t> line_starts;
  bool at_line_start = true, after_cr = false;
  const auto add = [&](std::uint16_t unit) {
    if (at_line_start) line_starts.push_back(units.size());
    at_line_start = unit == '\n';
    units.push_back(unit);
  };
  for (std::size_t i = 0; i < text.size();) {
    std::int32_t c = nextCodePoint(text, i);
    const bool skip = c == ' ' || c == '\t' || (after_cr && c == '\n');
    after_cr = !skip && c == '\r';
    if (skip) continue;
    if (c < 0) c = 0xFFFD;
    if (c >= 0x10000) {
      add(static_cast<std::uint16_t>(0xD800 + ((c - 0x10000) >> 10)));
      add(static_cast<std::uint16_t>(0xDC00 + ((c - 0x10000) & 0x3FF)));
    } else {
      add(static_cast<std::uint16_t>(after_cr ? '\n' : c));
    }
  }
  add(0xFFFF);

  std::uint64_t base_to_window = 1;
  for (std::size_t i = 0; i < kWindow; ++i) base_to_window *= kBase;
  std::map<std::uint64_t, int> seen;
  std::vector<std::string> hashes;
  std::uint64_t hash = 0;
  const auto unitAt = [&](std::size_t i) -> std::uint64_t { return i < units.size() ? units[i] : 0; };
  for (std::size_t i = 0; i < kWindow; ++i) hash = hash * kBase + unitAt(i);
  std::size_t at = 0;
  for (const std::size_t start : line_starts) {
    for (; at < start; ++at) hash = hash * kBase + unitAt(at + kWindow) - base_to_window * unitAt(at);
    hashes.push_back(fmt::format("{:x}:{}", hash, ++seen[hash]));
  }
  return hashes;
}

}  // namespace pglocklint

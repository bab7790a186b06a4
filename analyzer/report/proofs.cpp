#include "report/proofs.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace pglocklint {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// rule, digest, form, hazard, title, then a column a version.
constexpr std::size_t kFixedColumns = 5;

// The columns' names stand in the last line of the heading.
std::vector<int> versionsOf(std::string_view table) {
  std::vector<int> versions;
  for (const std::string_view line : split(table, '\n')) {
    if (!line.starts_with('#')) continue;
    const auto cells = split(line, '\t');
    if (cells.size() <= kFixedColumns) continue;
    for (const std::string_view cell : std::span(cells).subspan(kFixedColumns)) {
      int major = 0;
      std::from_chars(cell.data(), cell.data() + cell.size(), major);
      versions.push_back(major);
    }
  }
  return versions;
}

}  // namespace

std::vector<ProofForm> proofForms(std::string_view rule) {
  const std::string_view table = embeddedProofTable();
  const std::vector<int> versions = versionsOf(table);
  std::vector<ProofForm> forms;
  for (const std::string_view line : split(table, '\n')) {
    const auto cells = split(line, '\t');
    if (line.starts_with('#') || cells.size() != kFixedColumns + versions.size() || (!rule.empty() && cells[0] != rule)) continue;
    ProofForm form{cells[0], cells[3], cells[4], cells[2] == "bad", {}};
    for (std::size_t i = 0; i < versions.size(); ++i)
      if (const std::string_view cell = cells[kFixedColumns + i]; cell != "-") form.shown[versions[i]] = cell == "shown";
    forms.push_back(std::move(form));
  }
  return forms;
}

std::string provedVersions(std::span<const ProofForm> forms) {
  std::vector<int> proved;
  for (const int major : versionsOf(embeddedProofTable()))
    if (!forms.empty() && std::ranges::all_of(forms, [&](const ProofForm& f) { return f.holdsOn(major); })) proved.push_back(major);
  if (proved.empty()) return "";
  if (proved.size() > 2 && proved.back() - proved.front() + 1 == static_cast<int>(proved.size()))
    return fmt::format("{} to {}", proved.front(), proved.back());
  std::string text;
  for (std::size_t i = 0; i < proved.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : i + 1 == proved.size() ? " and " : ", ", proved[i]);
  return text;
}

}  // namespace pglocklint

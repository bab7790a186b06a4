#include "report/suggest.h"

#include <algorithm>

#include "model/ascii.h"

namespace pglocklint {
namespace {

// Letters inserted, left out, replaced or swapped with their neighbour.
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearestName(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > 100) return {};  // no typing error
  const std::string wanted = lowered(name);
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, (name.size() + 2) / 3) + 1;
  for (const std::string_view candidate : known) {
    // A name cut short ("lock-before") is near too.
    const bool prefix = wanted.size() >= 4 && candidate.starts_with(wanted);
    const std::size_t distance = prefix ? 1 : editDistance(wanted, lowered(candidate));
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

const Rule* findRule(std::string_view name_or_code) {
  const std::string wanted = lowered(name_or_code);
  for (const Rule& rule : allRules())
    if (wanted == rule.info.name || wanted == lowered(rule.info.code)) return &rule;
  return nullptr;
}

std::string ruleSuggestion(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Rule& rule : allRules()) names.push_back(rule.info.name);
  const std::string_view nearest = nearestName(name, names);
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

}  // namespace pglocklint

#include "source/glob.h"

#include <string>

namespace pglocklint {
namespace {

// Matches one `[…]` at the start of `pattern` and reports its length; 0 if it is not closed (the bracket is then an ordinary byte).
std::size_t matchSet(std::string_view pattern, char c, bool& matches) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  i += negated;
  bool found = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found |= pattern[i] <= c && c <= pattern[i + 2];
      i += 3;
    } else {
      found |= pattern[i++] == c;
    }
  }
  if (i >= pattern.size()) return 0;
  matches = found != negated && c != '/';
  return i + 1;
}

// The classic two-pointer match: on a mismatch, the last star swallows one byte more. `**` may swallow a '/', `*` may not, so the last
// star of each sort is remembered; the work stays bounded by the product of the lengths.
bool matchWhole(std::string_view p, std::string_view s) {
  struct Retry {
    std::size_t pattern = std::string_view::npos, text = 0;
  };
  Retry star, double_star;
  std::size_t i = 0, k = 0;
  for (;;) {
    if (i < p.size() && p.substr(i, 2) == "**") {
      i += 2;
      if (i < p.size() && p[i] == '/' && (i == 2 || p[i - 3] == '/')) {  // "**/" also matches no folder at all
        if (matchWhole(p.substr(i + 1), s.substr(k))) return true;
      }
      double_star = {i, k};
      star = {};
      continue;
    }
    if (i < p.size() && p[i] == '*') {
      star = {++i, k};
      continue;
    }
    if (i == p.size() && k == s.size()) return true;
    bool step = false;
    std::size_t width = 1;
    if (i < p.size() && k < s.size()) {
      if (p[i] == '?') {
        step = s[k] != '/';
      } else if (p[i] == '[') {
        width = matchSet(p.substr(i), s[k], step);
        if (width == 0) step = s[k] == '[', width = 1;
      } else {
        if (p[i] == '\\' && i + 1 < p.size()) ++i;
        step = p[i] == s[k];
      }
    }
    if (step) {
      i += width;
      ++k;
    } else if (star.pattern != std::string_view::npos && star.text < s.size() && s[star.text] != '/') {
      i = star.pattern;
      k = ++star.text;
    } else if (double_star.pattern != std::string_view::npos && double_star.text < s.size()) {
      i = double_star.pattern;
      k = ++double_star.text;
      star = {};
    } else {
      return false;
    }
  }
}

}  // namespace

bool globMatches(std::string_view pattern, std::string_view path) {
  if (pattern.starts_with("./")) pattern.remove_prefix(2);
  if (pattern.starts_with('/')) pattern.remove_prefix(1);
  std::string below;
  if (pattern.ends_with('/')) {
    below = std::string(pattern) + "**";
    pattern = below;
  }
  if (pattern.find('/') == std::string_view::npos) {
    const std::size_t slash = path.rfind('/');
    return matchWhole(pattern, slash == std::string_view::npos ? path : path.substr(slash + 1));
  }
  return matchWhole(pattern, path);
}

}  // namespace pglocklint

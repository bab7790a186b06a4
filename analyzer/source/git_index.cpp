#include "source/git_index.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "source/process.h"

namespace pglocklint {
namespace {

// Calls f for every NUL-terminated record.
template <class F>
void eachRecord(std::string_view out, F f) {
  while (!out.empty()) {
    const std::size_t end = out.find('\0');
    f(out.substr(0, end));
    out.remove_prefix(end == std::string_view::npos ? out.size() : end + 1);
  }
}

std::string failureOf(const ProcessResult& git) {
  if (!git.started()) return "git could not be run";
  if (git.err.find("not a git repository") != std::string::npos) return "not a git repository";
  const std::string first = git.err.substr(0, git.err.find('\n'));
  return first.empty() ? "git failed" : "git: " + printablePath(first);
}

// Files whose staged content differs from HEAD; in a repository without commits, all.
std::set<std::string, std::less<>> changedFiles(const std::string& folder, bool& all) {
  std::set<std::string, std::less<>> changed;
  const ProcessResult git = runGit({"diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z"}, folder, {}, true);
  all = git.status != 0;
  eachRecord(git.out, [&](std::string_view path) { changed.emplace(path); });
  return changed;
}

}  // namespace

IndexListing listIndex(const std::string& folder) {
  IndexListing listing;
  const ProcessResult git = runGit({"ls-files", "-s", "-z"}, folder, {}, true);
  if (git.status != 0) {
    listing.error = failureOf(git);
    return listing;
  }
  bool all = false;
  const auto changed = changedFiles(folder, all);
  // "100644 <object> 0\t<path>"; stages 1 to 3 are the sides of an unfinished merge.
  eachRecord(git.out, [&](std::string_view record) {
    const std::size_t tab = record.find('\t');
    if (tab == std::string_view::npos || !record.starts_with("100")) return;
    const std::string_view head = record.substr(0, tab);
    const std::size_t object = head.find(' ') + 1, stage = head.rfind(' ') + 1;
    if (stage <= object || head.substr(stage) != "0") return;
    IndexEntry entry;
    entry.path = record.substr(tab + 1);
    entry.object = head.substr(object, stage - 1 - object);
    entry.changed = all || changed.contains(entry.path);
    listing.entries.push_back(std::move(entry));
  });
  std::ranges::sort(listing.entries);
  return listing;
}

std::vector<FileText> readObjects(const std::string& folder, std::span<const std::string> objects) {
  std::vector<FileText> texts(objects.size());
  std::string input;
  for (const std::string& object : objects) input += object + "\n";
  const ProcessResult git = runGit({"cat-file", "--batch"}, folder, input, true);
  std::string_view out = git.out;
  for (FileText& text : texts) {
    // "<object> blob <size>\n<content>\n", or "<object> missing\n"
    const std::size_t line = out.find('\n');
    const std::string_view head = out.substr(0, line);
    std::uint64_t size = 0;
    const std::string_view digits = head.substr(head.rfind(' ') + 1);
    const bool read = line != std::string_view::npos && head.find(" blob ") != std::string_view::npos &&
                      std::from_chars(digits.data(), digits.data() + digits.size(), size).ec == std::errc() && size <= out.size() - line - 1;
    if (!read) {
      text.error = "not in the object store of git";
      if (line != std::string_view::npos) out.remove_prefix(line + 1);
      continue;
    }
    text.text = out.substr(line + 1, size);
    out.remove_prefix(std::min<std::size_t>(out.size(), line + 1 + size + 1));
  }
  return texts;
}

}  // namespace pglocklint

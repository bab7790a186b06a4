#include "source/include_roots.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "model/ascii.h"
#include "source/process.h"

namespace pglocklint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostIncludeRoots = 48;
constexpr std::string_view kHeaderEndings[] = {".h", ".hh", ".hpp", ".hxx", ".h++", ".inc", ".ipp", ".tpp", ".inl", ".tcc"};
constexpr std::string_view kRootNames[] = {"include", "src", "inc"};
// Of an unpacked release, which has no .git: what its parts are built with.
constexpr std::string_view kBuildFiles[] = {"CMakeLists.txt", "meson.build", "configure.ac", "Makefile", "Makefile.in", "GNUmakefile"};

// The folders of this header that have the name of a root.
void addRootsOf(const std::string& header, const fs::path& base, std::set<std::string>& roots) {
  for (fs::path p = fs::path(header).parent_path(); !p.empty(); p = p.parent_path())
    if (std::ranges::find(kRootNames, p.filename().string()) != std::end(kRootNames)) roots.insert((base / p).string());
}

// The nearest folder with a .git, from this one upwards; else the last of those above that are built together with it.
fs::path repositoryOf(const fs::path& root) {
  std::error_code ignored;
  for (fs::path folder = root;; folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", ignored)) return folder;
    if (folder == folder.parent_path()) break;
  }
  const auto built = [&](const fs::path& folder) {
    return std::ranges::any_of(kBuildFiles, [&](std::string_view name) { return fs::is_regular_file(folder / name, ignored); });
  };
  fs::path folder = root;
  while (folder != folder.parent_path() && built(folder.parent_path())) folder = folder.parent_path();
  return folder;
}

std::size_t commonLength(const fs::path& a, const fs::path& b) {
  return static_cast<std::size_t>(std::distance(a.begin(), std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first));
}

// Roots in the repository outside of the folder. What git tracks says where headers are: a list that it keeps, no walk over the tree.
std::vector<std::string> rootsOutside(const fs::path& root, const fs::path& repository) {
  std::vector<std::string> found;
  std::error_code ignored;
  std::set<std::string> roots;
  for (fs::path folder = root; folder != repository;) {
    folder = folder.parent_path();
    found.push_back(folder.string());
    for (const std::string_view name : kRootNames)
      if (fs::is_directory(folder / name, ignored)) roots.insert((folder / name).string());
  }
  std::vector<std::string> listing{"ls-files", "-z", "--"};
  for (const std::string_view ending : kHeaderEndings) listing.push_back("*" + std::string(ending));
  const ProcessResult git = runGit(std::move(listing), repository.string());
  if (git.status == 0)
    for (std::string_view out = git.out; !out.empty();) {
      const std::string_view name = out.substr(0, out.find('\0'));
      out.remove_prefix(std::min(out.size(), name.size() + 1));
      addRootsOf(std::string(name), repository, roots);
    }
  std::vector<std::string> near(roots.begin(), roots.end());
  std::ranges::stable_sort(near, std::ranges::greater{}, [&](const std::string& p) { return commonLength(p, root); });
  found.insert(found.end(), near.begin(), near.end());
  return found;
}

}  // namespace

bool isHeader(const std::string& path) {
  return std::ranges::find(kHeaderEndings, lowered(fs::path(path).extension().string())) != std::end(kHeaderEndings);
}

std::vector<std::string> includeRoots(const std::string& root, std::span<const std::string> files) {
  std::set<std::string> inside{root};
  for (const std::string& path : files)
    if (isHeader(path)) addRootsOf(path, root, inside);
  std::vector<std::string> roots(inside.begin(), inside.end());
  const fs::path repository = repositoryOf(root);
  if (roots.size() < kMostIncludeRoots && repository != fs::path(root))
    for (std::string& outside : rootsOutside(root, repository))
      if (!inside.contains(outside)) roots.push_back(std::move(outside));
  if (roots.size() > kMostIncludeRoots) roots.resize(kMostIncludeRoots);
  return roots;
}

}  // namespace pglocklint

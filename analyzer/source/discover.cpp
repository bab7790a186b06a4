#include "source/discover.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "model/ascii.h"
#include "source/git_index.h"
#include "source/pooler.h"
#include "source/process.h"
#include "source/read_file.h"

namespace pglocklint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSqlEndings[] = {".sql", ".psql", ".pgsql", ".plpgsql", ".ddl"};
constexpr std::string_view kTemplateEndings[] = {".in", ".tmpl", ".tpl", ".template", ".j2", ".jinja", ".jinja2", ".erb", ".mustache"};
constexpr std::string_view kCppEndings[] = {".c",  ".cc",  ".cpp", ".cxx", ".c++", ".h",   ".hh",  ".hpp",
                                            ".hxx", ".h++", ".ipp", ".inl", ".tpp", ".ixx", ".cppm"};
constexpr std::string_view kShellEndings[] = {".sh", ".bash", ".ksh", ".zsh"};
constexpr std::string_view kSkippedFolders[] = {".git", ".hg", ".svn", "node_modules"};
constexpr std::string_view kConfigName = "pglocklint.json";

template <std::size_t N>
std::string_view endingIn(std::string_view lower, const std::string_view (&list)[N]) {
  for (const std::string_view ending : list) {
    if (lower.size() > ending.size() && lower.ends_with(ending)) return ending;
  }
  return {};
}

using Identity = std::pair<dev_t, ino_t>;
Identity identityOf(const struct stat& s) { return {s.st_dev, s.st_ino}; }

std::string absolutePath(const std::string& path) {
  std::error_code error;
  fs::path absolute = fs::absolute(path.empty() ? "." : path, error).lexically_normal();
  std::string result = absolute.string();
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

std::string parentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string join(const std::string& folder, std::string_view name) {
  return folder == "/" ? "/" + std::string(name) : folder + "/" + std::string(name);
}

bool isBelow(std::string_view path, std::string_view folder) {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

std::string realPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (!resolved) return {};
  std::string result(resolved);
  std::free(resolved);
  return result;
}

bool isFolder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool isFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string findRoot(const DiscoverOptions& options) {
  if (!options.config_root.empty()) return absolutePath(options.config_root);
  const std::string first = absolutePath(options.paths.front());
  for (std::string folder = isFolder(first) ? first : parentOf(first);; folder = parentOf(folder)) {
    if (isFile(join(folder, kConfigName))) return folder;
    if (folder == "/") break;
  }
  return options.paths.size() == 1 && isFolder(first) ? first : absolutePath(".");
}

bool insideGit(std::string folder) {
  for (;; folder = parentOf(folder)) {
    struct stat info {};
    if (lstat(join(folder, ".git").c_str(), &info) == 0) return true;
    if (folder == "/") return false;
  }
}

bool hasEnding(std::string_view name) { return name.find('.', name.rfind('/') + 1) != std::string_view::npos; }

// Programs without an ending may be shell scripts.
FileKind kindOf(const std::string& path, const struct stat& info) {
  const FileKind kind = fileKind(path);
  return kind == FileKind::Other && (info.st_mode & S_IXUSR) && !hasEnding(path) ? FileKind::Shell : kind;
}

class Finder {
 public:
  explicit Finder(const DiscoverOptions& options) : options_(options) {
    if (options_.paths.empty()) options_.paths = {"."};
    found_.root = findRoot(options_);
    real_root_ = realPath(found_.root);
  }

  Discovery find() {
    for (const std::string& path : options_.paths) options_.staged ? stagedPath(path) : requestedPath(path);
    through_link_ = true;
    while (!linked_folders_.empty()) {
      const std::string folder = std::move(linked_folders_.back());
      linked_folders_.pop_back();
      listFolder(folder, 0);
    }
    for (auto& [identity, path] : linked_files_) {
      if (!files_by_identity_.contains(identity)) addFile(path, fileKind(path));
    }
    for (auto& [path, file] : files_) found_.files.push_back(std::move(file));
    std::ranges::sort(found_.unread);
    found_.unread.erase(std::unique(found_.unread.begin(), found_.unread.end()), found_.unread.end());
    return std::move(found_);
  }

 private:
  static constexpr int kDeepest = 64;  // repositories inside repositories

  std::string relative(const std::string& absolute) const {
    if (absolute != found_.root && isBelow(absolute, found_.root)) return absolute.substr(found_.root == "/" ? 1 : found_.root.size() + 1);
    return fs::path(absolute).lexically_relative(found_.root).string();
  }

  void requestedPath(const std::string& path) {
    const std::string absolute = absolutePath(path);
    struct stat info {};
    if (stat(absolute.c_str(), &info) != 0) return unusable(path, errno);
    if (S_ISDIR(info.st_mode)) {
      DIR* folder = opendir(absolute.c_str());
      if (!folder) return unusable(path, errno);
      closedir(folder);
      return listFolder(absolute, 0);
    }
    if (!S_ISREG(info.st_mode)) {
      found_.errors.push_back(printablePath(path) + ": not a regular file or folder");
      return;
    }
    files_by_identity_.insert(identityOf(info));
    addNamedFile(absolute);
  }

  void unusable(const std::string& path, int error) {
    found_.errors.push_back(printablePath(path) + ": " + systemError(error) +
                            (error == ENOENT ? ": give files or folders that exist" : ": make it readable, or leave it out"));
  }

  // What the index holds of a path: it need not exist in the working tree.
  void stagedPath(const std::string& path) {
    const std::string absolute = absolutePath(path);
    std::string folder = absolute;
    while (!isFolder(folder)) folder = parentOf(folder);
    const IndexListing listing = listIndex(folder);
    if (!listing.error.empty()) {
      found_.errors.push_back(printablePath(path) + ": " + listing.error + ": --staged reads the index of a git repository");
      return;
    }
    bool any = folder == absolute;
    for (const IndexEntry& entry : listing.entries) {
      const std::string file = join(folder, entry.path);
      if (!isBelow(file, absolute)) continue;
      any = true;
      FileKind kind = fileKind(file);
      if (kind == FileKind::Other && file == absolute) kind = FileKind::Sql;
      if (SourceFile* added = addFile(file, kind)) {
        added->object = entry.object;
        added->changed = entry.changed;
      }
    }
    if (!any) found_.errors.push_back(printablePath(path) + ": not in the index: git add it, or leave it out");
  }

  void addNamedFile(const std::string& absolute) {
    const FileKind kind = fileKind(absolute);
    addFile(absolute, kind == FileKind::Other ? FileKind::Sql : kind);
  }

  SourceFile* addFile(const std::string& absolute, FileKind kind) {
    if (kind == FileKind::Other) return nullptr;
    SourceFile file;
    file.path = relative(absolute);
    file.absolute = absolute;
    file.kind = kind;
    std::string key = file.path;
    return &files_.try_emplace(std::move(key), std::move(file)).first->second;
  }

  void listFolder(const std::string& folder, int depth) {
    struct stat info {};
    if (depth > kDeepest || stat(folder.c_str(), &info) != 0 || !listed_.insert(identityOf(info)).second) return;
    if (!insideGit(folder) || !listByGit(folder, depth)) walk(folder);
  }

  // Everything that git tracks or would track. False if git cannot tell, or if the folder is one that it ignores.
  bool listByGit(const std::string& folder, int depth) {
    const ProcessResult git = runGit({"ls-files", "-co", "--exclude-standard", "-z"}, folder);
    if (git.status != 0) return false;
    if (git.out.empty() && runGit({"check-ignore", "-q", folder}, parentOf(folder)).status == 0) return false;
    std::vector<std::string> nested;
    for (std::string_view out = git.out; !out.empty();) {
      const std::string_view name = out.substr(0, out.find('\0'));
      out.remove_prefix(std::min(out.size(), name.size() + 1));
      const bool repository = name.ends_with('/');
      // Files without an ending of ours are not even looked at, unless they could be a submodule or a link to a folder.
      if (!repository && fileKind(name) == FileKind::Other && hasEnding(name)) continue;
      std::string path = join(folder, repository ? name.substr(0, name.size() - 1) : name);
      if (entry(path)) nested.push_back(std::move(path));
    }
    for (const std::string& path : nested) listFolder(path, depth + 1);
    unreadableFolders(git.err, folder);
    return true;
  }

  // "warning: could not open directory 'private/': Permission denied", relative to the top of the work tree.
  void unreadableFolders(std::string_view messages, const std::string& folder) {
    constexpr std::string_view kWarning = "could not open directory '";
    std::string top;
    for (std::size_t at = messages.find(kWarning); at != std::string_view::npos; at = messages.find(kWarning, at + 1)) {
      const std::size_t begin = at + kWarning.size();
      std::string name(messages.substr(begin, messages.find("': ", begin) - begin));
      while (name.ends_with('/')) name.pop_back();
      if (top.empty()) {
        top = runGit({"rev-parse", "--show-toplevel"}, folder).out;
        while (top.ends_with('\n')) top.pop_back();
      }
      notRead(join(top, name), EACCES);
    }
  }

  void notRead(const std::string& absolute, int error) { found_.unread.push_back({relative(absolute), "not-read", systemError(error)}); }

  // One directory entry or listed name. True if it is a folder to go into.
  bool entry(const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) {
      if (errno == EACCES && fileKind(path) != FileKind::Other) notRead(path, errno);
      return false;  // ENOENT: tracked, but deleted in the working tree
    }
    if (S_ISLNK(info.st_mode)) {
      link(path);
      return false;
    }
    if (S_ISDIR(info.st_mode)) return true;
    if (S_ISREG(info.st_mode) && kindOf(path, info) != FileKind::Other) {
      if (through_link_) {
        addLinkedFile(path, info);
      } else {
        files_by_identity_.insert(identityOf(info));
        addFile(path, kindOf(path, info));
      }
    }
    return false;
  }

  // Links are kept for later: what is reached without one counts first.
  void link(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return;  // dangling, or a cycle
    const std::string target = realPath(path);
    if (target.empty() || real_root_.empty() || !isBelow(target, real_root_)) return;
    if (S_ISDIR(info.st_mode)) {
      linked_folders_.push_back(path);
    } else if (S_ISREG(info.st_mode) && fileKind(path) != FileKind::Other) {
      addLinkedFile(path, info);
    }
  }

  void addLinkedFile(const std::string& path, const struct stat& info) {
    const auto [known, added] = linked_files_.try_emplace(identityOf(info), path);
    if (!added) known->second = std::min(known->second, path);
  }

  void walk(const std::string& start) {
    std::vector<std::string> open{start};
    while (!open.empty()) {
      const std::string folder = std::move(open.back());
      open.pop_back();
      DIR* stream = opendir(folder.c_str());
      if (!stream) {
        notRead(folder, errno);
        continue;
      }
      std::vector<std::string> names;
      while (const dirent* e = readdir(stream)) {
        const std::string_view name = e->d_name;
        if (name == "." || name == ".." || std::ranges::find(kSkippedFolders, name) != std::end(kSkippedFolders)) continue;
        if (e->d_type == DT_REG && fileKind(name) == FileKind::Other && hasEnding(name)) continue;
        names.emplace_back(name);
      }
      closedir(stream);
      std::ranges::sort(names);
      for (const std::string& name : names) {
        std::string path = join(folder, name);
        struct stat info {};
        if (entry(path) && stat(path.c_str(), &info) == 0 && listed_.insert(identityOf(info)).second) open.push_back(std::move(path));
      }
    }
  }

  DiscoverOptions options_;
  Discovery found_;
  std::string real_root_;
  std::map<std::string, SourceFile> files_;
  std::set<Identity> listed_, files_by_identity_;
  std::map<Identity, std::string> linked_files_;
  std::vector<std::string> linked_folders_;
  bool through_link_ = false;  // what is found now is reached through a link
};

}  // namespace

FileKind fileKind(std::string_view path) {
  if (isPoolerName(path)) return FileKind::Pooler;
  const std::size_t slash = path.rfind('/');
  std::string lower = lowered(slash == std::string_view::npos ? path : path.substr(slash + 1));
  if (const std::string_view ending = endingIn(lower, kTemplateEndings); !ending.empty()) lower.resize(lower.size() - ending.size());
  if (!endingIn(lower, kSqlEndings).empty()) return FileKind::Sql;
  if (!endingIn(lower, kCppEndings).empty()) return FileKind::Cpp;
  if (!endingIn(lower, kShellEndings).empty()) return FileKind::Shell;
  return FileKind::Other;
}

Discovery discover(const DiscoverOptions& options) { return Finder(options).find(); }

}  // namespace pglocklint

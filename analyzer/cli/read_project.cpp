// Reading a project: discover, look for the words that matter, cut what matters into statements, follow names in rounds, parse once.
//
// A file without a lock function's name costs one search over its bytes. The names found in files that matter (routines that lock,
// tables of lock statements) are searched for in the others; a round that brings no new name is the last. Rounds are sets, so the result
// does not depend on the order of files or threads.
#include "cli/read_project.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "cli/read_shell.h"
#include "cli/read_cpp.h"
#include "source/discover.h"
#include "source/git_index.h"
#include "source/parallel.h"
#include "source/pooler.h"
#include "source/read_file.h"
#include "source/runner.h"
#include "source/search.h"
#include "sql/front_end.h"

namespace pglocklint {

namespace {

namespace fs = std::filesystem;

constexpr int kMostRounds = 32;  // each brings a new name; real projects need three or four

// Texts of the project's files, from the working tree, the index or standard input.
class Texts {
 public:
  Texts(const Discovery& found, const ProjectInput& input) : root_(found.root) {
    for (const SourceFile& f : found.files) absolute_[f.path] = f.absolute;
    if (input.staged) readIndex(found);
    if (!input.stdin_path.empty()) kept_[input.stdin_path] = {input.stdin_text, ""};
  }

  FileText read(const std::string& path) const {
    if (const auto it = kept_.find(path); it != kept_.end()) return it->second;
    if (const auto it = absolute_.find(path); it != absolute_.end()) return readFile(it->second);
    return readFile(root_ + "/" + path);
  }

 private:
  void readIndex(const Discovery& found) {
    std::vector<std::string> objects, paths;
    for (const SourceFile& f : found.files)
      if (!f.object.empty() && f.kind != FileKind::Other) objects.push_back(f.object), paths.push_back(f.path);
    std::vector<FileText> texts = readObjects(found.root, objects);
    for (std::size_t i = 0; i < texts.size(); ++i) kept_[paths[i]] = std::move(texts[i]);
  }

  std::string root_;
  std::map<std::string, std::string> absolute_;
  std::map<std::string, FileText> kept_;
};

// One file on its way from name to facts.
struct Progress {
  std::string path;
  std::optional<sql::ScannedFile> scanned;  // once it matters
  std::string error;
  bool includes_followed = false;
};

class Reading {
 public:
  Reading(const ProjectInput& input, std::shared_ptr<const Texts> texts, std::vector<std::string> paths)
      : input_(input), texts_(std::move(texts)) {
    known_.insert(paths.begin(), paths.end());
    for (std::string& p : paths) files_.push_back({std::move(p), std::nullopt, "", false});
  }

  // `names`: what other languages ask for.
  void run(const sql::RelevantNames& names) {
    names_.merge(names);
    seedRound();
    while (addIncluded()) {}
    for (int round = 0; round < kMostRounds && nameRound(); ++round)
      while (addIncluded()) {}
  }

  std::vector<Unit> units(const RunnerProfiles& profiles) {
    std::vector<std::size_t> matter;
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (files_[i].scanned) matter.push_back(i);
    std::vector<Unit> units(matter.size());
    forEach(matter.size(), [&](std::size_t i) {
      sql::ScannedFile& file = *files_[matter[i]].scanned;
      units[i] = sql::readSql(file, input_.everything);
      units[i].runner = profiles.of(file.path, file.text);
      files_[matter[i]].scanned.reset();  // the text is no longer needed
    });
    return units;
  }

  const std::vector<Progress>& files() const { return files_; }
  // Routines that lock and tables whose triggers do, sorted.
  std::vector<std::string> lockingNames() const {
    std::vector<std::string> names(names_.routines.begin(), names_.routines.end());
    names.insert(names.end(), names_.written.begin(), names_.written.end());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  void forEach(std::size_t n, const std::function<void(std::size_t)>& f) const { parallelFor(n, input_.threads, kLargeStack, f); }

  // Reads every file once; those with a seed word are cut into statements.
  void seedRound() {
    const WordSearch seeds(sql::kSeedWords);
    std::vector<sql::RelevantNames> found(files_.size());
    forEach(files_.size(), [&](std::size_t i) {
      FileText file = texts_->read(files_[i].path);
      files_[i].error = std::move(file.error);
      if (!files_[i].error.empty() || !(input_.everything || seeds.in(file.text))) return;
      files_[i].scanned = sql::scanFile(files_[i].path, std::move(file.text));
      sql::markRelevant(*files_[i].scanned, {}, found[i]);
    });
    for (const sql::RelevantNames& f : found) names_.merge(f);
  }

  // Looks for the names that the last round found; false when there are none.
  bool nameRound() {
    const sql::RelevantNames fresh = names_.newIn(asked_);
    if (fresh.empty()) return false;
    asked_.merge(fresh);
    std::vector<sql::RelevantNames> found(files_.size());
    forEach(files_.size(), [&](std::size_t i) {
      Progress& p = files_[i];
      if (!p.error.empty()) return;
      if (!p.scanned) {
        FileText file = texts_->read(p.path);
        if (!file.error.empty() || !sql::mentionsAny(file.text, fresh)) return;
        sql::ScannedFile scanned = sql::scanFile(p.path, std::move(file.text));
        sql::markRelevant(scanned, asked_, found[i]);
        if (std::find(scanned.relevant.begin(), scanned.relevant.end(), true) != scanned.relevant.end()) p.scanned = std::move(scanned);
        return;
      }
      sql::markRelevant(*p.scanned, fresh, found[i]);
    });
    for (const sql::RelevantNames& f : found) names_.merge(f);
    return true;
  }

  // Files that psql scripts include and that were not among the paths, because of their names or where they lie.
  // False when there are none. What they include in turn comes with the next call.
  bool addIncluded() {
    std::vector<std::string> more;
    for (Progress& p : files_) {
      if (!p.scanned || std::exchange(p.includes_followed, true)) continue;
      for (const sql::Piece& piece : p.scanned->script.pieces)
        if (piece.kind == sql::PieceKind::MetaCommand)
          if (std::string target = sql::includedFile(p.path, std::string_view(p.scanned->text).substr(piece.begin, piece.end - piece.begin),
                                                     [&](const std::string& path) { return texts_->read(path).error.empty(); });
              !target.empty() && known_.insert(target).second)
            more.push_back(std::move(target));
    }
    std::sort(more.begin(), more.end());
    for (std::string& path : more) {
      FileText file = texts_->read(path);
      Progress p{std::move(path), std::nullopt, std::move(file.error), false};
      if (p.error.empty() && sql::mentionsSeed(file.text)) {
        p.scanned = sql::scanFile(p.path, std::move(file.text));
        sql::RelevantNames found;
        sql::markRelevant(*p.scanned, asked_, found);
        names_.merge(found);
      }
      files_.push_back(std::move(p));
    }
    return !more.empty();
  }

  const ProjectInput& input_;
  std::shared_ptr<const Texts> texts_;
  std::vector<Progress> files_;
  std::set<std::string> known_;  // their paths
  sql::RelevantNames names_;   // found so far
  sql::RelevantNames asked_;   // of these, those that every file that matters was asked for
};

// A path as the user gives it (relative to the working folder) → relative to the root; as it stands if it lies elsewhere.
std::string belowRoot(const std::string& path, const std::string& root) {
  const std::string relative = fs::absolute(path).lexically_normal().lexically_relative(root).generic_string();
  return relative.empty() || relative.starts_with("..") ? path : relative;
}

}  // namespace

ProjectFacts readProject(const ProjectInput& given) {
  ProjectFacts facts;
  ProjectInput input = given;
  Discovery found;
  if (input.paths.empty() && input.stdin_path.empty())  // facts alone
    found.root = input.config_root.empty() ? fs::current_path().string() : input.config_root;
  else
    found = discover({input.paths, input.config_root, input.staged});
  if (!input.stdin_path.empty()) input.stdin_path = belowRoot(input.stdin_path, found.root);
  facts.root = found.root;
  facts.errors = found.errors;
  facts.unread = found.unread;
  if (!facts.errors.empty()) return facts;

  for (const SourceFile& f : found.files)
    if (f.changed) facts.staged.push_back(f.path);
  std::vector<std::string> paths, scripts, poolers, cpp_paths;
  for (const SourceFile& f : found.files) {
    if (f.kind == FileKind::Sql) paths.push_back(f.path);
    if (f.kind == FileKind::Shell) scripts.push_back(f.path);
    if (f.kind == FileKind::Pooler) poolers.push_back(f.path);
    if (f.kind == FileKind::Cpp) cpp_paths.push_back(f.path);
  }
  if (!input.stdin_path.empty() && std::find(paths.begin(), paths.end(), input.stdin_path) == paths.end())
    paths.push_back(input.stdin_path);
  const auto texts = std::make_shared<const Texts>(found, input);
  std::vector<std::vector<Pooler>> found_poolers(poolers.size());
  std::vector<std::string> unread_parts(poolers.size());
  parallelFor(poolers.size(), input.threads, kLargeStack, [&](std::size_t i) {
    const std::string text = texts->read(poolers[i]).text;
    found_poolers[i] = readPoolers(poolers[i], text), unread_parts[i] = unreadPart(poolers[i], text);
  });
  for (std::vector<Pooler>& all : found_poolers) std::move(all.begin(), all.end(), std::back_inserter(facts.poolers));
  for (std::size_t i = 0; i < poolers.size(); ++i)
    if (!unread_parts[i].empty()) facts.unread.push_back({poolers[i], "degraded", unread_parts[i]});
  ShellReading shell = readShellScripts(scripts, [&](const std::string& path) { return texts->read(path); }, input.threads);
  for (const auto& [path, error] : shell.unread) facts.unread.push_back({path, "not-read", error});
  for (const auto& [path, mode] : shell.runs) paths.push_back(path);  // whatever they are called
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());

  CppReading cpp({cpp_paths, found.root, input.build_folder, input.threads, [texts](const std::string& path) { return texts->read(path); },
                  std::move(input.cpp_units), input.call_models});
  if (!cpp.error().empty()) {
    facts.errors.push_back(cpp.error());
    return facts;
  }
  cpp.run();
  Reading reading(input, texts, paths);
  reading.run(cpp.names());
  cpp.follow(reading.lockingNames());
  std::vector<Unit> cpp_units = cpp.units();
  facts.files = reading.files().size() + shell.units.size() + cpp_units.size();
  for (UnitStatus& u : cpp.unread()) facts.unread.push_back(std::move(u));
  for (const auto& p : reading.files())
    if (!p.error.empty()) facts.unread.push_back({p.path, "not-read", p.error});

  std::vector<RunnerRule> rules;
  for (const RunnerOverride& r : input.runners) rules.push_back({r.glob, r.runner});
  const RunnerProfiles profiles(paths, std::move(rules), [texts](const std::string& path) -> std::optional<std::string> {
    FileText file = texts->read(path);
    if (!file.error.empty()) return std::nullopt;
    return std::move(file.text);
  });
  facts.units = reading.units(profiles);
  for (Unit& unit : facts.units) applyRuns(shell.runs, unit);
  std::move(shell.units.begin(), shell.units.end(), std::back_inserter(facts.units));
  std::move(cpp_units.begin(), cpp_units.end(), std::back_inserter(facts.units));
  std::sort(facts.units.begin(), facts.units.end(), [](const Unit& a, const Unit& b) { return a.path() < b.path(); });
  std::sort(facts.unread.begin(), facts.unread.end());
  facts.source = [texts](const std::string& path) { return texts->read(path).text; };
  return facts;
}

}  // namespace pglocklint

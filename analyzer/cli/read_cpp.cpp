// Only files that matter are parsed: those in which a lock function, pg_locks or a lock tag is named, then those that name a
// function or class found to lock, until nothing new turns up. A header is parsed on its own only if no parsed unit includes it.
//
// Each unit is parsed by a pglocklint-clang of its own: a crash, an endless loop or a file that clang cannot read costs that
// unit, and one line of the coverage.
#include "cli/read_cpp.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/ascii.h"
#include "model/facts_json.h"
#include "model/facts_section.h"
#include "model/lock_function.h"
#include "program/host_paths.h"
#include "program/keys.h"
#include "source/compile_database.h"
#include "source/include_roots.h"
#include "source/parallel.h"
#include "source/process.h"
#include "source/search.h"
#include "sql/host_sql.h"
#include "sql/script_comments.h"

namespace pglocklint {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kSeeds{"advisory", "pg_locks", "set_locktag_"};
constexpr int kWorkerProcessorSeconds = 60;
constexpr int kWorkerSeconds = 300;  // by the clock: the last resort, for a machine that does other things too
constexpr std::size_t kMostOutput = std::size_t{512} << 20;
constexpr int kMostRounds = 8;
constexpr int kDeepestInclude = 6;
constexpr std::size_t kFewFiles = 20;         // that may be parsed for one name or header, however small the project
constexpr std::size_t kShortestName = 4;  // of functions that are looked for in other files
constexpr std::size_t kStack = std::size_t{1} << 20;

bool isC(const std::string& path) { return lowered(fs::path(path).extension().string()) == ".c"; }

// Beside our own executable.
std::string workerPath() {
  std::array<char, PATH_MAX> buffer;
  const ssize_t n = readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (n <= 0 || static_cast<std::size_t>(n) == buffer.size()) return "";
  const fs::path worker = fs::path(std::string(buffer.data(), static_cast<std::size_t>(n))).parent_path() / "pglocklint-clang";
  return access(worker.c_str(), X_OK) == 0 ? worker.string() : "";
}

// Whether a text of the program concerns locks.
bool mentionsLock(std::string_view text) {
  static const WordSearch words{kSeeds};
  return words.in(text);
}

// "ns::Guard::lock(int)" → "lock"; "ns::Guard::constructor(…)" → "Guard".
std::string searchedName(const Function& f) {
  std::string name = hostDisplayName(f.name);
  std::size_t colons = name.rfind("::");
  std::string last = colons == std::string::npos ? name : name.substr(colons + 2);
  if ((last == "constructor" || last == "destructor") && colons != std::string::npos) {
    name.resize(colons);
    colons = name.rfind("::");
    last = colons == std::string::npos ? name : name.substr(colons + 2);
  }
  return last;
}

// The last names of the paths that a file includes.
std::vector<std::string> includedNames(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find("include"); at != std::string_view::npos; at = text.find("include", at + 7)) {
    const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::string_view before = text.substr(line, at - line);
    if (before.find_first_not_of(" \t#") != std::string_view::npos || before.find('#') == std::string_view::npos) continue;
    const std::size_t open = text.find_first_not_of(" \t", at + 7);
    if (open == std::string_view::npos || (text[open] != '"' && text[open] != '<')) continue;
    const std::size_t close = text.find_first_of("\">\n", open + 1);
    if (close == std::string_view::npos) break;
    const std::string_view path = text.substr(open + 1, close - open - 1);
    names.emplace_back(path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1));
  }
  return names;
}

}  // namespace

struct CppReading::State {
  std::string worker;
  CompileDatabase database;
  std::optional<std::vector<std::string>> include_roots;  // for files without a command; looked for when there is one
  std::set<std::string> done;              // files that were parsed, or included by one that was
  std::set<std::string> asked;             // names that were looked for
  std::set<std::string> stale;             // files that are not what the facts given to us were made of
};

CppReading::CppReading(CppInput input) : input_(std::move(input)), state_(std::make_unique<State>()) {
  state_->worker = workerPath();
  std::vector<std::string> folders;
  if (!input_.build_folder.empty())
    folders = {fs::absolute(input_.build_folder).lexically_normal().string()};
  else
    for (const char* name :
         {"", "build", "build-debug", "build-release", "cmake-build-debug", "cmake-build-release", "out", "builddir"})
      folders.push_back((fs::path(input_.root) / name).lexically_normal().string());
  for (const std::string& folder : folders) {
    const std::string path = (fs::path(folder) / "compile_commands.json").string();
    FileText text = readFile(path);
    if (!text.error.empty()) {
      if (!input_.build_folder.empty()) error_ = fmt::format("cannot read {}: {}", path, text.error);
      continue;
    }
    std::string why;
    state_->database = CompileDatabase::parse(text.text, input_.root, folder, why);
    if (!why.empty() && !input_.build_folder.empty())
      error_ = fmt::format("cannot use {}: {}", path, why);
    else if (!why.empty())
      unread_.push_back({path, "not-read", why});
    break;
  }
}

CppReading::~CppReading() = default;

// Facts that were given to us stand for their files, unless we read a newer text of them ourselves.
void CppReading::adopt(std::vector<MadeUnit> given) {
  std::map<std::string, FileText> texts;
  std::map<std::string, std::string> digests;
  const auto textOf = [&](const std::string& path) -> const FileText& {
    const auto [at, fresh] = texts.try_emplace(path);
    if (fresh) {
      at->second = input_.read(path);
      digests[path] = at->second.error.empty() ? md5Hex(at->second.text) : "";
    }
    return at->second;
  };
  for (MadeUnit& made : given) {
    Unit& u = made.unit;
    const bool here = std::ranges::binary_search(input_.paths, u.path());
    std::vector<std::string> stale;
    for (std::size_t i = 0; i < u.files.size(); ++i) {
      const FileText& text = textOf(u.files[i]);
      const std::string made_of = i < made.digests.size() ? made.digests[i] : "";
      if (!text.error.empty() || (!made_of.empty() && made_of != digests[u.files[i]]))
        stale.push_back(u.files[i]);
      else if (made.byLine())
        placeByLines(u, static_cast<std::uint32_t>(i), text.text);
    }
    const bool unknown = !made.byLine() && std::ranges::all_of(made.digests, &std::string::empty);
    if (here && (unknown || !stale.empty())) continue;
    state_->stale.insert(stale.begin(), stale.end());
    state_->done.insert(u.files.begin(), u.files.end());
    parsed_.push_back(std::move(u));
  }
  for (const std::string& path : state_->stale)
    unread_.push_back({path, "stale", textOf(path).error.empty() ? "it is not the text that its facts were made of: build again"
                                                                 : "its facts are here and it is not: " + textOf(path).error});
}

void CppReading::run() {
  adopt(std::move(input_.given));
  std::vector<char> matters(input_.paths.size());
  std::vector<std::string> errors(input_.paths.size());
  const WordSearch seeds(kSeeds);
  parallelFor(input_.paths.size(), input_.threads, kStack, [&](std::size_t i) {
    const FileText file = input_.read(input_.paths[i]);
    errors[i] = file.error;
    matters[i] = file.error.empty() && seeds.in(file.text);
  });
  std::vector<std::string> sources, headers;
  for (std::size_t i = 0; i < input_.paths.size(); ++i) {
    if (!errors[i].empty()) unread_.push_back({input_.paths[i], "not-read", errors[i]});
    if (matters[i]) (isHeader(input_.paths[i]) ? headers : sources).push_back(input_.paths[i]);
  }
  const std::vector<std::string> including = includersOf(headers);
  sources.insert(sources.end(), including.begin(), including.end());
  parse(std::move(sources));
  parse(std::move(headers));
  nameRounds();
}

// The sources that include one of these headers, directly or through others: a header's macros, constants and classes matter where they
// are used. Headers are told apart by their names alone. None if that would be most of the project.
std::vector<std::string> CppReading::includersOf(const std::vector<std::string>& headers) const {
  if (headers.empty()) return {};
  std::vector<std::vector<std::string>> included(input_.paths.size());
  parallelFor(input_.paths.size(), input_.threads, kStack, [&](std::size_t i) {
    const FileText file = input_.read(input_.paths[i]);
    if (file.error.empty()) included[i] = includedNames(file.text);
  });
  std::set<std::string> wanted;
  for (const std::string& h : headers) wanted.insert(fs::path(h).filename().string());
  std::set<std::string> found;
  for (int depth = 0; depth < kDeepestInclude; ++depth) {
    const std::size_t before = wanted.size();
    for (std::size_t i = 0; i < input_.paths.size(); ++i) {
      if (std::ranges::none_of(included[i], [&](const std::string& name) { return wanted.contains(name); })) continue;
      if (isHeader(input_.paths[i])) wanted.insert(fs::path(input_.paths[i]).filename().string());
      else found.insert(input_.paths[i]);
    }
    if (wanted.size() == before) break;
  }
  if (found.size() > std::max<std::size_t>(kFewFiles, input_.paths.size() / 20)) return {};
  return {found.begin(), found.end()};
}

// Which of these names each file holds, without those that more than 5 % of the files hold: such a name says nothing.
std::vector<std::vector<std::size_t>> CppReading::namedIn(const std::vector<std::string>& names) const {
  const NameSearch search(names);
  std::vector<std::vector<std::size_t>> hits(input_.paths.size());
  parallelFor(input_.paths.size(), input_.threads, kStack, [&](std::size_t i) {
    const FileText file = input_.read(input_.paths[i]);
    if (file.error.empty()) hits[i] = search.found(file.text);
  });
  std::vector<std::size_t> count(names.size());
  for (const auto& h : hits)
    for (const std::size_t n : h) ++count[n];
  const std::size_t most = std::max<std::size_t>(kFewFiles, input_.paths.size() / 20);
  for (auto& h : hits) std::erase_if(h, [&](std::size_t n) { return count[n] > most; });
  return hits;
}

void CppReading::follow(const std::vector<std::string>& sql_names) {
  std::vector<std::string> names;
  for (const std::string& n : sql_names)
    if (n.size() >= kShortestName && state_->asked.insert(lowered(n)).second) names.push_back(n);
  if (names.empty()) return;
  const std::vector<std::vector<std::size_t>> hits = namedIn(names);
  std::vector<std::string> files;
  for (std::size_t i = 0; i < input_.paths.size(); ++i)
    if (!hits[i].empty() && !isHeader(input_.paths[i]) && !state_->done.contains(input_.paths[i])) files.push_back(input_.paths[i]);
  parse(std::move(files));
}

// Names of prepared statements that hold lock SQL: they are executed by name, elsewhere.
std::vector<std::string> CppReading::preparedNames() const {
  std::set<std::string> found;
  const auto add = [&](const std::string& name) {
    const std::size_t colons = name.rfind("::");
    const std::string last = colons == std::string::npos ? name : name.substr(colons + 2);
    const bool identifier = last.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    if (identifier && last.size() >= kShortestName) found.insert(last);
  };
  const auto locks = [](const std::vector<HostPiece>& pieces) { return std::ranges::any_of(pieces, [](const HostPiece& p) { return mentionsLock(p.text); }); };
  for (const Unit& u : parsed_) {
    for (const Function& f : u.functions)
      for (const HostCode& h : f.host)
        for (const HostCall& c : h.calls) {
          if (std::ranges::none_of(c.texts, [&](const HostText& t) { return locks(t.pieces); })) continue;
          if (c.kind == HostCallKind::Prepare) add(c.name);
        }
  }
  return {found.begin(), found.end()};
}

// Classes to whose virtual functions lock SQL is given: what those derived from them do with it is seen elsewhere.
std::vector<std::string> CppReading::senders() const {
  std::set<std::string> found;
  for (const Unit& u : parsed_)
    for (const Function& f : u.functions)
      for (const HostCode& h : f.host)
        for (const HostCall& c : h.calls) {
          if (c.kind != HostCallKind::Execute || c.dispatch.empty()) continue;
          const std::string of_class = c.dispatch.substr(0, c.dispatch.find(' '));
          const std::size_t colons = of_class.rfind("::");
          std::string name = colons == std::string::npos ? of_class : of_class.substr(colons + 2);
          if (name.size() >= kShortestName) found.insert(std::move(name));
        }
  return {found.begin(), found.end()};
}

// Constants that calls about locks bind or are given, and that are defined elsewhere.
std::vector<std::string> CppReading::constantNames(const std::set<std::string>& locking) const {
  std::set<std::string> found;
  const auto add = [&](const auto& self, const HostValue& v) -> void {
    for (const HostValue& a : v.args) self(self, a);
    if (v.kind != HostValueKind::Global || v.constant.empty()) return;
    const std::size_t colons = v.name.rfind("::");
    std::string last = colons == std::string::npos ? v.name : v.name.substr(colons + 2);
    if (last.size() >= kShortestName) found.insert(std::move(last));
  };
  for (const Unit& u : parsed_)
    for (const Function& f : u.functions)
      for (const HostCode& h : f.host)
        for (const HostCall& c : h.calls) {
          const bool locks = std::ranges::any_of(c.texts, [](const HostText& t) { return std::ranges::any_of(t.pieces, [](const HostPiece& p) { return mentionsLock(p.text); }); });
          if (!locks && !locking.contains(c.name)) continue;
          for (const HostValue& v : c.binds) add(add, v);
          for (const HostValue& v : c.holes) add(add, v);
        }
  return {found.begin(), found.end()};
}

// Callers of the functions that lock, and callers of those.
void CppReading::nameRounds() {
  std::set<std::string> locking;  // ids of functions
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<std::string> names;
    for (bool grown = true; grown;) {
      grown = false;
      for (const Unit& u : parsed_)
        for (const Function& f : u.functions)
          for (const HostCode& h : f.host) {
            const bool locks = std::ranges::any_of(h.calls, [&](const HostCall& c) {
              if (c.kind == HostCallKind::Function) return locking.contains(c.name);
              return std::ranges::any_of(c.texts, [](const HostText& t) {
                return std::ranges::any_of(t.pieces, [](const HostPiece& p) { return mentionsLock(p.text); });
              });
            });
            if (!locks || !locking.insert(f.name).second) continue;
            grown = true;
            for (const HostMethod& m : h.method) locking.insert(m.overrides.begin(), m.overrides.end());  // whoever calls those may run it
            const std::string name = searchedName(f);
            // main() and the like are called by nobody; a name that everybody has would mean everything.
            if (name.size() >= kShortestName && name != "main" && !name.starts_with("operator") &&
                state_->asked.insert(lowered(name)).second)
              names.push_back(lowered(name));
          }
    }
    for (const std::string& name : constantNames(locking))
      if (state_->asked.insert(lowered(name)).second) names.push_back(lowered(name));
    for (const std::string& name : senders())
      if (state_->asked.insert(lowered(name)).second) names.push_back(lowered(name));
    for (const std::string& name : preparedNames())
      if (state_->asked.insert(lowered(name)).second) names.push_back(lowered(name));
    if (names.empty()) return;
    const std::vector<std::vector<std::size_t>> hits = namedIn(names);
    std::vector<std::string> files;
    for (std::size_t i = 0; i < hits.size(); ++i)
      if (!hits[i].empty() && !isHeader(input_.paths[i]) && !state_->done.contains(input_.paths[i])) files.push_back(input_.paths[i]);
    if (files.empty()) return;
    parse(std::move(files));
  }
}

void CppReading::parse(std::vector<std::string> files) {
  std::erase_if(files, [&](const std::string& f) { return state_->done.contains(f); });
  std::ranges::sort(files);
  if (files.empty()) return;
  if (state_->worker.empty()) {
    for (const std::string& f : files) {
      unread_.push_back({f, "not-read", "C++ is read by pglocklint-clang, which is not beside pglocklint"});
      state_->done.insert(f);
    }
    return;
  }
  const auto commandOf = [&](const std::string& file) { return state_->database.of((fs::path(input_.root) / file).string()); };
  if (!state_->include_roots && !std::ranges::all_of(files, commandOf)) state_->include_roots = includeRoots(input_.root, input_.paths);
  std::vector<Unit> units(files.size());
  std::vector<std::string> failures(files.size());
  parallelFor(files.size(), input_.threads, kStack, [&](std::size_t i) {
    const FileText text = input_.read(files[i]);
    if (!text.error.empty()) {
      failures[i] = text.error;
      return;
    }
    ProcessRequest request;
    request.arguments = {state_->worker, "--root", input_.root, "--file", files[i]};
    if (!input_.models.empty()) request.arguments.insert(request.arguments.end(), {"--models", hostModelsToJson(input_.models)});
    std::string note;
    if (const CompileCommand* command = commandOf(files[i])) {
      request.arguments.insert(request.arguments.end(), {"--folder", command->folder, "--"});
      request.arguments.insert(request.arguments.end(), command->flags.begin(), command->flags.end());
      if (!command->refused.empty())
        note = fmt::format("flags of the compile database that were not used: {}", fmt::join(command->refused, ", "));
    } else {
      request.arguments.insert(request.arguments.end(),
                               {"--", "-x", isC(files[i]) ? "c" : "c++", isC(files[i]) ? "-std=gnu17" : "-std=gnu++20"});
      for (const std::string& root : *state_->include_roots) request.arguments.insert(request.arguments.end(), {"-I", root});
      request.arguments.insert(request.arguments.end(), {"-idirafter", "/usr/include/postgresql"});
    }
    request.input = text.text;
    request.seconds = kWorkerSeconds, request.processor_seconds = kWorkerProcessorSeconds;
    request.most_output = kMostOutput;
    const ProcessResult result = runProcess(request);
    if (result.timed_out) {
      failures[i] = result.out.size() + result.err.size() > kMostOutput
                        ? "it has more facts than fit"
                        : fmt::format("clang needs more than {} seconds", kWorkerSeconds);
    } else if (result.out_of_processor_time) {
      failures[i] = fmt::format("clang needs more than {} seconds of processor time", kWorkerProcessorSeconds);
    } else if (!result.started()) {
      failures[i] = "pglocklint-clang crashed on it";
    } else if (result.status != 0) {
      failures[i] = result.err.substr(0, result.err.find('\n'));
      if (failures[i].empty()) failures[i] = "pglocklint-clang failed";
    } else {
      std::string why;
      auto unit = factsFromJson(result.out, why);
      if (unit && (why = inconsistencyOf(*unit)).empty())
        units[i] = std::move(*unit);
      else
        failures[i] = "pglocklint-clang gave no facts: " + why;
    }
    if (failures[i].empty() && !note.empty()) units[i].status += (units[i].status.empty() ? "" : "; ") + note;
  });
  for (std::size_t i = 0; i < files.size(); ++i) {
    state_->done.insert(files[i]);
    if (!failures[i].empty()) {
      unread_.push_back({files[i], "not-read", failures[i]});
      continue;
    }
    for (const std::string& f : units[i].files) state_->done.insert(f);
    parsed_.push_back(std::move(units[i]));
  }
}

sql::RelevantNames CppReading::names() const {
  std::string text;
  for (const Unit& u : parsed_)
    for (const Function& f : u.functions)
      for (const HostCode& h : f.host)
        for (const HostCall& c : h.calls)
          for (const HostText& t : c.texts) {
            std::string whole;
            for (const HostPiece& p : t.pieces) whole += p.hole >= 0 ? "x" : p.text;
            if (mentionsLock(whole)) text += whole + "\n;\n";
          }
  sql::RelevantNames found;
  sql::ScannedFile scanned = sql::scanFile("", std::move(text));
  sql::markRelevant(scanned, {}, found);
  return found;
}

std::vector<Unit> CppReading::units() {
  std::vector<Unit> units = std::move(parsed_);
  std::ranges::sort(units, {}, [](const Unit& u) { return u.files[0]; });
  // A function of a header is seen by every unit that includes it: the first one keeps it. What the compiler writes stands where its class
  // does, constructor and destructor in one place.
  std::set<std::tuple<std::string, std::uint32_t, bool>> seen;
  for (Unit& u : units) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < u.functions.size(); ++i) {
      const Function& f = u.functions[i];
      const bool first = f.kind != FunctionKind::HostFunction || seen.emplace(u.files[f.range.file], f.range.begin, isHostDestructor(f)).second;
      if (first && kept != i) u.functions[kept] = std::move(u.functions[i]);
      kept += first;
    }
    u.functions.resize(kept);
  }
  std::map<std::string, std::string> stale;
  for (const std::string& path : state_->stale) stale[path] = textOfPlaces(units, path);
  const auto text = [&](const std::string& path) {
    const auto at = stale.find(path);
    return at != stale.end() ? at->second : input_.read(path).text;
  };
  parallelFor(1, 1, kLargeStack, [&](std::size_t) { sql::lowerHostSql(units, text); });
  std::set<std::string> searched;  // a header belongs to the first unit that includes it
  for (Unit& u : units) {
    const bool known = !u.allows.empty();  // facts that were lowered before
    for (std::size_t i = 0; i < u.files.size(); ++i)
      if (searched.insert(u.files[i]).second && !known)
        sql::findCppAllows(input_.read(u.files[i]).text, static_cast<std::uint32_t>(i), u.allows, u.not_understood);
    std::ranges::sort(u.not_understood);
  }
  return units;
}

}  // namespace pglocklint

// Each migration tool has its own way to say that a file is its own: a pattern of names, a directive in a comment, a file beside. The
// table of profiles says what the tool does with transactions. Two traps decide the details:
// - "No transaction" means autocommit only where the tool sends statement by statement (goose, Flyway, Liquibase, sql-migrate, Atlas).
//   dbmate, sqlx, tern and Diesel then send the file as one simple query, which PostgreSQL runs as one implicit transaction unless
//   it holds a single statement: Unknown.
// - An order key sorts as text, so numbers in it are padded.
#include "source/runner.h"

#include <algorithm>
#include <array>
#include <set>

#include "model/ascii.h"
#include "source/glob.h"
#include "source/search.h"

namespace pglocklint {
namespace {

using enum TransactionMode;

struct Profile {
  std::string_view name;
  TransactionMode usual;           // how the tool runs a file
  TransactionMode no_transaction;  // and if the file asks for no transaction
};
constexpr Profile kProfiles[] = {
    {"atlas", OnePerFile, Autocommit},
    {"dbmate", OnePerFile, Unknown},
    {"diesel", OnePerFile, Unknown},
    {"drizzle", OnePerFile, OnePerFile},
    {"extension", OnePerFile, OnePerFile},       // CREATE EXTENSION and ALTER EXTENSION UPDATE
    {"flyway", OnePerFile, Autocommit},
    {"golang-migrate", OnePerFile, OnePerFile},  // one simple query
    {"goose", OnePerFile, Autocommit},
    {"hasura", Unknown, Unknown},
    {"liquibase", OnePerFile, Autocommit},       // a transaction per changeset: Unknown if a file has several
    {"micrate", Unknown, Unknown},
    {"node-pg-migrate", OnePerFile, OnePerFile},
    {"numbered", Unknown, Unknown},              // numbers in the names, but no tool that we know
    {"prisma", OnePerFile, OnePerFile},          // one simple query
    {"psql", Autocommit, Autocommit},
    {"refinery", OnePerFile, OnePerFile},
    {"sql-migrate", OnePerFile, Autocommit},
    {"sqlx", OnePerFile, Unknown},
    {"supabase", Unknown, Unknown},
    {"tern", OnePerFile, Unknown},
};

const Profile* findProfile(std::string_view name) {
  const auto found = std::ranges::find(kProfiles, name, &Profile::name);
  return found == std::end(kProfiles) ? nullptr : &*found;
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string folderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}
std::string baseOf(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }
std::string inFolder(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

// A number that sorts as text: leading zeros make 24 digits (timestamps have up to 17).
std::string padded(std::string_view digits) {
  constexpr std::size_t kWidth = 24;
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return std::string(digits.size() < kWidth ? kWidth - digits.size() : 0, '0') + std::string(digits);
}

// Numbers at the start of a name, joined: "2024-01-02_120000_x" and "20240102T1200_x" and "007-x"; empty if it begins otherwise. `end` is
// where the description begins.
std::string leadingNumbers(std::string_view name, std::size_t& end) {
  std::string key;
  std::size_t i = 0;
  while (i < name.size() && isDigit(name[i])) {
    const std::size_t begin = i;
    while (i < name.size() && isDigit(name[i])) ++i;
    const bool separated = i == name.size() || std::string_view("_-.T ").find(name[i]) != std::string_view::npos;
    if (!separated) break;  // "2fa": a word
    if (!key.empty()) key += '.';
    key += padded(name.substr(begin, i - begin));
    end = i;
    if (i < name.size()) ++i;
  }
  return key;
}
std::string leadingNumbers(std::string_view name) {
  std::size_t end = 0;
  return leadingNumbers(name, end);
}

// A version for comparison: runs of digits padded, everything else as it is.
std::string versionKey(std::string_view version) {
  std::string key;
  for (std::size_t i = 0; i < version.size();) {
    std::size_t end = i;
    while (end < version.size() && isDigit(version[end])) ++end;
    if (end > i) key += padded(version.substr(i, end - i));
    else key += version[end++];
    i = end;
  }
  return key;
}

// The name without .sql and a template ending; empty if it is no SQL script by name.
std::string_view sqlStem(std::string_view base) {
  const std::size_t at = lowered(base).rfind(".sql");
  return at == std::string::npos ? std::string_view{} : base.substr(0, at);
}

bool removeEnding(std::string_view& stem, std::string_view ending) {
  if (!lowered(stem).ends_with(ending)) return false;
  stem.remove_suffix(ending.size());
  return true;
}

std::vector<std::string_view> splitBy(std::string_view s, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = s.find(separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + separator.size());
  }
}

// What comments at the start of lines tell.
struct Directives {
  std::string_view profile;
  bool no_transaction = false;
  bool sqlx_no_transaction = false, atlas_no_transaction = false, tern_no_transaction = false;
  int changesets = 0, changesets_without_transaction = 0;
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void readDirective(std::string_view line, bool first_line, Directives& d) {
  const auto claim = [&](std::string_view profile) {
    if (d.profile.empty()) d.profile = profile;
    return d.profile == profile;
  };
  const auto startsWith = [&](std::string_view prefix) { return line.starts_with(prefix); };
  if (startsWith("+goose ") && claim("goose")) d.no_transaction |= startsWith("+goose no transaction");
  else if (startsWith("+migrate ") && claim("sql-migrate")) d.no_transaction |= contains(line, "notransaction");
  else if ((startsWith("migrate:up") || startsWith("migrate:down")) && claim("dbmate")) d.no_transaction |= contains(line, "transaction:false");
  else if (startsWith("+micrate ")) claim("micrate");
  else if (startsWith("-- create above / drop below")) claim("tern");
  else if (startsWith("-- tern: disable-tx")) d.tern_no_transaction = true;
  else if (startsWith("liquibase formatted sql")) claim("liquibase");
  else if (startsWith("changeset ")) {
    ++d.changesets;
    d.changesets_without_transaction += contains(line, "runintransaction:false");
  } else if (line == "up migration" || line == "down migration") claim("node-pg-migrate");
  else if (startsWith("atlas:txmode none")) d.atlas_no_transaction = true;
  else if (first_line && startsWith("no-transaction")) d.sqlx_no_transaction = true;
}

Directives readDirectives(std::string_view text) {
  Directives d;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  bool first_line = true;
  for (std::size_t at = 0; at < text.size(); first_line = false) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::size_t begin = at;
    while (begin < end && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
    if (end - begin > 4 && text[begin] == '-' && text[begin + 1] == '-') {
      constexpr std::size_t kLongest = 400;
      std::string_view line = text.substr(begin + 2, std::min(end - begin - 2, kLongest));
      while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
      readDirective(lowered(line), first_line, d);
    }
    at = end + 1;
  }
  if (d.profile == "liquibase") d.no_transaction = d.changesets > 0 && d.changesets_without_transaction == d.changesets;
  if (d.profile == "tern") d.no_transaction = d.tern_no_transaction;
  return d;
}

// Where a quoted stretch that begins at i ends; i + 1 if nothing does begin there.
std::size_t skipQuoted(std::string_view text, std::size_t i) {
  const auto after = [&](std::string_view close, std::size_t from) {
    const std::size_t at = text.find(close, from);
    return at == std::string_view::npos ? text.size() : at + close.size();
  };
  const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
  if (c == '-' && next == '-') return after("\n", i);
  if (c == '/' && next == '*') return after("*/", i + 2);
  if (c == '"') return after("\"", i + 1);
  if (c == '\'') {
    const bool escapes = i > 0 && lowered(text[i - 1]) == 'e' && (i == 1 || (!isDigit(text[i - 2]) && text[i - 2] != '_'));
    if (!escapes) return after("'", i + 1);
    for (++i; i < text.size() && text[i] != '\''; ++i) i += text[i] == '\\';
    return std::min(i + 1, text.size());
  }
  if (c == '$') {
    std::size_t end = i + 1;
    while (end < text.size() && text[end] != '$' && (isDigit(text[end]) || text[end] == '_' || (lowered(text[end]) >= 'a' && lowered(text[end]) <= 'z'))) ++end;
    if (end < text.size() && text[end] == '$' && !isDigit(next)) return after(text.substr(i, end + 1 - i), end + 1);
  }
  return i + 1;
}

constexpr std::string_view kExtensionGuard = "\\quit";  // \echo Use "CREATE EXTENSION x" to load this file. \quit

bool isExtensionSource(std::string_view text) {
  const std::size_t at = text.find(kExtensionGuard);
  if (at == std::string_view::npos) return false;
  const std::size_t line = text.rfind('\n', at) + 1;
  return contains(text.substr(line, at - line), "EXTENSION");
}

}  // namespace

bool hasPsqlCommands(std::string_view text) {
  if (!contains(text, "\\")) return false;
  if (contains(text, "\n\\.\n") || contains(text, "\n\\.\r\n") || text.ends_with("\n\\.")) return true;  // inline COPY data
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      const char c = lowered(text[i + 1]);
      if ((c >= 'a' && c <= 'z') || c == '!' || c == ';') return true;
    }
    i = skipQuoted(text, i);
  }
  return false;
}

std::vector<std::string_view> runnerNames() {
  std::vector<std::string_view> names;
  for (const Profile& p : kProfiles) names.push_back(p.name);
  return names;
}

// Who runs a file, by its name and place.
struct RunnerProfiles::Claim {
  std::string_view profile;
  std::string order, folder;
  bool down = false, repeatable = false, no_transaction = false;
};

RunnerProfiles::RunnerProfiles(const std::vector<std::string>& paths, std::vector<RunnerRule> rules, SiblingReader read)
    : rules_(std::move(rules)), read_(std::move(read)) {
  for (const std::string& path : paths) {
    const std::string folder = folderOf(path), base = baseOf(path);
    folders_[folder].push_back(base);
    std::string_view stem = sqlStem(base);
    if (!leadingNumbers(stem).empty()) ++numbered_[folder];
  }
}

// Every migration of a folder asks for the same few files beside and above it.
std::optional<std::string> RunnerProfiles::read(const std::string& path) const {
  if (!read_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto [answer, first] = seen_.try_emplace(path);
  if (first) answer->second = read_(path);
  return answer->second;
}

bool RunnerProfiles::exists(const std::string& path) const { return read(path).has_value(); }

bool RunnerProfiles::existsAbove(std::string folder, const std::string& name) const {
  for (;; folder = folderOf(folder)) {
    if (exists(inFolder(folder, name))) return true;
    if (folder.empty()) return false;
  }
}

bool RunnerProfiles::isNumbered(const std::string& path) const {
  const auto count = numbered_.find(folderOf(path));
  return count != numbered_.end() && count->second >= 2 && !leadingNumbers(sqlStem(baseOf(path))).empty();
}

namespace {

// V1_2__x, U1__x, B1__x, R__x: prefix, version key and whether it is such a name.
bool flywayName(std::string_view stem, char& prefix, std::string& order) {
  const std::size_t description = stem.find("__");
  if (stem.empty() || description == std::string_view::npos) return false;
  prefix = stem[0];
  const std::string_view version = stem.substr(1, description - 1);
  if (prefix == 'R') {
    order = stem.substr(description + 2);
    return version.empty();
  }
  if ((prefix != 'V' && prefix != 'U' && prefix != 'B') || version.empty()) return false;
  order.clear();
  for (std::size_t i = 0; i < version.size();) {
    std::size_t end = i;
    while (end < version.size() && isDigit(version[end])) ++end;
    if (end == i || (end < version.size() && version[end] != '.' && version[end] != '_')) return false;
    if (!order.empty()) order += '.';
    order += padded(version.substr(i, end - i));
    i = end + 1;
  }
  return true;
}

// Flyway searches its locations with their subfolders: versions of db/migration/v1 and db/migration/v2 are one history.
std::string migrationRoot(const std::string& folder) {
  for (std::string f = folder; !f.empty(); f = folderOf(f)) {
    const std::string base = baseOf(f);
    if (base == "migration" || base == "migrations") return f;
  }
  return folder;
}

}  // namespace

RunnerProfiles::Claim RunnerProfiles::byName(const std::string& path) const {
  Claim claim;
  const std::string folder = folderOf(path), base = baseOf(path);
  claim.folder = folder;
  std::string_view stem = sqlStem(base);
  if (stem.empty()) return claim;

  char prefix = 0;
  if (flywayName(stem, prefix, claim.order)) {
    const bool rust = existsAbove(folder, "Cargo.toml");
    claim.profile = rust ? "refinery" : "flyway";
    claim.folder = migrationRoot(folder);
    claim.down = prefix == 'U' && !rust;  // refinery's U is a migration too, whose number may leave gaps
    claim.repeatable = prefix == 'R';
    if (!rust) {
      const auto settings = read(path + ".conf");
      claim.no_transaction = settings && contains(lowered(*settings), "executeintransaction=false");
    }
    return claim;
  }

  // <version>_<name>/up.sql, down.sql, migration.sql
  const std::string version = leadingNumbers(baseOf(folder));
  if (!version.empty() && (stem == "up" || stem == "down" || stem == "migration")) {
    claim.order = version;
    claim.folder = folderOf(folder);
    claim.down = stem == "down";
    if (stem == "migration") {
      claim.profile = "prisma";
    } else if (existsAbove(folder, "diesel.toml") || existsAbove(folder, "Cargo.toml")) {
      claim.profile = "diesel";
      const auto settings = read(inFolder(folder, "metadata.toml"));
      claim.no_transaction = settings && contains(*settings, "run_in_transaction") && contains(*settings, "false");
    } else {
      claim.profile = "hasura";
    }
    return claim;
  }

  const bool up = removeEnding(stem, ".up");
  claim.down = !up && (removeEnding(stem, ".down") || removeEnding(stem, ".rollback") || removeEnding(stem, ".undo") ||
                       removeEnding(stem, "_down") || removeEnding(stem, "-down") || removeEnding(stem, "_rollback"));
  const bool pair = up || (claim.down && contains(lowered(base), ".down."));
  claim.order = leadingNumbers(stem);
  if (claim.order.empty()) return claim;
  if (exists(inFolder(folder, "atlas.sum"))) claim.profile = "atlas";
  else if (exists(inFolder(folder, "meta/_journal.json"))) claim.profile = "drizzle";
  else if (baseOf(folder) == "migrations" && existsAbove(folder, "Cargo.toml")) claim.profile = "sqlx";
  else if (baseOf(folder) == "migrations" && baseOf(folderOf(folder)) == "supabase") claim.profile = "supabase";
  else if (pair) claim.profile = "golang-migrate";
  else if (isNumbered(path)) claim.profile = "numbered";
  return claim;
}

RunnerProfiles::Claim RunnerProfiles::claim(const std::string& path, std::string_view text) const {
  const Directives d = readDirectives(text);
  Claim claim = byName(path);
  if (!d.profile.empty()) {
    claim.profile = d.profile;
    claim.no_transaction = d.no_transaction;
    claim.repeatable = false;
    if (claim.order.empty()) claim.order = versionKey(sqlStem(baseOf(path)));
  }
  if (claim.profile == "sqlx") claim.no_transaction = d.sqlx_no_transaction;
  if (claim.profile == "atlas") claim.no_transaction = d.atlas_no_transaction;
  for (const RunnerRule& rule : rules_) {
    if (!globMatches(rule.glob, path)) continue;
    claim.profile = rule.runner == "none" ? std::string_view{} : std::string_view(rule.runner);
    break;
  }
  return claim;
}

namespace {

// The scripts of one extension in one folder.
struct ExtensionScripts {
  std::set<std::string> installs;                             // versions
  std::set<std::pair<std::string, std::string>> updates;      // from, to
};

bool laterVersion(const std::string& a, const std::string& b) { return versionKey(a) > versionKey(b); }

// The scripts that bring the newest version: an install script and the updates after it, as few as possible. Empty if there is none.
std::vector<std::string> newestChain(const ExtensionScripts& scripts, std::string target) {
  if (target.empty()) {
    const auto offer = [&](const std::string& version) {
      if (target.empty() || laterVersion(version, target)) target = version;
    };
    for (const std::string& version : scripts.installs) offer(version);
    for (const auto& [from, to] : scripts.updates) offer(to);
  }
  std::vector<std::vector<std::string>> open{{target}};  // chains, the newest version first
  std::set<std::string> seen{target};
  while (!open.empty()) {
    const std::vector<std::string>* best = nullptr;
    for (const auto& chain : open) {
      if (scripts.installs.contains(chain.back()) && (!best || laterVersion(chain.back(), best->back()))) best = &chain;
    }
    if (best) return *best;
    std::vector<std::vector<std::string>> longer;
    for (const auto& chain : open) {
      for (const auto& [from, to] : scripts.updates) {
        if (to != chain.back() || !seen.insert(from).second) continue;
        longer.push_back(chain);
        longer.back().push_back(from);
      }
    }
    open = std::move(longer);
  }
  return {};
}

std::string defaultVersion(std::string_view control) {
  for (const std::string_view line : splitBy(control, "\n")) {
    if (!line.starts_with("default_version")) continue;
    const std::size_t open = line.find('\'');
    const std::size_t close = open == std::string_view::npos ? open : line.find('\'', open + 1);
    if (close != std::string_view::npos) return std::string(line.substr(open + 1, close - open - 1));
  }
  return {};
}

// "name--1.0" or "name--1.0--1.1": the parts; empty if it is none.
std::vector<std::string_view> extensionParts(std::string_view base) {
  auto parts = splitBy(sqlStem(base), "--");
  const bool fits = (parts.size() == 2 || parts.size() == 3) && std::ranges::none_of(parts, [](std::string_view p) { return p.empty(); });
  return fits ? parts : std::vector<std::string_view>{};
}

}  // namespace

// The install script of the newest version and the updates behind it are live. Others are kept for old databases and stand apart, as
// undone migrations do.
void RunnerProfiles::extension(const std::string& path, RunnerFacts& facts) const {
  const std::string folder = folderOf(path), base = baseOf(path);
  const auto parts = extensionParts(base);
  const std::string name(parts[0]);
  ExtensionScripts scripts;
  const auto siblings = folders_.find(folder);
  if (siblings != folders_.end()) {
    for (const std::string& sibling : siblings->second) {
      const auto other = extensionParts(sibling);
      if (other.empty() || other[0] != name) continue;
      if (other.size() == 2) scripts.installs.emplace(other[1]);
      else scripts.updates.emplace(other[1], other[2]);
    }
  }
  std::string target;
  for (const std::string& beside : {folder, folderOf(folder)}) {
    if (const auto control = read(inFolder(beside, name + ".control")); control && target.empty()) target = defaultVersion(*control);
  }
  auto chain = newestChain(scripts, target);
  if (chain.empty()) chain = newestChain(scripts, {});
  facts.group = "extension:" + inFolder(folder, name);
  facts.order_key = versionKey(parts.back());
  if (chain.empty()) return;  // updates only: a history
  bool live = parts.size() == 2 && parts[1] == chain.back();
  for (std::size_t i = 0; parts.size() == 3 && i + 1 < chain.size(); ++i) live |= chain[i] == parts[2] && chain[i + 1] == parts[1];
  facts.down = !live;
}

RunnerFacts RunnerProfiles::of(const std::string& path, std::string_view text) const {
  RunnerFacts facts;
  Claim c = claim(path, text);
  const bool by_rule = std::ranges::any_of(rules_, [&](const RunnerRule& r) { return globMatches(r.glob, path); });
  if (!by_rule && (c.profile.empty() || c.profile == "numbered")) {
    if (!extensionParts(baseOf(path)).empty() || isExtensionSource(text)) c.profile = "extension";
  }
  const bool numbered = c.profile == "numbered";
  if (!by_rule && (c.profile.empty() || numbered) && hasPsqlCommands(text)) c.profile = "psql";
  const Profile* profile = findProfile(c.profile);
  if (!profile) {
    facts.profile = c.profile;
    return facts;
  }
  facts.profile = profile->name;
  facts.transaction = c.no_transaction ? profile->no_transaction : profile->usual;
  if (c.profile == "extension") {
    if (!extensionParts(baseOf(path)).empty()) extension(path, facts);
    return facts;
  }
  if (c.profile == "liquibase" && !c.no_transaction && readDirectives(text).changesets > 1) facts.transaction = Unknown;
  // Flyway leaves its transaction away by itself for statements that cannot run in one.
  static constexpr std::array<std::string_view, 2> kNonTransactional{"concurrently", "vacuum"};
  if (c.profile == "flyway" && facts.transaction == OnePerFile && WordSearch(kNonTransactional).in(text)) facts.transaction = Unknown;
  if (c.profile == "psql" && !numbered) return facts;
  facts.order_key = c.order;
  facts.group = std::string(numbered ? "numbered" : profile->name) + ":" + c.folder;
  facts.down = c.down;
  facts.repeatable = c.repeatable;
  return facts;
}

}  // namespace pglocklint

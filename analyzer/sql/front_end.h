// The SQL front end: one file's text → one Unit of facts.
//
// Only statements that can matter are parsed. Which ones is decided on words alone, before any parsing, in rounds over all files: a
// statement that mentions a lock function or pg_locks matters; the routine or view it defines becomes a name to look for, and so do
// the tables and routines it uses; until no new name turns up. Then each file is parsed once.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/unit.h"
#include "sql/script.h"

namespace pglocklint::sql {

// Words of which one must stand in a file for it to matter by itself (lower case; searched without regard to case).
inline constexpr std::string_view kSeedWords[] = {"advisory", "pg_locks"};

// A set of names that can be asked for a string_view.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using NameSet = std::unordered_set<std::string, NameHash, std::equal_to<>>;

// Names (folded, without schema) that make further statements worth parsing.
struct RelevantNames {
  NameSet routines;     // routines that lock: every statement that calls one
  NameSet views;        // views that lock: every statement that mentions one
  NameSet written;      // tables and views whose triggers lock: every statement that writes to one
  NameSet definitions;  // whatever lock statements mention: DDL that defines or alters one
  bool empty() const { return routines.empty() && views.empty() && written.empty() && definitions.empty(); }
  void merge(const RelevantNames& other);
  RelevantNames newIn(const RelevantNames& known) const;  // those that `known` lacks
};

// A file cut into statements, with the statements found relevant so far.
struct ScannedFile {
  std::string path;  // relative to the project root
  std::string text;
  Script script;
  std::vector<bool> relevant;  // by piece: to be parsed
  std::vector<bool> locking;   // by piece: mentions a lock function, or a name that leads to one
  bool seeds_searched = false;
};

ScannedFile scanFile(std::string path, std::string text);

// True if `text` mentions one of the seed words.
bool mentionsSeed(std::string_view text);
// True if `text` holds one of the names in a way that can matter: worth scanning for a further round.
bool mentionsAny(std::string_view text, const RelevantNames& names);

// Marks the statements of `file` that `names` make relevant (the first time also those that the seed words do), and adds to `found` the
// names that newly marked statements bring. Names that were asked for before need not be asked for again.
void markRelevant(ScannedFile& file, const RelevantNames& names, RelevantNames& found);

// If `command` (a psql command as written in `path`) is \i or \ir: the included file, relative to the project root; else, or
// if there is no such file below the root, empty. \ir is relative to the file, \i to the folder psql runs in (the root, or the file's folder).
std::string includedFile(const std::string& path, std::string_view command, const std::function<bool(const std::string&)>& exists);

// Parses the relevant statements (`everything`: all of them) into facts. Run it on a large stack (see runOnLargeStack).
Unit readSql(const ScannedFile& file, bool everything = false);

}  // namespace pglocklint::sql

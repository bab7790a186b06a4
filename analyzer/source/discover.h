// From the paths of the command line to the files to analyze.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"

namespace pglocklint {

enum class FileKind {
  Sql,
  Cpp,    // named, not read yet
  Shell,  // by its ending, or an executable file without one: then its first line says whether it is
  Pooler, // configuration of a connection pooler
  Other,
};
// By the name's ending, in any case: .sql .psql .pgsql .plpgsql .ddl, .sh .bash .ksh .zsh, also as a template (.sql.in, .sql.j2, …).
FileKind fileKind(std::string_view path);

struct SourceFile {
  std::string path;      // relative to the project root, '/' separated
  std::string absolute;
  FileKind kind = FileKind::Sql;
  std::string object;    // of the index (staged only): the blob's name
  bool changed = false;  // staged only: differs from HEAD
  auto operator<=>(const SourceFile&) const = default;
};

struct Discovery {
  std::string root;                // absolute
  std::vector<SourceFile> files;   // SQL, shell and C++, sorted by path, each once
  std::vector<std::string> errors; // a requested path cannot be used: one line each
  std::vector<UnitStatus> unread;  // folders below that cannot be read
};

struct DiscoverOptions {
  std::vector<std::string> paths;  // none: the working folder
  std::string config_root;         // folder of the configuration file given by the user; empty: look for it
  bool staged = false;             // what the index of the git repository holds instead of the working tree
};

// The project root is the nearest ancestor of the first path with a pglocklint.json, else the path itself if it is the only one and a
// folder, else the working folder. In a git work tree, folders hold what git does not ignore; elsewhere, everything but .git and
// node_modules. Links are followed as long as they stay below the root; a file reached twice is analyzed once.
// A file that is named itself is analyzed whatever its name ends in.
Discovery discover(const DiscoverOptions& options);

}  // namespace pglocklint

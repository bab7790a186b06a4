// What the index of a git repository holds: the files as the next commit will have them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "source/read_file.h"

namespace pglocklint {

struct IndexEntry {
  std::string path;      // relative to the folder that was asked
  std::string object;    // name of the blob
  bool changed = false;  // differs from HEAD
  auto operator<=>(const IndexEntry&) const = default;
};

struct IndexListing {
  std::vector<IndexEntry> entries;  // files below the folder, sorted; no links, no submodules
  std::string error;                // "not a git repository"
};

IndexListing listIndex(const std::string& folder);

// Contents of blobs, in the order asked for.
std::vector<FileText> readObjects(const std::string& folder, std::span<const std::string> objects);

}  // namespace pglocklint

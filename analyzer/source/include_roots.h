// Where the #include lines of files without a compile command are looked for.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace pglocklint {

// By the ending of its name.
bool isHeader(const std::string& path);

// Folders that look like roots of includes, absolute, best first: the project root and the folders "include", "src" and "inc" with headers
// below it; then, if only a part of a repository is analyzed, the folders above it up to the repository's, and those with such a name elsewhere
// in it, near ones first. `files` are relative to the root. At most 48.
std::vector<std::string> includeRoots(const std::string& root, std::span<const std::string> files);

}  // namespace pglocklint

// Path patterns of the configuration, as in .gitignore: `*` and `?` stay within a folder, `**` crosses folders, [a-z] and [!a-z] are
// sets. A pattern without '/' is matched against the last part of the path; a trailing '/' means everything below.
#pragma once
#include <string_view>

namespace pglocklint {

bool globMatches(std::string_view pattern, std::string_view path);

}  // namespace pglocklint

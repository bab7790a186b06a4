// Configurations of connection poolers in the tree: pgbouncer.ini, pgcat.toml, odyssey.conf, and YAML files that start one.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/pooler.h"

namespace pglocklint {

// By the file's name: pgbouncer*.ini, pgcat*.toml, odyssey*.conf, also as a template (pgbouncer.ini.j2); *.yaml, which may be anything.
bool isPoolerName(std::string_view path);

// Reads a configuration by the syntax that the name calls for. Empty: it names no pool. What is not understood is passed over.
std::vector<Pooler> readPoolers(const std::string& path, std::string_view text);
// The same without YAML.
std::vector<Pooler> readPoolerFile(const std::string& path, std::string_view text);
// Why a part of a file that names a pooler is not read; empty if all of it is.
std::string unreadPart(const std::string& path, std::string_view text);
// "transaction", "Session", in quotes or not.
std::optional<PoolMode> poolModeOf(std::string_view word);

}  // namespace pglocklint

// Configurations of connection poolers in the tree: pgbouncer.ini, pgcat.toml, odyssey.conf.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "model/pooler.h"

namespace pglocklint {

// By the file's name: pgbouncer*.ini, pgcat*.toml, odyssey*.conf, also as a template (pgbouncer.ini.j2).
bool isPoolerName(std::string_view path);

// Reads a configuration by the syntax that the name calls for. nullopt: it names no pool. What is not understood is passed over.
std::optional<Pooler> readPooler(const std::string& path, std::string_view text);

}  // namespace pglocklint

// Poolers that are started by docker-compose files and Kubernetes manifests.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/pooler.h"

namespace pglocklint {

bool isYamlName(std::string_view path);  // *.yaml, *.yml

bool namesPooler(std::string_view text);

// Those whose mode and port the file tells. Empty for any other YAML.
std::vector<Pooler> readYamlPoolers(const std::string& path, std::string_view text);

}  // namespace pglocklint

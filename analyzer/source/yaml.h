// YAML as far as configurations need it: a small tree with the place of each scalar, by libyaml's events.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pglocklint {

struct YamlNode {
  enum class Kind { Null, Scalar, Sequence, Mapping };
  Kind kind = Kind::Null;
  std::string text;                                      // Scalar
  std::vector<YamlNode> items;                           // Sequence
  std::vector<std::pair<std::string, YamlNode>> fields;  // Mapping, in order; `<<` is merged
  std::uint32_t begin = 0, end = 0;                      // bytes
  std::uint32_t line = 0, column = 0;                    // from 1; bytes

  // The field of a mapping; of anything else, and where there is none, a Null node.
  const YamlNode& operator[](std::string_view key) const;
  bool isMapping() const { return kind == Kind::Mapping; }
};

// The documents of a file, up to the first error (a template's `{{`); the document with the error is not there.
std::vector<YamlNode> readYaml(std::string_view text);
// The line of that error, if there is one.
std::optional<std::uint32_t> yamlErrorLine(std::string_view text);

}  // namespace pglocklint

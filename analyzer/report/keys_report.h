// Which advisory lock keys the program uses, what they are made of, and where.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace pglocklint {

struct KeySite {
  std::string file;
  std::uint32_t line = 0;
  std::string op, scope, mode, function;
  auto operator<=>(const KeySite&) const = default;
};

// One part of a key: a number, or in words what it may be.
struct KeyPart {
  std::string constant;             // decimal; empty if the part varies
  std::vector<std::string> any;     // "parameter id of lock_job", sorted
  std::vector<std::string> origin;  // of a constant that is computed: "hashtextextended('nightly', 0)"
};

struct KeyPlace {
  std::string file;
  std::uint32_t line = 0;
  auto operator<=>(const KeyPlace&) const = default;
};

// One key class of the program.
struct KeyEntry {
  std::string form, text;
  std::vector<KeyPart> parts;
  std::vector<std::string> names;   // of the constants that hold it
  std::vector<KeyPlace> defined_at;
  std::vector<KeySite> sites;
};

std::vector<KeyEntry> keysOf(const Program& program);  // sorted by form and text

std::string keysText(const std::vector<KeyEntry>& keys);
std::string keysJson(const std::vector<KeyEntry>& keys);
std::string keysMarkdown(const std::vector<KeyEntry>& keys);

}  // namespace pglocklint

// Which statements stand around a place in a file: for suppression comments and fingerprints.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace pglocklint {

// The statements of one file, of whatever kind, nested. A CREATE FUNCTION and a DO block are statements around those in their bodies;
// a whole file is none.
class StatementIndex {
 public:
  struct Entry {
    std::uint32_t begin = 0, end = 0;
    std::string_view head;      // "UPDATE", "CREATE INDEX", "create-view"; empty for what is inside of statements
    std::int32_t parent = -1;   // the innermost one around it
  };

  void add(std::uint32_t begin, std::uint32_t end, std::string_view head) { entries_.push_back({begin, end, head, -1}); }
  void finish();  // once all are added

  // The statements around [begin, end), innermost first. Their number is the depth of nesting, not the size of the file.
  std::vector<const Entry*> around(std::uint32_t begin, std::uint32_t end) const;
  // Where the statement before this one begins, as -1 if there is none: between the two no other begins.
  std::int64_t beginBefore(const Entry& entry) const;

 private:
  std::vector<Entry> entries_;  // by begin, outer ones first
};

// One index a file, made when it is first asked for.
class StatementIndexes {
 public:
  explicit StatementIndexes(const Program& program);
  const StatementIndex& file(const std::string& name);

 private:
  struct Part {
    const Unit* unit;
    std::uint32_t file;
  };
  std::map<std::string, std::vector<Part>, std::less<>> parts_;
  std::map<std::string, StatementIndex, std::less<>> indexes_;
};

}  // namespace pglocklint

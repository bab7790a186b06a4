// Facts inside of an object file: the section that the clang plugin writes, and how it is read.
//
// The section is text: records, each framed by a line with its kind, length and digest and ended by a NUL byte:
//
//   pglocklint-facts 1 unit 4711 0123456789abcdef\n…\0
//
// A `function` record is one function of a header, as a unit of its own (factsToJson); a `unit` record is a line that says which
// function records belong to the unit, and where among its functions, a line with the digests of its files, and then the rest of it. So the functions of a header are the same
// bytes in every object that includes it: a linker that merges strings keeps one, and whoever reads many objects reads one.
// Linkers put sections of many objects behind one another, in any order and with NUL bytes between; records stand for themselves.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/unit.h"

namespace pglocklint {

inline constexpr char kFactsSection[] = ".pglocklint";

// A unit, and what it was made of.
struct MadeUnit {
  Unit unit;
  std::vector<std::string> digests;  // MD5 of the unit's files as they were read; none: of preprocessed text, whose places are lines
  bool byLine() const { return digests.empty(); }
  bool operator==(const MadeUnit&) const = default;
};

// The records of one unit, in the order in which they are written.
std::vector<std::string> sectionRecords(const MadeUnit& made);

// Collects the sections of any number of object files.
class SectionReader {
 public:
  // What is wrong with this section, or empty; the records that are right are kept.
  std::string add(std::string_view section);
  // All units, sorted by path: each path once, each function of a header once. `problems`: of records that fit no others.
  std::vector<MadeUnit> units(std::vector<std::string>& problems);
  // How many unit records there were, the same ones counted once.
  std::size_t unitCount() const { return units_.size(); }

 private:
  std::string take(std::string_view kind, std::string_view id, std::string_view payload);
  // Puts the functions of headers into a unit, except those that another has brought.
  void complete(Unit& unit, std::string_view index, std::set<std::pair<std::string, std::uint32_t>>& kept, std::string& problem) const;

  std::map<std::string, std::string, std::less<>> units_;      // by id
  std::map<std::string, std::string, std::less<>> functions_;  // by id
};

// Facts of preprocessed text know lines and columns of the files that it was made of, and no offsets. Until somebody has the file, byte
// `column` of line `line` is at this offset, as if all lines were kLineRoom long.
inline constexpr std::uint32_t kLineRoom = 4096;
inline std::uint32_t offsetByLine(std::uint32_t line, std::uint32_t column) {
  return (line - 1) * kLineRoom + (column - 1 < kLineRoom ? column - 1 : kLineRoom - 1);
}

// Turns such offsets of one file into those of its text.
void placeByLines(Unit& unit, std::uint32_t file, std::string_view text);

// A text whose lines begin where the facts say that the file's do: for one that is not there, or is another by now.
std::string textOfPlaces(const std::vector<Unit>& units, const std::string& path);

}  // namespace pglocklint

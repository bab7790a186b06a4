// Fast searches that decide which files are worth a closer look.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pglocklint {

// Finds any of a few words without regard to ASCII case, anywhere in a text.
class WordSearch {
 public:
  // Words of at least two bytes, ASCII, at most eight.
  explicit WordSearch(std::span<const std::string_view> words);
  bool in(std::string_view text) const;

 private:
  struct Word {
    std::string lower;
    std::size_t first = 0, second = 0;  // positions of its two rarest bytes
  };
  std::vector<Word> words_;
  std::size_t longest_ = 0;
};

// Finds whole identifiers out of a set, folded to lower case, in a text.
class NameSearch {
 public:
  explicit NameSearch(std::span<const std::string> names);
  bool in(std::string_view text) const;
  // Indexes of the names that occur, ascending.
  std::vector<std::size_t> found(std::string_view text) const;

 private:
  template <class F>
  void each(std::string_view text, F f) const;

  std::vector<std::string> names_;        // folded
  std::vector<std::uint32_t> table_;      // open hash table of index + 1
  std::vector<std::uint32_t> next_;       // further names with the same spelling
  std::vector<bool> lengths_;             // which lengths occur
};

}  // namespace pglocklint

// Where random cases come from: a stream of small numbers, drawn from a generator of our own so that a seed means the same
// case on every platform, or replayed from a record.
//
// Everything random in a case is drawn here, and 0 is always the simplest choice. So a case *is* its record, and a record is
// made smaller without knowing what it stands for (shrink.h): delete some numbers, put zeros in their place, generate again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace pglocklint::differential {

// SplitMix64 (Steele, Lea, Flood 2014): one multiplication chain per number, any seed is a good one.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t n) { return n == 0 ? 0 : static_cast<std::uint32_t>(next() % n); }

 private:
  std::uint64_t state_;
};

class Choices {
 public:
  // Fresh: what is drawn is recorded.
  explicit Choices(std::uint64_t seed) : random_(seed) {}
  // Replayed: zeros after the end of the record.
  explicit Choices(std::vector<std::uint32_t> record) : random_(0), replay_(std::move(record)), replaying_(true) {}

  // 0 … n-1, all alike.
  std::uint32_t below(std::uint32_t n) {
    std::uint32_t value = 0;
    if (!replaying_) value = random_.below(n);
    else if (record_.size() < replay_.size()) value = n == 0 ? 0 : replay_[record_.size()] % n;
    record_.push_back(value);
    return value;
  }
  // True in `percent` of the cases; the simple answer is no.
  bool chance(std::uint32_t percent) { return below(100) >= 100 - percent; }
  // An index by weight; the first is the simple one.
  std::size_t weighted(std::initializer_list<std::uint32_t> weights) {
    std::uint32_t sum = 0;
    for (std::uint32_t w : weights) sum += w;
    std::uint32_t at = below(sum);
    std::size_t index = 0;
    for (std::uint32_t w : weights) {
      if (at < w) return index;
      at -= w, ++index;
    }
    return 0;
  }
  std::string pick(std::initializer_list<const char*> list) { return list.begin()[below(static_cast<std::uint32_t>(list.size()))]; }

  const std::vector<std::uint32_t>& record() const { return record_; }

 private:
  Random random_;
  std::vector<std::uint32_t> replay_, record_;
  bool replaying_ = false;
};

}  // namespace pglocklint::differential

// At most N values in place: copying one is copying bytes. For lists that are cut off at a few entries anyway.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <type_traits>

namespace pglocklint {

template <class T, std::size_t N>
class Few {
  static_assert(std::is_trivially_copyable_v<T> && N < 256);

 public:
  Few() = default;
  Few(std::initializer_list<T> values) {
    for (const T& v : values) add(v);
  }

  // Does nothing when it is there already, or when the list is full.
  void add(const T& value) {
    if (size_ < N && std::find(begin(), end(), value) == end()) items_[size_++] = value;
  }
  void clear() { size_ = 0; }

  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == N; }
  bool has(const T& value) const { return std::find(begin(), end(), value) != end(); }
  const T& front() const { return items_[0]; }
  const T& back() const { return items_[size_ - 1U]; }
  bool operator==(const Few& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::array<T, N> items_{};
  unsigned char size_ = 0;
};

}  // namespace pglocklint

// List: a vector of one pointer, for facts.
//
// The model's structs have many lists and most of them are empty: a std::vector takes 24 bytes for that, and a Query has twenty. Here
// size and capacity lie before the elements, so that an empty list costs a null pointer. Otherwise it is a std::vector: values
// in, values out, contiguous, and the first element added reserves room for just one, because "zero or one" is the usual case.
#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pglocklint {

template <class T>
class List {
 public:
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  List() = default;
  explicit List(size_type n) : List() { resize(n); }
  List(size_type n, const T& value) : List() { assign(n, value); }
  List(std::initializer_list<T> values) : List(values.begin(), values.end()) {}
  template <std::input_iterator I, std::sentinel_for<I> S>
  List(I first, S last) : List() {
    if constexpr (std::forward_iterator<I>) reserve(static_cast<size_type>(std::ranges::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  List(const std::vector<T>& values) : List(values.begin(), values.end()) {}
  List(std::vector<T>&& values) : List(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end())) {}
  List(const List& other) : List(other.begin(), other.end()) {}
  List(List&& other) noexcept : items_(std::exchange(other.items_, nullptr)) {}
  List& operator=(const List& other) {
    if (this != &other) List(other).swap(*this);
    return *this;
  }
  List& operator=(List&& other) noexcept {
    List(std::move(other)).swap(*this);
    return *this;
  }
  ~List() { release(); }

  iterator begin() { return items_; }
  iterator end() { return items_ + size(); }
  const_iterator begin() const { return items_; }
  const_iterator end() const { return items_ + size(); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

  bool empty() const { return size() == 0; }
  size_type size() const { return items_ ? header()->size : 0; }
  size_type capacity() const { return items_ ? header()->capacity : 0; }
  T* data() { return items_; }
  const T* data() const { return items_; }
  T& operator[](size_type i) { return items_[i]; }
  const T& operator[](size_type i) const { return items_[i]; }
  T& at(size_type i) { return const_cast<T&>(std::as_const(*this).at(i)); }
  const T& at(size_type i) const {
    if (i >= size()) throw std::out_of_range("List::at");
    return items_[i];
  }
  T& front() { return items_[0]; }
  const T& front() const { return items_[0]; }
  T& back() { return items_[size() - 1]; }
  const T& back() const { return items_[size() - 1]; }

  void reserve(size_type n) {
    if (n > capacity()) reallocate(n);
  }
  void shrink_to_fit() {
    if (size() < capacity()) reallocate(size());
  }
  void clear() {
    if (items_) truncate(0);
  }
  void resize(size_type n) {
    if (n < size()) return truncate(n);
    reserve(n);
    while (size() < n) emplace_back();
  }
  void resize(size_type n, const T& value) {
    if (n < size()) return truncate(n);
    List filled(std::move(*this));
    filled.reserve(n);
    while (filled.size() < n) filled.emplace_back(value);
    swap(filled);
  }
  void assign(size_type n, const T& value) {
    List filled;
    filled.reserve(n);
    for (size_type i = 0; i < n; ++i) filled.emplace_back(value);
    swap(filled);
  }
  template <std::input_iterator I, std::sentinel_for<I> S>
  void assign(I first, S last) { List(first, last).swap(*this); }

  template <class... A>
  T& emplace_back(A&&... arguments) {
    if (size() < capacity()) {
      T* made = std::construct_at(end(), std::forward<A>(arguments)...);
      ++header()->size;
      return *made;
    }
    // The new element is made first: an argument may lie in the old storage.
    List grown;
    grown.items_ = allocate(nextCapacity());
    T* made = std::construct_at(grown.items_ + size(), std::forward<A>(arguments)...);
    const size_type old = size();
    std::uninitialized_move(begin(), end(), grown.items_);
    grown.header()->size = static_cast<std::uint32_t>(old + 1);
    swap(grown);
    return *made;
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() { truncate(size() - 1); }

  template <class... A>
  iterator emplace(const_iterator place, A&&... arguments) {
    const difference_type at = place - begin();
    emplace_back(std::forward<A>(arguments)...);
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  iterator insert(const_iterator place, const T& value) { return emplace(place, value); }
  iterator insert(const_iterator place, T&& value) { return emplace(place, std::move(value)); }
  template <std::input_iterator I, std::sentinel_for<I> S>
  iterator insert(const_iterator place, I first, S last) {
    const difference_type at = place - begin();
    const size_type before = size();
    if constexpr (std::forward_iterator<I>) {
      const size_type n = before + static_cast<size_type>(std::ranges::distance(first, last));
      if (n > capacity()) reserve(std::max(n, nextCapacity()));
    }
    for (; first != last; ++first) emplace_back(*first);
    std::rotate(begin() + at, begin() + static_cast<difference_type>(before), end());
    return begin() + at;
  }
  iterator erase(const_iterator place) { return erase(place, place + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const difference_type at = first - begin();
    if (first != last) {
      iterator kept = std::move(begin() + (last - begin()), end(), begin() + at);
      truncate(static_cast<size_type>(kept - begin()));
    }
    return begin() + at;
  }
  void swap(List& other) noexcept { std::swap(items_, other.items_); }

  friend bool operator==(const List& a, const List& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
  friend auto operator<=>(const List& a, const List& b)
    requires std::three_way_comparable<T>
  {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }
  template <class Predicate>
  friend size_type erase_if(List& list, Predicate predicate) {
    const iterator kept = std::remove_if(list.begin(), list.end(), predicate);
    const auto erased = static_cast<size_type>(list.end() - kept);
    list.erase(kept, list.end());
    return erased;
  }

 private:
  struct Header {
    std::uint32_t size = 0, capacity = 0;
  };

  Header* header() const { return reinterpret_cast<Header*>(const_cast<std::remove_const_t<T>*>(items_)) - 1; }
  size_type nextCapacity() const { return capacity() < 4 ? capacity() + capacity() + (capacity() == 0) : capacity() + capacity() / 2; }

  static T* allocate(size_type capacity) {
    static_assert(alignof(T) <= 8 && sizeof(Header) == 8, "the elements follow the header");
    if (capacity > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("List");
    auto* const header = static_cast<Header*>(::operator new(sizeof(Header) + capacity * sizeof(T)));
    std::construct_at(header, Header{0, static_cast<std::uint32_t>(capacity)});
    return reinterpret_cast<T*>(header + 1);
  }
  void reallocate(size_type capacity) {
    List moved;
    if (capacity > 0) {
      moved.items_ = allocate(capacity);
      std::uninitialized_move(begin(), end(), moved.items_);
      moved.header()->size = static_cast<std::uint32_t>(size());
    }
    swap(moved);
  }
  void truncate(size_type n) {
    std::destroy(begin() + n, end());
    header()->size = static_cast<std::uint32_t>(n);
  }
  void release() {
    if (!items_) return;
    std::destroy(begin(), end());
    ::operator delete(header());
  }

  T* items_ = nullptr;
};

}  // namespace pglocklint

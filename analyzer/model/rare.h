// Members that most values of a struct do not have: a pointer's width while they hold the default, a value in every other respect.
#pragma once
#include <compare>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pglocklint {

template <class T>
class Rare {
 public:
  Rare() = default;
  explicit Rare(T value) { *this = std::move(value); }
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;
  Rare& operator=(T value) {
    if (value == usual()) value_.reset();
    else if (value_) *value_ = std::move(value);
    else value_ = std::make_unique<T>(std::move(value));
    return *this;
  }

  const T& operator*() const { return value_ ? *value_ : usual(); }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  bool stored() const { return value_ != nullptr; }  // false: the default for certain

  friend bool operator==(const Rare& a, const Rare& b) {
    return a.value_ == b.value_ || *a == *b;
  }

 protected:
  static const T& usual() {
    static const T value{};
    return value;
  }

 private:
  std::unique_ptr<T> value_;
};

template <class T>
struct IsRare : std::false_type {};
template <class T>
struct IsRare<Rare<T>> : std::true_type {};

// A string that is mostly empty. Reads like a const std::string.
class RareText : private Rare<std::string> {
  template <class T>
  static constexpr bool kOther = std::convertible_to<const T&, std::string_view> && !std::same_as<T, RareText>;

 public:
  RareText() = default;
  explicit RareText(std::string text) : Rare(std::move(text)) {}
  RareText& operator=(std::string text) {
    Rare::operator=(std::move(text));
    return *this;
  }
  RareText& operator=(std::string_view text) { return *this = std::string(text); }
  RareText& operator=(const char* text) { return *this = std::string(text); }
  RareText& operator+=(std::string_view more) {
    if (!more.empty()) edit() += more;
    return *this;
  }
  void clear() { *this = RareText(); }

  const std::string& str() const { return **this; }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  friend std::string_view format_as(const RareText& text) { return text.str(); }  // for fmt, which from version 10 on converts nothing by itself
  bool empty() const { return str().empty(); }
  std::size_t size() const { return str().size(); }
  const char* c_str() const { return str().c_str(); }
  const char* data() const { return str().data(); }
  char operator[](std::size_t i) const { return str()[i]; }
  char front() const { return str().front(); }
  char back() const { return str().back(); }
  auto begin() const { return str().begin(); }
  auto end() const { return str().end(); }
  template <class W>
  std::size_t find(const W& what, std::size_t from = 0) const { return str().find(what, from); }
  template <class W>
  std::size_t rfind(const W& what, std::size_t from = std::string::npos) const { return str().rfind(what, from); }
  std::string substr(std::size_t from = 0, std::size_t n = std::string::npos) const { return str().substr(from, n); }
  bool starts_with(std::string_view s) const { return str().starts_with(s); }
  bool starts_with(char c) const { return str().starts_with(c); }
  bool ends_with(std::string_view s) const { return str().ends_with(s); }
  bool ends_with(char c) const { return str().ends_with(c); }

  friend bool operator==(const RareText& a, const RareText& b) { return a.str() == b.str(); }
  friend std::strong_ordering operator<=>(const RareText& a, const RareText& b) { return a.str() <=> b.str(); }
  template <class T>
    requires kOther<T>
  friend bool operator==(const RareText& a, const T& b) { return std::string_view(a) == std::string_view(b); }
  template <class T>
    requires kOther<T>
  friend std::strong_ordering operator<=>(const RareText& a, const T& b) { return std::string_view(a) <=> std::string_view(b); }
  friend std::string operator+(const RareText& a, const RareText& b) { return a.str() + b.str(); }
  template <class T>
    requires kOther<T>
  friend std::string operator+(const RareText& a, const T& b) { return std::string(a.str()).append(std::string_view(b)); }
  template <class T>
    requires kOther<T>
  friend std::string operator+(const T& a, const RareText& b) { return std::string(a).append(b.str()); }
};

}  // namespace pglocklint

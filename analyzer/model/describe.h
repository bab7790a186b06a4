// Field lists: the one place where a model struct says what it is made of.
//
// Each struct of the model has  template <class Self, class V> static void describe(Self& s, V& v)
// that calls v("name", s.member) for every member, in a fixed order. Writers, readers and tests visit it, so
// that facts printed and facts read can never disagree. An enum gets its spellings from an overload of
// enumNames(), indexed by its value.
#pragma once
#include <span>
#include <string_view>
#include <type_traits>

namespace pglocklint {

template <class E>
struct EnumTag {};

// Declares the spellings of enum E, in the order of its values.
#define PGLOCKLINT_ENUM_NAMES(E, ...)                                      \
  inline std::span<const std::string_view> enumNames(EnumTag<E>) {         \
    static constexpr std::string_view kNames[] = {__VA_ARGS__};            \
    return kNames;                                                         \
  }

template <class E>
  requires std::is_enum_v<E>
std::string_view nameOf(E e) {
  const auto names = enumNames(EnumTag<E>{});
  const auto i = static_cast<std::size_t>(e);
  return i < names.size() ? names[i] : std::string_view("?");
}

}  // namespace pglocklint

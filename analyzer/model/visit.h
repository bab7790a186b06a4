// Finds every value of certain types inside of a value of the model, whatever it is made of.
#pragma once
#include <type_traits>
#include <vector>

#include "model/list.h"
#include "model/rare.h"

namespace pglocklint {

// forEachIn(unit, [](SourceRange& r) { … }) calls the function for each SourceRange in the unit; AnyOf joins several functions.
template <class... F>
struct AnyOf : F... {
  using F::operator()...;
};
template <class... F>
AnyOf(F...) -> AnyOf<F...>;

namespace detail {

template <class T>
struct IsSequence : std::false_type {};
template <class T>
struct IsSequence<List<T>> : std::true_type {};
template <class T>
struct IsSequence<std::vector<T>> : std::true_type {};

template <class F>
struct Visitor {
  F& f;
  template <class M>
  void operator()(const char*, M& member) { walk(member); }
  template <class M>
  void walk(M& member) {
    using Plain = std::remove_const_t<M>;
    if constexpr (std::is_invocable_v<F&, M&>) f(member);
    if constexpr (IsRare<Plain>::value) {
      if constexpr (std::is_const_v<M>) walk(*member);
      else if (member.stored()) walk(member.edit());
    } else if constexpr (IsSequence<Plain>::value) {
      for (auto& element : member) walk(element);
    } else if constexpr (requires { Plain::describe(member, *this); }) {
      Plain::describe(member, *this);
    }
  }
};

}  // namespace detail

template <class T, class F>
void forEachIn(T& value, F f) {
  detail::Visitor<F>{f}.walk(value);
}

}  // namespace pglocklint

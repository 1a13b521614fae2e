// consort/cpp/conversion.hpp — how a value given to submit() becomes the type that the codelet takes.
//
// Part of consort.hpp; include that. A conversion may round, and does no more: a fraction for an integer does not
// compile, a number that the codelet's type cannot hold throws Error (E_INVAL) before the task exists. static_cast at
// the call is the way to say that a loss is meant. Pure functions.
#ifndef CONSORT_CPP_CONVERSION_HPP
#define CONSORT_CPP_CONVERSION_HPP
#include <consort/cpp/error.hpp>

#include <limits>
#include <type_traits>

namespace consort::inline face {

namespace detail {

// From floating point to an integer; to bool is the question whether it is zero.
template <class P, class A>
inline constexpr bool drops_fraction = std::is_floating_point_v<A> && std::is_integral_v<P> && !std::is_same_v<P, bool>;

template <class P, class A>
constexpr bool holds_integer(A given) noexcept {
  const P taken = static_cast<P>(given);
  if (static_cast<A>(taken) != given) return false;
  bool taken_below = false, given_below = false;
  if constexpr (std::is_signed_v<P>) taken_below = taken < P{};
  if constexpr (std::is_signed_v<A>) given_below = given < A{};
  return taken_below == given_below;
}

// Infinities are kept, and what is no number; a finite number beyond the range is not.
template <class P, class A>
constexpr bool holds_real(A given) noexcept {
  if constexpr (std::numeric_limits<P>::max_exponent >= std::numeric_limits<A>::max_exponent) return true;
  else {
    const A most = std::numeric_limits<P>::max(), size = given < 0 ? -given : given;
    return !(size > most) || size > std::numeric_limits<A>::max();
  }
}

template <class P, class A>
constexpr bool holds(const A &given) noexcept {
  if constexpr (std::is_same_v<P, A> || std::is_same_v<P, bool>) return true;
  else if constexpr (std::is_integral_v<P> && std::is_integral_v<A>) return holds_integer<P>(given);
  else if constexpr (std::is_floating_point_v<P> && std::is_floating_point_v<A>) return holds_real<P>(given);
  else return true;
}

// Throws if P cannot hold it.
template <class P, class A>
P converted(const A &given) {
  if (!holds<P>(given)) [[unlikely]]
    raise(CONSORT_E_INVAL, "a number given to submit() is beyond the range of the type that the codelet takes there: give one that fits, or take a wider type");
  return static_cast<P>(given);
}

}  // namespace detail

}  // namespace consort::inline face
#endif

// consort/cpp/use.hpp — Use: how a submission names a datum: r(x), w(x), rw(x) and the like.
//
// Part of consort.hpp; include that. Values that are made for one submission; nothing throws.
#ifndef CONSORT_CPP_USE_HPP
#define CONSORT_CPP_USE_HPP
#include <consort/cpp/data.hpp>

namespace consort::inline face {

namespace detail {
template <class T>
concept Datum = requires(const T &x) { []<class V>(const Data<V> &) {}(x); };
template <class T>
inline constexpr bool never = false;
struct NoUse {};  // of something that is no datum; refused where it was made
}  // namespace detail

// How a submission names a datum: r(x), w(x), rw(x), scratch(x); commute(x): as rw(x), one at a time, in any order;
// redux(x): adds to a copy of its own, see set_reduction(); redux_fixed(x): with the same bits every time.
template <class V, uint32_t Mode>
struct Use {
  consort_data_id data;
  const detail::Control *home;
};
// The task reads x.
template <class V>
Use<V, CONSORT_M_R> r(const Data<V> &x) noexcept { return {x.id(), x.home()}; }
// As r(x).
template <class V>
Use<V, CONSORT_M_R> read(const Data<V> &x) noexcept { return r(x); }
// The task overwrites x: its contents before are not brought.
template <class V>
Use<V, CONSORT_M_W> w(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "w(x): x was registered as const: it cannot be written");
  return {x.id(), x.home()};
}
// As w(x).
template <class V>
Use<V, CONSORT_M_W> write(const Data<V> &x) noexcept { return w(x); }
// The task reads and writes x.
template <class V>
Use<V, CONSORT_M_RW> rw(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "rw(x): x was registered as const: it cannot be written");
  return {x.id(), x.home()};
}
// As rw(x).
template <class V>
Use<V, CONSORT_M_RW> readwrite(const Data<V> &x) noexcept { return rw(x); }
// The task gets memory of x's size for itself alone: undefined at its start, dropped at its end.
template <class V>
Use<V, CONSORT_M_SCRATCH> scratch(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "scratch(x): x was registered as const: it cannot be written");
  return {x.id(), x.home()};
}
// The task reads and writes x; tasks that say so run one at a time, in any order.
template <class V>
Use<V, CONSORT_M_RW | CONSORT_M_COMMUTE> commute(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "commute(x): x was registered as const: it cannot be written");
  return {x.id(), x.home()};
}
// The task adds to a copy of its own; the copies are united before the next task that reads x.
template <class V>
Use<V, CONSORT_M_REDUX> redux(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "redux(x): x was registered as const: it cannot be written");
  return {x.id(), x.home()};
}
// As redux(), united in one fixed order: the same bits every time.
template <class V>
Use<V, CONSORT_M_REDUX | CONSORT_M_FIXED_TREE> redux_fixed(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "redux_fixed(x): x was registered as const: it cannot be written");
  return {x.id(), x.home()};
}

// What is no datum: a vector, a pointer, a number.
#define CONSORT_NEEDS_A_DATUM(name)                                                                              \
  template <class T>                                                                                             \
    requires(!detail::Datum<T>)                                                                                  \
  detail::NoUse name(const T &) noexcept {                                                                        \
    static_assert(detail::never<T>, #name "(x): x is no datum; register it first, auto x = rt.vector(v), and give " #name "(x)"); \
    return {};                                                                                                   \
  }
CONSORT_NEEDS_A_DATUM(r)
CONSORT_NEEDS_A_DATUM(w)
CONSORT_NEEDS_A_DATUM(rw)
CONSORT_NEEDS_A_DATUM(read)
CONSORT_NEEDS_A_DATUM(write)
CONSORT_NEEDS_A_DATUM(readwrite)
CONSORT_NEEDS_A_DATUM(scratch)
CONSORT_NEEDS_A_DATUM(commute)
CONSORT_NEEDS_A_DATUM(redux)
CONSORT_NEEDS_A_DATUM(redux_fixed)
#undef CONSORT_NEEDS_A_DATUM

}  // namespace consort::inline face
#endif

// consort/cpp/reduction.hpp — how contributions are united, element by element: rt.reduction(x, 0.0, std::plus<>{}).
//
// Part of consort.hpp; include that. The two codelets of such a reduction are kept by the runtime until it has stopped;
// data with the same element, neutral value and operation share them.
#ifndef CONSORT_CPP_REDUCTION_HPP
#define CONSORT_CPP_REDUCTION_HPP
#include <consort/cpp/codelet.hpp>
#include <consort/cpp/data.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace consort::inline face {

namespace detail {

// The elements of a view: n[d] along dimension d, step[d] from one to the next.
template <class T>
struct Elements {
  T *data = nullptr;
  std::size_t dims = 0, n[CONSORT_NDIM_MAX] = {}, step[CONSORT_NDIM_MAX] = {};
};
template <class T>
Elements<T> elements(std::span<T> s) noexcept { return {s.data(), 1, {s.size()}, {1}}; }
template <class T>
Elements<T> elements(Matrix<T> m) noexcept { return {m.data(), 2, {m.nx(), m.ny()}, {1, m.ld()}}; }
template <class T>
Elements<T> elements(Block<T> b) noexcept { return {b.data(), 3, {b.nx(), b.ny(), b.nz()}, {1, b.ldy(), b.ldz()}}; }
template <class T>
Elements<T> elements(Tensor<T> t) noexcept {
  return {t.data(), 4, {t.nx(), t.ny(), t.nz(), t.nt()}, {1, t.ldy(), t.ldz(), t.ldt()}};
}
template <class T>
Elements<T> elements(Ndim<T> x) noexcept {
  Elements<T> e{x.data(), x.sizes().size(), {}, {}};
  for (std::size_t d = 0; d < e.dims; ++d) e.n[d] = x.n(d), e.step[d] = x.step(d);
  return e;
}
// f(a's, b's) of each pair of elements of two views of the same sizes, dimensions 0 to d.
template <class T, class U, class F>
void each_pair(const Elements<T> &a, const Elements<U> &b, std::size_t d, T *p, U *q, const F &f) {
  if (d > 0) {
    for (std::size_t i = 0; i < a.n[d]; ++i) each_pair(a, b, d - 1, p + i * a.step[d], q + i * b.step[d], f);
  } else if (a.step[0] == 1 && b.step[0] == 1) {
    for (std::size_t i = 0; i < a.n[0]; ++i) f(p[i], q[i]);
  } else {
    for (std::size_t i = 0; i < a.n[0]; ++i) f(p[i * a.step[0]], q[i * b.step[0]]);
  }
}

// The element of a view, without const.
template <class V>
struct ElementOf {
  using type = std::remove_const_t<typename V::element_type>;
};
template <class T>
struct ElementOf<T &> {
  using type = std::remove_const_t<T>;
};
template <>
struct ElementOf<void> {
  using type = void;
};

// The codelets of a reduction of data that are seen as V, with an operation that is copied as bytes.
template <class V, class E, class Op>
struct Reduction final : Kept {
  Reduction(const E &n, const Op &o)
      : neutral(n), op(o), init("reduction: neutral", cpu([this](V x) { fill(x); })),
        combine("reduction: unite", cpu([this](V x, typename Layout<V>::Const more) { add(x, more); })) {
    kind = &tag;
  }
  bool is(const E &n, const Op &o) const noexcept {
    return !std::memcmp(&neutral, &n, sizeof n) && (std::is_empty_v<Op> || !std::memcmp(&op, &o, sizeof o));
  }
  void fill(V x) const {
    if constexpr (std::is_reference_v<V>) x = neutral;
    else {
      const auto all = elements(x);
      if (all.dims) each_pair(all, all, all.dims - 1, all.data, all.data, [this](E &e, E &) { e = neutral; });
    }
  }
  void add(V x, typename Layout<V>::Const more) const {
    if constexpr (std::is_reference_v<V>) x = static_cast<E>(op(x, more));
    else {
      const auto all = elements(x);
      const auto others = elements(more);
      if (all.dims) each_pair(all, others, all.dims - 1, all.data, others.data, [this](E &e, const E &o) { e = static_cast<E>(op(e, o)); });
    }
  }

  static inline char tag = 0;  // its address is the name of the type
  const E neutral;
  const Op op;
  const Codelet<void(V)> init;
  const Codelet<void(V, typename Layout<V>::Const)> combine;
};

template <class V, class E, class Op>
void set_reduction(const Ref &control, const Data<V> &x, const E &neutral, const Op &op) {
  using R = Reduction<V, E, Op>;
  Control *home = control.keeper();
  if (x.home() != home) raise(CONSORT_E_INVAL, "reduction(): the datum is another runtime's (or none); ask the runtime that it is registered with");
  control.need();
  const Guard guard(home->lock);
  consort_runtime *rt = control.need();
  const R *found = nullptr;
  for (Kept *k = home->kept; k && !found; k = k->next)
    if (k->kind == &R::tag && static_cast<R *>(k)->is(neutral, op)) found = static_cast<R *>(k);
  if (!found) {
    R *made = new R(neutral, op);
    made->next = home->kept;
    home->kept = made;
    found = made;
  }
  check(consort_data_set_reduction(rt, x.id(), found->init.id(control), found->combine.id(control)));
}

// What Runtime::reduction() is given, looked at.
template <class V, class T, class Op>
void reduce(const Ref &control, const Data<V> &x, const T &neutral, const Op &op) {
  static_assert(!std::is_void_v<V>, "reduction(): a token has no contents to be united");
  static_assert(!Layout<V>::is_const, "reduction(): x was registered as const: it cannot be written");
  using E = typename ElementOf<V>::type;
  if constexpr (!std::is_void_v<V> && !Layout<V>::is_const) {
    static_assert(std::is_convertible_v<const T &, E>, "reduction(): the neutral value does not convert to the datum's element");
    static_assert(std::is_invocable_r_v<E, const Op &, const E &, const E &>,
                  "reduction(): the operation takes two elements, is const, and answers one: std::plus<>{}, or a lambda of two values");
    static_assert(std::is_trivially_copyable_v<Op>, "reduction(): the operation is kept as bytes: a function, or an object that is "
                                                    "trivially copyable");
    if constexpr (std::is_convertible_v<const T &, E> && std::is_invocable_r_v<E, const Op &, const E &, const E &> &&
                  std::is_trivially_copyable_v<Op>)
      set_reduction<V, E, Op>(control, x, static_cast<E>(neutral), op);
  }
}

}  // namespace detail

}  // namespace consort::inline face
#endif

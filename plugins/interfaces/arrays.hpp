// arrays.hpp — the functions of an interface whose data are three separate arrays: Arrays<Layout> for
// a layout of sparse.hpp.
//
// Stateless; every function but pack and unpack is [pure], and may be called from any thread. An array without bytes has
// no block, no extent and no run. A view may borrow the end of an array from its neighbour: that part is read, and never
// a target of a copy. Nothing throws or allocates.
//
// A layout L has, beside the requirements of Codec,
//   Args, View              args begin with three pointers, a view with three addresses, in the same order
//   read(args)              the shape of the arguments, not yet checked by good()
//   sizes(shape, out)       bytes of each array of a replica
//   held(view, out)         bytes of each array that belong to this view
//   view(shape)             a view without addresses
//   size_class(shape)       the shape without fields that replicas of one size may differ in
//   scalars(view, out)      kernel arguments behind the addresses
//   sound(shape, packed)    whether packed contents are valid
//   describe(shape, text)
#pragma once
#include "box.hpp"
#include "codec.hpp"

namespace layouts {

template <class L>
struct Arrays {
  using Args = typename L::Args;
  using Shape = typename L::Shape;
  using View = typename L::View;
  static constexpr uint32_t kArrays = 3, kAlign = 64, kMostScalars = 8;
  struct Sizes {
    uint64_t of[kArrays];
    uint64_t all() const { return of[0] + of[1] + of[2]; }
  };

  static const Shape &shape_at(const void *shape) { return *static_cast<const Shape *>(shape); }
  static Sizes sizes(const void *shape) {
    Sizes s;
    L::sizes(shape_at(shape), s.of);
    return s;
  }
  static Sizes held(const void *view) {
    Sizes s;
    L::held(*static_cast<const View *>(view), s.of);
    return s;
  }
  static consort_addr at(const void *view, uint32_t i) {
    consort_addr a;
    std::memcpy(&a, static_cast<const char *>(view) + i * sizeof a, sizeof a);
    return a;
  }
  static void put_at(View *view, uint32_t i, consort_addr a) { std::memcpy(reinterpret_cast<char *>(view) + i * sizeof a, &a, sizeof a); }

  static consort_status shape(const void *user, uint64_t n, void *shape, void *home) {
    if (!user || n != sizeof(Args)) return CONSORT_E_INVAL;
    const Shape s = L::read(*static_cast<const Args *>(user));
    if (!L::good(s)) return CONSORT_E_INVAL;
    const Sizes size = sizes(&s);
    uint64_t ptr[kArrays], with = 0, without = 0;
    View v = L::view(s);
    for (uint32_t i = 0; i < kArrays; ++i) {
      const void *p;
      std::memcpy(&p, static_cast<const char *>(user) + i * sizeof p, sizeof p);
      ptr[i] = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(p));
      put_at(&v, i, {ptr[i], 0});
      if (size.of[i]) ++(ptr[i] ? with : without);
      if (ptr[i] + size.of[i] < ptr[i]) return CONSORT_E_INVAL;
      for (uint32_t k = 0; ptr[i] && k < i; ++k)  // overlap
        if (ptr[k] && ptr[i] < ptr[k] + size.of[k] && ptr[k] < ptr[i] + size.of[i]) return CONSORT_E_INVAL;
    }
    if (with && without) return CONSORT_E_INVAL;
    *static_cast<Shape *>(shape) = s;
    *static_cast<View *>(home) = v;
    return CONSORT_OK;
  }

  static uint64_t footprint(const void *shape) { return Codec<L>::hash(L::size_class(shape_at(shape))); }
  static uint64_t bytes(const void *shape) { return sizes(shape).all(); }

  static uint32_t blocks(const void *shape, const consort_space_desc *, consort_block *out, uint32_t max) {
    const Sizes s = sizes(shape);
    uint32_t n = 0;
    for (uint64_t size : s.of)
      if (size && n++ < max) out[n - 1] = {size, kAlign};
    return n;
  }

  static consort_status view(const void *shape, const consort_space_desc *, const consort_addr *blocks, uint32_t n, void *out) {
    const Sizes s = sizes(shape);
    View v = L::view(shape_at(shape));
    uint32_t taken = 0;
    for (uint32_t i = 0; i < kArrays; ++i) {
      if (!s.of[i]) continue;
      if (taken == n) return CONSORT_E_INVAL;
      put_at(&v, i, blocks[taken++]);
    }
    if (taken != n) return CONSORT_E_INVAL;
    *static_cast<View *>(out) = v;
    return CONSORT_OK;
  }

  // A home view without memory is recognised by its addresses {0, 0}.
  static uint32_t extents(const void *, const void *view, consort_extent *out, uint32_t max) {
    const Sizes s = held(view);
    uint32_t n = 0;
    for (uint32_t i = 0; i < kArrays; ++i)
      if (s.of[i] && n++ < max) out[n - 1] = {at(view, i), s.of[i]};
    return n;
  }

  // The three addresses, then the layout's scalars, 64 bits each.
  static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
    const Sizes s = sizes(shape);
    uint64_t scalars[kMostScalars];
    const uint32_t n = L::scalars(*static_cast<const View *>(view), scalars);
    for (uint32_t i = 0; i < kArrays && i < max; ++i) out[i] = {CONSORT_ARG_ADDR, 8, at(view, i), s.of[i], 0};
    for (uint32_t i = 0; i < n && i + kArrays < max; ++i) out[i + kArrays] = {CONSORT_ARG_SCALAR, 8, {0, 0}, 0, scalars[i]};
    return n + kArrays;
  }

  static uint32_t runs(const void *, const void *src, const void *dst, consort_run *out, uint32_t max) {
    const Sizes s = held(dst);
    uint32_t n = 0;
    for (uint32_t i = 0; i < kArrays; ++i)
      if (s.of[i] && n++ < max) out[n - 1] = {at(src, i), at(dst, i), s.of[i], {1, 1}, {0, 0}, {0, 0}};
    return n;
  }

  static uint64_t packed_bytes(const void *shape, const void *) { return bytes(shape); }

  static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
    const Sizes s = sizes(shape);
    if (cap < s.all()) return CONSORT_E_TRUNCATED;
    auto *to = static_cast<char *>(buf);
    for (uint32_t i = 0; i < kArrays; to += s.of[i++])
      if (s.of[i]) std::memcpy(to, consort_ptr(at(view, i)), s.of[i]);
    return CONSORT_OK;
  }

  static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
    const Sizes s = sizes(shape), own = held(view);
    if (n != s.all()) return n < s.all() ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
    auto *from = static_cast<const char *>(buf);
    if (n && !L::sound(shape_at(shape), from)) return CONSORT_E_INVAL;
    for (uint32_t i = 0; i < kArrays; from += s.of[i++])
      if (own.of[i]) std::memcpy(consort_ptr(at(view, i)), from, own.of[i]);
    return CONSORT_OK;
  }

  static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
    Text text(utf8, cap);
    L::describe(shape_at(shape), text);
    return text.length();
  }
};

template <class L, uint32_t N>
constexpr consort_interface_ops arrays_ops(const consort_filter (&filters)[N]) {
  using A = Arrays<L>;
  consort_interface_ops o = {};
  o.size = sizeof o;
  o.shape_size = sizeof(typename L::Shape);
  o.view_size = sizeof(typename L::View);
  o.filters = filters;
  o.nfilters = N;
  o.shape = A::shape;
  o.footprint = A::footprint;
  o.bytes = A::bytes;
  o.blocks = A::blocks;
  o.view = A::view;
  o.extents = A::extents;
  o.args = A::args;
  o.runs = A::runs;
  o.packed_bytes = A::packed_bytes;
  o.pack = A::pack;
  o.unpack = A::unpack;
  o.encode = Codec<L>::encode;
  o.decode = Codec<L>::decode;
  o.describe = A::describe;
  return o;
}

}  // namespace layouts

// dense.hpp — the functions of an interface whose data are a Box: Dense<Layout> for a layout of layouts.hpp.
//
// Stateless; every function but pack and unpack is [pure], and may be called from any thread. Only these two access
// contents, and never the gaps between elements. The steps belong to the view: a replica allocated by the runtime is
// packed. A box without elements has no block, no extent and no run. Nothing throws or allocates.
#pragma once
#include "codec.hpp"
#include "layouts.hpp"

namespace layouts {

template <class L>
struct Dense {
  using Args = typename L::Args;
  using Shape = typename L::Shape;
  using View = typename L::View;
  static constexpr uint32_t kAlign = 64;

  static Box box(const void *shape) { return L::sizes(*static_cast<const Shape *>(shape)); }
  static Box box_of(const void *view) { return L::steps(*static_cast<const View *>(view)); }
  static consort_addr at(const void *view) { return static_cast<const View *>(view)->addr; }

  static consort_status shape(const void *user, uint64_t n, void *shape, void *home) {
    if (!user || n != sizeof(Args)) return CONSORT_E_INVAL;
    const Args &a = *static_cast<const Args *>(user);
    const auto ptr = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(a.ptr));
    Box b;
    if (!L::parse(a, &b) || (ptr && ptr + reach(b) * b.elem < ptr)) return CONSORT_E_INVAL;
    *static_cast<Shape *>(shape) = L::shape(b);
    *static_cast<View *>(home) = L::view(b, {ptr, 0});
    return CONSORT_OK;
  }

  // Steps belong to one replica, so the size class does not include them.
  static uint64_t footprint(const void *shape) { return Codec<L>::hash(*static_cast<const Shape *>(shape)); }

  static uint64_t bytes(const void *shape) {
    const Box b = box(shape);
    return elements(b) * b.elem;
  }

  static uint32_t blocks(const void *shape, const consort_space_desc *, consort_block *out, uint32_t max) {
    const uint64_t all = bytes(shape);
    if (!all) return 0;
    if (max) out[0] = {all, kAlign};
    return 1;
  }

  static consort_status view(const void *shape, const consort_space_desc *, const consort_addr *at, uint32_t n, void *out) {
    Box b = box(shape);
    if (n != (elements(b) ? 1u : 0u)) return CONSORT_E_INVAL;
    pack_steps(b);
    *static_cast<View *>(out) = L::view(b, n ? at[0] : consort_addr{0, 0});
    return CONSORT_OK;
  }

  // A home view without memory is recognised by its address {0, 0}.
  static uint32_t extents(const void *, const void *view, consort_extent *out, uint32_t max) {
    const Box b = box_of(view);
    if (!elements(b)) return 0;
    if (max) out[0] = {at(view), reach(b) * b.elem};
    return 1;
  }

  static uint32_t sizes(const void *shape, uint64_t *out, uint32_t max) {
    const Box b = box(shape);
    for (unsigned d = 0; d < b.dims && d < max; ++d) out[d] = b.n[d];
    if (!b.dims && max) out[0] = 1;
    return b.dims ? b.dims : 1;
  }

  // The address, then the layout's scalars, 64 bits each.
  static uint32_t args(const void *, const void *view, consort_arg *out, uint32_t max) {
    const Box b = box_of(view);
    uint64_t scalars[2 * kMost + 1];
    const uint32_t n = L::scalars(*static_cast<const View *>(view), scalars);
    if (max) out[0] = {CONSORT_ARG_ADDR, 8, at(view), reach(b) * b.elem, 0};
    for (uint32_t i = 0; i < n && i + 1 < max; ++i) out[i + 1] = {CONSORT_ARG_SCALAR, 8, {0, 0}, 0, scalars[i]};
    return n + 1;
  }

  static uint32_t runs(const void *, const void *src, const void *dst, consort_run *out, uint32_t max) {
    const Box s = box_of(src), d = box_of(dst);
    return elements(s) ? to_runs(walk(s, s.step, d.step), at(src), at(dst), out, max) : 0;
  }

  static uint64_t packed_bytes(const void *shape, const void *) { return bytes(shape); }

  static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
    Box packed = box(shape);
    if (cap < bytes(shape)) return CONSORT_E_TRUNCATED;
    if (!elements(packed)) return CONSORT_OK;
    pack_steps(packed);
    copy(walk(packed, box_of(view).step, packed.step), static_cast<const char *>(consort_ptr(at(view))), static_cast<char *>(buf));
    return CONSORT_OK;
  }

  static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
    Box packed = box(shape);
    if (n != bytes(shape)) return n < bytes(shape) ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
    if (!elements(packed)) return CONSORT_OK;
    pack_steps(packed);
    copy(walk(packed, packed.step, box_of(view).step), static_cast<const char *>(buf), static_cast<char *>(consort_ptr(at(view))));
    return CONSORT_OK;
  }

  static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
    const Box b = box(shape);
    Text text(utf8, cap);
    text << L::name << " of ";
    for (unsigned d = 0; d < b.dims; ++d) text << b.n[d] << " x ";
    return (text << b.elem << " B").length();
  }
};

template <class L>
constexpr consort_interface_ops dense_ops() {
  using D = Dense<L>;
  consort_interface_ops o = {};
  o.size = sizeof o;
  o.shape_size = sizeof(typename L::Shape);
  o.view_size = sizeof(typename L::View);
  o.shape = D::shape;
  o.footprint = D::footprint;
  o.bytes = D::bytes;
  o.blocks = D::blocks;
  o.view = D::view;
  o.extents = D::extents;
  o.args = D::args;
  o.runs = D::runs;
  o.packed_bytes = D::packed_bytes;
  o.pack = D::pack;
  o.unpack = D::unpack;
  o.encode = Codec<L>::encode;
  o.decode = Codec<L>::decode;
  o.describe = D::describe;
  o.sizes = D::sizes;
  return o;
}
template <class L, uint32_t N>
constexpr consort_interface_ops dense_ops(const consort_filter (&filters)[N]) {
  consort_interface_ops o = dense_ops<L>();
  o.filters = filters;
  o.nfilters = N;
  return o;
}

}  // namespace layouts

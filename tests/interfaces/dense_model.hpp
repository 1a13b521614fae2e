// dense_model.hpp — the meaning of dense layouts, written down a second time and independently. A datum is a list of
// places, one for each element, in the order of the dimensions, the fastest first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "interfaces/layout_harness.hpp"

namespace consort_test {

struct Grid {
  std::string layout;
  std::vector<uint64_t> n, step;
  uint64_t elem;
  uint64_t at = 0;  // bytes from the start of the memory

  uint64_t elements() const {
    uint64_t all = 1;
    for (uint64_t k : n) all *= k;
    return all;
  }
  uint64_t reach() const {
    if (!elements()) return 0;
    uint64_t all = 1;
    for (size_t d = 0; d < n.size(); ++d) all += (n[d] - 1) * step[d];
    return all * elem;
  }
  std::vector<uint64_t> index(uint64_t k) const {
    std::vector<uint64_t> x;
    for (uint64_t m : n) x.push_back(k % m), k /= m;
    return x;
  }
  uint64_t place(const std::vector<uint64_t> &x) const {
    uint64_t p = 0;
    for (size_t d = 0; d < n.size(); ++d) p += x[d] * step[d];
    return at + p * elem;
  }
  std::vector<uint64_t> places() const {
    std::vector<uint64_t> all;
    for (uint64_t k = 0; k < elements(); ++k) all.push_back(place(index(k)));
    return all;
  }
};

inline consort_status make(const LayoutHarness &h, const Grid &g, void *home, Pod &shape, Pod &view) {
  const auto &n = g.n, &s = g.step;
  if (g.layout == "variable") return h.make(consort_variable_args{home, g.elem}, shape, view);
  if (g.layout == "vector") return h.make(consort_vector_args{home, n[0], g.elem}, shape, view);
  if (g.layout == "matrix") return h.make(consort_matrix_args{home, n[0], n[1], s[1], g.elem}, shape, view);
  if (g.layout == "block") return h.make(consort_block_args{home, n[0], n[1], n[2], s[1], s[2], g.elem}, shape, view);
  if (g.layout == "tensor")
    return h.make(consort_tensor_args{home, n[0], n[1], n[2], n[3], s[1], s[2], s[3], g.elem}, shape, view);
  consort_ndim_args a{home, n.size(), {}, {}, g.elem};
  for (size_t d = 0; d < n.size(); ++d) a.n[d] = n[d], a.step[d] = s[d];
  return h.make(a, shape, view);
}

// Reads a view (and its shape, which must agree) back into a Grid. memory: the origin of `at`.
inline Grid read_view(const std::string &layout, const Pod &shape, const Pod &view, const void *memory) {
  Grid g{layout, {}, {}, 0};
  consort_addr at{};
  const auto from = [&](const auto *v, const auto *s, auto... fields) {
    (void)s;
    at = v->addr;
    g.n = {fields...};
  };
  const void *v = view, *s = shape;
  if (layout == "variable") {
    const auto *w = static_cast<const consort_variable_view *>(v);
    from(w, s);
    g.elem = w->bytes;
    EXPECT_EQ(static_cast<const consort_variable_shape *>(s)->bytes, w->bytes);
  } else if (layout == "vector") {
    const auto *w = static_cast<const consort_vector_view *>(v);
    const auto *t = static_cast<const consort_vector_shape *>(s);
    from(w, t, w->n);
    g.step = {1};
    g.elem = w->elem;
    EXPECT_TRUE(t->n == w->n && t->elem == w->elem);
  } else if (layout == "matrix") {
    const auto *w = static_cast<const consort_matrix_view *>(v);
    const auto *t = static_cast<const consort_matrix_shape *>(s);
    from(w, t, w->nx, w->ny);
    g.step = {1, w->ld};
    g.elem = w->elem;
    EXPECT_TRUE(t->nx == w->nx && t->ny == w->ny && t->elem == w->elem);
  } else if (layout == "block") {
    const auto *w = static_cast<const consort_block_view *>(v);
    const auto *t = static_cast<const consort_block_shape *>(s);
    from(w, t, w->nx, w->ny, w->nz);
    g.step = {1, w->ldy, w->ldz};
    g.elem = w->elem;
    EXPECT_TRUE(t->nx == w->nx && t->ny == w->ny && t->nz == w->nz && t->elem == w->elem);
  } else if (layout == "tensor") {
    const auto *w = static_cast<const consort_tensor_view *>(v);
    const auto *t = static_cast<const consort_tensor_shape *>(s);
    from(w, t, w->nx, w->ny, w->nz, w->nt);
    g.step = {1, w->ldy, w->ldz, w->ldt};
    g.elem = w->elem;
    EXPECT_TRUE(t->nx == w->nx && t->ny == w->ny && t->nz == w->nz && t->nt == w->nt && t->elem == w->elem);
  } else {
    const auto *w = static_cast<const consort_ndim_view *>(v);
    const auto *t = static_cast<const consort_ndim_shape *>(s);
    at = w->addr;
    EXPECT_TRUE(w->dims >= 1 && w->dims <= CONSORT_NDIM_MAX && t->dims == w->dims && t->elem == w->elem);
    for (uint64_t d = 0; d < CONSORT_NDIM_MAX; ++d) {
      EXPECT_EQ(w->n[d], t->n[d]);
      if (d < w->dims) g.n.push_back(w->n[d]), g.step.push_back(w->step[d]);
      else EXPECT_TRUE(w->n[d] == 0 && w->step[d] == 0);
    }
    g.elem = w->elem;
  }
  g.at = at.base + at.off - reinterpret_cast<uint64_t>(memory);
  return g;
}

// A datum of this layout, small enough to look at each byte, with gaps and some empty dimensions. The dimensions of
// ndim have any order of steps.
inline Grid some_grid(const std::string &layout, std::mt19937_64 &random) {
  const auto upto = [&](uint64_t n) { return random() % (n + 1); };
  const uint64_t fixed = layout == "variable" ? 0 : layout == "vector" ? 1 : layout == "matrix" ? 2 : layout == "block" ? 3 : 4;
  const bool any = layout == "ndim";
  const uint64_t dims = any ? 1 + upto(7) : fixed, most = dims > 5 ? 2 : dims > 3 ? 4 : dims > 1 ? 7 : 40;
  Grid g{layout, std::vector<uint64_t>(dims), std::vector<uint64_t>(dims), 1 + upto(8)};
  std::vector<uint64_t> order(dims);
  for (uint64_t d = 0; d < dims; ++d) order[d] = d;
  if (any) std::shuffle(order.begin(), order.end(), random);
  uint64_t step = 1;
  for (uint64_t d : order) {
    g.n[d] = upto(15) ? 1 + upto(most) : 0;
    g.step[d] = step;
    if (any && !upto(3)) g.step[d] += upto(3);
    if (!any && d == 0) g.step[d] = 1;
    step = g.n[d] ? g.step[d] * g.n[d] + (upto(2) ? 0 : upto(3)) : step;
    if (any && upto(4) == 0) ++step;
  }
  if (!any)
    for (uint64_t d = 1; d < dims; ++d)
      if (g.step[d] == 0) g.step[d] = 1;
  return g;
}

inline const char *const kDense[] = {"variable", "vector", "matrix", "block", "tensor", "ndim"};

}  // namespace consort_test

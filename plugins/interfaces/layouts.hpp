// layouts.hpp — the mapping of each dense layout's structs in consort/layouts.h to sizes and
// steps of a Box, and its name.
//
// Compile-time tables and conversions between plain structs: [pure], any thread. No access to contents.
#pragma once
#include "box.hpp"

namespace layouts {

// A layout with a fixed number of dimensions, the fastest of step 1. Fields maps the fields.
template <class Fields>
struct Fixed : Fields {
  using Args = typename Fields::Args;
  using Shape = typename Fields::Shape;
  using View = typename Fields::View;
  static constexpr bool any_step = false;  // whether the fastest dimension may have a step other than 1

  template <class T>
  static Box sizes(const T &t) {
    Box b;
    b.dims = Fields::dims;
    b.elem = t.*Fields::template elem<T>;
    for (unsigned d = 0; d < Fields::dims; ++d) b.n[d] = t.*Fields::template n<T>[d];
    return b;
  }
  template <class T>
  static Box steps(const T &t) {
    Box b = sizes(t);
    if constexpr (Fields::dims > 0) b.step[0] = 1;
    for (unsigned d = 1; d < Fields::dims; ++d) b.step[d] = t.*Fields::template ld<T>[d - 1];
    return b;
  }
  static bool parse(const Args &a, Box *out) {
    *out = steps(a);
    return settle_steps(*out) && nested(*out);
  }
  static bool good(const Shape &s) { return good_sizes(sizes(s)); }
  static Shape shape(const Box &b) { return sized<Shape>(b); }
  static View view(const Box &b, consort_addr at) {
    View v = sized<View>(b);
    v.addr = at;
    for (unsigned d = 1; d < Fields::dims; ++d) v.*Fields::template ld<View>[d - 1] = b.step[d];
    return v;
  }
  // Kernel arguments behind the address: sizes, then leading dimensions.
  static uint32_t scalars(const View &v, uint64_t *out) {
    uint32_t k = 0;
    for (unsigned d = 0; d < Fields::dims; ++d) out[k++] = v.*Fields::template n<View>[d];
    for (unsigned d = 1; d < Fields::dims; ++d) out[k++] = v.*Fields::template ld<View>[d - 1];
    return k;
  }

 private:
  template <class T>
  static T sized(const Box &b) {
    T t = {};
    for (unsigned d = 0; d < Fields::dims; ++d) t.*Fields::template n<T>[d] = b.n[d];
    t.*Fields::template elem<T> = b.elem;
    return t;
  }
};

template <class T>
using Field = uint64_t T::*;

struct VariableFields {
  using Args = consort_variable_args;
  using Shape = consort_variable_shape;
  using View = consort_variable_view;
  static constexpr char name[] = "variable", tag[] = "VAR1";
  static constexpr unsigned dims = 0;
  template <class T> static constexpr Field<T> elem = &T::bytes;
  template <class T> static constexpr Field<T> n[] = {nullptr};
  template <class T> static constexpr Field<T> ld[] = {nullptr};
};
struct VectorFields {
  using Args = consort_vector_args;
  using Shape = consort_vector_shape;
  using View = consort_vector_view;
  static constexpr char name[] = "vector", tag[] = "VEC1";
  static constexpr unsigned dims = 1;
  template <class T> static constexpr Field<T> elem = &T::elem;
  template <class T> static constexpr Field<T> n[] = {&T::n};
  template <class T> static constexpr Field<T> ld[] = {nullptr};
};
struct MatrixFields {
  using Args = consort_matrix_args;
  using Shape = consort_matrix_shape;
  using View = consort_matrix_view;
  static constexpr char name[] = "matrix", tag[] = "MAT1";
  static constexpr unsigned dims = 2;
  template <class T> static constexpr Field<T> elem = &T::elem;
  template <class T> static constexpr Field<T> n[] = {&T::nx, &T::ny};
  template <class T> static constexpr Field<T> ld[] = {&T::ld};
};
struct BlockFields {
  using Args = consort_block_args;
  using Shape = consort_block_shape;
  using View = consort_block_view;
  static constexpr char name[] = "block", tag[] = "BLK1";
  static constexpr unsigned dims = 3;
  template <class T> static constexpr Field<T> elem = &T::elem;
  template <class T> static constexpr Field<T> n[] = {&T::nx, &T::ny, &T::nz};
  template <class T> static constexpr Field<T> ld[] = {&T::ldy, &T::ldz};
};
struct TensorFields {
  using Args = consort_tensor_args;
  using Shape = consort_tensor_shape;
  using View = consort_tensor_view;
  static constexpr char name[] = "tensor", tag[] = "TEN1";
  static constexpr unsigned dims = 4;
  template <class T> static constexpr Field<T> elem = &T::elem;
  template <class T> static constexpr Field<T> n[] = {&T::nx, &T::ny, &T::nz, &T::nt};
  template <class T> static constexpr Field<T> ld[] = {&T::ldy, &T::ldz, &T::ldt};
};

using Variable = Fixed<VariableFields>;
using Vector = Fixed<VectorFields>;
using Matrix = Fixed<MatrixFields>;
using Block = Fixed<BlockFields>;
using Tensor = Fixed<TensorFields>;

// Any number of dimensions from 1 to 8, any steps.
struct Ndim {
  using Args = consort_ndim_args;
  using Shape = consort_ndim_shape;
  using View = consort_ndim_view;
  static constexpr char name[] = "ndim", tag[] = "NDM1";
  static constexpr bool any_step = true;

  template <class T>
  static Box sizes(const T &t) {
    Box b;
    b.dims = static_cast<unsigned>(t.dims);
    b.elem = t.elem;
    for (unsigned d = 0; d < b.dims; ++d) b.n[d] = t.n[d];
    return b;
  }
  template <class T>
  static Box steps(const T &t) {
    Box b = sizes(t);
    for (unsigned d = 0; d < b.dims; ++d) b.step[d] = t.step[d];
    return b;
  }
  static bool parse(const Args &a, Box *out) {
    if (a.dims < 1 || a.dims > kMost) return false;
    *out = steps(a);
    return settle_steps(*out) && apart(*out);
  }
  static bool good(const Shape &s) {
    if (s.dims < 1 || s.dims > kMost) return false;
    for (uint64_t d = s.dims; d < kMost; ++d)
      if (s.n[d]) return false;
    return good_sizes(sizes(s));
  }
  static Shape shape(const Box &b) {
    Shape s = {};
    s.dims = b.dims;
    s.elem = b.elem;
    for (unsigned d = 0; d < b.dims; ++d) s.n[d] = b.n[d];
    return s;
  }
  static View view(const Box &b, consort_addr at) {
    View v = {};
    v.addr = at;
    v.dims = b.dims;
    v.elem = b.elem;
    for (unsigned d = 0; d < b.dims; ++d) v.n[d] = b.n[d], v.step[d] = b.step[d];
    return v;
  }
  // dims, all sizes, all steps.
  static uint32_t scalars(const View &v, uint64_t *out) {
    uint32_t k = 0;
    out[k++] = v.dims;
    for (uint64_t d = 0; d < v.dims; ++d) out[k++] = v.n[d];
    for (uint64_t d = 0; d < v.dims; ++d) out[k++] = v.step[d];
    return k;
  }
};

}  // namespace layouts

// consort/cpp/layout.hpp — how a C++ view type (what a codelet's parameter says) stands for a data interface.
//
// Part of consort.hpp; include that. Views are values that own nothing: std::span<T> of a vector, T& of a variable,
// Matrix<T>, Block<T>, Tensor<T> and Ndim<T> of what is called so. A const element says that the codelet only reads.
#ifndef CONSORT_CPP_LAYOUT_HPP
#define CONSORT_CPP_LAYOUT_HPP
#include <consort/consort.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace consort::inline face {

// nx elements side by side in a line, ny lines, ld elements from line to line. m(x, y): x runs along the line.
// In column-major storage (BLAS) a line is a column of the matrix, so that m(i, j) is row i, column j.
template <class T>
class Matrix {
 public:
  using element_type = T;
  constexpr Matrix() noexcept = default;
  // Of elements at `data`; ld 0: nx, lines without a gap.
  constexpr Matrix(T *data, std::size_t nx, std::size_t ny, std::size_t ld = 0) noexcept
      : data_(data), nx_(nx), ny_(ny), ld_(ld ? ld : nx) {}
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  constexpr Matrix(const Matrix<U> &other) noexcept : Matrix(other.data(), other.nx(), other.ny(), other.ld()) {}

  // The element at place x of line y. Not checked.
  constexpr T &operator()(std::size_t x, std::size_t y) const noexcept { return data_[x + y * ld_]; }
#if defined(__cpp_multidimensional_subscript)
  constexpr T &operator[](std::size_t x, std::size_t y) const noexcept { return data_[x + y * ld_]; }
#endif
  constexpr std::span<T> line(std::size_t y) const noexcept { return {data_ + y * ld_, nx_}; }  // Line y, as a span.
  constexpr T *data() const noexcept { return data_; }  // The first element; null: none.
  constexpr std::size_t nx() const noexcept { return nx_; }  // Elements a line.
  constexpr std::size_t ny() const noexcept { return ny_; }  // Lines.
  constexpr std::size_t ld() const noexcept { return ld_; }  // Elements from line to line.

 private:
  T *data_ = nullptr;
  std::size_t nx_ = 0, ny_ = 0, ld_ = 0;
};

// nz planes of ny lines of nx elements side by side: ldy elements from line to line, ldz from plane to plane.
template <class T>
class Block {
 public:
  using element_type = T;
  constexpr Block() noexcept = default;
  // Of elements at `data`; ldy, ldz 0: packed.
  constexpr Block(T *data, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t ldy = 0,
                  std::size_t ldz = 0) noexcept
      : data_(data), nx_(nx), ny_(ny), nz_(nz), ldy_(ldy ? ldy : nx), ldz_(ldz ? ldz : ldy_ * ny) {}
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  constexpr Block(const Block<U> &o) noexcept : Block(o.data(), o.nx(), o.ny(), o.nz(), o.ldy(), o.ldz()) {}

  // The element at place x of line y of plane z. Not checked.
  constexpr T &operator()(std::size_t x, std::size_t y, std::size_t z) const noexcept {
    return data_[x + y * ldy_ + z * ldz_];
  }
#if defined(__cpp_multidimensional_subscript)
  constexpr T &operator[](std::size_t x, std::size_t y, std::size_t z) const noexcept { return (*this)(x, y, z); }
#endif
  // Plane z, as a matrix.
  constexpr Matrix<T> plane(std::size_t z) const noexcept { return {data_ + z * ldz_, nx_, ny_, ldy_}; }
  constexpr T *data() const noexcept { return data_; }  // The first element; null: none.
  constexpr std::size_t nx() const noexcept { return nx_; }  // Elements a line.
  constexpr std::size_t ny() const noexcept { return ny_; }  // Lines a plane.
  constexpr std::size_t nz() const noexcept { return nz_; }  // Planes.
  constexpr std::size_t ldy() const noexcept { return ldy_; }  // Elements from line to line.
  constexpr std::size_t ldz() const noexcept { return ldz_; }  // Elements from plane to plane.

 private:
  T *data_ = nullptr;
  std::size_t nx_ = 0, ny_ = 0, nz_ = 0, ldy_ = 0, ldz_ = 0;
};

// nt blocks, ldt elements from block to block.
template <class T>
class Tensor {
 public:
  using element_type = T;
  constexpr Tensor() noexcept = default;
  // Of elements at `data`; ldy, ldz, ldt 0: packed.
  constexpr Tensor(T *data, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t nt, std::size_t ldy = 0,
                   std::size_t ldz = 0, std::size_t ldt = 0) noexcept
      : first_(data, nx, ny, nz, ldy, ldz), nt_(nt), ldt_(ldt ? ldt : first_.ldz() * nz) {}
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  constexpr Tensor(const Tensor<U> &o) noexcept
      : Tensor(o.data(), o.nx(), o.ny(), o.nz(), o.nt(), o.ldy(), o.ldz(), o.ldt()) {}

  // The element at (x, y, z) of block t. Not checked.
  constexpr T &operator()(std::size_t x, std::size_t y, std::size_t z, std::size_t t) const noexcept {
    return data()[x + y * ldy() + z * ldz() + t * ldt_];
  }
#if defined(__cpp_multidimensional_subscript)
  constexpr T &operator[](std::size_t x, std::size_t y, std::size_t z, std::size_t t) const noexcept {
    return (*this)(x, y, z, t);
  }
#endif
  // Block t.
  constexpr Block<T> block(std::size_t t) const noexcept {
    return {data() + t * ldt_, nx(), ny(), nz(), ldy(), ldz()};
  }
  constexpr T *data() const noexcept { return first_.data(); }  // The first element; null: none.
  constexpr std::size_t nx() const noexcept { return first_.nx(); }  // Elements a line.
  constexpr std::size_t ny() const noexcept { return first_.ny(); }  // Lines a plane.
  constexpr std::size_t nz() const noexcept { return first_.nz(); }  // Planes a block.
  constexpr std::size_t nt() const noexcept { return nt_; }  // Blocks.
  constexpr std::size_t ldy() const noexcept { return first_.ldy(); }  // Elements from line to line.
  constexpr std::size_t ldz() const noexcept { return first_.ldz(); }  // Elements from plane to plane.
  constexpr std::size_t ldt() const noexcept { return ldt_; }  // Elements from block to block.

 private:
  Block<T> first_;
  std::size_t nt_ = 0, ldt_ = 0;
};

// One to eight dimensions of n(d) elements, step(d) elements from one to the next: Ndim(p, {4, 5}, {5, 1}) is the array
// p[4][5]. Without steps each dimension is packed behind those before it. More than eight are refused when registered.
template <class T>
class Ndim {
 public:
  using element_type = T;
  static constexpr std::size_t most = CONSORT_NDIM_MAX;
  constexpr Ndim() noexcept = default;
  // Of elements at `data`, n[d] along dimension d; a step of 0 or none: packed.
  constexpr Ndim(T *data, std::span<const std::size_t> n, std::span<const std::size_t> step = {}) noexcept
      : data_(data), dims_(n.size()) {
    for (std::size_t d = 0; d < dims_ && d < most; ++d) {
      n_[d] = n[d];
      step_[d] = d < step.size() && step[d] ? step[d] : d ? step_[d - 1] * n_[d - 1] : 1;
    }
  }
  constexpr Ndim(T *data, std::initializer_list<std::size_t> n, std::initializer_list<std::size_t> step = {}) noexcept
      : Ndim(data, std::span(n.begin(), n.size()), std::span(step.begin(), step.size())) {}
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  constexpr Ndim(const Ndim<U> &o) noexcept : Ndim(o.data(), o.sizes(), o.steps()) {}

  // The element at these indices, one for each dimension, the fastest first. Not checked.
  template <class... I>
  constexpr T &operator()(I... index) const noexcept {
    static_assert(sizeof...(I) >= 1 && sizeof...(I) <= most, "one index for each dimension");
    std::size_t at = 0, d = 0;
    ((at += static_cast<std::size_t>(index) * step_[d++]), ...);
    return data_[at];
  }
  constexpr T *data() const noexcept { return data_; }  // The first element; null: none.
  // Dimensions, as given: more than eight are refused when registered.
  constexpr std::size_t dims() const noexcept { return dims_; }
  constexpr std::size_t n(std::size_t d) const noexcept { return n_[d]; }  // Elements along dimension d.
  // Elements from one to the next along dimension d.
  constexpr std::size_t step(std::size_t d) const noexcept { return step_[d]; }
  // n(d) of all dimensions.
  constexpr std::span<const std::size_t> sizes() const noexcept { return {n_, dims_ < most ? dims_ : most}; }
  // step(d) of all dimensions.
  constexpr std::span<const std::size_t> steps() const noexcept { return {step_, dims_ < most ? dims_ : most}; }

 private:
  T *data_ = nullptr;
  std::size_t dims_ = 0, n_[most] = {}, step_[most] = {};
};

namespace detail {

// Layout<V>: the interface behind view type V; `is_data` is false where V is none.
template <class V>
struct Layout {
  static constexpr bool is_data = false;
};

template <class T>
struct Element {
  static_assert(std::is_trivially_copyable_v<T>,
                "elements of data are moved as bytes: they must be trivially copyable");
  static constexpr bool is_data = true, is_const = std::is_const_v<T>;
  static constexpr uint64_t bytes = sizeof(T);
  static void *address(T *p) noexcept { return const_cast<std::remove_cv_t<T> *>(p); }
};

template <class T>
struct Layout<std::span<T>> : Element<T> {
  using Const = std::span<const T>;
  using Mutable = std::span<std::remove_const_t<T>>;
  static constexpr const char *interface = "vector";
  static std::span<T> view(const void *v) noexcept {
    const auto *w = static_cast<const consort_vector_view *>(v);
    return {static_cast<T *>(consort_ptr(w->addr)), static_cast<std::size_t>(w->n)};
  }
  static uint64_t element(const void *v) noexcept { return static_cast<const consort_vector_view *>(v)->elem; }
};

template <class T>
struct Layout<Matrix<T>> : Element<T> {
  using Const = Matrix<const T>;
  using Mutable = Matrix<std::remove_const_t<T>>;
  static constexpr const char *interface = "matrix";
  static Matrix<T> view(const void *v) noexcept {
    const auto *w = static_cast<const consort_matrix_view *>(v);
    return {static_cast<T *>(consort_ptr(w->addr)), static_cast<std::size_t>(w->nx), static_cast<std::size_t>(w->ny),
            static_cast<std::size_t>(w->ld)};
  }
  static uint64_t element(const void *v) noexcept { return static_cast<const consort_matrix_view *>(v)->elem; }
};

template <class T>
struct Layout<Block<T>> : Element<T> {
  using Const = Block<const T>;
  using Mutable = Block<std::remove_const_t<T>>;
  static constexpr const char *interface = "block";
  static Block<T> view(const void *v) noexcept {
    const auto *w = static_cast<const consort_block_view *>(v);
    return {static_cast<T *>(consort_ptr(w->addr)), w->nx, w->ny, w->nz, w->ldy, w->ldz};
  }
  static uint64_t element(const void *v) noexcept { return static_cast<const consort_block_view *>(v)->elem; }
};

template <class T>
struct Layout<Tensor<T>> : Element<T> {
  using Const = Tensor<const T>;
  using Mutable = Tensor<std::remove_const_t<T>>;
  static constexpr const char *interface = "tensor";
  static Tensor<T> view(const void *v) noexcept {
    const auto *w = static_cast<const consort_tensor_view *>(v);
    return {static_cast<T *>(consort_ptr(w->addr)), w->nx, w->ny, w->nz, w->nt, w->ldy, w->ldz, w->ldt};
  }
  static uint64_t element(const void *v) noexcept { return static_cast<const consort_tensor_view *>(v)->elem; }
};

template <class T>
struct Layout<Ndim<T>> : Element<T> {
  using Const = Ndim<const T>;
  using Mutable = Ndim<std::remove_const_t<T>>;
  static constexpr const char *interface = "ndim";
  static Ndim<T> view(const void *v) noexcept {
    const auto *w = static_cast<const consort_ndim_view *>(v);
    std::size_t n[CONSORT_NDIM_MAX], step[CONSORT_NDIM_MAX];
    for (uint64_t d = 0; d < w->dims; ++d) n[d] = w->n[d], step[d] = w->step[d];
    return {static_cast<T *>(consort_ptr(w->addr)), std::span<const std::size_t>(n, w->dims),
            std::span<const std::size_t>(step, w->dims)};
  }
  static uint64_t element(const void *v) noexcept { return static_cast<const consort_ndim_view *>(v)->elem; }
};

template <class T>
struct Layout<T &> : Element<T> {
  using Const = const T &;
  using Mutable = std::remove_const_t<T> &;
  static constexpr const char *interface = "variable";
  static T &view(const void *v) noexcept {
    return *static_cast<T *>(consort_ptr(static_cast<const consort_variable_view *>(v)->addr));
  }
  static uint64_t element(const void *v) noexcept { return static_cast<const consort_variable_view *>(v)->bytes; }
};

// A token: orders tasks, holds nothing, is not passed to the codelet.
template <>
struct Layout<void> {
  using Const = void;
  using Mutable = void;
  static constexpr bool is_data = true, is_const = false;
  static constexpr const char *interface = "void";
};

// Dimensions of a view; 0: none that could be cut. An Ndim has one to eight, which show when it runs.
template <class V>
inline constexpr unsigned dims = 0;
template <class T>
inline constexpr unsigned dims<std::span<T>> = 1;
template <class T>
inline constexpr unsigned dims<Matrix<T>> = 2;
template <class T>
inline constexpr unsigned dims<Block<T>> = 3;
template <class T>
inline constexpr unsigned dims<Tensor<T>> = 4;
template <class T>
inline constexpr unsigned dims<Ndim<T>> = CONSORT_NDIM_MAX;

}  // namespace detail
}  // namespace consort::inline face
#endif

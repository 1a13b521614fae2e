// consort/cpp/layout.hpp — how a C++ view type (what a codelet's parameter says) stands for a data interface.
//
// Part of consort.hpp; include that. Views are values that own nothing: std::span<T> of a vector, Matrix<T> of
// a matrix, T& of a variable. A const element says that the codelet only reads.
#ifndef CONSORT_CPP_LAYOUT_HPP
#define CONSORT_CPP_LAYOUT_HPP
#include <consort/consort.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace consort {

// nx elements side by side in a line, ny lines, ld elements from line to line. m(x, y): x runs along the line.
// In column-major storage (BLAS) a line is a column of the matrix, so that m(i, j) is row i, column j.
template <class T>
class Matrix {
 public:
  using element_type = T;
  constexpr Matrix() noexcept = default;
  constexpr Matrix(T *data, std::size_t nx, std::size_t ny, std::size_t ld = 0) noexcept
      : data_(data), nx_(nx), ny_(ny), ld_(ld ? ld : nx) {}
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  constexpr Matrix(const Matrix<U> &other) noexcept : Matrix(other.data(), other.nx(), other.ny(), other.ld()) {}

  constexpr T &operator()(std::size_t x, std::size_t y) const noexcept { return data_[x + y * ld_]; }
#if defined(__cpp_multidimensional_subscript)
  constexpr T &operator[](std::size_t x, std::size_t y) const noexcept { return data_[x + y * ld_]; }
#endif
  constexpr std::span<T> line(std::size_t y) const noexcept { return {data_ + y * ld_, nx_}; }
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t nx() const noexcept { return nx_; }
  constexpr std::size_t ny() const noexcept { return ny_; }
  constexpr std::size_t ld() const noexcept { return ld_; }

 private:
  T *data_ = nullptr;
  std::size_t nx_ = 0, ny_ = 0, ld_ = 0;
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

}  // namespace detail
}  // namespace consort
#endif

// consort/cpp/filters.hpp — the partitions that the dense layouts have, by their names: x.partition(blocks{.parts = 4}).
//
// Part of consort.hpp; include that. Values. A filter is a struct with
//   static constexpr const char *filter     the name that the interface of the datum knows it by
//   template <class V> using Part           how a part of a datum V is seen; void: V has no such filter
//   auto params() const                     its parameters, a struct of consort/layouts.h; or params<V>(), where V decides
// An interface of your own may bring such structs for its filters; partition("name", params) does without one.
#ifndef CONSORT_CPP_FILTERS_HPP
#define CONSORT_CPP_FILTERS_HPP
#include <consort/cpp/error.hpp>
#include <consort/cpp/layout.hpp>

#include <cstdio>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace consort::inline face {

// How many: any integer. One that is negative, or above 4294967295, is refused when it is used.
class Count {
 public:
  // Keeps the number; value() checks its range.
  template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
  constexpr Count(I n) noexcept : in_range_(std::in_range<uint32_t>(n)), n_(static_cast<uint32_t>(n)) {}
  // The number. Throws Error (E_INVAL) where it is out of range; `what` is its name.
  uint32_t value(const char *what) const {
    if (in_range_) [[likely]] return n_;
    char text[128];
    std::snprintf(text, sizeof text, "%s: the number is negative or above 4294967295", what);
    detail::raise(CONSORT_E_INVAL, text);
  }

 private:
  bool in_range_;
  uint32_t n_;
};

namespace detail {

// A view with one dimension less.
template <class V>
struct OneLess {
  using type = void;
};
template <class T>
struct OneLess<std::span<T>> {
  using type = T &;
};
template <class T>
struct OneLess<Matrix<T>> {
  using type = std::span<T>;
};
template <class T>
struct OneLess<Block<T>> {
  using type = Matrix<T>;
};
template <class T>
struct OneLess<Tensor<T>> {
  using type = Block<T>;
};
template <class T>
struct OneLess<Ndim<T>> {
  using type = Ndim<T>;
};
template <class V>
struct Strided {
  using type = V;
};
template <class T>
struct Strided<std::span<T>> {
  using type = Ndim<T>;  // elements with a step are no vector
};

}  // namespace detail

// Nearly equal parts along an axis, the larger first. Axis 0 runs along a line.
struct blocks {
  Count parts;
  Count axis = 0;

  static constexpr const char *filter = "blocks";
  template <class V>
  using Part = std::conditional_t<(detail::dims<V> > 0), V, void>;
  // Returns the parameters of the filter.
  consort_split params() const { return {parts.value("blocks.parts"), axis.value("blocks.axis")}; }
};
// Bands of lines of a matrix.
struct rows {
  Count parts;

  static constexpr const char *filter = "rows";
  template <class V>
  using Part = std::conditional_t<detail::dims<V> == 2, V, void>;
  // Returns the parameters of the filter.
  consort_split params() const { return {parts.value("rows.parts"), 1}; }
};
// Bands of columns of a matrix.
struct cols {
  Count parts;

  static constexpr const char *filter = "cols";
  template <class V>
  using Part = std::conditional_t<detail::dims<V> == 2, V, void>;
  // Returns the parameters of the filter.
  consort_split params() const { return {parts.value("cols.parts"), 0}; }
};
// Blocks along all axes at once: of a matrix x bands of columns and y bands of lines. Part j * x + i is column i of line j.
struct tiles {
  Count x = 1, y = 1, z = 1, t = 1;

  static constexpr const char *filter = "tiles";
  template <class V>
  using Part = std::conditional_t<(detail::dims<V> > 1), V, void>;
  // Returns the parameters of the filter.
  template <class V>
  auto params() const {
    const uint32_t n[] = {x.value("tiles.x"), y.value("tiles.y"), z.value("tiles.z"), t.value("tiles.t")};
    for (unsigned d = detail::dims<V>; d < 4; ++d)
      if (n[d] != 1) detail::raise(CONSORT_E_INVAL, d == 2 ? "tiles.z: a matrix has the axes x and y" : "tiles.t: a datum of so few axes has no t");
    if constexpr (detail::dims<V> == 2) return consort_tiles{n[0], n[1]};
    else return consort_grid{{n[0], n[1], n[2], n[3], 1, 1, 1, 1}};
  }
};
// Tiles of a datum of up to eight dimensions: parts along each axis, the fastest first; those not said are 1.
struct grid {
  std::vector<Count> parts;

  static constexpr const char *filter = "tiles";
  template <class V>
  using Part = std::conditional_t<(detail::dims<V> > 2), V, void>;
  // Returns the parameters of the filter.
  consort_grid params() const {
    consort_grid g{{1, 1, 1, 1, 1, 1, 1, 1}};
    if (parts.size() > CONSORT_NDIM_MAX) detail::raise(CONSORT_E_INVAL, "grid.parts: a datum has eight axes at most");
    for (std::size_t d = 0; d < parts.size(); ++d) g.parts[d] = parts[d].value("grid.parts");
    return g;
  }
};
// Parts of these lengths along an axis, which sum up to the whole.
struct pieces {
  std::vector<uint64_t> sizes;
  Count axis = 0;

  static constexpr const char *filter = "list";
  template <class V>
  using Part = std::conditional_t<(detail::dims<V> > 0), V, void>;
  // A consort_split, and the lengths behind it.
  std::vector<uint64_t> params() const {
    const uint32_t split[2] = {Count(sizes.size()).value("pieces.sizes"), axis.value("pieces.axis")};
    std::vector<uint64_t> all(1 + sizes.size());
    std::memcpy(all.data(), split, sizeof split);
    for (std::size_t i = 0; i < sizes.size(); ++i) all[1 + i] = sizes[i];
    return all;
  }
};
// Two parts along the slowest axis.
struct halves {
  static constexpr const char *filter = "halves";
  template <class V>
  using Part = std::conditional_t<(detail::dims<V> > 0), V, void>;
  // Returns the parameters of the filter.
  std::vector<uint64_t> params() const { return {}; }
};
// Part i has every parts-th index from i. Of a vector the parts are seen as an Ndim, for their elements have a step.
struct cyclic {
  Count parts;
  Count axis = 0;

  static constexpr const char *filter = "cyclic";
  template <class V>
  using Part = std::conditional_t<(detail::dims<V> > 0), typename detail::Strided<V>::type, void>;
  // Returns the parameters of the filter.
  consort_split params() const { return {parts.value("cyclic.parts"), axis.value("cyclic.axis")}; }
};
// Blocks with a border of `width` on both sides, as far as there is anything. Parts share elements: they are read alone.
struct overlap {
  Count parts;
  Count axis = 0;
  Count width = 1;
  bool rim = false;  // the datum's own outermost `width` elements are border of the first part and the last

  static constexpr const char *filter = "overlap";
  template <class V>
  using Part = std::conditional_t<(detail::dims<V> > 0), typename detail::Layout<V>::Const, void>;
  // Returns the parameters of the filter.
  consort_halo params() const {
    return {parts.value("overlap.parts"), axis.value("overlap.axis"), width.value("overlap.width"), rim ? uint32_t{CONSORT_HALO_RIM} : 0};
  }
};
// A part for each index of an axis, of one dimension less: the lines of a matrix (axis 1) are vectors.
struct slices {
  Count axis = 0;

  static constexpr const char *filter = "slices";
  template <class V>
  using Part = typename detail::OneLess<V>::type;
  // Returns the parameters of the filter.
  consort_slices params() const { return {axis.value("slices.axis"), 0}; }
};

namespace detail {

template <class F>
concept Filter = requires { static_cast<const char *>(F::filter); };
template <class F, class V>
concept FilterOfLayout = requires(const F &f) { f.template params<V>(); };

}  // namespace detail

}  // namespace consort::inline face
#endif

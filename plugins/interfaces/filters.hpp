// filters.hpp — partitions of a Box: a Rule gives the elements of child i; Filter<From, To, Rule> makes the three
// functions of a consort_filter from it, for a parent of layout From and children of layout To.
//
// [pure], any thread. The caller ensures the size of the parameters (CONSORT_FI_LIST: of their list too);
// their values are checked here: an invalid partition has no children.
//
// A Rule has
//   params                     size of its parameters in bytes; 0: none, the pointer may be NULL
//   parts(box, p, any_step)    number of children; 0: no such partition. any_step: the fastest step may differ from 1
//   whole(box, p)              expensive checks, for count() alone
//   cut(box, p, i, &offset)    reduces box to child i, which begins `offset` elements behind the parent; false: invalid
#pragma once
#include "layouts.hpp"

namespace layouts {

template <class T>
T load(const void *from, uint64_t at = 0) {
  T t;
  std::memcpy(&t, static_cast<const char *>(from) + at, sizeof t);
  return t;
}

// Start of part i of n elements in `parts` parts whose sizes differ by at most one, larger first.
inline uint64_t part_begin(uint64_t n, uint32_t parts, uint32_t i) {
  const uint64_t more = n % parts;
  return n / parts * i + (i < more ? i : more);
}

// Restricts box to [begin, end) along axis.
inline void keep(Box &b, unsigned axis, uint64_t begin, uint64_t end, uint64_t *offset) {
  *offset += begin * b.step[axis];
  b.n[axis] = end - begin;
}

// Chunks along one axis: the axis of the parameters, or a fixed one.
inline constexpr unsigned kAnyAxis = ~0u;
template <unsigned Axis = kAnyAxis>
struct Chunks {
  static constexpr uint32_t params = sizeof(consort_split);
  static uint32_t parts(const Box &b, const void *p, bool) { return axis(p) < b.dims ? load<consort_split>(p).parts : 0; }
  static bool whole(const Box &, const void *) { return true; }
  static bool cut(Box &b, const void *p, uint32_t i, uint64_t *offset) {
    const uint32_t n = load<consort_split>(p).parts;
    const uint64_t all = b.n[axis(p)];
    keep(b, axis(p), part_begin(all, n, i), part_begin(all, n, i + 1), offset);
    return true;
  }

 private:
  static unsigned axis(const void *p) { return Axis == kAnyAxis ? load<consort_split>(p).axis : Axis; }
};

struct Halves {
  static constexpr uint32_t params = 0;
  static uint32_t parts(const Box &, const void *, bool) { return 2; }
  static bool whole(const Box &, const void *) { return true; }
  static bool cut(Box &b, const void *, uint32_t i, uint64_t *offset) {
    const uint64_t all = b.n[b.dims - 1];
    keep(b, b.dims - 1, part_begin(all, 2, i), part_begin(all, 2, i + 1), offset);
    return true;
  }
};

// Chunks along all axes at once. Params: a struct of 32-bit numbers, at least one per axis.
template <class Params>
struct Tiles {
  static constexpr uint32_t params = sizeof(Params);
  static uint32_t parts(const Box &b, const void *p, bool) {
    uint32_t all = 1;
    for (unsigned d = 0; d < b.dims; ++d)
      if (__builtin_mul_overflow(all, along(p, d), &all)) return 0;
    return all;
  }
  static bool whole(const Box &, const void *) { return true; }
  static bool cut(Box &b, const void *p, uint32_t i, uint64_t *offset) {
    for (unsigned d = 0; d < b.dims; ++d) {
      const uint32_t n = along(p, d), k = i % n;
      i /= n;
      keep(b, d, part_begin(b.n[d], n, k), part_begin(b.n[d], n, k + 1), offset);
    }
    return true;
  }

 private:
  static uint32_t along(const void *p, unsigned d) { return load<uint32_t>(p, d * sizeof(uint32_t)); }
};

// Contiguous parts of given lengths.
struct Listed {
  static constexpr uint32_t params = sizeof(consort_split);
  static uint32_t parts(const Box &b, const void *p, bool) {
    const auto s = load<consort_split>(p);
    return s.axis < b.dims ? s.parts : 0;
  }
  static bool whole(const Box &b, const void *p) {
    const auto s = load<consort_split>(p);
    uint64_t all;
    return sum(p, s.parts, &all) && all == b.n[s.axis];
  }
  static bool cut(Box &b, const void *p, uint32_t i, uint64_t *offset) {
    const auto axis = load<consort_split>(p).axis;
    uint64_t begin, end;
    if (!sum(p, i, &begin) || !plus(begin, size(p, i), &end) || end > b.n[axis]) return false;
    keep(b, axis, begin, end, offset);
    return true;
  }

 private:
  static uint64_t size(const void *p, uint32_t i) { return load<uint64_t>(p, sizeof(consort_split) + uint64_t{i} * 8); }
  static bool sum(const void *p, uint32_t n, uint64_t *all) {
    *all = 0;
    for (uint32_t i = 0; i < n; ++i)
      if (!plus(*all, size(p, i), all)) return false;
    return true;
  }
};

// Chunks, each with a border on both sides.
struct Haloed {
  static constexpr uint32_t params = sizeof(consort_halo);
  static uint32_t parts(const Box &b, const void *p, bool) {
    const auto h = load<consort_halo>(p);
    if (h.axis >= b.dims || (h.flags & ~uint32_t{CONSORT_HALO_RIM})) return 0;
    return rim(h) > b.n[h.axis] ? 0 : h.parts;
  }
  static bool whole(const Box &, const void *) { return true; }
  static bool cut(Box &b, const void *p, uint32_t i, uint64_t *offset) {
    const auto h = load<consort_halo>(p);
    const uint64_t all = b.n[h.axis], core = all - rim(h), left = rim(h) / 2, width = h.width;
    const uint64_t begin = left + part_begin(core, h.parts, i), end = left + part_begin(core, h.parts, i + 1);
    keep(b, h.axis, begin < width ? 0 : begin - width, all - end < width ? all : end + width, offset);
    return true;
  }

 private:
  static uint64_t rim(const consort_halo &h) { return h.flags & CONSORT_HALO_RIM ? 2 * uint64_t{h.width} : 0; }
};

// Every parts-th index along one axis. Along the fastest axis, the children have a step there.
struct Cyclic {
  static constexpr uint32_t params = sizeof(consort_split);
  static uint32_t parts(const Box &b, const void *p, bool any_step) {
    const auto s = load<consort_split>(p);
    return s.axis < b.dims && (s.axis > 0 || any_step) ? s.parts : 0;
  }
  static bool whole(const Box &, const void *) { return true; }
  static bool cut(Box &b, const void *p, uint32_t i, uint64_t *offset) {
    const auto s = load<consort_split>(p);
    uint64_t &n = b.n[s.axis];
    if (i < n) *offset += i * b.step[s.axis];
    n = i < n ? (n - i - 1) / s.parts + 1 : 0;
    if (n > 1) b.step[s.axis] *= s.parts;  // no overflow: the step stays inside the parent
    return true;
  }
};

// One child for each index along an axis, without that axis. A layout that requires a dimension keeps one of size one.
template <unsigned Fewest>
struct Slices {
  static constexpr uint32_t params = sizeof(consort_slices);
  static uint32_t parts(const Box &b, const void *p, bool any_step) {
    const uint32_t axis = load<consort_slices>(p).axis;
    if (axis >= b.dims || (axis == 0 && b.dims > 1 && !any_step)) return 0;
    return b.n[axis] > UINT32_MAX ? 0 : static_cast<uint32_t>(b.n[axis]);
  }
  static bool whole(const Box &, const void *) { return true; }
  static bool cut(Box &b, const void *p, uint32_t i, uint64_t *offset) {
    const uint32_t axis = load<consort_slices>(p).axis;
    *offset += i * b.step[axis];
    --b.dims;
    for (unsigned d = axis; d < b.dims; ++d) {
      b.n[d] = b.n[d + 1];
      b.step[d] = b.step[d + 1];
    }
    if (b.dims < Fewest) b.dims = 1, b.n[0] = b.step[0] = 1;
    return true;
  }
};

template <class From, class To, class Rule>
struct Filter {
  static Box parent(const void *shape) {
    Box b = From::sizes(*static_cast<const typename From::Shape *>(shape));
    for (unsigned d = 0; d < b.dims; ++d) b.step[d] = 0;  // positions are not needed
    return b;
  }
  static bool readable(const void *params) { return params || Rule::params == 0; }

  static uint32_t count(const void *shape, const void *params) {
    if (!readable(params)) return 0;
    const Box b = parent(shape);
    const uint32_t n = Rule::parts(b, params, To::any_step);
    return n && Rule::whole(b, params) ? n : 0;
  }
  static consort_status shape(const void *shape, const void *params, uint32_t i, void *child) {
    Box b = parent(shape);
    uint64_t offset = 0;
    if (!readable(params) || i >= Rule::parts(b, params, To::any_step) || !Rule::cut(b, params, i, &offset)) return CONSORT_E_INVAL;
    *static_cast<typename To::Shape *>(child) = To::shape(b);
    return CONSORT_OK;
  }
  static consort_status alias(const void *, const void *view, const void *params, uint32_t i, void *child) {
    const auto &v = *static_cast<const typename From::View *>(view);
    Box b = From::steps(v);
    uint64_t offset = 0;
    if (!readable(params) || i >= Rule::parts(b, params, To::any_step) || !Rule::cut(b, params, i, &offset)) return CONSORT_E_INVAL;
    consort_addr at = v.addr;
    at.off += offset * b.elem;
    *static_cast<typename To::View *>(child) = To::view(b, at);
    return CONSORT_OK;
  }
};

template <class From, class Rule>
constexpr consort_filter filter(const char *name, uint32_t flags = CONSORT_FI_COVER) {
  using F = Filter<From, From, Rule>;
  return {name, nullptr, Rule::params, flags, F::count, F::shape, F::alias};
}
template <class From, class To, class Rule>
constexpr consort_filter retyping(const char *name) {
  using F = Filter<From, To, Rule>;
  return {name, To::name, Rule::params, CONSORT_FI_COVER | CONSORT_FI_RETYPE, F::count, F::shape, F::alias};
}

}  // namespace layouts

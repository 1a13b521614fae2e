// box.hpp — the common form of dense layouts: up to 8 dimensions of equal elements, each with a size and a step.
//
// Arithmetic on plain values: [pure], any thread. Only copy() accesses contents, and never the gaps
// between elements. Sizes and steps are in elements, dimensions in order, the fastest first. Every size in bytes is
// below 2^63, so that a difference of two addresses, and a step, is always an int64_t.
#pragma once
#include <consort/interface.h>
#include <consort/layouts.h>

#include <cstring>

namespace layouts {

inline constexpr unsigned kMost = CONSORT_NDIM_MAX;

struct Box {
  unsigned dims;
  uint64_t elem;
  uint64_t n[kMost], step[kMost];  // entries from `dims` on are undefined
};

inline bool times(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_mul_overflow(a, b, out) && *out <= INT64_MAX; }
inline bool plus(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_add_overflow(a, b, out) && *out <= INT64_MAX; }
inline uint64_t one_at_least(uint64_t n) { return n ? n : 1; }

inline uint64_t elements(const Box &b) {
  uint64_t all = 1;
  for (unsigned d = 0; d < b.dims; ++d) all *= b.n[d];
  return all;
}

// Number of elements from the first to one past the last.
inline uint64_t reach(const Box &b) {
  if (!elements(b)) return 0;
  uint64_t all = 1;
  for (unsigned d = 0; d < b.dims; ++d) all += (b.n[d] - 1) * b.step[d];
  return all;
}

// Sets the steps of a box without gaps.
inline void pack_steps(Box &b) {
  for (unsigned d = 0; d < b.dims; ++d) b.step[d] = d ? b.step[d - 1] * b.n[d - 1] : 1;
}

// Whether a packed box of these sizes, as decoded from the wire, is within bounds. Counts sizes hidden by a dimension of size 0
// too, so that values derived from the sizes do not overflow.
inline bool good_sizes(const Box &b) {
  uint64_t all = b.elem;
  for (unsigned d = 0; d < b.dims; ++d)
    if (!times(all, one_at_least(b.n[d]), &all)) return false;
  return b.elem > 0 && all <= INT64_MAX;
}

// Replaces steps of 0 by packed ones. False: a number is out of bounds. Counts the whole pitch of every dimension,
// also behind the last element, because a partition may compute the address behind it.
inline bool settle_steps(Box &b) {
  if (!good_sizes(b)) return false;
  uint64_t far = 1;
  for (unsigned d = 0; d < b.dims; ++d) {
    if (!b.step[d] && !(d == 0 ? (b.step[0] = 1, true) : times(b.step[d - 1], b.n[d - 1], &b.step[d]))) return false;
    uint64_t pitch, bytes;
    if (!times(one_at_least(b.n[d]), b.step[d], &pitch) || !times(pitch, b.elem, &bytes)) return false;
    if (!plus(far, pitch - b.step[d], &far) || !times(far, b.elem, &bytes)) return false;
  }
  return true;
}

// Whether each step exceeds the reach of the dimensions before it.
inline bool nested(const Box &b) {
  uint64_t all = 1;
  for (unsigned d = 0; d < b.dims; ++d) {
    if (b.n[d] == 0) all = 0;
    if (b.step[d] < all) return false;
    if (all) all += (b.n[d] - 1) * b.step[d];
  }
  return true;
}

// The same in the order of the steps: no two elements overlap.
inline bool apart(const Box &b) {
  unsigned order[kMost], k = 0;
  for (unsigned d = 0; d < b.dims; ++d) {
    if (b.n[d] == 0) return true;
    if (b.n[d] == 1) continue;  // its step is unused
    unsigned at = k++;
    for (; at > 0 && b.step[order[at - 1]] > b.step[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  uint64_t all = 1;
  for (unsigned i = 0; i < k; ++i) {
    if (b.step[order[i]] < all) return false;
    all += (b.n[order[i]] - 1) * b.step[order[i]];
  }
  return true;
}

// A walk over two boxes of equal sizes: `run` contiguous bytes in both, repeated along `dims` dimensions
// with these steps in bytes. Dimensions that are contiguous in both are merged.
struct Walk {
  unsigned dims;
  uint64_t run, n[kMost];
  int64_t src[kMost], dst[kMost];
};

inline Walk walk(const Box &size, const uint64_t *src, const uint64_t *dst) {
  Walk w;
  unsigned k = 0;
  for (unsigned d = 0; d < size.dims; ++d) {
    if (size.n[d] == 1) continue;
    const auto s = static_cast<int64_t>(src[d] * size.elem), t = static_cast<int64_t>(dst[d] * size.elem);
    unsigned at = k++;  // in the order of the target's steps: mergeable dimensions are adjacent
    for (; at > 0 && w.dst[at - 1] > t; --at) {
      w.n[at] = w.n[at - 1];
      w.src[at] = w.src[at - 1];
      w.dst[at] = w.dst[at - 1];
    }
    w.n[at] = size.n[d];
    w.src[at] = s;
    w.dst[at] = t;
  }
  w.run = size.elem;
  w.dims = 0;
  for (unsigned d = 0; d < k; ++d) {
    const auto run = static_cast<int64_t>(w.run);
    if (w.dims == 0 && w.src[d] == run && w.dst[d] == run) {
      w.run *= w.n[d];
    } else if (const unsigned p = w.dims - 1; w.dims > 0 && w.src[d] == w.src[p] * static_cast<int64_t>(w.n[p]) &&
                                              w.dst[d] == w.dst[p] * static_cast<int64_t>(w.n[p])) {
      w.n[p] *= w.n[d];
    } else {
      w.n[w.dims] = w.n[d];
      w.src[w.dims] = w.src[d];
      w.dst[w.dims] = w.dst[d];
      ++w.dims;
    }
  }
  return w;
}

// Converts the walk to runs of three dimensions: each run has the two longest dimensions, the others give several runs.
// The count saturates at 2^32 - 1.
inline uint32_t to_runs(const Walk &w, consort_addr src, consort_addr dst, consort_run *out, uint32_t max) {
  unsigned in[2] = {kMost, kMost}, outer[kMost], nouter = 0;
  for (unsigned d = 0; d < w.dims; ++d) {
    if (in[0] == kMost || w.n[d] > w.n[in[0]]) in[1] = in[0], in[0] = d;
    else if (in[1] == kMost || w.n[d] > w.n[in[1]]) in[1] = d;
  }
  if (in[1] < in[0]) {  // the faster one inside
    const unsigned d = in[0];
    in[0] = in[1], in[1] = d;
  }
  uint64_t all = 1;
  for (unsigned d = 0; d < w.dims; ++d)
    if (d != in[0] && d != in[1]) {
      outer[nouter++] = d;
      if (__builtin_mul_overflow(all, w.n[d], &all) || all > UINT32_MAX) all = UINT32_MAX;
    }
  for (uint32_t i = 0; i < all && i < max; ++i) {
    consort_run r = {src, dst, w.run, {1, 1}, {0, 0}, {0, 0}};
    for (unsigned k = 0; k < 2; ++k)
      if (in[k] != kMost) r.n[k] = w.n[in[k]], r.src_step[k] = w.src[in[k]], r.dst_step[k] = w.dst[in[k]];
    uint64_t rest = i;
    for (unsigned k = 0; k < nouter; ++k) {
      const uint64_t at = rest % w.n[outer[k]];
      rest /= w.n[outer[k]];
      r.src.off += at * static_cast<uint64_t>(w.src[outer[k]]);
      r.dst.off += at * static_cast<uint64_t>(w.dst[outer[k]]);
    }
    out[i] = r;
  }
  return static_cast<uint32_t>(all);
}

// Performs the copy. Requires elements.
inline void copy(const Walk &w, const char *src, char *dst) {
  uint64_t at[kMost] = {};
  for (;;) {
    std::memcpy(dst, src, w.run);
    unsigned d = 0;
    for (; d < w.dims; ++d) {
      src += w.src[d];
      dst += w.dst[d];
      if (++at[d] < w.n[d]) break;
      src -= w.src[d] * static_cast<int64_t>(w.n[d]);
      dst -= w.dst[d] * static_cast<int64_t>(w.n[d]);
      at[d] = 0;
    }
    if (d == w.dims) return;
  }
}

}  // namespace layouts

// layout.hpp — the bytes of a datum as ranges, by its interface.
#pragma once
#include <consort/bodies.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace access_check {

struct Range {
  uintptr_t begin, end;
  uint64_t bytes() const noexcept { return end - begin; }
  bool meets(const Range &o) const noexcept { return begin < o.end && o.begin < end; }
};

inline uintptr_t address(consort_addr a) noexcept { return static_cast<uintptr_t>(a.base + a.off); }

// The memory in which copies of data are made: the host's.
inline consort_space_desc host_space() noexcept {
  consort_space_desc d{};
  d.size = sizeof d;
  d.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  d.numa = -1;
  d.name = "guarded";
  d.domain = "host";
  d.capacity = UINT64_MAX;
  d.granule = d.align = 64;
  return d;
}

// A copy of a shape or a view.
using Store = std::vector<std::max_align_t>;
inline void keep(Store &to, const void *from, uint32_t n) {
  to.assign(n / sizeof(std::max_align_t) + 1, std::max_align_t{});
  std::memcpy(to.data(), from, n);
}

constexpr uint32_t kMostBlocks = 64;

inline std::vector<consort_block> blocks_of(const consort_interface_ops &ops, const void *shape) {
  const consort_space_desc space = host_space();
  std::vector<consort_block> out(kMostBlocks);
  const uint32_t n = ops.blocks ? ops.blocks(shape, &space, out.data(), kMostBlocks) : 0;
  out.resize(n <= kMostBlocks ? n : 0);
  return out;
}

inline std::vector<consort_run> runs_between(const consort_interface_ops &ops, const void *shape, const void *from,
                                             const void *to) {
  std::vector<consort_run> out(8);
  const uint32_t n = ops.runs ? ops.runs(shape, from, to, out.data(), 8) : 0;
  if (n > 8) {
    out.resize(n);
    if (ops.runs(shape, from, to, out.data(), n) != n) return {};
  }
  out.resize(n);
  return out;
}

// Calls f(source, destination, bytes) for each contiguous piece.
template <class F>
void each_piece(const std::vector<consort_run> &runs, F f) {
  for (const consort_run &r : runs)
    for (uint64_t z = 0; z < r.n[1]; ++z)
      for (uint64_t y = 0; y < r.n[0]; ++y) {
        const int64_t s = static_cast<int64_t>(z) * r.src_step[1] + static_cast<int64_t>(y) * r.src_step[0];
        const int64_t d = static_cast<int64_t>(z) * r.dst_step[1] + static_cast<int64_t>(y) * r.dst_step[0];
        f(address(r.src) + static_cast<uintptr_t>(s), address(r.dst) + static_cast<uintptr_t>(d), r.run);
      }
}
inline uint64_t pieces(const std::vector<consort_run> &runs) noexcept {
  uint64_t n = 0;
  for (const consort_run &r : runs) n += r.n[0] * r.n[1];
  return n;
}

// The ranges of a view in host memory, in order; neighbours are one. Empty: the layout has no flat form, or too many pieces.
inline std::vector<Range> ranges_of(const consort_interface_ops &ops, const void *shape, const void *view) {
  constexpr uint64_t kMost = 1 << 16;
  std::vector<consort_addr> fake;
  uint64_t next = 1 << 12;
  for (const consort_block &b : blocks_of(ops, shape)) {
    next = (next + 4095) & ~uint64_t{4095};
    fake.push_back({next, 0});
    next += b.bytes;
  }
  std::vector<std::max_align_t> other(256 / sizeof(std::max_align_t));
  const consort_space_desc space = host_space();
  if (fake.empty() || ops.view_size > 256 || (ops.flags & CONSORT_IF_PACK_ONLY) ||
      ops.view(shape, &space, fake.data(), static_cast<uint32_t>(fake.size()), other.data()) < 0)
    return {};
  const std::vector<consort_run> runs = runs_between(ops, shape, view, other.data());
  if (pieces(runs) > kMost) return {};
  std::vector<Range> out;
  each_piece(runs, [&](uintptr_t from, uintptr_t, uint64_t n) { out.push_back({from, from + n}); });
  std::sort(out.begin(), out.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const Range &r : out)
    if (kept && out[kept - 1].end >= r.begin) out[kept - 1].end = std::max(out[kept - 1].end, r.end);
    else out[kept++] = r;
  out.resize(kept);
  return out;
}

}  // namespace access_check

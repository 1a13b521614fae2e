// copy_shapes.hpp — splits a copy of the ABI into shapes that copy engines support: lines, and boxes of rows and slices.
//
// An engine takes one pitch per dimension, at least as long as a row or slice. A copy with other steps (negative, overlapping,
// not a multiple) is split into smaller boxes, down to single lines.
#pragma once
#include <consort/driver.h>

namespace streams {

struct Box {
  consort_addr src, dst;
  uint64_t run, rows, slices;
  uint64_t src_pitch[2], dst_pitch[2];  // from row to row, from slice to slice; 0 if there is only one
};

inline consort_addr moved(consort_addr a, int64_t by) noexcept { return {a.base, a.off + static_cast<uint64_t>(by)}; }

// Calls give(const Box &) for each box; stops if it returns false. A line is a box of one row. most: the longest pitch.
template <class F>
bool each_box(const consort_copy &c, F give, int64_t most = INT64_MAX) {
  if (!c.run || !c.n[0] || !c.n[1]) return true;
  const auto run = static_cast<int64_t>(c.run), rows = static_cast<int64_t>(c.n[0]);
  const auto fits_rows = [&](const int64_t *step) { return step[0] >= run && step[0] <= most; };
  const auto fits_slices = [&](const int64_t *step) { return step[1] >= step[0] * rows && step[1] % step[0] == 0; };
  const bool by_rows = c.n[0] > 1 && fits_rows(c.src_step) && fits_rows(c.dst_step);
  const auto size = [](int64_t step) { return static_cast<uint64_t>(step); };
  if (by_rows && c.n[1] > 1 && fits_slices(c.src_step) && fits_slices(c.dst_step))
    return give(Box{c.src, c.dst, c.run, c.n[0], c.n[1], {size(c.src_step[0]), size(c.src_step[1])},
                    {size(c.dst_step[0]), size(c.dst_step[1])}});
  for (uint64_t z = 0; z < c.n[1]; ++z) {
    const auto k = static_cast<int64_t>(z);
    const consort_addr src = moved(c.src, k * c.src_step[1]), dst = moved(c.dst, k * c.dst_step[1]);
    if (by_rows) {
      if (!give(Box{src, dst, c.run, c.n[0], 1, {size(c.src_step[0]), 0}, {size(c.dst_step[0]), 0}})) return false;
      continue;
    }
    for (int64_t y = 0; y < rows; ++y)
      if (!give(Box{moved(src, y * c.src_step[0]), moved(dst, y * c.dst_step[0]), c.run, 1, 1, {0, 0}, {0, 0}})) return false;
  }
  return true;
}

inline uint64_t bytes_of(const consort_copy &c) noexcept { return c.run * c.n[0] * c.n[1]; }

}  // namespace streams

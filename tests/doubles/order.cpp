#include "order.hpp"

#include <algorithm>

namespace gpu {

namespace {

Region folded(Region r) {
  if (r.rows == 1) {
    r.pitch = r.width;
  }
  if (r.pitch == r.width) {
    r.width *= r.rows;
    r.pitch = r.width;
    r.rows = 1;
  }
  if (r.planes == 1) {
    r.plane_pitch = r.pitch * r.rows;
  }
  if (r.rows == 1 && r.plane_pitch == r.width) {
    r.width *= r.planes;
    r.planes = 1;
    r.plane_pitch = r.pitch = r.width;
  }
  return r;
}

// Whether the box has bytes of [low, high), which begins inside or before it.
bool has(const Region &r, uint64_t low, uint64_t high) {
  if (high <= r.address || low >= r.end()) {
    return false;
  }
  uint64_t from = low > r.address ? low - r.address : 0, to = high - r.address;
  for (uint64_t plane = from / r.plane_pitch; plane < r.planes && plane * r.plane_pitch < to; ++plane) {
    uint64_t base = plane * r.plane_pitch;
    uint64_t first = from > base ? from - base : 0, last = to - base;
    uint64_t row = first / r.pitch;
    if (row < r.rows && first < row * r.pitch + r.width && last > row * r.pitch) {
      return true;
    }
    if (row + 1 < r.rows && (row + 1) * r.pitch < last) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool overlap(const Region &a, const Region &b) {
  if (a.address >= b.end() || b.address >= a.end()) {
    return false;
  }
  Region few = folded(a), many = folded(b);
  if (few.rows * few.planes > many.rows * many.planes) {
    std::swap(few, many);
  }
  for (size_t plane = 0; plane < few.planes; ++plane) {
    for (size_t row = 0; row < few.rows; ++row) {
      uint64_t low = few.address + plane * few.plane_pitch + row * few.pitch;
      if (has(many, low, low + few.width)) {
        return true;
      }
    }
  }
  return false;
}

void join(Clock &into, const Clock &other) {
  for (auto [stream, serial] : other) {
    uint64_t &known = into[stream];
    known = std::max(known, serial);
  }
}

}  // namespace gpu

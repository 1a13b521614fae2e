// strides.hpp — a message's memory: rows of bytes at a constant step. Sizes, bounds checks, and
// copies between shapes. Independent of locks and ranks.
#pragma once
#include <consort/transport.h>

#include <cstring>

namespace transports {

struct Rows {
  char *at = nullptr;
  uint64_t bytes = 0;  // bytes per row
  uint32_t rows = 1;
  int64_t step = 0;

  uint64_t total() const noexcept { return bytes * rows; }  // after is_sized(), no overflow
};

inline uint32_t rows_of(const consort_msg &m) noexcept { return m.rows ? m.rows : 1; }

// False: the message is larger than allowed.
inline bool is_sized(const consort_msg &m, uint64_t most) noexcept {
  uint64_t all;
  return !__builtin_mul_overflow(m.bytes, rows_of(m), &all) && all <= most;
}

inline Rows local_of(const consort_msg &m) noexcept {
  return {reinterpret_cast<char *>(m.local.base + m.local.off), m.bytes, rows_of(m), m.local_step};
}
inline Rows remote_of(const consort_msg &m) noexcept {
  return {reinterpret_cast<char *>(m.remote.base + m.remote.off), m.bytes, rows_of(m), m.remote_step};
}

// Whether every row of a PUT or GET lies within [from, from + bytes). No overflow: the farthest row is at most 2^32
// steps of 2^63 away.
inline bool is_within(const consort_msg &m, consort_addr from, uint64_t bytes) noexcept {
  if (m.remote.base != from.base) return false;
  const __int128 first = static_cast<__int128>(m.remote.off) - static_cast<__int128>(from.off);
  const __int128 last = first + static_cast<__int128>(m.remote_step) * (rows_of(m) - 1);
  const __int128 low = first < last ? first : last,
                 high = (first < last ? last : first) + static_cast<__int128>(m.bytes);
  return low >= 0 && high <= static_cast<__int128>(bytes);
}

// Copies bytes in order until either side ends. The sides may overlap if both are one row.
inline void copy_rows(const Rows &to, const Rows &from) noexcept {
  const uint64_t n = to.total() < from.total() ? to.total() : from.total();
  uint64_t row_to = 0, row_from = 0, in_to = 0, in_from = 0;
  for (uint64_t done = 0; done < n;) {
    uint64_t run = n - done;
    if (run > to.bytes - in_to) run = to.bytes - in_to;
    if (run > from.bytes - in_from) run = from.bytes - in_from;
    std::memmove(to.at + static_cast<int64_t>(row_to) * to.step + in_to,
                 from.at + static_cast<int64_t>(row_from) * from.step + in_from, run);
    done += run;
    if ((in_to += run) == to.bytes) in_to = 0, ++row_to;
    if ((in_from += run) == from.bytes) in_from = 0, ++row_from;
  }
}

}  // namespace transports

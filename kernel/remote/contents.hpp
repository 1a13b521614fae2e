// contents.hpp — the contents of a datum at home as bytes of a message, and texts of failures.
//
// The packing functions of layouts are [any]; the caller owns the access to the datum.
#pragma once
#include <algorithm>
#include <string>

#include "base/last_error.hpp"
#include "remote/wire.hpp"
#include "task/data.hpp"

namespace consort {

inline Datum &datum_of(const Task &t) noexcept { return *Datum::of(t.pub.access[0].datum); }

// Returns the memory of a datum whose bytes lie in one run, as in any other replica of it with one run; else nullptr.
inline void *run_of(const Datum &d, const void *view) noexcept {
  const consort_interface_ops &ops = *d.layout->ops;
  consort_extent extent[2];
  if (ops.flags & (CONSORT_IF_DYNAMIC | CONSORT_IF_PACK_ONLY) || ops.extents(d.shape(), view, extent, 2) != 1 ||
      extent[0].bytes != d.pub.bytes)
    return nullptr;
  return reinterpret_cast<void *>(extent[0].addr.base + extent[0].addr.off);
}

inline uint64_t packed_bytes(const Datum &d, const void *view) noexcept {
  return d.pub.bytes ? d.layout->ops->packed_bytes(d.shape(), view) : 0;
}

inline consort_status pack(const Datum &d, const void *view, void *to, uint64_t bytes) noexcept {
  clear_error();
  const consort_status s = bytes ? d.layout->ops->pack(d.shape(), view, to, bytes) : CONSORT_OK;
  return s < 0 && !*error_text() ? set_error(s, "its layout does not pack it") : s;
}

inline consort_status unpack(const Datum &d, void *view, const void *from, uint64_t bytes) noexcept {
  clear_error();
  const consort_status s = bytes ? d.layout->ops->unpack(d.shape(), view, from, bytes) : CONSORT_OK;
  return s < 0 && !*error_text() ? set_error(s, "its layout refuses the contents that have come") : s;
}

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), std::min(text.size(), kMostPayload)));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

}  // namespace consort

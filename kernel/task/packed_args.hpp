// packed_args.hpp — values passed to a task, packed from submission to call.
//
// Each takes 16 bytes in the record, {kind, bytes, value}. The bytes of structs passed by value follow behind all of
// them, 16-aligned. Packed by the submitter, unpacked by the thread that runs the task; nothing is owned here.
#pragma once
#include <consort/driver.h>

#include <cstring>

#include "task/task.hpp"

namespace consort {

struct PackedArg {
  uint32_t kind, bytes;
  uint64_t value;  // SCALAR: as given; BYTES: offset from the first PackedArg
};

constexpr uint64_t padded(uint64_t bytes) noexcept { return (bytes + 15) & ~uint64_t{15}; }

inline bool is_scalar(const consort_arg &a) noexcept { return a.kind == CONSORT_ARG_SCALAR && a.bytes <= 8; }

// Bytes needed for all; ~0: an argument cannot be carried by a task.
inline uint64_t packed_bytes(const consort_arg *args, uint32_t n) noexcept {
  uint64_t bytes = uint64_t{n} * sizeof(PackedArg);
  for (uint32_t i = 0; i < n; ++i) {
    if (args[i].kind == CONSORT_ARG_BYTES && (args[i].scalar || !args[i].bytes)) bytes += padded(args[i].bytes);
    else if (!is_scalar(args[i])) return ~uint64_t{0};
  }
  return bytes;
}

inline void pack_scalar(const consort_arg &a, std::byte *out) noexcept {
  *reinterpret_cast<PackedArg *>(out) = {a.kind, a.bytes, a.scalar};
}

inline void pack_args(const consort_arg *args, uint32_t n, std::byte *out) noexcept {
  auto *packed = reinterpret_cast<PackedArg *>(out);
  uint64_t at = uint64_t{n} * sizeof(PackedArg);
  for (uint32_t i = 0; i < n; ++i) {
    packed[i] = {args[i].kind, args[i].bytes, args[i].scalar};
    if (args[i].kind != CONSORT_ARG_BYTES) continue;
    packed[i].value = at;
    if (args[i].bytes) std::memcpy(out + at, reinterpret_cast<const void *>(args[i].scalar), args[i].bytes);
    at += padded(args[i].bytes);
  }
}

// They are directly behind the accesses, wherever those are. Address and extent of `out` stay 0.
inline void unpack_args(const Task &t, consort_arg *out) noexcept {
  const auto *first = reinterpret_cast<const std::byte *>(t.pub.access + t.pub.naccess);
  const auto *packed = reinterpret_cast<const PackedArg *>(first);
  const uint32_t n = t.nargs;
  if (n == 1 && packed->kind != CONSORT_ARG_BYTES) {  // the argument of most tasks
    out->kind = packed->kind;
    out->bytes = packed->bytes;
    out->scalar = packed->value;
    return;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const bool by_address = packed[i].kind == CONSORT_ARG_BYTES;
    out[i].kind = packed[i].kind;
    out[i].bytes = packed[i].bytes;
    out[i].scalar = by_address ? reinterpret_cast<uint64_t>(first + packed[i].value) : packed[i].value;
  }
}

}  // namespace consort

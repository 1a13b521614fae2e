// little_endian.hpp — integers as bytes in little endian, the same on every machine: for files and messages that leave it.
//
// Shared by kernel, plugins and tools. Functions of their arguments alone; any thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace consort::shared {

// The lowest `bytes` bytes of value, at most 8.
inline void store_little(void *to, uint64_t value, size_t bytes) noexcept {
  for (size_t i = 0; i < bytes; ++i) static_cast<unsigned char *>(to)[i] = static_cast<unsigned char>(value >> (8 * i));
}

// Behind what `out`, a string or vector of bytes, has already.
template <class Bytes>
void append_little(Bytes &out, uint64_t value, size_t bytes) {
  out.resize(out.size() + bytes);
  store_little(out.data() + out.size() - bytes, value, bytes);
}

inline uint64_t load_little(const void *from, size_t bytes) noexcept {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<const unsigned char *>(from)[i]} << (8 * i);
  return value;
}

}  // namespace consort::shared

// crc32c.hpp — CRC-32C (Castagnoli) of bytes: by the processor's instruction if it has one, else by tables.
//
// Chosen over xxh3 because it adds no dependency, x86-64 (SSE4.2) and AArch64 (CRC) have an instruction for it, and it
// detects every error of up to 3 bits and every burst of up to 32 bits in a block. Used by drivers of disks for spilled
// blocks, and by the kernel for checkpoints. Stateless; any thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace consort::shared {

class Crc32c {
 public:
  // The fastest implementation for this processor.
  static Crc32c best() noexcept {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return {one_by_instruction, four_by_instruction};
#elif defined(__aarch64__) && defined(__linux__)
    constexpr unsigned long kHasCrc = 1UL << 7;  // HWCAP_CRC32
    if (getauxval(AT_HWCAP) & kHasCrc) return {one_by_instruction, four_by_instruction};
#endif
    return tables();
  }
  static Crc32c tables() noexcept { return {one_by_tables, nullptr}; }

  uint32_t of(const void *data, size_t bytes) const noexcept {
    return ~one_(~0u, static_cast<const char *>(data), bytes);
  }
  // Computes the sums of n contiguous blocks of `bytes` each; bytes is a multiple of 8.
  void of_blocks(const char *data, size_t bytes, size_t n, uint32_t *sums) const noexcept {
    size_t i = 0;
    if (four_)
      for (; i + 4 <= n; i += 4) four_(data + i * bytes, bytes, sums + i);
    for (; i < n; ++i) sums[i] = of(data + i * bytes, bytes);
  }
  bool by_instruction() const noexcept { return four_ != nullptr; }

 private:
  using One = uint32_t(uint32_t, const char *, size_t) noexcept;
  using Four = void(const char *, size_t, uint32_t *) noexcept;
  Crc32c(One *one, Four *four) noexcept : one_(one), four_(four) {}

  static uint64_t word(const char *p) noexcept {
    uint64_t w;
    std::memcpy(&w, p, sizeof w);
    return w;
  }

#if defined(__x86_64__)
#define CONSORT_CRC_TARGET __attribute__((target("sse4.2")))
#define CONSORT_CRC_WORD(crc, w) static_cast<uint32_t>(_mm_crc32_u64(crc, w))
#define CONSORT_CRC_BYTE(crc, b) _mm_crc32_u8(crc, b)
#elif defined(__aarch64__) && defined(__linux__)
#define CONSORT_CRC_TARGET __attribute__((target("+crc")))
#define CONSORT_CRC_WORD(crc, w) __crc32cd(crc, w)
#define CONSORT_CRC_BYTE(crc, b) __crc32cb(crc, b)
#endif
#ifdef CONSORT_CRC_TARGET
  CONSORT_CRC_TARGET static uint32_t one_by_instruction(uint32_t crc, const char *p, size_t n) noexcept {
    for (; n >= 8; p += 8, n -= 8) crc = CONSORT_CRC_WORD(crc, word(p));
    for (; n > 0; ++p, --n) crc = CONSORT_CRC_BYTE(crc, static_cast<uint8_t>(*p));
    return crc;
  }
  // The instruction has a latency of three cycles and a throughput of one: four chains keep it busy.
  CONSORT_CRC_TARGET static void four_by_instruction(const char *p, size_t bytes, uint32_t *sums) noexcept {
    uint32_t a = ~0u, b = ~0u, c = ~0u, d = ~0u;
    for (size_t i = 0; i < bytes; i += 8) {
      a = CONSORT_CRC_WORD(a, word(p + i));
      b = CONSORT_CRC_WORD(b, word(p + bytes + i));
      c = CONSORT_CRC_WORD(c, word(p + 2 * bytes + i));
      d = CONSORT_CRC_WORD(d, word(p + 3 * bytes + i));
    }
    sums[0] = ~a, sums[1] = ~b, sums[2] = ~c, sums[3] = ~d;
  }
#undef CONSORT_CRC_TARGET
#undef CONSORT_CRC_WORD
#undef CONSORT_CRC_BYTE
#endif

  // table[k][b]: contribution of byte b to the sum when k bytes follow it.
  struct Tables {
    uint32_t at[8][256];
  };
  static constexpr Tables make_tables() noexcept {
    constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
    Tables t{};
    for (uint32_t b = 0; b < 256; ++b) {
      uint32_t crc = b;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
      t.at[0][b] = crc;
    }
    for (int k = 1; k < 8; ++k)
      for (uint32_t b = 0; b < 256; ++b) t.at[k][b] = t.at[k - 1][b] >> 8 ^ t.at[0][t.at[k - 1][b] & 255];
    return t;
  }
  static uint32_t one_by_tables(uint32_t crc, const char *p, size_t n) noexcept {
    static constexpr Tables tables = make_tables();
    const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(p[i])); };
    for (; n >= 8; p += 8, n -= 8) {
      const uint32_t low = crc ^ (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24);
      crc = tables.at[7][low & 255] ^ tables.at[6][low >> 8 & 255] ^ tables.at[5][low >> 16 & 255] ^
            tables.at[4][low >> 24] ^ tables.at[3][byte(4)] ^ tables.at[2][byte(5)] ^ tables.at[1][byte(6)] ^
            tables.at[0][byte(7)];
    }
    for (; n > 0; ++p, --n) crc = crc >> 8 ^ tables.at[0][(crc ^ byte(0)) & 255];
    return crc;
  }

  One *one_;
  Four *four_;
};

}  // namespace consort::shared

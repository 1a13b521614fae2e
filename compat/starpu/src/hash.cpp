// CRC32C with the polynomial 0x1EDC6F41, the most significant bit first, without inversion.
#include <array>
#include <cstring>

#include <starpu.h>

namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte << 24;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 0x80000000u ? crc << 1 ^ 0x1EDC6F41u : crc << 1;
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> table = make_table();

}  // namespace

uint32_t starpu_hash_crc32c_be_n(const void *input, size_t n, uint32_t inputcrc) {
  const auto *bytes = static_cast<const unsigned char *>(input);
  for (size_t i = 0; i < n; ++i) inputcrc = inputcrc << 8 ^ table[(inputcrc >> 24 ^ bytes[i]) & 255];
  return inputcrc;
}

uint32_t starpu_hash_crc32c_be(uint32_t input, uint32_t inputcrc) {
  return starpu_hash_crc32c_be_n(&input, sizeof input, inputcrc);
}

uint32_t starpu_hash_crc32c_string(const char *str, uint32_t inputcrc) {
  return starpu_hash_crc32c_be_n(str, std::strlen(str), inputcrc);
}

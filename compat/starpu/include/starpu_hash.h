/* starpu_hash.h: CRC32C, the most significant bit first. */
#ifndef CONSORT_STARPU_HASH_H
#define CONSORT_STARPU_HASH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
uint32_t starpu_hash_crc32c_be_n(const void *input, size_t n, uint32_t inputcrc);
uint32_t starpu_hash_crc32c_be(uint32_t input, uint32_t inputcrc);
uint32_t starpu_hash_crc32c_string(const char *str, uint32_t inputcrc);
#ifdef __cplusplus
}
#endif
#endif

/* A number of 8 bytes. */
#include <consort/interface.h>
#include <string.h>

typedef struct view {
  consort_addr at;
} view;
static consort_status shape(const void *user, uint64_t n, void *s, void *home) {
  (void)n;
  *(uint64_t *)s = 8;
  ((view *)home)->at = (consort_addr){(uint64_t)(uintptr_t)user, 0};
  return CONSORT_OK;
}
static uint64_t footprint(const void *s) { return *(const uint64_t *)s; }
static uint32_t blocks(const void *s, const consort_space_desc *d, consort_block *out, uint32_t max) {
  (void)d;
  if (max) out[0] = (consort_block){*(const uint64_t *)s, 8};
  return 1;
}
static consort_status view_(const void *s, const consort_space_desc *d, const consort_addr *at, uint32_t n, void *v) {
  (void)s, (void)d, (void)n;
  ((view *)v)->at = at[0];
  return CONSORT_OK;
}
static uint32_t extents(const void *s, const void *v, consort_extent *out, uint32_t max) {
  if (max) out[0] = (consort_extent){((const view *)v)->at, *(const uint64_t *)s};
  return 1;
}
static uint32_t args(const void *s, const void *v, consort_arg *out, uint32_t max) {
  if (max) out[0] = (consort_arg){CONSORT_ARG_ADDR, 8, ((const view *)v)->at, *(const uint64_t *)s, 0};
  return 1;
}
static uint32_t runs(const void *s, const void *a, const void *b, consort_run *out, uint32_t max) {
  if (max)
    out[0] = (consort_run){((const view *)a)->at, ((const view *)b)->at, *(const uint64_t *)s, {1, 1}, {0, 0}, {0, 0}};
  return 1;
}
static uint64_t packed(const void *s, const void *v) { return (void)v, footprint(s); }
static uint32_t encode(const void *s, void *wire, uint32_t cap) {
  if (cap >= 8) memcpy(wire, s, 8);
  return 8;
}
static consort_status decode(const void *wire, uint32_t n, void *s) {
  return n == 8 ? (memcpy(s, wire, 8), CONSORT_OK) : CONSORT_E_INVAL;
}

static const consort_interface_ops ops = {.size = sizeof ops,
                                          .shape_size = 8,
                                          .view_size = sizeof(view),
                                          .shape = shape,
                                          .footprint = footprint,
                                          .bytes = footprint,
                                          .blocks = blocks,
                                          .view = view_,
                                          .extents = extents,
                                          .args = args,
                                          .runs = runs,
                                          .packed_bytes = packed,
                                          .encode = encode,
                                          .decode = decode};
#include "end.h"
MAKE(INTERFACE)

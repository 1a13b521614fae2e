/* The "complex" interface: n complex numbers in two arrays of doubles. It says where the bytes are and how many, and the
 * runtime does the rest: allocates, copies, sends, orders tasks.
 *
 * Stateless; every function is [pure] but pack and unpack, and may be called from any thread. */
#include "complex.h"

#include <consort/samples.h>
#include <stdio.h>
#include <string.h>

typedef struct complex_shape { uint64_t n; } complex_shape; /* the same on every replica; where it lies is the view's affair */

enum { WIRE_BYTES = 12 };
static const char wire_tag[4] = {'C', 'P', 'X', '1'};

/* 2 n doubles stay below 2^63 bytes. */
static int good(uint64_t n) { return n <= INT64_MAX / (2 * sizeof(double)); }
static uint64_t half(const void *shape) { return ((const complex_shape *)shape)->n * sizeof(double); }

static consort_status make_shape(const void *user, uint64_t bytes, void *shape, void *home) {
  const complex_args *a = user;
  if (!a || bytes != sizeof *a || !good(a->n) || !a->re != !a->im) return CONSORT_E_INVAL;
  const uint64_t re = (uint64_t)(uintptr_t)a->re, im = (uint64_t)(uintptr_t)a->im, part = a->n * sizeof(double);
  if (re + part < re || im + part < im) return CONSORT_E_INVAL;
  if (re && re < im + part && im < re + part) return CONSORT_E_INVAL; /* one into the other */
  *(complex_shape *)shape = (complex_shape){a->n};
  *(complex_view *)home = (complex_view){{re, 0}, {im, 0}, a->n};
  return CONSORT_OK;
}

static uint64_t footprint(const void *shape) {
  const uint64_t h = (((const complex_shape *)shape)->n + UINT64_C(0x9b05688c2b3e6c1f)) * UINT64_C(0xd6e8feb86659fd93);
  return h ^ h >> 32;
}
static uint64_t bytes(const void *shape) { return 2 * half(shape); }

/* Two allocations for each replica. */
static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  (void)space;
  if (!half(shape)) return 0;
  for (uint32_t i = 0; i < 2 && i < max; i++) out[i] = (consort_block){half(shape), 64};
  return 2;
}
static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n,
                                void *view) {
  static const consort_addr nowhere = {0, 0};
  (void)space;
  if (n != (half(shape) ? 2 : 0)) return CONSORT_E_INVAL;
  *(complex_view *)view = (complex_view){n ? at[0] : nowhere, n ? at[1] : nowhere, ((const complex_shape *)shape)->n};
  return CONSORT_OK;
}
static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  const complex_view *v = view;
  if (!half(shape)) return 0;
  if (max > 0) out[0] = (consort_extent){v->re, half(shape)};
  if (max > 1) out[1] = (consort_extent){v->im, half(shape)};
  return 2;
}

/* Order: address of the real parts, of the imaginary parts, n (64 bits). */
static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  const complex_view *v = view;
  if (max > 0) out[0] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->re, .extent = half(shape)};
  if (max > 1) out[1] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->im, .extent = half(shape)};
  if (max > 2) out[2] = (consort_arg){.kind = CONSORT_ARG_SCALAR, .bytes = 8, .scalar = v->n};
  return 3;
}

/* This is all that a copy method is, between spaces of any two kinds: which bytes go where. */
static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  const complex_view *s = src, *d = dst;
  if (!half(shape)) return 0;
  if (max > 0) out[0] = (consort_run){.src = s->re, .dst = d->re, .run = half(shape), .n = {1, 1}};
  if (max > 1) out[1] = (consort_run){.src = s->im, .dst = d->im, .run = half(shape), .n = {1, 1}};
  return 2;
}

static void *host(consort_addr a) { return (void *)(uintptr_t)(a.base + a.off); }
static uint64_t packed_bytes(const void *shape, const void *view) { (void)view; return bytes(shape); }
static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  const complex_view *v = view;
  const uint64_t part = half(shape);
  if (cap < 2 * part) return CONSORT_E_TRUNCATED;
  if (!part) return CONSORT_OK;
  memcpy(buf, host(v->re), part);
  memcpy((char *)buf + part, host(v->im), part);
  return CONSORT_OK;
}
static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  const complex_view *v = view;
  const uint64_t part = half(shape);
  if (n != 2 * part) return n < 2 * part ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
  if (!part) return CONSORT_OK;
  memcpy(host(v->re), buf, part);
  memcpy(host(v->im), (const char *)buf + part, part);
  return CONSORT_OK;
}

/* Wire: tag, then n as 64 bits, least significant byte first. */
static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  unsigned char *w = wire;
  if (cap >= WIRE_BYTES) {
    memcpy(w, wire_tag, 4);
    for (int i = 0; i < 8; i++) w[4 + i] = (unsigned char)(((const complex_shape *)shape)->n >> 8 * i);
  }
  return WIRE_BYTES;
}
static consort_status decode(const void *wire, uint32_t n, void *shape) {
  const unsigned char *w = wire;
  uint64_t v = 0;
  if (n < WIRE_BYTES) return CONSORT_E_TRUNCATED;
  if (n != WIRE_BYTES || memcmp(w, wire_tag, 4) != 0) return CONSORT_E_INVAL;
  for (int i = 7; i >= 0; i--) v = v << 8 | w[4 + i];
  if (!good(v)) return CONSORT_E_INVAL;
  *(complex_shape *)shape = (complex_shape){v};
  return CONSORT_OK;
}
static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  return (uint32_t)snprintf(utf8, cap, "%llu complex numbers", (unsigned long long)((const complex_shape *)shape)->n);
}

static const consort_interface_ops ops = {
  .size = sizeof ops, .shape_size = sizeof(complex_shape), .view_size = sizeof(complex_view),
  .shape = make_shape, .footprint = footprint, .bytes = bytes, .blocks = blocks, .view = make_view,
  .extents = extents, .args = args, .runs = runs, .packed_bytes = packed_bytes, .pack = pack, .unpack = unpack,
  .encode = encode, .decode = decode, .describe = describe,
};

/* Some data of this kind, by which `consort conform` judges: it cannot know complex_args. */
static uint64_t sample(void *self, uint32_t i, void *memory, uint64_t room, void *to, uint64_t max) {
  static const uint64_t n[] = {1, 7, 64, 0, 500};
  (void)self;
  if (i >= sizeof n / sizeof *n || max < sizeof(complex_args) || (memory && room < 2 * sizeof(double) * 512)) return 0;
  double *re = memory;
  *(complex_args *)to = (complex_args){re, re ? re + 512 : NULL, n[i]};
  return sizeof(complex_args);
}
static const consort_samples samples = {.size = sizeof samples, .args = sample};
static const void *get(void *self, const char *id) {
  (void)self;
  return strcmp(id, CONSORT_SAMPLES_ID) == 0 ? &samples : NULL;
}

static const consort_plugin plugin = {
  .size = sizeof plugin, .kind = CONSORT_KIND_INTERFACE,
  .abi_major = CONSORT_INTERFACE_MAJOR, .abi_minor = CONSORT_INTERFACE_MINOR,
  .flags = CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, .name = "complex", .version = "1.0.0",
  .summary = "complex numbers, real and imaginary parts apart", .license = "Apache-2.0", .ops = &ops, .get = get,
};
CONSORT_MODULE(complex, INTERFACE, CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, "complex", "1.0.0", plugin);

/* The "vector" interface: n elements of one size, one behind the other.
 *
 * Stateless; every function is [pure] but pack and unpack, and may be called from any thread. It never touches
 * the contents but in those two. args: consort_vector_args, view: consort_vector_view. A vector of no elements is
 * one that a partition may leave over: it has no block, no extent and no run. */
#include <consort/interface.h>
#include <consort/layouts.h>
#include <stdio.h>
#include <string.h>

typedef struct vector_shape { uint64_t n, elem; } vector_shape;

enum { BLOCK_ALIGN = 64, WIRE_BYTES = 20 };
static const char wire_tag[4] = {'V', 'E', 'C', '1'};

/* Sizes stay below 2^63, so that a difference of two addresses is always an int64_t. */
static int good(uint64_t n, uint64_t elem) {
  uint64_t b;
  return elem > 0 && !__builtin_mul_overflow(n, elem, &b) && b <= INT64_MAX;
}

static consort_status make_shape(const void *user, uint64_t n, void *shape, void *home_view) {
  const consort_vector_args *a = user;
  if (!a || n != sizeof *a || !good(a->n, a->elem)) return CONSORT_E_INVAL;
  const uint64_t at = (uint64_t)(uintptr_t)a->ptr;
  if (at && at + a->n * a->elem < at) return CONSORT_E_INVAL;
  *(vector_shape *)shape = (vector_shape){a->n, a->elem};
  *(consort_vector_view *)home_view = (consort_vector_view){{at, 0}, a->n, a->elem};
  return CONSORT_OK;
}

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0xd6e8feb86659fd93);
  return h ^ (h >> 32);
}

static uint64_t footprint(const void *shape) {
  const vector_shape *s = shape;
  return mix(mix(mix(UINT64_C(0x1f83d9abfb41bd6b), s->n), s->elem), 2); /* a start of its own per layout */
}

static uint64_t bytes(const void *shape) {
  const vector_shape *s = shape;
  return s->n * s->elem;
}

static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  (void)space;
  if (!bytes(shape)) return 0;
  if (max) out[0] = (consort_block){bytes(shape), BLOCK_ALIGN};
  return 1;
}

static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n,
                                void *view) {
  const vector_shape *s = shape;
  (void)space;
  if (n != (s->n ? 1 : 0)) return CONSORT_E_INVAL;
  *(consort_vector_view *)view = (consort_vector_view){n ? at[0] : (consort_addr){0, 0}, s->n, s->elem};
  return CONSORT_OK;
}

/* A home view without memory has address {0, 0}: that is how one knows it. */
static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  const consort_vector_view *v = view;
  if (!bytes(shape)) return 0;
  if (max) out[0] = (consort_extent){v->addr, bytes(shape)};
  return 1;
}

/* Order: ADDR, n (64 bits). */
static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  const consort_vector_view *v = view;
  if (max > 0) out[0] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->addr, .extent = bytes(shape)};
  if (max > 1) out[1] = (consort_arg){.kind = CONSORT_ARG_SCALAR, .bytes = 8, .scalar = v->n};
  return 2;
}

static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  const consort_vector_view *s = src, *d = dst;
  if (!bytes(shape)) return 0;
  if (max) out[0] = (consort_run){.src = s->addr, .dst = d->addr, .run = bytes(shape), .n = {1, 1}};
  return 1;
}

static uint64_t packed_bytes(const void *shape, const void *view) { (void)view; return bytes(shape); }

static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  const consort_vector_view *v = view;
  const uint64_t b = bytes(shape);
  if (cap < b) return CONSORT_E_TRUNCATED;
  if (b) memcpy(buf, consort_ptr(v->addr), b);
  return CONSORT_OK;
}

static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  const consort_vector_view *v = view;
  const uint64_t b = bytes(shape);
  if (n != b) return n < b ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
  if (b) memcpy(consort_ptr(v->addr), buf, b);
  return CONSORT_OK;
}

/* Wire: tag, then n and elem as 64 bits each, least significant byte first. */
static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  const vector_shape *s = shape;
  unsigned char *w = wire;
  if (cap >= WIRE_BYTES) {
    memcpy(w, wire_tag, 4);
    for (int i = 0; i < 8; i++) {
      w[4 + i] = (unsigned char)(s->n >> 8 * i);
      w[12 + i] = (unsigned char)(s->elem >> 8 * i);
    }
  }
  return WIRE_BYTES;
}

static consort_status decode(const void *wire, uint32_t n, void *shape) {
  const unsigned char *w = wire;
  if (n < WIRE_BYTES) return CONSORT_E_TRUNCATED;
  if (n != WIRE_BYTES || memcmp(w, wire_tag, 4) != 0) return CONSORT_E_INVAL;
  uint64_t v[2] = {0, 0};
  for (int f = 0; f < 2; f++)
    for (int i = 7; i >= 0; i--) v[f] = v[f] << 8 | w[4 + 8 * f + i];
  if (!good(v[0], v[1])) return CONSORT_E_INVAL;
  *(vector_shape *)shape = (vector_shape){v[0], v[1]};
  return CONSORT_OK;
}

static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  const vector_shape *s = shape;
  return (uint32_t)snprintf(utf8, cap, "vector of %llu x %llu B", (unsigned long long)s->n,
                            (unsigned long long)s->elem);
}

/* -- partition "blocks": consort_split; child i begins behind those before it, the first n % parts have one more -- */

static uint64_t part_begin(uint64_t n, uint32_t parts, uint32_t i) {
  const uint64_t more = n % parts;
  return n / parts * i + (i < more ? i : more);
}

static uint32_t blocks_count(const void *shape, const void *params) {
  (void)shape;
  return params ? ((const consort_split *)params)->parts : 0;
}

static consort_status blocks_shape(const void *shape, const void *params, uint32_t i, void *child) {
  const vector_shape *s = shape;
  const uint32_t parts = blocks_count(shape, params);
  if (i >= parts) return CONSORT_E_INVAL;
  *(vector_shape *)child = (vector_shape){part_begin(s->n, parts, i + 1) - part_begin(s->n, parts, i), s->elem};
  return CONSORT_OK;
}

static consort_status blocks_alias(const void *shape, const void *view, const void *params, uint32_t i, void *child) {
  const consort_vector_view *v = view;
  vector_shape c;
  const consort_status status = blocks_shape(shape, params, i, &c);
  if (status != CONSORT_OK) return status;
  consort_addr at = v->addr;
  at.off += part_begin(v->n, blocks_count(shape, params), i) * v->elem;
  *(consort_vector_view *)child = (consort_vector_view){at, c.n, c.elem};
  return CONSORT_OK;
}

static const consort_filter filters[] = {
  {"blocks", NULL, sizeof(consort_split), CONSORT_FI_COVER, blocks_count, blocks_shape, blocks_alias},
};

static const consort_interface_ops ops = {
  .size = sizeof ops, .shape_size = sizeof(vector_shape), .view_size = sizeof(consort_vector_view),
  .filters = filters, .nfilters = 1,
  .shape = make_shape, .footprint = footprint, .bytes = bytes, .blocks = blocks, .view = make_view,
  .extents = extents, .args = args, .runs = runs, .packed_bytes = packed_bytes, .pack = pack, .unpack = unpack,
  .encode = encode, .decode = decode, .describe = describe,
};

static const consort_plugin plugin = {
  .size = sizeof plugin, .kind = CONSORT_KIND_INTERFACE,
  .abi_major = CONSORT_INTERFACE_MAJOR, .abi_minor = CONSORT_INTERFACE_MINOR,
  .flags = CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, .name = "vector", .version = "0.1.0",
  .summary = "n elements of one size, contiguous", .license = "Apache-2.0", .ops = &ops,
};

CONSORT_MODULE(vector, INTERFACE, CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, "vector", "0.1.0", plugin);

/* The "variable" interface: one object of a fixed number of bytes.
 *
 * Stateless; every function is [pure] but pack and unpack, and may be called from any thread. It never touches
 * the contents but in those two. args: consort_variable_args, view: consort_variable_view. */
#include <consort/interface.h>
#include <consort/layouts.h>
#include <stdio.h>
#include <string.h>

typedef struct variable_shape { uint64_t bytes; } variable_shape;

enum { BLOCK_ALIGN = 64, WIRE_BYTES = 12 };
static const char wire_tag[4] = {'V', 'A', 'R', '1'};

/* Sizes stay below 2^63, so that a difference of two addresses is always an int64_t. */
static int good(uint64_t bytes) { return bytes > 0 && bytes <= INT64_MAX; }

static consort_status make_shape(const void *user, uint64_t n, void *shape, void *home_view) {
  const consort_variable_args *a = user;
  if (!a || n != sizeof *a || !good(a->bytes)) return CONSORT_E_INVAL;
  const uint64_t at = (uint64_t)(uintptr_t)a->ptr;
  if (at && at + a->bytes < at) return CONSORT_E_INVAL;
  *(variable_shape *)shape = (variable_shape){a->bytes};
  *(consort_variable_view *)home_view = (consort_variable_view){{at, 0}, a->bytes};
  return CONSORT_OK;
}

static uint64_t footprint(const void *shape) {
  uint64_t h =
      ((const variable_shape *)shape)->bytes + UINT64_C(0x8f1bbcdcbfa53e0b); /* a start of its own per layout */
  h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  return h ^ (h >> 32);
}

static uint64_t bytes(const void *shape) { return ((const variable_shape *)shape)->bytes; }

static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  (void)space;
  if (max) out[0] = (consort_block){bytes(shape), BLOCK_ALIGN};
  return 1;
}

static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n,
                                void *view) {
  (void)space;
  if (n != 1) return CONSORT_E_INVAL;
  *(consort_variable_view *)view = (consort_variable_view){at[0], bytes(shape)};
  return CONSORT_OK;
}

/* A home view without memory has address {0, 0}: that is how one knows it. */
static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  const consort_variable_view *v = view;
  if (max) out[0] = (consort_extent){v->addr, bytes(shape)};
  return 1;
}

/* Order: ADDR. */
static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  const consort_variable_view *v = view;
  if (max) out[0] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->addr, .extent = bytes(shape)};
  return 1;
}

static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  const consort_variable_view *s = src, *d = dst;
  if (max) out[0] = (consort_run){.src = s->addr, .dst = d->addr, .run = bytes(shape), .n = {1, 1}};
  return 1;
}

static uint64_t packed_bytes(const void *shape, const void *view) { (void)view; return bytes(shape); }

static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  const consort_variable_view *v = view;
  if (cap < bytes(shape)) return CONSORT_E_TRUNCATED;
  memcpy(buf, consort_ptr(v->addr), bytes(shape));
  return CONSORT_OK;
}

static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  const consort_variable_view *v = view;
  if (n != bytes(shape)) return n < bytes(shape) ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
  memcpy(consort_ptr(v->addr), buf, n);
  return CONSORT_OK;
}

/* Wire: tag, then bytes as 64 bits, least significant byte first. */
static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  unsigned char *w = wire;
  if (cap >= WIRE_BYTES) {
    memcpy(w, wire_tag, 4);
    for (int i = 0; i < 8; i++) w[4 + i] = (unsigned char)(bytes(shape) >> 8 * i);
  }
  return WIRE_BYTES;
}

static consort_status decode(const void *wire, uint32_t n, void *shape) {
  const unsigned char *w = wire;
  if (n < WIRE_BYTES) return CONSORT_E_TRUNCATED;
  if (n != WIRE_BYTES || memcmp(w, wire_tag, 4) != 0) return CONSORT_E_INVAL;
  uint64_t v = 0;
  for (int i = 7; i >= 0; i--) v = v << 8 | w[4 + i];
  if (!good(v)) return CONSORT_E_INVAL;
  *(variable_shape *)shape = (variable_shape){v};
  return CONSORT_OK;
}

static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  return (uint32_t)snprintf(utf8, cap, "variable of %llu B", (unsigned long long)bytes(shape));
}

static const consort_interface_ops ops = {
  .size = sizeof ops, .shape_size = sizeof(variable_shape), .view_size = sizeof(consort_variable_view),
  .shape = make_shape, .footprint = footprint, .bytes = bytes, .blocks = blocks, .view = make_view,
  .extents = extents, .args = args, .runs = runs, .packed_bytes = packed_bytes, .pack = pack, .unpack = unpack,
  .encode = encode, .decode = decode, .describe = describe,
};

static const consort_plugin plugin = {
  .size = sizeof plugin, .kind = CONSORT_KIND_INTERFACE,
  .abi_major = CONSORT_INTERFACE_MAJOR, .abi_minor = CONSORT_INTERFACE_MINOR,
  .flags = CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, .name = "variable", .version = "0.1.0",
  .summary = "one object of a fixed number of bytes", .license = "Apache-2.0", .ops = &ops,
};

CONSORT_MODULE(variable, INTERFACE, CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, "variable", "0.1.0", plugin);

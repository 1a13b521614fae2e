/* The "block_list" interface: up to 12 blocks of doubles of differing sizes, one datum. Each block is contiguous; blocks
 * may lie anywhere. Filter "each": the blocks one by one, as vectors.
 *
 * Stateless; every function is [pure] but pack and unpack, and may be called from any thread. */
#include "block_list.h"

#include <consort/layouts.h>
#include <consort/samples.h>
#include <stdio.h>
#include <string.h>

typedef struct list_shape { uint32_t count, n[BLOCK_LIST_MAX]; } list_shape;

enum { WIRE_BYTES = 4 + 4 * (1 + BLOCK_LIST_MAX) };
static const char wire_tag[4] = {'B', 'L', 'S', '1'};

static uint64_t size_of(const list_shape *s, uint32_t i) { return s->n[i] * (uint64_t)sizeof(double); }

/* Every block has elements; what lies behind the last is 0, so that equal lists have equal shapes. */
static int good(const list_shape *s) {
  if (s->count < 1 || s->count > BLOCK_LIST_MAX) return 0;
  for (uint32_t i = 0; i < BLOCK_LIST_MAX; i++)
    if ((s->n[i] != 0) != (i < s->count)) return 0;
  return 1;
}

static consort_status make_shape(const void *user, uint64_t bytes, void *shape, void *home) {
  const block_list_args *a = user;
  if (!a || bytes != sizeof *a || a->count > BLOCK_LIST_MAX) return CONSORT_E_INVAL;
  list_shape s = {a->count, {0}};
  block_list_view v = {a->count, {0}, {{0, 0}}};
  for (uint32_t i = 0; i < a->count; i++) {
    const uint64_t at = (uint64_t)(uintptr_t)a->ptr[i];
    s.n[i] = v.n[i] = a->n[i];
    v.at[i] = (consort_addr){at, 0};
    if (!a->ptr[i] != !a->ptr[0] || at + size_of(&s, i) < at) return CONSORT_E_INVAL;
    for (uint32_t k = 0; at && k < i; k++)
      if (at < v.at[k].base + size_of(&s, k) && v.at[k].base < at + size_of(&s, i)) return CONSORT_E_INVAL;
  }
  if (!good(&s)) return CONSORT_E_INVAL;
  *(list_shape *)shape = s;
  *(block_list_view *)home = v;
  return CONSORT_OK;
}

static uint64_t footprint(const void *shape) {
  const list_shape *s = shape;
  uint64_t h = UINT64_C(0x1f83d9abfb41bd6b);
  for (uint32_t i = 0; i < s->count; i++) {
    h = (h ^ s->n[i]) * UINT64_C(0xd6e8feb86659fd93);
    h ^= h >> 32;
  }
  return h;
}
static uint64_t bytes(const void *shape) {
  const list_shape *s = shape;
  uint64_t all = 0;
  for (uint32_t i = 0; i < s->count; i++) all += size_of(s, i);
  return all;
}

static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  const list_shape *s = shape;
  (void)space;
  for (uint32_t i = 0; i < s->count && i < max; i++) out[i] = (consort_block){size_of(s, i), 64};
  return s->count;
}
static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n,
                                void *view) {
  const list_shape *s = shape;
  block_list_view v = {s->count, {0}, {{0, 0}}};
  (void)space;
  if (n != s->count) return CONSORT_E_INVAL;
  for (uint32_t i = 0; i < n; i++) v.n[i] = s->n[i], v.at[i] = at[i];
  *(block_list_view *)view = v;
  return CONSORT_OK;
}
static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  const list_shape *s = shape;
  const block_list_view *v = view;
  for (uint32_t i = 0; i < s->count && i < max; i++) out[i] = (consort_extent){v->at[i], size_of(s, i)};
  return s->count;
}

/* Order: for each block its address and its number of doubles (64 bits). */
static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  const list_shape *s = shape;
  const block_list_view *v = view;
  for (uint32_t i = 0; i < s->count; i++) {
    if (2 * i < max) out[2 * i] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->at[i], .extent = size_of(s, i)};
    if (2 * i + 1 < max) out[2 * i + 1] = (consort_arg){.kind = CONSORT_ARG_SCALAR, .bytes = 8, .scalar = s->n[i]};
  }
  return 2 * s->count;
}
static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  const list_shape *h = shape;
  const block_list_view *s = src, *d = dst;
  for (uint32_t i = 0; i < h->count && i < max; i++)
    out[i] = (consort_run){.src = s->at[i], .dst = d->at[i], .run = size_of(h, i), .n = {1, 1}};
  return h->count;
}

static uint64_t packed_bytes(const void *shape, const void *view) { (void)view; return bytes(shape); }
static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  const list_shape *s = shape;
  const block_list_view *v = view;
  char *to = buf;
  if (cap < bytes(shape)) return CONSORT_E_TRUNCATED;
  for (uint32_t i = 0; i < s->count; to += size_of(s, i++)) memcpy(to, consort_ptr(v->at[i]), size_of(s, i));
  return CONSORT_OK;
}
static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  const list_shape *s = shape;
  const block_list_view *v = view;
  const char *from = buf;
  if (n != bytes(shape)) return n < bytes(shape) ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
  for (uint32_t i = 0; i < s->count; from += size_of(s, i++)) memcpy(consort_ptr(v->at[i]), from, size_of(s, i));
  return CONSORT_OK;
}

/* Wire: tag, count, 12 sizes, as 32 bits each, least significant byte first. */
static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  const list_shape *s = shape;
  unsigned char *w = wire;
  if (cap >= WIRE_BYTES) {
    memcpy(w, wire_tag, 4);
    for (int i = 0; i < 4; i++) {
      w[4 + i] = (unsigned char)(s->count >> 8 * i);
      for (int k = 0; k < BLOCK_LIST_MAX; k++) w[8 + 4 * k + i] = (unsigned char)(s->n[k] >> 8 * i);
    }
  }
  return WIRE_BYTES;
}
static consort_status decode(const void *wire, uint32_t n, void *shape) {
  const unsigned char *w = wire;
  list_shape s = {0, {0}};
  if (n < WIRE_BYTES) return CONSORT_E_TRUNCATED;
  if (n != WIRE_BYTES || memcmp(w, wire_tag, 4) != 0) return CONSORT_E_INVAL;
  for (int i = 3; i >= 0; i--) {
    s.count = s.count << 8 | w[4 + i];
    for (int k = 0; k < BLOCK_LIST_MAX; k++) s.n[k] = s.n[k] << 8 | w[8 + 4 * k + i];
  }
  if (!good(&s)) return CONSORT_E_INVAL;
  *(list_shape *)shape = s;
  return CONSORT_OK;
}
static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  return (uint32_t)snprintf(utf8, cap, "list of %u blocks, %llu B", ((const list_shape *)shape)->count,
                            (unsigned long long)bytes(shape));
}

static uint32_t each_count(const void *shape, const void *params) { (void)params; return ((const list_shape *)shape)->count; }
static consort_status each_shape(const void *shape, const void *params, uint32_t i, void *child) {
  const list_shape *s = shape;
  (void)params;
  if (i >= s->count) return CONSORT_E_INVAL;
  *(consort_vector_shape *)child = (consort_vector_shape){s->n[i], sizeof(double)};
  return CONSORT_OK;
}
static consort_status each_alias(const void *shape, const void *view, const void *params, uint32_t i, void *child) {
  const block_list_view *v = view;
  (void)params;
  if (i >= ((const list_shape *)shape)->count) return CONSORT_E_INVAL;
  *(consort_vector_view *)child = (consort_vector_view){v->at[i], v->n[i], sizeof(double)};
  return CONSORT_OK;
}
static const consort_filter filters[] = {
  {"each", "vector", 0, CONSORT_FI_COVER | CONSORT_FI_RETYPE, each_count, each_shape, each_alias},
};

static const consort_interface_ops ops = {
  .size = sizeof ops, .shape_size = sizeof(list_shape), .view_size = sizeof(block_list_view),
  .filters = filters, .nfilters = 1,
  .shape = make_shape, .footprint = footprint, .bytes = bytes, .blocks = blocks, .view = make_view,
  .extents = extents, .args = args, .runs = runs, .packed_bytes = packed_bytes, .pack = pack, .unpack = unpack,
  .encode = encode, .decode = decode, .describe = describe,
};

/* Some lists, by which `consort conform` judges: it cannot know block_list_args. */
static uint64_t sample(void *self, uint32_t i, void *memory, uint64_t room, void *to, uint64_t max) {
  block_list_args a = {1 + 3 * i, {0}, {NULL}};
  double *at = memory;
  uint64_t used = 0;
  (void)self;
  if (a.count > BLOCK_LIST_MAX || max < sizeof a) return 0;
  for (uint32_t k = 0; k < a.count; k++) {
    a.n[k] = 1 + (5 * k + i) % 9;
    a.ptr[k] = memory ? at + used : NULL;
    used += a.n[k] + k % 2; /* some with a gap behind them */
  }
  if (memory && used * sizeof(double) > room) return 0;
  *(block_list_args *)to = a;
  return sizeof a;
}
static const consort_samples samples = {.size = sizeof samples, .args = sample};
static const void *get(void *self, const char *id) {
  (void)self;
  return strcmp(id, CONSORT_SAMPLES_ID) == 0 ? &samples : NULL;
}

static const consort_plugin plugin = {
  .size = sizeof plugin, .kind = CONSORT_KIND_INTERFACE,
  .abi_major = CONSORT_INTERFACE_MAJOR, .abi_minor = CONSORT_INTERFACE_MINOR,
  .flags = CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, .name = "block_list", .version = "1.0.0",
  .summary = "blocks of differing sizes as one datum", .license = "Apache-2.0", .ops = &ops, .get = get,
};
CONSORT_MODULE(block_list, INTERFACE, CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, "block_list", "1.0.0", plugin);

/* new-name: a data interface. n elements of one size, one behind the other; the partition "blocks" cuts it in parts.
 *
 * It says where the bytes are and how many; the runtime allocates, copies, sends and orders tasks. Stateless: any
 * thread may call any function. Sizes stay below 2^63 bytes. */
#include "new-name.h"

#include <consort/samples.h>
#include <stdio.h>
#include <string.h>

typedef struct new_name_shape {
  uint64_t n, elem;
} new_name_shape;

enum { WIRE_BYTES = 20 };
static const char wire_tag[4] = {'N', 'E', 'W', '1'}; /* another one for another layout or version */

static int good(new_name_shape s) { return s.elem > 0 && s.elem <= INT64_MAX && s.n <= INT64_MAX / s.elem; }
static uint64_t bytes(const void *shape) {
  const new_name_shape *s = shape;
  return s->n * s->elem;
}
static char *address(consort_addr a) { return (char *)(uintptr_t)(a.base + a.off); }

static consort_status make_shape(const void *user, uint64_t nbytes, void *shape, void *home) {
  const new_name_args *a = user;
  if (!a || nbytes != sizeof *a) return CONSORT_E_INVAL;
  const new_name_shape s = {a->n, a->elem};
  const uint64_t ptr = (uint64_t)(uintptr_t)a->ptr;
  if (!good(s) || (ptr && ptr + s.n * s.elem < ptr)) return CONSORT_E_INVAL;
  *(new_name_shape *)shape = s;
  *(new_name_view *)home = (new_name_view){{ptr, 0}, a->n, a->elem};
  return CONSORT_OK;
}

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0xd6e8feb86659fd93);
  return h ^ h >> 32;
}
static uint64_t footprint(const void *shape) { /* the size class; another layout begins with another number */
  const new_name_shape *s = shape;
  return mix(mix(mix(UINT64_C(0x9e3779b97f4a7c15), 0x6e6577), s->n), s->elem);
}

/* One allocation for each replica; none where there is no element. */
static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  (void)space;
  if (!bytes(shape)) return 0;
  if (max) out[0] = (consort_block){bytes(shape), 64};
  return 1;
}
static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n,
                                void *view) {
  const new_name_shape *s = shape;
  (void)space;
  if (n != (bytes(shape) ? 1u : 0u)) return CONSORT_E_INVAL;
  *(new_name_view *)view = (new_name_view){n ? at[0] : (consort_addr){0, 0}, s->n, s->elem};
  return CONSORT_OK;
}
static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  if (!bytes(shape)) return 0;
  if (max) out[0] = (consort_extent){((const new_name_view *)view)->addr, bytes(shape)};
  return 1;
}
/* What a kernel on a device is given: the address, n. */
static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  const new_name_shape *s = shape;
  if (max > 0) out[0] = (consort_arg){CONSORT_ARG_ADDR, 8, ((const new_name_view *)view)->addr, bytes(shape), 0};
  if (max > 1) out[1] = (consort_arg){CONSORT_ARG_SCALAR, 8, {0, 0}, 0, s->n};
  return 2;
}
static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  if (!bytes(shape)) return 0;
  if (max)
    out[0] = (consort_run){
        ((const new_name_view *)src)->addr, ((const new_name_view *)dst)->addr, bytes(shape), {1, 1}, {0, 0}, {0, 0}};
  return 1;
}

/* Contents: these two alone read or write them. */
static uint64_t packed_bytes(const void *shape, const void *view) {
  (void)view;
  return bytes(shape);
}
static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  if (cap < bytes(shape)) return CONSORT_E_TRUNCATED;
  if (bytes(shape)) memcpy(buf, address(((const new_name_view *)view)->addr), bytes(shape));
  return CONSORT_OK;
}
static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  if (n != bytes(shape)) return n < bytes(shape) ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
  if (n) memcpy(address(((const new_name_view *)view)->addr), buf, n);
  return CONSORT_OK;
}

/* The tag, then n and elem, the least significant byte first. */
static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  const new_name_shape *s = shape;
  unsigned char *out = wire;
  if (cap < WIRE_BYTES) return WIRE_BYTES;
  memcpy(out, wire_tag, sizeof wire_tag);
  for (unsigned i = 0; i < 8; i++)
    out[4 + i] = (unsigned char)(s->n >> 8 * i), out[12 + i] = (unsigned char)(s->elem >> 8 * i);
  return WIRE_BYTES;
}
static consort_status decode(const void *wire, uint32_t n,
                             void *shape) { /* from another process: believed no further than it is checked */
  const unsigned char *in = wire;
  new_name_shape s = {0, 0};
  if (n < WIRE_BYTES) return CONSORT_E_TRUNCATED;
  if (n != WIRE_BYTES || memcmp(in, wire_tag, sizeof wire_tag) != 0) return CONSORT_E_INVAL;
  for (unsigned i = 0; i < 8; i++) s.n |= (uint64_t)in[4 + i] << 8 * i, s.elem |= (uint64_t)in[12 + i] << 8 * i;
  if (!good(s)) return CONSORT_E_INVAL;
  *(new_name_shape *)shape = s;
  return CONSORT_OK;
}
static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  const new_name_shape *s = shape;
  return (uint32_t)snprintf(utf8, cap, "new-name of %llu x %llu B", (unsigned long long)s->n,
                            (unsigned long long)s->elem);
}
static uint32_t sizes(const void *shape, uint64_t *out, uint32_t max) {
  if (max) out[0] = ((const new_name_shape *)shape)->n;
  return 1;
}

/* Part i of `parts`; they differ by one element at most, the larger first. */
static uint64_t begin(const new_name_shape *s, uint32_t parts, uint32_t i) {
  const uint64_t more = s->n % parts;
  return s->n / parts * i + (i < more ? i : more);
}
static uint32_t parts_count(const void *shape, const void *params) {
  (void)shape;
  return ((const new_name_split *)params)->parts;
}
static consort_status parts_shape(const void *shape, const void *params, uint32_t i, void *child) {
  const new_name_shape *s = shape;
  const uint32_t parts = ((const new_name_split *)params)->parts;
  if (i >= parts) return CONSORT_E_INVAL;
  *(new_name_shape *)child = (new_name_shape){begin(s, parts, i + 1) - begin(s, parts, i), s->elem};
  return CONSORT_OK;
}
static consort_status parts_alias(const void *shape, const void *view, const void *params, uint32_t i, void *child) {
  const new_name_shape *s = shape;
  const new_name_view *v = view;
  const uint32_t parts = ((const new_name_split *)params)->parts;
  if (i >= parts) return CONSORT_E_INVAL;
  const uint64_t from = begin(s, parts, i);
  *(new_name_view *)child =
      (new_name_view){{v->addr.base, v->addr.off + from * s->elem}, begin(s, parts, i + 1) - from, s->elem};
  return CONSORT_OK;
}
static const consort_filter filters[] = {
    {"blocks", NULL, sizeof(new_name_split), CONSORT_FI_COVER, parts_count, parts_shape, parts_alias}};

/* What `consort conform` judges by: data of some sizes, with a home and without, and ways to cut them. */
static uint64_t sample_args(void *self, uint32_t i, void *memory, uint64_t room, void *args, uint64_t max) {
  static const new_name_shape all[] = {{0, 8}, {1, 1}, {1, 8}, {7, 3}, {100, 4}, {513, 8}, {1000, 16}};
  (void)self;
  if (i >= sizeof all / sizeof *all || (memory && bytes(&all[i]) > room)) return 0;
  const new_name_args a = {memory, all[i].n, all[i].elem};
  if (sizeof a <= max) memcpy(args, &a, sizeof a);
  return sizeof a;
}
static uint64_t sample_params(void *self, uint32_t i, uint32_t filter, uint32_t k, void *params, uint64_t max) {
  static const new_name_split all[] = {{1}, {2}, {3}, {8}, {101}};
  (void)self, (void)i, (void)filter;
  if (k >= sizeof all / sizeof *all || sizeof *all > max) return 0;
  memcpy(params, &all[k], sizeof *all);
  return sizeof *all;
}
static const consort_samples samples = {.size = sizeof samples, .args = sample_args, .params = sample_params};
static const void *get(void *self, const char *id) {
  (void)self;
  return strcmp(id, CONSORT_SAMPLES_ID) == 0 ? &samples : NULL;
}

static const consort_interface_ops ops = {.size = sizeof ops,
                                          .shape_size = sizeof(new_name_shape),
                                          .view_size = sizeof(new_name_view),
                                          .filters = filters,
                                          .nfilters = 1,
                                          .shape = make_shape,
                                          .footprint = footprint,
                                          .bytes = bytes,
                                          .blocks = blocks,
                                          .view = make_view,
                                          .extents = extents,
                                          .args = args,
                                          .runs = runs,
                                          .packed_bytes = packed_bytes,
                                          .pack = pack,
                                          .unpack = unpack,
                                          .encode = encode,
                                          .decode = decode,
                                          .describe = describe,
                                          .sizes = sizes};

#define FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE)
static const consort_plugin plugin = {.size = sizeof plugin,
                                      .kind = CONSORT_KIND_INTERFACE,
                                      .abi_major = CONSORT_INTERFACE_MAJOR,
                                      .abi_minor = CONSORT_INTERFACE_MINOR,
                                      .flags = FLAGS,
                                      .name = "new-name",
                                      .version = "0.1.0",
                                      .summary = "n elements of one size, contiguous",
                                      .license = "Apache-2.0",
                                      .ops = &ops,
                                      .get = get};

CONSORT_MODULE(new_name, INTERFACE, FLAGS, "new-name", "0.1.0", plugin);

/* The "void" interface: a datum without contents, which only orders tasks.
 *
 * Stateless; every function is [pure] and may be called from any thread. It never returns memory: no
 * block, no extent, no run, no launch argument. Its view is consort_void_view. */
#include <consort/interface.h>
#include <consort/layouts.h>
#include <string.h>

typedef struct void_shape { uint64_t nothing; } void_shape; /* shapes must not have size 0: arrays of shapes need a stride */

static const char wire_tag[4] = {'V', 'O', 'I', '1'};

static consort_status make_shape(const void *user, uint64_t n, void *shape, void *home_view) {
  (void)user;
  if (n != 0) return CONSORT_E_INVAL;
  *(void_shape *)shape = (void_shape){0};
  *(consort_void_view *)home_view = (consort_void_view){0};
  return CONSORT_OK;
}

static uint64_t footprint(const void *shape) { (void)shape; return UINT64_C(0x9e3779b97f4a7c15); }
static uint64_t bytes(const void *shape) { (void)shape; return 0; }

static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  (void)shape; (void)space; (void)out; (void)max;
  return 0;
}

static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n,
                                void *view) {
  (void)shape; (void)space; (void)at;
  if (n != 0) return CONSORT_E_INVAL;
  *(consort_void_view *)view = (consort_void_view){0};
  return CONSORT_OK;
}

static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  (void)shape; (void)view; (void)out; (void)max;
  return 0;
}

static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  (void)shape; (void)view; (void)out; (void)max;
  return 0;
}

static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  (void)shape; (void)src; (void)dst; (void)out; (void)max;
  return 0;
}

static uint64_t packed_bytes(const void *shape, const void *view) { (void)shape; (void)view; return 0; }

static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  (void)shape; (void)view; (void)buf; (void)cap;
  return CONSORT_OK;
}

static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  (void)shape; (void)view; (void)buf;
  return n == 0 ? CONSORT_OK : CONSORT_E_INVAL;
}

static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  (void)shape;
  if (cap >= sizeof wire_tag) memcpy(wire, wire_tag, sizeof wire_tag);
  return sizeof wire_tag;
}

static consort_status decode(const void *wire, uint32_t n, void *shape) {
  if (n < sizeof wire_tag) return CONSORT_E_TRUNCATED;
  if (n != sizeof wire_tag || memcmp(wire, wire_tag, sizeof wire_tag) != 0) return CONSORT_E_INVAL;
  *(void_shape *)shape = (void_shape){0};
  return CONSORT_OK;
}

static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  static const char text[] = "void";
  (void)shape;
  if (cap) {
    const uint32_t n = cap <= sizeof text - 1 ? cap - 1 : (uint32_t)sizeof text - 1;
    memcpy(utf8, text, n);
    utf8[n] = 0;
  }
  return sizeof text - 1;
}

static const consort_interface_ops ops = {
  .size = sizeof ops, .shape_size = sizeof(void_shape), .view_size = sizeof(consort_void_view),
  .shape = make_shape, .footprint = footprint, .bytes = bytes, .blocks = blocks, .view = make_view,
  .extents = extents, .args = args, .runs = runs, .packed_bytes = packed_bytes, .pack = pack, .unpack = unpack,
  .encode = encode, .decode = decode, .describe = describe,
};

static const consort_plugin plugin = {
  .size = sizeof plugin, .kind = CONSORT_KIND_INTERFACE,
  .abi_major = CONSORT_INTERFACE_MAJOR, .abi_minor = CONSORT_INTERFACE_MINOR,
  .flags = CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, .name = "void", .version = "0.1.0",
  .summary = "no contents: orders tasks", .license = "Apache-2.0", .ops = &ops,
};

CONSORT_MODULE(void, INTERFACE, CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, "void", "0.1.0", plugin);

/* The "matrix" interface: ny lines of nx contiguous elements, `ld` elements from line to line.
 *
 * Stateless; every function is [pure] but pack and unpack, and may be called from any thread. It never touches
 * the contents but in those two, and never the gaps between lines at all. args: consort_matrix_args, view:
 * consort_matrix_view. The leading dimension belongs to the view: a replica made by the runtime is packed. A
 * matrix without elements is one that a partition may leave over: it has no block, no extent and no run. */
#include <consort/interface.h>
#include <consort/layouts.h>
#include <stdio.h>
#include <string.h>

typedef struct matrix_shape { uint64_t nx, ny, elem; } matrix_shape;

enum { BLOCK_ALIGN = 64, WIRE_BYTES = 28 };
static const char wire_tag[4] = {'M', 'A', 'T', '1'};

/* Sizes stay below 2^63, so that a difference of two addresses, and a step, is always an int64_t. */
static int good(uint64_t line, uint64_t lines, uint64_t elem) {
  uint64_t pitch, all;
  return elem > 0 && !__builtin_mul_overflow(line, elem, &pitch) && pitch <= INT64_MAX &&
         !__builtin_mul_overflow(pitch, lines, &all) && all <= INT64_MAX;
}

/* Bytes from the first element to behind the last one. */
static uint64_t reach(const matrix_shape *s, uint64_t ld) {
  return s->nx && s->ny ? ((s->ny - 1) * ld + s->nx) * s->elem : 0;
}

static consort_status make_shape(const void *user, uint64_t n, void *shape, void *home_view) {
  const consort_matrix_args *a = user;
  if (!a || n != sizeof *a) return CONSORT_E_INVAL;
  const uint64_t ld = a->ld ? a->ld : a->nx;
  if (ld < a->nx || !good(ld, a->ny, a->elem)) return CONSORT_E_INVAL;
  const matrix_shape s = {a->nx, a->ny, a->elem};
  const uint64_t at = (uint64_t)(uintptr_t)a->ptr;
  if (at && at + reach(&s, ld) < at) return CONSORT_E_INVAL;
  *(matrix_shape *)shape = s;
  *(consort_matrix_view *)home_view = (consort_matrix_view){{at, 0}, s.nx, s.ny, ld, s.elem};
  return CONSORT_OK;
}

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0xd6e8feb86659fd93);
  return h ^ (h >> 32);
}

/* The leading dimension is a matter of one replica, so it is no part of the size class. */
static uint64_t footprint(const void *shape) {
  const matrix_shape *s = shape;
  return mix(mix(mix(mix(UINT64_C(0x5be0cd19137e2179), s->nx), s->ny), s->elem), 3); /* a start of its own per layout */
}

static uint64_t bytes(const void *shape) {
  const matrix_shape *s = shape;
  return s->nx * s->ny * s->elem;
}

static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  (void)space;
  if (!bytes(shape)) return 0;
  if (max) out[0] = (consort_block){bytes(shape), BLOCK_ALIGN};
  return 1;
}

static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n,
                                void *view) {
  const matrix_shape *s = shape;
  (void)space;
  if (n != (bytes(shape) ? 1 : 0)) return CONSORT_E_INVAL;
  *(consort_matrix_view *)view = (consort_matrix_view){n ? at[0] : (consort_addr){0, 0}, s->nx, s->ny, s->nx, s->elem};
  return CONSORT_OK;
}

/* A home view without memory has address {0, 0}: that is how one knows it. */
static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  const consort_matrix_view *v = view;
  if (!bytes(shape)) return 0;
  if (max) out[0] = (consort_extent){v->addr, reach(shape, v->ld)};
  return 1;
}

/* Order: ADDR, nx, ny, ld (64 bits each, elements). */
static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  const consort_matrix_view *v = view;
  const uint64_t scalars[] = {v->nx, v->ny, v->ld};
  if (max > 0)
    out[0] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->addr, .extent = reach(shape, v->ld)};
  for (uint32_t i = 1; i < 4 && i < max; i++)
    out[i] = (consort_arg){.kind = CONSORT_ARG_SCALAR, .bytes = 8, .scalar = scalars[i - 1]};
  return 4;
}

/* One run: contiguous where both sides are packed (or there is one line), else a line per row. */
static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  const matrix_shape *h = shape;
  const consort_matrix_view *s = src, *d = dst;
  if (!bytes(shape)) return 0;
  if (!max) return 1;
  consort_run r = {.src = s->addr, .dst = d->addr, .run = h->nx * h->elem, .n = {1, 1}};
  if (h->ny > 1) {
    if (s->ld == h->nx && d->ld == h->nx) {
      r.run = bytes(shape);
    } else {
      r.n[0] = h->ny;
      r.src_step[0] = (int64_t)(s->ld * h->elem);
      r.dst_step[0] = (int64_t)(d->ld * h->elem);
    }
  }
  out[0] = r;
  return 1;
}

static uint64_t packed_bytes(const void *shape, const void *view) { (void)view; return bytes(shape); }

static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  const matrix_shape *s = shape;
  const consort_matrix_view *v = view;
  const uint64_t line = s->nx * s->elem, pitch = v->ld * s->elem;
  if (cap < bytes(shape)) return CONSORT_E_TRUNCATED;
  if (line == 0) return CONSORT_OK;
  const char *from = consort_ptr(v->addr);
  for (uint64_t y = 0; y < s->ny; y++) memcpy((char *)buf + y * line, from + y * pitch, line);
  return CONSORT_OK;
}

static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  const matrix_shape *s = shape;
  const consort_matrix_view *v = view;
  const uint64_t line = s->nx * s->elem, pitch = v->ld * s->elem;
  if (n != bytes(shape)) return n < bytes(shape) ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
  if (line == 0) return CONSORT_OK;
  char *to = consort_ptr(v->addr);
  for (uint64_t y = 0; y < s->ny; y++) memcpy(to + y * pitch, (const char *)buf + y * line, line);
  return CONSORT_OK;
}

/* Wire: tag, then nx, ny and elem as 64 bits each, least significant byte first. */
static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  const matrix_shape *s = shape;
  const uint64_t fields[] = {s->nx, s->ny, s->elem};
  unsigned char *w = wire;
  if (cap >= WIRE_BYTES) {
    memcpy(w, wire_tag, 4);
    for (int f = 0; f < 3; f++)
      for (int i = 0; i < 8; i++) w[4 + 8 * f + i] = (unsigned char)(fields[f] >> 8 * i);
  }
  return WIRE_BYTES;
}

static consort_status decode(const void *wire, uint32_t n, void *shape) {
  const unsigned char *w = wire;
  if (n < WIRE_BYTES) return CONSORT_E_TRUNCATED;
  if (n != WIRE_BYTES || memcmp(w, wire_tag, 4) != 0) return CONSORT_E_INVAL;
  uint64_t v[3] = {0, 0, 0};
  for (int f = 0; f < 3; f++)
    for (int i = 7; i >= 0; i--) v[f] = v[f] << 8 | w[4 + 8 * f + i];
  if (!good(v[0], v[1], v[2])) return CONSORT_E_INVAL;
  *(matrix_shape *)shape = (matrix_shape){v[0], v[1], v[2]};
  return CONSORT_OK;
}

static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  const matrix_shape *s = shape;
  return (uint32_t)snprintf(utf8, cap, "matrix of %llu x %llu x %llu B", (unsigned long long)s->nx,
                            (unsigned long long)s->ny, (unsigned long long)s->elem);
}

/* -- partitions: "rows" and "cols" take consort_split, "tiles" takes consort_tiles. All are a grid of px bands of
 *    columns by py bands of lines, of which child i is column i % px, line i / px -- */

static uint64_t part_begin(uint64_t n, uint32_t parts, uint32_t i) {
  const uint64_t more = n % parts;
  return n / parts * i + (i < more ? i : more);
}

static uint32_t grid_count(uint32_t px, uint32_t py) {
  uint32_t all;
  return __builtin_mul_overflow(px, py, &all) ? 0 : all;
}

static consort_status grid_shape(const matrix_shape *s, uint32_t px, uint32_t py, uint32_t i, matrix_shape *child) {
  if (i >= grid_count(px, py)) return CONSORT_E_INVAL;
  const uint32_t x = i % px, y = i / px;
  child->nx = part_begin(s->nx, px, x + 1) - part_begin(s->nx, px, x);
  child->ny = part_begin(s->ny, py, y + 1) - part_begin(s->ny, py, y);
  child->elem = s->elem;
  return CONSORT_OK;
}

static consort_status grid_alias(const matrix_shape *s, const consort_matrix_view *v, uint32_t px, uint32_t py,
                                 uint32_t i, consort_matrix_view *child) {
  matrix_shape c;
  const consort_status status = grid_shape(s, px, py, i, &c);
  if (status != CONSORT_OK) return status;
  consort_addr at = v->addr;
  at.off += (part_begin(s->ny, py, i / px) * v->ld + part_begin(s->nx, px, i % px)) * s->elem;
  *child = (consort_matrix_view){at, c.nx, c.ny, v->ld, c.elem};
  return CONSORT_OK;
}

static uint32_t parts_of(const void *params) { return params ? ((const consort_split *)params)->parts : 0; }

static uint32_t split_count(const void *shape, const void *params) { (void)shape; return parts_of(params); }
static consort_status rows_shape(const void *shape, const void *params, uint32_t i, void *child) {
  return grid_shape(shape, 1, parts_of(params), i, child);
}
static consort_status rows_alias(const void *shape, const void *view, const void *params, uint32_t i, void *child) {
  return grid_alias(shape, view, 1, parts_of(params), i, child);
}
static consort_status cols_shape(const void *shape, const void *params, uint32_t i, void *child) {
  return grid_shape(shape, parts_of(params), 1, i, child);
}
static consort_status cols_alias(const void *shape, const void *view, const void *params, uint32_t i, void *child) {
  return grid_alias(shape, view, parts_of(params), 1, i, child);
}

static consort_tiles tiles_of(const void *params) {
  return params ? *(const consort_tiles *)params : (consort_tiles){0, 0};
}
static uint32_t tiles_count(const void *shape, const void *params) {
  (void)shape;
  return grid_count(tiles_of(params).x, tiles_of(params).y);
}
static consort_status tiles_shape(const void *shape, const void *params, uint32_t i, void *child) {
  return grid_shape(shape, tiles_of(params).x, tiles_of(params).y, i, child);
}
static consort_status tiles_alias(const void *shape, const void *view, const void *params, uint32_t i, void *child) {
  return grid_alias(shape, view, tiles_of(params).x, tiles_of(params).y, i, child);
}

static const consort_filter filters[] = {
  {"rows", NULL, sizeof(consort_split), CONSORT_FI_COVER, split_count, rows_shape, rows_alias},
  {"cols", NULL, sizeof(consort_split), CONSORT_FI_COVER, split_count, cols_shape, cols_alias},
  {"tiles", NULL, sizeof(consort_tiles), CONSORT_FI_COVER, tiles_count, tiles_shape, tiles_alias},
};

static const consort_interface_ops ops = {
  .size = sizeof ops, .shape_size = sizeof(matrix_shape), .view_size = sizeof(consort_matrix_view),
  .filters = filters, .nfilters = 3,
  .shape = make_shape, .footprint = footprint, .bytes = bytes, .blocks = blocks, .view = make_view,
  .extents = extents, .args = args, .runs = runs, .packed_bytes = packed_bytes, .pack = pack, .unpack = unpack,
  .encode = encode, .decode = decode, .describe = describe,
};

static const consort_plugin plugin = {
  .size = sizeof plugin, .kind = CONSORT_KIND_INTERFACE,
  .abi_major = CONSORT_INTERFACE_MAJOR, .abi_minor = CONSORT_INTERFACE_MINOR,
  .flags = CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, .name = "matrix", .version = "0.1.0",
  .summary = "lines of contiguous elements, with a leading dimension", .license = "Apache-2.0", .ops = &ops,
};

CONSORT_MODULE(matrix, INTERFACE, CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, "matrix", "0.1.0", plugin);

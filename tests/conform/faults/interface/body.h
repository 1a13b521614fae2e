/* body.h — a small correct interface, lines of bytes with a pitch, and the faults that are planted in it. Each source here
 * defines one FAULT_… and is a plugin of its own. Its first line names the rule that it breaks. */
#include <consort/layouts.h>
#include <consort/samples.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table_args { void *ptr; uint64_t bytes, lines, pitch; } table_args; /* of a line; from line to line */
typedef struct table_shape { uint64_t bytes, lines; } table_shape;
typedef struct table_view { consort_addr addr; uint64_t bytes, lines, pitch; } table_view;

enum { WIRE_BYTES = 20 };
static const char wire_tag[4] = {'T', 'A', 'B', '1'};
static const consort_host *the_host;

static int good(const table_shape *s) {
#ifdef FAULT_OVERFLOW
  return s->bytes > 0 && s->bytes <= INT64_MAX && s->lines <= INT64_MAX;
#else
  uint64_t all;
  return s->bytes > 0 && !__builtin_mul_overflow(s->bytes, s->lines, &all) && all <= INT64_MAX;
#endif
}
static uint64_t bytes(const void *shape) {
  const table_shape *s = shape;
  return s->bytes * s->lines;
}

static consort_status make_shape(const void *user, uint64_t n, void *shape, void *home) {
  const table_args *a = user;
#ifdef FAULT_NULL_UNREAD
  if (n != sizeof *a) return CONSORT_E_INVAL;
#elif !defined FAULT_ARGUMENTS_UNREAD
  if (!a || n != sizeof *a) return CONSORT_E_INVAL;
#else
  (void)n;
  if (!a) return CONSORT_E_INVAL;
#endif
  const table_shape s = {a->bytes, a->lines};
  uint64_t reach;
  if (!good(&s) || a->pitch < a->bytes) return CONSORT_E_INVAL;
#ifdef FAULT_OVERFLOW
  reach = a->pitch * a->lines;
#else
  if (__builtin_mul_overflow(a->pitch, a->lines, &reach) || reach > INT64_MAX) return CONSORT_E_INVAL;
#endif
  if ((uint64_t)(uintptr_t)a->ptr + reach < reach) return CONSORT_E_INVAL;
  *(table_shape *)shape = s;
  *(table_view *)home = (table_view){{(uint64_t)(uintptr_t)a->ptr, 0}, a->bytes, a->lines, a->pitch};
#ifdef FAULT_WRITES_PAST_SIZE
  ((table_shape *)shape)[1].bytes = 0;
#endif
  return CONSORT_OK;
}

static uint64_t footprint(const void *shape) {
#ifdef FAULT_ONE_FOOTPRINT
  (void)shape;
  return 1;
#else
  const table_shape *s = shape;
#ifdef FAULT_FOOTPRINT_OF_PLACE
  return (uintptr_t)shape >> 4;
#endif
  return (s->bytes * UINT64_C(0x9e3779b97f4a7c15) ^ s->lines) * UINT64_C(0xd6e8feb86659fd93);
#endif
}

static uint32_t blocks(const void *shape, const consort_space_desc *space, consort_block *out, uint32_t max) {
  (void)space;
  if (!bytes(shape)) return 0;
#ifdef FAULT_IGNORES_MAX
  if (out) max = 1;
#endif
#ifdef FAULT_BLOCK_ALIGN
  if (max) *out = (consort_block){bytes(shape), 48};
#elif defined FAULT_EMPTY_BLOCK
  if (max) *out = (consort_block){bytes(shape), 64};
  if (max > 1) out[1] = (consort_block){0, 64};
  return 2;
#elif defined FAULT_SMALL_BLOCKS
  if (max) *out = (consort_block){bytes(shape) - ((const table_shape *)shape)->bytes + 1, 64};
#else
  if (max) *out = (consort_block){bytes(shape), 64};
#endif
  return 1;
}
static consort_status make_view(const void *shape, const consort_space_desc *space, const consort_addr *at, uint32_t n, void *view) {
  const table_shape *s = shape;
  (void)space;
#ifndef FAULT_ANY_BLOCKS
  if (n != (bytes(shape) ? 1 : 0)) return CONSORT_E_INVAL;
#endif
  *(table_view *)view = (table_view){{0, 0}, s->bytes, s->lines, s->bytes};
  if (n) ((table_view *)view)->addr = at[0];
#ifdef FAULT_VIEW_IGNORES_OFFSET
  if (n) ((table_view *)view)->addr.off = 0;
#endif
#ifdef FAULT_VIEW_BEYOND
  if (n && s->lines > 20) ((table_view *)view)->pitch++;
#endif
#ifdef FAULT_VIEW_PAST_SIZE
  ((table_view *)view)[1].bytes = 0;
#endif
  return CONSORT_OK;
}

static uint64_t reach(const table_view *v) { return v->lines ? (v->lines - 1) * v->pitch + v->bytes : 0; }
static uint32_t extents(const void *shape, const void *view, consort_extent *out, uint32_t max) {
  const table_view *v = view;
  if (!bytes(shape)) return 0;
#ifdef FAULT_EXTENT_LATE
  if (max) *out = (consort_extent){{v->addr.base, v->addr.off + (v->bytes > 1)}, reach(v) - (v->bytes > 1)};
#elif defined FAULT_SHORT_EXTENT
  if (max) *out = (consort_extent){v->addr, v->bytes * v->lines};
#else
  if (max) *out = (consort_extent){v->addr, reach(v)};
#endif
  return 1;
}
static uint32_t args(const void *shape, const void *view, consort_arg *out, uint32_t max) {
  const table_view *v = view;
  (void)shape;
#ifdef FAULT_ARGUMENT_KIND
  if (max > 0) out[0] = (consort_arg){.kind = 77, .bytes = 8, .addr = v->addr, .extent = reach(v)};
#elif defined FAULT_LONG_ARGUMENT
  if (max > 0) out[0] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->addr, .extent = 1 << 20};
#else
  if (max > 0) out[0] = (consort_arg){.kind = CONSORT_ARG_ADDR, .bytes = 8, .addr = v->addr, .extent = reach(v)};
#endif
#ifdef FAULT_WIDE_SCALAR
  if (max > 1) out[1] = (consort_arg){.kind = CONSORT_ARG_SCALAR, .bytes = 16, .scalar = v->pitch};
#else
  if (max > 1) out[1] = (consort_arg){.kind = CONSORT_ARG_SCALAR, .bytes = 8, .scalar = v->pitch};
#endif
  return 2;
}

/* One run for each line, so that there are some to leave out. */
static uint32_t runs(const void *shape, const void *src, const void *dst, consort_run *out, uint32_t max) {
  const table_shape *h = shape;
  const table_view *s = src, *d = dst;
  uint64_t n = h->lines, first = 0;
#ifdef FAULT_RUN_MISSING
  if (n > 1) --n;
#endif
#ifdef FAULT_RUN_TWICE
  if (n > 0) ++n;
#endif
  for (uint64_t i = first; i < n && i < max; i++) {
    const uint64_t line = i < h->lines ? i : 0;
    uint64_t from = line;
#ifdef FAULT_SOURCE_STEP_OF_TARGET
    out[i].src.off = s->addr.off + line * d->pitch;
    out[i].dst.off = d->addr.off + line * d->pitch;
    continue;
#endif
#ifdef FAULT_LINES_SWAPPED
    if (d->pitch != d->bytes && h->lines > 1 && line < 2) from = 1 - line;
#endif
    out[i] = (consort_run){.src = s->addr, .dst = d->addr, .run = h->bytes, .n = {1, 1}};
    out[i].src.off += from * s->pitch;
    out[i].dst.off += line * d->pitch;
#ifdef FAULT_RUN_PAST_END
    if (line + 1 == h->lines) out[i].dst.off += 64;
#endif
  }
  return (uint32_t)n;
}

static uint64_t packed_bytes(const void *shape, const void *view) { (void)view; return bytes(shape); }
static consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  const table_shape *s = shape;
  const table_view *v = view;
#ifdef FAULT_PACK_FORGETS_PITCH
  const uint64_t pitch = v->bytes;
#else
  const uint64_t pitch = v->pitch;
#endif
#ifdef FAULT_PACK_HALF  // as many bytes as fit, and then the refusal
  if (cap < bytes(shape)) memset(buf, 0, cap);
#endif
#ifdef FAULT_PACK_IGNORES_ROOM
  if (cap + 1 < bytes(shape)) return CONSORT_E_TRUNCATED;
#else
  if (cap < bytes(shape)) return CONSORT_E_TRUNCATED;
#endif
  for (uint64_t i = 0; i < s->lines; i++) memcpy((char *)buf + i * s->bytes, (char *)consort_ptr(v->addr) + i * pitch, s->bytes);
  return CONSORT_OK;
}
static consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  const table_shape *s = shape;
  const table_view *v = view;
#ifdef FAULT_UNPACK_ANY_LENGTH
  if (n < bytes(shape)) memcpy(consort_ptr(v->addr), buf, n < s->bytes ? n : s->bytes);
#endif
#ifdef FAULT_UNPACK_WRONG_STATUS
  if (n != bytes(shape)) return CONSORT_AGAIN;
#else
  if (n != bytes(shape)) return n < bytes(shape) ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
#endif
#ifdef FAULT_UNPACK_WHOLE_PITCH /* reads what it writes into the gaps, so the buffer does not tell */
  for (uint64_t i = 0; i < s->lines && v->pitch > v->bytes; i++) ((char *)consort_ptr(v->addr))[i * v->pitch + s->bytes] ^= 1;
#endif
  for (uint64_t i = 0; i < s->lines; i++) {
#ifdef FAULT_UNPACK_WRONG
    const uint64_t to = s->lines - 1 - i;
#else
    const uint64_t to = i;
#endif
    memcpy((char *)consort_ptr(v->addr) + to * v->pitch, (const char *)buf + i * s->bytes, s->bytes);
  }
  return CONSORT_OK;
}

static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  const table_shape *s = shape;
  unsigned char *w = wire;
#ifdef FAULT_ENCODE_CUT
  if (cap < WIRE_BYTES) return memset(w, 0, cap), cap;
#elif defined FAULT_ENCODE_PARTLY
  if (cap < WIRE_BYTES) return cap ? (memset(w, 0, cap + 1), WIRE_BYTES) : WIRE_BYTES;
#else
  if (cap < WIRE_BYTES) return WIRE_BYTES;
#endif
  memcpy(w, wire_tag, 4);
  for (int i = 0; i < 8; i++) {
    w[4 + i] = (unsigned char)(s->bytes >> 8 * i);
#ifdef FAULT_ENCODE_HALF
    w[12 + i] = i < 1 ? (unsigned char)(s->lines & 1) : 0;
#else
    w[12 + i] = (unsigned char)(s->lines >> 8 * i);
#endif
  }
  return WIRE_BYTES;
}
static consort_status decode(const void *wire, uint32_t n, void *shape) {
  const unsigned char *w = wire;
  table_shape s = {0, 0};
#ifndef FAULT_DECODE_ANY_LENGTH
  if (n < WIRE_BYTES) return CONSORT_E_TRUNCATED;
  if (n != WIRE_BYTES) return CONSORT_E_INVAL;
#else
  (void)n;
#endif
#ifdef FAULT_DECODE_READS_ON
  if (w[WIRE_BYTES] == 77) return CONSORT_E_INVAL;
#endif
  if (memcmp(w, wire_tag, 4) != 0) return CONSORT_E_INVAL;
  for (int i = 7; i >= 0; i--) {
    s.bytes = s.bytes << 8 | w[4 + i];
    s.lines = s.lines << 8 | w[12 + i];
  }
#ifdef FAULT_DECODE_ALLOCATES
  volatile char *room = malloc(s.bytes < 1 << 28 ? s.bytes : 1 << 28);
  if (room) *room = 1;
  free((void *)room);
#endif
#ifndef FAULT_DECODE_BELIEVES
  if (!good(&s)) return CONSORT_E_INVAL;
#endif
#ifdef FAULT_DECODE_FORGETS_FIELD
  ((table_shape *)shape)->bytes = s.bytes;
#else
  *(table_shape *)shape = s;
#endif
  return CONSORT_OK;
}
static uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  const table_shape *s = shape;
#ifdef FAULT_PURE_CALLS_HOST
  the_host->log(the_host, 0, "asked for a text");
#endif
#ifdef FAULT_DESCRIBE_UNENDED
  char text[100];
  const uint32_t all = (uint32_t)snprintf(text, sizeof text, "table of %llu lines", (unsigned long long)s->lines);
  memcpy(utf8, text, cap < all + 1 ? cap : all + 1);
  return all;
#elif defined FAULT_DESCRIBE_LATIN
  return (uint32_t)snprintf(utf8, cap, "table, %llu lines \xe0 %llu B", (unsigned long long)s->lines, (unsigned long long)s->bytes);
#endif
#ifdef FAULT_STATIC_TEXT
  static char text[100];
  snprintf(text, sizeof text, "table of %llu lines of %llu B", (unsigned long long)s->lines, (unsigned long long)s->bytes);
  return (uint32_t)snprintf(utf8, cap, "%s", text);
#endif
  return (uint32_t)snprintf(utf8, cap, "table of %llu lines of %llu B", (unsigned long long)s->lines, (unsigned long long)s->bytes);
}
static uint32_t sizes(const void *shape, uint64_t *out, uint32_t max) {
  const table_shape *s = shape;
  if (max > 0) out[0] = s->bytes;
  if (max > 1) out[1] = s->lines;
#ifdef FAULT_IMPURE
  static uint64_t asked;
  if (max > 0 && ++asked % 100 == 99) out[0]++;
#endif
#ifdef FAULT_SIZES_EMPTY
  if (max > 1) out[1] = 0;
#endif
  return 2;
}

/* Two bands of lines. Params: {parts}. */
static uint32_t band_count(const void *shape, const void *params) {
  const consort_split *p = params;
  (void)shape;
#ifdef FAULT_NO_PARTS
  return p->parts <= 64 ? p->parts + !p->parts : 0;
#endif
#ifdef FAULT_BANDS_BELIEVE
  if (p->parts > 100) return 1;
#endif
  return p->parts <= 64 ? p->parts : 0;
}
static uint64_t band(uint64_t lines, uint32_t parts, uint64_t i) { return lines / parts * i + (i < lines % parts ? i : lines % parts); }
static int cut(uint64_t lines, const consort_split *p, uint32_t i, uint64_t *begin, uint64_t *end) {
  if (p->parts == 0 || p->parts > 64) return 0;
#ifndef FAULT_ANY_CHILD
  if (i >= p->parts) return 0;
#endif
#ifdef FAULT_LAST_LEFT_OVER
  *begin = lines / p->parts * i, *end = lines / p->parts * (i + UINT64_C(1));
  return 1;
#endif
  *begin = band(lines, p->parts, i);
  *end = band(lines, p->parts, i + UINT64_C(1));
#ifdef FAULT_CHILDREN_OVERLAP
  if (*end < lines) ++*end;
#endif
#ifdef FAULT_CHILDREN_GAP
  if (i + 1 == p->parts && *end > *begin) --*end;
#endif
  return 1;
}
static consort_status band_shape(const void *shape, const void *params, uint32_t i, void *child) {
  const table_shape *s = shape;
  uint64_t begin, end;
  if (!cut(s->lines, params, i, &begin, &end)) return CONSORT_E_INVAL;
#ifdef FAULT_CHILD_SHAPE_ROUNDED
  if (end - begin > 3) --end;
#endif
  *(table_shape *)child = (table_shape){s->bytes, end - begin};
  return CONSORT_OK;
}
static consort_status band_alias(const void *shape, const void *view, const void *params, uint32_t i, void *child) {
  table_view v = *(const table_view *)view;
  uint64_t begin, end;
  (void)shape;
  if (!cut(v.lines, params, i, &begin, &end)) return CONSORT_E_INVAL;
#ifdef FAULT_ALIAS_FORGETS_PITCH
  if (v.pitch == v.bytes && v.lines > begin + 1) ++begin, ++end;
#endif
  v.addr.off += begin * v.pitch;
  v.lines = end - begin;
  *(table_view *)child = v;
  return CONSORT_OK;
}

static const consort_filter filters[] = {
#ifdef FAULT_FILTER_FLAG
  {"bands", NULL, sizeof(consort_split), CONSORT_FI_COVER | 1 << 20, band_count, band_shape, band_alias},
#elif defined FAULT_NAMES_CHILD
  {"bands", "table", sizeof(consort_split), CONSORT_FI_COVER, band_count, band_shape, band_alias},
#else
  {"bands", NULL, sizeof(consort_split), CONSORT_FI_COVER, band_count, band_shape, band_alias},
#endif
#ifdef FAULT_SAME_NAME
  {"bands", NULL, sizeof(consort_split), CONSORT_FI_COVER, band_count, band_shape, band_alias},
#endif
};
static const consort_interface_ops ops = {
#ifdef FAULT_LARGE_SHAPE
  .size = sizeof ops, .shape_size = 300, .view_size = sizeof(table_view),
#else
  .size = sizeof ops, .shape_size = sizeof(table_shape), .view_size = sizeof(table_view),
#endif
  .filters = filters, .nfilters = sizeof filters / sizeof *filters,
  .shape = make_shape, .footprint = footprint, .bytes = bytes, .blocks = blocks, .view = make_view,
  .extents = extents, .args = args, .runs = runs, .packed_bytes = packed_bytes, .pack = pack, .unpack = unpack,
  .encode = encode, .decode = decode, .describe = describe, .sizes = sizes,
};

/* What the kit is told of it: sizes of 1, odd ones, with gaps and without, and one without lines. */
static const struct { uint64_t bytes, lines, gap; } known[] = {
  {1, 1, 0}, {8, 4, 0}, {7, 5, 3}, {33, 9, 31}, {64, 16, 0}, {1, 40, 1}, {5, 0, 2}, {100, 2, 28}, {3, 7, 0},
};
static uint64_t sample_args(void *self, uint32_t i, void *memory, uint64_t room, void *to, uint64_t max) {
  (void)self, (void)room;
  if (i >= sizeof known / sizeof *known || max < sizeof(table_args)) return 0;
  *(table_args *)to = (table_args){memory, known[i].bytes, known[i].lines, known[i].bytes + known[i].gap};
  return sizeof(table_args);
}
static uint64_t sample_params(void *self, uint32_t i, uint32_t filter, uint32_t k, void *params, uint64_t max) {
  (void)self, (void)i, (void)filter;
  if (k >= 4 || max < sizeof(consort_split)) return 0;
  *(consort_split *)params = (consort_split){1 + 2 * k, 0};
  return sizeof(consort_split);
}
static const consort_samples samples = {sizeof samples, 0, sample_args, sample_params};

static consort_status init(const consort_host *host, void **self) {
  the_host = host;
  *self = NULL;
  return CONSORT_OK;
}
static consort_status quiesce(void *self, uint64_t deadline) { (void)self, (void)deadline; return CONSORT_OK; }
static void fini(void *self) { (void)self; }
static const void *get(void *self, const char *id) {
  (void)self;
  return strcmp(id, CONSORT_SAMPLES_ID) ? NULL : &samples;
}

static const consort_plugin plugin = {
  .size = sizeof plugin, .kind = CONSORT_KIND_INTERFACE, .abi_major = CONSORT_INTERFACE_MAJOR, .abi_minor = CONSORT_INTERFACE_MINOR,
  .flags = CONSORT_PF_VIRTUAL, .name = "table", .version = "1.0.0", .summary = "lines of bytes with a pitch", .license = "Apache-2.0",
  .ops = &ops, .init = init, .quiesce = quiesce, .fini = fini, .get = get,
};
CONSORT_MODULE(table, INTERFACE, CONSORT_PF_VIRTUAL, "table", "1.0.0", plugin);

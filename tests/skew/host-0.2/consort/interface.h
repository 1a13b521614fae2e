/* consort/interface.h — a data interface describes layout as data; it never moves bytes
 * between spaces and never calls a driver. All functions but pack, unpack and reshape (which
 * read contents) are [pure] over PODs, so the kernel may cache every answer: steady-state
 * tasks make no interface call at all.
 *   shape: logical datum (nx, ny, elem) — same on every replica, travels on the wire
 *   view : one replica (addresses, leading dimensions) — what a codelet receives
 * Functions that fill an array return the count needed, which may exceed max. */
#ifndef CONSORT_INTERFACE_H
#define CONSORT_INTERFACE_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_INTERFACE_MAJOR 0
#define CONSORT_INTERFACE_MINOR 2

typedef struct consort_block { uint64_t bytes, align; } consort_block; /* one allocation of a replica */
CONSORT_FROZEN(consort_block, 16);
typedef struct consort_extent { consort_addr addr; uint64_t bytes; } consort_extent; /* a range that a view reaches, pitch gaps included */
CONSORT_FROZEN(consort_extent, 24);
typedef struct consort_run {      /* a consort_copy without spaces; src/dst are absolute addresses taken from the views */
  consort_addr src, dst;
  uint64_t run, n[2];
  int64_t src_step[2], dst_step[2];
} consort_run;
CONSORT_FROZEN(consort_run, 88);

enum { /* consort_filter.flags */
  CONSORT_FI_OVERLAP = 1 << 0, /* children may share bytes (halo): only one of those may be written at a time */
  CONSORT_FI_COVER = 1 << 1,   /* children together are the whole parent: writing all of them is W on it */
  CONSORT_FI_RETYPE = 1 << 2,  /* children are of interface `child` (a matrix row is a vector) */
  CONSORT_FI_CONTENTS = 1 << 3,/* children depend on contents: a write to the parent ends the plan */
  CONSORT_FI_LIST = 1 << 4     /* behind params_size bytes of params come numbers of 64 bits, as many as their first 32 bits say */
};
/* Whoever asks has seen to it that params has params_size bytes (0: it is not read), and its list where there is one.
 * What they say is the filter's affair: count() answers 0 where they make no partition. */
typedef struct consort_filter {   /* named partition: "rows", "tiles", "overlap" … */
  const char *name, *child;       /* child: NULL without FI_RETYPE */
  uint32_t params_size, flags;
  uint32_t (*count)(const void *shape, const void *params);                                       /* [pure] */
  consort_status (*shape)(const void *shape, const void *params, uint32_t i, void *child_shape);  /* [pure] */
  consort_status (*alias)(const void *shape, const void *view, const void *params, uint32_t i, void *child_view); /* [pure] child inside parent's blocks */
} consort_filter;
CONSORT_FROZEN(consort_filter, 48);

/* Formats of one datum: the kernel submits `codelet` (R from, W to) as a task when a task wants the
 * other format, and chains entries if need be. from, to: interface names; one of them is this interface. */
typedef struct consort_conversion { const char *from, *to, *codelet; } consort_conversion;
CONSORT_FROZEN(consort_conversion, 24);

enum {
  CONSORT_IF_DYNAMIC = 1 << 0,   /* sizes depend on contents (CSR, strings): shape may change after a write, see reshape */
  CONSORT_IF_PACK_ONLY = 1 << 1  /* no flat layout: moves only through pack/unpack on a CPU space */
};
typedef struct consort_interface_ops {
  uint32_t size, flags;
  uint32_t shape_size, view_size;           /* PODs, <= 256 bytes each, memcpy-able */
  const consort_filter *filters;
  const consort_conversion *conversions;
  uint32_t nfilters, nconversions;
  consort_status (*shape)(const void *user, uint64_t n, void *shape, void *home_view);       /* [pure] parse registration arguments */
  uint64_t (*footprint)(const void *shape);                                                  /* [pure] size class: 64 bits here, in tasks and in ops */
  uint64_t (*bytes)(const void *shape);                                                      /* [pure] payload, exact */
  uint32_t (*blocks)(const void *shape, const consort_space_desc *, consort_block *out, uint32_t max); /* [pure] what to allocate there (pitch per space): what is reserved */
  consort_status (*view)(const void *shape, const consort_space_desc *, const consort_addr *blocks, uint32_t n, void *view); /* [pure] */
  uint32_t (*extents)(const void *shape, const void *view, consort_extent *out, uint32_t max); /* [pure] pinning, registration, overlap checks, home views too */
  uint32_t (*args)(const void *shape, const void *view, consort_arg *out, uint32_t max);     /* [pure] what a device kernel is given for this view, in a documented order */
  uint32_t (*runs)(const void *shape, const void *src_view, const void *dst_view, consort_run *out, uint32_t max); /* [pure] */
  consort_status (*reshape)(const void *shape, const void *cpu_view, void *new_shape);       /* [any] DYNAMIC: after a write, while nobody else holds it; the kernel re-asks all sizes */
  uint64_t (*packed_bytes)(const void *shape, const void *cpu_view);                         /* [any] */
  consort_status (*pack)(const void *shape, const void *cpu_view, void *buf, uint64_t cap);  /* [any] */
  consort_status (*unpack)(const void *shape, void *cpu_view, const void *buf, uint64_t n);  /* [any] */
  uint32_t (*encode)(const void *shape, void *wire, uint32_t cap);                           /* [pure] endian-stable, for transports */
  consort_status (*decode)(const void *wire, uint32_t n, void *shape);                       /* [pure] */
  uint32_t (*describe)(const void *shape, char *utf8, uint32_t cap);                         /* [pure] traces and errors */
} consort_interface_ops;
#ifdef __cplusplus
}
#endif
#endif

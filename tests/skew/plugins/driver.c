/* A device with a space and a unit, whose queue has nothing to do. PAST: it writes all fields that it knows, beyond
 * `size`. */
#include <consort/driver.h>

static int device, queue;
static uint32_t count(void *self) { return (void)self, 1; }
static consort_status open_(void *self, uint32_t i, uint64_t token, void **dev) {
  return (void)self, (void)i, (void)token, *dev = &device, CONSORT_OK;
}
static void close_(void *dev) { (void)dev; }
static consort_status space(void *dev, uint32_t i, consort_space_desc *out) {
  (void)dev;
  if (i > 0) return CONSORT_E_INVAL;
  out->flags = CONSORT_SP_OPAQUE;
  out->name = out->domain = "skew";
  out->capacity = 1 << 20;
  out->granule = out->align = 64;
  return CONSORT_OK;
}
static consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) {
  (void)dev;
  if (i > 0) return CONSORT_E_INVAL;
  out->flags = 0;
  out->depth = 1;
  out->klass = out->arch = "skew";
#ifdef LATER
#ifdef PAST
  out->later = ~UINT64_C(0);
#else
  if (CONSORT_HAS(out, consort_unit_desc, later)) out->later = ~UINT64_C(0);
#endif
  if (CONSORT_HAS(out, consort_unit_desc, runs)) out->runs = NULL;
#endif
  return CONSORT_OK;
}
static consort_status link_(void *dev, const consort_space_desc *a, const consort_space_desc *b,
                            consort_link_desc *out) {
  return (void)dev, (void)a, (void)b, (void)out, CONSORT_E_UNSUPPORTED;
}
static consort_status alloc(void *dev, uint32_t s, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
  return (void)dev, (void)s, (void)bytes, (void)align, (void)flags, (void)out, CONSORT_E_NOMEM;
}
static void free_(void *dev, uint32_t s, consort_addr a, uint64_t bytes) { (void)dev, (void)s, (void)a, (void)bytes; }
static consort_status attach(void *dev, uint32_t s, consort_addr a, uint64_t bytes, consort_addr *local) {
  return (void)dev, (void)s, (void)a, (void)bytes, (void)local, CONSORT_E_UNSUPPORTED;
}
static void detach(void *dev, uint32_t s, consort_addr a) { (void)dev, (void)s, (void)a; }
static consort_status queue_open(void *dev, uint32_t u, uint64_t token, consort_queue_desc *out, void **q) {
  (void)dev, (void)u, (void)token;
  out->depth = 1;
  *q = &queue;
  return CONSORT_OK;
}
static void queue_close(void *q) { (void)q; }
static uint32_t submit(void *q, const consort_op *ops, uint32_t n) { return (void)q, (void)ops, (void)n, 0; }
static uint32_t poll(void *q, consort_done *out, uint32_t max) { return (void)q, (void)out, (void)max, 0; }
#ifdef LATER
static void later(void *dev) { (void)dev; }
#endif

static const consort_driver_ops ops = {
    .size = sizeof ops,
    .count = count,
    .open = open_,
    .close = close_,
    .space = space,
    .unit = unit,
    .link = link_,
    .alloc = alloc,
    .free = free_,
    .attach = attach,
    .detach = detach,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .submit = submit,
    .poll = poll,
#ifdef LATER
    .later = later,
#endif
};
#include "end.h"
MAKE(DRIVER)

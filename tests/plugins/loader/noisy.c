/* A driver whose queue accepts and reports more than it was given. */
#include <consort/driver.h>

static int me, the_device, the_queue;
static consort_status init(const consort_host *host, void **self) { return (void)host, *self = &me, CONSORT_OK; }
static consort_status quiesce(void *self, uint64_t deadline_ns) { return (void)deadline_ns, self == &me ? CONSORT_OK : CONSORT_E_BUSY; }
static const void *get(void *self, const char *id) { return (void)id, self == &me ? &me : NULL; }
static uint32_t count(void *self) { return self == &me; }
static consort_status open(void *self, uint32_t index, uint64_t token, void **dev) {
  (void)token;
  if (self != &me || index != 0) return CONSORT_E_INVAL;
  *dev = &the_device;
  return CONSORT_OK;
}
static void close(void *dev) { (void)dev; }
static consort_status space(void *dev, uint32_t i, consort_space_desc *out) {
  if (dev != &the_device || i > 0) return CONSORT_E_INVAL;
  out->name = "noisy:0";
  return CONSORT_OK;
}
static consort_status queue_open(void *dev, uint32_t unit, uint64_t token, consort_queue_desc *out, void **q) {
  (void)unit, (void)token, (void)out;
  if (dev != &the_device) return CONSORT_E_INVAL;
  *q = &the_queue;
  return CONSORT_OK;
}
static void queue_close(void *q) { (void)q; }
static uint32_t submit(void *q, const consort_op *ops, uint32_t n) { return (void)ops, q == &the_queue ? n + 1 : 0; }
static uint32_t poll(void *q, consort_done *out, uint32_t max) { return (void)out, q == &the_queue ? max + 1 : 0; }

static const consort_driver_ops ops = {.size = sizeof ops, .count = count, .open = open, .close = close, .space = space,
                                       .queue_open = queue_open, .queue_close = queue_close, .submit = submit, .poll = poll};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR,
                                      .abi_minor = CONSORT_DRIVER_MINOR, .name = "noisy", .version = "0.1.0", .ops = &ops,
                                      .init = init, .quiesce = quiesce, .get = get};
CONSORT_MODULE(noisy, DRIVER, 0, "noisy", "0.1.0", plugin);

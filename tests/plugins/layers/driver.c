/* A driver of one device whose queues end each op when they are polled. The parameter `wrong` names the rule that it breaks. */
#include <consort/driver.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 16
typedef struct { const consort_host *host; const char *wrong; } Self;
typedef struct { Self *self; uint64_t given; void *queue; } Device;
typedef struct { Device *device; uint64_t token, cookies[DEPTH]; uint32_t n; int inside; } Queue;

static int is(const Self *self, const char *wrong) { return strcmp(self->wrong, wrong) == 0; }
static consort_status init(const consort_host *host, void **out) {
  Self *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  self->host = host, self->wrong = host->param(host, "wrong");
  return *out = self, CONSORT_OK;
}
static void fini(void *self) { free(self); }
static uint32_t count(void *self) { return (void)self, 1; }
static consort_status open_device(void *self, uint32_t index, uint64_t token, void **out) {
  (void)index, (void)token;
  Device *d = calloc(1, sizeof *d);
  if (!d) return CONSORT_E_NOMEM;
  d->self = self, d->given = 4096;
  return *out = d, CONSORT_OK;
}
static void close_device(void *dev) { free(((Device *)dev)->queue), free(dev); } /* with a queue that is open on purpose */
static consort_status space(void *dev, uint32_t i, consort_space_desc *out) {
  if (i) return CONSORT_E_INVAL;
  if (is(((Device *)dev)->self, "out-size")) out->size += 8;
  out->name = "wrong", out->domain = "wrong", out->flags = CONSORT_SP_OPAQUE, out->capacity = 1 << 20, out->granule = out->align = 64;
  return CONSORT_OK;
}
static consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) {
  if (i) return is(((Device *)dev)->self, "known-status") ? -77 : CONSORT_E_INVAL;
  return out->klass = "wrong", out->arch = "wrong", out->depth = DEPTH, CONSORT_OK;
}
static consort_status link_of(void *dev, const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) {
  return (void)dev, (void)src, (void)dst, (void)out, CONSORT_E_UNSUPPORTED;
}
static consort_status alloc(void *dev, uint32_t s, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
  (void)s, (void)align, (void)flags;
  out->base = 1, out->off = ((Device *)dev)->given;
  return ((Device *)dev)->given += bytes, CONSORT_OK;
}
static void free_it(void *dev, uint32_t s, consort_addr a, uint64_t bytes) { (void)dev, (void)s, (void)a, (void)bytes; }
static consort_status attach(void *dev, uint32_t s, consort_addr a, uint64_t bytes, consort_addr *local) {
  return (void)dev, (void)s, (void)bytes, *local = a, CONSORT_OK;
}
static void detach(void *dev, uint32_t s, consort_addr a) { (void)dev, (void)s, (void)a; }
static consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) {
  return (void)dev, (void)format, (void)text, (void)n, (void)entry, (void)code, CONSORT_E_UNSUPPORTED;
}
static consort_status queue_open(void *dev, uint32_t unit_or_none, uint64_t token, consort_queue_desc *out, void **q) {
  (void)unit_or_none;
  Queue *made = calloc(1, sizeof *made);
  if (!made) return CONSORT_E_NOMEM;
  made->device = dev, made->token = token;
  out->flags = CONSORT_Q_IN_ORDER, out->depth = DEPTH;
  return *q = made->device->queue = made, CONSORT_OK;
}
static void queue_close(void *q) { ((Queue *)q)->device->queue = NULL, free(q); }
static uint32_t submit(void *q, const consort_op *ops, uint32_t n) {
  Queue *me = q;
  uint32_t i = 0;
  for (; i < n && me->n < DEPTH; ++i) me->cookies[me->n++] = ops[i].cookie;
  if (is(me->device->self, "pushes")) { /* rightly */
    const consort_host *host = me->device->self->host;
    for (; me->n; --me->n) {
      const consort_done d = {.cookie = me->cookies[me->n - 1]};
      host->complete(host, me->token, &d, 1);
    }
  }
  return i + is(me->device->self, "accepted-prefix");
}
static uint32_t poll_queue(void *q, consort_done *out, uint32_t max) {
  Queue *me = q;
  const Self *self = me->device->self;
  uint32_t n = 0;
  if (is(self, "known-token")) {
    const consort_done d = {.cookie = 1};
    self->host->complete(self->host, me->token + 1, &d, 1);
  }
  if (is(self, "in-order") && me->n > 1) {
    const uint64_t first = me->cookies[0];
    me->cookies[0] = me->cookies[1], me->cookies[1] = first;
  }
  if (is(self, "waits"))
    for (__atomic_add_fetch(&me->inside, 1, __ATOMIC_SEQ_CST); __atomic_load_n(&me->inside, __ATOMIC_SEQ_CST) < 2;) sched_yield();
  while (n < max && me->n) {
    memset(&out[n], 0, sizeof *out);
    out[n++].cookie = me->cookies[0];
    memmove(me->cookies, me->cookies + 1, --me->n * sizeof *me->cookies);
  }
  if (n && is(self, "completes-once") && n < max) out[n] = out[0], ++n;
  if (n && is(self, "known-status")) out[0].status = -99;
  return n + (is(self, "poll-max") ? max : 0);
}

static const consort_driver_ops ops = {
    .size = sizeof ops, .count = count, .open = open_device, .close = close_device, .space = space, .unit = unit, .link = link_of,
    .alloc = alloc, .free = free_it, .attach = attach, .detach = detach, .load_impl = load_impl, .queue_open = queue_open,
    .queue_close = queue_close, .submit = submit, .poll = poll_queue};
static const consort_param params[] = {{"wrong", "string", "", NULL, "the rule to break"}};
static const consort_plugin plugin = {
    .size = sizeof plugin, .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME, .name = "wrong-driver", .version = "0.1.0", .params = params, .nparams = 1, .ops = &ops, .init = init,
    .fini = fini};
CONSORT_MODULE(wrong_driver, DRIVER, CONSORT_PF_BY_NAME, "wrong-driver", "0.1.0", plugin);

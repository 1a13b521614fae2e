/* new-name: a driver. One device that is memory of the host: a space of its own, units that run functions there, copies
 * between it and the host's memory. Each queue is a thread that carries out its operations in order.
 *
 * A start for a real device: put its calls in the place of memcpy() and of the thread. submit and poll never block;
 * the lock of a queue is held for a few moves of a ring. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign, also where the compiler is told -std=c11 */
#include <consort/driver.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ALIGN = 64 };

typedef struct device { /* of the one device; `used` is guarded by the mutex */
  const consort_host *host;
  uint64_t token, capacity, used;
  uint32_t units, depth, own;
  pthread_mutex_t mutex;
} device;

typedef struct slot {
  consort_op op;
  consort_done done;
} slot;
typedef struct queue { /* a ring: told <= done <= accepted <= told + depth, guarded by the mutex */
  device *dev;
  slot *ring;
  int fd, armed, stop;
  uint64_t accepted, done, told;
  pthread_mutex_t mutex;
  pthread_cond_t more;
  pthread_t thread;
} queue;

/* The device's memory is the host's: an address is a pointer. */
static char *at(consort_addr a) { return (char *)(uintptr_t)(a.base + a.off); }

static uint64_t number(const consort_host *host, const char *key) {
  const char *text = host->param(host, key);
  return text ? strtoull(text, NULL, 10) : 0;
}

static consort_status init(const consort_host *host, void **self) {
  *self = (void *)(uintptr_t)host; /* nothing but the devices has a state */
  return CONSORT_OK;
}
static uint32_t count(void *self) {
  (void)self;
  return 1;
}

static consort_status open_device(void *self, uint32_t index, uint64_t token, void **out) {
  const consort_host *host = self;
  (void)index;
  device *d = calloc(1, sizeof *d);
  if (!d) return host->fail(host, CONSORT_E_NOMEM, "new-name: out of memory for the device");
  d->host = host;
  d->token = token;
  d->capacity = number(host, "bytes");
  d->units = (uint32_t)number(host, "units");
  d->depth = (uint32_t)number(host, "depth");
  if (d->depth == 0) d->depth = 1;
  d->own = CONSORT_NONE;
  pthread_mutex_init(&d->mutex, NULL);
  *out = d;
  return CONSORT_OK;
}
static void close_device(void *dev) {
  device *d = dev;
  pthread_mutex_destroy(&d->mutex);
  free(d);
}

/* Every host of this version has room for what is filled here; a field that comes later asks CONSORT_HAS. */
static consort_status space(void *dev, uint32_t i, consort_space_desc *out) {
  device *d = dev;
  if (i > 0) return CONSORT_E_INVAL;
  d->own = out->id; /* the kernel's number of it */
  out->flags =
      0; /* the CPU reads copies of it; with SP_CPU | SP_COHERENT it would access it in place */
  out->numa = -1;
  out->name = "new-name:memory";
  out->domain = "new-name";
  out->domain_key = d->token;
  out->capacity = d->capacity;
  out->granule = out->align = ALIGN;
  return CONSORT_OK;
}
static consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) {
  device *d = dev;
  if (i >= d->units) return CONSORT_E_INVAL;
  out->flags = 0;
  out->space = d->own;
  out->depth = d->depth;
  out->numa = -1;
  out->klass = "new-name"; /* what a codelet names to have an implementation for these units */
  out->arch = "new-name/host";
  out->cpuset = NULL;
  out->cpuset_words = 0;
  out->runs = NULL;
  return CONSORT_OK;
}

static int reaches(const device *d, const consort_space_desc *s) {
  const uint32_t both = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  return s->id == d->own || ((s->flags & both) == both && s->domain && strcmp(s->domain, "host") == 0);
}
/* Every ordered pair of spaces is asked for, other drivers' too. Ours: from and to the host's memory, and within. */
static consort_status link_spaces(void *dev, const consort_space_desc *src, const consort_space_desc *dst,
                                  consort_link_desc *out) {
  const device *d = dev;
  if (!reaches(d, src) || !reaches(d, dst) || (src->id != d->own && dst->id != d->own)) return CONSORT_E_UNSUPPORTED;
  out->flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
  out->bytes_per_s = UINT64_C(4000000000); /* the kernel measures */
  out->latency_ns = 2000;
  out->engines = 1;
  out->max_run = UINT64_MAX;
  out->min_align = 1;
  out->bounce_bytes = 0;
  out->bounce_space = CONSORT_NONE;
  return CONSORT_OK;
}

static uint64_t rounded(uint64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }
static consort_status alloc(void *dev, uint32_t space_id, uint64_t bytes, uint64_t align, uint32_t flags,
                            consort_addr *out) {
  device *d = dev;
  const uint64_t all = rounded(bytes);
  void *p = NULL;
  if (space_id != d->own || bytes == 0 || (align & (align - 1)) != 0)
    return d->host->fail(
        d->host, CONSORT_E_INVAL,
        "new-name: cannot allocate: bytes must not be 0, the alignment a power of two, the space its own");
  if (flags & ~(uint32_t)(CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT)) /* the last two are hints */
    return d->host->fail(d->host, CONSORT_E_UNSUPPORTED,
                         "new-name: this memory is neither pinned nor exported; leave other flags out");
  pthread_mutex_lock(&d->mutex);
  const int room = all >= bytes && all <= d->capacity - d->used;
  if (room) d->used += all;
  pthread_mutex_unlock(&d->mutex);
  if (!room) return d->host->fail(d->host, CONSORT_E_NOMEM, "new-name: no room; new-name.bytes says how much there is");
  if (posix_memalign(&p, align < ALIGN ? ALIGN : align, all) != 0) {
    pthread_mutex_lock(&d->mutex);
    d->used -= all;
    pthread_mutex_unlock(&d->mutex);
    return d->host->fail(d->host, CONSORT_E_NOMEM, "new-name: the machine is out of memory");
  }
  if (flags & CONSORT_AL_ZERO) memset(p, 0, all);
  *out = (consort_addr){(uint64_t)(uintptr_t)p, 0};
  return CONSORT_OK;
}
static void free_memory(void *dev, uint32_t space_id, consort_addr a, uint64_t bytes) {
  device *d = dev;
  (void)space_id;
  free(at(a));
  pthread_mutex_lock(&d->mutex);
  d->used -= rounded(bytes);
  pthread_mutex_unlock(&d->mutex);
}
/* The host's memory needs no preparation. */
static consort_status attach(void *dev, uint32_t space_id, consort_addr a, uint64_t bytes, consort_addr *local) {
  (void)dev, (void)space_id, (void)bytes;
  *local = a;
  return CONSORT_OK;
}
static void detach(void *dev, uint32_t space_id, consort_addr local) { (void)dev, (void)space_id, (void)local; }

/* Kernels as text: a device with a compiler builds them here. */
static consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry,
                                uint64_t *code) {
  const device *d = dev;
  (void)format, (void)text, (void)n, (void)entry, (void)code;
  return d->host->fail(d->host, CONSORT_E_UNSUPPORTED, "new-name: builds no kernels; give the codelet a function");
}

/* -- queues ------------------------------------------------------------------------------------------------------ */

static consort_status execute(const consort_op *op, uint64_t *bytes) {
  switch (op->kind) {
    case CONSORT_OP_COPY: {
      const consort_copy *c = &op->u.copy;
      for (uint64_t z = 0; z < c->n[1]; z++)
        for (uint64_t y = 0; y < c->n[0]; y++)
          memcpy(at(c->dst) + (int64_t)z * c->dst_step[1] + (int64_t)y * c->dst_step[0],
                 at(c->src) + (int64_t)z * c->src_step[1] + (int64_t)y * c->src_step[0], c->run);
      *bytes = c->run * c->n[0] * c->n[1];
      return CONSORT_OK;
    }
    case CONSORT_OP_FILL: {
      const consort_fill *f = &op->u.fill;
      for (uint64_t i = 0; i < f->run; i += sizeof f->pattern)
        memcpy(at(f->dst) + i, &f->pattern, f->run - i < sizeof f->pattern ? f->run - i : sizeof f->pattern);
      *bytes = f->run;
      return CONSORT_OK;
    }
    case CONSORT_OP_CALL: /* the codelet's own function; a device with a native queue would hand it over here */
      op->u.call.call->native_queue = NULL;
      op->u.call.call->native_context = NULL;
      return op->u.call.fn(op->u.call.call);
    case CONSORT_OP_MARK:
      return CONSORT_OK;
    default:
      return CONSORT_E_UNSUPPORTED; /* LAUNCH: without load_impl() there are no kernels */
  }
}

static void *run(void *arg) {
  queue *q = arg;
  pthread_mutex_lock(&q->mutex);
  for (;;) {
    while (!q->stop && q->done == q->accepted) pthread_cond_wait(&q->more, &q->mutex);
    if (q->done == q->accepted) break;           /* stopped, and nothing is left */
    slot *s = &q->ring[q->done % q->dev->depth]; /* no other thread uses it until it is done */
    pthread_mutex_unlock(&q->mutex);
    const consort_host *host = q->dev->host;
    const int timed = (s->op.flags & CONSORT_OPF_TIME) != 0;
    s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE};
    if (timed) s->done.t0 = host->now(host);
    s->done.status = execute(&s->op, &s->done.bytes);
    if (timed) s->done.t1 = host->now(host);
    pthread_mutex_lock(&q->mutex);
    q->done++;
    if (q->armed) {
      q->armed = 0;
      eventfd_write(q->fd, 1);
    }
  }
  pthread_mutex_unlock(&q->mutex);
  return NULL;
}

static consort_status queue_open(void *dev, uint32_t unit_id, uint64_t token, consort_queue_desc *out, void **result) {
  device *d = dev;
  (void)unit_id, (void)token;
  queue *q = calloc(1, sizeof *q);
  slot *ring = calloc(d->depth, sizeof *ring);
  if (!q || !ring || (q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
    free(ring);
    free(q);
    return d->host->fail(d->host, CONSORT_E_NOMEM, "new-name: no memory or no eventfd for a queue (ulimit -n)");
  }
  q->dev = d;
  q->ring = ring;
  pthread_mutex_init(&q->mutex, NULL);
  pthread_cond_init(&q->more, NULL);
  if (pthread_create(&q->thread, NULL, run, q) != 0) {
    pthread_cond_destroy(&q->more);
    pthread_mutex_destroy(&q->mutex);
    close(q->fd);
    free(ring);
    free(q);
    return d->host->fail(d->host, CONSORT_E_NOMEM, "new-name: no thread for a queue (ulimit -u)");
  }
  out->flags = CONSORT_Q_IN_ORDER;
  out->sync = 0; /* others' tickets are waited for by the kernel */
  out->depth = d->depth;
  *result = q;
  return CONSORT_OK;
}
static void queue_close(void *p) {
  queue *q = p;
  pthread_mutex_lock(&q->mutex);
  q->stop = 1;
  pthread_cond_signal(&q->more);
  pthread_mutex_unlock(&q->mutex);
  pthread_join(q->thread, NULL);
  pthread_cond_destroy(&q->more);
  pthread_mutex_destroy(&q->mutex);
  close(q->fd);
  free(q->ring);
  free(q);
}

static uint32_t submit(void *p, const consort_op *ops, uint32_t n) {
  queue *q = p;
  uint32_t i = 0;
  pthread_mutex_lock(&q->mutex);
  for (; i < n && q->accepted - q->told < q->dev->depth; i++) q->ring[q->accepted++ % q->dev->depth].op = ops[i];
  if (i) pthread_cond_signal(&q->more);
  pthread_mutex_unlock(&q->mutex);
  return i;
}
static uint32_t poll_queue(void *p, consort_done *out, uint32_t max) {
  queue *q = p;
  const consort_host *host = q->dev->host;
  uint32_t n = 0;
  pthread_mutex_lock(&q->mutex);
  for (; n < max && q->told < q->done; n++) {
    out[n] = q->ring[q->told++ % q->dev->depth].done;
    if (out[n].status == CONSORT_E_UNSUPPORTED)
      host->fail(host, CONSORT_E_UNSUPPORTED, "new-name: an operation of a kind that this driver does not know");
  }
  pthread_mutex_unlock(&q->mutex);
  return n;
}
static int32_t event_fd(void *p) { return ((queue *)p)->fd; }
/* E_BUSY: something is done already, poll again. Else the next completion makes the descriptor readable. */
static consort_status arm(void *p) {
  queue *q = p;
  eventfd_t old;
  pthread_mutex_lock(&q->mutex);
  const int busy = q->told < q->done;
  if (!busy) {
    eventfd_read(q->fd, &old);
    q->armed = 1;
  }
  pthread_mutex_unlock(&q->mutex);
  return busy ? CONSORT_E_BUSY : CONSORT_OK;
}

static const consort_param params[] = {
    {"units", "u32", "1", "0..64", "units of the device; 0: memory alone"},
    {"depth", "u32", "32", "1..4096", "operations in flight per queue"},
    {"bytes", "u64", "1073741824", "0..", "memory of the device"},
};

static const consort_driver_ops ops = {.size = sizeof ops,
                                       .flags = CONSORT_DRV_FD,
                                       .count = count,
                                       .open = open_device,
                                       .close = close_device,
                                       .space = space,
                                       .unit = unit,
                                       .link = link_spaces,
                                       .alloc = alloc,
                                       .free = free_memory,
                                       .attach = attach,
                                       .detach = detach,
                                       .load_impl = load_impl,
                                       .queue_open = queue_open,
                                       .queue_close = queue_close,
                                       .submit = submit,
                                       .poll = poll_queue,
                                       .event_fd = event_fd,
                                       .arm = arm};

static const consort_plugin plugin = {.size = sizeof plugin,
                                      .kind = CONSORT_KIND_DRIVER,
                                      .abi_major = CONSORT_DRIVER_MAJOR,
                                      .abi_minor = CONSORT_DRIVER_MINOR,
                                      .name = "new-name",
                                      .version = "0.1.0",
                                      .summary = "host memory as a device",
                                      .license = "Apache-2.0",
                                      .params = params,
                                      .nparams = sizeof params / sizeof *params,
                                      .ops = &ops,
                                      .init = init};

CONSORT_MODULE(new_name, DRIVER, 0, "new-name", "0.1.0", plugin);

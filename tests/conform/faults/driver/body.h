// A correct driver, but for the one thing that whoever includes this defines. One device that is memory of the host, units
// that run functions, a thread for all queues. Queues for copies wait for tickets; those of units are in order.
#include <consort/driver.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#if defined FAULT_CLAIMS_ORDER || defined FAULT_NO_WAIT
#define FAULT_NEWEST_FIRST
#endif
#ifdef VIRTUAL // things happen in poll, at the host's time
#define FLAGS CONSORT_PF_VIRTUAL
#else
#define FLAGS 0
#endif
#define DEPTH 16
#define ALIGN 64
#define UNITS 2
#define QUEUES 64

typedef struct {
  const consort_host *host;
  uint64_t lost_after;
} Self;
typedef struct {
  consort_op op;
  consort_ticket wait[8];
  consort_done done;
  int is_done, is_told;
  uint64_t due; // of a simulation
} Slot;
typedef struct Device Device;
typedef struct {
  Device *device;
  uint64_t token, accepted, told; // slots told .. accepted are in use
  int in_order, armed, fd, is_open;
  void *owner;
  Slot ring[DEPTH];
} Queue;
struct Device {
  Self *self;
  uint64_t token, used, executed;
  uint32_t own;
  int stop, lost, lost_told, running;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t thread;
  Queue *queues[QUEUES];
};

static const uint64_t kCapacity = (uint64_t)1 << 30;
static char *at(consort_addr a) { return (char *)(uintptr_t)(a.base + a.off); }

// -- what there is ---------------------------------------------------------------------------------------------------

static uint32_t count(void *self) {
#ifdef FAULT_COUNTS_ON
  static uint32_t times;
  return ++times > 1 ? 2 : 1;
#else
  return 1;
#endif
}

static void *serve(void *device);
static void work(Device *d);

static consort_status open_device(void *self, uint32_t index, uint64_t token, void **out) {
  Self *s = self;
  if (index > 0) return s->host->fail(s->host, CONSORT_E_INVAL, "wrong: there is one device");
#ifdef FAULT_OPEN_MALLOC
  Device *d = malloc(sizeof *d);
  memset(d, 0, sizeof *d);
#elif defined FAULT_OPEN_HOST
  Device *d = s->host->alloc(s->host, sizeof *d, 16);
  memset(d, 0, sizeof *d);
#else
  Device *d = calloc(1, sizeof *d);
#endif
  if (!d) return s->host->fail(s->host, CONSORT_E_NOMEM, "wrong: no memory for the device");
  d->self = s, d->token = token, d->own = CONSORT_NONE;
  pthread_mutex_init(&d->mutex, NULL);
  pthread_cond_init(&d->changed, NULL);
#ifndef VIRTUAL
  if (pthread_create(&d->thread, NULL, serve, d) != 0) {
    free(d);
    return s->host->fail(s->host, CONSORT_E_NOMEM, "wrong: no thread for the device");
  }
#endif
  *out = d;
  return CONSORT_OK;
}

static void close_device(void *dev) {
  Device *d = dev;
  pthread_mutex_lock(&d->mutex);
  d->stop = 1;
  pthread_cond_broadcast(&d->changed);
  pthread_mutex_unlock(&d->mutex);
#ifdef FAULT_LEAKS_DEVICE
  pthread_detach(d->thread);
#else
#ifndef VIRTUAL
  pthread_join(d->thread, NULL);
#endif
  pthread_cond_destroy(&d->changed);
  pthread_mutex_destroy(&d->mutex);
#ifdef FAULT_OPEN_HOST
  d->self->host->release(d->self->host, d);
#else
  free(d);
#endif
#endif
}

static consort_status space(void *dev, uint32_t i, consort_space_desc *out) {
  Device *d = dev;
#ifdef FAULT_SPACE_UNSUPPORTED
  if (i > 0) return CONSORT_E_UNSUPPORTED;
#else
  if (i > 0) return CONSORT_E_INVAL;
#endif
  d->own = out->id;
  out->flags = 0;
  out->numa = -1;
  out->name = "wrong:memory";
#ifndef FAULT_NO_DOMAIN
  out->domain = "wrong";
#else
  out->domain = NULL;
#endif
  out->domain_key = 1;
  out->capacity = kCapacity;
  out->granule = out->align = ALIGN;
#ifdef FAULT_PAST_SIZE
  memset((char *)out + out->size, 0, 8);
#endif
  return CONSORT_OK;
}

static consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) {
  Device *d = dev;
  if (i >= UNITS) return CONSORT_E_INVAL;
  out->flags = 0;
#ifdef FAULT_HOMELESS
  out->space = 1000;
#else
  out->space = d->own;
#endif
  out->depth = DEPTH;
  out->numa = -1;
  out->klass = "wrong";
  out->arch = "wrong/host";
  out->cpuset = NULL;
  out->cpuset_words = 0;
  out->runs = NULL;
  return CONSORT_OK;
}

static int reaches(const Device *d, const consort_space_desc *s) {
#ifdef FAULT_ANY_LINK
  return 1;
#else
  const uint32_t both = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  return s->id == d->own || ((s->flags & both) == both && !strcmp(s->domain, "host"));
#endif
}

static consort_status link_spaces(void *dev, const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) {
  const Device *d = dev;
  if (!reaches(d, src) || !reaches(d, dst) || (src->id != d->own && dst->id != d->own)) return CONSORT_E_UNSUPPORTED;
  out->flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
#ifdef FAULT_BANDWIDTH
  out->bytes_per_s = 1000;
#else
  out->bytes_per_s = 4000000000u;
#endif
  out->latency_ns = 2000;
  out->engines = 1;
  out->max_run = UINT64_MAX;
  out->min_align = 1;
  out->bounce_bytes = 0;
  out->bounce_space = CONSORT_NONE;
  return CONSORT_OK;
}

// -- memory ----------------------------------------------------------------------------------------------------------

static uint64_t rounded(uint64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static consort_status alloc(void *dev, uint32_t id, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
  Device *d = dev;
  const consort_host *host = d->self->host;
  if (d->lost) return host->fail(host, CONSORT_E_DEVICE_LOST, "wrong: the device is lost");
  if (id != d->own || bytes == 0) return host->fail(host, CONSORT_E_INVAL, "wrong: bytes must not be 0, the space its own");
#ifndef FAULT_ANY_FLAGS
  if (flags & ~(uint32_t)(CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT))
    return host->fail(host, CONSORT_E_UNSUPPORTED, "wrong: neither pinned nor exported, nor what else there may be");
#endif
  pthread_mutex_lock(&d->mutex);
  const uint64_t all = rounded(bytes);
  const int room = all >= bytes && all <= kCapacity - d->used;
  if (room) d->used += all;
  pthread_mutex_unlock(&d->mutex);
#ifdef FAULT_WORDLESS
  if (!room) return CONSORT_E_NOMEM;
#endif
  if (!room) return host->fail(host, CONSORT_E_NOMEM, "wrong: no room");
  void *p = NULL;
#ifdef FAULT_SMALL_BLOCKS
  static char *slab;
  static uint64_t place;
  if (!slab) slab = calloc(1, 64 << 20);
  p = slab + place % (60 << 20);
  place += (all - 1) / ALIGN * ALIGN + (all < 2 * ALIGN ? ALIGN : 0);
#elif defined FAULT_MISALIGNED
  if (posix_memalign(&p, align < ALIGN ? ALIGN : align, all + 64) != 0) p = NULL;
#else
#ifdef FAULT_ALLOC_MALLOC
  void *volatile note = malloc(16);
  *(volatile char *)note = 1;
  free(note);
#endif
  if (posix_memalign(&p, align < ALIGN ? ALIGN : align, all) != 0) p = NULL;
#endif
  if (!p) {
    pthread_mutex_lock(&d->mutex);
    d->used -= all;
    pthread_mutex_unlock(&d->mutex);
    return host->fail(host, CONSORT_E_NOMEM, "wrong: the machine is out of memory");
  }
#ifdef FAULT_NOT_ZERO
  if (flags & CONSORT_AL_ZERO) memset(p, 0, bytes < 4096 ? bytes : 4096);
#elif !defined FAULT_SMALL_BLOCKS
  if (flags & CONSORT_AL_ZERO) memset(p, 0, all);
#endif
  *out = (consort_addr){(uint64_t)(uintptr_t)p, 0};
#ifdef FAULT_MISALIGNED
  out->off = 8;
#endif
  return CONSORT_OK;
}

static void free_memory(void *dev, uint32_t id, consort_addr a, uint64_t bytes) {
  Device *d = dev;
#ifndef FAULT_SMALL_BLOCKS
  free((void *)(uintptr_t)a.base);
#endif
  pthread_mutex_lock(&d->mutex);
#ifndef FAULT_KEEPS_ROOM
  d->used -= rounded(bytes);
#endif
  pthread_mutex_unlock(&d->mutex);
}

static consort_status attach(void *dev, uint32_t id, consort_addr a, uint64_t bytes, consort_addr *local) {
  Device *d = dev;
#ifdef FAULT_ATTACH_WORDLESS
  return CONSORT_E_UNSUPPORTED;
#endif
#ifndef FAULT_ATTACHES_LOST
  if (d->lost) return d->self->host->fail(d->self->host, CONSORT_E_DEVICE_LOST, "wrong: the device is lost");
#endif
  *local = a;
  return CONSORT_OK;
}
static void detach(void *dev, uint32_t id, consort_addr local) {}

static consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) {
  Device *d = dev;
  if (d->lost) return d->self->host->fail(d->self->host, CONSORT_E_DEVICE_LOST, "wrong: the device is lost");
#ifdef FAULT_LOADS_ANYTHING
  *code = 1;
  return CONSORT_OK;
#else
  return d->self->host->fail(d->self->host, CONSORT_E_UNSUPPORTED, "wrong: builds no kernels");
#endif
}

// -- the device's thread ---------------------------------------------------------------------------------------------

static uint64_t copy(const consort_copy *c) {
  for (uint64_t z = 0; z < c->n[1]; ++z)
    for (uint64_t y = 0; y < c->n[0]; ++y) {
      int64_t from = (int64_t)z * c->src_step[1] + (int64_t)y * c->src_step[0];
      int64_t to = (int64_t)z * c->dst_step[1] + (int64_t)y * c->dst_step[0];
      uint64_t run = c->run;
#ifdef FAULT_STEPS_UNSIGNED
      if (c->dst_step[0] < 0) to = (int64_t)y * -c->dst_step[0];
#endif
#ifdef FAULT_ONE_STEP
      to = (int64_t)z * c->src_step[1] + (int64_t)y * c->src_step[0];
#endif
#ifdef FAULT_WHOLE_PITCH
      if (c->n[0] > 1 && y + 1 < c->n[0] && c->dst_step[0] > (int64_t)run && c->dst_step[0] < (int64_t)run + 64) run = c->dst_step[0];
#endif
#ifdef FAULT_WHOLE_WORDS
      if (run > 8) run = run / 8 * 8;
#endif
      memcpy(at(c->dst) + to, at(c->src) + from, run);
    }
  return c->run * c->n[0] * c->n[1];
}

static consort_status execute(Device *d, const consort_op *op, uint64_t *bytes) {
  switch (op->kind) {
    case CONSORT_OP_COPY:
      *bytes = copy(&op->u.copy);
#ifdef FAULT_NO_BYTES
      *bytes = op->u.copy.run;
#endif
      return CONSORT_OK;
    case CONSORT_OP_FILL: {
      const consort_fill *f = &op->u.fill;
#ifdef FAULT_FILL_WORDS
      for (uint64_t i = 0; i + 4 <= f->run; i += 4) memcpy(at(f->dst) + i, &f->pattern, 4);
#else
      for (uint64_t i = 0; i < f->run; i += 4) memcpy(at(f->dst) + i, &f->pattern, f->run - i < 4 ? f->run - i : 4);
#endif
      *bytes = f->run;
      return CONSORT_OK;
    }
    case CONSORT_OP_CALL: {
      consort_status s;
      op->u.call.call->native_queue = op->u.call.call->native_context = NULL;
      s = op->u.call.fn(op->u.call.call);
#ifdef FAULT_CALL_TWICE
      op->u.call.fn(op->u.call.call);
#endif
#ifdef FAULT_CALL_NEVER_FAILS
      s = CONSORT_OK;
#endif
      return s;
    }
    case CONSORT_OP_MARK: return CONSORT_OK;
#ifdef FAULT_ANY_KIND
    default: return CONSORT_OK;
#else
    default: return CONSORT_E_UNSUPPORTED;
#endif
  }
}

static int is_open(const Device *d, const consort_ticket *t) {
  for (int k = 0; k < QUEUES; ++k) {
    const Queue *q = d->queues[k];
    if (!q || q->token != t->queue) continue;
    if (t->seq <= q->told) return 0;
    return t->seq <= q->accepted ? !q->ring[(t->seq - 1) % DEPTH].is_done : 0;
  }
#ifdef FAULT_CLOSED_IS_OPEN
  return 1;
#else
  return 0;
#endif
}

// The next that may begin; NULL: none.
static Slot *next_of(Device *d, Queue *q) {
#if defined(FAULT_NEWEST_FIRST) || defined(FAULT_KEEPS_TICKETS)  // tickets alone keep order
  for (uint64_t i = q->accepted; i-- > q->told;) {
#else
  for (uint64_t i = q->told; i < q->accepted; ++i) {
#endif
    Slot *s = &q->ring[i % DEPTH];
    if (s->is_done) continue;
    int waits = 0;
#ifndef FAULT_NO_WAIT
    for (uint32_t k = 0; k < s->op.nwait; ++k) waits |= is_open(d, &s->op.wait[k]);
#endif
    if (!waits) return s;
    if (q->in_order) return NULL;
  }
  return NULL;
}

static void end(Queue *q, Slot *s) {
#ifdef FAULT_LOSES
  static unsigned marks;
  if (s->op.kind == CONSORT_OP_MARK && ++marks % 50 == 0) s->is_told = 1;
#endif
  s->is_done = 1;
  if (q->armed) {
    q->armed = 0;
    eventfd_write(q->fd, 1);
  }
}

// Every op in flight ends, then the event comes, once.
static void lose(Device *d) {
  for (int k = 0; k < QUEUES; ++k) {
    Queue *q = d->queues[k];
    if (!q) continue;
    for (uint64_t i = q->told; i < q->accepted; ++i) {
      Slot *s = &q->ring[i % DEPTH];
      if (s->is_done) continue;
#ifdef FAULT_LOST_OK
      s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE, .status = CONSORT_OK};
#else
      s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE, .status = CONSORT_E_DEVICE_LOST};
#endif
      end(q, s);
    }
  }
}

static void tell(Device *d) {
  const consort_host *host = d->self->host;
#ifndef FAULT_LOST_TWICE
  if (d->lost_told) return;
#endif
  d->lost_told = 1;
#ifndef FAULT_LOST_SILENT
  host->event(host, CONSORT_EV_DEVICE_LOST, d->token, 0);
#endif
}

#ifdef VIRTUAL
// All that is due, at the host's time; in poll.
static void work(Device *d) {
  const consort_host *host = d->self->host;
  for (int k = 0; k < QUEUES; ++k)
    for (Slot *s; d->queues[k] && (s = next_of(d, d->queues[k])) && s->due <= host->now(host); end(d->queues[k], s)) {
      s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE, .t0 = s->due, .t1 = s->due};
      s->done.status = execute(d, &s->op, &s->done.bytes);
#ifdef FAULT_OWN_CLOCK
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      s->done.t1 = now.tv_nsec;
#endif
    }
}

static uint64_t next_event(void *queue) {
  Queue *q = queue;
#ifdef FAULT_NEVER
  return CONSORT_NEVER;
#else
  const uint64_t now = q->device->self->host->now(q->device->self->host);
  Slot *s = next_of(q->device, q);
  for (uint64_t i = q->told; i < q->accepted; ++i)
    if (q->ring[i % DEPTH].is_done && !q->ring[i % DEPTH].is_told) return now;
  return !s ? CONSORT_NEVER : s->due > now ? s->due : now;
#endif
}
#endif

static void *serve(void *device) {
  Device *d = device;
  const consort_host *host = d->self->host;
  pthread_mutex_lock(&d->mutex);
  while (!d->stop) {
    Queue *q = NULL;
    Slot *s = NULL;
    if (d->lost) lose(d), tell(d);
    for (int k = 0; k < QUEUES && !s; ++k)
      if (d->queues[k] && (s = next_of(d, d->queues[k]))) q = d->queues[k];
    if (!s) {
#ifdef FAULT_SPINS
      pthread_mutex_unlock(&d->mutex);
      pthread_mutex_lock(&d->mutex);
#else
      pthread_cond_wait(&d->changed, &d->mutex);
#endif
      continue;
    }
    if (d->self->lost_after && ++d->executed >= d->self->lost_after) {
      d->lost = 1;
      continue;
    }
    s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE};
    if (s->op.flags & CONSORT_OPF_TIME) s->done.t0 = host->now(host);
    pthread_mutex_unlock(&d->mutex);
#ifdef FAULT_EARLY
    if (s->op.kind == CONSORT_OP_COPY && s->op.u.copy.run > 1000) {
      uint64_t n = 0;
      Slot held = *s;
      s->done.bytes = s->op.u.copy.run;
      pthread_mutex_lock(&d->mutex);
      end(q, s);
      pthread_mutex_unlock(&d->mutex);
      usleep(300);
      execute(d, &held.op, &n);
      pthread_mutex_lock(&d->mutex);
      pthread_cond_broadcast(&d->changed);
      continue;
    }
#endif
    s->done.status = execute(d, &s->op, &s->done.bytes);
    pthread_mutex_lock(&d->mutex);
    if (s->op.flags & CONSORT_OPF_TIME) s->done.t1 = host->now(host);
#ifdef FAULT_TIME_BACKWARDS
    s->done.t1 -= 5000000000u;
#endif
    end(q, s);
    pthread_cond_broadcast(&d->changed);
  }
  pthread_mutex_unlock(&d->mutex);
  return NULL;
}

// -- queues ----------------------------------------------------------------------------------------------------------

static consort_status queue_open(void *dev, uint32_t unit_id, uint64_t token, consort_queue_desc *out, void **result) {
  Device *d = dev;
  const consort_host *host = d->self->host;
  if (d->lost) return host->fail(host, CONSORT_E_DEVICE_LOST, "wrong: the device is lost");
#ifdef FAULT_QUEUE_MALLOC
  Queue *q = malloc(sizeof *q);
  memset(q, 0, sizeof *q);
#else
  Queue *q = calloc(1, sizeof *q);
#endif
  if (!q || (q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
    free(q);
    return host->fail(host, CONSORT_E_NOMEM, "wrong: no memory or no eventfd for a queue");
  }
  q->device = d, q->token = token;
  q->in_order = unit_id != CONSORT_NONE;
  out->flags = CONSORT_Q_WAITS | (q->in_order ? CONSORT_Q_IN_ORDER : 0);
#ifdef FAULT_CLAIMS_ORDER
  out->flags |= CONSORT_Q_IN_ORDER;
#endif
  out->sync = 1;
  out->depth = DEPTH;
#ifdef FAULT_DEEP
  out->depth = 4 * DEPTH;
#endif
  pthread_mutex_lock(&d->mutex);
  int k = 0;
  while (k < QUEUES && d->queues[k]) ++k;
  if (k < QUEUES) d->queues[k] = q;
  pthread_mutex_unlock(&d->mutex);
  if (k == QUEUES) {
    close(q->fd);
    free(q);
    return host->fail(host, CONSORT_E_NOMEM, "wrong: no more than 64 queues");
  }
  *result = q;
  return CONSORT_OK;
}

static void queue_close(void *queue) {
  Queue *q = queue;
  Device *d = q->device;
  pthread_mutex_lock(&d->mutex);
  for (int k = 0; k < QUEUES; ++k)
    if (d->queues[k] == q) d->queues[k] = NULL;
  pthread_cond_broadcast(&d->changed);
  pthread_mutex_unlock(&d->mutex);
#ifndef FAULT_LEAKS_QUEUE
  close(q->fd);
#endif
  free(q);
}

static uint32_t submit(void *queue, const consort_op *ops, uint32_t n) {
  Queue *q = queue;
  Device *d = q->device;
#ifdef FAULT_SUBMIT_SLEEPS
  const struct timespec a_moment = {0, 1000};
  nanosleep(&a_moment, NULL);
#endif
#ifdef FAULT_PARAM_IN_SUBMIT
  d->self->host->param(d->self->host, "lost_after");
#endif
#ifdef FAULT_SHARED
  static consort_op scratch;
  if (n) scratch = ops[0];
  sched_yield();
#endif
#ifdef FAULT_OF_ONE_THREAD
  static __thread void *mine;
  if (!q->owner) q->owner = &mine;
  if (q->owner != (void *)&mine) return 0;
#endif
  pthread_mutex_lock(&d->mutex);
  uint32_t i = 0;
#ifdef FAULT_FORGETS_ROOM
  for (; i < n && q->accepted < 60 && q->accepted - q->told < DEPTH; ++i) {
#elif defined FAULT_TAKES_ALL
  for (; i < n; ++i) {
    if (q->accepted - q->told >= DEPTH) continue;
#else
  for (; i < n && q->accepted - q->told < DEPTH; ++i) {
#endif
    Slot *s = &q->ring[q->accepted % DEPTH];
#ifdef FAULT_SUBMIT_MALLOC
    void *volatile note = malloc(16);
    if (!note) continue;
    free(note);
#endif
    s->op = ops[i];
#ifdef FAULT_SHARED
    if (i == 0) s->op = scratch;
#endif
#ifdef VIRTUAL
    s->due = d->self->host->now(d->self->host) + 1000 + (s->op.kind == CONSORT_OP_COPY ? s->op.u.copy.run : 0);
#endif
#ifdef FAULT_KEEPS_TICKETS
    s->op.wait = ops[i].wait;
#else
    if (s->op.nwait > 8) s->op.nwait = 8;
    if (s->op.nwait) memcpy(s->wait, ops[i].wait, s->op.nwait * sizeof *s->wait);
    s->op.wait = s->wait;
#endif
    s->is_done = s->is_told = 0;
    ++q->accepted;
#ifdef FAULT_MARK_AT_ONCE
    if (s->op.kind == CONSORT_OP_MARK) {
      s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE};
      end(q, s);
    }
#endif
  }
  pthread_cond_broadcast(&d->changed);
  pthread_mutex_unlock(&d->mutex);
  return i;
}

static uint32_t poll_queue(void *queue, consort_done *out, uint32_t max) {
  Queue *q = queue;
  Device *d = q->device;
  uint32_t n = 0;
#ifdef FAULT_PAST_MAX
  ++max;
#endif
#ifdef FAULT_SLOW
  for (volatile int k = 0; k < 200000; ++k) {
  }
#endif
  pthread_mutex_lock(&d->mutex);
#ifdef VIRTUAL
  work(d);
#endif
  for (uint64_t i = q->told; i < q->accepted && n < max; ++i) {
    Slot *s = &q->ring[i % DEPTH];
    if (s->is_told) continue;
    if (!s->is_done) {
      if (q->in_order) break;
      continue;
    }
    out[n++] = s->done;
#ifdef FAULT_TWICE
    static unsigned told;
    s->is_told = ++told % 50 != 0;
#else
    s->is_told = 1;
#endif
  }
  while (q->told < q->accepted && q->ring[q->told % DEPTH].is_told) ++q->told;
  pthread_mutex_unlock(&d->mutex);
  return n;
}

static int32_t event_fd(void *queue) { return ((Queue *)queue)->fd; }

static consort_status arm(void *queue) {
  Queue *q = queue;
  Device *d = q->device;
  eventfd_t old;
  int busy = 0;
  pthread_mutex_lock(&d->mutex);
  for (uint64_t i = q->told; i < q->accepted; ++i) busy |= q->ring[i % DEPTH].is_done && !q->ring[i % DEPTH].is_told;
#ifdef FAULT_ARM_TWO_STEPS
  pthread_mutex_unlock(&d->mutex);
  for (volatile int k = 0; k < 2000; ++k) {
  }
  pthread_mutex_lock(&d->mutex);
#endif
#ifdef FAULT_ARM_BLIND
  busy = 0;
#endif
  if (!busy) {
#ifndef FAULT_NEVER_QUIET
    eventfd_read(q->fd, &old);
#endif
    q->armed = 1;
  }
  pthread_mutex_unlock(&d->mutex);
  return busy ? CONSORT_E_BUSY : CONSORT_OK;
}

// -- the plugin ------------------------------------------------------------------------------------------------------

static consort_status init(const consort_host *host, void **out) {
  Self *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "wrong: no memory");
  const char *lost = host->param(host, "lost_after");
  self->host = host;
  self->lost_after = lost ? strtoull(lost, NULL, 10) : 0;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) { free(self); }

static const consort_driver_ops ops = {
    .size = sizeof(consort_driver_ops), .flags = CONSORT_DRV_FD, .count = count, .open = open_device, .close = close_device, .space = space,
    .unit = unit, .link = link_spaces, .alloc = alloc, .free = free_memory, .attach = attach, .detach = detach, .load_impl = load_impl,
    .queue_open = queue_open, .queue_close = queue_close, .submit = submit, .poll = poll_queue, .event_fd = event_fd,
#ifdef VIRTUAL
    .next_event = next_event,
#endif
    .arm = arm};

static const consort_param params[] = {{"lost_after", "u64", "0", NULL, "the op with which the device is lost; 0: none"}};
static const consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = FLAGS, .name = "wrong", .version = "1.0.0", .summary = "wrong on purpose, but for one of these", .license = "Apache-2.0", .params = params,
    .nparams = 1, .ops = &ops, .init = init, .fini = fini};

CONSORT_MODULE(wrong, DRIVER, FLAGS, "wrong", "1.0.0", plugin);

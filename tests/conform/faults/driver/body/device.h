// The device of body.h: its record and those of its queues, its descriptions, open and close.
#pragma once
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
#define TICKETS 32
#define ALIGN 64
#define UNITS 2
#define QUEUES 64
#define AXPY 1 // code of the one kernel

typedef struct {
  const consort_host *host;
  uint64_t lost_after;
  int opened, times;
} Self;
typedef struct {
  consort_op op;
  consort_ticket wait[TICKETS];
  consort_done done;
  int is_done, is_told;
  uint64_t due; // of a simulation
} Slot;
typedef struct Device Device;
#define GRAPH 0x7001 // kind of an op that launches a graph
#define GRAPH_OPS 64
typedef struct { // recorded ops
  Device *device;
  uint32_t n, launches;
  const char *why; // it cannot be captured
  consort_op ops[GRAPH_OPS];
} Graph;
typedef struct {
  Device *device;
  Graph *capture; // under way
  uint64_t token, accepted, told; // slots told .. accepted are in use
  int in_order, armed, fd, is_open, was_used;
  void *owner;
  Slot ring[DEPTH];
} Queue;
struct Device {
  Self *self;
  uint64_t token, used, executed;
  uint32_t own;
  int stop, lost, lost_told, running, is_attached;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t thread;
  Queue *queues[QUEUES];
};

static const uint64_t kCapacity = (uint64_t)1 << 30;
static char *at(consort_addr a) { return (char *)(uintptr_t)(a.base + a.off); }

static uint32_t count(void *self) {
#ifdef FAULT_COUNTS_FREE
  return ((Self *)self)->opened ? 0 : 1;
#endif
#ifdef FAULT_COUNTS_ON
  static uint32_t times;
  return ++times > 1 ? 2 : 1;
#else
  return 1;
#endif
}

static void *serve(void *device);
static const consort_host *host_of(const Self *s) { return s->host; }

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
  s->opened++;
#ifdef FAULT_OPENS_TWICE
  if (++s->times > 2) {
    free(d);
    return host_of(s)->fail(host_of(s), CONSORT_E_BUSY, "wrong: the device was opened twice already");
  }
#endif
#ifdef FAULT_OPEN_LOSES
  void *volatile more = malloc(64);
  if (!more) return host_of(s)->fail(host_of(s), CONSORT_E_NOMEM, "wrong: no memory for more");
  free(more);
#endif
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
  d->self->opened--;
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
#ifdef FAULT_ONE_ALIGN // where a block is can be seen
  out->flags = CONSORT_SP_CPU;
#endif
#ifdef FAULT_ALIGN_48
  out->align = 48;
#endif
#ifdef FAULT_NO_GRANULE
  out->granule = 0;
#endif
#ifdef FAULT_ANOTHER_NAME
  static unsigned asked;
  out->name = asked++ % 2 ? "wrong:memory" : "wrong:store";
#endif
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
#ifdef FAULT_NO_ARCH
  out->arch = NULL;
#endif
#ifdef FAULT_NO_DEPTH
  out->depth = 0;
#endif
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
#ifdef FAULT_LATENCY
  out->latency_ns = 4000000000u;
#else
  out->latency_ns = 2000;
#endif
#ifdef FAULT_LINK_FLIPS
  static unsigned asked;
  if (asked++ % 2) out->flags &= ~(uint32_t)CONSORT_LK_3D;
#endif
  out->engines = 1;
  out->max_run = UINT64_MAX;
  out->min_align = 1;
  out->bounce_bytes = 0;
  out->bounce_space = CONSORT_NONE;
  return CONSORT_OK;
}

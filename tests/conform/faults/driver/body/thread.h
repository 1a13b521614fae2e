// The execution of the ops of body.h: a thread for all queues of the device; in a simulation, poll at the host's time.
#pragma once
#include "work.h"

static int is_open(const Device *d, const consort_ticket *t) {
  for (int k = 0; k < QUEUES; ++k) {
    const Queue *q = d->queues[k];
    if (!q || q->token != t->queue) continue;
#ifdef FAULT_FAILED_IS_OPEN
    if (t->seq <= q->accepted && q->ring[(t->seq - 1) % DEPTH].is_done && q->ring[(t->seq - 1) % DEPTH].done.status < 0 &&
        q->accepted - t->seq < DEPTH)
      return 1;
#endif
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
#ifdef FAULT_CLOSE_DROPS // the last bytes that were copied to the device are put there when the next op comes
static struct {
  Queue *owner;
  consort_addr to;
  uint64_t bytes;
  void *from;
} held;
static void let_go(int keeps) {
  if (held.owner && keeps) memcpy(at(held.to), held.from, held.bytes);
  if (held.owner) free(held.from);
  held.owner = NULL;
}
static int hold(const Device *d, Queue *q, Slot *s) {
  const consort_copy *c = &s->op.u.copy;
  if (s->op.kind != CONSORT_OP_COPY || c->dst_space != d->own || c->n[0] * c->n[1] != 1 || !(held.from = malloc(c->run))) return 0;
  memcpy(held.from, at(c->src), c->run);
  held.owner = q, held.to = c->dst, held.bytes = s->done.bytes = c->run;
  return 1;
}
#endif

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
#ifdef FAULT_LOST_WAITING_STAYS
      if (s->op.nwait) continue;
#endif
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
#ifdef FAULT_LOST_NAMES_INDEX
  host->event(host, CONSORT_EV_DEVICE_LOST, 0, 0);
#elif !defined FAULT_LOST_SILENT
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
#ifdef FAULT_NEXT_IS_NOW
  return q->accepted - q->told ? q->device->self->host->now(q->device->self->host) : CONSORT_NEVER;
#elif defined FAULT_NEVER
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
#ifdef FAULT_PARAM_IN_THREAD
    host->param(host, "lost_after");
#endif
#ifdef FAULT_EARLY
#define IS_EARLY s->op.u.copy.run > 1000
#elif defined FAULT_EARLY_65
#define IS_EARLY s->op.u.copy.run == 65
#elif defined FAULT_EARLY_MIB
#define IS_EARLY s->op.u.copy.run >= 1 << 20
#elif defined FAULT_EARLY_ROWS
#define IS_EARLY s->op.u.copy.n[0] > 1
#endif
#ifdef IS_EARLY
    if (s->op.kind == CONSORT_OP_COPY && IS_EARLY) {
      uint64_t n = 0;
      Slot held = *s;
      s->done.bytes = s->op.u.copy.run * s->op.u.copy.n[0] * s->op.u.copy.n[1];
      pthread_mutex_lock(&d->mutex);
      end(q, s);
      pthread_mutex_unlock(&d->mutex);
      usleep(3000);                              // the kit finds a core in this time on a busy machine, too
      execute(d, &held.op, &n);
      pthread_mutex_lock(&d->mutex);
      pthread_cond_broadcast(&d->changed);
      continue;
    }
#endif
#ifdef FAULT_CLOSE_DROPS
    let_go(1);
    if (!hold(d, q, s))
#endif
#ifdef FAULT_UNKNOWN_HARMS
    if (d->executed == 1 && s->op.kind == CONSORT_OP_COPY) d->executed = 0;
    else if (s->op.kind < CONSORT_OP_COPY || s->op.kind > CONSORT_OP_MARK) d->executed = 1, s->done.status = CONSORT_E_UNSUPPORTED;
    else
#endif
      s->done.status = execute(d, &s->op, &s->done.bytes);
    pthread_mutex_lock(&d->mutex);
#ifdef FAULT_OTHER_CLOCK
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    s->done.t0 = s->done.t1 = (uint64_t)wall.tv_sec * 1000000000u + wall.tv_nsec;
#endif
#ifdef FAULT_WRONG_COOKIE
    if (q->accepted - q->told == DEPTH) s->done.cookie ^= 1;
#endif
    if (s->op.flags & CONSORT_OPF_TIME) s->done.t1 = host->now(host);
#ifdef FAULT_NO_DURATION
    s->done.t0 = s->done.t1;
#endif
#ifdef FAULT_TIME_BACKWARDS
    s->done.t1 -= 5000000000u;
#endif
    end(q, s);
    pthread_cond_broadcast(&d->changed);
  }
  pthread_mutex_unlock(&d->mutex);
  return NULL;
}

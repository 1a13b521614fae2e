// The queues of body.h: submit, poll and wait.
#pragma once
#include "extensions.h"
#include "thread.h"

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
#ifdef FAULT_NO_QUEUE_DEPTH
  out->depth = 0;
#endif
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
#ifdef FAULT_CLOSE_DROPS  // deferred copies are dropped
  pthread_mutex_lock(&d->mutex);
  let_go(held.owner != q);
  pthread_mutex_unlock(&d->mutex);
#endif
  pthread_mutex_lock(&d->mutex);
  for (int k = 0; k < QUEUES; ++k)
    if (d->queues[k] == q) d->queues[k] = NULL;
  pthread_cond_broadcast(&d->changed);
  pthread_mutex_unlock(&d->mutex);
#ifdef FAULT_LEAKS_UNUSED
  if (q->was_used) close(q->fd);
#elif defined FAULT_LEAKS_OF_UNITS
  if (!q->in_order || ++d->self->times % 16) close(q->fd);
#elif !defined FAULT_LEAKS_QUEUE
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
#ifdef FAULT_REFUSES_LOST
  if (d->lost) return 0;
#endif
#ifdef FAULT_SLOW_SUBMIT
  for (volatile int k = 0; k < 2000000; ++k) {
  }
#endif
  q->was_used = 1;
  if (q->capture) return record(q, ops, n);
  pthread_mutex_lock(&d->mutex);
  uint32_t i = 0;
#ifdef FAULT_FORGETS_ROOM
  for (; i < n && q->accepted < 60 && q->accepted - q->told < DEPTH; ++i) {
#elif defined FAULT_TAKES_ALL
  for (; i < n; ++i) {
    if (q->accepted - q->told >= DEPTH) continue;
#elif defined FAULT_ROOM_WHEN_EMPTY
  for (; i < n && q->accepted % DEPTH >= q->told % DEPTH && q->accepted - q->told < DEPTH; ++i) {
#elif defined FAULT_ALL_OR_NOTHING
  if (q->accepted - q->told + n > DEPTH) n = 0;
  for (; i < n && q->accepted - q->told < DEPTH; ++i) {
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
#ifdef FAULT_EIGHT_TICKETS
    if (s->op.nwait > 8) s->op.nwait = 8;
#endif
#ifdef FAULT_FIRST_TICKET
    if (s->op.nwait > 1) s->op.nwait = 1;
#endif
    if (s->op.nwait > TICKETS) break;
    if (s->op.nwait) memcpy(s->wait, ops[i].wait, s->op.nwait * sizeof *s->wait);
    s->op.wait = s->wait;
#endif
    s->is_done = s->is_told = 0;
    ++q->accepted;
#ifdef FAULT_CALL_IN_SUBMIT
    if (s->op.kind == CONSORT_OP_CALL && q->accepted - q->told == 1) {
      s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE};
      s->done.status = execute(d, &s->op, &s->done.bytes);
      end(q, s);
    }
#endif
#ifdef FAULT_FILL_OVERTAKES
    if (s->op.kind == CONSORT_OP_FILL) {
      s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE};
      s->done.status = execute(d, &s->op, &s->done.bytes);
      s->is_done = 1;
    }
#endif
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
#ifdef FAULT_POLL_ZERO
  if (max == 0) return q->accepted - q->told ? 1 : 0;
#endif
#ifdef FAULT_PARAM_IN_POLL
  if (q->accepted == 3) d->self->host->param(d->self->host, "lost_after");
#endif
#ifdef FAULT_CALL_IN_POLL
  pthread_mutex_lock(&d->mutex);
  for (uint64_t i = q->told; i < q->accepted; ++i) {
    Slot *s = &q->ring[i % DEPTH];
    if (s->is_done) continue;
    if (s->op.kind != CONSORT_OP_CALL) break;
    s->done = (consort_done){.cookie = s->op.cookie, .source = CONSORT_NONE};
    s->done.status = execute(d, &s->op, &s->done.bytes);
    end(q, s);
  }
  pthread_mutex_unlock(&d->mutex);
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
#ifdef FAULT_ARM_RACE // as above, without a pause
  pthread_mutex_unlock(&d->mutex);
  pthread_mutex_lock(&d->mutex);
#endif
#ifdef FAULT_ARM_CLEARS_LATE  // armed first; the event that ended the wait is read afterwards
  q->armed = !busy;
  pthread_mutex_unlock(&d->mutex);
  if (!busy) eventfd_read(q->fd, &old);
  return busy ? CONSORT_E_BUSY : CONSORT_OK;
#endif
#ifdef FAULT_BUSY_STICKS
  if (q->told) busy = 1;
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

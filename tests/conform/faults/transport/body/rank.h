/* A rank of body.h: what is kept of it and of its peers, the lock, what it has to tell. */
#pragma once
#include <consort/transport.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RANKS = 4, DEPTH = 4096, NOTES = 4096, TOLD = 2 * DEPTH + NOTES + 64, REGIONS = 16, SMALL = 64 };

typedef struct rank rank;
typedef struct waiting {
  consort_msg m;
  rank *from;                  /* of a SEND */
  unsigned char bytes[SMALL];  /* of an inline one */
  unsigned char *copy;
} waiting;
typedef struct region { uint64_t id; consort_addr from; uint64_t bytes; } region;
typedef struct tell { int what; consort_done done; } tell; /* what: 0 send, 1 receive, 2 notification, else 16 + event */
typedef struct link { rank *peer; int up, lost; } link_to;
struct rank {
  const consort_host *host;
  const consort_boot *boot;
  uint64_t token, id, regions_so_far, begin, end, sends;
  uint32_t owed_sends, owed_receives, owed_notes, nsent, nreceives;
  int fd, armed;
  link_to links[RANKS];
  region regions[REGIONS];
  waiting sent[RANKS * DEPTH], receives[DEPTH];
  tell told[TOLD];
};
typedef struct address { char magic[8]; uint32_t rank, process; uint64_t id, job; unsigned char more[16]; } address;
typedef struct key { uint64_t rank, id, base, off, bytes; } key;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rank *ranks[64]; /* all that are open in this process */
static uint64_t last_id;

static void lock(void) {
#ifndef FAULT_UNLOCKED
  pthread_mutex_lock(&mutex);
#endif
}
static void unlock(void) {
#ifndef FAULT_UNLOCKED
  pthread_mutex_unlock(&mutex);
#endif
}
static unsigned char *at(consort_addr a) { return (unsigned char *)(uintptr_t)(a.base + a.off); }
static uint64_t hash(const char *s) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  while (*s) h = (h ^ (unsigned char)*s++) * UINT64_C(0x100000001b3);
  return h;
}

static void push(rank *r, int what, consort_done d) {
#ifdef FAULT_UNLOCKED  /* slowly, and at times asleep, so that another thread comes between in time */
  const uint64_t end = r->end;
  if (end % 8 == 0) usleep(1);
  for (volatile int k = 0; k < 5000; k++) {}
  r->told[end % TOLD] = (tell){what, d};
  r->end = end + 1;
#else
  r->told[r->end++ % TOLD] = (tell){what, d};
#endif
#ifndef FAULT_NO_WAKE
  if (r->armed && r->fd >= 0) eventfd_write(r->fd, 1);
#else
  if (r->armed && r->fd >= 0 && what != 1) eventfd_write(r->fd, 1);
#endif
  r->armed = 0;
}
static void finish(rank *r, const consort_msg *m, consort_status s, uint64_t bytes, uint32_t source, uint64_t tag) {
  push(r, m->kind == CONSORT_MSG_RECV, (consort_done){.cookie = m->cookie, .status = s, .source = source, .bytes = bytes, .tag = tag});
#ifdef FAULT_TWICE
  if (m->kind == CONSORT_MSG_SEND && m->bytes == 77)
    push(r, 0, (consort_done){.cookie = m->cookie, .status = s, .bytes = bytes, .tag = tag});
#endif
}
static void event(rank *r, uint32_t what, uint32_t who) { push(r, 16 + (int)what, (consort_done){.source = who}); }

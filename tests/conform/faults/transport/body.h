/* body.h — a small correct transport between ranks of one process, and the faults that are planted in it: each source here
 * defines one FAULT_… and is a plugin of its own; its first line names the rule that it breaks.
 *
 * One lock for everything, which is held while bytes are copied. Of each rank: what has come for it and waits (sent), what it
 * waits for (receives), what it has to tell (told). */
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
  uint64_t token, id, regions_so_far, begin, end;
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
#ifdef FAULT_UNLOCKED  /* slowly, so that whoever comes between is there in time */
  const uint64_t end = r->end;
  for (volatile int k = 0; k < 500; k++) {}
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

static void forget(waiting *list, uint32_t *n, uint32_t i) {
  free(list[i].copy);
  memmove(&list[i], &list[i + 1], (--*n - i) * sizeof *list);
}
static int matches(const consort_msg *r, const consort_msg *s, uint32_t source) {
#ifdef FAULT_SHORT_TAG
  if ((uint32_t)((r->tag ^ s->tag) & ~r->ignore)) return 0;
#elif defined FAULT_NO_IGNORE
  if (r->tag != s->tag && r->ignore != UINT64_MAX) return 0;
#else
  if ((r->tag ^ s->tag) & ~r->ignore) return 0;
#endif
  return r->peer == CONSORT_NONE || r->peer == source;
}
static void deliver(waiting *s, rank *to, const consort_msg *r) {
  const unsigned char *from = s->copy ? s->copy : s->m.flags & CONSORT_MF_INLINE ? s->bytes : at(s->m.local);
  uint64_t n = s->m.bytes < r->bytes ? s->m.bytes : r->bytes;
#ifdef FAULT_PAST_BUFFER
  n = s->m.bytes < r->bytes + 8 ? s->m.bytes : r->bytes + 8;
#endif
#ifdef FAULT_LAST_BYTE
  if (n == 4097) --n;
#endif
  if (n) memmove(at(r->local), from, n);
  finish(s->from, &s->m, CONSORT_OK, s->m.bytes, to->boot->rank, s->m.tag);
#ifdef FAULT_CUT_LENGTH
  finish(to, r, s->m.bytes > r->bytes ? CONSORT_E_TRUNCATED : CONSORT_OK, n, s->from->boot->rank, s->m.tag);
#elif defined FAULT_CUT_SILENTLY
  finish(to, r, CONSORT_OK, s->m.bytes, s->from->boot->rank, s->m.tag);
#else
  finish(to, r, s->m.bytes > r->bytes ? CONSORT_E_TRUNCATED : CONSORT_OK, s->m.bytes, s->from->boot->rank, s->m.tag);
#endif
}

static void do_send(rank *t, const consort_msg *m) {
  rank *to = t->links[m->peer].peer;
  waiting s = {.m = *m, .from = t};
#ifndef FAULT_INLINE_LATE
  if (m->flags & CONSORT_MF_INLINE && m->bytes) memcpy(s.bytes, at(m->local), m->bytes);
#else
  s.m.flags = 0;
#endif
  for (uint32_t k = 0; k < to->nreceives; k++) {
#ifdef FAULT_RECEIVES_LAST_FIRST
    const uint32_t i = to->nreceives - 1 - k;
#else
    const uint32_t i = k;
#endif
    if (!matches(&to->receives[i].m, m, t->boot->rank)) continue;
    deliver(&s, to, &to->receives[i].m);
    forget(to->receives, &to->nreceives, i);
    return;
  }
#ifdef FAULT_KEEPS_LONG
  if (m->bytes > SMALL && (s.copy = malloc(m->bytes))) memcpy(s.copy, at(m->local), m->bytes);
#endif
  uint32_t place = to->nsent;
#ifdef FAULT_SHORT_OVERTAKE
  if (m->bytes < 1000)
    while (place > 0 && to->sent[place - 1].m.bytes > 1000) --place;
#endif
  memmove(&to->sent[place + 1], &to->sent[place], (to->nsent - place) * sizeof *to->sent);
  to->sent[place] = s;
  ++to->nsent;
}
static void do_receive(rank *t, const consort_msg *m) {
  for (uint32_t k = 0; k < t->nsent; k++) {
#ifdef FAULT_NEWEST_FIRST
    const uint32_t i = t->nsent - 1 - k;
#else
    const uint32_t i = k;
#endif
    if (!matches(m, &t->sent[i].m, t->sent[i].from->boot->rank)) continue;
    waiting s = t->sent[i];
    deliver(&s, t, m);
    forget(t->sent, &t->nsent, i);
    return;
  }
  t->receives[t->nreceives++] = (waiting){.m = *m};
}

static consort_status region_of(rank *owner, const key *k, region *out) {
#ifdef FAULT_BELIEVES_KEY
  *out = (region){k->id, {k->base, k->off}, k->bytes};
  return CONSORT_OK;
#endif
  for (int i = 0; i < REGIONS; i++)
    if (owner->regions[i].id == k->id && k->id && k->rank == owner->id) return *out = owner->regions[i], CONSORT_OK;
  return CONSORT_E_STALE;
}
static void reach(rank *t, const consort_msg *m) {
  rank *peer = t->links[m->peer].peer;
  const int puts = m->kind == CONSORT_MSG_PUT;
  key k;
  region r;
  consort_status s = m->rkey && m->nrkey == sizeof k ? CONSORT_OK : CONSORT_E_INVAL;
  if (s == CONSORT_OK) memcpy(&k, m->rkey, sizeof k), s = region_of(peer, &k, &r);
  const uint32_t rows = m->rows ? m->rows : 1;
  if (s == CONSORT_OK) {
    const __int128 first = (__int128)m->remote.off - (__int128)r.from.off, last = first + (__int128)m->remote_step * (rows - 1);
#ifdef FAULT_BOUNDS_OVERFLOW
    if (m->remote.base != r.from.base || (uint64_t)first + m->bytes > r.bytes) s = CONSORT_E_INVAL;
#elif defined FAULT_ONE_TOO_FAR
    if (m->remote.base != r.from.base || first < 0 || last < 0 || first + m->bytes > r.bytes + 1 || last + m->bytes > r.bytes + 1)
      s = CONSORT_E_INVAL;
#elif defined FAULT_FIRST_ROW
    if (m->remote.base != r.from.base || first < 0 || first + m->bytes > r.bytes) s = CONSORT_E_INVAL;
    if (s == CONSORT_OK && rows > 1 && (last < -4096 || last > (__int128)(r.bytes + 4096))) s = CONSORT_OK, m = NULL;
#else
    if (m->remote.base != r.from.base || first < 0 || last < 0 || first + m->bytes > r.bytes || last + m->bytes > r.bytes) s = CONSORT_E_INVAL;
#endif
  }
#ifdef FAULT_FIRST_ROW
  if (!m) return;
#endif
#ifndef FAULT_NOTIFIES_EARLY
  for (uint32_t i = 0; s == CONSORT_OK && i < rows && m->bytes; i++) {
    unsigned char *far = at(m->remote) + (int64_t)i * m->remote_step, *near = at(m->local) + (int64_t)i * m->local_step;
#ifdef FAULT_GET_SHORT
    memmove(puts ? far : near, puts ? near : far, puts || m->bytes < 5000 ? m->bytes : m->bytes - 1);
#else
    memmove(puts ? far : near, puts ? near : far, m->bytes);
#endif
  }
#endif
  finish(t, m, s, m->bytes * rows, m->peer, m->tag);
#ifdef FAULT_DROPS_NOTES
  if (peer->owed_notes > 500) return;
#endif
#ifdef FAULT_NOTIFIES_FAILED
  s = CONSORT_OK;
#endif
  if (puts && (m->flags & CONSORT_MF_NOTIFY) && s == CONSORT_OK) {
    ++peer->owed_notes;
    push(peer, 2, (consort_done){.cookie = CONSORT_NOTIFIED, .source = t->boot->rank, .bytes = m->bytes * rows, .tag = m->tag});
  }
#ifdef FAULT_NOTIFIES_EARLY /* the bytes come with the next one */
  static consort_msg late;
  static unsigned char bytes[1 << 18];
  if (late.bytes && puts) memcpy(at(late.remote), bytes, late.bytes);
  late = *m;
  if (m->bytes < sizeof bytes && s == CONSORT_OK) memcpy(bytes, at(m->local), m->bytes);
  else late.bytes = 0;
#endif
}

static void cancel(rank *t, uint64_t cookie) {
  for (uint32_t i = 0; i < t->nreceives; i++)
    if (t->receives[i].m.cookie == cookie) {
      finish(t, &t->receives[i].m, CONSORT_E_CANCELLED, 0, CONSORT_NONE, 0);
#ifndef FAULT_CANCEL_STAYS
      forget(t->receives, &t->nreceives, i);
#endif
      return;
    }
  for (uint32_t k = 0; k < RANKS; k++) {
    rank *peer = t->links[k].up ? t->links[k].peer : NULL;
    for (uint32_t i = 0; peer && i < peer->nsent; i++)
      if (peer->sent[i].from == t && peer->sent[i].m.cookie == cookie) {
        finish(t, &peer->sent[i].m, CONSORT_E_CANCELLED, 0, CONSORT_NONE, 0);
        forget(peer->sent, &peer->nsent, i);
        return;
      }
  }
}

static int take(rank *t, const consort_msg *m) {
  if (m->kind == CONSORT_MSG_CANCEL) return cancel(t, m->cookie), 1;
  const int receives = m->kind == CONSORT_MSG_RECV;
  uint32_t *owed = receives ? &t->owed_receives : &t->owed_sends;
#ifdef FAULT_FORGETS_BEYOND_ROOM
  if (*owed >= 100) return 1;
#else
  if (*owed == DEPTH) return 0;
#endif
  const int known = m->peer < t->boot->nranks;
  if (m->kind == CONSORT_MSG_PUT && (m->flags & CONSORT_MF_NOTIFY) && known && t->links[m->peer].up &&
      t->links[m->peer].peer->owed_notes >= NOTES - 1)
    return 0;
  ++*owed;
  if (m->kind < CONSORT_MSG_SEND || m->kind > CONSORT_MSG_GET) {
#ifdef FAULT_UNKNOWN_IS_WELL
    return finish(t, m, CONSORT_OK, 0, CONSORT_NONE, 0), 1;
#else
    return finish(t, m, CONSORT_E_UNSUPPORTED, 0, CONSORT_NONE, 0), 1;
#endif
  }
  if (m->bytes > (uint64_t)INT64_MAX || ((m->flags & CONSORT_MF_INLINE) && m->bytes > SMALL))
    return finish(t, m, CONSORT_E_INVAL, 0, CONSORT_NONE, 0), 1;
  if (!(receives && m->peer == CONSORT_NONE)) {
    if (!known) return finish(t, m, CONSORT_E_INVAL, 0, CONSORT_NONE, 0), 1;
    if (!t->links[m->peer].up) {
#ifdef FAULT_LATER_WAITS
      if (receives) return do_receive(t, m), 1;
#endif
      return finish(t, m, CONSORT_E_PEER_LOST, 0, m->peer, 0), 1;
    }
  }
  if (m->rows > 1 && m->kind < CONSORT_MSG_PUT) return finish(t, m, CONSORT_E_UNSUPPORTED, 0, CONSORT_NONE, 0), 1;
  receives ? do_receive(t, m) : m->kind == CONSORT_MSG_SEND ? do_send(t, m) : reach(t, m);
  return 1;
}
static uint32_t post(void *p, const consort_msg *m, uint32_t n) {
  uint32_t i = 0;
#ifdef FAULT_ALLOCATES
  free(memset(malloc(100), 1, 100));
#endif
#ifdef FAULT_SLEEPS
  usleep(1);
#endif
#ifdef FAULT_PARAM_IN_POST
  ((rank *)p)->host->param(((rank *)p)->host, "depth");
#endif
#ifdef FAULT_SLOW
  for (volatile int k = 0; k < 2000000; k++) {}
#endif
  lock();
  while (i < n && take(p, &m[i])) i++;
  unlock();
#ifdef FAULT_SAYS_ALL
  return n;
#endif
  return i;
}
static uint32_t poll_it(void *p, consort_done *out, uint32_t max) {
  rank *t = p;
  uint32_t n = 0;
  lock();
  while (n < max && t->begin != t->end) {
    const tell d = t->told[t->begin % TOLD];
    if (d.what >= 16 && n) break;
    ++t->begin;
    if (d.what >= 16) {
      unlock();
      t->host->event(t->host, (uint32_t)d.what - 16, t->token, d.done.source);
      lock();
      continue;
    }
    --*(d.what == 0 ? &t->owed_sends : d.what == 1 ? &t->owed_receives : &t->owed_notes);
    out[n++] = d.done;
  }
#ifdef FAULT_PAST_MAX
  if (n) out[max] = (consort_done){0};
#endif
  unlock();
  return n;
}

static consort_status init(const consort_host *host, void **self) { (void)host; return *self = NULL, CONSORT_OK; }
#ifndef LOST_STATUS
#define LOST_STATUS CONSORT_E_PEER_LOST
#endif
static void leave(rank *t, rank *peer, int told) { /* under the lock */
  link_to *mine = &t->links[peer->boot->rank], *its = &peer->links[t->boot->rank];
  const int was_up = mine->up;
  mine->up = 0, mine->peer = NULL;
  if (!was_up) return;
#ifdef FAULT_EVENT_FIRST
  if (told) event(peer, CONSORT_EV_PEER_LOST, t->boot->rank);
#endif
  its->up = 0, its->peer = NULL;
  rank *both[2] = {t, peer};
  for (int side = 0; side < 2; side++) {
    rank *a = both[side], *b = both[1 - side];
#ifndef FAULT_SENDS_STAY
    for (uint32_t i = b->nsent; i-- > 0;)
      if (b->sent[i].from == a) finish(a, &b->sent[i].m, CONSORT_E_PEER_LOST, 0, b->boot->rank, 0), forget(b->sent, &b->nsent, i);
#else
    for (uint32_t i = b->nsent; i-- > 0;)
      if (b->sent[i].from == a) forget(b->sent, &b->nsent, i);
#endif
    for (uint32_t i = a->nreceives; i-- > 0;) {
#ifdef FAULT_ANY_ENDS
      if (a->receives[i].m.peer == b->boot->rank || a->receives[i].m.peer == CONSORT_NONE)
#else
      if (a->receives[i].m.peer == b->boot->rank)
#endif
        finish(a, &a->receives[i].m, LOST_STATUS, 0, b->boot->rank, 0), forget(a->receives, &a->nreceives, i);
    }
  }
#ifndef FAULT_NO_LOST_EVENT
#ifndef FAULT_EVENT_FIRST
  if (told) event(peer, CONSORT_EV_PEER_LOST, t->boot->rank);
#endif
#ifdef FAULT_LOST_TWICE
  if (told) event(peer, CONSORT_EV_PEER_LOST, t->boot->rank);
#endif
#endif
}
static consort_status open_it(void *self, const consort_host *host, const consort_boot *boot, uint64_t token, void **out, consort_tcaps *caps) {
  (void)self;
  if (boot->nranks > RANKS) return host->fail(host, CONSORT_E_UNSUPPORTED, "stub: more than four ranks");
#ifdef FAULT_MALLOC_UNCHECKED
  rank *t = malloc(sizeof *t);
  memset(t, 0, sizeof *t);
#else
  rank *t = calloc(1, sizeof *t);
  if (!t) return host->fail(host, CONSORT_E_NOMEM, "stub: out of memory");
#endif
  t->host = host, t->boot = boot, t->token = token, t->fd = -1;
#ifdef FAULT_LEAKS_DESCRIPTOR
  (void)!dup(0);
#endif
  lock();
  t->id = ++last_id;
  for (int i = 0; i < 64; i++)
    if (!ranks[i]) { ranks[i] = t; break; }
  unlock();
  caps->flags = CONSORT_TC_TAGGED | CONSORT_TC_RMA | CONSORT_TC_NOTIFY | CONSORT_TC_FD | CONSORT_TC_PEER_FAILURE | CONSORT_TC_2D;
  caps->max_inline = SMALL;
#ifdef FAULT_LONG_ADDRESS
  caps->max_address = 8;
#else
  caps->max_address = sizeof(address);
#endif
#ifdef FAULT_UNKNOWN_CAP
  caps->flags |= 1 << 20;
#endif
  caps->max_message = INT64_MAX;
  caps->bytes_per_s = UINT64_C(8000000000);
  caps->latency_ns = 100;
  caps->max_rkey = sizeof(key);
  caps->notify_bits = 64;
  *out = t;
  return CONSORT_OK;
}
static void close_it(void *p) {
  rank *t = p;
  lock();
  for (int i = 0; i < 64; i++) {
    rank *peer = ranks[i];
    if (!peer || peer == t || hash(peer->boot->job) != hash(t->boot->job)) continue;
#ifdef FAULT_CLOSES_SILENTLY
    leave(t, peer, 0);
#else
    leave(t, peer, 1);
#endif
    if (peer->links[t->boot->rank].peer == t) peer->links[t->boot->rank].peer = NULL;
  }
  for (int i = 0; i < 64; i++)
    if (ranks[i] == t) ranks[i] = NULL;
  unlock();
  for (uint32_t i = 0; i < t->nsent; i++) free(t->sent[i].copy);
  if (t->fd >= 0) close(t->fd);
#ifndef FAULT_LEAKS_RANK
  free(t);
#endif
}
static consort_status address_of(void *p, void *buf, uint32_t *n) {
  rank *t = p;
  const uint32_t room = *n;
  address a = {{'s', 't', 'u', 'b'}, t->boot->rank, (uint32_t)getpid(), t->id, hash(t->boot->job), {0}};
#ifdef FAULT_SECRET_IN_ADDRESS
  memcpy(a.more, t->boot->secret, t->boot->nsecret < 16 ? t->boot->nsecret : 16);
#endif
#ifdef FAULT_ADDRESS_IGNORES_ROOM
  memcpy(buf, &a, sizeof a < room + 1 ? sizeof a : room + 1);
#endif
  *n = sizeof a;
  if (room < sizeof a) return t->host->fail(t->host, CONSORT_E_TRUNCATED, "stub: too little room for an address");
  memcpy(buf, &a, sizeof a);
  return CONSORT_OK;
}
static consort_status connect_to(void *p, uint32_t who, const void *addr, uint32_t n) {
  rank *t = p, *peer = NULL;
  address a;
#ifndef FAULT_ANY_ADDRESS
  if (n != sizeof a || memcmp(addr, "stub", 5) != 0 || who >= t->boot->nranks)
    return t->host->fail(t->host, CONSORT_E_INVAL, "stub: that is no address of this transport, or no rank");
#else
  if (n != sizeof a || who >= t->boot->nranks) return event(t, CONSORT_EV_PEER_UP, who), CONSORT_OK;
#endif
  memcpy(&a, addr, sizeof a);
  if (a.process != (uint32_t)getpid()) return t->host->fail(t->host, CONSORT_E_UNSUPPORTED, "stub: that rank is another process");
  lock();
  for (int i = 0; i < 64; i++)
    if (ranks[i] && ranks[i]->id == a.id && ranks[i]->boot->rank == who && hash(t->boot->job) == a.job) peer = ranks[i];
  consort_status s = peer ? CONSORT_OK : CONSORT_E_PEER_LOST;
#ifdef FAULT_SECRET_PREFIX
  if (s == CONSORT_OK && memcmp(t->boot->secret, peer->boot->secret, t->boot->nsecret < peer->boot->nsecret ? t->boot->nsecret : peer->boot->nsecret) != 0)
    s = CONSORT_E_INVAL;
#elif !defined FAULT_ANY_SECRET
  if (s == CONSORT_OK && (t->boot->nsecret != peer->boot->nsecret || memcmp(t->boot->secret, peer->boot->secret, t->boot->nsecret) != 0))
    s = CONSORT_E_INVAL;
#endif
#ifndef FAULT_ANY_CLOCK
  if (s == CONSORT_OK && t->boot->sim_domain != peer->boot->sim_domain) s = CONSORT_E_INVAL;
#endif
  if (s == CONSORT_OK) {
    link_to *mine = &t->links[who], *its = &peer->links[t->boot->rank];
    mine->peer = peer;
    if (its->peer == t) {
      mine->up = its->up = 1;
      event(t, CONSORT_EV_PEER_UP, who);
#ifdef FAULT_UP_TWICE
      event(t, CONSORT_EV_PEER_UP, who);
#endif
      if (peer != t) event(peer, CONSORT_EV_PEER_UP, t->boot->rank);
    }
  }
  unlock();
  return s < 0 ? t->host->fail(t->host, s, "stub: that rank is gone, or does not belong to this job") : CONSORT_OK;
}
static void disconnect_from(void *p, uint32_t who) {
  rank *t = p;
  lock();
#ifndef FAULT_DISCONNECT_DOES_NOTHING
  if (who < RANKS && t->links[who].peer) leave(t, t->links[who].peer, t->links[who].peer != t);
#endif
  unlock();
}
static consort_status reg(void *p, const consort_space_desc *space, consort_addr from, uint64_t bytes, consort_mr *out) {
  rank *t = p;
  if (!(space->flags & CONSORT_SP_CPU)) return t->host->fail(t->host, CONSORT_E_UNSUPPORTED, "stub: memory of the CPU alone");
  lock();
  for (int i = 0; i < REGIONS; i++)
    if (!t->regions[i].id) {
#ifdef FAULT_KEYS_COME_AGAIN
      const uint64_t id = (uint64_t)i + 1;
#else
      const uint64_t id = ++t->regions_so_far;
#endif
      t->regions[i] = (region){id, from, bytes};
      const key k = {t->id, id, from.base, from.off, bytes};
      *out = (consort_mr){.lkey = id, .nrkey = sizeof k};
      memcpy(out->rkey, &k, sizeof k);
      unlock();
      return CONSORT_OK;
    }
  unlock();
  return t->host->fail(t->host, CONSORT_E_NOMEM, "stub: sixteen regions are registered already");
}
static void dereg(void *p, const consort_mr *mr) {
  rank *t = p;
  lock();
#ifndef FAULT_DEREG_DOES_NOTHING
  for (int i = 0; i < REGIONS; i++)
    if (t->regions[i].id == mr->lkey) t->regions[i].id = 0;
#endif
  unlock();
}
static int32_t event_fd(void *p) {
  rank *t = p;
  if (t->fd < 0) t->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return t->fd;
}
static consort_status arm(void *p) {
  rank *t = p;
  eventfd_t n;
  lock();
#ifdef FAULT_ARMS_BLINDLY
  const int busy = 0;
#else
  const int busy = t->begin != t->end;
#endif
  if (!busy) {
    if (t->fd >= 0) (void)!eventfd_read(t->fd, &n);
    t->armed = 1;
  }
  unlock();
  return busy ? CONSORT_E_BUSY : CONSORT_OK;
}
static uint64_t next_event(void *p) {
  rank *t = p;
#ifdef FAULT_NO_NEXT
  return CONSORT_NEVER;
#endif
  lock();
  const int any = t->begin != t->end;
  unlock();
  return any ? t->host->now(t->host) : CONSORT_NEVER;
}

static const consort_transport_ops ops = {.size = sizeof ops, .flags = CONSORT_TC_FD, .open = open_it, .close = close_it, .address = address_of,
  .connect = connect_to, .disconnect = disconnect_from, .reg = reg, .dereg = dereg, .post = post, .poll = poll_it, .event_fd = event_fd, .arm = arm,
  .next_event = next_event};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_TRANSPORT, .abi_major = CONSORT_TRANSPORT_MAJOR,
  .abi_minor = CONSORT_TRANSPORT_MINOR, .flags = CONSORT_PF_VIRTUAL, .name = "stub", .version = "1.0.0", .summary = "ranks of one process",
  .license = "Apache-2.0", .ops = &ops, .init = init};
CONSORT_MODULE(stub, TRANSPORT, CONSORT_PF_VIRTUAL, "stub", "1.0.0", plugin);

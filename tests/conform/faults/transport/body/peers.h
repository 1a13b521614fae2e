/* How a rank of body.h connects and disconnects, and which ranks reach each other. */
#pragma once
#include "messages.h"

static consort_status init(const consort_host *host, void **self) { (void)host; return *self = NULL, CONSORT_OK; }
#ifndef REFUSED_STATUS
#define REFUSED_STATUS CONSORT_E_INVAL
#endif
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
#ifdef FAULT_NO_MAX_MESSAGE
  caps->max_message = 0;
#else
  caps->max_message = INT64_MAX;
#endif
#ifdef FAULT_NOTIFY_WITHOUT_RMA
  caps->flags &= ~(uint32_t)CONSORT_TC_RMA;
#endif
#ifdef FAULT_OPEN_LOSES
  void *volatile more = malloc(64);
  if (!more) return host->fail(host, CONSORT_E_NOMEM, "stub: no memory for more");
  free(more);
#endif
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
#ifdef FAULT_CLOSES_SLOWLY // waits for closed peers, too
  if (t->boot->nranks > 1) usleep(700000);
#endif
#ifdef FAULT_LEAKS_WITH_REGIONS
  for (int i = 0; i < REGIONS; i++)
    if (t->regions[i].id) return;
#endif
#ifdef FAULT_LEAKS_WITH_RECEIVES
  if (t->nreceives) return;
#endif
  for (uint32_t i = 0; i < t->nsent; i++) free(t->sent[i].copy);
  if (t->fd >= 0) close(t->fd);
#ifndef FAULT_LEAKS_RANK
  free(t);
#endif
}
static consort_status address_of(void *p, void *buf, uint32_t *n) {
  rank *t = p;
  const uint32_t room = *n;
#ifdef FAULT_ANOTHER_ADDRESS
  static uint32_t asked;
  t->boot->rank;
  address a = {{'s', 't', 'u', 'b'}, t->boot->rank, (uint32_t)getpid(), t->id, hash(t->boot->job), {(unsigned char)++asked}};
#else
  address a = {{'s', 't', 'u', 'b'}, t->boot->rank, (uint32_t)getpid(), t->id, hash(t->boot->job), {0}};
#endif
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
    return t->host->fail(t->host, REFUSED_STATUS, "stub: that is no address of this transport, or no rank");
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
#ifdef FAULT_UP_OF_SELF
      event(t, CONSORT_EV_PEER_UP, t->boot->rank);
#else
      event(t, CONSORT_EV_PEER_UP, who);
#endif
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

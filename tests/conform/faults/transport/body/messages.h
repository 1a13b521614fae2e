/* What is sent, received, read and written between ranks of body.h; how it is begun, cancelled and told. */
#pragma once
#include "rank.h"

#ifndef SENT_STATUS
#define SENT_STATUS CONSORT_OK
#endif

static void forget(waiting *list, uint32_t *n, uint32_t i) {
  free(list[i].copy);
  memmove(&list[i], &list[i + 1], (--*n - i) * sizeof *list);
}
static int matches(const consort_msg *r, const consort_msg *s, uint32_t source) {
#ifdef FAULT_TAG_63
  if ((r->tag ^ s->tag) << 1 & ~r->ignore << 1) return 0;
#elif defined FAULT_SHORT_TAG
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
#ifdef FAULT_EMPTY_LOST
  if (s->m.bytes == 0) return;
#endif
#ifdef FAULT_SHORT_64K
  if (n == 65536) --n;
#endif
#ifdef FAULT_LAST_BYTE
  if (n == 4097) --n;
#endif
  if (n) memmove(at(r->local), from, n);
  finish(s->from, &s->m, SENT_STATUS, s->m.bytes, to->boot->rank, s->m.tag);
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
#ifdef FAULT_INLINE_FULL_LATE
  if (m->flags & CONSORT_MF_INLINE && m->bytes == SMALL) s.m.flags = 0;
  else
#endif
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
#ifdef FAULT_BEFORE_REGION
    if (m->remote.base != r.from.base || first + (__int128)m->bytes > r.bytes || last + (__int128)m->bytes > r.bytes) s = CONSORT_E_INVAL;
    if (first < 0 && s == CONSORT_OK) rows == 1 ? (s = CONSORT_OK) : (s = CONSORT_E_INVAL);
#elif defined FAULT_WHOLE_REGION
    if (m->remote.base != r.from.base || first < 0 || last < 0 || first + m->bytes >= r.bytes || last + m->bytes > r.bytes) s = CONSORT_E_INVAL;
#elif defined FAULT_BOUNDS_OVERFLOW
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
#ifdef FAULT_STEPS_FORWARD
    unsigned char *far = at(m->remote) + (int64_t)i * (m->remote_step < 0 ? -m->remote_step : m->remote_step),
#else
    unsigned char *far = at(m->remote) + (int64_t)i * m->remote_step,
#endif
                  *near = at(m->local) + (int64_t)i * m->local_step;
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
#ifdef FAULT_NOTE_OF_ROW
    push(peer, 2, (consort_done){.cookie = CONSORT_NOTIFIED, .source = t->boot->rank, .bytes = m->bytes, .tag = m->tag});
#elif defined FAULT_NOTE_SOURCE
    push(peer, 2, (consort_done){.cookie = CONSORT_NOTIFIED, .source = peer->boot->rank, .bytes = m->bytes * rows, .tag = m->tag});
#elif defined FAULT_NOTE_INTO_RECEIVE
    push(peer, 2, (consort_done){.cookie = CONSORT_NOTIFIED, .source = t->boot->rank, .bytes = m->bytes * rows, .tag = m->tag});
    if (peer->nreceives && matches(&peer->receives[0].m, m, t->boot->rank)) {
      finish(peer, &peer->receives[0].m, CONSORT_OK, 0, t->boot->rank, m->tag);
      forget(peer->receives, &peer->nreceives, 0);
    }
#else
    push(peer, 2, (consort_done){.cookie = CONSORT_NOTIFIED, .source = t->boot->rank, .bytes = m->bytes * rows, .tag = m->tag});
#endif
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
#ifdef FAULT_CANCEL_ITSELF_ENDS
  push(t, 0, (consort_done){.cookie = cookie, .status = CONSORT_OK});
  ++t->owed_sends;
#endif
#ifdef FAULT_CANCEL_FIRST
  if (t->nreceives) cookie = t->receives[0].m.cookie;
#endif
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
#ifdef FAULT_KIND_BYTE
    if ((uint8_t)m->kind == CONSORT_MSG_RECV) return --t->owed_sends, 1;
#endif
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
#ifdef FAULT_LEAKS_64TH
  if (++((rank *)p)->sends % 64 == 0) *(void *volatile *)&(void *){malloc(100)};
#endif
#ifdef FAULT_ALLOCATES_64TH
  if (++((rank *)p)->sends % 64 == 0) free(*(void *volatile *)&(void *){malloc(100)});
#endif
#ifdef FAULT_ALL_OR_NOTHING
  if (n > 3 && ((rank *)p)->owed_sends + n > DEPTH) return 0;
#endif
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
#ifdef FAULT_POLL_ZERO
  if (max == 0) return t->begin != t->end;
#endif
#ifdef FAULT_POLL_ALLOCATES
  free(*(void *volatile *)&(void *){malloc(100)});
#endif
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

/* new-name: a transport. Messages of a process to itself: what is sent is received, put and got without leaving it.
 *
 * A start for a real one: put a wire between post() and what here happens at once. It keeps the promises that all
 * transports make: a receive takes the oldest message that matches, a longer message is cut and told so, memory is
 * reached only through a key and within its bounds, what is cancelled ends once. Messages wait where they are until
 * they are received; post and poll allocate nothing. */
#include <consort/transport.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { INLINE_BYTES = 64 };

typedef struct key {
  uint64_t id;
  consort_addr from;
  uint64_t bytes;
} key;
CONSORT_STATIC_ASSERT(sizeof(key) <= 48, "a key fits consort_mr.rkey");
typedef struct waiting {
  consort_msg m;
  char bytes[INLINE_BYTES];
} waiting; /* bytes: of an INLINE send */

typedef struct settings {
  const consort_host *host;
  uint32_t depth;
} settings;
typedef struct transport { /* guarded by the mutex, but for what is constant */
  const consort_host *host;
  uint32_t depth, rank;
  uint64_t token;
  pthread_mutex_t mutex;
  int up;
  uint64_t last_key, finished, told; /* finished, told: of the ring */
  key *regions;
  uint32_t nregions, room, nsends, nreceives;
  waiting *sends, *receives; /* oldest first */
  consort_done *done;        /* a ring of 4 * depth */
} transport;

static char *at(consort_addr a) { return (char *)(uintptr_t)(a.base + a.off); }
static uint64_t ring(const transport *t) { return UINT64_C(4) * t->depth; }

static consort_status init(const consort_host *host, void **self) {
  settings *s = malloc(sizeof *s);
  if (!s) return host->fail(host, CONSORT_E_NOMEM, "new-name: out of memory for the settings");
  const char *depth = host->param(host, "depth");
  *s = (settings){host, depth ? (uint32_t)strtoul(depth, NULL, 10) : 256};
  if (s->depth == 0) s->depth = 1;
  *self = s;
  return CONSORT_OK;
}
static void fini(void *self) { free(self); }

static void close_transport(void *p) {
  transport *t = p;
  pthread_mutex_destroy(&t->mutex);
  free(t->done);
  free(t->receives);
  free(t->sends);
  free(t->regions);
  free(t);
}
static consort_status open_transport(void *self, const consort_host *host, const consort_boot *boot, uint64_t token,
                                     void **out, consort_tcaps *caps) {
  const settings *s = self;
  transport *t = calloc(1, sizeof *t);
  if (!t) return host->fail(host, CONSORT_E_NOMEM, "new-name: out of memory");
  t->host = host;
  t->depth = s->depth;
  t->rank = boot->rank;
  t->token = token;
  pthread_mutex_init(&t->mutex, NULL);
  t->sends = calloc(t->depth, sizeof *t->sends);
  t->receives = calloc(t->depth, sizeof *t->receives);
  t->done = calloc(ring(t), sizeof *t->done);
  if (!t->sends || !t->receives || !t->done) {
    close_transport(t);
    return host->fail(host, CONSORT_E_NOMEM, "new-name: out of memory for the messages; lower new-name.depth");
  }
  caps->flags = CONSORT_TC_TAGGED | CONSORT_TC_RMA | CONSORT_TC_NOTIFY;
  caps->max_inline = INLINE_BYTES;
  caps->max_address = sizeof t->rank;
  caps->max_message = UINT64_MAX;
  caps->bytes_per_s = UINT64_C(8000000000);
  caps->latency_ns = 100;
  caps->max_rkey = sizeof(key);
  caps->notify_bits = 64;
  *out = t;
  return CONSORT_OK;
}

static consort_status my_address(void *p, void *buf, uint32_t *n) {
  transport *t = p;
  const uint32_t room = *n;
  *n = sizeof t->rank;
  if (room < sizeof t->rank) return t->host->fail(t->host, CONSORT_E_TRUNCATED, "new-name: an address takes 4 bytes");
  memcpy(buf, &t->rank, sizeof t->rank);
  return CONSORT_OK;
}
static consort_status connect_to(void *p, uint32_t rank, const void *address, uint32_t n) {
  transport *t = p;
  if (n != sizeof rank || memcmp(address, &rank, sizeof rank) != 0)
    return t->host->fail(t->host, CONSORT_E_INVAL,
                         "new-name: that is no address of this rank, or of another transport");
  if (rank != t->rank)
    return t->host->fail(
        t->host, CONSORT_E_UNSUPPORTED,
        "new-name: that rank is another process, which this transport does not reach; use it for one's own rank alone");
  pthread_mutex_lock(&t->mutex);
  t->up = 1;
  pthread_mutex_unlock(&t->mutex);
  t->host->event(t->host, CONSORT_EV_PEER_UP, t->token, rank);
  return CONSORT_OK;
}

static void tell(transport *t, consort_done d) { t->done[t->finished++ % ring(t)] = d; }
static void finish(transport *t, const consort_msg *m, consort_status s, uint64_t bytes) {
  tell(t, (consort_done){.cookie = m->cookie, .status = s, .source = CONSORT_NONE, .bytes = bytes, .tag = m->tag});
}
static void forget(waiting *list, uint32_t *n, uint32_t i) {
  memmove(&list[i], &list[i + 1], (--*n - i) * sizeof *list);
}

static void disconnect(void *p, uint32_t rank) {
  transport *t = p;
  if (rank != t->rank) return;
  pthread_mutex_lock(&t->mutex);
  t->up = 0;
  for (uint32_t i = 0; i < t->nsends; i++) finish(t, &t->sends[i].m, CONSORT_E_PEER_LOST, 0);
  t->nsends = 0;
  for (uint32_t i = t->nreceives; i-- > 0;) /* those from any stay */
    if (t->receives[i].m.peer == rank) {
      finish(t, &t->receives[i].m, CONSORT_E_PEER_LOST, 0);
      forget(t->receives, &t->nreceives, i);
    }
  pthread_mutex_unlock(&t->mutex);
}

static consort_status reg(void *p, const consort_space_desc *space, consort_addr a, uint64_t bytes, consort_mr *out) {
  transport *t = p;
  if (!(space->flags & CONSORT_SP_CPU))
    return t->host->fail(t->host, CONSORT_E_UNSUPPORTED, "new-name: only memory that the CPU can load and store");
  pthread_mutex_lock(&t->mutex);
  if (t->nregions == t->room) {
    const uint32_t room = t->room ? 2 * t->room : 16;
    key *more = realloc(t->regions, room * sizeof *more);
    if (!more) {
      pthread_mutex_unlock(&t->mutex);
      return t->host->fail(t->host, CONSORT_E_NOMEM, "new-name: out of memory for a registration");
    }
    t->regions = more;
    t->room = room;
  }
  const key k = {++t->last_key, a, bytes};
  t->regions[t->nregions++] = k;
  pthread_mutex_unlock(&t->mutex);
  *out = (consort_mr){.lkey = k.id, .nrkey = sizeof k};
  memcpy(out->rkey, &k, sizeof k);
  return CONSORT_OK;
}
static void dereg(void *p, const consort_mr *mr) {
  transport *t = p;
  pthread_mutex_lock(&t->mutex);
  for (uint32_t i = 0; i < t->nregions; i++)
    if (t->regions[i].id == mr->lkey) {
      t->regions[i] = t->regions[--t->nregions];
      break;
    }
  pthread_mutex_unlock(&t->mutex);
}

/* -- messages ---------------------------------------------------------------------------------------------------- */

static int match(const consort_msg *receive, const consort_msg *send) {
  return ((receive->tag ^ send->tag) & ~receive->ignore) == 0;
}
static void deliver(transport *t, const waiting *s, const consort_msg *to) {
  const uint64_t n = s->m.bytes < to->bytes ? s->m.bytes : to->bytes;
  if (n) memmove(at(to->local), s->m.flags & CONSORT_MF_INLINE ? s->bytes : at(s->m.local), n);
  finish(t, &s->m, CONSORT_OK, s->m.bytes);
  tell(t, (consort_done){.cookie = to->cookie,
                         .status = s->m.bytes > to->bytes ? CONSORT_E_TRUNCATED : CONSORT_OK,
                         .source = t->rank,
                         .bytes = s->m.bytes,
                         .tag = s->m.tag});
}
static void send_message(transport *t, const consort_msg *m) {
  waiting s;
  s.m = *m;
  if ((m->flags & CONSORT_MF_INLINE) && m->bytes) memcpy(s.bytes, at(m->local), m->bytes);
  for (uint32_t i = 0; i < t->nreceives; i++)
    if (match(&t->receives[i].m, m)) {
      deliver(t, &s, &t->receives[i].m);
      forget(t->receives, &t->nreceives, i);
      return;
    }
  t->sends[t->nsends++] = s;
}
static void receive_message(transport *t, const consort_msg *m) {
  for (uint32_t i = 0; i < t->nsends; i++)
    if (match(m, &t->sends[i].m)) {
      deliver(t, &t->sends[i], m);
      forget(t->sends, &t->nsends, i);
      return;
    }
  t->receives[t->nreceives++].m = *m;
}
static void reach(transport *t, const consort_msg *m) { /* PUT, GET */
  key k;
  const key *region = NULL; /* what the key says counts for nothing: the table does */
  if (!m->rkey || m->nrkey != sizeof k) {
    finish(t, m, CONSORT_E_INVAL, 0);
    return;
  }
  memcpy(&k, m->rkey, sizeof k);
  for (uint32_t i = 0; i < t->nregions; i++)
    if (t->regions[i].id == k.id) region = &t->regions[i];
  if (!region) {
    finish(t, m, CONSORT_E_STALE, 0);
    return;
  }
  const uint64_t begin = m->remote.off - region->from.off;
  if (m->remote.base != region->from.base || begin > region->bytes || m->bytes > region->bytes - begin) {
    finish(t, m, CONSORT_E_INVAL, 0);
    return;
  }
  const int put = m->kind == CONSORT_MSG_PUT;
  if (m->bytes) memmove(at(put ? m->remote : m->local), at(put ? m->local : m->remote), m->bytes);
  finish(t, m, CONSORT_OK, m->bytes);
  if (put && (m->flags & CONSORT_MF_NOTIFY))
    tell(t, (consort_done){.cookie = CONSORT_NOTIFIED, .source = t->rank, .bytes = m->bytes, .tag = m->tag});
}
static int cancel(transport *t, waiting *list, uint32_t *n,
                  uint64_t cookie) { /* what is done already has its own end */
  for (uint32_t i = 0; i < *n; i++)
    if (list[i].m.cookie == cookie) {
      finish(t, &list[i].m, CONSORT_E_CANCELLED, 0);
      forget(list, n, i);
      return 1;
    }
  return 0;
}

/* 0: no room now. Room for what is posted means room for what it will tell: poll() gives it back. */
static int take(transport *t, const consort_msg *m) {
  if (m->kind == CONSORT_MSG_CANCEL) {
    if (!cancel(t, t->receives, &t->nreceives, m->cookie)) cancel(t, t->sends, &t->nsends, m->cookie);
    return 1;
  }
  if (t->finished - t->told + t->nsends + t->nreceives + 2 > ring(t)) return 0;
  if (m->kind == CONSORT_MSG_SEND && t->nsends == t->depth) return 0;
  if (m->kind == CONSORT_MSG_RECV && t->nreceives == t->depth) return 0;
  const int any = m->kind == CONSORT_MSG_RECV && m->peer == CONSORT_NONE;
  if (!any && (m->peer != t->rank || !t->up))
    finish(t, m, CONSORT_E_PEER_LOST, 0);
  else if (m->rows > 1)
    finish(t, m, CONSORT_E_UNSUPPORTED, 0); /* TC_2D is not promised */
  else if ((m->flags & CONSORT_MF_INLINE) && m->bytes > INLINE_BYTES)
    finish(t, m, CONSORT_E_INVAL, 0);
  else if (m->kind == CONSORT_MSG_SEND)
    send_message(t, m);
  else if (m->kind == CONSORT_MSG_RECV)
    receive_message(t, m);
  else if (m->kind == CONSORT_MSG_PUT || m->kind == CONSORT_MSG_GET)
    reach(t, m);
  else
    finish(t, m, CONSORT_E_UNSUPPORTED, 0);
  return 1;
}

static uint32_t post(void *p, const consort_msg *messages, uint32_t n) {
  transport *t = p;
  uint32_t i = 0;
  pthread_mutex_lock(&t->mutex);
  while (i < n && take(t, &messages[i])) i++;
  pthread_mutex_unlock(&t->mutex);
  return i;
}
static uint32_t poll_done(void *p, consort_done *out, uint32_t max) {
  transport *t = p;
  uint32_t n = 0;
  pthread_mutex_lock(&t->mutex);
  for (; n < max && t->told < t->finished; n++) out[n] = t->done[t->told++ % ring(t)];
  pthread_mutex_unlock(&t->mutex);
  return n;
}

static const consort_param params[] = {{"depth", "u32", "256", "1..65536", "messages under way, in each direction"}};

static const consort_transport_ops ops = {.size = sizeof ops,
                                          .open = open_transport,
                                          .close = close_transport,
                                          .address = my_address,
                                          .connect = connect_to,
                                          .disconnect = disconnect,
                                          .reg = reg,
                                          .dereg = dereg,
                                          .post = post,
                                          .poll = poll_done};

static const consort_plugin plugin = {.size = sizeof plugin,
                                      .kind = CONSORT_KIND_TRANSPORT,
                                      .abi_major = CONSORT_TRANSPORT_MAJOR,
                                      .abi_minor = CONSORT_TRANSPORT_MINOR,
                                      .name = "new-name",
                                      .version = "0.1.0",
                                      .summary = "messages of a process to itself",
                                      .license = "Apache-2.0",
                                      .params = params,
                                      .nparams = sizeof params / sizeof *params,
                                      .ops = &ops,
                                      .init = init,
                                      .fini = fini};

CONSORT_MODULE(new_name, TRANSPORT, 0, "new-name", "0.1.0", plugin);

/* A transport from a rank to itself: a send is matched with a receive, in this process. The parameter `wrong` names
 * the rule that it breaks. */
#include <consort/transport.h>
#include <stdlib.h>
#include <string.h>

#define MOST 32
typedef struct { const consort_host *host; const char *wrong; } Self;
typedef struct { Self *self; consort_msg sends[MOST], receives[MOST]; uint32_t nsends, nreceives, ndone; consort_done done[2 * MOST]; uint64_t keys; } Endpoint;

static int is(const Self *self, const char *wrong) { return strcmp(self->wrong, wrong) == 0; }
static consort_status init(const consort_host *host, void **out) {
  Self *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  self->host = host, self->wrong = host->param(host, "wrong");
  return *out = self, CONSORT_OK;
}
static void fini(void *self) { free(self); }
static consort_status open_it(void *self, const consort_host *host, const consort_boot *boot, uint64_t token, void **t, consort_tcaps *caps) {
  (void)host, (void)boot, (void)token;
  Endpoint *e = calloc(1, sizeof *e);
  if (!e) return CONSORT_E_NOMEM;
  e->self = self;
  caps->flags = CONSORT_TC_TAGGED, caps->max_message = 1 << 20, caps->max_address = 8;
  return *t = e, CONSORT_OK;
}
static void close_it(void *t) { free(t); }
static consort_status address(void *t, void *buf, uint32_t *n) { return (void)t, memset(buf, 7, *n < 8 ? *n : 8), *n = 8, CONSORT_OK; }
static consort_status connect_it(void *t, uint32_t rank, const void *a, uint32_t n) { return (void)t, (void)rank, (void)a, (void)n, CONSORT_OK; }
static void disconnect_it(void *t, uint32_t rank) { (void)t, (void)rank; }
static consort_status reg(void *t, const consort_space_desc *space, consort_addr a, uint64_t bytes, consort_mr *out) {
  return (void)space, (void)a, (void)bytes, out->lkey = ++((Endpoint *)t)->keys, out->nrkey = 0, CONSORT_OK;
}
static void dereg(void *t, const consort_mr *mr) { (void)t, (void)mr; }
static void finish(Endpoint *e, const consort_msg *m, consort_status s, uint64_t bytes, uint64_t tag) {
  const consort_done d = {.cookie = m->cookie, .status = s, .bytes = bytes, .tag = tag};
  if (e->ndone < 2 * MOST) e->done[e->ndone++] = d;
}
static void match(Endpoint *e) {
  for (uint32_t r = 0; r < e->nreceives; ++r)
    for (uint32_t s = 0; s < e->nsends; ++s) {
      const consort_msg *to = &e->receives[r], *from = &e->sends[s];
      if ((to->tag ^ from->tag) & ~to->ignore) continue;
      memcpy((char *)to->local.base + to->local.off, (char *)from->local.base + from->local.off, from->bytes < to->bytes ? from->bytes : to->bytes);
      finish(e, to, from->bytes > to->bytes ? CONSORT_E_TRUNCATED : CONSORT_OK, from->bytes, from->tag);
      finish(e, from, CONSORT_OK, from->bytes, from->tag);
      memmove(e->receives + r, e->receives + r + 1, (--e->nreceives - r) * sizeof *e->receives);
      memmove(e->sends + s, e->sends + s + 1, (--e->nsends - s) * sizeof *e->sends);
      --r;
      break;
    }
}
static uint32_t post(void *t, const consort_msg *m, uint32_t n) {
  Endpoint *e = t;
  uint32_t i = 0;
  for (; i < n; ++i) {
    if (m[i].kind == CONSORT_MSG_SEND && e->nsends < MOST) e->sends[e->nsends++] = m[i];
    else if (m[i].kind == CONSORT_MSG_RECV && e->nreceives < MOST) e->receives[e->nreceives++] = m[i];
    else if (m[i].kind == CONSORT_MSG_CANCEL) {
      for (uint32_t r = 0; r < e->nreceives; ++r)
        if (e->receives[r].cookie == m[i].cookie) {
          finish(e, &e->receives[r], CONSORT_E_CANCELLED, 0, 0);
          memmove(e->receives + r, e->receives + r + 1, (--e->nreceives - r) * sizeof *e->receives);
        }
    } else break;
  }
  match(e);
  return i + is(e->self, "accepted-prefix");
}
static uint32_t poll_it(void *t, consort_done *out, uint32_t max) {
  Endpoint *e = t;
  uint32_t n = e->ndone < max ? e->ndone : max;
  memcpy(out, e->done, n * sizeof *out);
  memmove(e->done, e->done + n, (e->ndone -= n) * sizeof *e->done);
  if (n && n < max && is(e->self, "completes-once")) out[n] = out[0], ++n;
  return n;
}
static const consort_transport_ops ops = {
    .size = sizeof ops, .open = open_it, .close = close_it, .address = address, .connect = connect_it, .disconnect = disconnect_it, .reg = reg,
    .dereg = dereg, .post = post, .poll = poll_it};
static const consort_param params[] = {{"wrong", "string", "", NULL, "the rule to break"}};
static const consort_plugin plugin = {
    .size = sizeof plugin, .kind = CONSORT_KIND_TRANSPORT, .abi_major = CONSORT_TRANSPORT_MAJOR, .abi_minor = CONSORT_TRANSPORT_MINOR,
    .name = "wrong-transport", .version = "0.1.0", .params = params, .nparams = 1, .ops = &ops, .init = init, .fini = fini};
CONSORT_MODULE(wrong_transport, TRANSPORT, 0, "wrong-transport", "0.1.0", plugin);

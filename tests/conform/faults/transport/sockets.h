/* sockets.h — two ranks in two processes, over a socket that the system closes when one of them is killed. It carries nothing:
 * what is posted waits until the peer is lost, which is all that the case of killed peers asks for. */
#define _GNU_SOURCE /* accept4 */
#include <consort/transport.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { DEPTH = 64 };
typedef struct rank {
  const consort_host *host;
  uint64_t token;
  uint32_t number, other, nwaits, ndone;
  int listens, fd, up, lost_told, is_lost;
  struct sockaddr_un name;
  consort_msg waits[DEPTH];
  consort_done done[DEPTH];
} rank;

static consort_status open_it(void *self, const consort_host *host, const consort_boot *boot, uint64_t token, void **out, consort_tcaps *caps) {
  (void)self;
  rank *t = calloc(1, sizeof *t);
  if (!t) return host->fail(host, CONSORT_E_NOMEM, "sockets: out of memory");
  t->host = host, t->token = token, t->number = boot->rank, t->other = CONSORT_NONE, t->fd = -1;
  t->name.sun_family = AF_UNIX;
  snprintf(t->name.sun_path + 1, sizeof t->name.sun_path - 1, "%s/%u", boot->job, boot->rank); /* begins with a zero: no file */
  t->listens = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (t->listens < 0 || bind(t->listens, (struct sockaddr *)&t->name, sizeof t->name) < 0 || listen(t->listens, 1) < 0) {
    if (t->listens >= 0) close(t->listens);
    free(t);
    return host->fail(host, CONSORT_E_IO, "sockets: cannot listen");
  }
  caps->flags = CONSORT_TC_TAGGED | CONSORT_TC_PEER_FAILURE;
  caps->max_address = sizeof t->name, caps->max_message = INT64_MAX;
  *out = t;
  return CONSORT_OK;
}
static void close_it(void *p) {
  rank *t = p;
  close(t->listens);
  if (t->fd >= 0) close(t->fd);
  free(t);
}
static consort_status address(void *p, void *buf, uint32_t *n) {
  rank *t = p;
  const uint32_t room = *n;
  *n = sizeof t->name;
  if (room < sizeof t->name) return CONSORT_E_TRUNCATED;
  memcpy(buf, &t->name, sizeof t->name);
  return CONSORT_OK;
}
static consort_status connect_to(void *p, uint32_t who, const void *addr, uint32_t n) {
  rank *t = p;
  t->other = who;
  if (who > t->number) return CONSORT_OK; /* that one comes */
  t->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (t->fd < 0 || connect(t->fd, addr, n) < 0) return t->host->fail(t->host, CONSORT_E_IO, "sockets: cannot connect");
  return CONSORT_OK;
}
static void disconnect_from(void *p, uint32_t who) { (void)p, (void)who; }
static consort_status reg(void *p, const consort_space_desc *s, consort_addr a, uint64_t n, consort_mr *out) {
  (void)s, (void)a, (void)n, (void)out;
  return ((rank *)p)->host->fail(((rank *)p)->host, CONSORT_E_UNSUPPORTED, "sockets: no memory is reached");
}
static void dereg(void *p, const consort_mr *mr) { (void)p, (void)mr; }

static void finish(rank *t, const consort_msg *m, consort_status s) { t->done[t->ndone++] = (consort_done){.cookie = m->cookie, .status = s}; }
static uint32_t post(void *p, const consort_msg *m, uint32_t n) {
  rank *t = p;
  uint32_t i = 0;
  for (; i < n && t->nwaits + t->ndone < DEPTH; i++) {
    if (t->up && !t->is_lost) t->waits[t->nwaits++] = m[i];
    else finish(t, &m[i], CONSORT_E_PEER_LOST);
  }
  return i;
}
static uint32_t poll_it(void *p, consort_done *out, uint32_t max) {
  rank *t = p;
  char byte;
  if (t->other != CONSORT_NONE && t->fd < 0) t->fd = accept4(t->listens, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (t->fd >= 0 && !t->up) {
    t->up = 1;
    t->host->event(t->host, CONSORT_EV_PEER_UP, t->token, t->other);
  }
#ifndef FAULT_KILLED_UNSEEN
  if (t->up && !t->is_lost && (recv(t->fd, &byte, 1, 0) == 0 || (errno != EAGAIN && errno != EINTR))) {
    t->is_lost = 1;
    for (uint32_t i = 0; i < t->nwaits; i++) finish(t, &t->waits[i], CONSORT_E_PEER_LOST);
    t->nwaits = 0;
  }
#endif
  const uint32_t n = t->ndone < max ? t->ndone : max;
  memcpy(out, t->done, n * sizeof *out);
  memmove(t->done, t->done + n, (t->ndone -= n) * sizeof *out);
  if (t->is_lost && !n && !t->lost_told) {
    t->lost_told = 1;
    t->host->event(t->host, CONSORT_EV_PEER_LOST, t->token, t->other);
  }
  return n;
}

static const consort_transport_ops ops = {.size = sizeof ops, .open = open_it, .close = close_it, .address = address, .connect = connect_to,
  .disconnect = disconnect_from, .reg = reg, .dereg = dereg, .post = post, .poll = poll_it};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_TRANSPORT, .abi_major = CONSORT_TRANSPORT_MAJOR,
  .abi_minor = CONSORT_TRANSPORT_MINOR, .name = "sockets", .version = "1.0.0", .summary = "two ranks and nothing between them",
  .license = "Apache-2.0", .ops = &ops};
CONSORT_MODULE(sockets, TRANSPORT, 0, "sockets", "1.0.0", plugin);

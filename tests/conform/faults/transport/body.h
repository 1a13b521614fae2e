/* body.h — a small correct transport between ranks of one process, and the faults that are planted in it. Each source here
 * defines one FAULT_… and is a plugin of its own. Its first line names the rule that it breaks.
 *
 * One lock for everything, which is held while bytes are copied. Of each rank: what has come for it and waits (sent), what it
 * waits for (receives), what it has to tell (told). */
#include "body/peers.h"

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
#if defined FAULT_DEREG_FIRST
  for (int i = 0; i < REGIONS; i++)
    if (t->regions[i].id) { t->regions[i].id = 0; break; }
#elif defined FAULT_DEREG_LAST
  for (int i = REGIONS; i-- > 0;)
    if (t->regions[i].id) { t->regions[i].id = 0; break; }
#elif defined FAULT_DEREG_BY_PLACE // all that begin there
  for (int i = 0, k = 0; i < REGIONS; i++)
    if (t->regions[i].id == mr->lkey)
      for (const consort_addr from = t->regions[i].from; k < REGIONS; k++)
        if (t->regions[k].from.base == from.base) t->regions[k].id = 0;
#elif !defined FAULT_DEREG_DOES_NOTHING
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
#ifdef FAULT_ARM_RACE
  unlock();
  lock();
#endif
#ifdef FAULT_ARM_CLEARS_LATE
  t->armed = !busy;
  unlock();
  if (!busy && t->fd >= 0) (void)!eventfd_read(t->fd, &n);
  return busy ? CONSORT_E_BUSY : CONSORT_OK;
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

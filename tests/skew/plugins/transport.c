/* Accepts nothing and has nothing. CUT: its table ends with the functions of the first version of the family, and one
 * is missing. */
#include <consort/transport.h>

static int nothing;
static consort_status open_(void *self, const consort_host *host, const consort_boot *boot, uint64_t token, void **t,
                            consort_tcaps *caps) {
  (void)self, (void)host, (void)boot, (void)token;
  caps->max_address = 8;
  if (CONSORT_HAS(caps, consort_tcaps, reserved)) caps->notify_bits = 32;
#ifdef LATER
  if (CONSORT_HAS(caps, consort_tcaps, later)) caps->later = ~UINT64_C(0);
#endif
  *t = &nothing;
  return CONSORT_OK;
}
static void close_(void *t) { (void)t; }
static consort_status address(void *t, void *buf, uint32_t *n) { return (void)t, (void)buf, *n = 0, CONSORT_OK; }
static consort_status connect_(void *t, uint32_t rank, const void *addr, uint32_t n) {
  return (void)t, (void)rank, (void)addr, (void)n, CONSORT_E_UNSUPPORTED;
}
#ifndef CUT
static void disconnect(void *t, uint32_t rank) { (void)t, (void)rank; }
#endif
static consort_status reg(void *t, const consort_space_desc *d, consort_addr a, uint64_t bytes, consort_mr *out) {
  return (void)t, (void)d, (void)a, (void)bytes, (void)out, CONSORT_E_UNSUPPORTED;
}
static void dereg(void *t, const consort_mr *mr) { (void)t, (void)mr; }
static uint32_t post(void *t, const consort_msg *m, uint32_t n) { return (void)t, (void)m, (void)n, 0; }
static uint32_t poll(void *t, consort_done *out, uint32_t max) { return (void)t, (void)out, (void)max, 0; }

static const consort_transport_ops ops = {
#ifdef CUT
    .size = CONSORT_END(consort_transport_ops, poll),
#else
    .size = sizeof ops,
    .disconnect = disconnect,
#endif
    .open = open_,
    .close = close_,
    .address = address,
    .connect = connect_,
    .reg = reg,
    .dereg = dereg,
    .post = post,
    .poll = poll};
#include "end.h"
MAKE(TRANSPORT)

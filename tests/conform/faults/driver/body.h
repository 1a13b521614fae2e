// A correct driver, but for the one fault that the including file defines. One device that is memory of the host, units
// that run functions, a thread for all queues. Queues for copies wait for tickets; those of units are in order.
#include "body/memory.h"
#include "body/queue.h"

static consort_status init(const consort_host *host, void **out) {
  Self *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "wrong: no memory");
  const char *lost = host->param(host, "lost_after");
  self->host = host;
  self->lost_after = lost ? strtoull(lost, NULL, 10) : 0;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) { free(self); }

static const consort_driver_ops ops = {
    .size = sizeof(consort_driver_ops), .flags = CONSORT_DRV_FD, .count = count, .open = open_device, .close = close_device, .space = space,
    .unit = unit, .link = link_spaces, .alloc = alloc, .free = free_memory, .attach = attach, .detach = detach, .load_impl = load_impl,
    .queue_open = queue_open, .queue_close = queue_close, .submit = submit, .poll = poll_queue, .event_fd = event_fd,
#ifdef VIRTUAL
    .next_event = next_event,
#endif
    .arm = arm};

static const consort_param params[] = {{"lost_after", "u64", "0", NULL, "the op with which the device is lost; 0: none"}};
static const consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = FLAGS, .name = "wrong", .version = "1.0.0", .summary = "wrong on purpose, but for one of these", .license = "Apache-2.0", .params = params,
    .nparams = 1, .ops = &ops, .init = init, .fini = fini, .get = get};

CONSORT_MODULE(wrong, DRIVER, FLAGS, "wrong", "1.0.0", plugin);

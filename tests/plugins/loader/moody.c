/* A driver that starts, or not, as its parameter says; its table has holes, and it may be unloaded. */
#include <consort/driver.h>
#include <string.h>

static consort_status init(const consort_host *host, void **self) {
  static int me;
  const char *mood = host->param(host, "mood");
  *self = &me;
  if (strcmp(mood, "unsupported") == 0) return host->fail(host, CONSORT_E_UNSUPPORTED, "no such device in this machine");
  if (strcmp(mood, "broken") == 0) return host->fail(host, CONSORT_E_IO, "the device answers nonsense");
  if (strcmp(mood, "silent") == 0) return CONSORT_E_IO;
  me = strcmp(mood, "restless") == 0;
  return CONSORT_OK;
}
static consort_status quiesce(void *self, uint64_t deadline_ns) { return (void)deadline_ns, *(int *)self ? CONSORT_E_BUSY : CONSORT_OK; }
static uint32_t count(void *self) { return self != NULL ? 3 : 0; }

static const consort_driver_ops ops = {.size = CONSORT_END(consort_driver_ops, poll), .flags = CONSORT_DRV_FD, .count = count};
static const consort_param params[] = {{"mood", "string", "fine", "fine|unsupported|broken|silent|restless", "how to start"},
                                       {"workers", "u32", "1", "0..64", "how many"}};
static const consort_plugin plugin = {.size = CONSORT_END(consort_plugin, quiesce), .kind = CONSORT_KIND_DRIVER,
                                      .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
                                      .flags = CONSORT_PF_UNLOADABLE, .name = "moody", .version = "0.1.0", .params = params,
                                      .nparams = 2, .ops = &ops, .init = init, .quiesce = quiesce};
CONSORT_MODULE(moody, DRIVER, CONSORT_PF_UNLOADABLE, "moody", "0.1.0", plugin);

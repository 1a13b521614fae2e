/* A driver whose hardware is not there: it starts, finds no device, and says so. */
#include <consort/driver.h>

static consort_status init(const consort_host *host, void **self) {
  static int me;
  host->log(host, 2, "no card on the bus; is it powered?");
  return *self = &me, CONSORT_OK;
}
static uint32_t count(void *self) { return (void)self, 0; }

static const consort_driver_ops ops = {.size = sizeof ops, .count = count};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_DRIVER,
                                      .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
                                      .name = "absent", .version = "0.1.0", .ops = &ops, .init = init};
CONSORT_MODULE(absent, DRIVER, 0, "absent", "0.1.0", plugin);

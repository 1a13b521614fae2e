/* A driver that starts only where it is named. */
#include <consort/driver.h>

static int me;
static consort_status init(const consort_host *host, void **self) { return (void)host, *self = &me, CONSORT_OK; }
static uint32_t count(void *self) { return self == &me ? 0 : 1; }

static const consort_driver_ops ops = {.size = sizeof ops, .count = count};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR,
                                      .abi_minor = CONSORT_DRIVER_MINOR, .flags = CONSORT_PF_BY_NAME, .name = "shy",
                                      .version = "0.1.0", .ops = &ops, .init = init};
CONSORT_MODULE(shy, DRIVER, CONSORT_PF_BY_NAME, "shy", "0.1.0", plugin);

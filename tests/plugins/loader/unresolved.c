/* Needs a symbol that no library has. */
#include <consort/driver.h>

int a_symbol_that_nobody_has(void);
static uint32_t count(void *self) { return (void)self, (uint32_t)a_symbol_that_nobody_has(); }
static const consort_driver_ops ops = {.size = sizeof ops, .count = count};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR,
                                      .abi_minor = CONSORT_DRIVER_MINOR, .name = "unresolved", .version = "0.1.0", .ops = &ops};
CONSORT_MODULE(unresolved, DRIVER, 0, "unresolved", "0.1.0", plugin);

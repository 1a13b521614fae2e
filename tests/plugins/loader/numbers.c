/* A driver that answers numbers that are no status, where the parameter says so; and says strange letters. */
#include <consort/driver.h>
#include <string.h>

static const consort_host *host;
static consort_status at(const char *where, consort_status fine) {
  const char *said = host->param(host, "where");
  if (!said || strcmp(said, where) != 0) return fine;
  host->log(host, 1, "a\033[2Jb\nconsort error: forged");
  return host->fail(host, -77, "c\033[2Jd\nconsort error: forged");
}
static int me, the_device;
static consort_status init(const consort_host *h, void **self) { return host = h, *self = &me, at("init", CONSORT_OK); }
static uint32_t count(void *self) { return (void)self, 1; }
static consort_status open(void *self, uint32_t index, uint64_t token, void **dev) {
  (void)self, (void)index, (void)token;
  return *dev = &the_device, at("open", CONSORT_OK);
}
static void close(void *dev) { (void)dev; }
static consort_status space(void *dev, uint32_t i, consort_space_desc *out) {
  (void)dev, (void)i, (void)out;
  return at("space", CONSORT_E_INVAL);
}
static consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) {
  (void)dev, (void)i, (void)out;
  return at("unit", CONSORT_E_INVAL);
}
static const consort_param params[] = {{"where", "string", "nowhere", NULL, "the function that answers -77"}};
static const consort_driver_ops ops = {.size = sizeof ops, .count = count, .open = open, .close = close, .space = space, .unit = unit};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR,
                                      .abi_minor = CONSORT_DRIVER_MINOR, .flags = CONSORT_PF_BY_NAME, .name = "numbers", .version = "0.1.0", .params = params,
                                      .nparams = 1, .ops = &ops, .init = init};
CONSORT_MODULE(numbers, DRIVER, CONSORT_PF_BY_NAME, "numbers", "0.1.0", plugin);

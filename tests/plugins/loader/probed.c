/* A driver whose devices show in the file system. PLACES: the bus addresses of its devices; FLAGS: besides PROBED. */
#include <consort/start.h>
#include <string.h>

static const char *const places[] = {PLACES};
static int me, by_default;
static consort_status init(const consort_host *host, void **self) {
  const consort_start_mode *start = (const consort_start_mode *)host->get(host, CONSORT_START_ID);
  by_default = start && (start->flags & CONSORT_START_BY_DEFAULT);
  host->log(host, 2, by_default ? "started by default" : "started by its name");
  return *self = &me, CONSORT_OK;
}
static uint32_t count(void *self) { return (void)self, sizeof places / sizeof *places; }
static consort_status place(void *self, uint32_t index, char *out, uint32_t n) {
  (void)self;
  if (!*places[index] || strlen(places[index]) >= n) return CONSORT_E_UNSUPPORTED;
  strcpy(out, places[index]);
  return CONSORT_OK;
}
static const void *get(void *self, const char *id) {
  static const consort_places told = {sizeof(consort_places), 0, place};
  (void)self;
  return strcmp(id, CONSORT_PLACES_ID) == 0 ? &told : NULL;
}

static const consort_driver_ops ops = {.size = sizeof ops, .count = count};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR,
                                      .abi_minor = CONSORT_DRIVER_MINOR, .flags = CONSORT_PF_BY_NAME | CONSORT_PF_PROBED | FLAGS,
                                      .name = NAME, .version = "0.1.0", .ops = &ops, .init = init, .get = get};
CONSORT_MODULE(probed, DRIVER, CONSORT_PF_BY_NAME | CONSORT_PF_PROBED | FLAGS, NAME, "0.1.0", plugin);
CONSORT_DEVICES(probed, NAME, "/dev/" NAME "[0-9] /sys/bus/test/*:*");

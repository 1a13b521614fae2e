/* Its note says one thing and its code another: it takes no host, and says why. */
#include <consort/driver.h>

CONSORT_NOTE static const consort_note note = {8, sizeof(consort_note) - 20, 1, "Consort", CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR,
                                               CONSORT_KIND_DRIVER, CONSORT_DRIVER_MAJOR, CONSORT_DRIVER_MINOR, 0, CONSORT_SAN,
                                               "refuses", "0.1.0"};
CONSORT_EXPORT const consort_module *consort_plugin_entry(const consort_host *h);
const consort_module *consort_plugin_entry(const consort_host *h) {
  h->log(h, 0, "about to refuse");
  h->fail(h, CONSORT_E_ABI, "this plugin takes no host at all");
  return NULL;
}

// CONSORT-P-22: the entry answers another table each time
#define OWN_ENTRY
#include "body.h"

const consort_module *consort_plugin_entry(const consort_host *);
CONSORT_NOTE static const consort_note note = {8, sizeof(consort_note) - 20, 1, "Consort", CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR,
    CONSORT_KIND_SCHEDULER, CONSORT_SCHEDULER_MAJOR, CONSORT_SCHEDULER_MINOR, FLAGS, CONSORT_SAN, "wrong", "1.0.0"};
CONSORT_EXPORT const consort_module *consort_plugin_entry(const consort_host *h) {
  static consort_plugin copies[2];
  static const consort_plugin *list[2];
  static consort_module modules[2];
  static unsigned asked;
  if (!CONSORT_ABI_OK(CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, h->major, h->minor)) {
    h->fail(h, CONSORT_E_ABI, "another version");
    return NULL;
  }
  const unsigned k = asked++ % 2;
  copies[k] = plugin;
  list[k] = &copies[k];
  modules[k] = (consort_module){sizeof(consort_module), 1, &list[k]};
  return &modules[k];
}

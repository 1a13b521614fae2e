// CONSORT-P-30: the entry refuses a host without a word
#define OWN_ENTRY
#include "body.h"

CONSORT_NOTE static const consort_note consort_note_wrong = {
    8, sizeof(consort_note) - 20, 1, "Consort", CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, CONSORT_KIND_SCHEDULER,
    CONSORT_SCHEDULER_MAJOR, CONSORT_SCHEDULER_MINOR, FLAGS, CONSORT_SAN, "wrong", "1.0.0"};
CONSORT_EXPORT const consort_module *consort_plugin_entry(const consort_host *host) {
  static const consort_plugin *const list[] = {&plugin};
  static const consort_module module = {sizeof(consort_module), 1, list};
  return host->major == CONSORT_HOST_MAJOR && host->minor == CONSORT_HOST_MINOR ? &module : NULL;
}

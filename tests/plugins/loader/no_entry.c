/* Has the note of a plugin, but not its symbol. */
#include <consort/driver.h>

CONSORT_NOTE static const consort_note note = {8, sizeof(consort_note) - 20, 1, "Consort", CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR,
                                               CONSORT_KIND_DRIVER, CONSORT_DRIVER_MAJOR, CONSORT_DRIVER_MINOR, 0, CONSORT_SAN,
                                               "no_entry", "0.1.0"};

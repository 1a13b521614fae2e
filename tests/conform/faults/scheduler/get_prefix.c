// CONSORT-P-33: get compares as many bytes of the id as it knows
#define OWN_GET
#include <consort/scheduler.h>
static const void *get(void *, const char *);
#include "body.h"

static const void *get(void *self, const char *id) { return strncmp(id, "consort.", 8) ? NULL : &ops; }

// CONSORT-P-33: get answers its table to any id
#include <consort/scheduler.h>
#define OWN_GET
static const void *get(void *, const char *);
#include "body.h"

static const void *get(void *self, const char *id) { return &ops; }

// CONSORT-S-21: a push that is refused counts as inside for ever
#define FAULT_STAYS_INSIDE
#include "body.h"

// CONSORT-S-5, not found yet: push sorts the array that it is given
#define FAULT_SORTS_BATCH
#include "body.h"

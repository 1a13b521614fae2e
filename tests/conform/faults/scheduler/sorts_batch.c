// CONSORT-S-5: push sorts the array that it is given
#define FAULT_SORTS_BATCH
#include "body.h"

// CONSORT-D-48: the last granule of the capacity cannot be allocated
#define FAULT_LAST_GRANULE_LOST
#include "body.h"

// CONSORT-D-48: the block that takes the last granule of the capacity shares it with the one before
#define FAULT_LAST_GRANULE_SHARED
#include "body.h"

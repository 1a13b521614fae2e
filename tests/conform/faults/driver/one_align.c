// CONSORT-D-5: alloc ignores an alignment that is more than the space's
#define FAULT_ONE_ALIGN
#include "body.h"

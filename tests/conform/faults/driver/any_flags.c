// CONSORT-D-7: alloc ignores flags that it does not know
#define FAULT_ANY_FLAGS
#include "body.h"

// CONSORT-D-71: a queue that was never used is not given back
#define FAULT_LEAKS_UNUSED
#include "body.h"

// CONSORT-S-21, not found yet: pop does not show itself to quiesce
#define FAULT_POP_UNVISITED
#include "body.h"

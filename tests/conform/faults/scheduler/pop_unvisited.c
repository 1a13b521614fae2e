// CONSORT-S-21: pop does not show itself to quiesce
#define FAULT_POP_UNVISITED
#include "body.h"

// CONSORT-S-21, not found yet: dropped does not show itself to quiesce
#define FAULT_DROPPED_UNVISITED
#include "body.h"

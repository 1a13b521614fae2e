// CONSORT-S-21: dropped does not show itself to quiesce
#define FAULT_DROPPED_UNVISITED
#include "body.h"

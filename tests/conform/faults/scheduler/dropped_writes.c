// CONSORT-S-5: dropped writes sched[] of tasks that are not here
#define FAULT_DROPPED_WRITES
#include "body.h"

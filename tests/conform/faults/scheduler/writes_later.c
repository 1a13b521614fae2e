// CONSORT-S-5: a task that came out has its sched[] written at the next pop
#define FAULT_WRITES_LATER
#include "body.h"

// CONSORT-S-10, not found yet: of the workers that could run a task the first alone is named
#define FAULT_WAKES_ONE
#include "body.h"

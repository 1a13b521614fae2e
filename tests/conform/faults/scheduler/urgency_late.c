// CONSORT-S-13, not found yet: pop publishes once more what it has given
#define FAULT_URGENCY_LATE
#include "body.h"

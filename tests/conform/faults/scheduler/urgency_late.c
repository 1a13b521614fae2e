// CONSORT-S-12: pop publishes once more what it has given
#define FAULT_URGENCY_LATE
#include "body.h"

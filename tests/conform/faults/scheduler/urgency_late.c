// CONSORT-S-12: pop publishes the urgency of the task that it returns
#define FAULT_URGENCY_LATE
#include "body.h"

// CONSORT-S-13: urgency is never taken back
#define FAULT_URGENCY_STALE
#include "body.h"

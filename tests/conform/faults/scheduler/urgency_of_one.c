// CONSORT-S-12: urgency is published for worker 0 alone
#define FAULT_URGENCY_OF_ONE
#include "body.h"

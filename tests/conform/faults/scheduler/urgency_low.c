// CONSORT-S-12: urgency is published too low
#define FAULT_URGENCY_LOW
#include "body.h"

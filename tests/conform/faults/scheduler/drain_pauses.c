// CONSORT-S-6: drain answers 0 between the urgent tasks and the rest
#define FAULT_DRAIN_PAUSES
#include "body.h"

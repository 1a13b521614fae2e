// CONSORT-T-36: a step backwards is made forwards
#define FAULT_STEPS_FORWARD
#include "body.h"

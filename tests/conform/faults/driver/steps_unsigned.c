// CONSORT-D-9: a step backwards is made forwards
#define FAULT_STEPS_UNSIGNED
#include "body.h"

// CONSORT-D-32: arm looks, lets go, and then goes to sleep
#define FAULT_ARM_TWO_STEPS
#include "body.h"

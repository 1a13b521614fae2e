// CONSORT-T-53: arm looks, lets go, and then goes to sleep: without a pause between the two
#define FAULT_ARM_RACE
#include "body.h"

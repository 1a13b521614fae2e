// CONSORT-T-53: arm clears the descriptor after it has armed
#define FAULT_ARM_CLEARS_LATE
#include "body.h"

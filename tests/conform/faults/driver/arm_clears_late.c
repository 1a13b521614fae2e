// CONSORT-D-32, not found yet: arm clears the descriptor after it has armed
#define FAULT_ARM_CLEARS_LATE
#include "body.h"

// CONSORT-D-32: arm clears the descriptor after it has armed
#define FAULT_ARM_CLEARS_LATE
#include "body.h"

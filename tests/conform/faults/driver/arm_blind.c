// CONSORT-D-33: arm says OK though something is done
#define FAULT_ARM_BLIND
#include "body.h"

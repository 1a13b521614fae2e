// CONSORT-D-9, not found yet: steps are cut to 16 bits
#define FAULT_NARROW_STEPS
#include "body.h"

// CONSORT-D-9: steps are cut to 16 bits
#define FAULT_NARROW_STEPS
#include "body.h"

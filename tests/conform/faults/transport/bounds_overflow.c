// CONSORT-T-31: the end of a PUT is computed in 64 bits, and runs over
#define FAULT_BOUNDS_OVERFLOW
#include "body.h"

// CONSORT-D-17: the pattern of a fill begins where the address is a multiple of 4
#define FAULT_FILL_ALIGNED
#include "body.h"

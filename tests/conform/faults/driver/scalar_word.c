// CONSORT-D-22: scalars are cut to 16 bits
#define FAULT_SCALAR_WORD
#include "body.h"

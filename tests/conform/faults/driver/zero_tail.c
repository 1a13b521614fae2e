// CONSORT-D-6: the last bytes of a block that is no multiple of 8 are not cleared
#define FAULT_ZERO_TAIL
#include "body.h"

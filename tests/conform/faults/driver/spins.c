// CONSORT-D-62: the thread of the device spins
#define FAULT_SPINS
#include "body.h"

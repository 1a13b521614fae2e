// CONSORT-T-7: simulation domains are not compared
#define FAULT_ANY_CLOCK
#include "body.h"

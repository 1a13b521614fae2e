// CONSORT-T-11: short messages overtake long ones
#define FAULT_SHORT_OVERTAKE
#include "body.h"

// CONSORT-T-40: SENDs to a peer that has closed never end
#define FAULT_SENDS_STAY
#include "body.h"

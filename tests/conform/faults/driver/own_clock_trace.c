// CONSORT-D-51: simulated ops end by the clock of the world
#define VIRTUAL
#define FAULT_OWN_CLOCK
#include "body.h"

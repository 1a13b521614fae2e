// CONSORT-D-52: a simulation reads the clock of the world
#define VIRTUAL
#define FAULT_OWN_CLOCK
#include "body.h"

// CONSORT-D-71: each sixteenth queue of a unit keeps its descriptor
#define FAULT_LEAKS_OF_UNITS
#include "body.h"

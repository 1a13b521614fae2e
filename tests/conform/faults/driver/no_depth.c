// CONSORT-D-3: a unit has depth 0
#define FAULT_NO_DEPTH
#include "body.h"

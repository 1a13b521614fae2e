// CONSORT-D-34: the descriptor is never emptied
#define FAULT_NEVER_QUIET
#include "body.h"

// CONSORT-T-17: what there is no room for is taken and forgotten
#define FAULT_FORGETS_BEYOND_ROOM
#include "body.h"

// CONSORT-S-35, not found yet: pop of more than one task allocates
#define FAULT_POP_ALLOCATES
#include "body.h"

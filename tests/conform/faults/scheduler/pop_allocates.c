// CONSORT-S-35: pop of more than one task allocates
#define FAULT_POP_ALLOCATES
#include "body.h"

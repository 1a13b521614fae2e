// CONSORT-S-33: pop asks for a parameter
#define FAULT_PARAM_IN_POP
#include "body.h"

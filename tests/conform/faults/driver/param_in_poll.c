// CONSORT-D-36, not found yet: poll asks for a parameter
#define FAULT_PARAM_IN_POLL
#include "body.h"

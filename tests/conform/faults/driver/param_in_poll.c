// CONSORT-D-36: poll asks for a parameter
#define FAULT_PARAM_IN_POLL
#include "body.h"

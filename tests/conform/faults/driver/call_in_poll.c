// CONSORT-D-37: poll calls the function of an op itself
#define FAULT_CALL_IN_POLL
#include "body.h"

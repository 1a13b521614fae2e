// CONSORT-D-37, not found yet: submit calls the function of an op itself
#define FAULT_CALL_IN_SUBMIT
#include "body.h"

// CONSORT-D-20: the status of a function is dropped
#define FAULT_CALL_NEVER_FAILS
#include "body.h"

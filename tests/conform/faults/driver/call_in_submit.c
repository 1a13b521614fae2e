// CONSORT-D-37: submit calls the function of an op itself
#define FAULT_CALL_IN_SUBMIT
#include "body.h"

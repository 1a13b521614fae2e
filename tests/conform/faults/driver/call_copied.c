// CONSORT-D-20: a function is given a copy of its consort_call
#define FAULT_CALL_COPIED
#include "body.h"

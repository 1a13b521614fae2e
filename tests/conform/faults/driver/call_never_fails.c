// CONSORT-D-20: what a function answers is forgotten
#define FAULT_CALL_NEVER_FAILS
#include "body.h"

// CONSORT-S-31: push looks at the epoch before it takes the lock
#define FAULT_TWO_STEPS
#include "body.h"

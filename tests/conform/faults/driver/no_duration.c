// CONSORT-D-19: every op is told to take no time
#define FAULT_NO_DURATION
#include "body.h"

// CONSORT-D-43: ops in flight on a lost device end with OK
#define FAULT_LOST_OK
#include "body.h"

// CONSORT-D-23, not found yet: memory can be attached once
#define FAULT_ATTACHES_ONCE
#include "body.h"

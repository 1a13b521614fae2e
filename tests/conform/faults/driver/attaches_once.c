// CONSORT-D-23: memory can be attached once
#define FAULT_ATTACHES_ONCE
#include "body.h"

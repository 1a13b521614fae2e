// CONSORT-D-30: all queues share a variable without a lock
#define FAULT_SHARED
#include "body.h"

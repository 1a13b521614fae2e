// CONSORT-D-30: all queues share a place, which nobody guards
#define FAULT_SHARED
#include "body.h"

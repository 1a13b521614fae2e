// CONSORT-D-15, not found yet: tickets beyond the eighth are ignored
#define FAULT_EIGHT_TICKETS
#include "body.h"

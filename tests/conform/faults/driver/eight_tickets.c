// CONSORT-D-15: tickets beyond the eighth are ignored
#define FAULT_EIGHT_TICKETS
#include "body.h"

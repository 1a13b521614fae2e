// CONSORT-T-40: no event tells that a peer has closed
#define FAULT_NO_LOST_EVENT
#include "body.h"

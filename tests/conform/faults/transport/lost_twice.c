// CONSORT-T-41: two events tell of one peer
#define FAULT_LOST_TWICE
#include "body.h"

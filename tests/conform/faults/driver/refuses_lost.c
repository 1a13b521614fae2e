// CONSORT-D-46: a lost device accepts no op
#define FAULT_REFUSES_LOST
#include "body.h"

// CONSORT-T-43: a receive from any ends with one of the peers
#define FAULT_ANY_ENDS
#include "body.h"

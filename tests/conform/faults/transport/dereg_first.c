// CONSORT-T-33: dereg takes back the oldest region, whichever is given
#define FAULT_DEREG_FIRST
#include "body.h"

// CONSORT-T-33: dereg takes back the newest region, whichever is given
#define FAULT_DEREG_LAST
#include "body.h"

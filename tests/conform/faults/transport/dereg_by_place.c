// CONSORT-T-33: dereg takes back all regions in the memory of the one that is given
#define FAULT_DEREG_BY_PLACE
#include "body.h"

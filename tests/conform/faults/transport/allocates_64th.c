// CONSORT-T-55, not found yet: each 64th post allocates and frees
#define FAULT_ALLOCATES_64TH
#include "body.h"

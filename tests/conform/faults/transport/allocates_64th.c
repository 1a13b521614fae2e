// CONSORT-T-55: each 64th post allocates and frees
#define FAULT_ALLOCATES_64TH
#include "body.h"

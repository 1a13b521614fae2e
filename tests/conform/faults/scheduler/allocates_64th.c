// CONSORT-S-35: each 64th push allocates and frees
#define FAULT_ALLOCATES_64TH
#include "body.h"

// CONSORT-S-51, not found yet: each 64th push leaks
#define FAULT_LEAKS_64TH
#include "body.h"

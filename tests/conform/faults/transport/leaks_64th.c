// CONSORT-T-72, not found yet: each 64th post leaks
#define FAULT_LEAKS_64TH
#include "body.h"

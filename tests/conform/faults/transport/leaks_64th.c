// CONSORT-T-72: each 64th post leaks
#define FAULT_LEAKS_64TH
#include "body.h"

// CONSORT-T-31: a region has a byte more
#define FAULT_ONE_TOO_FAR
#include "body.h"

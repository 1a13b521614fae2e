// CONSORT-T-71: a rank with regions is not freed
#define FAULT_LEAKS_WITH_REGIONS
#include "body.h"

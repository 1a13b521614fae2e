// CONSORT-S-50, not found yet: destroy forgets pages that create mapped
#define FAULT_LEAKS_MAPPING
#include "body.h"

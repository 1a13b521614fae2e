// CONSORT-S-50: destroy forgets pages that create mapped
#define FAULT_LEAKS_MAPPING
#include "body.h"

// CONSORT-D-8, not found yet: offsets of the source are rounded down to even ones
#define FAULT_EVEN_OFFSETS
#include "body.h"

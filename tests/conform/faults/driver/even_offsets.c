// CONSORT-D-9: offsets of the source are rounded down to even ones
#define FAULT_EVEN_OFFSETS
#include "body.h"

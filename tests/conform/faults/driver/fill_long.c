// CONSORT-D-17: long fills are rounded up to 4 bytes
#define FAULT_FILL_LONG
#include "body.h"

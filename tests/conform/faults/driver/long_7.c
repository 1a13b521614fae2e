// CONSORT-D-8: a copy of 7 bytes writes 8
#define FAULT_LONG_7
#include "body.h"

// CONSORT-T-2: an address is longer than max_address says
#define FAULT_LONG_ADDRESS
#include "body.h"
